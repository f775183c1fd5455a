//! Credentials that a pattern names: `~/.ss*/id_*` is read as the files that it may match.

use super::is_glob;

/// Names of credentials in any folder. A pattern has to spell two letters of one.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".git-credentials",
    ".netrc",
    ".pgpass",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
];
/// Keys in `~/.ssh`.
const KEYS: &[&str] = &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"];
/// The maximum number of characters of a pattern that are looked at.
const MOST: usize = 256;

/// Returns true if a pattern may match a file of credentials: one of the names above, or a path
/// with one of these `endings`.
pub(super) fn may_name_secret(path: &str, home: &str, endings: &[&str]) -> bool {
    if !is_glob(path) || path.len() > MOST {
        return false;
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_named = || NAMES.iter().any(|known| fits(known, name));
    if is_glob(name) && spelled(name) >= 2 && !is_glob(folder) && is_named() {
        return true;
    }
    let here = |known: &str| {
        let spells = path.split('/').filter(|part| is_glob(part)).all(|part| {
            spelled(part) >= 1 || path.split('/').filter(|part| !is_glob(part)).count() > 3
        });
        spells && fits_path(known, path)
    };
    endings.iter().any(|ending| match ending.strip_suffix("/*") {
        Some(folder) => KEYS.iter().any(|key| here(&format!("{home}{folder}/{key}"))),
        None if ending.starts_with("/.") => here(&format!("{home}{ending}")),
        None => here(ending),
    })
}

/// Returns the number of characters that a pattern spells out, besides a dot at its beginning.
fn spelled(pattern: &str) -> usize {
    pattern.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').count()
}

/// Compares part by part: no sign stands for a slash.
fn fits_path(path: &str, pattern: &str) -> bool {
    let (mut parts, mut patterns) = (path.split('/'), pattern.split('/'));
    loop {
        match (parts.next(), patterns.next()) {
            (None, None) => return true,
            (Some(part), Some(pattern)) if fits(part, pattern) => {}
            _ => return false,
        }
    }
}

/// Returns true if a name fits a pattern. A dot at the beginning has to be spelled out.
fn fits(name: &str, pattern: &str) -> bool {
    if name.starts_with('.') && pattern.starts_with(['*', '?', '[']) {
        return false;
    }
    let (name, pattern): (Vec<char>, Vec<char>) =
        (name.chars().collect(), pattern.chars().collect());
    let (mut at, mut of) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < name.len() {
        let fit = match pattern.get(of) {
            Some('*') => {
                back = Some((at, of + 1));
                of += 1;
                continue;
            }
            Some('?') => 1,
            Some('[') => in_class(name.get(at), pattern.get(of + 1..).unwrap_or_default()),
            Some(c) => usize::from(name.get(at) == Some(c)),
            None => 0,
        };
        match (fit, back) {
            (0, None) => return false,
            (0, Some((start, after))) => {
                back = Some((start + 1, after));
                (at, of) = (start + 1, after);
            }
            (length, _) => {
                at += 1;
                of += length;
            }
        }
    }
    pattern.get(of..).unwrap_or_default().iter().all(|c| *c == '*')
}

/// Returns the length of a class (`abc]`) with its brackets if it has the character, else 0.
fn in_class(c: Option<&char>, class: &[char]) -> usize {
    let (Some(c), Some(end)) = (c, class.iter().skip(1).position(|c| *c == ']')) else { return 0 };
    let all = class.get(..=end).unwrap_or_default();
    let (negated, members) = match all.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, all),
    };
    let has = members.contains(c)
        || members.windows(3).any(|part| matches!(part, [low, '-', high] if low <= c && c <= high));
    if has == negated { 0 } else { end + 3 }
}
