//! Lines of text broken between words at the width of a terminal.

/// Breaks the lines of a text for a terminal of that width; without one they stay as they are.
pub fn fit_text(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let wrap = |line: &str| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        // The terminal breaks a line that fills it exactly too, some with an empty line.
        format!("{}{end}", break_line(line.trim_end_matches('\n'), width.saturating_sub(1), indent))
    };
    text.split_inclusive('\n').map(wrap).collect()
}

/// Breaks a line between words and continues it at `indent`. Colour takes no columns. A word that
/// is longer than a line stays whole, since it may be a path to copy.
pub fn break_line(line: &str, width: usize, indent: usize) -> String {
    wrap_line(line, width, indent, 0)
}

/// Like `break_line`, but leaves the first `fixed` bytes together.
pub(crate) fn wrap_line(line: &str, width: usize, indent: usize, fixed: usize) -> String {
    let (fixed, rest) = line.split_at_checked(fixed).unwrap_or(("", line));
    let (mut wrapped, mut used) = (fixed.to_owned(), columns(fixed));
    // Nothing is won by a break before the first word of a line.
    let mut begun = false;
    for part in rest.split_inclusive(' ') {
        let word = part.trim_end_matches(' ');
        let width_of_word = columns(word);
        if begun && width_of_word > 0 && used + width_of_word > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        }
        wrapped.push_str(part);
        used += columns(part);
        begun |= width_of_word > 0;
    }
    wrapped
}

/// Counts the characters that a terminal shows: all but the sequences that set colours.
pub(crate) fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_broken_on_a_terminal_alone() {
        let text = "id-1  block    one two three\n  indented line of words\nlast";
        assert_eq!(fit_text(text, None, 4), text);
        assert_eq!(
            fit_text(text, Some(21), 4),
            "id-1  block    one\n    two three\n  indented line of\n    words\nlast"
        );
    }
}
