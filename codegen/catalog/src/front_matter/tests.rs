//! Every shape of front matter met in the wild.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{SkillFile, parse};

fn read(text: &str) -> SkillFile {
    parse(text.as_bytes()).unwrap_or_else(|finding| panic!("{finding}"))
}

fn refusal(bytes: &[u8]) -> String {
    parse(bytes).expect_err("a refusal").to_string()
}

fn check_notes(text: &str, expected: Expect) {
    expected.assert_eq(&read(text).notes.iter().map(|note| format!("{note}\n")).collect::<String>());
}

#[test]
fn fences() {
    for text in [
        "---\nname: n\ndescription: d\n---\nBody\n",
        "\u{feff}---\nname: n\ndescription: d\n---\nBody\n",
        "---\r\nname: n\r\ndescription: d\r\n---\r\nBody\r\n",
        "---  \nname: n\ndescription: d\n---\t\nBody",
        "\u{feff}---\r\nname: n\r\ndescription: d\r\n--- \r\nBody",
        "---\rname: n\rdescription: d\r---\rBody",
    ] {
        let file = read(text);
        assert_eq!((file.name.as_deref(), file.description.as_deref()), (Some("n"), Some("d")), "{text:?}");
        assert_eq!((file.body.as_str(), file.body_line), ("Body", 5), "{text:?}");
        assert_eq!(file.notes, [], "{text:?}");
    }
    let file = read("---\nname: n\ndescription: d\n---");
    assert_eq!((file.body.as_str(), file.description.as_deref()), ("", Some("d")));
}

#[test]
fn rules_in_the_body_belong_to_the_body() {
    let file = read("---\nname: right\n---\n\n\n# One\r\n\n---\n\nname: wrong\n\n---\n");
    assert_eq!(file.name.as_deref(), Some("right"));
    assert_eq!(file.body, "# One\n\n---\n\nname: wrong\n\n---");
    assert_eq!(file.body_line, 6);
}

#[test]
fn descriptions_in_every_style_are_one_line() {
    for (yaml, expected) in [
        ("description: plain", "plain"),
        ("description: \"a: b \\\"c\\\"\"", "a: b \"c\""),
        ("description: 'it''s'", "it's"),
        ("description: >\n  First line\n  second line.", "First line second line."),
        ("description: >-\n  First\n  second\n\n  new paragraph", "First second new paragraph"),
        (
            "description: |-\n  A reference.\n  TRIGGER when: `x`; or \"one\".\n  SKIP {a|b} #tags",
            "A reference. TRIGGER when: `x`; or \"one\". SKIP {a|b} #tags",
        ),
        ("description: |\n  a\n\n  \tb", "a b"),
        ("description: Needs >5 steps.\n  Goes on. Then\n  a third.", "Needs >5 steps. Goes on. Then a third."),
        ("description:\n  on the next line", "on the next line"),
        ("description: 456", "456"),
        ("description: 1.10", "1.10"),
    ] {
        let file = read(&format!("---\nname: n\n{yaml}\nlicense: MIT\n---\nBody"));
        assert_eq!(file.description.as_deref(), Some(expected), "{yaml}");
        assert_eq!(file.notes, [], "{yaml}");
    }
}

#[test]
fn a_colon_in_a_sentence_is_text() {
    let text =
        "---\nname: n\ndescription: Two axes: standards and spec. Triggers on: \"/review\".\nversion: 1.10\n---\n";
    let file = read(text);
    assert_eq!(file.description.as_deref(), Some("Two axes: standards and spec. Triggers on: \"/review\"."));
    assert_eq!(file.version.as_deref(), Some("1.10"));
    check_notes(
        text,
        expect![[r#"
            :3:14: `description` is not YAML as it stands, most likely for a colon in it; the rest of the line was taken as its text (hint: put the text in quotes, or write `description: >-` and the text indented on the next line)
        "#]],
    );
}

#[test]
fn other_values_that_yaml_refuses_are_text_too() {
    for (yaml, key, expected) in [
        ("description: [WIP] does things", "description", "[WIP] does things"),
        ("description: *bold* claims", "description", "*bold* claims"),
        ("description: `code` first", "description", "`code` first"),
        ("description: @mention", "description", "@mention"),
        ("description: Use when: a\n  and also: b", "description", "Use when: a and also: b"),
        ("description: |-\n  when: kept\nname: a: b", "name", "a: b"),
    ] {
        let file = read(&format!("---\n{yaml}\n---\n"));
        let value = if key == "name" { &file.name } else { &file.description };
        assert_eq!(value.as_deref(), Some(expected), "{yaml}");
        assert_eq!(file.notes.len(), 1, "{yaml}: {:?}", file.notes);
    }
    let file = read("---\nname: n\nmetadata:\n  note: a: b\n  tags: [x, y]\n---\n");
    assert_eq!((file.tags.join(" "), file.notes[0].line), ("x y".to_owned(), 4));
}

#[test]
fn fields_and_their_spellings() {
    let file = read(concat!(
        "---\nname: 123\nversion: 1.10\naliases: [First, second]\nalias: first\ncategory: Tools\ntags: a, b\n",
        "resolutionHints:\n  - map unknown, binary\nrequires: [x, 'y@>=1.2.0', {name: z, minVersion: 2.0}, {name: v, version: ^1}]\n",
        "conflicts:\n  - name: old\n  - older\nallowed-tools: [Read, \"Bash(ls *)\"]\n",
        "metadata:\n  tags: [b, c]\n  original_command: Third\n  start: 10:00\n  enabled: yes\n---\n",
    ));
    assert_eq!(file.name.as_deref(), Some("123"));
    assert_eq!(file.version.as_deref(), Some("1.10"));
    assert_eq!(file.category.as_deref(), Some("Tools"));
    assert_eq!(file.tags, ["a", "b", "c"]);
    assert_eq!(file.aliases, ["first", "second", "third"]);
    assert_eq!(file.hints, ["map unknown, binary"]);
    assert_eq!(file.requires, ["x", "y@>=1.2.0", "z@>=2.0", "v@^1"]);
    assert_eq!(file.conflicts, ["old", "older"]);
    assert_eq!(file.allowed_tools, ["Read", "Bash(ls *)"]);
    let metadata = file.front.iter().find(|(key, _)| key == "metadata").map(|(_, value)| value).unwrap();
    assert_eq!(metadata.get("start").and_then(super::Value::as_text), Some("10:00"));
    assert_eq!(metadata.get("enabled").and_then(super::Value::as_text), Some("yes"));
    assert_eq!(file.place("version"), (3, 10));
    assert_eq!(file.place("metadata"), (15, 10));
    assert_eq!(read("---\nmetadata: {version: 1.0.0}\n---\n").version.as_deref(), Some("1.0.0"));
    assert_eq!(read("---\nname: ~\ndescription:\n---\n").name, None);
}

#[test]
fn refusals() {
    let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n---\n";
    let utf16: Vec<u8> = "---\nname: n\n---\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> =
        [&[0xfe, 0xff][..], &"---".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>()].concat();
    let long = format!("---\nname: n\nx: {}\n---\n", "y".repeat(70_000));
    let deep = format!("---\nx: {}\n---\n", "[".repeat(500));
    let cases: [&[u8]; 13] = [
        b"# Title\n\nname: no\n",
        b"",
        b"----\nname: n\n----\n",
        b"---\nname: n\ndescription: d\n\n# Body\nname: leak\n",
        b"---\nname: n\ndescription: d\nmetadata:\n\tkey: v\n---\n",
        b"---\nname: n\ndescription: caf\xe9\n---\n",
        &utf16,
        &marked,
        bomb.as_bytes(),
        long.as_bytes(),
        deep.as_bytes(),
        b"---\n- a\n- b\n---\n",
        b"---\nname: n\ndescription: \"open\n---\n",
    ];
    let text: String = cases.iter().map(|bytes| refusal(bytes) + "\n").collect();
    expect![[r#"
        :1:1: there is no front matter, so this is no skill (hint: start the file with `---`, `name: …`, `description: …`, `---`)
        :1:1: there is no front matter, so this is no skill (hint: start the file with `---`, `name: …`, `description: …`, `---`)
        :1:1: there is no front matter, so this is no skill (hint: start the file with `---`, `name: …`, `description: …`, `---`)
        :1:1: not read: the front matter is not closed (hint: add a line `---` between the front matter and the text)
        :5:1: not read: a tab indents the front matter, which YAML does not allow (hint: indent with blanks)
        :3:17: not read: byte 0xe9 is not UTF-8; the file may be Latin-1 or Windows-1252 (hint: save it as UTF-8)
        :1:1: not read: the file is UTF-16 (hint: save it as UTF-8)
        :1:1: not read: the file is UTF-16 (hint: save it as UTF-8)
        :2:4: not read: aliases blow the front matter up beyond what is read (hint: write the values out, without `*aliases`)
        :1:1: not read: the front matter has 70012 bytes; 65536 is the limit (hint: move long texts below the front matter)
        :2:131: not read: the front matter is nested too deeply (hint: keep to a few levels)
        :2:1: not read: the front matter is no list of `key: value` lines (hint: start it with `name: …` and `description: …`)
        :3:14: not read: a quote is opened and not closed (hint: close it on the same line)
    "#]].assert_eq(&text);
}

#[test]
fn oddities_are_noted() {
    check_notes(
        "\n\n---\nname: a\ndescription: d\nname: b\n---\n",
        expect![[r#"
        :3:1: the front matter does not start on the first line (hint: move it up)
        :6:7: `name` stands twice; the last one counts (hint: keep one of them)
    "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_yaml_panics(yaml in "[-a-c:*&!|>'\"\\[\\]{},#%@` \t\n0-9~.?]{0,120}") {
        if let Ok(file) = parse(format!("---\n{yaml}\n---\nBody").as_bytes()) {
            prop_assert!(file.front.len() <= yaml.len());
            prop_assert!(file.notes.iter().all(|note| note.line >= 1 && note.column >= 1));
        }
    }

    #[test]
    fn sentences_survive(text in "[A-Za-z][A-Za-z :,;.()'`#*-]{0,60}[a-z.]") {
        let file = parse(format!("---\nname: n\ndescription: {text}\n---\n").as_bytes());
        let file = file.map_err(|finding| TestCaseError::fail(finding.to_string()))?;
        let words: Vec<&str> = text.split(" #").next().unwrap_or("").split_whitespace().collect();
        let read = file.description.unwrap_or_default();
        // A comment ends a plain text, unless the text had to be repaired.
        prop_assert!(read == words.join(" ") || read == text.split_whitespace().collect::<Vec<_>>().join(" "), "{read}");
    }
}
