//! The person's goals: the check that an action serves one, and the check that none forbids it.
//!
//! A prohibition is recognised only if it is plain: a negation, then at once a known verb, then
//! either nothing particular or words that name things. Anything conditional ("unless", "until",
//! "other") is left to the model that reads the whole sentence. A later goal that asks for the same
//! kind of thing lifts an earlier prohibition.

use super::nature;
use super::words::{Stems, split, stem};
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, EffectKind, Goal};

/// The kinds of action that a person may ask for or forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Delete,
    Change,
    Publish,
    Commit,
    Install,
    Download,
    Run,
}

/// Verbs, with the action that they ask for.
const VERBS: &[(&str, Deed)] = &[
    ("delete", Deed::Delete),
    ("remove", Deed::Delete),
    ("erase", Deed::Delete),
    ("wipe", Deed::Delete),
    ("drop", Deed::Delete),
    ("change", Deed::Change),
    ("modify", Deed::Change),
    ("edit", Deed::Change),
    ("touch", Deed::Change),
    ("alter", Deed::Change),
    ("overwrite", Deed::Change),
    ("rewrite", Deed::Change),
    ("push", Deed::Publish),
    ("publish", Deed::Publish),
    ("deploy", Deed::Publish),
    ("release", Deed::Publish),
    ("upload", Deed::Publish),
    ("commit", Deed::Commit),
    ("install", Deed::Install),
    ("download", Deed::Download),
    ("run", Deed::Run),
    ("execute", Deed::Run),
];

/// Words of a goal that ask for an effect, beyond the words of its target.
const ASKED: &[(EffectKind, &[&str])] = &[
    (
        EffectKind::FileDelete,
        &[
            "delete",
            "remove",
            "clean",
            "cleanup",
            "prune",
            "clear",
            "purge",
            "reset",
            "uninstall",
            "drop",
            "wipe",
            "move",
            "rename",
        ],
    ),
    (
        EffectKind::Network,
        &[
            "download", "fetch", "install", "api", "url", "http", "web", "search", "research",
            "document", "docs", "upgrade", "update",
        ],
    ),
    (
        EffectKind::Publish,
        &["push", "publish", "deploy", "release", "ship", "upload", "merge", "pr", "pull"],
    ),
    (
        EffectKind::RemoteChange,
        &[
            "deploy",
            "migrate",
            "migration",
            "database",
            "provision",
            "cluster",
            "cloud",
            "push",
            "sql",
        ],
    ),
    (
        EffectKind::RemoteDelete,
        &[
            "delete", "remove", "drop", "destroy", "tear", "purge", "clean", "cleanup", "reset",
            "wipe", "truncate",
        ],
    ),
    (
        EffectKind::Send,
        &[
            "upload", "send", "post", "submit", "api", "mail", "email", "request", "webhook",
            "notify", "http", "curl",
        ],
    ),
    (
        EffectKind::Discard,
        &["discard", "reset", "revert", "undo", "restore", "clean", "throw", "drop", "abandon"],
    ),
    (EffectKind::Evade, &["history", "logs", "log", "firewall", "selinux"]),
    (EffectKind::ProcessStop, &["kill", "stop", "restart", "port"]),
    (EffectKind::ProcessStart, &["run", "start", "execute", "launch", "demo", "try"]),
    (EffectKind::SystemChange, &["install", "configure", "setup", "upgrade", "system", "docker"]),
    (
        EffectKind::Persistence,
        &["cron", "service", "startup", "hook", "schedule", "daemon", "autostart", "alias"],
    ),
    (EffectKind::SecretRead, &["secret", "key", "token", "credential", "env", "password"]),
    (EffectKind::Privilege, &["sudo", "root", "permission", "chmod", "chown", "install"]),
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

/// Words after which a prohibition is not plain.
const CONDITIONS: &[&str] = &[
    "unless", "until", "before", "if", "when", "while", "except", "other", "others", "else",
    "just", "only", "without", "more", "than", "too", "it", "this", "that", "these", "those",
];

/// Objects that mean everything.
const ANYTHING: &[&str] = &[
    "any",
    "anything",
    "file",
    "files",
    "code",
    "change",
    "changes",
    "nothing",
    "something",
    "yet",
    "thing",
    "things",
    "stuff",
    "folder",
    "folders",
];

/// Returns true if a goal covers the action: the action does what it asks for, or speaks of the
/// same things.
pub(super) fn serves(action: &Action, goals: &[Goal], about: &Stems) -> bool {
    goals.iter().rev().any(|goal| {
        let asked = Stems::of([goal.text.as_str()]);
        asked.meet(about) || asks_for(&asked, action)
    })
}

fn asks_for(asked: &Stems, action: &Action) -> bool {
    let mut grave = place::lasting(&action.facts)
        .filter(|effect| ASKED.iter().any(|(kind, _)| *kind == effect.kind))
        .peekable();
    grave.peek().is_some()
        && grave.all(|effect| {
            ASKED.iter().any(|(kind, words)| {
                *kind == effect.kind && words.iter().any(|word| asked.has(&stem(word)))
            })
        })
}

/// The maximum number of prohibitions in force, the newest: a bound on the work.
const STANDING: usize = 64;

/// Returns the person's prohibition, in their words, if the action violates it.
pub(super) fn forbids(action: &Action, goals: &[Goal], roots: &[String]) -> Option<String> {
    let verbs = Verbs(VERBS.iter().map(|(verb, deed)| (stem(verb), *deed)).collect());
    let mut standing: Vec<Prohibition> = Vec::new();
    for goal in goals {
        let (asked, forbidden) = read(&goal.text, &verbs);
        standing.retain(|known| !asked.contains(&known.deed));
        standing.extend(forbidden);
        standing.drain(..standing.len().saturating_sub(STANDING));
    }
    if standing.is_empty() {
        return None;
    }
    let done = Done::by(action, roots);
    standing.into_iter().find(|known| done.breaks(known)).map(|known| known.text)
}

struct Prohibition {
    deed: Deed,
    /// Empty for everything of the kind.
    objects: Stems,
    text: String,
}

/// Returns the actions that a goal asks for, and those that it forbids.
fn read(text: &str, verbs: &Verbs) -> (Vec<Deed>, Vec<Prohibition>) {
    let mut asked = Vec::new();
    let mut forbidden = Vec::new();
    for clause in text.split(['.', ',', ';', ':', '!', '?', '\n', '(', ')']) {
        let words = split(clause);
        let negated = (0..words.len()).find_map(|at| Some((at, negation(words.get(at..)?)?)));
        match negated {
            Some((at, length)) => forbidden.extend(prohibition(
                clause,
                words.get(at + length..).unwrap_or_default(),
                verbs,
            )),
            None => asked.extend(words.iter().filter_map(|word| verbs.deed(word))),
        }
    }
    (asked, forbidden)
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

/// Reads "push", "push to main", "commit or push": each verb with the objects that follow them all.
fn prohibition(clause: &str, rest: &[String], verbs: &Verbs) -> Vec<Prohibition> {
    let mut deeds: Vec<Deed> = rest.first().and_then(|verb| verbs.deed(verb)).into_iter().collect();
    let mut objects = rest.get(1..).unwrap_or_default();
    while let [joint, verb, others @ ..] = objects
        && matches!(joint.as_str(), "or" | "and" | "nor")
        && let Some(deed) = verbs.deed(verb)
    {
        deeds.push(deed);
        objects = others;
    }
    if objects.iter().any(|word| CONDITIONS.contains(&word.as_str())) {
        return Vec::new();
    }
    let objects =
        Stems::of(objects.iter().map(String::as_str).filter(|word| !ANYTHING.contains(word)));
    let plain = |deed: &Deed| *deed != Deed::Run || !objects.is_empty();
    deeds
        .into_iter()
        .filter(plain)
        .map(|deed| Prohibition { deed, objects: objects.clone(), text: clause.trim().to_owned() })
        .collect()
}

/// The verbs' stems.
struct Verbs(Vec<(String, Deed)>);

impl Verbs {
    fn deed(&self, word: &str) -> Option<Deed> {
        let stem = stem(word);
        self.0.iter().find(|(known, _)| *known == stem).map(|(_, deed)| *deed)
    }
}

/// An action of a kind that a person may forbid, with its target; none if it is not of such a kind.
struct Done {
    deletes: Option<Stems>,
    changes: Option<Stems>,
    publishes: bool,
    commits: bool,
    installs: bool,
    downloads: bool,
    runs: bool,
    spoken: Stems,
}

impl Done {
    fn by(action: &Action, roots: &[String]) -> Self {
        let effect = |wanted: fn(&EffectKind) -> bool| {
            place::lasting(&action.facts).any(|effect| wanted(&effect.kind))
        };
        let objects = |wanted: fn(&EffectKind) -> bool| {
            effect(wanted).then(|| nature::objects(action, roots, wanted))
        };
        Self {
            deletes: objects(deletes),
            changes: objects(changes).filter(|_| nature::of(action) != nature::Nature::Tests),
            publishes: effect(publishes),
            commits: nature::orders(action, &["commit"]),
            installs: nature::orders(action, &["install", "add", "i"]),
            downloads: action.facts.effects.iter().any(place::is_external),
            runs: action.shell().is_some(),
            spoken: Stems::of(nature::spoken(action)),
        }
    }

    fn breaks(&self, prohibition: &Prohibition) -> bool {
        let spoken = |done: bool| done.then_some(&self.spoken);
        let about = match prohibition.deed {
            Deed::Delete => self.deletes.as_ref(),
            Deed::Change => self.changes.as_ref(),
            Deed::Publish => spoken(self.publishes),
            Deed::Commit => spoken(self.commits),
            Deed::Install => spoken(self.installs),
            Deed::Download => spoken(self.downloads),
            Deed::Run => spoken(self.runs),
        };
        about.is_some_and(|about| prohibition.objects.is_empty() || prohibition.objects.meet(about))
    }
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
