//! `protect_the_system`: files of the operating system and of start-up do not change unnoticed; who may log
//! in, and as whom, changes only with a person's word. What a package manager installs is no such change: it names
//! no file. Whole folders are `prevent_recursive_deletion`'s.

use crate::config::{Config, SYSTEM};
use crate::showing::showing;
use portcullis_builtin_judging::place;
use portcullis_builtin_judging::text::listed;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Path, Scope};

/// Who may log in and as whom, and what every program loads.
const IDENTITY: &[&str] = &[
    "/etc/passwd",
    "/etc/group",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/pam.d",
    "/etc/ssh",
    "/etc/security",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf.d",
    "/boot",
];

fn is_identity(path: &str) -> bool {
    IDENTITY.iter().any(|part| place::holds(part, path)) || path.ends_with("/.ssh/authorized_keys")
}

/// Files by which other projects instruct their agents.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", "copilot-instructions.md"];

/// The configuration and the data of another program, in a person's home, or another project's instructions
/// for agents. The client's own folder holds its plans and notes; its settings are guarded elsewhere.
fn is_theirs(path: &str, home: &str) -> bool {
    // What another program logs is no setting of it.
    if path.ends_with(".log") {
        return false;
    }
    let instructs = path.rsplit('/').next().is_some_and(|name| INSTRUCTIONS.contains(&name));
    instructs || place::below_home(path, home).is_some_and(|rest| rest.starts_with('.') && !place::holds(".claude", rest))
}

/// The rule.
pub(crate) fn rule(action: &Action, context: &Context, _: &Config<'_>) -> Option<Ruling> {
    let facts = &action.facts;
    let mut changed: Vec<&str> = Vec::new();
    let mut of_system = false;
    let swept = |effect: &Effect| effect.kind == EffectKind::FileDelete && effect.recursive;
    let own = |effect: &&Effect| effect.certain && effect.kind.changes_files() && !swept(effect);
    let starts = |path: &Path| {
        let same = |effect: &Effect| effect.target == path.text;
        facts.effects.iter().any(|effect| effect.kind == EffectKind::Persistence && same(effect))
    };
    for effect in place::lasting(facts).filter(own) {
        let path = facts.path(effect).filter(|path| place::scope_of(effect, path) == Scope::System);
        let path = path.filter(|path| !place::in_home(&path.text, context.home()) || starts(path) || is_identity(&path.text));
        let path = path.or_else(|| facts.path(effect).filter(|path| path.scope == Scope::Outside && is_theirs(&path.text, context.home())));
        if let Some(path) = path.filter(|path| !changed.contains(&path.text.as_str())) {
            changed.push(&path.text);
            of_system |= path.scope == Scope::System && !place::in_home(&path.text, context.home());
        }
    }
    if changed.is_empty() {
        return None;
    }
    let (worst, rest): (Vec<&str>, Vec<&str>) = changed.iter().partition(|path| is_identity(path));
    let all = || worst.iter().chain(&rest).copied();
    let ruling = if worst.is_empty() {
        let whose = if of_system { "the operating system" } else { "other programs, of start-up, or for other agents" };
        Ruling::warn(SYSTEM, &["this changes files of ", whose, ": ", &listed(all())].concat())
    } else {
        Ruling::ask(SYSTEM, &["this changes who may do what on this machine: ", &listed(all())].concat())
    };
    let ruling = ruling.instead("show the person the change, and let them make it");
    Some(showing(ruling, "path", all()))
}
