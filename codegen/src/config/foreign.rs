//! Keys that a server has in the files of other programs and that mean nothing here, with what to do instead. Without
//! this table some would pass for slips of the fingers.

/// What to say about keys that withhold tools elsewhere.
const WITHHOLD: &str =
    "no tool is withheld because of it: deny tools in permissions.yml, choose visible ones in a profile";
/// What to say about keys that approve calls elsewhere.
const APPROVE: &str = "who may call what is decided by permissions.yml";
/// What to say about keys that are only for show.
const DELETE: &str = "delete it, or start its name with `_` to keep it without this note";

const OF_OTHERS: &[(&str, &str)] = &[
    ("allowedTools", WITHHOLD),
    ("alwaysAllow", APPROVE),
    ("auth", "put the header into `headers`, with the secret as `${NAME}`"),
    ("autoApprove", APPROVE),
    ("bearer_token_env_var", "write \"Authorization\": \"Bearer ${NAME}\" into `headers`"),
    ("dev", DELETE),
    ("disabledTools", WITHHOLD),
    ("disabled_tools", WITHHOLD),
    ("enabledTools", WITHHOLD),
    ("enabled_tools", WITHHOLD),
    ("environment", "the key is `env`"),
    ("env_vars", "the key is `inheritEnv`"),
    ("excludeTools", WITHHOLD),
    ("gallery", DELETE),
    ("icon", DELETE),
    ("includeTools", WITHHOLD),
    ("name", "the server is called by its id"),
    ("oauth", "the key takes an object, such as {\"clientId\": \"…\"}; mostly none is needed for `evokore login`"),
    ("options", WITHHOLD),
    ("settings", DELETE),
    ("source", DELETE),
    ("startup_timeout_sec", "the key is `bootTimeoutMs`, in milliseconds"),
    ("tool_timeout_sec", "the key is `callTimeoutMs`, in milliseconds"),
    ("tools", WITHHOLD),
    ("trust", APPROVE),
];

/// What to do in place of `key`, if it is one of them.
pub(super) fn hint(key: &str) -> Option<&'static str> {
    OF_OTHERS.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint)
}
