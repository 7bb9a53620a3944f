//! Which tools a session sees: the projection, shared by the token counts of the build and the lists of the runtime.

use crate::profile::{ProfileEntry, Visibility};

/// Whether `profile` always shows the tool exposed as `name`. `describe_tool` is shown by every profile, since it is
/// the only way back from deferred schemas.
pub fn always_visible(profile: &ProfileEntry, name: &str, native: bool) -> bool {
    if native && name == DESCRIBE_TOOL {
        return true;
    }
    match profile.visible {
        Visibility::All => true,
        Visibility::AllNative => native,
        Visibility::Named(names) => names.binary_search(&name).is_ok(),
    }
}

/// The same for compiled tool `index`, from the profile's bits.
pub fn always_visible_compiled(profile: &ProfileEntry, index: usize) -> bool {
    profile.bits.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// Name of the native tool that every profile shows.
pub const DESCRIBE_TOOL: &str = "describe_tool";
