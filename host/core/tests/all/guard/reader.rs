//! The real shell reader, run natively, with its answer in the host's types.

use crate::harness::{CWD, HOME};
use portcullis_core::action as to;
use portcullis_core::run_files::FileReading;
use portcullis_core::score::Score;
use portcullis_shell_reader::types as from;
use portcullis_shell_reader::{Surroundings, read as read_text};

pub(crate) fn read(text: &str) -> to::Reading {
    let reading = read_text(
        text,
        &Surroundings { cwd: CWD.into(), home: HOME.into(), files: Vec::new(), mounts: Vec::new() },
    );
    to::Reading {
        commands: reading.commands.into_iter().map(command).collect(),
        effects: reading.effects.into_iter().map(effect).collect(),
        forms: reading.forms.into_iter().map(form).collect(),
        hosts: reading.hosts,
        shape: reading.shape,
        coverage: match reading.coverage {
            from::Coverage::Full => to::Coverage::Full,
            from::Coverage::Partial => to::Coverage::Partial,
        },
        gaps: reading.gaps,
        files: FileReading::default(),
    }
}

fn command(command: from::Command) -> to::Command {
    to::Command {
        program: command.program,
        words: command.words.into_iter().map(word).collect(),
        assignments: command.assignments.into_iter().map(|set| (set.name, set.value)).collect(),
        redirections: command.redirections.into_iter().map(redirection).collect(),
        wrappers: command.wrappers,
        origin: to::Origin::Plain,
        input_from: command.input_from,
        start: command.start,
        end: command.end,
        privileged: command.privileged,
    }
}

fn word(word: from::Word) -> to::Word {
    to::Word { text: word.text, known: word.known, quoted: word.quoted }
}

fn redirection(redirection: from::Redirection) -> to::Redirection {
    let direction = match redirection.direction {
        from::Direction::Input => to::Direction::Input,
        from::Direction::Output => to::Direction::Output,
        from::Direction::Append => to::Direction::Append,
        from::Direction::Duplicate => to::Direction::Duplicate,
        from::Direction::Heredoc => to::Direction::Heredoc,
    };
    to::Redirection {
        descriptor: redirection.descriptor,
        direction,
        target: word(redirection.target),
    }
}

fn effect(effect: from::Effect) -> to::Effect {
    let from::Effect { kind, target, path, command, recursive, certain } = effect;
    to::Effect { kind: kind_of(kind), target, path, command, recursive, certain }
}

fn kind_of(kind: from::EffectKind) -> to::EffectKind {
    use to::EffectKind as To;
    match kind {
        from::EffectKind::FileRead => To::FileRead,
        from::EffectKind::FileCreate => To::FileCreate,
        from::EffectKind::FileModify => To::FileModify,
        from::EffectKind::FileDelete => To::FileDelete,
        from::EffectKind::ProcessStart => To::ProcessStart,
        from::EffectKind::ProcessStop => To::ProcessStop,
        from::EffectKind::Network => To::Network,
        from::EffectKind::Send => To::Send,
        from::EffectKind::Publish => To::Publish,
        from::EffectKind::RemoteChange => To::RemoteChange,
        from::EffectKind::RemoteDelete => To::RemoteDelete,
        from::EffectKind::Discard => To::Discard,
        from::EffectKind::SystemChange => To::SystemChange,
        from::EffectKind::Persistence => To::Persistence,
        from::EffectKind::Privilege => To::Privilege,
        from::EffectKind::Evade => To::Evade,
        from::EffectKind::SecretRead => To::SecretRead,
        from::EffectKind::UnseenCode => To::UnseenCode,
        from::EffectKind::ResourceUse => To::ResourceUse,
        from::EffectKind::Other(name) => To::Other(name),
    }
}

fn form(form: from::Form) -> to::Form {
    to::Form {
        id: form.id,
        label: form.label,
        weight: Score::new(form.weight),
        command: form.command,
    }
}
