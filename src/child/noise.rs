//! Children that print on the stream of the protocol: their lines are skipped, and people told of it now and then.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::settings::Say;
use super::stats::Stats;

/// From one line about a child's noise to the next.
const PAUSE: Duration = Duration::from_secs(60);

/// Tells of the noise of server `id`: of the first line at once, of all that follow once a minute. Ends with `stop`.
pub(super) async fn tell(id: &'static str, stats: Arc<Stats>, say: Say, stop: CancellationToken) {
    let work = async {
        loop {
            stats.noisy().await;
            let (lines, sample) = (stats.noise_lines(), stats.noise_sample().unwrap_or_default());
            say(&format!(
                "child server `{id}` writes on its stdout what is no message; {lines} line(s) were skipped so far, the first \
                 is: {sample}"
            ));
            sleep(PAUSE).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}
