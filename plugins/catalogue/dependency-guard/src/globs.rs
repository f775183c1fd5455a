//! Names with `*` and `?`, as settings write them.

/// Returns true if a text matches a pattern as a whole: `*` stands for any characters, `?` for one.
///
/// It takes steps in proportion to the product of both lengths and never recurses.
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut of) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match (pattern.get(of), text.get(at)) {
            (Some(b'*'), _) => {
                star = Some((of, at));
                of += 1;
            }
            (Some(b'?'), _) => (at, of) = (at + 1, of + 1),
            (Some(wanted), Some(byte)) if wanted.eq_ignore_ascii_case(byte) => {
                (at, of) = (at + 1, of + 1);
            }
            _ => {
                // The newest star takes one byte more.
                let Some((star_of, star_at)) = star else { return false };
                star = Some((star_of, star_at + 1));
                (at, of) = (star_at + 1, star_of + 1);
            }
        }
    }
    pattern.get(of..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match() {
        for (pattern, text, expected) in [
            ("lodash", "lodash", true),
            ("lodash", "lodash-es", false),
            ("@acme/*", "@acme/a/b", true),
            ("*-internal", "a-internal", true),
            ("a?c", "abc", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*", "", true),
            ("GitHub.com/acme/*", "github.com/acme/x", true),
        ] {
            assert_eq!(matches_glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
