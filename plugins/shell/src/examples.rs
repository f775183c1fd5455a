//! The examples of the catalogue's entries: how an effect is written in them, and the comparison of
//! an example with its reading.

use crate::types::{Effect, EffectKind};
use crate::{Reading, Surroundings, read};
use portcullis_programs::Mistake;
use portcullis_programs::document::Example;

/// The folder of the project in which examples are read.
const PROJECT: &str = "/home/dev/project";

/// Reads a command in the project of a person.
#[must_use]
pub fn read_in_project(command: &str) -> Reading {
    read(
        command,
        &Surroundings {
            cwd: PROJECT.to_owned(),
            home: "/home/dev".to_owned(),
            files: Vec::new(),
            mounts: Vec::new(),
        },
    )
}

/// Returns the name under which the catalogue writes a kind.
#[must_use]
pub fn name_kind(kind: &EffectKind) -> &str {
    match kind {
        EffectKind::FileRead => "read",
        EffectKind::FileCreate => "create",
        EffectKind::FileModify => "modify",
        EffectKind::FileDelete => "delete",
        EffectKind::ProcessStart => "start",
        EffectKind::ProcessStop => "stop",
        EffectKind::Network => "network",
        EffectKind::Send => "send",
        EffectKind::Publish => "publish",
        EffectKind::RemoteChange => "remote",
        EffectKind::RemoteDelete => "remote-delete",
        EffectKind::Discard => "discard",
        EffectKind::SystemChange => "system",
        EffectKind::Persistence => "persist",
        EffectKind::Privilege => "privilege",
        EffectKind::Evade => "evade",
        EffectKind::SecretRead => "secret",
        EffectKind::UnseenCode => "unseen",
        EffectKind::ResourceUse => "resource",
        EffectKind::Other(name) => name,
    }
}

/// Formats an effect as the catalogue writes it: `kind target`, with `!` if it covers a whole tree
/// and `?` if the target is not fully known. The project's folder is left out of targets in it.
#[must_use]
pub fn describe_effect(effect: &Effect) -> String {
    let target = match effect.target.strip_prefix(PROJECT) {
        Some("") => ".",
        Some(rest) => rest.trim_start_matches('/'),
        None => &effect.target,
    };
    let marks = [(effect.recursive, "!"), (!effect.certain, "?")]
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| *mark)
        .collect::<String>();
    format!("{}{marks} {target}", name_kind(&effect.kind)).trim_end().to_owned()
}

/// Runs an example, and returns the difference to its reading, if there is one.
#[must_use]
pub fn find_difference(example: &Example) -> Option<Mistake> {
    let reading = read_in_project(&example.run);
    let found = [
        ("effects", sorted(reading.effects.iter().map(describe_effect)), &example.effects),
        ("forms", sorted(reading.forms.iter().map(|form| form.id.clone())), &example.forms),
    ];
    let differences: Vec<(&str, Vec<String>, Vec<String>)> = found
        .into_iter()
        .map(|(part, found, expected)| (part, found, sorted(expected.iter().cloned())))
        .filter(|(_, found, expected)| found != expected)
        .collect();
    if differences.is_empty() {
        return None;
    }
    let list = |texts: &[String]| format!("[{}]", texts.join(", "));
    let said: Vec<String> = differences
        .iter()
        .map(|(part, found, expected)| {
            format!("{part} {} instead of {}", list(found), list(expected))
        })
        .collect();
    Some(Mistake {
        what: format!("the example `{}` has {}", example.run, said.join(", and ")),
        fix: "correct the entry, or the example".to_owned(),
    })
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}
