//! Finding a program as Windows does: a bare name is tried with each extension in each folder of `PATH`, so that
//! `npx` finds `npx.cmd`. Pure: what exists is asked of the caller.

/// The file that `program` stands for, or `None` if there is none. `path` and `extensions` are the variables `PATH`
/// and `PATHEXT`.
pub(super) fn find_on_windows(
    program: &str,
    path: &str,
    extensions: &str,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let extensions: Vec<&str> = extensions.split(';').filter(|extension| extension.starts_with('.')).collect();
    let has_extension = extensions.iter().any(|extension| ends_with_ignoring_case(program, extension));
    let candidates = |stem: &str| -> Option<String> {
        if has_extension {
            return Some(stem.to_owned()).filter(|file| exists(file));
        }
        // A file without an extension beside `npx.cmd` is a shell script, which Windows cannot start.
        extensions.iter().map(|extension| format!("{stem}{}", extension.to_lowercase())).find(|file| exists(file))
    };
    if program.contains(['\\', '/', ':']) {
        return candidates(program);
    }
    path.split(';')
        .map(|folder| folder.trim_matches('"').trim_end_matches(['\\', '/']))
        .find_map(|folder| if folder.is_empty() { None } else { candidates(&format!("{folder}\\{program}")) })
}

fn ends_with_ignoring_case(text: &str, end: &str) -> bool {
    text.len() > end.len()
        && text.is_char_boundary(text.len() - end.len())
        && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_shims() {
        let files = [r"C:\node\npx", r"C:\node\npx.cmd", r"C:\py\uvx.exe", r"C:\py\npx.exe", r"D:\tools\run.bat"];
        let exists = |file: &str| files.contains(&file);
        let path = r#"C:\none;;"C:\node\";C:\py"#;
        for (program, expected) in [
            ("npx", Some(r"C:\node\npx.cmd")),
            ("npx.exe", Some(r"C:\py\npx.exe")),
            ("uvx", Some(r"C:\py\uvx.exe")),
            ("pnpm", None),
            (r"D:\tools\run", Some(r"D:\tools\run.bat")),
            (r"D:\tools\run.bat", Some(r"D:\tools\run.bat")),
            (r"D:\tools\gone", None),
        ] {
            assert_eq!(
                find_on_windows(program, path, ".COM;.EXE;.BAT;.CMD", &exists).as_deref(),
                expected,
                "{program}"
            );
        }
    }
}
