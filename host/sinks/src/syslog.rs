//! Syslog messages of RFC 5424, each framed by its length, so that no text can begin another one.

use crate::delivery::{Accepted, SyslogMessage};
use crate::failure::SinkFailure;
use crate::settings::{FACILITIES, SyslogEncryption, SyslogSink};
use crate::stream::{StreamTls, send_all};
use crate::tls;
use portcullis_core::text::count_noun;
use portcullis_network::find_own_address;
use std::time::Instant;

/// The most bytes of a message's text. RFC 5425 asks servers to take 2048 and lets them take more;
/// what a server cuts is its own setting.
const MOST_TEXT: usize = 1 << 20;
const MOST_NAME: usize = 255;
const MOST_ID: usize = 32;
const PROGRAM: &str = "portcullis";

/// A server with valid settings.
pub(crate) struct OpenSyslog {
    settings: SyslogSink,
    facility: u8,
    tls: Option<StreamTls>,
}

impl std::fmt::Debug for OpenSyslog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenSyslog").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl OpenSyslog {
    pub(crate) fn open(settings: &SyslogSink) -> Result<Self, SinkFailure> {
        let facility = FACILITIES.iter().find(|(name, _)| *name == settings.facility);
        let Some((_, facility)) = facility else {
            return Err(SinkFailure::settings(
                format!("`{}` is no facility", settings.facility),
                "choose one of those in the documentation",
            ));
        };
        let host = &settings.host;
        let tls = match settings.encryption {
            SyslogEncryption::Tls => Some(StreamTls {
                settings: tls::stream_settings(&settings.tls)?,
                demands_notice: settings.demands_notice,
            }),
            SyslogEncryption::None if find_own_address(host).is_some() => None,
            SyslogEncryption::None => {
                return Err(SinkFailure::settings(
                    format!("`{host}` is not on this machine, and the connection not encrypted"),
                    "use `encryption = \"tls\"`",
                ));
            }
        };
        Ok(Self { settings: settings.clone(), facility: *facility, tls })
    }

    pub(crate) fn send(
        &self,
        messages: &[SyslogMessage],
        deadline: Instant,
    ) -> Result<Accepted, SinkFailure> {
        let mut frames = Vec::new();
        for message in messages {
            frame(&mut frames, &self.format(message));
        }
        let SyslogSink { host, port, .. } = &self.settings;
        send_all(host, *port, self.tls.as_ref(), &frames, deadline)?;
        let count = count_noun(messages.len() as u64, "message");
        Ok(Accepted { what: format!("`{host}:{port}` read {count}"), rejected: 0 })
    }

    /// Formats a message with its header. There is no structured data: that would need a number of
    /// our own, and each format has the record's id in its text.
    fn format(&self, message: &SyslogMessage) -> Vec<u8> {
        let priority = u16::from(self.facility) * 8 + message.severity as u16;
        let machine = header_word(&self.settings.machine, MOST_NAME);
        let id = header_word(&message.id, MOST_ID);
        let mut line =
            format!("<{priority}>1 {} {machine} {PROGRAM} - {id} - ", message.at).into_bytes();
        line.extend(one_line_text(&message.text).bytes());
        line
    }
}

/// Returns a word for the header: visible ASCII, or `-`.
fn header_word(text: &str, most: usize) -> String {
    let word: String = text.chars().filter(char::is_ascii_graphic).take(most).collect();
    if word.is_empty() { "-".to_owned() } else { word }
}

/// Returns a rendered record without its last line break. A control character in it, which no
/// builtin format writes, is spelled out: a server may write one message a line.
fn one_line_text(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end_matches(['\r', '\n']);
    let end = text.floor_char_boundary(MOST_TEXT);
    let mut line = String::with_capacity(text.len());
    for character in text.get(..end).unwrap_or_default().chars() {
        match character {
            '\t' => line.push('\t'),
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                line.extend(control.escape_default());
            }
            other => line.push(other),
        }
    }
    line
}

/// Adds a message with its length before it.
fn frame(frames: &mut Vec<u8>, message: &[u8]) {
    frames.extend(message.len().to_string().bytes());
    frames.push(b' ');
    frames.extend(message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::SyslogSeverity;
    use crate::settings::TlsFiles;

    fn open(machine: &str) -> OpenSyslog {
        OpenSyslog::open(&SyslogSink {
            host: "127.0.0.1".into(),
            port: 1,
            encryption: SyslogEncryption::None,
            facility: "local3".into(),
            machine: machine.into(),
            tls: TlsFiles::default(),
            demands_notice: false,
        })
        .unwrap()
    }

    #[test]
    fn a_message_is_one_line_whatever_its_text() {
        for (machine, id, text, expected) in [
            ("box", "review", "plain\n", "box portcullis - review - plain"),
            ("", "", "a\tb", "- portcullis - - - a\tb"),
            (
                "a b\n",
                "ré view",
                "x\n<1>1 - - - - - y\r\n",
                "ab portcullis - rview - x\\n<1>1 - - - - - y",
            ),
            (
                "box",
                "review",
                "\0\u{1b}[31m\u{2028}\u{85}ü",
                "box portcullis - review - \\u{0}\\u{1b}[31m\\u{2028}\\u{85}ü",
            ),
        ] {
            let message = SyslogMessage {
                at: "2026-01-01T12:00:00.000Z".into(),
                severity: SyslogSeverity::Warning,
                id: id.into(),
                text: text.into(),
            };
            let line = String::from_utf8(open(machine).format(&message)).unwrap();
            assert_eq!(line, format!("<156>1 2026-01-01T12:00:00.000Z {expected}"));
        }
    }

    #[test]
    fn a_frame_names_its_bytes() {
        let mut frames = Vec::new();
        frame(&mut frames, "ü".as_bytes());
        frame(&mut frames, b"");
        frame(&mut frames, b"10 x");
        assert_eq!(frames, "2 ü0 4 10 x".as_bytes());
    }

    #[test]
    fn text_without_an_end_is_cut() {
        assert_eq!(one_line_text("ü".repeat(MOST_TEXT).as_bytes()).len(), MOST_TEXT);
        assert_eq!(one_line_text(&[0xff, b'a']), "\u{fffd}a");
    }
}
