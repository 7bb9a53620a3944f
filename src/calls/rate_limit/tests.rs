//! Buckets on a clock that the test moves.

use std::sync::Arc;

use evokore_catalog::server::{Rate, RateLimit};
use serde_json::value::RawValue;

use super::*;
use crate::app::App;
use crate::calls::{CallContext, CallRequest};
use crate::catalog::CATALOG;
use crate::settings::Settings;
use crate::skills::Library;
use crate::state::approvals::{Decision, Requests, decide, list, scratch};

const A: Caller = None;
const SECOND: Duration = Duration::from_secs(1);

/// Two tokens, one a second.
const SLOW: Rate = Rate { burst: 2, refill: 1, interval_ms: 1000 };

fn buckets(server: Option<Rate>, tools: &[(&'static str, Rate)], now: Instant) -> Buckets {
    let tools = tools.iter().map(|(tool, rate)| (*tool, Bucket::new(*rate, now))).collect();
    Buckets { id: "s", server: server.map(|rate| Bucket::new(rate, now)), tools }
}

/// How many calls pass at one moment.
fn passing(buckets: &mut Buckets, caller: Caller, now: Instant) -> usize {
    (0..1000).take_while(|_| buckets.take("t", caller, now).is_ok()).count()
}

#[tokio::test(start_paused = true)]
async fn the_clock_only_counts_forwards() {
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut found = buckets(Some(SLOW), &[], at(100));
    assert_eq!(passing(&mut found, A, at(100)), 2);
    for (second, calls) in [(89, 0), (100, 0), (101, 1), (100, 0), (102, 1), (103, 1), (3700, 2), (3701, 1)] {
        let wait = found.server.as_mut().map(|bucket| bucket.wait(A, at(second)));
        assert_eq!(passing(&mut found, A, at(second)), calls, "at {second} s, {wait:?}");
        assert!(wait <= Some(SECOND), "nobody is locked out: {wait:?} at {second} s");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_flow_evenly_and_none_is_lost() {
    let now = Instant::now();
    for (rate, step) in [
        (Rate::per_minute(600), Duration::from_millis(33)),
        (Rate { burst: 3, refill: 3, interval_ms: 1000 }, Duration::from_nanos(33_333_333)),
        (Rate { burst: 1, refill: 7, interval_ms: 86_400_000 }, Duration::from_secs(86)),
    ] {
        let mut found = buckets(Some(rate), &[], now);
        passing(&mut found, A, now);
        let later: usize = (1..=1000).map(|n| passing(&mut found, A, now + step * n)).sum();
        let interval = Duration::from_millis(rate.interval_ms.into()).as_nanos();
        assert_eq!(later as u128, (step * 1000).as_nanos() * u128::from(rate.refill) / interval, "{rate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_spends_nothing() {
    let now = Instant::now();
    let one = Rate { burst: 1, refill: 1, interval_ms: 60_000 };
    let mut found = buckets(Some(SLOW), &[("t", one)], now);
    found.take("t", A, now).unwrap();
    for _ in 0..9 {
        let refusal = found.take("t", A, now).unwrap_err();
        assert_eq!(refusal, Refusal { server: "s", tool: Some("t"), wait: SECOND * 60 });
    }
    assert_eq!(found.take("other", A, now), Ok(None), "the server's last token is still there");
    let refusal = found.take("other", A, now).unwrap_err();
    assert_eq!(refusal, Refusal { server: "s", tool: None, wait: SECOND });
    let later = now + SECOND * 60;
    assert_eq!(passing(&mut found, A, later), 1, "the tool's own, of which the server's refusals took none");
    assert_eq!(found.take("other", A, later), Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_is_not_spent_goes_back() {
    let spec = ServerSpec {
        id: "s",
        rate_limit: Some(RateLimit { server: Some(SLOW), tools: &[("t", SLOW)] }),
        ..ServerSpec::ABSENT
    };
    let limits = RateLimits::new(&[ServerSpec::ABSENT, spec]);
    for _ in 0..5 {
        drop(limits.take(1, "t", A).unwrap());
    }
    for _ in 0..2 {
        limits.take(1, "t", A).unwrap().spend();
    }
    tokio::time::advance(Duration::from_millis(1)).await;
    let Outcome::Result(bytes) = limits.take(1, "t", A).unwrap_err() else { panic!("a result") };
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(
        text.contains("tool `t` of server `s`") && text.contains("in 1 s") && text.contains("\"isError\":true"),
        "{text}"
    );
    for unlimited in [(0, "t"), (7, "t")] {
        limits.take(unlimited.0, unlimited.1, A).unwrap().spend();
    }
    assert!(RateLimits::new(&[ServerSpec::ABSENT]).servers.is_empty(), "without limits nothing is kept");
}

#[tokio::test(start_paused = true)]
async fn sessions_share_one_bucket_and_take_turns() {
    let start = Instant::now();
    let (greedy, modest) = (Some(SessionId::next()), Some(SessionId::next()));
    let mut found = buckets(Some(SLOW), &[], start);
    assert_eq!(passing(&mut found, greedy, start), 2, "alone it has the whole burst");
    let refusal = found.take("t", modest, start).unwrap_err();
    assert_eq!(refusal.wait, SECOND * 2, "the greedy one waits already");
    let mut served = [0, 0];
    for tenth in 1..=100 {
        let now = start + SECOND / 10 * tenth;
        served[0] += passing(&mut found, greedy, now);
        if tenth % 5 == 0 {
            served[1] += passing(&mut found, modest, now);
        }
    }
    assert_eq!(served, [5, 5], "in ten seconds ten calls, and not ten for each");
}

#[tokio::test(start_paused = true)]
async fn a_place_that_nobody_comes_back_for_is_given_up() {
    let start = Instant::now();
    let (gone, here) = (Some(SessionId::next()), Some(SessionId::next()));
    let one = Rate { burst: 1, ..SLOW };
    let mut found = buckets(Some(one), &[], start);
    assert_eq!(passing(&mut found, gone, start), 1);
    found.take("t", gone, start).unwrap_err();
    let kept = start + SECOND + bucket::GRACE - Duration::from_millis(1);
    assert_eq!(passing(&mut found, here, kept), 0);
    assert_eq!(passing(&mut found, here, kept + Duration::from_millis(1)), 1);
    for _ in 0..bucket::MAX_WAITING * 2 {
        found.take("t", Some(SessionId::next()), kept).unwrap_err();
    }
    let wait = found.take("t", Some(SessionId::next()), kept).unwrap_err().wait;
    assert!(wait <= SECOND * 66, "{wait:?}");
}

/// The order of the gates, from outside: what the person agreed to is still agreed to after the limit has refused it.
#[tokio::test(start_paused = true)]
async fn a_call_over_the_limit_keeps_its_approval() {
    let home = scratch("limit");
    let variable = |name: &str| (name == "EVOKORE_HOME").then(|| home.to_string_lossy().into_owned());
    let (settings, _) = Settings::resolve(&CATALOG, &variable).unwrap();
    let mut app = App::new(settings, Library::default());
    let limit = RateLimit { server: None, tools: &[("write_file", Rate { burst: 1, ..SLOW })] };
    let limited = |spec: &ServerSpec| ServerSpec { rate_limit: (spec.id == "fs").then_some(limit), ..*spec };
    let specs: Vec<ServerSpec> = CATALOG.servers.iter().map(limited).collect();
    Arc::get_mut(&mut app).unwrap().rate_limits = RateLimits::new(&specs);
    let ctx = CallContext::alone(app);
    let call = async |arguments: String| {
        let arguments: Box<RawValue> = serde_json::from_str(&arguments).unwrap();
        let request =
            CallRequest { name: "fs_write_file", arguments: Some(&arguments), others: None, meta: None, token: None };
        let Outcome::Result(bytes) = crate::calls::call(&ctx, request).await else { panic!("a result") };
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let folder = Requests::folder(&home);
    let agreed = async |n: u8| {
        let refusal = call(format!("{{\"n\":{n}}}")).await;
        let token = refusal.split("\\\"").nth(3).unwrap_or_else(|| panic!("{refusal}")).to_owned();
        let id = refusal.split("approvals approve ").nth(1).unwrap_or_else(|| panic!("{refusal}"))[..8].to_owned();
        decide(&folder, &id, Decision::Approved(None)).unwrap();
        format!("{{\"n\":{n},\"_evokore_approval_token\":\"{token}\"}}")
    };
    let is_limit = |answer: &str| answer.contains("rate limit: tool `write_file` of server `fs`");
    let (first, second) = (agreed(1).await, agreed(2).await);
    let answer = call(first.clone()).await;
    assert!(
        !is_limit(&answer) && !answer.contains("approv"),
        "past every gate, to a child that is not there: {answer}"
    );
    for _ in 0..3 {
        let answer = call(second.clone()).await;
        assert!(is_limit(&answer), "{answer}");
    }
    assert!(is_limit(&call("{\"n\":3}".to_owned()).await), "nobody is asked about what is refused all the same");
    assert_eq!(list(&folder).unwrap().len(), 1);
    tokio::time::advance(SECOND).await;
    let answer = call(second.clone()).await;
    assert!(!is_limit(&answer) && !answer.contains("approv"), "{answer}");
    tokio::time::advance(SECOND).await;
    for spent in [first, second] {
        let answer = call(spent).await;
        assert!(answer.contains("not valid for this call"), "{answer}");
    }
    std::fs::remove_dir_all(home).unwrap();
}
