//! Globs over paths: `*` and `?` within a folder's name, `**` across folders, `[a-z]` and `[!a-z]`.
//!
//! A glob without `/` is matched against the last part of the path; one that begins with `/` or
//! `**` against all of it; one that begins with `~/` below the person's home; any other below each
//! of the project's folders. Time grows with path times glob, never faster.

use crate::evaluate::Around;

enum Part {
    Exact(char),
    /// `?`
    One,
    Class(bool, Vec<(char, char)>),
    /// `*`
    Some,
    /// `**`
    Any,
    /// `**/`: nothing, or whole folders.
    Folders,
}

/// Checks that it is a valid glob; the error explains the problem.
pub(crate) fn check(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("an empty glob fits nothing".into());
    }
    if glob.contains(['{', '}']) {
        return Err("a glob has no alternatives in braces; ask with `||`".into());
    }
    parts(glob).map(|_| ())
}

/// Returns true if the path matches.
pub(crate) fn fits(glob: &str, path: &str, around: &Around<'_>) -> bool {
    let whole = |glob: &str, path: &str| parts(glob).is_ok_and(|parts| matches(&parts, path));
    if !glob.contains('/') {
        return whole(glob, path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
    }
    if let Some(below) = glob.strip_prefix("~/") {
        return rest(path, around.home).is_some_and(|path| whole(below, path));
    }
    if glob.starts_with(['/']) || glob.starts_with("**") {
        return whole(glob, path);
    }
    around.roots.iter().any(|root| rest(path, root).is_some_and(|path| whole(glob, path)))
}

/// Returns the part of a path below a folder.
pub(crate) fn rest<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let folder = folder.trim_end_matches('/');
    (!folder.is_empty()).then(|| path.strip_prefix(folder)?.strip_prefix('/')).flatten()
}

fn parts(glob: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (part, long) = match c {
            '*' if rest.starts_with("**/") => (Part::Folders, 3),
            '*' if rest.starts_with("**") => (Part::Any, 2),
            '*' => (Part::Some, 1),
            '?' => (Part::One, 1),
            '[' => class(rest)?,
            c => (Part::Exact(c), c.len_utf8()),
        };
        parts.push(part);
        rest = rest.get(long..).unwrap_or_default();
    }
    Ok(parts)
}

fn class(rest: &str) -> Result<(Part, usize), String> {
    let inner = rest.get(1..).unwrap_or_default();
    let (but, from) = if inner.starts_with(['!', '^']) { (true, 1) } else { (false, 0) };
    let inner = inner.get(from..).unwrap_or_default();
    // A `]` right behind the opening belongs to the class.
    let first = inner.chars().next().map_or(0, char::len_utf8);
    let Some(end) = inner.get(first..).and_then(|later| later.find(']')).map(|at| at + first)
    else {
        return Err("this glob opens `[` and does not close it".into());
    };
    let chars: Vec<char> = inner.get(..end).unwrap_or_default().chars().collect();
    let mut ranges = Vec::new();
    let mut left = chars.as_slice();
    while let [low, more @ ..] = left {
        (left, _) = match more {
            ['-', high, after @ ..] => (after, ranges.push((*low, *high))),
            _ => (more, ranges.push((*low, *low))),
        };
    }
    Ok((Part::Class(but, ranges), 1 + from + end + 1))
}

/// Walks the path once and keeps every position in the glob that it may have reached.
fn matches(parts: &[Part], path: &str) -> bool {
    let mut now = vec![false; parts.len() + 1];
    let mut next = now.clone();
    enter(&mut now, parts, 0);
    for c in path.chars() {
        next.fill(false);
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| now.get(*at) == Some(&true)) {
            match part {
                Part::Exact(wanted) if c == *wanted => enter(&mut next, parts, at + 1),
                Part::One if c != '/' => enter(&mut next, parts, at + 1),
                Part::Class(but, ranges)
                    if c != '/'
                        && ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *but =>
                {
                    enter(&mut next, parts, at + 1);
                }
                Part::Some if c != '/' => enter(&mut next, parts, at),
                Part::Any => enter(&mut next, parts, at),
                Part::Folders => {
                    // Only a slash leads on to the next part, as these are whole folders.
                    if let Some(place) = next.get_mut(at) {
                        *place = true;
                    }
                    if c == '/' {
                        enter(&mut next, parts, at + 1);
                    }
                }
                _ => {}
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    now.last() == Some(&true)
}

/// Enters a position in the glob, and those after parts that may be empty.
fn enter(places: &mut [bool], parts: &[Part], at: usize) {
    let mut at = at;
    loop {
        if let Some(place) = places.get_mut(at) {
            *place = true;
        }
        match parts.get(at) {
            Some(Part::Some | Part::Any | Part::Folders) => at += 1,
            _ => return,
        }
    }
}
