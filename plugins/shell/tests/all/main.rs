//! The readings of command lines: tables of commands, each with the expected result.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod carriers;
mod catalogue;
mod dangers;
mod effects;
mod hostile;
mod keeping;
mod limits;
mod mentions;
mod properties;
mod structure;

use portcullis_shell_reader::types::{Effect, EffectKind};
use portcullis_shell_reader::{Reading, Surroundings, read};

/// Reads a command in the project of a person.
fn reading(command: &str) -> Reading {
    read(
        command,
        &Surroundings { cwd: "/home/dev/project".to_owned(), home: "/home/dev".to_owned() },
    )
}

/// Returns the name under which the tables write a kind.
fn name(kind: &EffectKind) -> &str {
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

/// Formats an effect as the tables write it: `kind target`, with `!` if it covers a whole tree and
/// `?` if the target is not fully known. The project's folder is left out of targets in it.
fn line(effect: &Effect) -> String {
    let target = match effect.target.strip_prefix("/home/dev/project") {
        Some("") => ".",
        Some(rest) => rest.trim_start_matches('/'),
        None => &effect.target,
    };
    let marks = [(effect.recursive, "!"), (!effect.certain, "?")]
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| *mark)
        .collect::<String>();
    format!("{}{marks} {target}", name(&effect.kind)).trim_end().to_owned()
}

fn effects(reading: &Reading) -> Vec<String> {
    reading.effects.iter().map(line).collect()
}

fn forms(reading: &Reading) -> Vec<&str> {
    reading.forms.iter().map(|form| form.id.as_str()).collect()
}

fn programs(reading: &Reading) -> Vec<&str> {
    reading.commands.iter().map(|command| command.program.as_str()).collect()
}
