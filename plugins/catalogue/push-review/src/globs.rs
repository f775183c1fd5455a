//! Paths with `*`, `?` and `**`, as settings write them.

/// Returns true if a path matches a pattern. A pattern without a slash matches the file's name
/// anywhere, as in `.gitignore`; `*` and `?` stay within a folder, `**` goes through any.
pub fn matches_path(pattern: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./");
    if !pattern.contains('/') {
        return matches_part(pattern, path.rsplit('/').next().unwrap_or(path));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let pattern: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    matches_parts(&pattern, &parts)
}

/// Matches folder by folder, with one place to go back to: that of the newest `**`.
fn matches_parts(pattern: &[&str], parts: &[&str]) -> bool {
    let (mut at, mut of) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < parts.len() {
        match (pattern.get(of), parts.get(at)) {
            (Some(&"**"), _) => {
                back = Some((of, at));
                of += 1;
            }
            (Some(wanted), Some(part)) if matches_part(wanted, part) => (at, of) = (at + 1, of + 1),
            _ => {
                let Some((back_of, back_at)) = back else { return false };
                back = Some((back_of, back_at + 1));
                (at, of) = (back_at + 1, back_of + 1);
            }
        }
    }
    pattern.get(of..).is_some_and(|rest| rest.iter().all(|part| *part == "**"))
}

/// Matches one name, ignoring the case of letters.
pub fn matches_part(pattern: &str, text: &str) -> bool {
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
    fn paths_match_as_in_gitignore() {
        for (pattern, path, expected) in [
            ("*.pem", "certs/a.pem", true),
            ("*.pem", "a.pem.txt", false),
            ("**/tests/**", "/project/a/tests/b/c.rs", true),
            ("**/tests/**", "tests/c.rs", true),
            ("**/tests/**", "latests/c.rs", false),
            ("certs/*.key", "certs/a.key", true),
            ("certs/*.key", "certs/x/a.key", false),
            ("certs/**/*.key", "certs/x/y/a.key", true),
            ("a/**/b/**/c", "a/x/b/b/y/c", true),
        ] {
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
        }
    }
}
