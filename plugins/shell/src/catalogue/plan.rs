//! An entry of the catalogue, applied to the words of one call.

use super::{Found, verbs};
use crate::types::EffectKind;

/// What a call does.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub items: Vec<Item>,
    /// The word at which another command begins.
    pub run: Option<usize>,
    pub recursive: bool,
    /// It only looks, whatever else stands there (a dry run, a help text).
    pub nothing: bool,
    /// The words that are neither flags, nor their values, nor subcommands.
    pub operands: Vec<usize>,
    /// The words that are flags.
    pub flags: Vec<usize>,
    /// The words that name the subcommand.
    pub subcommand: Vec<usize>,
}

/// One thing that a call does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// To the word with this number.
    Word(EffectKind, usize),
    /// To the value that follows `=` or the letter in a flag.
    Value(EffectKind, String),
    /// To something that the entry names; empty for nothing in particular.
    Constant(EffectKind, &'static str),
    Form(&'static str),
    /// Words that are a shell's text, joined.
    Shell(Vec<usize>),
    /// A word that is a program's text in a language.
    Code(&'static str, usize),
    /// Its output comes from there.
    Gives(&'static str),
}

/// The kind that a name in the tables stands for.
fn kind(name: &str) -> Option<EffectKind> {
    Some(match name {
        "read" => EffectKind::FileRead,
        "create" => EffectKind::FileCreate,
        "modify" => EffectKind::FileModify,
        "delete" => EffectKind::FileDelete,
        "start" => EffectKind::ProcessStart,
        "stop" => EffectKind::ProcessStop,
        "network" => EffectKind::Network,
        "publish" => EffectKind::Publish,
        "remote" => EffectKind::RemoteChange,
        "system" => EffectKind::SystemChange,
        "persist" => EffectKind::Persistence,
        "privilege" => EffectKind::Privilege,
        "secret" => EffectKind::SecretRead,
        "unseen" => EffectKind::UnseenCode,
        "resource" => EffectKind::ResourceUse,
        _ => return None,
    })
}

/// A token of an entry.
enum Token {
    Item(&'static str),
    Flagged(&'static str, &'static str),
    Valued(&'static str, &'static str),
}

fn tokens(spec: &'static str) -> impl Iterator<Item = Token> {
    spec.split_ascii_whitespace().map(|token| {
        if !token.starts_with(['-', '+', '/']) {
            return Token::Item(token);
        }
        match token.find([':', '=']) {
            Some(at) if token.as_bytes().get(at) == Some(&b'=') => {
                Token::Flagged(token.get(..at).unwrap_or(""), token.get(at + 1..).unwrap_or(""))
            }
            Some(at) => Token::Valued(token.get(..at).unwrap_or(""), token.get(at + 1..).unwrap_or("")),
            None => Token::Item(token),
        }
    })
}

/// The flags of a call, as they were written.
struct Flags<'w> {
    set: Vec<&'w str>,
    values: Vec<(&'w str, Option<usize>, String)>,
}

/// Applies an entry to the words after the program. Subcommands are the first `found.depth` words
/// that are no flags.
pub(crate) fn plan(found: &Found, words: &[&str]) -> Plan {
    let mut plan = Plan::default();
    let stops =
        tokens(found.spec).any(|token| matches!(token, Token::Item(item) if item.starts_with("run:") || item.starts_with("shell:")));
    let flags = sort(found, words, stops, &mut plan);
    let mut inserted = 0;
    for (flag, at, value) in &flags.values {
        let role = valued(found.spec, flag).or_else(|| valued(found.program, flag)).unwrap_or("_");
        inserted += usize::from(role == "1");
        apply_value(&mut plan, role, *at, value);
    }
    let inherited = tokens(found.program).filter(|token| found.depth > 0 && matches!(token, Token::Flagged(..)));
    for token in tokens(found.spec).chain(inherited) {
        match token {
            Token::Item(item) if item.starts_with("verbs") => apply_verbs(&mut plan, item, words),
            Token::Item(item) => apply(&mut plan, item, inserted),
            Token::Flagged(names, item) if names.split(',').any(|name| flags.has(name)) => apply(&mut plan, item, inserted),
            _ => {}
        }
    }
    plan
}

/// The words that can name a subcommand: the first that are neither flags nor values of the flags
/// that `spec` knows.
pub(super) fn candidates<'w>(spec: &'static str, words: &[&'w str], most: usize) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut skip = false;
    for word in words {
        if std::mem::take(&mut skip) {
            continue;
        }
        if !is_flag(word) {
            found.push(*word);
            if found.len() == most {
                break;
            }
        } else if !word.contains('=') {
            skip = valued(spec, word).is_some();
        }
    }
    found
}

impl Flags<'_> {
    fn has(&self, name: &str) -> bool {
        let is_short = name.len() == 2;
        self.set
            .iter()
            .any(|flag| *flag == name || (!is_short && flag.split('=').next() == Some(name)) || (is_short && is_in_cluster(flag, name)))
            || self.values.iter().any(|(flag, ..)| *flag == name)
    }
}

fn is_in_cluster(flag: &str, name: &str) -> bool {
    (3..=7).contains(&flag.len())
        && flag.bytes().skip(1).all(|byte| byte.is_ascii_alphanumeric())
        && !flag.starts_with("--")
        && flag.starts_with('-')
        && name.starts_with('-')
        && name.chars().nth(1).is_some_and(|letter| flag.get(1..).is_some_and(|letters| letters.contains(letter)))
}

/// What a flag's value is to an entry, if the flag takes one.
fn valued(spec: &'static str, flag: &str) -> Option<&'static str> {
    tokens(spec).find_map(|token| match token {
        Token::Valued(names, role) if names.split(',').any(|name| name == flag) => Some(role),
        _ => None,
    })
}

/// Sorts words into flags, values, subcommands and operands.
fn sort<'w>(found: &Found, words: &[&'w str], stops: bool, plan: &mut Plan) -> Flags<'w> {
    let takes = |flag: &str| valued(found.spec, flag).is_some() || valued(found.program, flag).is_some();
    let mut flags = Flags { set: Vec::new(), values: Vec::new() };
    let mut at = 0;
    let mut only_operands = false;
    while let Some(word) = words.get(at) {
        if only_operands || !is_flag(word) {
            if plan.subcommand.len() < found.depth {
                plan.subcommand.push(at);
            } else {
                plan.operands.push(at);
                only_operands |= stops;
            }
        } else if *word == "--" {
            only_operands = true;
        } else {
            plan.flags.push(at);
            let next = words.get(at + 1);
            if let Some((flag, value)) = word.split_once('=').filter(|(flag, _)| takes(flag)) {
                flags.values.push((flag, None, value.to_owned()));
            } else if takes(word) {
                flags.values.push((word, next.map(|_| at + 1), String::new()));
                at += 1;
            } else {
                at += cluster(word, next.is_some(), &takes, at, &mut flags);
                flags.set.push(word);
            }
        }
        at += 1;
    }
    flags
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Looks for a letter with a value in `-abc`; whether it takes the next word.
fn cluster<'w>(word: &'w str, more: bool, takes: &dyn Fn(&str) -> bool, at: usize, flags: &mut Flags<'w>) -> usize {
    if word.starts_with("--") {
        return 0;
    }
    for (offset, letter) in word.char_indices().skip(1).take(16) {
        let mut flag = String::from("-");
        flag.push(letter);
        if !takes(&flag) {
            continue;
        }
        let name: &'static str = LETTERS.iter().find(|name| **name == flag).copied().unwrap_or("-");
        let rest = word.get(offset + letter.len_utf8()..).unwrap_or("");
        if rest.is_empty() {
            flags.values.push((name, more.then_some(at + 1), String::new()));
            return usize::from(more);
        }
        flags.values.push((name, None, rest.trim_start_matches('=').to_owned()));
        return 0;
    }
    0
}

const LETTERS: &[&str] = &[
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-i", "-j", "-k", "-l", "-m", "-n", "-o", "-p", "-q", "-r", "-s", "-t", "-u", "-v",
    "-w", "-x", "-y", "-z", "-A", "-B", "-C", "-D", "-E", "-F", "-G", "-H", "-I", "-J", "-K", "-L", "-M", "-N", "-O", "-P", "-Q", "-R",
    "-S", "-T", "-U", "-V", "-W", "-X", "-Y", "-Z", "-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9",
];

fn apply_value(plan: &mut Plan, role: &'static str, at: Option<usize>, value: &str) {
    match (role, at) {
        ("_" | "1", _) => {}
        ("shell", Some(at)) => plan.items.push(Item::Shell(vec![at])),
        (role, at) => {
            if let Some(language) = role.strip_prefix("code-") {
                plan.items.extend(at.map(|at| Item::Code(language, at)));
            } else if let Some(kind) = kind(role) {
                plan.items.push(match at {
                    Some(at) => Item::Word(kind, at),
                    None => Item::Value(kind, value.to_owned()),
                });
            }
        }
    }
}

/// Applies one item; `inserted` values of flags stand before the operands.
fn apply(plan: &mut Plan, item: &'static str, inserted: usize) {
    match item {
        "recursive" => plan.recursive = true,
        "none" => plan.nothing = true,
        _ => {}
    }
    if let Some(form) = item.strip_prefix('!') {
        plan.items.push(Item::Form(form));
        return;
    }
    let (head, selector) = item.split_once(':').unwrap_or((item, ""));
    let (name, constant) = head.split_once('@').unwrap_or((head, ""));
    let selected = select(&plan.operands, selector, inserted);
    match name {
        "run" => plan.run = selected.first().copied(),
        "shell" if !selected.is_empty() => plan.items.push(Item::Shell(selected)),
        "gives" => plan.items.push(Item::Gives(constant)),
        _ => {
            if let Some(language) = name.strip_prefix("code-") {
                plan.items.extend(selected.into_iter().map(|at| Item::Code(language, at)));
            } else if let Some(kind) = kind(name) {
                if selector.is_empty() {
                    plan.items.push(Item::Constant(kind, constant));
                } else {
                    plan.items.extend(selected.into_iter().map(|at| Item::Word(kind.clone(), at)));
                }
            }
        }
    }
}

/// Lets the words tell what is done, where a program has more subcommands than are worth listing.
fn apply_verbs(plan: &mut Plan, item: &'static str, words: &[&str]) {
    let at = plan.subcommand.iter().chain(&plan.operands).chain(&plan.flags);
    let does = verbs::does(at.filter_map(|at| words.get(*at).copied()));
    let local = item == "verbs-system";
    let host = item.split_once('@').map_or("", |(_, host)| host);
    if !local && !plan.operands.is_empty() {
        plan.items.push(Item::Constant(EffectKind::Network, host));
    }
    let change = if local { EffectKind::SystemChange } else { EffectKind::RemoteChange };
    match does {
        verbs::Does::Look => {}
        verbs::Does::Change => plan.items.push(Item::Constant(change, host)),
        verbs::Does::Destroy => {
            plan.items.push(Item::Constant(change, host));
            plan.items.push(Item::Form(if local { "remove-installed" } else { "delete-remote" }));
        }
    }
}

/// The operands that a selector names.
fn select(operands: &[usize], selector: &str, inserted: usize) -> Vec<usize> {
    let from = |number: &str| number.parse::<usize>().map_or(0, |number| number.saturating_sub(1 + inserted));
    match selector {
        "" => Vec::new(),
        "*" => operands.to_vec(),
        "-1" => operands.last().copied().into_iter().collect(),
        "..-1" => operands.split_last().map(|(_, all)| all.to_vec()).unwrap_or_default(),
        _ => match selector.strip_suffix("..") {
            Some(number) => operands.iter().skip(from(number)).copied().collect(),
            None if inserted > 0 && selector == "1" => Vec::new(),
            None => operands.get(from(selector)).copied().into_iter().collect(),
        },
    }
}

/// Checks that every item of an entry means something; names the first that does not.
#[cfg(test)]
pub(super) fn check(spec: &'static str) -> Result<(), &'static str> {
    let is_selector = |text: &str| matches!(text, "*" | "-1" | "..-1") || text.trim_end_matches("..").parse::<usize>().is_ok();
    let is_item = |item: &'static str| {
        if matches!(item, "recursive" | "none" | "verbs" | "verbs-system") || item.starts_with("verbs@") {
            return true;
        }
        if let Some(form) = item.strip_prefix('!') {
            return super::form(form).is_some();
        }
        let (head, selector) = item.split_once(':').unwrap_or((item, "*"));
        let (name, constant) = head.split_once('@').unwrap_or((head, ""));
        let fits = match name {
            "run" | "shell" => item.contains(':'),
            "gives" => matches!(constant, "downloaded" | "decoded" | "environment"),
            name => name.starts_with("code-") || kind(name).is_some(),
        };
        fits && is_selector(selector)
    };
    for (token, text) in tokens(spec).zip(spec.split_ascii_whitespace()) {
        let fits = match token {
            Token::Item(item) => is_item(item),
            Token::Flagged(names, item) => !names.is_empty() && is_item(item),
            Token::Valued(_, role) => matches!(role, "_" | "1" | "shell") || role.starts_with("code-") || kind(role).is_some(),
        };
        if !fits {
            return Err(text);
        }
    }
    Ok(())
}
