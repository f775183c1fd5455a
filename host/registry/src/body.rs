//! Reads response bodies within bounds.

use crate::access::TransferLimits;
use crate::error::ErrorReason;
use std::io::Read;
use ureq::Body;
use ureq::http::header::CONTENT_ENCODING;
use ureq::http::{HeaderMap, Response};

/// The number of bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Reads the whole body, at most `most` bytes, and calls `seen` for each piece. No more bytes are
/// read, even if the header announces them.
pub(crate) fn read(
    answer: Response<Body>,
    most: u64,
    limits: &TransferLimits,
    mut seen: impl FnMut(u64),
) -> Result<Vec<u8>, ErrorReason> {
    if let Some(encoding) = encoding(answer.headers()) {
        return Err(ErrorReason::Encoded(encoding));
    }
    let mut body = answer.into_body();
    if body.content_length().is_some_and(|declared| declared > most) {
        return Err(ErrorReason::TooLong(most));
    }
    let mut reader = body.as_reader().take(most.saturating_add(1));
    let (mut bytes, mut piece) = (Vec::new(), vec![0; CHUNK]);
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(ErrorReason::Cut(length(&bytes)));
            }
            Err(error) => return Err(ErrorReason::transport(error.into(), None, limits)),
        };
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if length(&bytes) > most {
            return Err(ErrorReason::TooLong(most));
        }
        seen(length(&bytes));
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Returns the content encoding of the body, if it has one.
fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_ENCODING)?;
    let text = value.to_str().unwrap_or("?").trim();
    (!text.is_empty() && !text.eq_ignore_ascii_case("identity"))
        .then(|| text.chars().take(40).collect())
}
