//! The environment that a client started a hook in.
//!
//! A hook reviews in its own process, and then it is that of this process. A hook that hands its
//! event to another process hands its environment on: which folders count, and whose processes are
//! measured, must not depend on who reviews.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;

/// The variables and the processes around a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEnvironment {
    /// Its variables; `None` if they are this process's.
    variables: Option<Arc<BTreeMap<OsString, OsString>>>,
    /// The hook's process.
    process: u32,
    /// The process that started the hook.
    parent: u32,
}

impl HookEnvironment {
    /// Returns the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self { variables: None, process: process::id(), parent: parent_id() }
    }

    /// Returns the environment that another process handed on: its variables, its own id and that
    /// of its parent.
    #[must_use]
    pub fn of_hook(variables: BTreeMap<OsString, OsString>, process: u32, parent: u32) -> Self {
        Self { variables: Some(Arc::new(variables)), process, parent }
    }

    /// Returns all variables.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        match &self.variables {
            None => env::vars_os().collect(),
            Some(variables) => {
                variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
            }
        }
    }

    /// Returns a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match &self.variables {
            None => env::var_os(name),
            Some(variables) => variables.get(OsStr::new(name)).cloned(),
        }
    }

    /// Returns a variable that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.variable(name)?.into_string().ok()
    }

    /// Returns the absolute folder that a variable names.
    #[must_use]
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Returns the project that a client names to its hooks, if it is an absolute path.
    #[must_use]
    pub fn project(&self) -> Option<PathBuf> {
        let layouts = crate::ALL.iter().map(|agent| agent.hook_settings().layout());
        layouts.filter_map(|layout| layout.project_variable).find_map(|name| self.folder(name))
    }

    /// Returns the id of the hook's process.
    #[must_use]
    pub const fn process(&self) -> u32 {
        self.process
    }

    /// Returns the id of the process that started the hook.
    #[must_use]
    pub const fn parent(&self) -> u32 {
        self.parent
    }
}
