//! The engine's side of the circuit breaker: which files are not run, and what became of those that were.
//!
//! When a file is held, for how long, and who keeps that in mind, is not known here.

use crate::faults::Failure;
use portcullis_core::fault::{Fault, FaultKind};
use portcullis_core::plugins::{Answer, Identity};

/// A file that is not run while it is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The plugin's name.
    pub name: String,
    /// BLAKE3 of the file that is held, 64 hex digits; another one runs.
    pub digest: String,
    /// Why, in words, and what ends it.
    pub why: String,
}

/// What became of a file that was run in a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The plugin's name.
    pub name: String,
    /// BLAKE3 of the file, 64 hex digits; empty where it could not be read.
    pub digest: String,
    /// The first thing that went wrong with it.
    pub fault: Option<Fault>,
}

/// Of one review.
#[derive(Debug, Default)]
pub(crate) struct Breakers {
    held: Vec<Hold>,
    asked: Vec<Asked>,
}

impl Breakers {
    pub(crate) fn hold(&mut self, held: Vec<Hold>) {
        self.held = held;
    }

    /// A new review begins: nothing is held, nobody was asked.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Why this plugin is not run, if it is held.
    pub(crate) fn held(&self, plugin: &Identity) -> Option<Failure> {
        let hold = self.held.iter().find(|hold| plugin.foreign && hold.name == plugin.name && hold.digest == plugin.digest)?;
        Some(Failure::new(FaultKind::Held, hold.why.clone()))
    }

    /// Takes down what became of a plugin.
    pub(crate) fn note<T>(&mut self, answer: &Answer<T>) {
        let (plugin, fault) = (&answer.plugin, answer.result.as_ref().err());
        if !plugin.foreign || fault.is_some_and(|fault| fault.kind == FaultKind::Held) {
            return;
        }
        match self.asked.iter_mut().find(|asked| asked.name == plugin.name) {
            Some(asked) => asked.fault = asked.fault.take().or_else(|| fault.cloned()),
            None => self.asked.push(Asked { name: plugin.name.clone(), digest: plugin.digest.clone(), fault: fault.cloned() }),
        }
    }

    pub(crate) fn asked(&self) -> &[Asked] {
        &self.asked
    }
}
