//! Names of other programs' servers as ids, which begin the names of tools.

/// Most characters of an id, as the build has it.
const LONGEST: usize = 40;

/// `name` as an id: its last part where it is a path, with `-` for what ids must not have.
pub(super) fn safe(name: &str) -> String {
    let last = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name);
    let mut id = String::new();
    for c in last.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            id.push(c);
        } else if !id.ends_with('-') {
            id.push('-');
        }
    }
    id.truncate(LONGEST);
    let id = id.trim_matches('-');
    if id.is_empty() { "server".to_owned() } else { id.to_owned() }
}

/// `id`, with a number behind it if it is `taken`; upper and lower case are the same.
pub(super) fn unique(id: &str, taken: &[String]) -> String {
    let is_taken = |id: &str| taken.iter().any(|known| known.eq_ignore_ascii_case(id));
    let numbered = |n: usize| {
        let ending = format!("-{n}");
        format!("{}{ending}", &id[..id.len().min(LONGEST - ending.len())])
    };
    std::iter::once(id.to_owned()).chain((2..).map(numbered)).find(|id| !is_taken(id)).unwrap_or_default()
}
