//! The person's prohibitions: the check that an action breaks none.
//!
//! A prohibition is recognised only if it is plain: a negation, then at once a known verb, then
//! either nothing particular or words that name things; or an order to change only something. One
//! with a condition ("unless", "until") stands too, and the agent is told the sentence: it is the
//! person who knows if the condition is met. Anything else ("other", "more") is left to the model
//! that reads the whole sentence. A later goal that asks for the same lifts it.

use super::nature;
use super::objects::{Objects, give_option};
use super::protected::{Protection, find_protections};
use super::words::{Stems, split, stem};
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, EffectKind, Goal, Scope};

/// The kinds of action that a person may ask for or forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActionKind {
    Delete,
    Change,
    Publish,
    Commit,
    Install,
    Download,
    Run,
}

/// Verbs, with the action that they ask for.
const VERBS: &[(&str, ActionKind)] = &[
    ("delete", ActionKind::Delete),
    ("remove", ActionKind::Delete),
    ("erase", ActionKind::Delete),
    ("wipe", ActionKind::Delete),
    ("drop", ActionKind::Delete),
    ("change", ActionKind::Change),
    ("modify", ActionKind::Change),
    ("edit", ActionKind::Change),
    ("touch", ActionKind::Change),
    ("alter", ActionKind::Change),
    ("overwrite", ActionKind::Change),
    ("rewrite", ActionKind::Change),
    ("push", ActionKind::Publish),
    ("publish", ActionKind::Publish),
    ("deploy", ActionKind::Publish),
    ("release", ActionKind::Publish),
    ("upload", ActionKind::Publish),
    ("commit", ActionKind::Commit),
    ("install", ActionKind::Install),
    ("download", ActionKind::Download),
    ("run", ActionKind::Run),
    ("execute", ActionKind::Run),
];

const NEGATIONS: &[&[&str]] = &[
    &["don't"],
    &["dont"],
    &["do", "not"],
    &["never"],
    &["mustn't"],
    &["must", "not"],
    &["shouldn't"],
    &["should", "not"],
    &["without"],
    &["avoid"],
];

/// Words that begin a condition on which a prohibition ends.
const CONDITIONS: &[&str] =
    &["unless", "until", "till", "before", "if", "when", "while", "except", "as"];
/// Words of a condition that only the person can meet.
const PERSONAL: &[&str] = &["i", "me", "my", "we", "told", "asked", "approve", "approved", "say"];

/// Words after which a prohibition is not plain.
const UNCLEAR: &[&str] = &[
    "other", "others", "else", "just", "only", "without", "more", "than", "too", "it", "this",
    "that", "these", "those",
];
/// The word that stands for the things that were named before.
const THEM: &str = "them";
/// Words before a negation that name nothing.
const JOINTS: &[&str] = &["also", "and", "but", "however", "please", "so", "then", "though", "you"];

/// Words by which a person limits changes to something.
const LIMITS: &[&[&str]] = &[
    &["only", "change"],
    &["only", "edit"],
    &["only", "modify"],
    &["only", "touch"],
    &["change", "only"],
    &["edit", "only"],
    &["modify", "only"],
    &["touch", "only"],
    &["change", "nothing", "but"],
    &["change", "nothing", "outside"],
    &["touch", "nothing", "but"],
    &["touch", "nothing", "outside"],
    &["anything", "outside"],
    &["files", "outside"],
];

/// Parts of words, one of which is in each text that forbids something.
const SIGNS: &[&str] = &[
    "avoid",
    "dont",
    "hands",
    "keep",
    "leave",
    "n't",
    "never",
    "not",
    "off",
    "only",
    "outside",
    "remain",
    "stay",
    "steer",
    "taboo",
    "untouchable",
    "without",
];

/// The maximum number of prohibitions in force, the newest: a bound on the work.
const STANDING: usize = 64;

/// A prohibition that an action breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// The person's words.
    pub(super) text: String,
    /// It ends on a condition that may be met.
    pub(super) conditional: bool,
}

/// Returns the person's prohibition, in their words, if the action violates it; one without a
/// condition first.
pub(super) fn find_broken(action: &Action, goals: &[Goal], roots: &[String]) -> Option<Broken> {
    let verbs = Verbs(VERBS.iter().map(|(verb, kind)| (stem(verb), *kind)).collect());
    let mut standing: Vec<Prohibition> = Vec::new();
    for goal in goals {
        // Most goals forbid nothing, and what they ask for lifts only what stands.
        if standing.is_empty() && !may_forbid(&goal.text) {
            continue;
        }
        let (asked, forbidden) = read(&goal.text, &verbs);
        if !asked.is_empty() {
            let about = Objects::of(&goal.text);
            standing.retain(|known| !asked.contains(&known.kind) || !known.is_lifted_by(&about));
        }
        standing.extend(forbidden);
        standing.drain(..standing.len().saturating_sub(STANDING));
    }
    if standing.is_empty() {
        return None;
    }
    let done = Done::by(action, roots);
    let broken = standing.into_iter().filter(|known| done.breaks(known));
    broken
        .map(|known| Broken { text: known.text, conditional: known.conditional })
        .min_by_key(|broken| broken.conditional)
}

/// Returns false only for a text that forbids nothing: finding that out costs a small part of reading
/// it.
fn may_forbid(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Other letters may be one of these in another case.
    !text.is_ascii() || (0..bytes.len()).any(|at| bytes.get(at..).is_some_and(begins_with_sign))
}

/// Returns true if a sign stands at the start, in any case.
fn begins_with_sign(rest: &[u8]) -> bool {
    let first = rest.first().map(u8::to_ascii_lowercase);
    SIGNS.iter().map(|sign| sign.as_bytes()).any(|sign| {
        // Most signs are out by their first letter.
        sign.first().copied() == first
            && rest.get(..sign.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(sign))
    })
}

#[derive(Clone, Debug)]
struct Prohibition {
    kind: ActionKind,
    /// Empty for everything of the kind.
    objects: Objects,
    /// All but the objects is forbidden.
    inverted: bool,
    conditional: bool,
    text: String,
}

impl Prohibition {
    /// Returns true if a later goal that asks for the kind means what this one forbids.
    fn is_lifted_by(&self, about: &Objects) -> bool {
        if self.inverted {
            return about.names.iter().any(|name| !self.objects.hold(name));
        }
        self.objects.is_empty() || self.objects.meet(about)
    }
}

/// Cuts a text into clauses. A full stop inside a name ends nothing.
fn clauses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let last = chars.peek().is_none_or(|(_, next)| !next.is_alphanumeric());
        let inside = matches!(c, '.' | ',' | ':' | '!' | '?') && !last;
        if matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '\n' | '(' | ')') && !inside {
            // A hidden file, or a file's name at the start of a path: `.env`, `./src`.
            let hidden = c == '.' && chars.peek().is_some_and(|(_, next)| *next == '/');
            if !hidden {
                found.push(text.get(start..at).unwrap_or_default());
                start = at + c.len_utf8();
            }
        }
    }
    found.push(text.get(start..).unwrap_or_default());
    found
}

/// Returns the actions that a goal asks for, and those that it forbids.
fn read(text: &str, verbs: &Verbs) -> (Vec<ActionKind>, Vec<Prohibition>) {
    let mut asked = Vec::new();
    let normal = text.replace('\u{2019}', "'");
    let protections = find_protections(&normal);
    let mut forbidden: Vec<Prohibition> = protections.iter().flat_map(protected).collect();
    // They ask for nothing themselves: "until the release".
    let rest = protections.iter().fold(normal.clone(), |rest, known| rest.replace(known.text, ""));
    let text = if protections.is_empty() { text } else { &rest };
    // Prohibitions of the clause before, whose condition may follow; a condition that came first.
    let mut newest = 0..0;
    let mut condition: Option<bool> = None;
    let mut earlier = "";
    for clause in clauses(text) {
        let words = split(clause);
        let Some(first) = words.first() else { continue };
        let begins = CONDITIONS.contains(&first.as_str());
        if begins && !newest.is_empty() {
            let open = !is_personal(&words);
            for known in forbidden.get_mut(newest.clone()).unwrap_or_default() {
                known.conditional |= open;
                known.text = [&known.text, ", ", clause.trim()].concat();
            }
            newest = 0..0;
            continue;
        }
        let before = forbidden.len();
        if let Some(limit) = limitation(clause, &words) {
            forbidden.push(limit);
        } else {
            let negated = (0..words.len()).find_map(|at| Some((at, negation(words.get(at..)?)?)));
            match negated {
                Some((at, length)) => {
                    let rest = words.get(at + length..).unwrap_or_default();
                    forbidden.extend(prohibition(clause, rest, earlier, verbs));
                }
                None => asked.extend(words.iter().filter_map(|word| verbs.find_kind(word))),
            }
        }
        if let Some(open) = condition.take() {
            let later = forbidden.get_mut(before..).unwrap_or_default();
            later.iter_mut().for_each(|known| known.conditional |= open);
        }
        condition = (begins && before == forbidden.len()).then(|| !is_personal(&words));
        newest = before..forbidden.len();
        earlier = clause;
    }
    (asked, forbidden)
}

/// Returns the prohibitions of a sentence that protects something, one for each thing that it names: a
/// later goal may lift that of one.
fn protected(found: &Protection<'_>) -> Vec<Prohibition> {
    const NOBODY: &[&str] = &["everything", "her", "him", "me", "us"];
    let objects = Objects::of(found.things);
    let words = split(found.things);
    let spoken = !found.only_names
        && !objects.is_empty()
        && !words.iter().any(|word| UNCLEAR.contains(&&**word) || NOBODY.contains(&&**word));
    let after = split(found.after);
    let conditional = after.iter().any(|word| CONDITIONS.contains(&word.as_str()));
    let forbid = |objects: Objects| Prohibition {
        kind: if found.deletion { ActionKind::Delete } else { ActionKind::Change },
        objects,
        inverted: false,
        conditional: conditional && !is_personal(&after),
        text: found.text.to_owned(),
    };
    if objects.names.is_empty() {
        return spoken.then(|| forbid(objects.without_options())).into_iter().collect();
    }
    objects.names.into_iter().map(|name| forbid(Objects::of_names(vec![name]))).collect()
}

fn is_personal(words: &[String]) -> bool {
    words.iter().any(|word| PERSONAL.contains(&word.as_str()))
}

/// Reads "only change src/" and "don't change anything outside src/".
fn limitation(clause: &str, words: &[String]) -> Option<Prohibition> {
    let same = |at: usize, limit: &[&str]| {
        let own = words.get(at..at + limit.len()).unwrap_or_default();
        own.len() == limit.len() && own.iter().zip(limit).all(|(word, part)| word == part)
    };
    let found = LIMITS.iter().find_map(|limit| {
        let at = (0..words.len()).find(|at| same(*at, limit))?;
        limit.last().map(|last| (at, *last))
    })?;
    let (at, last) = found;
    // "I only change my mind" orders nothing: the limit begins the clause, or a negation leads it.
    let leads = words.get(..at).unwrap_or_default();
    let negated =
        (0..leads.len()).any(|at| negation(leads.get(at..).unwrap_or_default()).is_some());
    let asked = leads.iter().all(|word| {
        matches!(word.as_str(), "please" | "and" | "but" | "you" | "should" | "may" | "must")
    });
    let lower = clause.to_lowercase();
    let rest = lower.rfind(last).and_then(|at| clause.get(at + last.len()..))?;
    let objects = Objects::of(rest);
    (!objects.names.is_empty() && (negated || asked)).then(|| Prohibition {
        kind: ActionKind::Change,
        objects: Objects::of_names(objects.names),
        inverted: true,
        conditional: false,
        text: clause.trim().to_owned(),
    })
}

/// Returns the number of words of a negation at the start.
fn negation(words: &[String]) -> Option<usize> {
    NEGATIONS
        .iter()
        .find(|negation| {
            words.len() >= negation.len()
                && words.iter().zip(**negation).all(|(word, part)| word == part)
        })
        .map(|found| found.len())
}

/// Returns the things that `them` stands for: those before the negation in its clause, or those of the
/// clause before if there are none. Nothing if what stands there names nothing.
fn find_meant(clause: &str, earlier: &str) -> Objects {
    let clause = clause.replace('\u{2019}', "'");
    let before = clause.get(..find_negation(&clause)).unwrap_or_default();
    let names_nothing = split(before).iter().all(|word| JOINTS.contains(&word.as_str()));
    let text = if names_nothing { earlier } else { before };
    let found = Objects::of(text);
    if !found.names.is_empty() {
        return Objects::of_names(found.names);
    }
    // The first word says what to do with the things: "read the tests".
    let rest = text.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
    Objects::of(rest).without_options()
}

/// Returns the place of the first negation among the words of a clause; its end if there is none.
fn find_negation(clause: &str) -> usize {
    let mut at = 0;
    for word in clause.split_inclusive(char::is_whitespace) {
        let rest: Vec<String> = split(clause.get(at..).unwrap_or_default());
        if negation(&rest).is_some() {
            return at;
        }
        at += word.len();
    }
    at
}

/// Reads "push", "push to main", "commit or push": each verb with the objects that follow them all.
/// `earlier` is the clause before, for what `them` stands for.
fn prohibition(clause: &str, rest: &[String], earlier: &str, verbs: &Verbs) -> Vec<Prohibition> {
    let mut last = rest.first().map_or("", String::as_str);
    let mut kinds: Vec<ActionKind> = verbs.find_kind(last).into_iter().collect();
    let mut objects = rest.get(1..).unwrap_or_default();
    while let [joint, verb, others @ ..] = objects
        && matches!(joint.as_str(), "or" | "and" | "nor")
        && let Some(kind) = verbs.find_kind(verb)
    {
        kinds.push(kind);
        last = verb;
        objects = others;
    }
    let condition = objects.iter().position(|word| CONDITIONS.contains(&word.as_str()));
    let (objects, condition) = objects.split_at(condition.unwrap_or(objects.len()));
    if objects.iter().any(|word| UNCLEAR.contains(&word.as_str())) {
        return Vec::new();
    }
    let conditional = !condition.is_empty() && !is_personal(condition);
    let named = objects_of(clause, last, condition.first());
    let meant =
        (objects.first().map(String::as_str) == Some(THEM)).then(|| find_meant(clause, earlier));
    let of_kind = |kind| match &meant {
        // Whatever is pushed or committed holds them.
        Some(meant) if matches!(kind, ActionKind::Change | ActionKind::Delete) => {
            (!meant.is_empty()).then(|| meant.clone())
        }
        _ => Some(named.clone()),
    };
    kinds
        .into_iter()
        .filter_map(|kind| Some((kind, of_kind(kind)?)))
        .filter(|(kind, objects)| *kind != ActionKind::Run || !objects.is_empty())
        .map(|(kind, objects)| Prohibition {
            kind,
            objects,
            inverted: false,
            conditional,
            text: clause.trim().to_owned(),
        })
        .collect()
}

/// Returns the things named between the last verb of a clause and its condition.
fn objects_of(clause: &str, verb: &str, condition: Option<&String>) -> Objects {
    let lower = clause.to_lowercase();
    let begin = lower.find(verb).map_or(0, |at| at + verb.len());
    let rest = lower.get(begin..).unwrap_or_default();
    let end = condition.and_then(|word| rest.find(&[" ", word, " "].concat()));
    Objects::of(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default())
}

/// The verbs' stems.
struct Verbs(Vec<(String, ActionKind)>);

impl Verbs {
    fn find_kind(&self, word: &str) -> Option<ActionKind> {
        let stem = stem(word);
        self.0.iter().find(|(known, _)| *known == stem).map(|(_, kind)| *kind)
    }
}

/// An action of a kind that a person may forbid, with its target; none if it is not of such a kind.
struct Done {
    /// Its paths, relative to the project.
    deletes: Option<Vec<String>>,
    changes: Option<Vec<String>>,
    /// Paths of the project that it changes.
    inside: Vec<String>,
    publishes: bool,
    commits: bool,
    installs: bool,
    downloads: bool,
    runs: bool,
    spoken: Stems,
    /// The words of its commands.
    words: Vec<String>,
}

impl Done {
    fn by(action: &Action, roots: &[String]) -> Self {
        let effect = |wanted: fn(&EffectKind) -> bool| {
            place::lasting(&action.facts).any(|effect| wanted(&effect.kind))
        };
        let objects = |wanted: fn(&EffectKind) -> bool| {
            effect(wanted).then(|| nature::targets(action, roots, wanted))
        };
        let works = nature::of(action) != nature::Nature::Tests;
        let at_home = |effect: &&portcullis_plugin::types::Effect| {
            changes(&effect.kind)
                && action.facts.path(effect).is_some_and(|path| path.scope == Scope::Inside)
        };
        Self {
            deletes: objects(deletes),
            changes: objects(changes).filter(|_| works),
            inside: place::lasting(&action.facts)
                .filter(at_home)
                .filter(|_| works)
                .map(|effect| nature::below(&effect.target, roots).to_owned())
                .filter(|path| !is_git(path))
                .collect(),
            publishes: effect(publishes),
            commits: nature::orders(action, &["commit"]),
            installs: nature::orders(action, &["install", "add", "i"]),
            downloads: action.facts.effects.iter().any(place::is_external),
            runs: action.shell().is_some(),
            spoken: Stems::of(nature::spoken(action)),
            words: nature::spoken(action).map(str::to_owned).collect(),
        }
    }

    fn breaks(&self, prohibition: &Prohibition) -> bool {
        let objects = &prohibition.objects;
        if prohibition.inverted {
            return self.inside.iter().any(|path| !objects.hold(path));
        }
        let paths = |paths: &Option<Vec<String>>| {
            paths.as_ref().is_some_and(|paths| {
                objects.is_empty() || paths.iter().any(|path| objects.hold(path))
            })
        };
        let spoken =
            |done: bool| done && (objects.is_empty() || objects.are_spoken_in(&self.spoken));
        match prohibition.kind {
            ActionKind::Delete => paths(&self.deletes),
            ActionKind::Change => paths(&self.changes),
            ActionKind::Publish => spoken(self.publishes),
            ActionKind::Commit => spoken(self.commits),
            ActionKind::Install => spoken(self.installs),
            ActionKind::Download => spoken(self.downloads),
            ActionKind::Run => {
                let given = |option: &String| give_option(&self.words, option);
                let meant = objects.options.is_empty() || objects.options.iter().any(given);
                spoken(self.runs) && meant
            }
        }
    }
}

/// Returns true for git's own folder, which commits change and nobody edits.
fn is_git(path: &str) -> bool {
    path.trim_start_matches('/').split('/').next() == Some(".git")
}

const fn deletes(kind: &EffectKind) -> bool {
    matches!(kind, EffectKind::FileDelete | EffectKind::RemoteDelete | EffectKind::Discard)
}

const fn changes(kind: &EffectKind) -> bool {
    matches!(kind, EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete)
}

const fn publishes(kind: &EffectKind) -> bool {
    matches!(kind, EffectKind::Publish | EffectKind::RemoteChange | EffectKind::RemoteDelete)
}

#[cfg(test)]
mod tests {
    use super::super::protected;
    use super::*;

    /// The sentences that [`may_forbid`] must not overlook: one for each pattern.
    #[test]
    fn every_pattern_has_a_sign() {
        let patterns = NEGATIONS.iter().chain(LIMITS).map(|words| words.join(" "));
        let patterns: Vec<String> = patterns.chain(protected::list_openings()).collect();
        assert!(patterns.len() > 50, "{patterns:?}");
        for pattern in patterns {
            for text in [pattern.to_uppercase(), pattern.replace('\'', "\u{2019}")] {
                assert!(may_forbid(&text), "{text}");
            }
        }
        for harmless in ["Fix the login form.", "Run the tests of the next parts, one by one."] {
            assert!(!may_forbid(harmless), "{harmless}");
        }
    }
}
