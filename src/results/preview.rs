//! What is sent in place of a result that is too long for a model: the first page of its text, and a link to the rest.
//! Blocks that hold no text, members that nobody here knows, `isError` and `_meta` stay as they came.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::pages::{ends, most_tokens, tokens};
use super::{MAX_AGE, Results, page_uri};

/// Tokens of a preview that what is said about the rest may take.
const SAID: u64 = 200;
/// A page has so many tokens at least, or the pages could not be counted.
const LEAST_PAGE: u64 = 64;

/// How long the results of a tool may be.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    /// Exposed name of the tool.
    pub tool: &'a str,
    /// Estimated tokens.
    pub tokens: u32,
    /// Whether the tool promises the shape of its data: then these are whole, or the promise is broken.
    pub has_schema: &'a dyn Fn() -> bool,
}

/// The result to send in place of `result`, whose text is then kept in `results`; `None` when it may go as it is.
pub fn preview(result: &Bytes, limit: Limit<'_>, results: &Results) -> Option<Bytes> {
    let most = u64::from(limit.tokens);
    if most_tokens(result.len()) <= most {
        return None;
    }
    let members = Members::parse(std::str::from_utf8(result).ok()?).ok()?.unique();
    if members.get("resultType").is_some_and(|kind| kind.get() != r#""complete""#) {
        return None;
    }
    let mut content = Content::read(members.get("content")?)?;
    let data = members.get("structuredContent").filter(|data| tokens(data.get()) > most && !(limit.has_schema)());
    if data.is_none() && tokens(&content.text) <= most {
        return None;
    }
    let shown_text = content.text.len();
    if let Some(data) = data.filter(|data| !is_said_by(data, &content.text)) {
        content.separate();
        content.text.push_str(data.get());
    }
    let size = content.text.len();
    let ends = ends(&content.text, most.saturating_sub(SAID).max(most / 2).max(LEAST_PAGE));
    let cut = ends.first().copied().unwrap_or(size);
    let mut blocks = content.until(cut.min(shown_text));
    let pages = ends.len();
    if pages > 1 {
        let about = tokens(&content.text);
        let mime =
            if serde_json::from_str::<IgnoredAny>(&content.text).is_ok() { "application/json" } else { "text/plain" };
        let kept = results.keep(limit.tool, content.text, mime, ends);
        let head = format!(
            "[evokore: the result of `{}` has about {about} tokens; these are the first {} of its {size} bytes",
            limit.tool,
            cut.min(shown_text),
        );
        blocks.push(text_block(&match &kept {
            Some(uri) => {
                let next = page_uri(uri, 2);
                let minutes = MAX_AGE.as_secs() / 60;
                format!(
                    "{head}, page 1 of {pages}. Read on with the resource `{next}`, or with call_tool and \
                     {{\"name\": \"{next}\"}}; it is kept for {minutes} minutes.]"
                )
            }
            None => format!("{head}, and it is too large to be kept: ask for less, such as a page or a range.]"),
        }));
        blocks.extend(kept.map(|uri| {
            let name = format!("Result of {}", limit.tool);
            json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime, "size": size}).to_string()
        }));
    }
    Some(with_content(&members, &blocks, data.is_some()))
}

/// `members` with `blocks` as their content.
fn with_content(members: &Members<'_>, blocks: &[String], without_data: bool) -> Bytes {
    let mut out = String::from("{");
    for (key, raw) in members.0.iter().filter(|(key, _)| !(without_data && key == "structuredContent")) {
        let comma = if out.len() == 1 { "" } else { "," };
        let _ = write!(out, "{comma}{}:", Value::from(&**key));
        if key == "content" {
            let _ = write!(out, "[{}]", blocks.join(","));
        } else {
            out.push_str(raw.get());
        }
    }
    out.push('}');
    out.into()
}

fn text_block(text: &str) -> String {
    json!({"type": "text", "text": text}).to_string()
}

/// Whether a text holds nothing but `data`: as JSON, or as the only member of an object, which is how SDKs wrap a text.
fn is_said_by(data: &RawValue, text: &str) -> bool {
    let Ok(data) = serde_json::from_str::<Value>(data.get()) else { return false };
    let wrapped = data.as_object().filter(|members| members.len() == 1).and_then(|members| members.values().next());
    wrapped.and_then(Value::as_str) == Some(text) || serde_json::from_str::<Value>(text).is_ok_and(|said| said == data)
}

/// The blocks of a result, and all their texts as one.
struct Content<'a> {
    blocks: Vec<Block<'a>>,
    text: String,
}

struct Block<'a> {
    raw: &'a RawValue,
    /// Where its text stands among all of it; `None` when it holds none.
    place: Option<Range<usize>>,
}

impl<'a> Content<'a> {
    fn read(content: &'a RawValue) -> Option<Content<'a>> {
        let raw: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let mut all = Content { blocks: Vec::with_capacity(raw.len()), text: String::new() };
        for raw in raw {
            let place = text_of(raw).map(|text| {
                all.separate();
                let start = all.text.len();
                all.text.push_str(&text);
                start..all.text.len()
            });
            all.blocks.push(Block { raw, place });
        }
        Some(all)
    }

    /// Ends the line before another text begins.
    fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The blocks with no more than the text before `cut`.
    fn until(&self, cut: usize) -> Vec<String> {
        let shown = self.blocks.iter().filter_map(|block| match &block.place {
            Some(place) if place.end > cut => {
                (place.start < cut).then(|| cut_off(block.raw, &self.text[place.start..cut])).flatten()
            }
            _ => Some(block.raw.get().to_owned()),
        });
        shown.collect()
    }
}

/// The text of a block: its own, or the embedded resource's.
fn text_of(block: &RawValue) -> Option<Cow<'_, str>> {
    let members = Members::parse(block.get()).ok()?;
    let holder = match members.last("type")?.get() {
        r#""text""# => members,
        r#""resource""# => Members::parse(members.last("resource")?.get()).ok()?,
        _ => return None,
    };
    serde_json::from_str(holder.last("text")?.get()).ok()
}

/// The block with `text` in place of its own.
fn cut_off(block: &RawValue, text: &str) -> Option<String> {
    let text = RawValue::from_string(Value::from(text).to_string()).ok()?;
    let replaced = |object: &str, key: &str, value: &RawValue| {
        let mut members = Members::parse(object).ok()?.unique();
        let member = members.0.iter_mut().find(|(known, _)| known == key)?;
        member.1 = value;
        Some(members.to_json())
    };
    let members = Members::parse(block.get()).ok()?;
    match members.last("resource").filter(|_| members.last("text").is_none()) {
        None => replaced(block.get(), "text", &text),
        Some(resource) => {
            let resource = RawValue::from_string(replaced(resource.get(), "text", &text)?).ok()?;
            replaced(block.get(), "resource", &resource)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "0123456789 0123456789 012345\n";

    /// The preview, and the text of all pages.
    fn shaped(result: &Value, tokens: u32, has_schema: bool) -> Option<(Value, String)> {
        let results = Results::default();
        let limit = Limit { tool: "s_t", tokens, has_schema: &|| has_schema };
        let preview = preview(&result.to_string().into(), limit, &results)?;
        let preview: Value = serde_json::from_slice(&preview).unwrap();
        let blocks = preview["content"].as_array().unwrap();
        let mut text = String::new();
        if let Some(uri) = blocks.last().and_then(|block| block["uri"].as_str()) {
            let mut next = Some(uri.to_owned());
            while let Some(page) = next.and_then(|uri| results.page(&uri)) {
                text.push_str(&page.text);
                next = page.next();
            }
        }
        Some((preview, text))
    }

    #[test]
    fn what_is_short_enough_goes_as_it_is() {
        let long = LINE.repeat(100);
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        for (result, has_schema) in [
            (json!({"content": text("short")}), false),
            (json!({"content": [{"type": "image", "data": long, "mimeType": "image/png"}]}), false),
            (json!({"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": long}}]}), false),
            (json!({"content": text("short"), "structuredContent": {"a": long}}), true),
            (json!({"content": text("short"), "_meta": {"a": long}}), false),
            (json!({"content": text(&long), "resultType": "input_required"}), false),
            (json!({"content": long}), false),
            (json!({"task": {"taskId": long}}), false),
            (json!([long]), false),
        ] {
            assert_eq!(shaped(&result, 500, has_schema), None, "{result}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_end_and_read_on() {
        let long = LINE.repeat(1000);
        let result = json!({
            "zeta": 1,
            "content": [
                {"type": "text", "text": "first", "annotations": {"priority": 1}},
                {"type": "text", "text": long, "annotations": {"priority": 0}},
                {"type": "image", "data": "AA==", "mimeType": "image/png"},
                {"type": "text", "text": "last"},
            ],
            "isError": true,
            "_meta": {"a": 1},
        });
        let (preview, pages) = shaped(&result, 500, false).unwrap();
        let blocks = preview["content"].as_array().unwrap();
        let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["text", "text", "image", "text", "resource_link"]);
        assert_eq!(blocks[0], result["content"][0]);
        let shown = blocks[1]["text"].as_str().unwrap();
        assert!(long.starts_with(shown) && shown.ends_with('\n') && shown.len() > 300, "{shown}");
        assert_eq!(blocks[1]["annotations"]["priority"], 0);
        assert_eq!(pages, format!("first\n{long}last"));
        let said = blocks[3]["text"].as_str().unwrap();
        assert!(said.contains("`s_t`") && said.contains("page 1 of 3") && said.contains("?page=2"), "{said}");
        let link = &blocks[4];
        assert_eq!((&link["size"], &link["mimeType"]), (&json!(pages.len()), &json!("text/plain")));
        assert_eq!(
            (&preview["isError"], &preview["_meta"], &preview["zeta"]),
            (&json!(true), &json!({"a": 1}), &json!(1))
        );
        let keys: Vec<_> = preview.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["zeta", "content", "isError", "_meta"]);
    }

    #[test]
    fn embedded_texts_are_cut_like_others() {
        let long = LINE.repeat(100);
        let resource = json!({"uri": "x:y", "mimeType": "text/plain", "text": long});
        let (preview, pages) =
            shaped(&json!({"content": [{"type": "resource", "resource": resource}]}), 500, false).unwrap();
        let block = &preview["content"][0];
        assert_eq!((&block["type"], &block["resource"]["uri"]), (&json!("resource"), &json!("x:y")));
        assert!(long.starts_with(block["resource"]["text"].as_str().unwrap()));
        assert_eq!(pages, long);
    }

    #[test]
    fn data_is_left_out_unless_it_is_promised() {
        let data = json!({"list": vec![LINE; 100]});
        let text = data.to_string();
        let block = |text: &str| json!([{"type": "text", "text": text}]);
        // The text says the same; it wraps the text; nothing says it; both are long.
        for (content, data, pages) in [
            (block(&text), data.clone(), text.clone()),
            (block(&text), json!({"result": text}), text.clone()),
            (json!([]), data.clone(), text.clone()),
            (block("short"), data.clone(), format!("short\n{text}")),
        ] {
            let result = json!({"content": content, "structuredContent": data});
            let (preview, read) = shaped(&result, 500, false).unwrap();
            assert_eq!((preview.get("structuredContent"), read), (None, pages));
            let promised = shaped(&result, 500, true);
            if content == block(&text) {
                assert_eq!(promised.unwrap().0["structuredContent"], data, "never broken");
            } else {
                assert_eq!(promised, None);
            }
        }
        // Short data stays beside a long text.
        let result = json!({"content": block(&LINE.repeat(100)), "structuredContent": {"n": 1}});
        assert_eq!(shaped(&result, 500, false).unwrap().0["structuredContent"], json!({"n": 1}));
    }

    #[test]
    fn what_is_too_large_to_be_kept_says_so() {
        let result = json!({"content": [{"type": "text", "text": "x".repeat(super::super::MAX_BYTES + 1)}]});
        let (preview, pages) = shaped(&result, 500, false).unwrap();
        let blocks = preview["content"].as_array().unwrap();
        assert!(blocks.len() == 2 && blocks[1]["text"].as_str().unwrap().contains("too large to be kept"));
        assert_eq!(pages, "");
    }
}
