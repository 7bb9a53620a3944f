//! Whether what evokore writes down for later can be written.

use super::report::{Finding, Weight};
use crate::audit::Folder;
use crate::env_vars;
use crate::settings::Settings;

const ABOUT: &str = "state";

/// What becomes of the audit log.
pub(super) fn audit(settings: &Settings) -> Finding {
    if !settings.audit {
        let text = format!("there is no audit log, because `{}` says so", env_vars::AUDIT_LOG);
        return Finding::new(ABOUT, Weight::Note, text);
    }
    let Some(home) = &settings.home else {
        return Finding::new(ABOUT, Weight::Problem, "there is no audit log, because there is no home folder")
            .hint(format!("set `{}` or `HOME`", env_vars::HOME));
    };
    let folder = Folder::below(home);
    match folder.try_out() {
        Ok(()) => Finding::new(ABOUT, Weight::Ok, format!("audit log in `{}`", folder.path().display())),
        Err(error) => {
            let text = format!("the audit log in `{}` cannot be written: {error}", folder.path().display());
            Finding::new(ABOUT, Weight::Problem, text).hint(format!(
                "calls are made all the same, and not noted; mend that, or set `{}` to another folder",
                env_vars::HOME
            ))
        }
    }
}
