//! What holds for any text, any bytes, and any split into segments.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use serde_json::json;

use super::{segment, tools};
use crate::search::terms::MAX_WORD_BYTES;
use crate::search::{
    Document, Field, Floor, Options, Scratch, Segment, normalise_name, search, terms, words, write_segment,
};

/// Texts that look like what people and programs write.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => Just("file"), 4 => Just("Search"), 2 => Just("GitHub"), 2 => Just("issues"), 1 => Just("the"),
        1 => Just("serach"), 1 => Just("k8s"), 1 => Just("索引"), 1 => Just("naïve"), 1 => Just("🦀"), 1 => Just("2024"),
    ];
    vec(word, 0..8).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_has_terms(text in any::<String>()) {
        for word in words(&text) {
            prop_assert!(!word.is_empty() && word.len() <= MAX_WORD_BYTES);
        }
        prop_assert_eq!(terms(&text), terms(&text));
        prop_assert_eq!(normalise_name(&text).is_empty(), words(&text).next().is_none());
    }

    #[test]
    fn any_letters_have_terms(text in "[a-zA-Z']{0,60}( [a-z]{1,12})?") {
        prop_assert!(terms(&text).iter().all(|term| !term.is_empty()));
    }

    #[test]
    fn random_bytes_are_no_segment(bytes in vec(any::<u8>(), 0..200), magic in any::<bool>()) {
        let bytes = if magic { [b"evkseg1\n", &bytes[..]].concat() } else { bytes };
        prop_assert!(Segment::new(bytes).is_err());
    }

    #[test]
    fn damage_is_refused_or_harmless(at in any::<Index>(), bit in 0..8u8, cut in any::<Option<Index>>()) {
        let mut bytes = write_segment(&tools()).unwrap();
        let place = at.index(bytes.len());
        bytes[place] ^= 1 << bit;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(segment) = Segment::new(bytes) {
            for query in ["read the file", "serach GitHub issues", "time"] {
                search(&[&segment, &segment], query, &Options::default(), &mut Scratch::default());
            }
        }
    }

    #[test]
    fn order_of_texts_makes_no_difference(texts in vec((0..Field::COUNT, text()), 0..6)) {
        let document = |texts: &mut dyn Iterator<Item = &(usize, String)>| {
            let mut document = Document::default();
            texts.for_each(|(field, text)| document.add(Field::ALL[*field], text));
            document
        };
        let (forwards, backwards) = (document(&mut texts.iter()), document(&mut texts.iter().rev()));
        prop_assert_eq!(write_segment(&[forwards]), write_segment(&[backwards]));
    }

    #[test]
    fn segments_make_no_difference(
        texts in vec((text(), text()), 1..8), query in text(), cut in any::<Index>(), turn in any::<Index>(),
    ) {
        let documents: Vec<_> =
            texts.iter().map(|(name, description)| Document::of_tool(name, description, &json!({}))).collect();
        let options = Options { limit: 100, floor: Floor::NONE, ..Options::default() };
        let mut scratch = Scratch::default();
        let together = search(&[&segment(&documents)], &query, &options, &mut scratch);

        let cut = cut.index(documents.len() + 1);
        let (first, second) = documents.split_at(cut);
        let mut apart = search(&[&segment(first), &segment(second)], &query, &options, &mut scratch);
        for hit in apart.ranked.iter_mut().filter(|hit| hit.segment == 1) {
            (hit.segment, hit.document) = (0, hit.document + cut as u16);
        }
        prop_assert_eq!(&apart, &together);

        // Nor does the order of the documents, but for ties.
        let mut turned = documents.clone();
        let turn = turn.index(documents.len());
        turned.rotate_left(turn);
        let mut turned = search(&[&segment(&turned)], &query, &options, &mut scratch);
        for hit in &mut turned.ranked {
            hit.document = ((usize::from(hit.document) + turn) % documents.len()) as u16;
        }
        turned.ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
        prop_assert_eq!(&turned, &together);
    }
}
