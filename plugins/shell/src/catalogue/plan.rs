//! An entry of the catalogue, applied to the words of one call.

use super::flags::{self, Value};
use super::spec::{Token, is_run, tokens, valued};
use super::{Found, reach, requests, verbs};
use crate::types::EffectKind;

/// The effects of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub items: Vec<Item>,
    /// The word at which another command begins.
    pub run: Option<usize>,
    pub recursive: bool,
    /// It prints names, sizes and dates of what it reads, never contents.
    pub metadata: bool,
    /// The command that it runs has more power than the caller.
    pub elevates: bool,
    /// The service that it talks to is on this machine: an emulator, a cluster in a container.
    pub local: bool,
    /// It only looks, despite any other words (a dry run, a help text).
    pub nothing: bool,
    /// It prints nothing of its input.
    pub silent: bool,
    /// The words that are neither flags, nor their values, nor subcommands.
    pub operands: Vec<usize>,
    /// The words that are flags.
    pub flags: Vec<usize>,
    /// The words that name the subcommand.
    pub subcommand: Vec<usize>,
    /// The folders that it changes into first, one after the other.
    pub folders: Vec<String>,
    /// The number of operands before `--`, if that is present.
    pub before_dashes: Option<usize>,
}

/// One effect of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// An effect on the word with this number.
    Word(EffectKind, usize),
    /// An effect on the value that follows `=` or the letter in a flag.
    Value(EffectKind, String),
    /// An effect on a target that the entry names; empty for nothing in particular.
    Constant(EffectKind, &'static str),
    Form(&'static str),
    /// Words that are a shell's text, joined.
    Shell(Vec<usize>),
    /// The value of a flag that is run in some way: the role, its word, and the value where it is a
    /// part of that word.
    Held(&'static str, usize, Option<String>),
    /// A word that is a program's text in a language.
    Code(&'static str, usize),
    /// A word that may name a file of code in a language.
    Run(&'static str, usize),
    /// A word that names where a package comes from: the kind of source.
    Source(&'static str, usize),
    /// The same, and the package is run.
    RunSource(&'static str, usize),
    /// Its output comes from there.
    Gives(&'static str),
}

impl Plan {
    /// Notes that an address outside the words leads to this machine.
    pub(crate) fn stay_here(&mut self) {
        self.local = true;
        reach::stay_here(self);
    }

    /// Returns true if the command runs with elevated privileges.
    pub(crate) fn raises(&self) -> bool {
        self.elevates
            || self
                .items
                .iter()
                .any(|item| matches!(item, Item::Constant(EffectKind::Privilege, _)))
    }
}

/// Returns the kind that a name in the tables means.
fn kind(name: &str) -> Option<EffectKind> {
    Some(match name {
        "read" => EffectKind::FileRead,
        "create" => EffectKind::FileCreate,
        "modify" => EffectKind::FileModify,
        "delete" => EffectKind::FileDelete,
        "start" => EffectKind::ProcessStart,
        "stop" => EffectKind::ProcessStop,
        "network" => EffectKind::Network,
        "send" => EffectKind::Send,
        "publish" => EffectKind::Publish,
        "remote" => EffectKind::RemoteChange,
        "remote-delete" => EffectKind::RemoteDelete,
        "discard" => EffectKind::Discard,
        "system" => EffectKind::SystemChange,
        "persist" => EffectKind::Persistence,
        "privilege" => EffectKind::Privilege,
        "evade" => EffectKind::Evade,
        "secret" => EffectKind::SecretRead,
        "unseen" => EffectKind::UnseenCode,
        "resource" => EffectKind::ResourceUse,
        _ => return None,
    })
}

/// Applies an entry to the words after the program. Subcommands are the first `found.depth` words
/// that are not flags.
pub(crate) fn plan(found: &Found, words: &[&str]) -> Plan {
    let mut plan = Plan::default();
    // Words after `--` are found behind any flags.
    let stops = tokens(found.spec).any(|token| {
        matches!(token, Token::Item(item) if item != "run:--"
            && (item.starts_with("run:") || item.starts_with("shell:")))
    });
    let flags = flags::sort(found, words, stops, &mut plan);
    let mut inserted = 0;
    for value in &flags.values {
        let role = valued(found.spec, &value.flag)
            .or_else(|| valued(found.program, &value.flag))
            .unwrap_or("_");
        inserted += usize::from(role == "1");
        apply_value(&mut plan, role, value);
    }
    let inherited =
        tokens(found.program).filter(|token| found.depth > 0 && matches!(token, Token::When(..)));
    for token in tokens(found.spec).chain(inherited) {
        match token {
            Token::Item(item) if item.starts_with("verbs") => verbs::apply(&mut plan, item, words),
            Token::Item(item) if item.starts_with("request-") => {
                requests::apply(&mut plan, item, words)
            }
            Token::Item(item) => apply(&mut plan, item, inserted),
            Token::When(condition, item) if flags.hold(condition, item == "harmless") => {
                apply(&mut plan, item, inserted)
            }
            _ => {}
        }
    }
    doubt_run(found, words, &mut plan);
    reach::settle(&mut plan, words);
    plan
}

/// Moves the word at which another command begins past the value of a flag that the entry does not
/// know: `stdbuf --output L rm a`.
fn doubt_run(found: &Found, words: &[&str], plan: &mut Plan) {
    let Some(run) = plan.run else { return };
    let is_program = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| super::find(word.rsplit('/').next().unwrap_or(word), &[]).is_some())
    };
    let is_doubtful = |at: &usize| {
        let flag = at.checked_sub(1).filter(|before| plan.flags.contains(before));
        flag.and_then(|flag| words.get(flag))
            .is_some_and(|flag| !flag.contains('=') && !super::abbreviations::is_known(found, flag))
    };
    let doubtful = plan.operands.iter().filter(|at| **at <= run && is_doubtful(at)).count();
    let next = (run + 1..=run + doubtful).find(|at| is_program(*at));
    if let Some(next) = next.filter(|_| !is_program(run)) {
        plan.items.push(Item::Word(EffectKind::ProcessStart, run));
        plan.run = Some(next);
    }
}

fn apply_value(plan: &mut Plan, role: &'static str, value: &Value<'_>) {
    match (role, value.at) {
        ("_" | "1", _) => {}
        (role, at) if is_run(role) => {
            let attached = at.is_none().then(|| value.text.to_owned());
            plan.items.push(Item::Held(role, at.unwrap_or(value.word), attached));
        }
        ("folder", _) => plan.folders.push(value.text.to_owned()),
        (role, at) => {
            if let Some(kind) = kind(role) {
                plan.items.push(match at {
                    Some(at) => Item::Word(kind, at),
                    None => Item::Value(kind, value.text.to_owned()),
                });
            }
        }
    }
}

/// Applies one item; `inserted` values of flags come before the operands.
fn apply(plan: &mut Plan, item: &'static str, inserted: usize) {
    match item {
        "recursive" => plan.recursive = true,
        "metadata" => plan.metadata = true,
        "elevates" => plan.elevates = true,
        "harmless" => plan.nothing = true,
        "local" => plan.local = true,
        _ => {}
    }
    if let Some(form) = item.strip_prefix('!') {
        plan.items.push(Item::Form(form));
        return;
    }
    if let Some((name, constant)) = item.split_once('@') {
        plan.items.extend(match name {
            "gives" => Some(Item::Gives(constant)),
            name => kind(name).map(|kind| Item::Constant(kind, constant)),
        });
        return;
    }
    let (name, selector) = item.split_once(':').unwrap_or((item, ""));
    let selected = select(plan, selector, inserted);
    match name {
        "run" => plan.run = selected.first().copied(),
        "shell" if !selected.is_empty() => plan.items.push(Item::Shell(selected)),
        _ => {
            if let Some(language) = name.strip_prefix("code-") {
                plan.items.extend(selected.into_iter().map(|at| Item::Code(language, at)));
            } else if let Some(language) = name.strip_prefix("script-") {
                plan.items.extend(selected.into_iter().map(|at| Item::Run(language, at)));
            } else if let Some(family) = name.strip_prefix("source-") {
                plan.items.extend(selected.into_iter().map(|at| Item::Source(family, at)));
            } else if let Some(family) = name.strip_prefix("runs-source-") {
                plan.items.extend(selected.into_iter().map(|at| Item::RunSource(family, at)));
            } else if let Some(kind) = kind(name) {
                if selector.is_empty() {
                    plan.items.push(Item::Constant(kind, ""));
                } else {
                    plan.items.extend(selected.into_iter().map(|at| Item::Word(kind.clone(), at)));
                }
            }
        }
    }
}

/// Returns the operands that a selector names.
fn select(plan: &Plan, selector: &str, inserted: usize) -> Vec<usize> {
    let operands = plan.operands.as_slice();
    let from = |number: &str| {
        number.parse::<usize>().map_or(0, |number| number.saturating_sub(1 + inserted))
    };
    match selector {
        "" => Vec::new(),
        "*" => operands.to_vec(),
        "--" => {
            operands.iter().skip(plan.before_dashes.unwrap_or(operands.len())).copied().collect()
        }
        "-1" => operands.last().copied().into_iter().collect(),
        "..-1" => operands.split_last().map(|(_, all)| all.to_vec()).unwrap_or_default(),
        _ => match selector.strip_suffix("..") {
            Some(number) => operands.iter().skip(from(number)).copied().collect(),
            None if inserted > 0 && selector == "1" => Vec::new(),
            None => operands.get(from(selector)).copied().into_iter().collect(),
        },
    }
}
