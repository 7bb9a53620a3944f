//! What a child has besides tools: resources, their templates and prompts, read in the background once its tools are
//! there, and followed. Nothing of it can cost the server its life: a list that cannot be had is noted.

use std::convert::Infallible;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::call::Method;
use super::changes::{DEBOUNCE, Pace};
use super::connection::Connection;
use super::error::{ChildError, quoted};
use super::handshake::list;
use super::server::Server;
use super::supervisor::{Context, brief};
use super::tools::{Kind, Listing, MAX_TOLD, SkippedTool, Taken};

/// What a child declared in the handshake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub(super) resources: bool,
    pub(super) subscriptions: bool,
    pub(super) prompts: bool,
    pub(super) completions: bool,
    /// It lists its tasks.
    pub(super) task_list: bool,
}

impl Offers {
    /// Reads the `capabilities` of an `initialize` result. Whether it declares `listChanged` is of no interest: who
    /// says that a list has changed is believed.
    pub(super) fn read(capabilities: &Value) -> Offers {
        Offers {
            resources: capabilities["resources"].is_object(),
            subscriptions: capabilities["resources"]["subscribe"] == true,
            prompts: capabilities["prompts"].is_object(),
            completions: capabilities["completions"].is_object(),
            task_list: capabilities["tasks"]["list"].is_object(),
        }
    }

    /// What is missing for this method, as a noun.
    pub(super) fn lacks(self, method: Method) -> Option<&'static str> {
        let (has, what) = match method {
            Method::CallTool => (true, "tools"),
            Method::ReadResource => (self.resources, "resources"),
            Method::Subscribe | Method::Unsubscribe => (self.subscriptions, "subscriptions"),
            Method::GetPrompt => (self.prompts, "prompts"),
            Method::Complete => (self.completions, "completions"),
            Method::ListTasks => (self.task_list, "a list of tasks"),
            // Who has made a task is asked after it, whatever it declared.
            Method::GetTask | Method::TaskResult | Method::UpdateTask | Method::CancelTask => (true, "tasks"),
        };
        (!has).then_some(what)
    }
}

/// Reads the lists besides tools, and again whenever the child says that they have changed.
pub(super) async fn follow(server: &Server, context: &Context, connection: &Connection) -> Infallible {
    read_resources(server, context, connection).await;
    read_prompts(server, context, connection).await;
    server.listed.send_replace(true);
    renew(server, connection).await;
    let changes = connection.changes();
    let resources = async {
        let mut pace = Pace::new();
        loop {
            changes.resources.due(&pace).await;
            read_resources(server, context, connection).await;
            pace.done();
        }
    };
    let prompts = async {
        let mut pace = Pace::new();
        loop {
            changes.prompts.due(&pace).await;
            read_prompts(server, context, connection).await;
            pace.done();
        }
    };
    let (never, ..): (Infallible, Infallible, _) =
        tokio::join!(resources, prompts, pass_updates_on(server, context, connection));
    never
}

async fn read_resources(server: &Server, context: &Context, connection: &Connection) {
    let (mut resources, mut templates) = (Listing::default(), Listing::default());
    if connection.offers().resources {
        let read = (
            read(server, context, connection, Kind::Resources).await,
            read(server, context, connection, Kind::Templates).await,
        );
        // With one of the two lost, the lists stay what they were.
        let (Some(first), Some(second)) = read else { return };
        (resources, templates) = (first, second);
    }
    let notes = notes([(Kind::Resources, &resources), (Kind::Templates, &templates)]);
    let (listed, listed_templates) = (resources.tools.len(), templates.tools.len());
    let taken = context.sink.resources(server.index, resources.tools, templates.tools);
    let mut facts = server.facts();
    facts.resources = listed;
    facts.templates = listed_templates;
    facts.resource_notes = bounded(notes, taken);
}

async fn read_prompts(server: &Server, context: &Context, connection: &Connection) {
    let mut prompts = Listing::default();
    if connection.offers().prompts {
        let Some(read) = read(server, context, connection, Kind::Prompts).await else { return };
        prompts = read;
    }
    let notes = notes([(Kind::Prompts, &prompts)]);
    let listed = prompts.tools.len();
    let taken = context.sink.prompts(server.index, prompts.tools);
    let mut facts = server.facts();
    facts.prompts = listed;
    facts.prompt_notes = bounded(notes, taken);
}

/// Reads one list; `None`, and a note, when it cannot be had.
async fn read(server: &Server, context: &Context, connection: &Connection, kind: Kind) -> Option<Listing> {
    let limit = server.list_timeout.unwrap_or(server.boot_timeout);
    match list(connection, server.spec.id, kind, limit, context.max_list).await {
        Ok(listing) => Some(listing),
        // The end is noticed elsewhere.
        Err(ChildError::Exited { .. }) => None,
        Err(error) => {
            let note = format!("its list of {} could not be read: {}", kind.nouns().1, brief(&error));
            let mut facts = server.facts();
            facts.errors = facts.errors.saturating_add(1);
            let notes = if kind == Kind::Prompts { &mut facts.prompt_notes } else { &mut facts.resource_notes };
            *notes = vec![note];
            None
        }
    }
}

/// What was odd about these lists, one sentence each.
fn notes<const N: usize>(listings: [(Kind, &Listing); N]) -> Vec<String> {
    let mut notes = Vec::new();
    for (kind, listing) in listings {
        notes.extend(listing.notes.iter().cloned());
        let (one, _) = kind.nouns();
        let left_out = |skip: &SkippedTool| format!("{one} `{}` is left out: {}", quoted(&skip.name, 120), skip.reason);
        notes.extend(listing.skipped.iter().map(left_out));
    }
    notes
}

/// The notes with what those who offer the entries have to say.
fn bounded(mut notes: Vec<String>, taken: Taken) -> Vec<String> {
    notes.extend(taken.notes);
    notes.truncate(MAX_TOLD);
    notes
}

/// Subscribes again to what clients of an earlier run subscribed to.
async fn renew(server: &Server, connection: &Connection) {
    if connection.offers().subscriptions {
        for uri in server.watched() {
            let params = json!({ "uri": uri }).to_string();
            // A resource that is gone is no failure of the server.
            let _ = connection.request(Method::Subscribe.name(), &params, server.call_timeout).await;
        }
    }
}

/// Tells the sink which resources have changed, a burst at a time.
async fn pass_updates_on(server: &Server, context: &Context, connection: &Connection) -> Infallible {
    loop {
        let updated = connection.changes().updates.next().await;
        for uri in updated.iter().filter(|uri| server.watches(uri)) {
            context.sink.updated(server.index, uri);
        }
        sleep(DEBOUNCE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_decides() {
        let offers = |capabilities: Value| {
            let offers = Offers::read(&capabilities);
            [Method::ReadResource, Method::Subscribe, Method::GetPrompt, Method::Complete, Method::ListTasks]
                .map(|method| offers.lacks(method).is_none())
        };
        for (capabilities, expected) in [
            (json!({}), [false; 5]),
            (json!(null), [false; 5]),
            (json!({"resources": {}, "prompts": {"listChanged": false}}), [true, false, true, false, false]),
            (json!({"resources": {"subscribe": true}, "completions": {}}), [true, true, false, true, false]),
            (json!({"tasks": {"list": {}}}), [false, false, false, false, true]),
            (json!({"resources": true, "prompts": null, "completions": [], "tasks": {}}), [false; 5]),
        ] {
            assert_eq!(offers(capabilities.clone()), expected, "{capabilities}");
        }
    }
}
