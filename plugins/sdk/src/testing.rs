//! Actions, contexts, histories and issues for native tests, one line each.
//!
//! The project is `/project`; relative paths are resolved in it. These helpers are only as clever
//! as a test needs: a command line is cut at spaces, `;`, `|` and `&&`, it is not the host's shell
//! reader, and the test itself states the effects of a command ([`BuildAction`]).
//!
//! ```
//! use portcullis_plugin::testing::{self, BuildAction, BuildContext};
//!
//! let action = testing::shell("rm -rf build").deletes("build").at_step(4);
//! assert_eq!(action.facts.paths[0].text, "/project/build");
//! let context = testing::context().goal("clean up").failures(2);
//! assert_eq!(context.repetition.failures, 2);
//! ```

mod actions;
mod patterns;
mod sessions;

pub use actions::{
    BuildAction, fetch, file_delete, file_edit, file_read, file_write, message, shell, tool,
};
pub use patterns::PatternRun;
pub use sessions::{
    BuildContext, BuildIssue, BuildStep, context, history, issue, record, situation, step,
};

use crate::host::Level;
use crate::types::StepDetail;
use std::cell::RefCell;

/// The project folder in tests.
pub const PROJECT: &str = "/project";
/// The current time in tests: 2026-01-01T12:00:00Z.
pub const NOW: u64 = 1_767_268_800_000;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static STEPS: RefCell<Vec<(u64, StepDetail)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the log lines of this thread since the last call, each as `level: message`.
///
/// ```
/// use portcullis_plugin::{host, testing};
///
/// host::info("one");
/// host::warn("two");
/// assert_eq!(testing::logged(), ["info: one", "warn: two"]);
/// assert!(testing::logged().is_empty());
/// ```
#[must_use]
pub fn logged() -> Vec<String> {
    LOG.take()
}

/// Lets [`host::detail`](crate::host::detail) answer for a step, on this thread.
///
/// ```
/// use portcullis_plugin::{host, testing, types::StepDetail};
///
/// testing::remember(2, StepDetail { tool: "Read".into(), parameters: "{}".into(), effects: vec![], paths: vec![], outcome: None });
/// assert!(host::detail(2).is_some());
/// ```
pub fn remember(step: u64, detail: StepDetail) {
    STEPS.with_borrow_mut(|steps| steps.push((step, detail)));
}

#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "in a component the host does it"))]
pub(crate) fn keep_log(level: Level, message: &str) {
    let name = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    LOG.with_borrow_mut(|log| log.push(format!("{name}: {message}")));
}

#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "in a component the host does it"))]
pub(crate) fn recall(step: u64) -> Option<StepDetail> {
    STEPS.with_borrow(|steps| {
        steps.iter().rfind(|(known, _)| *known == step).map(|(_, detail)| detail.clone())
    })
}
