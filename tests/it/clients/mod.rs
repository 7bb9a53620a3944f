//! Real MCP clients against the real binary with real child servers: the official TypeScript and Python SDKs and the
//! Inspector, each run by its driver in `tests/clients/` through the scenarios there.
//!
//! A scenario states what each step must give; a driver says what its SDK gave; this module compares the two.

pub(crate) mod equipment;
mod expect;
#[cfg(unix)]
mod many;
mod scenario;

use equipment::{Equipment, Outcome, Sandbox};
use scenario::{Client, Scenario};

/// Runs one scenario with one client, and fails with everything that was not as it should be.
async fn run(scenario: &str, client: &'static str, mode: &'static str) {
    let Some(equipment) = Equipment::ready() else { return };
    let client = Client { name: client, mode };
    let sandbox = Sandbox::new(&format!("{scenario}-{}-{}", client.name, client.mode));
    let scenario = Scenario::read(scenario, client, &sandbox);
    let Outcome { lines, stderr } = equipment.drive(client, &scenario, &sandbox).await;
    let mut problems = scenario.compare(client, &lines);
    problems.extend(sandbox.survivors().await.into_iter().map(|it| format!("still running after the end: {it}")));
    assert!(
        problems.is_empty(),
        "{client} is not content:\n  {}\n--- standard error of the driver and the server\n{stderr}",
        problems.join("\n  "),
    );
}

/// One test for each client that a scenario is run with.
macro_rules! clients {
    ($module:ident, $scenario:literal, $($test:ident: $client:literal $mode:literal,)+) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() {
                super::run($scenario, $client, $mode).await;
            })+
        }
    };
}

clients! { session, "session",
    ts1: "ts1" "legacy",
    ts2_legacy: "ts2" "legacy",
    ts2_auto: "ts2" "auto",
    ts2_pinned: "ts2" "2026-07-28",
    py1: "py1" "legacy",
    py2_legacy: "py2" "legacy",
    py2_auto: "py2" "auto",
    py2_pinned: "py2" "2026-07-28",
    inspector_legacy: "inspector" "legacy",
    inspector_pinned: "inspector" "2026-07-28",
    inspector_session_legacy: "inspector-session" "legacy",
    inspector_session_auto: "inspector-session" "auto",
}

clients! { all_listed, "all-listed",
    ts2_auto: "ts2" "auto",
    py1: "py1" "legacy",
    inspector_session_legacy: "inspector-session" "legacy",
}

clients! { children_join, "children-join",
    ts1: "ts1" "legacy",
    py2_auto: "py2" "auto",
    ts2_pinned: "ts2" "2026-07-28",
}
