//! The shell reader's answers, checked and converted to the core's types.
//!
//! Unlike a plugin's words these are pieces of the action itself: they are compared with rules, so
//! no character of them is altered here. Code that displays them has to escape them.

use crate::bindings::shell_reader::exports::portcullis::shell::reader as s;
use crate::bindings::types as w;
use crate::check::{bounded, list, score};
use crate::faults::UnnamedFault;
use portcullis_core::action as a;
use portcullis_core::run_files::{
    FileContents, FileReading, KnownFile, LeftFile, Mount, Provenance, RunLine, ShellPlace,
};

/// Bytes of one string: no piece of a command line is longer than the whole of it.
const TEXT_BYTES: usize = 1 << 20;
/// Items of a list; the contract allows 256 commands, and their words come on top.
const ITEMS: usize = 16 << 10;

type Checked<T> = Result<T, UnnamedFault>;

pub(crate) fn reading(reading: s::Reading) -> Checked<a::Reading> {
    Ok(a::Reading {
        commands: list("commands", reading.commands, ITEMS, command)?,
        effects: list("effects", reading.effects, ITEMS, effect)?,
        forms: list("forms", reading.forms, ITEMS, form)?,
        hosts: texts("hosts", reading.hosts)?,
        shape: text("shape", reading.shape)?,
        coverage: match reading.coverage {
            w::Coverage::Full => a::Coverage::Full,
            w::Coverage::Partial => a::Coverage::Partial,
        },
        gaps: list("gaps", reading.gaps, ITEMS, |gap| {
            Ok(crate::text::line(bounded("gaps", &gap, TEXT_BYTES)?))
        })?,
        files: FileReading {
            wants: texts("wants", reading.wants)?,
            absences: texts("absences", reading.absences)?,
            lines: list("lines", reading.lines, ITEMS, |line| {
                let path = text("lines", line.path)?;
                Ok(RunLine { command: line.command, path, line: line.line })
            })?,
            leaves: list("leaves", reading.leaves, ITEMS, |left| {
                let source = left.provenance;
                let provenance = Provenance {
                    downloaded: source.downloaded,
                    decoded: source.decoded,
                    secret: source.secret,
                    dumped: source.dumped,
                    foreign: source.foreign,
                    written: source.written,
                };
                Ok(LeftFile { path: text("leaves", left.path)?, provenance })
            })?,
            mounts: list("mounts", reading.mounts, ITEMS, |mount| {
                Ok(Mount { at: text("mounts", mount.at)?, to: text("mounts", mount.to)? })
            })?,
        },
    })
}

/// Converts the surroundings of a command line.
pub(crate) fn surroundings(place: &ShellPlace<'_>) -> s::Surroundings {
    let file = |file: &KnownFile| s::KnownFile {
        path: file.path.clone(),
        contents: file.contents.as_ref().map(|contents| match contents {
            FileContents::Text(text) => s::Contents::Text(text.clone()),
            FileContents::Part(text) => s::Contents::Part(text.clone()),
            FileContents::Binary => s::Contents::Binary,
            FileContents::Missing => s::Contents::Missing,
            FileContents::Unreadable(why) => s::Contents::Unreadable(why.clone()),
        }),
        provenance: s::Provenance {
            downloaded: file.provenance.downloaded,
            decoded: file.provenance.decoded,
            secret: file.provenance.secret,
            dumped: file.provenance.dumped,
            foreign: file.provenance.foreign,
            written: file.provenance.written,
        },
        committed: file.committed,
    };
    let mount = |mount: &Mount| s::Mount { at: mount.at.clone(), to: mount.to.clone() };
    s::Surroundings {
        cwd: place.cwd.to_owned(),
        home: place.home.to_owned(),
        files: place.files.iter().map(file).collect(),
        mounts: place.mounts.iter().map(mount).collect(),
    }
}

fn text(what: &str, value: String) -> Checked<String> {
    bounded(what, &value, TEXT_BYTES)?;
    Ok(value)
}

fn texts(what: &str, values: Vec<String>) -> Checked<Vec<String>> {
    list(what, values, ITEMS, |value| text(what, value))
}

fn command(command: w::Command) -> Checked<a::Command> {
    Ok(a::Command {
        program: text("program", command.program)?,
        words: list("words", command.words, ITEMS, word)?,
        assignments: list("assignments", command.assignments, ITEMS, |set| {
            Ok((text("assignments", set.name)?, text("assignments", set.value)?))
        })?,
        redirections: list("redirections", command.redirections, ITEMS, redirection)?,
        wrappers: texts("wrappers", command.wrappers)?,
        origin: match command.origin {
            w::Origin::Plain => a::Origin::Plain,
            w::Origin::Substitution => a::Origin::Substitution,
            w::Origin::Nested => a::Origin::Nested,
            w::Origin::FunctionBody => a::Origin::FunctionBody,
            w::Origin::Other(name) => a::Origin::Other(text("origin", name)?),
        },
        input_from: command.input_from,
        start: command.start,
        end: command.end,
        privileged: command.privileged,
    })
}

fn word(word: w::Word) -> Checked<a::Word> {
    Ok(a::Word { text: text("word", word.text)?, known: word.known, quoted: word.quoted })
}

fn redirection(redirection: w::Redirection) -> Checked<a::Redirection> {
    Ok(a::Redirection {
        descriptor: redirection.descriptor,
        direction: match redirection.direction {
            w::Direction::Input => a::Direction::Input,
            w::Direction::Output => a::Direction::Output,
            w::Direction::Append => a::Direction::Append,
            w::Direction::Duplicate => a::Direction::Duplicate,
            w::Direction::Heredoc => a::Direction::Heredoc,
        },
        target: word(redirection.target)?,
    })
}

fn effect(effect: w::Effect) -> Checked<a::Effect> {
    Ok(a::Effect {
        kind: effect_kind(effect.kind)?,
        target: text("target", effect.target)?,
        path: effect.path,
        command: effect.command,
        recursive: effect.recursive,
        certain: effect.certain,
    })
}

fn effect_kind(kind: w::EffectKind) -> Checked<a::EffectKind> {
    use a::EffectKind as To;
    use w::EffectKind as From;
    Ok(match kind {
        From::FileRead => To::FileRead,
        From::FileCreate => To::FileCreate,
        From::FileModify => To::FileModify,
        From::FileDelete => To::FileDelete,
        From::ProcessStart => To::ProcessStart,
        From::ProcessStop => To::ProcessStop,
        From::Network => To::Network,
        From::Send => To::Send,
        From::Publish => To::Publish,
        From::RemoteChange => To::RemoteChange,
        From::RemoteDelete => To::RemoteDelete,
        From::Discard => To::Discard,
        From::SystemChange => To::SystemChange,
        From::Persistence => To::Persistence,
        From::Privilege => To::Privilege,
        From::Evade => To::Evade,
        From::SecretRead => To::SecretRead,
        From::UnseenCode => To::UnseenCode,
        From::ResourceUse => To::ResourceUse,
        From::Other(name) => To::Other(text("effect", name)?),
    })
}

fn form(form: w::Form) -> Checked<a::Form> {
    Ok(a::Form {
        id: text("form.id", form.id)?,
        label: text("form.label", form.label)?,
        weight: score("form.weight", form.weight)?,
        command: form.command,
    })
}
