//! The tool that a call is judged by, held on to where what it is decides what the call comes to.

use std::sync::Arc;

use bytes::Bytes;
use evokore_catalog::lock::drift::Drift;
use evokore_catalog::permission::Access;

use crate::app::App;
use crate::child::Still;
use crate::listing::merged::ToolRef;
use crate::listing::projection;

/// What a call has been judged by.
pub(super) struct Judged {
    /// `None` where every tool of the server is served whatever it is.
    seen: Option<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    access: Access,
    definition: Bytes,
    drift: Drift,
}

impl Judged {
    /// The tool `name` of `server` as it is now.
    pub(super) fn of(app: &App, server: u16, name: &str) -> Judged {
        let is_strict = app.settings.guard(server).is_strict();
        Judged { seen: is_strict.then(|| seen(app, name)).flatten() }
    }

    /// The definition that a consent is bound to: a person who agrees to a call has looked at this tool, and not at what
    /// it may become.
    pub(super) fn definition(&self) -> Option<&[u8]> {
        self.seen.as_ref().map(|seen| &*seen.definition)
    }

    /// Why a call needs a person beside what the policy says; completes "because …".
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self.seen.as_ref()?.drift {
            Drift::None => None,
            Drift::Changed => Some("the tool is not what was locked"),
            Drift::New => Some("the tool is new since its server was locked"),
        }
    }

    /// The condition that it is the same tool when the call is sent.
    pub(super) fn still(&self, app: &Arc<App>, name: &str) -> Option<Still> {
        let judged = self.seen.clone()?;
        let (app, name) = (app.clone(), name.to_owned());
        Some(Still::new(move || seen(&app, &name).as_ref() == Some(&judged)))
    }
}

fn seen(app: &App, name: &str) -> Option<Seen> {
    let merged = app.merged();
    let tool = merged.find(name)?;
    let (definition, drift) = match tool {
        ToolRef::Live(_, _, live) => (live.described.clone(), live.drift),
        ToolRef::Compiled(..) => (tool.described().map(Bytes::copy_from_slice).unwrap_or_default(), Drift::None),
    };
    Some(Seen { access: projection::access(&app.settings, tool), definition, drift })
}
