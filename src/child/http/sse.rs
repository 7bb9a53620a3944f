//! Server-sent events, in whatever pieces the bytes come (WHATWG HTML, 9.2.6). Of an event the data, the id and the
//! name matter; a message of the protocol is the data of one event.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event that has data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// `message` unless the stream says otherwise.
    pub(super) name: String,
    /// Its lines, joined by line feeds; may be empty.
    pub(super) data: Bytes,
}

/// An event or line is over the limit; so many bytes had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) usize);

/// Reads one stream after another; id and pause outlive a stream, so that it can be resumed.
#[derive(Debug)]
pub(super) struct Events {
    limit: usize,
    line: BytesMut,
    /// The last byte was a carriage return, whose line feed may be yet to come.
    after_return: bool,
    /// No line of this stream has ended yet.
    at_start: bool,
    name: String,
    data: Option<Bytes>,
    next_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    /// Reads events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Events {
        Events {
            limit,
            line: BytesMut::new(),
            after_return: false,
            at_start: true,
            name: String::new(),
            data: None,
            next_id: None,
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next bytes and hands over each event that they complete.
    ///
    /// # Errors
    /// An event over the limit; the rest of the stream makes no sense then.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Event)) -> Result<(), TooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let part = &rest[..end.unwrap_or(rest.len())];
            let size = self.line.len() + part.len() + self.data.as_ref().map_or(0, Bytes::len);
            if size > self.limit {
                return Err(TooLarge(size));
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            let line = self.line.split().freeze();
            if let Some(event) = self.end_line(line) {
                each(event);
            }
        }
        Ok(())
    }

    /// Forgets what is unfinished: another stream begins.
    pub(super) fn restart(&mut self) {
        self.line.clear();
        (self.after_return, self.at_start) = (false, true);
        self.name.clear();
        (self.data, self.next_id) = (None, None);
    }

    /// The id of the last event, to resume after.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long to wait before the stream is asked for again, if it said so.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn end_line(&mut self, mut line: Bytes) -> Option<Event> {
        if std::mem::take(&mut self.at_start) && line.starts_with(BOM) {
            line = line.slice(BOM.len()..);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let colon = memchr::memchr(b':', &line);
        let value = match colon {
            Some(at) if line.get(at + 1) == Some(&b' ') => line.slice(at + 2..),
            Some(at) => line.slice(at + 1..),
            None => Bytes::new(),
        };
        match &line[..colon.unwrap_or(line.len())] {
            b"data" => {
                self.data = Some(match self.data.take() {
                    // One line, as nearly all are, stays the bytes that came.
                    None => value,
                    Some(before) => [&before[..], b"\n", &value].concat().into(),
                });
            }
            b"event" => self.name = String::from_utf8_lossy(&value).into_owned(),
            b"id" if !value.contains(&0) => self.next_id = Some(String::from_utf8_lossy(&value).into_owned()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(&value).ok().and_then(|digits| digits.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            // A comment, or a field that nobody has defined.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        if let Some(id) = self.next_id.take() {
            // An empty id takes the last one back.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        Some(Event { name: if name.is_empty() { "message".to_owned() } else { name }, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Events) {
        let (mut found, mut reader) = (Vec::new(), Events::new(1000));
        for piece in pieces {
            reader.push(piece, |event| found.push(event)).expect("small");
        }
        (found, reader)
    }

    fn texts(stream: &str) -> Vec<String> {
        let (found, _) = events([stream.as_bytes()]);
        found.iter().map(|event| format!("{} {}", event.name, String::from_utf8_lossy(&event.data))).collect()
    }

    #[test]
    fn reads_what_the_standard_says() {
        for (stream, expected) in [
            ("data: a\n\n", &["message a"][..]),
            ("data:a\r\rdata:  b\r\n\r\n", &["message a", "message  b"]),
            ("data: a\ndata: b\ndata\n\n", &["message a\nb\n"]),
            ("\u{feff}data: a\n\n", &["message a"]),
            ("data: a\n\n\u{feff}data: b\n\n", &["message a"]),
            (": ping\n\n:\n\ndata: {\"a\":\"\u{2028}\u{85}\"}\n\n", &["message {\"a\":\"\u{2028}\u{85}\"}"]),
            ("event: endpoint\ndata: /x\n\nevent: gone\n\ndata: y\n\n", &["endpoint /x", "message y"]),
            ("data\n\n", &["message "]),
            ("other: a\ndatax: b\n\n", &[]),
            ("data: unfinished\n", &[]),
        ] {
            assert_eq!(texts(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn keeps_ids_and_pauses() {
        for (stream, id, retry) in [
            ("id: 1\n\n", Some("1"), None),
            ("id: 1\ndata: x\n\nid: 2\n", Some("1"), None),
            ("id: 1\n\nid\ndata: x\n\n", None, None),
            ("id: 1\n\nid: a\0b\n\n", Some("1"), None),
            ("retry: 1500\nretry: soon\nretry: \n", None, Some(Duration::from_millis(1500))),
        ] {
            let (_, reader) = events([stream.as_bytes()]);
            assert_eq!((reader.last_id(), reader.retry()), (id, retry), "{stream:?}");
        }
    }

    #[test]
    fn an_event_is_bounded() {
        let mut reader = Events::new(10);
        assert_eq!(reader.push(b"data: 1234\ndata: 5678", drop), Err(TooLarge(14)));
        let mut reader = Events::new(10);
        assert_eq!(reader.push(b"12345678", drop).and_then(|()| reader.push(b"901", drop)), Err(TooLarge(11)));
    }

    #[test]
    fn a_new_stream_begins_anew() {
        let (mut found, mut reader) = (Vec::new(), Events::new(1000));
        reader.push(b"id: 7\ndata: a\n\ndata: b\r", |event| found.push(event)).expect("small");
        reader.restart();
        reader.push(b"\xef\xbb\xbfdata: c\n\n", |event| found.push(event)).expect("small");
        let data: Vec<_> = found.iter().map(|event| &event.data[..]).collect();
        assert_eq!((data, reader.last_id()), (vec![&b"a"[..], b"c"], Some("7")));
    }

    proptest::proptest! {
        #[test]
        fn pieces_do_not_matter(
            stream in "(\u{feff}|data: ?|id: ?|event:|retry:9|:|\r\n|\n|\r|é✓|a|\0| ){0,60}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let (whole, one) = events([bytes]);
            let (split, other) = events(cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]));
            assert_eq!((whole, one.last_id(), one.retry()), (split, other.last_id(), other.retry()));
        }
    }
}
