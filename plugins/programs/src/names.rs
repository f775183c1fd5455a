//! Names of entries: `git {log,show}` expands to `git log` and `git show`.

use crate::problem::Mistake;

/// Returns every name that a pattern expands to.
///
/// # Errors
///
/// A name that no call could have.
pub fn expand(pattern: &str) -> Result<Vec<String>, Mistake> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return check(pattern).map(|()| vec![pattern.to_owned()]);
    };
    let Some((inside, after)) = rest.split_once('}') else {
        return Err(Mistake::new(
            format!("`{pattern}` has a `{{` without its `}}`"),
            "write `{one,other}`",
        ));
    };
    let mut all = Vec::new();
    for choice in inside.split(',') {
        all.extend(expand(format!("{before}{choice}{after}").trim_end())?);
    }
    Ok(all)
}

/// Checks that a name is a program and at most three words after it, separated by single blanks.
fn check(name: &str) -> Result<(), Mistake> {
    let words: Vec<&str> = name.split(' ').collect();
    if words.iter().any(|word| word.is_empty()) || name.contains(['\t', '\n', '}']) {
        return Err(Mistake::new(
            format!("`{name}` is not a name"),
            "write a program and its subcommands with single blanks between",
        ));
    }
    if words.len() > 4 || name.len() > 64 {
        return Err(Mistake::new(
            format!("`{name}` is too long"),
            "write at most a program and three subcommands, in 64 characters",
        ));
    }
    match words.iter().skip(1).find(|word| word.starts_with('-')) {
        Some(flag) => Err(Mistake::new(
            format!("`{name}` names the flag `{flag}`"),
            "say what it changes under `when`",
        )),
        None => Ok(()),
    }
}

/// Returns the known name that is nearest to a mistyped one as a fix, or the other one.
pub(crate) fn nearest<'n>(
    name: &str,
    known: impl Iterator<Item = &'n str>,
    otherwise: &str,
) -> String {
    let best = known.map(|other| (distance(name, other), other)).min();
    match best.filter(|(distance, _)| *distance <= 1 + name.len() / 4) {
        Some((_, other)) => format!("did you mean `{other}`?"),
        None => otherwise.to_owned(),
    }
}

/// Returns the number of letters to change, add or leave out.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (cell, target) in row.iter_mut().skip(1).zip(other.chars()) {
            let here = (diagonal + usize::from(letter != target)).min(left + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
