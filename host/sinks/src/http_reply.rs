//! Interprets the answer of a web service.

use crate::exchange::HttpReply;
use crate::failure::{SinkFailure, SinkProblem};
use portcullis_core::text::strip_quotes;
use portcullis_notify::read_retry_after;
use serde::Deserialize;

const REPLY_BYTES: usize = 120;

/// Fails unless the status is one of success. `hide` removes our credentials from what was said.
pub(crate) fn judge_status(
    place: &str,
    reply: &HttpReply,
    hide: &dyn Fn(&str) -> String,
) -> Result<(), SinkFailure> {
    let status = reply.status;
    if (200..300).contains(&status) {
        return Ok(());
    }
    let said = hide(String::from_utf8_lossy(&reply.body).trim());
    let what = match said.is_empty() {
        true => format!("`{place}` answered {status}"),
        false => format!("`{place}` answered {status}: \"{}\"", strip_quotes(&said, REPLY_BYTES)),
    };
    Err(match status {
        408 | 425 | 429 | 500..=599 => {
            let fix = "nothing to do: it will be retried; check the service if this continues";
            let later = SinkFailure::later(what, fix);
            SinkFailure { problem: SinkProblem::Later(read_retry_after(&reply.headers)), ..later }
        }
        300..=399 => SinkFailure::settings(
            what,
            "redirects are not followed: configure the address that it leads to",
        ),
        401 | 403 | 407 => SinkFailure {
            is_of_credential: true,
            ..SinkFailure::settings(what, "renew the credential in `token`")
        },
        404 | 405 | 410 => SinkFailure::settings(what, "correct the address in `url`"),
        // No record is at fault, so none is passed over.
        415 => SinkFailure::settings(
            what,
            "set `compression = \"none\"`, or use a `format` that the service takes",
        ),
        _ => SinkFailure::refused(what, "check that the service takes this `format`"),
    })
}

/// An answer to OTLP in JSON, as far as it is about rejected records.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LogsReply {
    partial_success: Option<PartialSuccess>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PartialSuccess {
    /// A number, or a text with one: JSON of protobuf writes 64 bits as text.
    rejected_log_records: serde_json::Value,
}

/// Returns how many records a receiver of OTLP rejected, according to its answer. One that cannot be
/// read rejects none.
pub(crate) fn read_rejected(reply: &HttpReply) -> u64 {
    let is_json = reply.headers.get("content-type").is_some_and(|content| {
        content.to_str().is_ok_and(|content| content.starts_with("application/json"))
    });
    if !is_json {
        return field_of(&reply.body, 1)
            .and_then(|partial| varint_of(partial, 1))
            .unwrap_or_default();
    }
    let partial = serde_json::from_slice::<LogsReply>(&reply.body).ok();
    let rejected = partial.and_then(|reply| reply.partial_success);
    rejected.map_or(0, |partial| match partial.rejected_log_records {
        serde_json::Value::Number(number) => number.as_u64().unwrap_or_default(),
        serde_json::Value::String(text) => text.parse().unwrap_or_default(),
        _ => 0,
    })
}

/// A field of a message in protobuf.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Skipped,
}

fn field_of(message: &[u8], wanted: u64) -> Option<&[u8]> {
    find_field(message, wanted).and_then(|field| match field {
        Field::Bytes(bytes) => Some(bytes),
        _ => None,
    })
}

fn varint_of(message: &[u8], wanted: u64) -> Option<u64> {
    find_field(message, wanted).and_then(|field| match field {
        Field::Number(number) => Some(number),
        _ => None,
    })
}

/// Returns the first field with that number; none if the message ends or is malformed before it.
fn find_field(mut rest: &[u8], wanted: u64) -> Option<Field<'_>> {
    while !rest.is_empty() {
        let key = take_varint(&mut rest)?;
        let field = match key & 7 {
            0 => Field::Number(take_varint(&mut rest)?),
            1 => take_bytes(&mut rest, 8).map(|_| Field::Skipped)?,
            2 => {
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                Field::Bytes(take_bytes(&mut rest, length)?)
            }
            5 => take_bytes(&mut rest, 4).map(|_| Field::Skipped)?,
            _ => return None,
        };
        if key >> 3 == wanted {
            return Some(field);
        }
    }
    None
}

fn take_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::{HeaderMap, HeaderValue};

    fn reply(content: &str, body: &[u8]) -> HttpReply {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_str(content).unwrap());
        HttpReply { status: 200, headers, body: body.to_vec() }
    }

    #[test]
    fn rejected_records_are_counted_in_both_encodings() {
        let json = "application/json; charset=utf-8";
        let protobuf = "application/x-protobuf";
        let rows: [(&str, &[u8], u64); 11] = [
            (json, b"{}", 0),
            (json, br#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"x"}}"#, 3),
            (json, br#"{"partialSuccess":{"rejectedLogRecords":2}}"#, 2),
            (json, br#"{"partialSuccess":{}}"#, 0),
            (json, b"nonsense", 0),
            (protobuf, b"", 0),
            (protobuf, &[0x0a, 0x02, 0x08, 0x07], 7),
            (protobuf, &[0x0a, 0x06, 0x12, 0x01, b'x', 0x08, 0xac, 0x02], 300),
            (protobuf, &[0x0a, 0x09, 0x08], 0),
            (
                protobuf,
                &[0x0a, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                0,
            ),
            (protobuf, &[0xff; 12], 0),
        ];
        for (content, body, rejected) in rows {
            assert_eq!(read_rejected(&reply(content, body)), rejected, "{body:?}");
        }
    }
}
