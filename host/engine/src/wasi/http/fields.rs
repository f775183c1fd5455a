//! Headers: those that a guest may put into a request, and those that it reads from an answer.
//!
//! A name or a value that could end a line, or that a server could read differently from the
//! client, is rejected. So are the headers that control the connection, which only the client sets.

use super::parts::Fields;

/// The most headers of a request; servers take about as many.
const MOST: usize = 64;
/// The most bytes of all names and values.
const BYTES: usize = 16 << 10;

/// Headers that only the client sets: the destination of the request, the framing of its body, the
/// handling of the connection.
const FORBIDDEN: &[&str] = &[
    "connection",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The reason why headers are rejected, in the terms of `wasi:http`.
pub(super) type Refusal = &'static str;

/// Checks all headers at once.
pub(super) fn checked(all: Fields) -> Result<Fields, Refusal> {
    let mut fields = Fields::new();
    all.into_iter().try_for_each(|(name, value)| append(&mut fields, &name, value))?;
    Ok(fields)
}

/// Adds one header.
pub(super) fn append(fields: &mut Fields, name: &str, value: Vec<u8>) -> Result<(), Refusal> {
    let name = name.to_ascii_lowercase();
    check(&name, &value)?;
    let size = fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    if fields.len() >= MOST || size + name.len() + value.len() > BYTES {
        return Err("invalid-syntax");
    }
    fields.push((name, value));
    Ok(())
}

/// Replaces all values of a header with these.
pub(super) fn set(fields: &mut Fields, name: &str, values: Vec<Vec<u8>>) -> Result<(), Refusal> {
    // On a copy, so that a value that is refused leaves the header as it was.
    let mut changed = fields.clone();
    delete(&mut changed, name)?;
    values.into_iter().try_for_each(|value| append(&mut changed, name, value))?;
    *fields = changed;
    Ok(())
}

/// Removes a header.
pub(super) fn delete(fields: &mut Fields, name: &str) -> Result<(), Refusal> {
    check(&name.to_ascii_lowercase(), b"")?;
    fields.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    Ok(())
}

/// Returns all values of a header.
pub(super) fn get<'a>(fields: &'a Fields, name: &'a str) -> impl Iterator<Item = &'a Vec<u8>> {
    fields.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn check(name: &str, value: &[u8]) -> Result<(), Refusal> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let plain = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    if name.is_empty() || !name.bytes().all(token) || !value.iter().all(plain) {
        return Err("invalid-syntax");
    }
    if FORBIDDEN.contains(&name) { Err("forbidden") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_no_header_that_could_be_read_otherwise() {
        let long = "v".repeat(BYTES);
        let table: &[(&str, &str, Result<(), &str>)] = &[
            ("accept", "text/plain", Ok(())),
            ("X-Key", "a b\tc", Ok(())),
            ("x", "", Ok(())),
            ("x", "ü", Ok(())),
            ("authorization", "Bearer t", Ok(())),
            ("content-length", "3", Ok(())),
            ("", "x", Err("invalid-syntax")),
            ("a b", "x", Err("invalid-syntax")),
            ("a:", "x", Err("invalid-syntax")),
            ("ä", "x", Err("invalid-syntax")),
            ("a\r\nhost", "x", Err("invalid-syntax")),
            ("a", "x\r\nhost: y", Err("invalid-syntax")),
            ("a", "x\ny", Err("invalid-syntax")),
            ("a", "x\0y", Err("invalid-syntax")),
            ("a", "x\u{7f}", Err("invalid-syntax")),
            ("a", &long, Err("invalid-syntax")),
            ("Host", "other", Err("forbidden")),
            ("HOST", "other", Err("forbidden")),
            ("connection", "close", Err("forbidden")),
            ("Transfer-Encoding", "chunked", Err("forbidden")),
            ("proxy-authorization", "x", Err("forbidden")),
            ("expect", "100-continue", Err("forbidden")),
        ];
        for (name, value, expected) in table {
            let mut fields = Fields::new();
            assert_eq!(
                append(&mut fields, name, value.as_bytes().to_vec()),
                *expected,
                "{name}: {value:?}"
            );
            assert_eq!(
                set(&mut fields, name, vec![value.as_bytes().to_vec()]),
                *expected,
                "{name}: {value:?}"
            );
            assert_eq!(fields.len(), usize::from(expected.is_ok()), "{name}: {value:?}");
        }
        let many = vec![("x".to_owned(), Vec::new()); MOST];
        assert_eq!(checked(many.clone()).map(|all| all.len()), Ok(MOST));
        assert_eq!(
            checked([many, vec![("x".to_owned(), Vec::new())]].concat()),
            Err("invalid-syntax")
        );
    }

    #[test]
    fn finds_headers_in_any_case() {
        let mut fields = checked(vec![
            ("A".into(), b"1".to_vec()),
            ("b".into(), b"2".to_vec()),
            ("a".into(), b"3".to_vec()),
        ])
        .unwrap();
        assert_eq!(get(&fields, "A").collect::<Vec<_>>(), [b"1", b"3"]);
        set(&mut fields, "A", vec![b"4".to_vec()]).unwrap();
        assert_eq!(get(&fields, "a").collect::<Vec<_>>(), [b"4"]);
        delete(&mut fields, "B").unwrap();
        assert_eq!(fields.len(), 1);
    }
}
