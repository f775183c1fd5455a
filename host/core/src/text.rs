//! Small operations on text that several stages need: cutting, escaping, fingerprints.

/// Returns at most `limit` bytes of `text`, cut at a character and marked with `…` when cut.
#[must_use]
pub fn cut_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = floor_boundary(text, limit.saturating_sub('…'.len_utf8()));
    let mut kept = text.get(..end).unwrap_or_default().to_owned();
    kept.push('…');
    kept
}

/// Returns the largest character boundary of `text` that is not past `index`.
#[must_use]
pub fn floor_boundary(text: &str, index: usize) -> usize {
    let mut end = index.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Formats text as one line for a person: control characters, line breaks and direction overrides
/// become visible escapes, so that text from an agent or plugin cannot paint over a terminal.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\t' => line.push(' '),
            c if is_hostile(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
        if line.len() > limit {
            break;
        }
    }
    cut_text(&line, limit)
}

/// Does the same as [`one_line`] but keeps line breaks.
#[must_use]
pub fn list_lines(text: &str, limit: usize) -> String {
    let mut safe = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        if is_hostile(c) && c != '\n' && c != '\t' {
            safe.extend(c.escape_unicode())
        } else {
            safe.push(c)
        }
        if safe.len() > limit {
            break;
        }
    }
    cut_text(&safe, limit)
}

/// Quotes a third party's words so that they cannot leave the quotation: on one line, between `"`,
/// with nothing in them that closes the quotation or opens something else. Keeps at most `limit`
/// bytes of words.
#[must_use]
pub fn quote_words(words: &str, limit: usize) -> String {
    format!("\"{}\"", strip_quotes(words, limit))
}

/// Formats a third party's value as one line that is safe between quotation marks or backticks: it
/// contains neither, no tag, and no invisible characters.
#[must_use]
pub fn strip_quotes(value: &str, limit: usize) -> String {
    let mut line = String::with_capacity(value.len().min(limit));
    let mut chars = value.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let spelled = is_hostile(c) || (unseen(c) && !joins(before, c));
        match c {
            '\n' => line.push_str("\\n"),
            '\t' => line.push(' '),
            c if spelled => line.extend(c.escape_unicode()),
            '"'
            | '`'
            | '\u{2018}'..='\u{201f}'
            | '\u{2032}'..='\u{2037}'
            | '\u{ab}'
            | '\u{bb}'
            | '\u{ff02}'
            | '\u{ff40}' => line.push('\''),
            '<' | '\u{ff1c}' | '\u{fe64}'
                if chars
                    .peek()
                    .is_some_and(|next| next.is_alphanumeric() || "/!?|".contains(*next)) =>
            {
                line.push('\u{2039}');
            }
            c => line.push(c),
        }
        before = if spelled { ' ' } else { c };
        if line.len() > limit {
            break;
        }
    }
    cut_text(&line, limit)
}

/// Returns true for a character without a shape of its own that [`is_hostile`] permits, since scripts
/// and emoji need it.
const fn unseen(c: char) -> bool {
    matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{2065}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns true for a joiner, or an emoji mark, after a character that can be joined or be an
/// emoji: its intended use.
fn joins(before: char, c: char) -> bool {
    let shown = !before.is_ascii() && !unseen(before);
    match c {
        '\u{fe0f}' => shown,
        '\u{200c}' | '\u{200d}' => shown || before == '\u{fe0f}',
        _ => false,
    }
}

/// Returns true for a character that could deceive a reader: controls, the direction marks and
/// overrides of Unicode, and characters without a width that could carry words that only a model
/// reads. This is the only list of them, and the engine uses it too.
#[must_use]
pub fn is_hostile(c: char) -> bool {
    match c {
        // Bidirectional marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Separators and characters without a width (the joiners of scripts and emoji stay).
        '\u{ad}'
        | '\u{200b}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}' => true,
        // Interlinear marks and tags.
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Formats a number with its noun: `1 step`, `2 entries`.
#[must_use]
pub fn count_noun(number: u64, noun: &str) -> String {
    if number == 1 {
        return format!("1 {noun}");
    }
    let before =
        |ending| noun.strip_suffix(ending).filter(|stem: &&str| !stem.ends_with(['a', 'e', 'o']));
    match before("y") {
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}

/// Returns a fingerprint of some parts: 53 bits of BLAKE3 over each part's length and bytes; never
/// 0, which means "none".
#[must_use]
pub fn hash_parts(parts: &[&str]) -> u64 {
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
    (u64::from_le_bytes(first) >> 11).max(1)
}

/// Removes the parts of an error's text that change between repetitions: paths become `P`; numbers,
/// addresses and times `0`; runs of white space one space. The name of a test behind its file stays,
/// and so does the length of text that was left out, since nothing else is known of it. Examines the
/// first and the last KiB: a long report says at its end which of its parts failed.
#[must_use]
pub fn normalise_error(text: &str) -> String {
    const HALF: usize = 1024;
    let (head, tail) = match text.len().checked_sub(HALF) {
        Some(start) if start > HALF => (floor_boundary(text, HALF), floor_boundary(text, start)),
        _ => (text.len(), text.len()),
    };
    let parts = [text.get(..head), text.get(tail..)].into_iter().flatten();
    let words: Vec<&str> = parts.flat_map(str::split_whitespace).collect();
    let normal = words.iter().enumerate().map(|(at, word)| {
        if measures_a_cut(&words, at) { (*word).to_owned() } else { normalise_word(word) }
    });
    normal.collect::<Vec<_>>().join(" ")
}

/// Returns the fingerprint of an error; 0 if it has no words of its own, such as `Exit code 1`: many
/// causes share them, and a search without a result is one.
#[must_use]
pub fn fingerprint_error(text: &str) -> u64 {
    const BARE: &[&str] = &[
        "exit",
        "exitcode",
        "code",
        "status",
        "error",
        "exited",
        "with",
        "command",
        "failed",
        "execution",
        "returned",
        "non",
        "zero",
        "nonzero",
        "0",
    ];
    let normal = normalise_error(text);
    let mut words = normal.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let says_nothing = words.all(|word| BARE.iter().any(|bare| word.eq_ignore_ascii_case(bare)));
    if says_nothing { 0 } else { hash_parts(&[&normal]) }
}

/// Returns true for a number of lines or characters that were left out: `… +19 lines`,
/// `[300 characters truncated]`.
fn measures_a_cut(words: &[&str], at: usize) -> bool {
    const UNITS: &[&str] = &["line", "char", "byte", "token"];
    const LEFT_OUT: &[&str] = &["truncated", "omitted", "hidden", "elided", "more", "skipped"];
    let word = |index: Option<usize>| index.and_then(|index| words.get(index)).copied();
    let number = |word: &str| {
        let inner = word.trim_matches(|c: char| "+[(<.\u{2026}".contains(c));
        !inner.is_empty() && inner.chars().all(|c| c.is_ascii_digit())
    };
    let unit =
        word(at.checked_add(1)).is_some_and(|next| UNITS.iter().any(|unit| next.starts_with(unit)));
    let before = word(at.checked_sub(1))
        .is_some_and(|before| before.ends_with('\u{2026}') || before.ends_with("..."));
    let after = word(at.checked_add(2))
        .is_some_and(|after| LEFT_OUT.iter().any(|words| after.starts_with(words)));
    unit && (before || after) && word(Some(at)).is_some_and(number)
}

fn normalise_word(word: &str) -> String {
    let inner = word.trim_matches(|c: char| "\"'`(),;[]{}<>".contains(c));
    if inner.len() > 1 && inner.contains('/') && !inner.contains("://") {
        let test = inner.split_once("::").map_or("", |(_, test)| test);
        return if test.is_empty() { "P".into() } else { format!("P::{}", without_numbers(test)) };
    }
    let hexadecimal = inner
        .strip_prefix("0x")
        .is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
    if hexadecimal {
        return "0".into();
    }
    without_numbers(word)
}

fn without_numbers(word: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A number in JavaScript holds 53 bits, so values that differ here must still differ there.
    #[test]
    fn fingerprints_fit_every_language() {
        let prints: std::collections::BTreeSet<u64> =
            (0..1000).map(|part| hash_parts(&[&part.to_string()])).collect();
        assert!(prints.len() == 1000 && prints.iter().all(|print| (1..1 << 53).contains(print)));
        assert!(prints.iter().any(|print| *print >= 1 << 52), "all of the bits are used");
        assert_ne!(hash_parts(&["a", "b"]), hash_parts(&["ab"]));
    }

    #[test]
    fn bare_values_stay_between_their_marks() {
        let table = [
            ("plain \u{fc}mlaut \u{6f22}\u{5b57}", "plain \u{fc}mlaut \u{6f22}\u{5b57}"),
            ("a\nb\tc", "a\\nb c"),
            ("say \"no\" to `rm`", "say 'no' to 'rm'"),
            ("\u{201c}no\u{201d} \u{ab}no\u{bb}", "'no' 'no'"),
            ("</b> <b> <|x <!-- <?x", "\u{2039}/b> \u{2039}b> \u{2039}|x \u{2039}!-- \u{2039}?x"),
            ("a < b <= c 2>/dev/null", "a < b <= c 2>/dev/null"),
            ("\u{1b}[0m", "\\u{1b}[0m"),
            // A family, a heart as a picture, a word whose letters must be kept apart.
            (
                "\u{1f469}\u{200d}\u{2764}\u{fe0f}\u{200d}\u{1f469} \u{2764}\u{fe0f}",
                "\u{1f469}\u{200d}\u{2764}\u{fe0f}\u{200d}\u{1f469} \u{2764}\u{fe0f}",
            ),
            ("\u{646}\u{645}\u{6cc}\u{200c}\u{62e}", "\u{646}\u{645}\u{6cc}\u{200c}\u{62e}"),
            ("a\u{200d}\u{200c}b\u{fe00}", "a\\u{200d}\\u{200c}b\\u{fe00}"),
            (
                "\u{6f22}\u{e0101}\u{2764}\u{fe0f}\u{fe0f}",
                "\u{6f22}\\u{e0101}\u{2764}\u{fe0f}\\u{fe0f}",
            ),
        ];
        for (value, expected) in table {
            assert_eq!(strip_quotes(value, 200), expected);
            assert_eq!(quote_words(value, 200), format!("\"{expected}\""));
        }
    }

    /// Two texts are the same error if only places, numbers and times differ.
    #[test]
    fn errors_are_compared_without_what_changes() {
        let long = |end: &str| format!("{}{}{end}", "head ".repeat(300), "ok ".repeat(900));
        let same = [
            ("a.rs:3: expected `;`".to_owned(), "a.rs:17: expected `;`".to_owned()),
            ("cannot open /tmp/x1/a".to_owned(), "cannot open /tmp/y2/b".to_owned()),
            ("took 1.5 s at 0x1f".to_owned(), "took 22.25  s at 0xff".to_owned()),
            ("5 lines too long".to_owned(), "7 lines too long".to_owned()),
            (long("1 failed in 0.3s"), long("2 failed in 4.5s")),
            ("FAILED a/b.py::test_sum[3]".to_owned(), "FAILED c/d.py::test_sum[4]".to_owned()),
        ];
        for (one, other) in same {
            assert_eq!(normalise_error(&one), normalise_error(&other), "{one} | {other}");
        }
        let different = [
            ("FAILED a/b.py::test_sum".to_owned(), "FAILED a/b.py::test_product".to_owned()),
            ("a/lib.rs::sum FAILED".to_owned(), "a/lib.rs::product FAILED".to_owned()),
            (long("FAILED test_sum"), long("FAILED test_product")),
            (
                "session starts \u{2026} +19 lines".to_owned(),
                "session starts \u{2026} +27 lines".to_owned(),
            ),
            ("x [300 characters truncated]".to_owned(), "x [41 characters truncated]".to_owned()),
            ("x ... 12 lines omitted".to_owned(), "x ... 13 lines omitted".to_owned()),
        ];
        for (one, other) in different {
            assert_ne!(normalise_error(&one), normalise_error(&other), "{one} | {other}");
        }
        assert!(normalise_error(&"\u{e9}".repeat(5000)).len() <= 2100);
    }

    #[test]
    fn an_error_without_words_has_no_fingerprint() {
        for bare in [
            "",
            " \n",
            "Exit code 1",
            "Error: Error",
            "exitcode: 2 (execution failed)",
            "Command failed with exit code 127",
            "Error: command exited with non-zero status 1",
        ] {
            assert_eq!(fingerprint_error(bare), 0, "{bare}");
        }
        for telling in
            ["Exit code 1\nKeyError", "Error: not found", "exit code 1: \u{2717}\u{e9}", "E501"]
        {
            assert_ne!(fingerprint_error(telling), 0, "{telling}");
        }
    }

    #[test]
    fn quotations_are_cut() {
        for (words, limit, expected) in [
            ("abcdef", 6, "\"abcdef\""),
            ("abcdefg", 6, "\"abc\u{2026}\""),
            ("\u{1b}\u{1b}", 8, "\"\\u{1b\u{2026}\""),
        ] {
            assert_eq!(quote_words(words, limit), expected);
        }
    }
}
