//! What becomes of a text, word by word.

use crate::search::spelling::{is_correctable, near};
use crate::search::terms::is_stop_word;
use crate::search::{normalise_name, terms, words};

#[test]
fn words_end_where_a_reader_sees_them_end() {
    for (text, expected) in [
        ("", ""),
        ("fs_read_file", "fs read file"),
        ("readTextFile", "read Text File"),
        ("HTTPServer", "HTTP Server"),
        ("parseURL", "parse URL"),
        ("URLs and IDs", "URLs and IDs"),
        ("GitHub's API", "Git Hub s API"),
        ("A1 b2c", "A 1 b 2 c"),
        ("v2.10-beta", "v 2 10 beta"),
        ("naïve Über ŁÓDŹ", "naïve Über ŁÓDŹ"),
        ("de\u{301}ja\u{300}", "de\u{301}ja\u{300}"),
        ("поиск файлов", "поиск файлов"),
        ("搜索files", "搜 索 files"),
        ("ひらカタ 한국", "ひ ら カ タ 한 국"),
        ("🦀 +-/ \u{0} \u{200b}", ""),
    ] {
        assert_eq!(words(text).collect::<Vec<_>>().join(" "), expected, "{text:?}");
    }
}

#[test]
fn terms_are_what_two_texts_have_in_common() {
    for (text, expected) in [
        ("Searching the files", "search file"),
        ("search_files", "search file"),
        ("what is it", "what is it"),
        ("What is a webhook?", "webhook"),
        ("GitHub", "git hub github"),
        ("upload to S3", "upload 3 s3"),
        ("k8s pods", "k 8 k8s pod"),
        ("getFanFiction", "get fan fiction"),
        ("URLs", "url"),
        ("don't", "don t"),
        ("don't panic", "panic"),
        ("ŁÓDŹ", "łódź"),
        ("搜索", "搜 索"),
    ] {
        assert_eq!(terms(text).join(" "), expected, "{text:?}");
    }
}

#[test]
fn stop_words_are_sorted_and_none_is_a_verb_of_a_tool() {
    for word in ["a", "the", "your", "don"] {
        assert!(is_stop_word(word), "{word}");
    }
    for word in ["get", "list", "create", "find", "show", "read", "make", "use", "run", ""] {
        assert!(!is_stop_word(word), "{word}");
    }
}

#[test]
fn names_are_one_however_they_are_written() {
    for name in ["fs_read_file", "fs.readFile", "FS Read File", "  fs-read-file\n", "fsReadFile", "fs/read/file"] {
        assert_eq!(normalise_name(name), "fs_read_file", "{name:?}");
    }
    assert_eq!(normalise_name("who_is_it"), "who_is_it");
    assert_eq!(normalise_name("??"), "");
}

#[test]
fn one_edit_is_mended_and_two_are_not() {
    let set = fst::Set::from_iter(["able", "cable", "file", "files", "fill", "search", "tile"]).unwrap().into_fst();
    for (typed, expected) in [
        ("serach", "search"),
        ("saerch", "search"),
        ("seach", "search"),
        ("seearch", "search"),
        ("seqrch", "search"),
        ("earch", "search"),
        ("xsearch", "search"),
        ("searc", "search"),
        ("searchy", "search"),
        ("fiel", "file fill"),
        ("fils", "file files fill"),
        ("file", "files fill tile"),
        ("bable", "able cable"),
        ("sreahc", ""),
        ("sea", ""),
        ("", ""),
    ] {
        let mut found = Vec::new();
        near(&set, typed, &mut found);
        found.retain(|word| word != typed);
        found.sort();
        found.dedup();
        assert_eq!(found.join(" "), expected, "{typed:?}");
    }
}

#[test]
fn only_long_words_of_letters_are_corrected() {
    for (word, correctable) in [("file", true), ("fil", false), ("v1beta", false), ("näme", false), ("", false)] {
        assert_eq!(is_correctable(word), correctable, "{word}");
    }
}
