//! Addresses that are more than a place to fetch from: a file of this machine, or data that is
//! sent.

/// Returns the path of a `file:` address.
pub(super) fn local_file(url: &str) -> Option<String> {
    let scheme = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let rest = url.get(scheme.len()..)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => rest,
    };
    Some(unescaped(path.split(['?', '#']).next().unwrap_or(path)))
}

/// Replaces the escapes of an address: `%20`.
pub(crate) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The shortest encoded text that counts as data, in bytes: longer than digests and identifiers.
const ENCODED: usize = 80;
/// Parameters of signed addresses, which are long by nature.
const SIGNED: &[&str] = &["x-amz-", "x-goog-", "sig", "signature", "policy", "key-pair-id", "jwt"];

/// Returns true if an address carries a long encoded text, in its path or a parameter: that text
/// is sent to the host.
pub(super) fn carries_data(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let values = query.split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        let name = name.to_ascii_lowercase();
        (!SIGNED.iter().any(|signed| name.starts_with(signed))).then_some(value)
    });
    path.split(['/', '#']).skip(1).chain(values).any(is_encoded)
}

/// Returns true for text in base64 or hexadecimal, as opposed to words with hyphens.
fn is_encoded(text: &str) -> bool {
    let text = text.trim_end_matches("%3D").trim_end_matches("%3d").trim_end_matches('=');
    let has = |class: fn(&u8) -> bool| text.bytes().any(|byte| class(&byte));
    let signs = text.bytes().filter(|byte| b"-_+%".contains(byte)).count();
    text.len() >= ENCODED
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+%".contains(&byte))
        && signs * 12 < text.len()
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
            || text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
