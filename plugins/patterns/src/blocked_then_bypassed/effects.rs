//! The effects of an action, small enough to be remembered, and their comparison.

use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::clip;
use portcullis_plugin::types::{Action, Effect, EffectKind};

/// The maximum number of effects of one action that are remembered, and of bytes of each target.
pub(super) const MOST: usize = 12;
pub(super) const MOST_TARGET: usize = 200;

/// Classes of equivalent effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Write,
    Delete,
    Send,
    RemoteDelete,
    System,
    Privilege,
    Evade,
    Secret,
    Unseen,
    Stop,
    Resource,
    Read,
    Contact,
    Start,
}

/// Every class, by its number.
const CLASSES: &[Class] = &[
    Class::Write,
    Class::Delete,
    Class::Send,
    Class::RemoteDelete,
    Class::System,
    Class::Privilege,
    Class::Evade,
    Class::Secret,
    Class::Unseen,
    Class::Stop,
    Class::Resource,
    Class::Read,
    Class::Contact,
    Class::Start,
];

impl Class {
    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        CLASSES.get(usize::from(byte)).copied()
    }

    const fn of(kind: &EffectKind) -> Option<Self> {
        Some(match kind {
            EffectKind::FileCreate | EffectKind::FileModify | EffectKind::Persistence => {
                Self::Write
            }
            EffectKind::FileDelete | EffectKind::Discard => Self::Delete,
            EffectKind::Send | EffectKind::Publish | EffectKind::RemoteChange => Self::Send,
            EffectKind::RemoteDelete => Self::RemoteDelete,
            EffectKind::SystemChange => Self::System,
            EffectKind::Privilege => Self::Privilege,
            EffectKind::Evade => Self::Evade,
            EffectKind::SecretRead => Self::Secret,
            EffectKind::UnseenCode => Self::Unseen,
            EffectKind::ProcessStop => Self::Stop,
            EffectKind::ResourceUse => Self::Resource,
            EffectKind::FileRead => Self::Read,
            EffectKind::Network => Self::Contact,
            EffectKind::ProcessStart => Self::Start,
            EffectKind::Other(_) => return None,
        })
    }

    /// Returns true for a class that is hardly the reason for a refusal, if the action does
    /// anything else.
    pub(super) const fn is_light(self) -> bool {
        matches!(self, Self::Read | Self::Contact | Self::Start)
    }

    /// Ranks the classes as reasons for a refusal: light ones, writing, all else.
    const fn weight(self) -> u8 {
        match self {
            Self::Read | Self::Contact | Self::Start => 0,
            Self::Write => 1,
            _ => 2,
        }
    }

    const fn is_on_a_host(self) -> bool {
        matches!(self, Self::Send | Self::RemoteDelete | Self::Contact | Self::Unseen)
    }

    /// Returns true if `new` does at least as much as the refused `self`.
    const fn covers(self, new: Self) -> bool {
        self as u8 == new as u8
            || matches!(
                (self, new),
                (Self::Read, Self::Secret)
                    | (Self::Secret, Self::Read)
                    // Sending contacts a machine as well, but not the other way round.
                    | (Self::Contact, Self::Send)
            )
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Write => "writing to",
            Self::Delete => "deleting",
            Self::Send => "sending to",
            Self::RemoteDelete => "a remote deletion on",
            Self::System => "a change of the machine at",
            Self::Privilege => "loosening the rights of",
            Self::Evade => "weakening the protection of",
            Self::Secret => "reading the secret in",
            Self::Unseen => "executing unseen code from",
            Self::Stop => "stopping",
            Self::Resource => "using up",
            Self::Read => "reading",
            Self::Contact => "contacting",
            Self::Start => "starting",
        }
    }
}

/// One effect that an action would have, in the form in which two actions are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ComparedEffect {
    pub(super) class: Class,
    /// A path without a trailing glob, a host, or a name. Never empty.
    pub(super) target: String,
    /// It applies to everything below the target.
    pub(super) recursive: bool,
}

impl ComparedEffect {
    /// Returns the compared form of an effect; none if it has no target that could recur.
    fn of(effect: &Effect, action: &Action) -> Option<Self> {
        let facts = &action.facts;
        let class = match Class::of(&effect.kind)? {
            Class::Write if is_moved_away(effect, action) => Class::Delete,
            class => class,
        };
        let path = facts
            .path(effect)
            .map(|path| path.text.as_str())
            .or_else(|| effect.target.starts_with('/').then_some(&effect.target));
        let (target, recursive) = match path {
            Some(path) if place::is_sink(path) => return None,
            Some(path) => {
                let (folder, swept) = place::whole(path);
                (folder.to_owned(), effect.recursive || swept)
            }
            None if class.is_on_a_host() => {
                let host = place::host_of(&effect.target);
                let host = if host.is_empty() {
                    facts.hosts.first().map(|host| place::host_of(host)).unwrap_or_default()
                } else {
                    host
                };
                (host, false)
            }
            None => (effect.target.clone(), false),
        };
        let needs_path = matches!(class, Class::Privilege | Class::Start);
        let useless = target.is_empty()
            || target == "/"
            || (needs_path && !target.contains('/'))
            || place::is_loopback(&target);
        (!useless).then(|| Self { class, target: clip(&target, MOST_TARGET), recursive })
    }

    /// Returns true if `new` has this effect, which was refused.
    fn is_repeated_by(&self, new: &Self) -> bool {
        let within = |outer: &Self, inner: &Self| {
            outer.recursive
                && outer.target.starts_with('/')
                && place::holds(&outer.target, &inner.target)
        };
        self.class.covers(new.class)
            && (self.target == new.target || within(self, new) || within(new, self))
    }
}

/// Returns true for the source of a move: it is gone from its place, as after a deletion.
fn is_moved_away(effect: &Effect, action: &Action) -> bool {
    let index = effect.command.and_then(|index| usize::try_from(index).ok());
    let commands = action.shell().map_or(&[][..], |shell| shell.commands.as_slice());
    let command = index.and_then(|index| commands.get(index));
    effect.recursive && command.is_some_and(|command| command.program == "mv")
}

/// Returns the effects of an action that may be the reason for a refusal: those of the greatest
/// weight.
pub(super) fn refusable(action: &Action) -> Vec<ComparedEffect> {
    let effects = action.facts.effects.iter();
    let all = distinct(effects.filter_map(|effect| ComparedEffect::of(effect, action)));
    let most = all.iter().map(|effect| effect.class.weight()).max();
    all.into_iter().filter(|effect| Some(effect.class.weight()) == most).take(MOST).collect()
}

/// Returns the first of the refused effects that an action has. Deleting something restorable, and
/// sending or writing without the dangerous form that was refused, are milder and count as other
/// effects.
pub(super) fn again(
    refused: &[ComparedEffect],
    refused_form: bool,
    action: &Action,
) -> Option<ComparedEffect> {
    let facts = &action.facts;
    let milder = |effect: &Effect, compared: &ComparedEffect| match compared.class {
        Class::Delete => place::is_expendable(effect, facts),
        Class::Write if installs_declared(effect, action) => true,
        Class::Send | Class::Write => refused_form && facts.forms.is_empty(),
        _ => false,
    };
    facts
        .effects
        .iter()
        .filter_map(|effect| {
            ComparedEffect::of(effect, action).filter(|compared| !milder(effect, compared))
        })
        .find(|compared| refused.iter().any(|refused| refused.is_repeated_by(compared)))
}

/// Returns true for an effect of a command that installs what the project declares, and nothing that
/// it names itself: `npm ci` is no other way to `npm install NAME`.
fn installs_declared(effect: &Effect, action: &Action) -> bool {
    const INSTALLERS: &[(&str, &[&str])] = &[
        ("bun", &["ci", "i", "install"]),
        ("bundle", &["install"]),
        ("composer", &["install"]),
        ("npm", &["ci", "clean-install", "i", "install"]),
        ("pdm", &["install", "sync"]),
        ("pipenv", &["install", "sync"]),
        ("pnpm", &["ci", "i", "install"]),
        ("poetry", &["install"]),
        ("uv", &["sync"]),
        ("yarn", &["install"]),
    ];
    let index = effect.command.and_then(|index| usize::try_from(index).ok());
    let commands = action.shell().map_or(&[][..], |shell| shell.commands.as_slice());
    let Some(command) = index.and_then(|index| commands.get(index)) else { return false };
    let installer = INSTALLERS.iter().find(|(program, _)| *program == command.program);
    let mut words =
        command.words.iter().map(|word| word.text.as_str()).filter(|word| !word.starts_with('-'));
    installer.is_some_and(|(_, verbs)| words.next().is_some_and(|verb| verbs.contains(&verb)))
        && words.next().is_none()
}

fn distinct(effects: impl Iterator<Item = ComparedEffect>) -> Vec<ComparedEffect> {
    let mut found: Vec<ComparedEffect> = Vec::new();
    for effect in effects {
        if found.len() < MOST * 4 && !found.contains(&effect) {
            found.push(effect);
        }
    }
    found
}
