//! The relation of one path to a guarded one, as text. A path may be a glob or the result of a
//! search.

use crate::policy::GuardedPath;

/// The relation of a path to a guarded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathRelation {
    /// It is the guarded path.
    Same,
    /// It is inside the guarded folder.
    Inside,
    /// It is a folder above.
    Above,
}

/// The prefix of a guarded path that matches the end of any path.
const ANYWHERE: &str = "**/";

/// Returns the relation of `path` to a guarded one; none if neither contains the other. An empty
/// path, which is known only when the action runs, has none: it is unknown, and not the root.
pub(super) fn relation(path: &str, guarded: &GuardedPath) -> Option<PathRelation> {
    if let Some(end) = guarded.path.strip_prefix(ANYWHERE) {
        return ends(path, end).then_some(PathRelation::Same);
    }
    // A file name can itself contain glob characters.
    let named = name_relation(path, guarded);
    let as_glob = || glob_relation(path, &guarded.path).filter(|_| guarded.present);
    if is_glob(path) { named.or_else(as_glob) } else { named }
}

/// Does the same as `relation`, for a path that is a name and not a pattern.
pub(super) fn name_relation(path: &str, guarded: &GuardedPath) -> Option<PathRelation> {
    if let Some(end) = guarded.path.strip_prefix(ANYWHERE) {
        return ends(path, end).then_some(PathRelation::Same);
    }
    if path.is_empty() {
        return None;
    }
    match (strip_folder(path, &guarded.path), strip_folder(&guarded.path, path)) {
        (Some(""), _) => Some(PathRelation::Same),
        (Some(_), _) => Some(PathRelation::Inside),
        (_, Some(_)) => Some(PathRelation::Above),
        _ => is_looked_up(path, guarded).then_some(PathRelation::Same),
    }
}

/// Returns true for the portcullis program's name in the pseudo-folder for programs that are looked
/// up by name: `$(which NAME)`.
fn is_looked_up(path: &str, guarded: &GuardedPath) -> bool {
    guarded.program
        && path
            .strip_prefix("/usr/bin/")
            .is_some_and(|name| guarded.path.rsplit('/').next() == Some(name))
}

/// Returns the guarded path as it would be written out in full, or its end.
pub(super) fn end(guarded: &GuardedPath) -> &str {
    guarded.path.strip_prefix(ANYWHERE).unwrap_or(&guarded.path)
}

/// Returns true if the path ends with these parts.
fn ends(path: &str, end: &str) -> bool {
    if cfg!(target_os = "macos") {
        return ends_in_any_case(path, end);
    }
    path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'))
}

/// Does the same where the file system takes other capitals for the same name, as that of macOS.
fn ends_in_any_case(path: &str, end: &str) -> bool {
    let at = path.len().checked_sub(end.len());
    let parts = at.and_then(|at| path.split_at_checked(at));
    parts.is_some_and(|(rest, found)| rest.ends_with('/') && found.eq_ignore_ascii_case(end))
}

/// Returns the rest of `path` after `folder`, if it is inside that folder.
pub(super) fn strip_folder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

pub(super) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[']) || is_extended(path)
}

/// Returns true for extended shell patterns and open alternatives, which can match anything.
fn is_extended(path: &str) -> bool {
    ["!(", "@(", "+(", "?(", "*(", "{"].iter().any(|mark| path.contains(mark))
}

/// Matches pattern and path part by part, following every possible expansion of `**`.
fn glob_relation(pattern: &str, path: &str) -> Option<PathRelation> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // A search finds hidden files too, a shell expansion does not.
    let searches = pattern.contains("**");
    let mut at: Vec<bool> = vec![false; parts.len() + 1];
    if let Some(first) = at.first_mut() {
        *first = true;
    }
    let mut inside = false;
    let mut pattern = pattern.split('/').filter(|part| !part.is_empty()).take(64).peekable();
    while let Some(part) = pattern.next() {
        // The results of a search somewhere below are not considered below the guarded path itself.
        let deepest = parts.len()
            - usize::from(part == "**" && pattern.peek().is_some() && !parts.is_empty());
        let mut next = vec![false; parts.len() + 1];
        for (index, _) in at.iter().enumerate().filter(|(_, here)| **here) {
            if index == parts.len() {
                inside = true;
            }
            if part == "**" {
                next.iter_mut()
                    .take(deepest.max(index) + 1)
                    .skip(index)
                    .for_each(|reached| *reached = true);
            } else if parts.get(index).is_some_and(|name| matches(part, name, searches))
                && let Some(reached) = next.get_mut(index + 1)
            {
                *reached = true;
            }
        }
        at = next;
    }
    match at.iter().rposition(|here| *here) {
        Some(index) if index == parts.len() => Some(PathRelation::Same),
        _ if inside => Some(PathRelation::Inside),
        Some(_) => Some(PathRelation::Above),
        None => None,
    }
}

/// Returns true if a part of a pattern matches that file name. `hidden`: also one that begins with
/// a dot.
pub(super) fn matches(pattern: &str, name: &str, hidden: bool) -> bool {
    if is_extended(pattern) {
        return true;
    }
    if name.starts_with('.') && !pattern.starts_with('.') && !hidden {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().take(256).collect(), name.chars().take(256).collect());
    let (mut at, mut to) = (0, 0);
    // Only the last `*` is retried: a recursion over all of them takes exponential time on hostile
    // patterns.
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

/// Returns the length of the pattern that matches this one character, if it does.
fn single(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(1),
        '[' => {
            let rest = pattern.get(at + 1..)?;
            let Some(end) = end_of_set(rest) else {
                return (c == '[').then_some(1);
            };
            let set = rest.get(..end)?;
            let (negated, set) = match set.split_first() {
                Some(('!' | '^', set)) => (true, set),
                _ => (false, set),
            };
            // The members of a class depend on the language of the machine.
            if set.windows(2).any(|pair| matches!(pair, ['[', ':' | '.' | '='])) {
                return Some(end + 2);
            }
            let range = set
                .windows(3)
                .any(|window| matches!(window, [low, '-', high] if (*low..=*high).contains(&c)));
            ((range || set.contains(&c)) != negated).then_some(end + 2)
        }
        literal => (*literal == c).then_some(1),
    }
}

/// Returns the position of the `]` that ends a set, after its `[`. A `]` that comes first is a
/// member, and so is one within a class such as `[:alpha:]`.
fn end_of_set(rest: &[char]) -> Option<usize> {
    let mut at = usize::from(matches!(rest.first(), Some('!' | '^')));
    at += usize::from(rest.get(at) == Some(&']'));
    loop {
        at = match (rest.get(at)?, rest.get(at + 1)) {
            (']', _) => return Some(at),
            ('[', Some(kind @ (':' | '.' | '='))) => {
                let inside = rest.get(at + 2..)?;
                let end = inside.windows(2).position(|pair| pair == [*kind, ']']);
                end.map_or(at + 1, |end| at + end + 4)
            }
            _ => at + 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "/home/me/.claude/settings.json";

    #[test]
    fn paths_lie_to_a_guarded_file_as_they_do() {
        use PathRelation::{Above, Inside, Same};
        for (path, expected) in [
            (SETTINGS, Some(Same)),
            ("/home/me/.claude/settings.json/x", Some(Inside)),
            ("/home/me/.claude", Some(Above)),
            ("/home/me", Some(Above)),
            ("/", Some(Above)),
            ("", None),
            ("/home/me/.claude/settings.json.bak", None),
            ("/home/me/.claud", None),
            ("/home/me/.claude/commands", None),
            ("/home/me/.claude/*", Some(Same)),
            ("/home/me/.claude/*.json", Some(Same)),
            ("/home/me/.claude/s?tt[a-i]ngs.json", Some(Same)),
            ("/home/me/.claude/[!a]*", Some(Same)),
            ("/home/me/.claude/[!s]*", None),
            ("/home/me/.claude/[[:alpha:]]ettings.json", Some(Same)),
            ("/home/me/.claude/[![:space:]]ettings.json", Some(Same)),
            ("/home/me/.claude/[0-9[:lower:]x]ettings.json", Some(Same)),
            ("/home/me/.claude/[[.s.]]ettings.json", Some(Same)),
            ("/home/me/.claude/[[=s=]]ett*", Some(Same)),
            ("/home/me/.claude/[]s]ettings.json", Some(Same)),
            ("/home/me/.claude/[!]]ettings.json", Some(Same)),
            ("/home/me/.claude/[[:s]ettings.json", Some(Same)),
            ("/home/me/.claude/[[:alpha:]]ommands", None),
            ("/home/me/.claude/[]x]ettings.json", None),
            ("/home/me/.claude/[!]s]ettings.json", None),
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
            ("/home/me/.claude/settings.json/*", Some(Inside)),
        ] {
            assert_eq!(relation(path, &GuardedPath::new(SETTINGS, "")), expected, "{path}");
        }
    }

    #[test]
    fn names_with_the_characters_of_a_glob_are_names() {
        let guarded = GuardedPath::new("/w/[app]/conf*/settings", "");
        for (path, expected) in [
            ("/w/[app]/conf*/settings", Some(PathRelation::Same)),
            ("/w/[app]", Some(PathRelation::Above)),
            ("/w/a/conf*/settings", None),
        ] {
            assert_eq!(
                (relation(path, &guarded), name_relation(path, &guarded)),
                (expected, expected),
                "{path}"
            );
        }
        assert_eq!(name_relation("/home/me/.claude/*", &GuardedPath::new(SETTINGS, "")), None);
        let program =
            GuardedPath { program: true, ..GuardedPath::new("/opt/tools/portcullis", "") };
        assert_eq!(
            relation("/usr/bin/portcullis", &program),
            Some(PathRelation::Same),
            "looked up"
        );
    }

    #[test]
    fn an_end_is_guarded_in_every_folder() {
        let guarded = GuardedPath::new("**/.claude/settings.json", "");
        for (path, expected) in [
            ("/srv/x/.claude/settings.json", Some(PathRelation::Same)),
            ("/.claude/settings.json", Some(PathRelation::Same)),
            ("/srv/x.claude/settings.json", None),
            ("/srv/x/.claude", None),
            ("/srv/x/.claude/settings.json/y", None),
        ] {
            assert_eq!(relation(path, &guarded), expected, "{path}");
        }
    }

    #[test]
    fn an_end_in_other_capitals_is_guarded_on_macos() {
        let end = ".claude/settings.json";
        for (path, expected) in [
            ("/srv/x/.claude/settings.json", true),
            ("/srv/x/.Claude/SETTINGS.json", true),
            ("/srv/x.Claude/settings.json", false),
            ("/srv/x/.Claude/settings.json/y", false),
            ("SETTINGS.json", false),
            ("/é/.clauDe/settings.jsön", false),
        ] {
            assert_eq!(ends_in_any_case(path, end), expected, "{path}");
        }
        let other =
            relation("/srv/.CLAUDE/settings.json", &GuardedPath::new(format!("**/{end}"), ""));
        assert_eq!(other.is_some(), cfg!(target_os = "macos"));
    }

    #[test]
    fn a_glob_does_not_meet_what_is_not_there() {
        let absent = GuardedPath { present: false, ..GuardedPath::new(SETTINGS, "") };
        assert_eq!(relation("/home/me/.claude/*", &absent), None);
        assert_eq!(relation(SETTINGS, &absent), Some(PathRelation::Same));
    }

    #[test]
    fn patterns_of_any_shape_end() {
        let many = format!("/{}", "a*".repeat(500));
        assert_eq!(
            relation(&many, &GuardedPath::new(format!("/{}", "a".repeat(500)), "")),
            Some(PathRelation::Same)
        );
        for pattern in ["/[", "/[]", "/[a-", "/[[:alpha:]]", "/**/**/**/**/x", "/*?*?*?*?*?*?*?*?"]
        {
            let _ = relation(pattern, &GuardedPath::new(SETTINGS, ""));
        }
    }
}
