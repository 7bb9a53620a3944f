//! What lines of a `.env` file mean.

use std::path::PathBuf;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

#[test]
fn values() {
    for (text, expected) in [
        ("A=1", "1"),
        ("A = 1 ", "1"),
        ("\u{feff}A=1\r\n", "1"),
        ("export A=1", "1"),
        ("export\tA=1", "1"),
        ("A=", ""),
        ("A=   # nothing", ""),
        ("A=one two # comment", "one two"),
        ("A=#fff", "#fff"),
        ("A=a#b", "a#b"),
        ("A=$HOME/${X}", "$HOME/${X}"),
        ("A=x=y", "x=y"),
        ("A='x # y' # comment", "x # y"),
        (r"A='a\nb'", r"a\nb"),
        (r#"A="a\nb\t\"c\" \\ \$d \q""#, "a\nb\t\"c\" \\ $d \\q"),
        ("A=\"one\r\ntwo\"\r\n", "one\ntwo"),
        ("A='one\ntwo'", "one\ntwo"),
        ("A=it's", "it's"),
        ("A=grüße", "grüße"),
        ("# A=0\n\n  \nA=1\nA=2\nB=3", "2"),
    ] {
        let parsed = parse(text);
        assert_eq!(parsed.values.get("A").map(String::as_str), Some(expected), "{text:?}");
        assert_eq!(parsed.problems, [], "{text:?}");
    }
}

#[test]
fn problems_name_line_and_variable_but_no_value() {
    let text =
        "GOOD=1\nsecret words\n9A=secret\nA B=secret\n=secret\n\nLATE=\"one\ntwo\" secret\nOPEN='secret\nLAST=2\n";
    let parsed = parse(text);
    let lines: Vec<String> = parsed.problems.iter().map(|problem| format!("{}: {problem}\n", problem.line)).collect();
    expect![[r#"
        2: no `=` in the line
        3: what stands before `=` is no name of a variable
        4: what stands before `=` is no name of a variable
        5: what stands before `=` is no name of a variable
        7: `LATE`: something stands after the closing quote
        8: no `=` in the line
        9: `OPEN`: the quote is never closed
    "#]]
    .assert_eq(&lines.concat());
    assert_eq!(parsed.values.keys().collect::<Vec<_>>(), ["GOOD", "LAST"]);
}

#[test]
fn lines_after_a_value_of_several_lines_are_counted() {
    let parsed = parse("A='1\n2\n3'\nnothing\nB=4\n");
    assert_eq!(parsed.problems[0].line, 4);
    assert_eq!(parsed.values["B"], "4");
}

#[test]
fn places() {
    assert_eq!(candidates(&[]), [PathBuf::from(".env")]);
    let folders = ["/etc/evokore", "conf"].map(PathBuf::from);
    assert_eq!(candidates(&folders), ["/etc/evokore/.env", "conf/.env", ".env"].map(PathBuf::from));
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(?s)[A='\"\\\\\n\r #ü\u{feff}$]{0,60}") {
        parse(&text);
    }

    #[test]
    fn a_quoted_value_comes_back(value in "(?s)[^'\r]{0,40}", after in "[a-z]{0,5}") {
        let parsed = parse(&format!("A='{value}'\nB={after}"));
        prop_assert_eq!(&parsed.values["A"], &value);
        prop_assert_eq!(&parsed.values["B"], &after);
    }

    #[test]
    fn an_escaped_value_comes_back(value in "(?s)[^\r]{0,40}") {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        prop_assert_eq!(&parse(&format!("A=\"{escaped}\"")).values["A"], &value);
    }
}
