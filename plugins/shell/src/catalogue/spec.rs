//! The format of an entry, as the build wrote it: a token a line.
//!
//! ```text
//! ITEM                what the program does, `plugins/programs/src/items.rs` tells how each is written
//! ?CONDITION \t ITEM   the item holds only where the condition does
//! ~FLAGS              flags without a value that change nothing here
//! =FLAGS \t ROLE       the flags take a value: a kind, `shell`, `code-LANG`, `1` (it stands for the first
//!                     word) or `_` (it does not matter)
//! ```

/// A token of an entry.
pub(super) enum Token {
    Item(&'static str),
    When(&'static str, &'static str),
    Value(&'static str, &'static str),
    Switches(&'static str),
}

pub(super) fn tokens(spec: &'static str) -> impl Iterator<Item = Token> {
    spec.split('\n').filter(|line| !line.is_empty()).map(|line| {
        match (line.split_once('\t'), line.strip_prefix('?')) {
            (Some((condition, item)), Some(_)) => {
                Token::When(condition.trim_start_matches('?'), item)
            }
            (Some((flags, role)), None) => Token::Value(flags.trim_start_matches('='), role),
            (None, _) => match line.strip_prefix('~') {
                Some(flags) => Token::Switches(flags),
                None => Token::Item(line),
            },
        }
    })
}

/// Returns true if its words are written as on Windows: flags with a slash too, and in any case.
pub(super) fn is_windows(spec: &str) -> bool {
    spec.starts_with("windows")
}

/// Returns true if it takes abbreviated flags, with values in words of their own.
pub(super) fn is_gnu(spec: &str) -> bool {
    spec.starts_with("gnu")
}

/// Returns true if it takes no abbreviated flags, so that what only looks like one is another flag.
pub(super) fn is_exact(spec: &str) -> bool {
    spec.starts_with("exact")
}

/// Returns the role of a flag's value, if the flag takes one. A long flag whose value is run may be
/// abbreviated.
pub(super) fn valued(spec: &'static str, flag: &str) -> Option<&'static str> {
    let windows = is_windows(spec);
    let of = |fits: &dyn Fn(&str, &str) -> bool| {
        tokens(spec).find_map(|token| match token {
            Token::Value(names, role) if names.split(' ').any(|name| fits(name, role)) => {
                Some(role)
            }
            _ => None,
        })
    };
    of(&|name, _| name == flag || (windows && name.eq_ignore_ascii_case(flag))).or_else(|| {
        let short = flag.len() > 4 && flag.starts_with("--");
        if short { of(&|name, role| name.starts_with(flag) && is_run(role)) } else { None }
    })
}

/// Returns true if the value is run in some way.
pub(super) fn is_run(role: &str) -> bool {
    matches!(
        role,
        "shell"
            | "program"
            | "filter"
            | "expansion"
            | "library"
            | "git-alias"
            | "helper"
            | "tool"
            | "jvm"
            | "folders"
    ) || [
        "code-",
        "script-",
        "module-",
        "options-",
        "setting-",
        "settings-",
        "source-",
        "off-",
        "on-",
    ]
    .iter()
    .any(|start| role.starts_with(start))
}
