//! The words of a call: flags, their values, subcommands and operands.

use super::spec::{is_windows, valued};
use super::{Found, Plan};
use crate::places;
use std::borrow::Cow;

/// The flags of a call, as they were written, and its other words.
pub(super) struct Flags<'w> {
    words: &'w [&'w str],
    operands: Vec<usize>,
    set: Vec<&'w str>,
    pub values: Vec<Value<'w>>,
    windows: bool,
    found: Found,
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
    let mut flags = Flags {
        words,
        operands: Vec::new(),
        set: Vec::new(),
        values: Vec::new(),
        windows,
        found: *found,
    };
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
                let (end, taken) = flags.cluster(word, next, &takes, at);
                at += taken;
                flags.set.push(word.get(..end).unwrap_or(word));
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
    /// Returns true if a condition of an entry holds (`plugins/programs/src/items.rs` documents
    /// the syntax). A flag that was switched off again does not make a call harmless, in a
    /// condition for that or in the negated part of another.
    pub(super) fn hold(&self, condition: &str, harmless: bool) -> bool {
        condition.split(" & ").all(|group| match group.strip_prefix("! ") {
            Some(group) => !self.any(group, !harmless),
            None => self.any(group, harmless),
        })
    }

    fn any(&self, group: &str, surely: bool) -> bool {
        group.split(' ').any(|atom| match atom.split_once('=') {
            _ if !is_flag(atom, self.windows) && !atom.starts_with('+') => self.has_word(atom),
            Some((flag, value)) => self.has_value(flag, value) || self.set.contains(&atom),
            None => self.has(atom) && !(surely && self.is_taken_back(atom)),
        })
    }

    /// Returns true if a flag is switched off: `--dry-run=false`, `--no-dry-run`.
    fn is_taken_back(&self, name: &str) -> bool {
        let Some(long) = name.strip_prefix("--") else { return false };
        self.words.iter().enumerate().any(|(at, word)| {
            let next = self.words.get(at + 1).copied().unwrap_or("");
            word.strip_prefix("--no-") == Some(long)
                || (*word == name && is_no(next))
                || word
                    .strip_prefix(name)
                    .and_then(|rest| rest.strip_prefix('='))
                    .is_some_and(is_no)
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
            self.is_name(plain, name)
                || (is_short && !self.windows && self.is_in_cluster(flag, name))
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

    /// Returns true if a text matches the wanted one, in which `*` at either end matches anything,
    /// and `@here` any address of this machine.
    fn fits(&self, text: &str, wanted: &str) -> bool {
        if wanted == "@here" {
            return places::host(text).is_some_and(|host| places::is_loopback(&host));
        }
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

    /// Returns true if a letter is one of several: `-r` in `-fr`. A suffix may follow, as in
    /// `-i.bak`. Longer words are names of flags with one dash (`-noverify`), unless the entry
    /// knows each letter, or they are repeated.
    fn is_in_cluster(&self, flag: &str, name: &str) -> bool {
        let (Some(letters), Some(name)) = (flag.strip_prefix('-'), name.strip_prefix('-')) else {
            return false;
        };
        let end = letters.find(|c: char| !c.is_ascii_alphanumeric());
        let suffix = end.filter(|end| *end <= 2 && !letters.contains('='));
        let letters = letters.get(..suffix.unwrap_or(letters.len())).unwrap_or(letters);
        let is_listed = |letter: char| {
            super::abbreviations::is_known(&self.found, &String::from_iter(['-', letter]))
        };
        letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && letters.len() <= LETTERS
            && name.chars().next().is_some_and(|letter| letters.contains(letter))
            && (letters.len() <= FEW || is_repetition(letters) || letters.chars().all(is_listed))
    }

    /// Looks for a letter with a value in `-abc`; returns the end of the letters without one, and
    /// how many further words it takes.
    fn cluster(
        &mut self,
        word: &'w str,
        next: Option<&'w str>,
        takes: &dyn Fn(&str) -> bool,
        at: usize,
    ) -> (usize, usize) {
        if word.starts_with("--") || self.windows {
            return (word.len(), 0);
        }
        for (offset, letter) in word.char_indices().skip(1).take(LETTERS) {
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
                return (offset, usize::from(next.is_some()));
            }
            self.values.push(Value {
                flag: flag.into(),
                word: at,
                at: None,
                text: rest.trim_start_matches('='),
            });
            return (offset, 0);
        }
        (word.len(), 0)
    }
}

/// Returns true for a value that switches a flag off.
fn is_no(value: &str) -> bool {
    matches!(value, "false" | "none" | "no" | "off" | "0")
}

/// The most letters of a cluster that are read.
const LETTERS: usize = 64;

/// The most letters of a cluster that the entry does not know one by one, except in repetitions.
const FEW: usize = 6;

/// Returns true for letters that stand twice on average, as no flag's name with one dash does.
fn is_repetition(letters: &str) -> bool {
    let distinct = letters.char_indices().filter(|(at, c)| letters.find(*c) == Some(*at)).count();
    distinct * 2 <= letters.len()
}
