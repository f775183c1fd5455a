//! The host functions that a plugin may call: log a line, read a past step in full.
//!
//! In a component these call the host. Anywhere else (a native test) they go to and come from
//! [`testing`](crate::testing): log lines are kept for [`testing::logged`](crate::testing::logged),
//! past steps are those given to [`testing::remember`](crate::testing::remember).

pub use crate::bindings::host::Level;
use crate::types::StepDetail;

/// Writes one line to the plugin's log: at most 64 lines and 8 KiB in each call into the plugin.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::warn("the folder list is empty");
/// assert_eq!(testing::logged(), ["warn: the folder list is empty"]);
/// ```
pub fn log(level: Level, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::host::log(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::keep_log(level, message);
}

/// Logs a message that helps during development.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::debug("it took the short way");
/// assert_eq!(testing::logged(), ["debug: it took the short way"]);
/// ```
pub fn debug(message: &str) {
    log(Level::Debug, message);
}

/// Logs an informational message.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::info("3 folders are guarded");
/// assert_eq!(testing::logged(), ["info: 3 folders are guarded"]);
/// ```
pub fn info(message: &str) {
    log(Level::Info, message);
}

/// Logs a message that deserves attention.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::warn("there is no folder to guard");
/// assert_eq!(testing::logged(), ["warn: there is no folder to guard"]);
/// ```
pub fn warn(message: &str) {
    log(Level::Warn, message);
}

/// Logs an error.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::error("the list of folders cannot be read");
/// assert_eq!(testing::logged(), ["error: the list of folders cannot be read"]);
/// ```
pub fn error(message: &str) {
    log(Level::Error, message);
}

/// Returns one past step of this session in full: at most 16 in each call into the plugin. None
/// when the host does not keep it.
///
/// ```
/// use portcullis_plugin::{host, testing, types::StepDetail};
///
/// let known = StepDetail { tool: "Bash".into(), parameters: "{}".into(), effects: vec![], paths: vec![], outcome: None };
/// testing::remember(4, known);
/// assert_eq!(host::detail(4).map(|detail| detail.tool), Some("Bash".to_owned()));
/// assert!(host::detail(5).is_none());
/// ```
#[must_use]
pub fn detail(step: u64) -> Option<StepDetail> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::host::detail(step);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::recall(step)
}
