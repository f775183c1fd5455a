//! The person's goals: the check that an action serves one.

use super::words::{Stems, stem};
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, EffectKind, Goal};

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
