//! The words of a problem: names and values as a person may see them.

/// The most bytes of a name or a value that a problem repeats.
const MOST_SHOWN: usize = 64;

/// Shortens and escapes a name or a value for a message.
#[must_use]
pub fn show(text: &str) -> String {
    escape(text, MOST_SHOWN)
}

/// Formats text as one line of at most `limit` bytes. Invisible characters and marks that change
/// the direction become escapes, so that a file cannot paint over the terminal that shows its
/// problems.
#[must_use]
pub fn escape(text: &str, limit: usize) -> String {
    const CUT: char = '…';
    let mut line = String::new();
    for c in text.chars() {
        if matches!(c, '"' | '\'' | '\\') {
            line.push(c);
        } else {
            // After a letter, so that the marks of scripts stay what they are.
            line.extend(format!("a{c}").escape_debug().skip(1));
        }
        if line.len() > limit {
            line.truncate(line.floor_char_boundary(limit.saturating_sub(CUT.len_utf8())));
            line.push(CUT);
            break;
        }
    }
    line
}

/// Formats names as a list in a sentence.
#[must_use]
pub fn list_names(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the name that was probably meant: about a third of its letters may differ.
#[must_use]
pub fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    // The time grows with the square of the length, so the name is cut.
    let given: String = given.chars().take(MOST_SHOWN).collect();
    let distances = known.into_iter().map(|name| (strsim::osa_distance(name, &given), name));
    let (distance, name) = distances.min()?;
    (distance <= name.len().div_ceil(3)).then_some(name)
}

/// Returns true if TOML needs no quotes around a key.
#[must_use]
pub fn is_bare_key(key: &str) -> bool {
    !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Formats a key below a path, as TOML writes it.
pub(crate) fn join_path(path: &str, key: &str) -> String {
    let quote = if is_bare_key(key) { "" } else { "\"" };
    let dot = if path.is_empty() { "" } else { "." };
    format!("{path}{dot}{quote}{}{quote}", show(key))
}
