//! Abbreviated long flags, written out: `--recurs` is `--recursive` to most programs, and an error
//! to all others, so that it may count as the flag for both.
//!
//! A value in a word of its own is only looked for where the entry's style is `gnu`: elsewhere the
//! word behind an unknown flag stays an operand, since a flag of that very name may exist. Where the
//! style is `exact` nothing is written out: `eksctl --name=a` names no namespace.

use super::spec::{Token, is_exact, is_gnu, is_run, is_windows, tokens, valued};
use super::{Found, Plan};

/// The shortest abbreviation of a flag that makes a call harmless: dashes and three letters.
const SURE: usize = 5;

/// Returns the flags that are abbreviated: the number of the word, and the word with the flag
/// written out.
pub(crate) fn spell_out(found: &Found, words: &[&str], plan: &Plan) -> Vec<(usize, String)> {
    if is_windows(found.program) || is_exact(found.program) {
        return Vec::new();
    }
    let written = plan.flags.iter().filter_map(|at| Some((*at, *words.get(*at)?)));
    written
        .filter(|(_, word)| word.starts_with("--") && word.len() > 2)
        .filter_map(|(at, word)| {
            let (flag, value) =
                word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
            let meant = meant_by(found, flag, value.is_some())?;
            Some((at, value.map_or_else(|| meant.to_owned(), |value| format!("{meant}={value}"))))
        })
        .collect()
}

/// Returns the flag that an abbreviation stands for.
fn meant_by(found: &Found, flag: &str, attached: bool) -> Option<&'static str> {
    let specs = [found.spec, found.program];
    let known = || specs.into_iter().flat_map(long_flags).map(|(name, harmless)| (harmless, name));
    if known().any(|(_, name)| name == flag) {
        return None;
    }
    let may_take = attached || specs.into_iter().any(is_gnu);
    let fits = |(harmless, name): &(bool, &'static str)| {
        let role = specs.into_iter().find_map(|spec| valued(spec, name));
        name.starts_with(flag)
            && (role.is_none_or(|role| may_take || is_run(role)))
            && (!harmless || flag.len() >= SURE)
    };
    // If several begin with it, the call is an error: the one that is not harmless counts.
    known()
        .filter(fits)
        .min_by_key(|(harmless, name)| (*harmless, name.len()))
        .map(|(_, name)| name)
}

/// Returns the long flags that an entry knows, with a flag for those that make a call harmless.
fn long_flags(spec: &'static str) -> impl Iterator<Item = (&'static str, bool)> {
    let found = tokens(spec).flat_map(|token| {
        let (names, harmless) = match token {
            Token::Value(names, _) | Token::Switches(names) => (names, false),
            Token::When(condition, item) => (condition, item == "harmless"),
            Token::Item(_) => ("", false),
        };
        names.split(' ').map(move |name| (name, harmless))
    });
    found
        .map(|(name, harmless)| (name.split('=').next().unwrap_or(name), harmless))
        .filter(|(name, _)| name.starts_with("--") && name.len() > 2)
}

/// Returns true if an entry knows the flag, written out.
pub(super) fn is_known(found: &Found, flag: &str) -> bool {
    let names = |token| match token {
        Token::Value(names, _) | Token::Switches(names) | Token::When(names, _) => names,
        Token::Item(_) => "",
    };
    let flag = flag.split('=').next().unwrap_or(flag);
    [found.spec, found.program].into_iter().any(|spec| {
        tokens(spec).map(names).any(|names| {
            names.split(' ').any(|name| name.split('=').next().unwrap_or(name) == flag)
        })
    })
}
