//! Missing things, and the acts that ran into them: the plugin's own state.

use super::answers::{Kind, Target};
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::state;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;
/// The maximum number of missing things and of acts that are kept, newest last: 24 KiB at most, the
/// host keeps 64.
const MOST_MISSING: usize = 64;
const MOST_ACTS: usize = 48;

/// An action that ran into something missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) step: u64,
    /// The session had been informed before.
    pub(super) informed: bool,
    pub(super) target: Target,
}

/// The state that the pattern keeps between calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) missing: Vec<Target>,
    pub(super) acts: Vec<Act>,
}

impl Memory {
    /// Decodes the state.
    ///
    /// # Errors
    /// Fails with `invalid-input` for bytes that this layout cannot have written.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        state::read(bytes, LAYOUT, |input| {
            let missing = state::list(input, MOST_MISSING, target)?;
            let act = |input: &mut Reader<'_>| {
                Some(Act {
                    step: state::long(input)?,
                    informed: input.byte()? != 0,
                    target: target(input)?,
                })
            };
            Some(Self { missing, acts: state::list(input, MOST_ACTS, act)? })
        })
    }

    /// Encodes the memory.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.number(self.missing.len());
        self.missing.iter().for_each(|target| write(&mut out, target));
        out.number(self.acts.len());
        for act in &self.acts {
            out.eight(act.step.to_le_bytes());
            out.byte(u8::from(act.informed));
            write(&mut out, &act.target);
        }
        out.into_bytes()
    }

    /// Records that something does not exist; returns true if that was known.
    pub(super) fn learn(&mut self, target: &Target) -> bool {
        let known = self.missing.contains(target);
        self.missing.retain(|other| other != target);
        push(&mut self.missing, target.clone(), MOST_MISSING);
        known
    }

    /// Records an act that ran into it.
    pub(super) fn act(&mut self, step: u64, informed: bool, target: Target) {
        push(&mut self.acts, Act { step, informed, target }, MOST_ACTS);
    }

    /// Forgets things of this kind that may exist now: those at `path`, below it and above it, or
    /// all.
    pub(super) fn forget(&mut self, kind: Kind, path: Option<&str>) {
        let near = |name: &str| {
            path.is_none_or(|path| {
                place::holds(path, name) || (kind == Kind::Path && place::holds(name, path))
            })
        };
        self.missing.retain(|target| target.kind != kind || !near(&target.name));
    }
}

fn target(input: &mut Reader<'_>) -> Option<Target> {
    let byte = input.byte()?;
    Some(Target { kind: *Kind::ALL.get(usize::from(byte))?, name: input.text()? })
}

fn write(out: &mut Writer, target: &Target) {
    out.byte(target.kind as u8);
    out.text(&target.name);
}

fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    list.push(item);
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}
