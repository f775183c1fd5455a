//! The process that a client started for an event: this one, or one that handed its event on.

use crate::user_view::{UserView, ViewFiles};
use anyhow::Result;
use portcullis_agents::{Agent, HookEnvironment};
use portcullis_checkpoint::FileAccess;
use portcullis_config::paths::{PathOverrides, Paths};
use portcullis_core::text::one_line;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

/// The key in a review's record for the reason that the resident service did not review it.
pub(crate) const WITHOUT_SERVICE: &str = "without_service";
/// The key in a review's record for the user whose hook handed over the facts of files.
pub(crate) const FACTS_OF_USER: &str = "facts_of_user";
/// The variable in which a hook passes that reason on to the embedded review.
const REASON_VARIABLE: &str = "PORTCULLIS_WITHOUT_SERVICE";
/// The most characters of such a reason.
const REASON_CHARS: usize = 240;

/// The process that a client started for an event.
#[derive(Clone)]
pub struct HookCaller {
    /// The client.
    pub agent: &'static dyn Agent,
    /// The environment of the process.
    pub environment: HookEnvironment,
    /// The folders that its command line pins.
    pub pins: PathOverrides,
    /// The folder that it runs in; empty if that is unknown.
    pub folder: PathBuf,
    /// What stands between it and this process, if its user is another one.
    pub across: Option<Arc<AcrossBoundary>>,
}

/// The hook of another user: this process keeps that user's state, and cannot see their files.
pub struct AcrossBoundary {
    /// The user.
    pub user: u32,
    /// The places of its event.
    pub places: Paths,
    /// What it answers about its user's files.
    pub view: Arc<UserView>,
}

impl HookCaller {
    /// Returns this process as the hook of a client.
    #[must_use]
    pub fn of_process(agent: &'static dyn Agent) -> Self {
        Self {
            agent,
            environment: HookEnvironment::of_process(),
            pins: PathOverrides::held(),
            folder: env::current_dir().unwrap_or_default(),
            across: None,
        }
    }

    /// Returns the eyes of the hook's user, if this process has others.
    pub(crate) fn view(&self) -> Option<&UserView> {
        self.across.as_deref().map(|across| &*across.view)
    }

    /// Returns the access to the files of the hook's user, for checkpoints.
    pub(crate) fn file_access(&self) -> FileAccess {
        match &self.across {
            None => FileAccess::default(),
            Some(across) => FileAccess::through(ViewFiles(Arc::clone(&across.view))),
        }
    }

    /// Returns the same hook with a reason that the service did not review its event.
    pub(crate) fn with_reason(&self, reason: &str) -> Self {
        let mut variables: BTreeMap<_, _> = self.environment.variables().into_iter().collect();
        variables.insert(REASON_VARIABLE.into(), reason.into());
        let (process, parent) = (self.environment.process(), self.environment.parent());
        Self { environment: HookEnvironment::of_hook(variables, process, parent), ..self.clone() }
    }

    /// Returns the places of an event in `cwd`.
    pub(crate) fn find_paths(&self, cwd: &str) -> Result<Paths> {
        match &self.across {
            Some(across) => Ok(across.places.clone()),
            None => Paths::in_environment(cwd, self.environment.clone(), self.pins.clone()),
        }
    }

    /// Returns the places of the process, for what is recorded without an event.
    pub(crate) fn own_paths(&self) -> Result<Paths> {
        self.find_paths(&self.folder.to_string_lossy())
    }

    /// Returns the reason that the resident service did not review its event, if it asked.
    pub(crate) fn fallback_reason(&self) -> Option<String> {
        let own = self.across.is_none();
        let reason = self.environment.text(REASON_VARIABLE).filter(|_| own)?;
        Some(one_line(&reason, REASON_CHARS))
    }
}
