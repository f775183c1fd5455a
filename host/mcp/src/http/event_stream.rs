//! Events that a server sends: the messages of a stream, one event each.

use crate::id_scanner::IdScanner;
use crate::request_id::RequestId;
use std::io::{BufRead, BufReader, Read, Result};
use std::time::Duration;

/// The most bytes of an event's id.
const MOST_ID: usize = 1024;
/// The longest pause before a stream is opened again that a server can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The bytes before an event's data on a line.
const DATA_FIELD: &[u8] = b"data:";

/// One event, or what is known of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// The text of a message, with the line ends that it was sent with.
    Message(Vec<u8>),
    /// An event with more bytes than the limit, which was read and dropped.
    TooLong {
        /// The id of its message, if it has exactly one.
        id: Option<RequestId>,
        /// Its number of bytes.
        size: u64,
    },
    /// The end of the stream.
    End,
}

/// Reads events.
#[derive(Debug)]
pub(crate) struct EventReader<R> {
    stream: BufReader<R>,
    most: usize,
    /// True after a carriage return: a line feed that follows belongs to it.
    skips_feed: bool,
    is_first: bool,
    /// The id of the last whole event.
    last_id: Option<Vec<u8>>,
    pause: Option<Duration>,
}

/// The event that is being read.
#[derive(Default)]
struct OpenEvent {
    /// The data, each line with a line feed.
    data: Vec<u8>,
    /// Set once the data are too long: then they are scanned and not kept.
    long: Option<(IdScanner, u64)>,
    id: Option<Vec<u8>>,
    is_other: bool,
}

impl<R: Read> EventReader<R> {
    /// Reads events with at most `most` bytes of data.
    pub(crate) fn new(stream: R, most: usize) -> Self {
        Self {
            stream: BufReader::with_capacity(64 << 10, stream),
            most,
            skips_feed: false,
            is_first: true,
            last_id: None,
            pause: None,
        }
    }

    /// Returns the id of the last whole event that had one.
    pub(crate) fn last_id(&self) -> Option<&[u8]> {
        self.last_id.as_deref()
    }

    /// Returns the pause before the stream is opened again that the server asked for.
    pub(crate) const fn pause(&self) -> Option<Duration> {
        self.pause
    }

    /// Reads the next event that has a message. An event without its end is none.
    ///
    /// # Errors
    /// Fails if the stream does.
    pub(crate) fn read_event(&mut self) -> Result<StreamEvent> {
        let mut event = OpenEvent::default();
        let mut line = Vec::new();
        while self.read_line(&mut line, &mut event)? {
            if !line.is_empty() {
                self.take_field(&line, &mut event);
                continue;
            }
            let ended = std::mem::take(&mut event);
            if let Some(id) = ended.id {
                self.last_id = Some(id);
            }
            if let Some((scanner, size)) = ended.long {
                return Ok(StreamEvent::TooLong { id: scanner.id(), size });
            }
            let mut data = ended.data;
            // Each line of the data has a line feed; by the standard, the last one is not part of
            // them.
            data.pop();
            if !ended.is_other && !data.is_empty() {
                return Ok(StreamEvent::Message(data));
            }
        }
        Ok(StreamEvent::End)
    }

    fn take_field(&mut self, line: &[u8], event: &mut OpenEvent) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (line.get(..at), line.get(at + 1..)),
            None => (Some(line), None),
        };
        let value = value.unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name.unwrap_or_default() {
            b"data" => event.add(value, self.most),
            b"id" if value.len() <= MOST_ID && !value.contains(&0) => {
                event.id = Some(value.to_vec());
            }
            b"event" => event.is_other = !matches!(value, b"" | b"message"),
            b"retry" => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                if let Some(number) = number {
                    self.pause = Some(Duration::from_millis(number).min(LONGEST_PAUSE));
                }
            }
            // A comment, or a field of a later version.
            _ => {}
        }
    }

    /// Reads the next line without its end; returns false if the stream ended before it did. The
    /// rest of a line that is too long goes to the event, unread.
    fn read_line(&mut self, line: &mut Vec<u8>, event: &mut OpenEvent) -> Result<bool> {
        line.clear();
        let most = self.most + DATA_FIELD.len() + 1;
        loop {
            let bytes = self.stream.fill_buf()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            if std::mem::take(&mut self.skips_feed) && bytes.first() == Some(&b'\n') {
                self.stream.consume(1);
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, size) = match end {
                Some(at) => (bytes.get(..at), at + 1),
                None => (Some(bytes), bytes.len()),
            };
            let part = part.unwrap_or_default();
            let room = most.saturating_sub(line.len()).min(part.len());
            let (kept, rest) = part.split_at_checked(room).unwrap_or((part, &[]));
            line.extend_from_slice(kept);
            if !rest.is_empty() {
                event.pass_over(line, rest);
            }
            self.skips_feed = end.is_some_and(|at| bytes.get(at) == Some(&b'\r'));
            self.stream.consume(size);
            if end.is_some() {
                if std::mem::take(&mut self.is_first) && line.starts_with(b"\xEF\xBB\xBF") {
                    line.drain(..3);
                }
                return Ok(true);
            }
        }
    }
}

impl OpenEvent {
    fn add(&mut self, value: &[u8], most: usize) {
        if self.long.is_none() && self.data.len() + value.len() < most {
            self.data.extend_from_slice(value);
            self.data.push(b'\n');
        } else {
            self.scan(value);
        }
    }

    /// Takes the next part of a line that is too long to be kept. `line` has what was kept of it,
    /// and gets the start of a line for the parts that follow.
    fn pass_over(&mut self, line: &mut Vec<u8>, part: &[u8]) {
        match line.strip_prefix(DATA_FIELD) {
            Some(value) => {
                self.scan(value);
                self.scan(part);
                line.truncate(DATA_FIELD.len());
            }
            // No other field has a value of this length that counts.
            None => {
                line.clear();
                line.push(b':');
            }
        }
    }

    fn scan(&mut self, bytes: &[u8]) {
        let kept = std::mem::take(&mut self.data);
        let (scanner, size) = self.long.get_or_insert_with(Default::default);
        for part in [kept.as_slice(), bytes] {
            scanner.feed(part);
            *size += part.len() as u64;
        }
    }
}

/// Returns a message's text as one line, with its end: the line ends between its parts become
/// blanks, which mean the same in JSON. Line ends inside a text, where JSON has none, stay, and so
/// the message is refused.
pub(crate) fn join_lines(text: &[u8]) -> Vec<u8> {
    let (mut in_text, mut escaped) = (false, false);
    let mut line = Vec::with_capacity(text.len() + 1);
    for byte in text {
        line.push(match byte {
            b'\n' | b'\r' if !in_text => b' ',
            byte => *byte,
        });
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ => {}
        }
    }
    let end = line.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    // Only line ends at the end go: a blank that the server wrote stays.
    let written =
        text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    line.truncate(end.max(written));
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that gives its bytes in pieces.
    struct Pieces<'t>(&'t [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            let size = self.1.min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(size);
            into[..size].copy_from_slice(now);
            self.0 = later;
            Ok(size)
        }
    }

    fn events(text: &[u8], piece: usize) -> (Vec<StreamEvent>, Option<Vec<u8>>, Option<Duration>) {
        let mut reader = EventReader::new(Pieces(text, piece), 40);
        let mut events = Vec::new();
        loop {
            let event = reader.read_event().unwrap();
            if event == StreamEvent::End {
                return (events, reader.last_id().map(<[u8]>::to_vec), reader.pause());
            }
            events.push(event);
        }
    }

    #[test]
    fn events_are_read_in_every_form() {
        let message = |text: &str| StreamEvent::Message(text.as_bytes().to_vec());
        let long = format!("data: {{\"id\":5,\"x\":\"{}\"}}\n\n", "y".repeat(90));
        let too_long =
            StreamEvent::TooLong { id: Some(RequestId::Number(5)), size: long.len() as u64 - 7 };
        let cases: Vec<(String, Vec<StreamEvent>, Option<&str>)> = vec![
            ("data: {}\n\n".into(), vec![message("{}")], None),
            ("\u{feff}data:{}\r\n\r\ndata: 1\r\r".into(), vec![message("{}"), message("1")], None),
            (
                ": x\nid: 7\ndata:\n\nevent: message\ndata: a\ndata: b\n\n".into(),
                vec![message("a\nb")],
                Some("7"),
            ),
            ("event: endpoint\ndata: /x\n\nid: 8\ndata: half".into(), vec![], None),
            ("id: 1\ndata: {}\n\nid: 2\ndata: {}\n".into(), vec![message("{}")], Some("1")),
            (
                format!("id{}id: 3\n{long}data: {{}}\n\n", "x".repeat(60)),
                vec![too_long, message("{}")],
                None,
            ),
            (format!(": {}\n\ndata: {{}}\n\n", "z".repeat(200)), vec![message("{}")], None),
            (String::new(), vec![], None),
        ];
        for (text, expected, id) in cases {
            for piece in [1, 2, 7, 4096] {
                let (found, last, _) = events(text.as_bytes(), piece);
                let sizeless = |events: &[StreamEvent]| -> Vec<String> {
                    let show = |event: &StreamEvent| match event {
                        StreamEvent::TooLong { id, .. } => format!("{id:?}"),
                        event => format!("{event:?}"),
                    };
                    events.iter().map(show).collect()
                };
                assert_eq!(sizeless(&found), sizeless(&expected), "{text:?}, {piece}");
                assert_eq!(last.as_deref(), id.map(str::as_bytes), "{text:?}");
            }
        }
        assert_eq!(events(b"retry: 250\n\n", 3).2, Some(Duration::from_millis(250)));
        assert_eq!(events(b"retry: 999999999\n\n", 3).2, Some(LONGEST_PAUSE));
        assert_eq!(events(b"retry: soon\n\n", 3).2, None);
    }

    #[test]
    fn a_message_of_many_lines_becomes_one() {
        for (text, line) in [
            ("{}", "{}\n"),
            ("{\r\n \"a\" : 1\n}\n", "{   \"a\" : 1 }\n"),
            ("{\"a\":\"\\\"\nb\"}", "{\"a\":\"\\\"\nb\"}\n"),
            ("{} ", "{} \n"),
        ] {
            assert_eq!(String::from_utf8(join_lines(text.as_bytes())).unwrap(), line, "{text:?}");
        }
    }
}
