//! The effect of a call, derived from the words in its subcommands: `list`, `create-user`,
//! `apps:destroy`, `--delete`.
//!
//! This is for programs with hundreds of similarly named subcommands, and for programs that are not
//! in the catalogue. The path of subcommands is read from the left until a word is a verb; names of
//! things (`logs`, `run`) defer to the words after them, and the words after the verb name a
//! resource. An unknown word counts as a change.
//!
//! Only words are read. The tables list the program's flags with values and its exceptions.

mod flags;
mod words;

use super::plan::{Item, Plan};
use super::reach;
use crate::types::EffectKind;
use flags::{is_off, may_be_value};
use words::{ADVERBS, METADATA, Meaning, NAMED, REVEAL, SECRET, WHOLE, has, meaning};

/// The effect of a call, from the least to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Does {
    /// It prints its usage.
    Nothing,
    Look,
    Change,
    /// It shows the contents of a secret.
    Reveal,
    /// It destroys one thing.
    Destroy,
    /// It destroys something that holds many others, or many things at once.
    DestroyAll,
}

/// The structure of a program's subcommands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grammar {
    /// Nouns and verbs in any order; resources may be named after a noun that is a verb too
    /// (`logs`).
    Free,
    /// Groups, then a verb; resources are named behind it: `logs delete-log-group`.
    Groups,
}

/// Adds the effects that the words imply: on a service at `HOST` (`verbs@HOST`,
/// `verbs-groups@HOST`), or on this machine (`verbs-system`). A secret that its own store shows has
/// not reached another machine.
pub(super) fn apply(plan: &mut Plan, item: &'static str, words: &[&str]) {
    let (name, host) = item.split_once('@').unwrap_or((item, ""));
    let (local, grammar) = match name {
        "verbs-system" => (true, Grammar::Free),
        "verbs-groups" => (false, Grammar::Groups),
        _ => (false, Grammar::Free),
    };
    let does = does(words, plan, grammar);
    if does == Does::Nothing {
        plan.nothing = true;
        return;
    }
    let bare = plan.operands.is_empty() && plan.flags.is_empty() && plan.subcommand.is_empty();
    if !local && !bare && does != Does::Reveal {
        plan.items.push(Item::Constant(EffectKind::Network, host));
    }
    let (kind, form) = match does {
        Does::Nothing | Does::Look => return,
        Does::Reveal => (EffectKind::SecretRead, None),
        Does::Change if local => (EffectKind::SystemChange, None),
        Does::Change => (EffectKind::RemoteChange, None),
        Does::Destroy | Does::DestroyAll if local => {
            (EffectKind::SystemChange, Some("remove-installed"))
        }
        Does::Destroy => (EffectKind::RemoteDelete, Some("delete-remote")),
        Does::DestroyAll => (EffectKind::RemoteDelete, Some("destroy-remote")),
    };
    plan.items.push(Item::Constant(kind, host));
    plan.items.extend(form.map(Item::Form));
    if does == Does::Change && !local && gives_rights(words, plan) {
        plan.items.push(Item::Form("grant-rights"));
    }
}

/// The number of words of the path that tell who gets rights: names of things follow.
const RIGHTS: usize = 4;

/// Returns true if the first words of the path change who may do what.
fn gives_rights(words: &[&str], plan: &Plan) -> bool {
    let path: Vec<&str> = plan
        .subcommand
        .iter()
        .chain(&plan.operands)
        .filter_map(|at| words.get(*at).copied())
        .take_while(|word| is_name(word))
        .take(RIGHTS)
        .flat_map(|word| word.split(':'))
        .collect();
    reach::gives_rights(&path)
}

/// The number of words of the path that are read.
const PATH: usize = 12;

/// Returns the effect of a call with these words; the plan classifies them as flags, values and
/// operands.
fn does(words: &[&str], plan: &Plan, grammar: Grammar) -> Does {
    let call = Call { words, plan, path: path(words, plan), grammar };
    if call.asks_for_help() {
        return Does::Nothing;
    }
    match call.by_words().unwrap_or_else(|| call.by_flags()) {
        Does::Change | Does::Destroy | Does::DestroyAll if call.is_dry_run() => Does::Look,
        Does::Destroy if call.is_wide() => Does::DestroyAll,
        does => does,
    }
}

/// Returns the effect of a name made of several words: a method, a path segment (`deleteUser`,
/// `delete_series`).
pub(super) fn of_name(name: &str) -> Does {
    let step = Step { parts: parts(name), doubtful: false };
    match step.verb() {
        (Meaning::Unknown | Meaning::LookNoun | Meaning::ChangeNoun | Meaning::Change, _) => {
            Does::Change
        }
        (Meaning::Look, _) => Does::Look,
        (Meaning::Destroy | Meaning::End, at)
            if is_whole(step.parts.get(at + 1..).unwrap_or_default()) =>
        {
            Does::DestroyAll
        }
        (Meaning::Destroy | Meaning::End, _) => Does::Destroy,
    }
}

/// Returns true if the last of these nouns holds many other things.
pub(super) fn is_whole<S: AsRef<str>>(nouns: &[S]) -> bool {
    const SERVERS: &[&str] = &["instance", "instances", "server", "servers"];
    const STORES: &[&str] = &[
        "bigtable",
        "cosmosdb",
        "database",
        "databases",
        "db",
        "mongodb",
        "mysql",
        "postgres",
        "rds",
        "redis",
        "spanner",
        "sql",
    ];
    let Some((last, before)) = nouns.split_last() else { return false };
    let of = before.last().map_or("", AsRef::as_ref);
    let last = last.as_ref();
    match last {
        "all" => true,
        "account" | "accounts" => of != "service",
        _ => {
            has(WHOLE, last)
                || (has(SERVERS, last) && before.iter().any(|noun| has(STORES, noun.as_ref())))
        }
    }
}

/// One word of the path.
struct Step {
    /// The words that it is made of, in lower case.
    parts: Vec<String>,
    /// It may be the value of the flag before it.
    doubtful: bool,
}

struct Call<'c> {
    words: &'c [&'c str],
    plan: &'c Plan,
    path: Vec<Step>,
    grammar: Grammar,
}

impl Call<'_> {
    /// Returns the effect of the path, if one of its words is a verb.
    fn by_words(&self) -> Option<Does> {
        let (mut alone, mut doubted, mut named) = (None, None, false);
        for (at, step) in self.path.iter().enumerate() {
            let (said, verb) = step.verb();
            let does = match said {
                Meaning::Unknown => continue,
                Meaning::End | Meaning::Destroy if step.parts.len() > 1 && named => continue,
                Meaning::Look | Meaning::LookNoun => self.looked_at(at, verb),
                Meaning::Change | Meaning::ChangeNoun if self.orders_deletion() => Does::Destroy,
                Meaning::Change | Meaning::ChangeNoun => Does::Change,
                Meaning::End => Does::Destroy,
                Meaning::Destroy => self.destroyed(at, verb),
            };
            match said {
                _ if step.doubtful => doubted = doubted.max(Some(does)),
                Meaning::LookNoun | Meaning::ChangeNoun => {
                    alone = Some(does);
                    named = self.grammar == Grammar::Free
                        && matches!(step.parts.as_slice(), [only] if has(NAMED, only));
                }
                _ => return doubted.filter(|doubted| *doubted >= Does::Destroy).max(Some(does)),
            }
        }
        alone.max(doubted)
    }

    /// Returns the effect of the flags, for programs whose verbs are flags; the gravest counts.
    fn by_flags(&self) -> Does {
        let flags = self
            .plan
            .flags
            .iter()
            .filter_map(|at| self.words.get(*at))
            .filter(|flag| flag.len() > 2 && !is_off(flag));
        let said = flags.filter_map(|flag| {
            let name = flag.trim_start_matches('-').split(['=', '-']).next().unwrap_or("");
            match meaning(name) {
                Meaning::Look => Some(Does::Look),
                Meaning::Change => Some(Does::Change),
                Meaning::Destroy | Meaning::End => Some(Does::Destroy),
                _ => None,
            }
        });
        let unsaid = if self.plan.operands.is_empty() && self.plan.flags.is_empty() {
            Does::Look
        } else {
            Does::Change
        };
        said.max().unwrap_or(unsaid)
    }

    /// Returns true if a list of changes, as JSON among the words, has one that deletes.
    fn orders_deletion(&self) -> bool {
        let orders = |word: &&str| {
            word.starts_with(['{', '['])
                && (word.contains("\"DELETE\"") || word.contains("\"DeleteRequest\""))
        };
        self.grammar == Grammar::Groups && self.words.iter().any(orders)
    }

    fn looked_at(&self, at: usize, verb: usize) -> Does {
        let Some(step) = self.path.get(at) else { return Does::Look };
        let reveals = step.parts.get(verb).is_some_and(|word| has(REVEAL, word));
        let before = at
            .checked_sub(1)
            .and_then(|before| self.path.get(before))
            .map_or(&[][..], |step| &step.parts);
        let nouns = match step.parts.get(verb + 1..) {
            Some(after) if !after.is_empty() => after,
            _ => before,
        };
        let is_secret = nouns.iter().any(|noun| has(SECRET, noun))
            && !nouns.iter().any(|noun| has(METADATA, noun));
        if reveals && is_secret { Does::Reveal } else { Does::Look }
    }

    fn destroyed(&self, at: usize, verb: usize) -> Does {
        let Some(step) = self.path.get(at) else { return Does::Destroy };
        let everything = step
            .parts
            .get(verb)
            .is_some_and(|word| matches!(word.as_str(), "flushall" | "flushdb" | "rb"));
        let after = step.parts.get(verb + 1..).unwrap_or_default();
        let mut nouns: Vec<&str> =
            self.path.iter().take(at).flat_map(|step| &step.parts).map(String::as_str).collect();
        if after.is_empty() && verb > 0 {
            nouns.extend(step.parts.iter().take(verb).map(String::as_str));
        }
        nouns.extend(after.iter().map(String::as_str));
        let follows =
            if at == 0 && after.is_empty() { self.kinds_behind(&step.parts) } else { Vec::new() };
        let whole = is_whole(&nouns) || follows.iter().any(|noun| is_whole(&[*noun]));
        if whole || everything { Does::DestroyAll } else { Does::Destroy }
    }

    /// Returns the kinds of things in the word after a verb that comes first: `delete ns/a`,
    /// `drop db,user`.
    fn kinds_behind(&self, verb: &[String]) -> Vec<&str> {
        let all = self
            .plan
            .subcommand
            .iter()
            .chain(&self.plan.operands)
            .filter_map(|at| self.words.get(*at));
        let mut behind = all.skip_while(|word| parts(word) != verb).skip(1);
        let kinds = behind.next().map_or("", |word| word.split('/').next().unwrap_or(word));
        kinds.split(',').take(8).collect()
    }
}

impl Step {
    /// Returns the meaning, and the index of the part that carries it. A single word may be a noun;
    /// of several the first that is not an adverb is the verb, or else the last.
    fn verb(&self) -> (Meaning, usize) {
        let first =
            self.parts.iter().take_while(|part| self.parts.len() > 1 && has(ADVERBS, part)).count();
        let first = if first == self.parts.len() { 0 } else { first };
        let last = self.parts.len().saturating_sub(1);
        let says = |at: usize| self.parts.get(at).map_or(Meaning::Unknown, |part| meaning(part));
        let said = says(first);
        if said == Meaning::End
            && last > first
            && self.parts.last().is_some_and(|part| part == "deletion")
        {
            return (Meaning::Change, first);
        }
        if said == Meaning::Unknown
            && matches!(says(last), Meaning::Look | Meaning::Destroy | Meaning::End)
        {
            return (says(last), last);
        }
        (said, first)
    }
}

/// Returns the words that name the effect and the kind of thing affected.
fn path(words: &[&str], plan: &Plan) -> Vec<Step> {
    let mut path = Vec::new();
    for at in plan.subcommand.iter().chain(&plan.operands).take(64) {
        let Some(word) = words.get(*at).filter(|word| is_name(word)) else { continue };
        let doubtful = !plan.subcommand.contains(at) && may_be_value(words, plan, *at);
        path.extend(word.split(':').map(|part| Step { parts: parts(part), doubtful }));
        if path.len() >= PATH {
            break;
        }
    }
    path
}

/// Returns true if a word can name a subcommand.
fn is_name(word: &str) -> bool {
    word.len() <= 64
        && word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'))
        && !word.contains("::")
}

/// Splits a name into words, at hyphens and the like, or at capitals.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut small = false;
    for c in name.chars().take(64) {
        let splits = matches!(c, '-' | '_' | '.');
        if splits || (small && c.is_ascii_uppercase()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| !splits) {
            part.push(c.to_ascii_lowercase());
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, grammar: Grammar) -> Does {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (flags, operands) = (0..words.len()).partition(|at| words[*at].starts_with('-'));
        does(&words, &Plan { flags, operands, ..Plan::default() }, grammar)
    }

    #[test]
    fn the_words_tell_what_is_done() {
        use Does::{Change, Destroy, DestroyAll, Look, Nothing, Reveal};
        let table = [
            ("", Look),
            ("-v", Nothing),
            ("kv key list", Look),
            ("list_queues", Look),
            ("describe-delete-queue", Look),
            ("get deleted-items", Look),
            ("get delete", Look),
            ("logs delete-me", Look),
            ("context remove-secret a", Destroy),
            ("run list", Look),
            ("release view v1 --json delete", Look),
            ("rollout status deployment/web", Look),
            ("auth can-i delete pods", Look),
            ("pg:info", Look),
            ("secrets list", Look),
            ("get-secret-rotation-status", Look),
            ("compute instances create", Change),
            ("release create v1", Change),
            ("frobnicate", Change),
            ("config set delete x", Change),
            ("cancel-key-deletion --key-id x", Change),
            ("secrets get x", Reveal),
            ("secretsmanager get-secret-value", Reveal),
            ("release delete v1", Destroy),
            ("delete_queue x", Destroy),
            ("apps:destroy", Destroy),
            ("queue-delete x", Destroy),
            ("deleteUser 1", Destroy),
            ("--quiet images delete x", Destroy),
            ("--delete --topic x", Destroy),
            ("--name delete list", Destroy),
            ("delete pod/x", Destroy),
            ("iam service-accounts delete x", Destroy),
            ("delete-db-snapshot x", Destroy),
            ("delete-bucket-policy", Destroy),
            ("schedule-key-deletion", Destroy),
            ("s3 rm s3://a/b/ --recursive", Destroy),
            ("delete-bucket", DestroyAll),
            ("delete-db-instance x", DestroyAll),
            ("sql instances delete x", DestroyAll),
            ("pg:reset", DestroyAll),
            ("projects delete x", DestroyAll),
            ("delete pod,ns x", DestroyAll),
            ("delete ns/x", DestroyAll),
            ("delete pods --all", DestroyAll),
            ("FLUSHALL", DestroyAll),
            ("s3 rm s3://a --recursive", DestroyAll),
            // what only says what it would do, and what looks like it
            ("delete ns x --help", Nothing),
            ("help delete", Nothing),
            ("delete ns x --dry-run=client", Look),
            ("delete ns x --force --dry-run", Look),
            ("delete ns x --dry-run=none", DestroyAll),
            ("delete ns x --dry-run --no-dry-run", DestroyAll),
            ("delete ns x --dry-run=client --dry-run=none", DestroyAll),
            ("delete ns x --note --dry-run", DestroyAll),
            ("delete ns help", DestroyAll),
        ];
        for (words, expected) in table {
            assert_eq!(said(words, Grammar::Free), expected, "`{words}`");
        }
    }

    #[test]
    fn names_stand_only_behind_the_verb_of_groups() {
        let table = [
            ("logs delete-log-group --log-group-name x", Does::Destroy),
            ("deploy delete-application", Does::Destroy),
            ("logs describe-log-groups", Does::Look),
            ("s3 rm help", Does::Nothing),
        ];
        for (words, expected) in table {
            assert_eq!(said(words, Grammar::Groups), expected, "`{words}`");
        }
    }

    #[test]
    fn a_name_tells_what_it_does() {
        let table = [
            ("deleteUser", Does::Destroy),
            ("delete_series", Does::Destroy),
            ("doDelete", Does::Destroy),
            ("deleteAllDocuments", Does::Destroy),
            ("DeleteDatabase", Does::DestroyAll),
            ("ListUsers", Does::Look),
            ("CreateUser", Does::Change),
            ("logs", Does::Change),
        ];
        for (name, expected) in table {
            assert_eq!(of_name(name), expected, "`{name}`");
        }
    }
}
