//! Small operations on text that several stages need: cutting, escaping, fingerprints.

/// At most `limit` bytes of `text`, cut at a character and marked with `…` when cut.
#[must_use]
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = floor(text, limit.saturating_sub('…'.len_utf8()));
    let mut kept = text.get(..end).unwrap_or_default().to_owned();
    kept.push('…');
    kept
}

/// The largest character boundary of `text` that is not past `index`.
#[must_use]
pub fn floor(text: &str, index: usize) -> usize {
    let mut end = index.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// One line for a person: control characters, line breaks and direction overrides become visible
/// escapes, so that text from an agent or plugin cannot paint over a terminal.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\t' => line.push(' '),
            c if hostile(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
        if line.len() > limit {
            break;
        }
    }
    cut(&line, limit)
}

/// Like [`one_line`] but keeps line breaks.
#[must_use]
pub fn lines(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if hostile(c) && c != '\n' && c != '\t' {
            safe.extend(c.escape_unicode())
        } else {
            safe.push(c)
        }
        if safe.len() > limit {
            break;
        }
    }
    cut(&safe, limit)
}

/// A character that could deceive a reader: controls, the direction marks and overrides of Unicode, and
/// what has no width and could carry words that only a model reads. The one list of them, for the
/// engine too.
#[must_use]
pub fn hostile(c: char) -> bool {
    match c {
        // Bidirectional marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Separators and characters without a width (the joiners of scripts and emoji stay).
        '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => true,
        // Interlinear marks and tags.
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// A fingerprint of some parts: the first 8 bytes of BLAKE3 over each part's length and bytes; never 0,
/// which stands for "none".
#[must_use]
pub fn fingerprint(parts: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hash = hasher.finalize();
    let mut first = [0_u8; 8];
    for (to, from) in first.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    u64::from_le_bytes(first).max(1)
}

/// An error's text with what changes between repetitions taken out: paths become `P`, numbers,
/// addresses and times `0`, runs of white space one space. At most 2 KiB are looked at.
#[must_use]
pub fn normalise_error(text: &str) -> String {
    let text = text.get(..floor(text, 2048)).unwrap_or_default();
    text.split_whitespace().map(normalise_word).collect::<Vec<_>>().join(" ")
}

fn normalise_word(word: &str) -> String {
    let inner = word.trim_matches(|c: char| "\"'`(),;[]{}<>".contains(c));
    if inner.len() > 1 && inner.contains('/') && !inner.contains("://") {
        return "P".into();
    }
    let hexadecimal = inner.strip_prefix("0x").is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
    if hexadecimal {
        return "0".into();
    }
    let mut normal = String::new();
    for c in word.chars() {
        if !c.is_ascii_digit() {
            normal.push(c);
        } else if !normal.ends_with('0') {
            normal.push('0');
        }
    }
    normal
}
