//! How a live tool stands to what its server's lock says of it.

use serde_json::Value;

use crate::canonical::value_sha256;
use crate::permission::Access;
use crate::server::{OnDrift, OnHostile};

/// How a live tool stands to its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drift {
    /// It is what was locked, or its server has no lock.
    None,
    /// The lock knows its name with another definition.
    Changed,
    /// The lock does not know it.
    New,
}

/// What is done about live tools that are not what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// About those that are not what their lock says.
    pub on_drift: OnDrift,
    /// About those with something dangerous in their definitions.
    pub on_hostile: OnHostile,
}

impl Guard {
    /// The most that anybody may do with a live tool, whatever the policy allows.
    pub fn access(self, drift: Drift, is_dangerous: bool) -> Access {
        match (drift, self.on_drift) {
            _ if is_dangerous && self.on_hostile == OnHostile::Block => Access::Deny,
            (Drift::None, _) | (_, OnDrift::Warn) => Access::Allow,
            (_, OnDrift::Approve) => Access::RequireApproval,
            (_, OnDrift::Block) => Access::Deny,
        }
    }

    /// Whether any tool may come to less than the policy allows, so that calls must wait for the live list.
    pub fn is_strict(self) -> bool {
        self.on_drift > OnDrift::Warn || self.on_hostile > OnHostile::Report
    }
}

/// Comparisons of one tool's content with another's that are made for one pair of lists. Whoever renames more tools
/// than this at once has made another server.
const MAX_COMPARISONS: usize = 4096;

/// One tool that is looked for under another name: its own name, and the digest of its definition.
pub type Digested<'a> = (&'a str, &'a str);

/// Finds tools by their content under other names. A digest covers the name, so the name that was locked is put in the
/// place of the live one; this needs no definition of the locked tool.
#[derive(Debug)]
pub struct Renames {
    left: usize,
}

impl Default for Renames {
    fn default() -> Renames {
        Renames { left: MAX_COMPARISONS }
    }
}

impl Renames {
    /// Which of `candidates` is the tool `definition`, but for its name.
    pub fn find<'a>(
        &mut self,
        definition: &str,
        candidates: impl IntoIterator<Item = Digested<'a>>,
    ) -> Option<&'a str> {
        let mut value: Value = serde_json::from_str(definition).ok()?;
        value.get("name")?;
        for (name, sha256) in candidates {
            self.left = self.left.checked_sub(1)?;
            value["name"] = name.into();
            if value_sha256(&value) == sha256 {
                return Some(name);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::canonical_sha256;

    #[test]
    fn what_a_live_tool_may_come_to() {
        for (on_drift, on_hostile, [same, changed, new, dangerous]) in [
            (OnDrift::Warn, OnHostile::Report, [Access::Allow; 4]),
            (OnDrift::Warn, OnHostile::Block, [Access::Allow, Access::Allow, Access::Allow, Access::Deny]),
            (
                OnDrift::Approve,
                OnHostile::Report,
                [Access::Allow, Access::RequireApproval, Access::RequireApproval, Access::Allow],
            ),
            (OnDrift::Block, OnHostile::Block, [Access::Allow, Access::Deny, Access::Deny, Access::Deny]),
        ] {
            let guard = Guard { on_drift, on_hostile };
            assert_eq!(guard.access(Drift::None, false), same, "{guard:?}");
            assert_eq!(guard.access(Drift::Changed, false), changed, "{guard:?}");
            assert_eq!(guard.access(Drift::New, false), new, "{guard:?}");
            assert_eq!(guard.access(Drift::None, true), dangerous, "{guard:?}");
            assert_eq!(guard.is_strict(), on_drift != OnDrift::Warn || on_hostile != OnHostile::Report);
        }
    }

    #[test]
    fn a_tool_is_known_by_its_content() {
        let [a, b] = [r#"{"name":"a","x":1}"#, r#"{"name":"b","x":2}"#].map(canonical_sha256);
        let locked = || [("a", a.as_str()), ("b", b.as_str())];
        let mut renames = Renames::default();
        assert_eq!(renames.find(r#"{"x":2,"name":"c"}"#, locked()), Some("b"));
        for stranger in [r#"{"x":3,"name":"c"}"#, "[]", "{}", "{"] {
            assert_eq!(renames.find(stranger, locked()), None, "{stranger}");
        }
        let many = std::iter::repeat_n(("a", ""), MAX_COMPARISONS);
        assert_eq!(renames.find(r#"{"name":"c"}"#, many), None);
        assert_eq!(renames.find(r#"{"x":2,"name":"c"}"#, locked()), None, "work is bounded");
    }
}
