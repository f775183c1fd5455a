//! Pieces of a text that have another content when they are decoded.

/// The maximum size of a piece that is decoded, in bytes, and the minimum that is worth it.
const MOST: usize = 8 * 1024;
const LEAST: usize = 16;

/// Decodes the encoded pieces of a text: percent signs, entities, base64, hex and letters rotated
/// by 13.
pub(super) fn pieces(text: &str, folded: &str) -> Vec<String> {
    let mut found = Vec::new();
    found
        .extend(Some(text).filter(|text| text.matches('%').take(3).count() == 3).and_then(percent));
    found.extend((text.matches("&#").take(3).count() == 3).then(|| entities(text)));
    found.extend(blobs(text).filter_map(|blob| base64(blob).or_else(|| hex(blob))).take(12));
    found.extend(TURNED.iter().any(|word| folded.contains(word)).then(|| turned(folded)));
    found
}

/// Common words of instructions (system, previous, instruction, prompt, ignore, reveal), and the
/// most frequent word of all, rotated by 13.
const TURNED: &[&str] = &[
    "flfgrz",
    "cerivbhf",
    "vafgehpgvba",
    "cebzcg",
    "vtaber",
    "erirny",
    "nffvfgnag",
    "nqzvavfgengbe",
    " gur ",
];

fn turned(text: &str) -> String {
    let rotate = |c: char| match c {
        'a'..='m' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        other => other,
    };
    text.chars().map(rotate).collect()
}

/// Returns runs of letters and digits that are long enough to hold a sentence.
fn blobs(text: &str) -> impl Iterator<Item = &str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    text.split(move |c| !inside(c)).filter(|blob| blob.len() >= LEAST).take(64)
}

fn base64(blob: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(blob.len());
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in blob.bytes().take(MOST).take_while(|byte| *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    readable(bytes)
}

fn hex(blob: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = blob.as_bytes().get(..blob.len().min(MOST))?.chunks_exact(2);
    let bytes: Option<Vec<u8>> = pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect();
    readable(bytes?)
}

/// Returns bytes that are text: words with blanks between.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    // Random bytes rarely decode to text with blanks and without control characters.
    let plain = text.chars().all(|c| !c.is_control() || c.is_whitespace());
    (plain && text.contains(' ') && text.len() >= LEAST / 2).then_some(text)
}

/// Decodes percent signs; none if hardly anything was encoded.
fn percent(text: &str) -> Option<String> {
    let mut decoded = 0;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let pair = (
            ahead.next().and_then(|b| char::from(b).to_digit(16)),
            ahead.next().and_then(|b| char::from(b).to_digit(16)),
        );
        match (byte, pair) {
            (b'%', (Some(high), Some(low))) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                decoded += 1;
                rest = ahead;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    (decoded >= 3).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split("&#");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (number, rest) = piece.split_once(';').unwrap_or((piece, ""));
        let parsed = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => number.parse().ok(),
        };
        match parsed.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                out.push_str(rest);
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn encoded_text_is_read() {
        let cases = [
            ("x%20y%20z%21", "x y z!"),
            ("&#104;&#105;&#x20;&#121;o", "hi yo"),
            ("see dGhlIHF1aWNrIGJyb3duIGZveA== there", "the quick brown fox"),
            ("54686520717569636b2062726f776e", "The quick brown"),
            ("gur flfgrz", "the system"),
        ];
        for (text, expected) in cases {
            assert!(
                pieces(text, text).iter().any(|piece| piece == expected),
                "{text}: {:?}",
                pieces(text, text)
            );
        }
        for text in [
            "",
            "%",
            "%%%",
            "&#&#&#",
            "&#x;&#99999999999;&#1",
            "aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "0f0f0f0f0f0f0f0f0f0f0f0f",
        ] {
            assert!(pieces(text, text).len() <= 1, "{text}");
        }
    }
}
