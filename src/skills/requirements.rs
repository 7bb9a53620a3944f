//! What a skill asks of the rest of the library.

use super::skill::SkillRef;
use super::snapshot::Snapshot;

/// What is missing for `skill`, and what it must not be combined with. Never a reason to refuse it.
pub fn warnings(snapshot: &Snapshot, skill: SkillRef<'_>) -> Vec<String> {
    let name = skill.name();
    let missing = skill.requires().into_iter().filter_map(|requirement| {
        let required = requirement.split('@').next().unwrap_or(requirement).trim();
        snapshot
            .find(required)
            .is_none()
            .then(|| format!("`{name}` requires `{requirement}`, which is not in the library"))
    });
    let conflicting = skill.conflicts().into_iter().filter_map(|other| {
        let is_there =
            snapshot.find(other).is_some_and(|at| snapshot.get(at).is_some_and(|found| found.path() != skill.path()));
        is_there.then(|| format!("`{name}` must not be combined with `{other}`"))
    });
    missing.chain(conflicting).collect()
}
