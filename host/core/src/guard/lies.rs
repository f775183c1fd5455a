//! How one path lies to a guarded one, as text. A path may be a glob or what a search finds.

use crate::policy::Guarded;

/// How a path lies to a guarded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// It is the guarded path.
    Same,
    /// It lies in the guarded folder.
    Inside,
    /// It is a folder above.
    Above,
}

/// Begins a guarded path that is the end of any path.
const ANYWHERE: &str = "**/";

/// How `path` lies to a guarded one; none where neither holds the other.
pub(super) fn lies(path: &str, guarded: &Guarded) -> Option<Lies> {
    if let Some(end) = guarded.path.strip_prefix(ANYWHERE) {
        return ends(path, end).then_some(Lies::Same);
    }
    if is_glob(path) {
        return if guarded.present { glob_lies(path, &guarded.path) } else { None };
    }
    match (below(path, &guarded.path), below(&guarded.path, path)) {
        (Some(""), _) => Some(Lies::Same),
        (Some(_), _) => Some(Lies::Inside),
        (_, Some(_)) => Some(Lies::Above),
        _ => None,
    }
}

/// The guarded path as it would be written out in full, or its end.
pub(super) fn end(guarded: &Guarded) -> &str {
    guarded.path.strip_prefix(ANYWHERE).unwrap_or(&guarded.path)
}

/// The path ends with these parts.
fn ends(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'))
}

/// What follows `folder` in `path`, if it lies there.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

pub(super) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[']) || is_extended(path)
}

/// Patterns of a shell's extensions and open alternatives: they can say anything.
fn is_extended(path: &str) -> bool {
    ["!(", "@(", "+(", "?(", "*(", "{"].iter().any(|mark| path.contains(mark))
}

/// Follows pattern and path part by part, with all the ways that `**` can go.
fn glob_lies(pattern: &str, path: &str) -> Option<Lies> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // A search meets hidden files too, an expansion of the shell does not.
    let searches = pattern.contains("**");
    let mut at: Vec<bool> = vec![false; parts.len() + 1];
    if let Some(first) = at.first_mut() {
        *first = true;
    }
    let mut inside = false;
    let mut pattern = pattern.split('/').filter(|part| !part.is_empty()).take(64).peekable();
    while let Some(part) = pattern.next() {
        // What a search finds somewhere below is not looked for below what is guarded itself.
        let deepest = parts.len() - usize::from(part == "**" && pattern.peek().is_some() && !parts.is_empty());
        let mut next = vec![false; parts.len() + 1];
        for (index, _) in at.iter().enumerate().filter(|(_, here)| **here) {
            if index == parts.len() {
                inside = true;
            }
            if part == "**" {
                next.iter_mut().take(deepest.max(index) + 1).skip(index).for_each(|reached| *reached = true);
            } else if parts.get(index).is_some_and(|name| matches(part, name, searches))
                && let Some(reached) = next.get_mut(index + 1)
            {
                *reached = true;
            }
        }
        at = next;
    }
    match at.iter().rposition(|here| *here) {
        Some(index) if index == parts.len() => Some(Lies::Same),
        _ if inside => Some(Lies::Inside),
        Some(_) => Some(Lies::Above),
        None => None,
    }
}

/// Whether a part of a pattern names that file. `hidden`: also one that begins with a dot.
pub(super) fn matches(pattern: &str, name: &str, hidden: bool) -> bool {
    if is_extended(pattern) {
        return true;
    }
    if name.starts_with('.') && !pattern.starts_with('.') && !hidden {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().take(256).collect(), name.chars().take(256).collect());
    let (mut at, mut to) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while to < name.len() {
        let single = single(&pattern, at, name.get(to).copied().unwrap_or_default());
        if pattern.get(at) == Some(&'*') {
            star = Some((at, to));
            at += 1;
        } else if let Some(length) = single {
            at += length;
            to += 1;
        } else if let Some((start, begun)) = star {
            star = Some((start, begun + 1));
            at = start + 1;
            to = begun + 1;
        } else {
            return false;
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|c| *c == '*')
}

/// How much of the pattern stands for this one character, if it fits.
fn single(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(1),
        '[' => {
            let rest = pattern.get(at + 1..)?;
            let Some(end) = rest.iter().skip(1).position(|c| *c == ']').map(|end| end + 1) else { return (c == '[').then_some(1) };
            let set = rest.get(..end)?;
            let (negated, set) = match set.split_first() {
                Some(('!' | '^', set)) => (true, set),
                _ => (false, set),
            };
            let range = set.windows(3).any(|window| matches!(window, [low, '-', high] if (*low..=*high).contains(&c)));
            let named = set.starts_with(&['[', ':']) || set.contains(&c);
            ((range || named) != negated).then_some(end + 2)
        }
        literal => (*literal == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "/home/me/.claude/settings.json";

    #[test]
    fn paths_lie_to_a_guarded_file_as_they_do() {
        use Lies::{Above, Inside, Same};
        for (path, expected) in [
            (SETTINGS, Some(Same)),
            ("/home/me/.claude/settings.json/x", Some(Inside)),
            ("/home/me/.claude", Some(Above)),
            ("/home/me", Some(Above)),
            ("/", Some(Above)),
            ("/home/me/.claude/settings.json.bak", None),
            ("/home/me/.claud", None),
            ("/home/me/.claude/commands", None),
            ("/home/me/.claude/*", Some(Same)),
            ("/home/me/.claude/*.json", Some(Same)),
            ("/home/me/.claude/s?tt[a-i]ngs.json", Some(Same)),
            ("/home/me/.claude/[!a]*", Some(Same)),
            ("/home/me/.claude/[!s]*", None),
            ("/home/me/.cl*", Some(Above)),
            ("/home/me/.*", Some(Above)),
            ("/home/me/*", None),
            ("/home/*", Some(Above)),
            ("/home/*/.claude/settings.json", Some(Same)),
            ("/home/me/**/settings.json", Some(Same)),
            ("/home/me/**", Some(Same)),
            ("/home/me/**/*.pyc", None),
            ("/home/me/shop/**/settings.json", None),
            ("/home/me/.claude/!(x)", Some(Same)),
            ("/home/me/.claude/*/x", Some(Inside)),
        ] {
            assert_eq!(lies(path, &Guarded::new(SETTINGS, "")), expected, "{path}");
        }
    }

    #[test]
    fn an_end_is_guarded_wherever_it_lies() {
        let guarded = Guarded::new("**/.claude/settings.json", "");
        for (path, expected) in [
            ("/srv/x/.claude/settings.json", Some(Lies::Same)),
            ("/.claude/settings.json", Some(Lies::Same)),
            ("/srv/x.claude/settings.json", None),
            ("/srv/x/.claude", None),
            ("/srv/x/.claude/settings.json/y", None),
        ] {
            assert_eq!(lies(path, &guarded), expected, "{path}");
        }
    }

    #[test]
    fn a_glob_does_not_meet_what_is_not_there() {
        let absent = Guarded { present: false, ..Guarded::new(SETTINGS, "") };
        assert_eq!(lies("/home/me/.claude/*", &absent), None);
        assert_eq!(lies(SETTINGS, &absent), Some(Lies::Same));
    }

    #[test]
    fn patterns_of_any_shape_end() {
        let many = format!("/{}", "a*".repeat(500));
        assert_eq!(lies(&many, &Guarded::new(format!("/{}", "a".repeat(500)), "")), Some(Lies::Same));
        for pattern in ["/[", "/[]", "/[a-", "/[[:alpha:]]", "/**/**/**/**/x", "/*?*?*?*?*?*?*?*?"] {
            let _ = lies(pattern, &Guarded::new(SETTINGS, ""));
        }
    }
}
