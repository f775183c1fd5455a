//! Encodings of text.

/// Decodes base64, of either alphabet.
pub(crate) fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).unwrap_or(0));
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Decodes hexadecimal digits.
pub(crate) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |sum, digit| sum * 16 + digit)).unwrap_or(0))
        .collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Turns letters by half the alphabet.
pub(crate) fn rot13(text: &str) -> String {
    let rotate = |c: char, first: u8| {
        char::from((u8::try_from(c).unwrap_or(first) - first + 13) % 26 + first)
    };
    text.chars()
        .map(|c| match c {
            'a'..='z' => rotate(c, b'a'),
            'A'..='Z' => rotate(c, b'A'),
            _ => c,
        })
        .collect()
}

/// Decodes `%2F` and the like.
pub(crate) fn percent(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut left = text;
    while let Some((before, rest)) = left.split_once('%') {
        out.extend_from_slice(before.as_bytes());
        match rest.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                left = rest.get(2..).unwrap_or("");
            }
            None => {
                out.push(b'%');
                left = rest;
            }
        }
    }
    out.extend_from_slice(left.as_bytes());
    Some(String::from_utf8_lossy(&out).into_owned())
}
