//! Encrypted bytes in columns and files that hold text.

use data_encoding::BASE64_NOPAD;

/// No document begins with it: documents are JSON.
const PREFIX: &str = "enc1:";

/// Returns encrypted bytes as text.
#[must_use]
pub fn encode_text(encrypted: &[u8]) -> String {
    let mut text = String::with_capacity(PREFIX.len() + encrypted.len() / 3 * 4 + 4);
    text.push_str(PREFIX);
    BASE64_NOPAD.encode_append(encrypted, &mut text);
    text
}

/// Returns the encrypted bytes of a text; `None` if the text is plain.
#[must_use]
pub fn decode_text(text: &str) -> Option<Vec<u8>> {
    // A damaged text is not plain: it decodes to nothing, which does not decrypt.
    text.strip_prefix(PREFIX)
        .map(|encoded| BASE64_NOPAD.decode(encoded.as_bytes()).unwrap_or_default())
}
