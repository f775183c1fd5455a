//! A client's own report of the hooks that it loaded.

use crate::invocation::Invocation;
use crate::settings::SettingsScope;
use serde::Deserialize;

/// A client's report of the hooks that it loaded.
pub trait HookListing {
    /// Returns the entries of its settings files that it could not use.
    fn problems(&self) -> &[ListingProblem];

    /// Returns the reason why our handlers of `scope` do not run as wanted; `None` if they do.
    fn disabled_reason(&self, scope: SettingsScope, wanted: &Invocation) -> Option<DisabledReason>;

    /// Returns the number of our events that are loaded from `scope`.
    fn count_loaded(&self, scope: SettingsScope, wanted: &Invocation) -> usize;

    /// Returns key and hash of each of our hooks of `scope`, for the client's record of trust; none
    /// if it keeps no such record.
    fn trust_entries(&self, _scope: SettingsScope, _wanted: &Invocation) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// An entry of a settings file that the client could not use.
#[derive(Clone, Debug, Deserialize)]
pub struct ListingProblem {
    /// The file.
    #[serde(default)]
    pub file: String,
    /// The key, in the client's own notation.
    #[serde(default)]
    pub path: String,
    /// The client's message.
    #[serde(default)]
    pub message: String,
}

/// The reason why our handlers of a scope do not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// `disableAllHooks` in the machine's settings.
    ByPolicy,
    /// `disableAllHooks` in some other settings file.
    Disabled,
    /// `allowManagedHooksOnly`.
    ManagedOnly,
    /// The client did not load our handlers for these events.
    NotLoaded(Vec<&'static str>),
    /// Nobody has trusted our handlers for these events.
    Untrusted(Vec<&'static str>),
}

impl std::fmt::Display for DisabledReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByPolicy => f.write_str("the machine's settings switch all hooks off (`disableAllHooks`)"),
            Self::Disabled => f.write_str("`disableAllHooks` in one of its settings files switches them off"),
            Self::ManagedOnly => {
                f.write_str("the machine's settings let only its own hooks run (`allowManagedHooksOnly`): install with --managed")
            }
            Self::Untrusted(events) => {
                write!(f, "it waits for a person to trust them, for {}", events.join(", "))
            }
            Self::NotLoaded(events) => write!(f, "it did not load them for {}", events.join(", ")),
        }
    }
}
