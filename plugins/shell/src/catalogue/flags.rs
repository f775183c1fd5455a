//! The words of a call: flags, their values, subcommands and operands.

use super::spec::{is_windows, valued};
use super::{Found, Plan};
use std::borrow::Cow;

/// The flags of a call, as they were written, and its other words.
pub(super) struct Flags<'w> {
    words: &'w [&'w str],
    operands: Vec<usize>,
    set: Vec<&'w str>,
    pub values: Vec<Value<'w>>,
    windows: bool,
}

/// A flag with its value: the word with that number, or a part of the flag's own word.
pub(super) struct Value<'w> {
    pub flag: Cow<'w, str>,
    /// The flag's own word.
    pub word: usize,
    pub at: Option<usize>,
    pub text: &'w str,
}

/// Returns the words that can name a subcommand: the first that are neither flags nor values of the
/// flags that `spec` knows.
pub(super) fn candidates<'w>(
    specs: &[&'static str],
    words: &[&'w str],
    most: usize,
) -> Vec<&'w str> {
    let windows = specs.iter().any(|spec| is_windows(spec));
    let mut found = Vec::new();
    let mut skip = false;
    for word in words {
        if std::mem::take(&mut skip) {
            continue;
        }
        if !is_flag(word, windows) {
            found.push(*word);
            if found.len() == most {
                break;
            }
        } else if !word.contains('=') {
            skip = specs.iter().any(|spec| valued(spec, word).is_some());
        }
    }
    found
}

/// Sorts words into flags, values, subcommands and operands; `stops` is set if the words after the
/// first operand belong to another command.
pub(super) fn sort<'w>(
    found: &Found,
    words: &'w [&'w str],
    stops: bool,
    plan: &mut Plan,
) -> Flags<'w> {
    let takes =
        |flag: &str| valued(found.spec, flag).is_some() || valued(found.program, flag).is_some();
    let windows = is_windows(found.program);
    let mut flags =
        Flags { words, operands: Vec::new(), set: Vec::new(), values: Vec::new(), windows };
    let mut at = 0;
    let mut only_operands = false;
    while let Some(word) = words.get(at) {
        if only_operands || !is_flag(word, windows) {
            if plan.subcommand.len() < found.depth {
                plan.subcommand.push(at);
            } else {
                plan.operands.push(at);
                only_operands |= stops;
            }
        } else if *word == "--" {
            only_operands = true;
            plan.before_dashes = Some(plan.operands.len());
            flags.set.push(word);
        } else {
            plan.flags.push(at);
            let next = words.get(at + 1).copied();
            if let Some((flag, text)) = word.split_once('=').filter(|(flag, _)| takes(flag)) {
                flags.values.push(Value { flag: flag.into(), word: at, at: None, text });
            } else if takes(word) {
                flags.values.push(Value {
                    flag: (*word).into(),
                    word: at,
                    at: next.map(|_| at + 1),
                    text: next.unwrap_or(""),
                });
                at += 1;
            } else {
                at += flags.cluster(word, next, &takes, at);
                flags.set.push(word);
            }
        }
        at += 1;
    }
    flags.operands.clone_from(&plan.operands);
    flags
}

fn is_flag(word: &str, windows: bool) -> bool {
    let is_switch =
        |word: &str| word.strip_prefix('/').is_some_and(|name| !name.contains(['/', '\\']));
    word.len() > 1 && (word.starts_with('-') || (windows && is_switch(word)))
}

impl<'w> Flags<'w> {
    /// Returns true if a condition of an entry holds (`build/items.rs` documents the syntax).
    pub(super) fn hold(&self, condition: &str) -> bool {
        condition.split(" & ").all(|group| match group.strip_prefix("! ") {
            Some(group) => !self.any(group),
            None => self.any(group),
        })
    }

    fn any(&self, group: &str) -> bool {
        group.split(' ').any(|atom| match atom.split_once('=') {
            _ if !is_flag(atom, self.windows) && !atom.starts_with('+') => self.has_word(atom),
            Some((flag, value)) => self.has_value(flag, value) || self.set.contains(&atom),
            None => self.has(atom),
        })
    }

    fn has(&self, name: &str) -> bool {
        let is_short = name.len() == 2;
        let stands = |flag: &&str| {
            let plain = if is_short {
                flag
            } else {
                flag.split(['=', if self.windows { ':' } else { '=' }]).next().unwrap_or(flag)
            };
            self.is_name(plain, name) || (is_short && !self.windows && is_in_cluster(flag, name))
        };
        self.set.iter().any(stands)
            || self.values.iter().any(|value| self.is_name(&value.flag, name))
            || (name.starts_with('+') && self.has_word(name))
    }

    /// Compares a flag with a name. PowerShell accepts any prefix of a flag's name.
    fn is_name(&self, flag: &str, name: &str) -> bool {
        if !self.windows {
            return flag == name;
        }
        let begins = || {
            flag.starts_with('-')
                && flag.len() > 1
                && name.get(..flag.len()).is_some_and(|start| start.eq_ignore_ascii_case(flag))
        };
        flag.eq_ignore_ascii_case(name) || begins()
    }

    fn has_value(&self, name: &str, wanted: &str) -> bool {
        self.values
            .iter()
            .any(|value| self.is_name(&value.flag, name) && self.fits(value.text, wanted))
    }

    /// Returns true if an operand matches.
    fn has_word(&self, wanted: &str) -> bool {
        self.operands
            .iter()
            .filter_map(|at| self.words.get(*at))
            .any(|word| self.fits(word, wanted))
    }

    /// Returns true if a text matches the wanted one, in which `*` at either end matches anything.
    fn fits(&self, text: &str, wanted: &str) -> bool {
        let lower = self.windows.then(|| text.to_ascii_lowercase());
        let text = lower.as_deref().unwrap_or(text);
        match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
            (Some(""), _) => true,
            (Some(end), None) => text.ends_with(end),
            (None, Some(start)) => text.starts_with(start),
            (Some(_), Some(start)) => text.contains(start.trim_start_matches('*')),
            (None, None) => text == wanted,
        }
    }

    /// Looks for a letter with a value in `-abc`; returns how many further words it takes.
    fn cluster(
        &mut self,
        word: &'w str,
        next: Option<&'w str>,
        takes: &dyn Fn(&str) -> bool,
        at: usize,
    ) -> usize {
        if word.starts_with("--") || self.windows {
            return 0;
        }
        for (offset, letter) in word.char_indices().skip(1).take(16) {
            let flag = String::from_iter(['-', letter]);
            if !takes(&flag) {
                continue;
            }
            let rest = word.get(offset + letter.len_utf8()..).unwrap_or("");
            if rest.is_empty() {
                self.values.push(Value {
                    flag: flag.into(),
                    word: at,
                    at: next.map(|_| at + 1),
                    text: next.unwrap_or(""),
                });
                return usize::from(next.is_some());
            }
            self.values.push(Value {
                flag: flag.into(),
                word: at,
                at: None,
                text: rest.trim_start_matches('='),
            });
            return 0;
        }
        0
    }
}

/// Returns true if a letter is one of several: `-r` in `-fr`.
fn is_in_cluster(flag: &str, name: &str) -> bool {
    (3..=7).contains(&flag.len())
        && flag.bytes().skip(1).all(|byte| byte.is_ascii_alphanumeric())
        && !flag.starts_with("--")
        && flag.starts_with('-')
        && name.starts_with('-')
        && name
            .chars()
            .nth(1)
            .is_some_and(|letter| flag.get(1..).is_some_and(|letters| letters.contains(letter)))
}
