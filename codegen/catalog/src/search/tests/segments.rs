//! The bounds of what is written, and what happens to bytes that are no segment.

use serde_json::json;

use super::{segment, tools};
use crate::search::{Document, Options, Scratch, Segment, SegmentError, WriteError, search, write_segment};

#[test]
fn no_document_takes_more_than_its_share() {
    let long = "word ".repeat(100_000);
    let values: Vec<_> = (0..100_000).map(|number| format!("value {number}")).collect();
    let schema = json!({"properties": {"a": {"description": long, "enum": values}}});
    let document = Document::of_tool(&long, &long, &schema);
    assert!(write_segment(&[document]).unwrap().len() < 1 << 20);

    let mut deep = json!({"description": "bottom"});
    for _ in 0..100 {
        deep = json!({"properties": {"down": deep}});
    }
    let deep = segment(&[Document::of_tool("deep", "", &deep)]);
    assert_eq!(search(&[&deep], "bottom", &Options::default(), &mut Scratch::default()).ranked, []);
}

#[test]
fn what_is_no_segment_is_refused() {
    let good = write_segment(&tools()).unwrap();
    assert!(matches!(Segment::new(Vec::new()), Err(SegmentError::NotASegment)));
    assert!(matches!(Segment::new(b"evkseg0\n".to_vec()), Err(SegmentError::NotASegment)));
    assert!(matches!(Segment::new(good[..20].to_vec()), Err(SegmentError::Length { found: 20, wanted: 28 })));
    assert!(matches!(Segment::new(good[..100].to_vec()), Err(SegmentError::Length { found: 100, .. })));
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(Segment::new(damaged), Err(SegmentError::Dictionary(_))));
    assert_eq!(segment(&[]).documents(), 0);

    let many = vec![Document::default(); 65_537];
    assert_eq!(write_segment(&many), Err(WriteError::TooManyDocuments(65_537)));
    assert_eq!(segment(&many[1..]).documents(), 65_536);
}
