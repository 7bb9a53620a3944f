//! What tells two policies apart: what they decide, not how they are written.

use evokore_catalog::permission::{ApprovalMode, Policy, Rules};

use crate::source::hex_sha256;

/// SHA-256 over everything that `policy` decides by, hexadecimal.
pub fn digest(policy: &Policy) -> String {
    let mut text = section("rules", &policy.rules);
    for role in policy.roles {
        text.push_str(&section(&format!("role {} {}", role.name, role.default_permission.name()), &role.overrides));
    }
    for mode in policy.modes {
        let head = format!("mode {} {:?} {:?}", mode.name, mode.on_drift, mode.on_hostile);
        text.push_str(&section(&head, &mode.rules));
    }
    text.push_str(&format!("active {:?} {}\n", policy.active_role, policy.active_mode));
    if policy.approvals != ApprovalMode::Operator {
        text.push_str(&format!("approvals {}\n", policy.approvals.name()));
    }
    hex_sha256(text.as_bytes())
}

fn section(head: &str, rules: &Rules) -> String {
    let lines = rules.iter().map(|rule| format!("  {}\t{}\n", rule.tools, rule.access.name()));
    format!("{head}\n{}", lines.collect::<String>())
}
