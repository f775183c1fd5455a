//! Exports: from the journal, through a plugin that writes a format, to a sink.
//!
//! ```text
//! journal -> (after the cursor, filter) -> batch -> plugin renders -> sink takes -> cursor moves
//! ```
//!
//! The journal is the queue: nothing is copied aside, and a hook does nothing for it. The cursor of
//! an export is in the journal's database and moves only after the sink has acknowledged, so
//! delivery is at-least-once and in the journal's order. The resident service delivers as records
//! come; without it `maintain` does. One process at a time delivers an export (`ExportLock`).
//!
//! A failure is retried with growing waits and never given up: until it passes, the export stays
//! where it is. A record that retention removes before its delivery counts as lost, and `doctor` and
//! the metrics say so.

mod batch;
mod deliver;
mod machine;
mod render;
mod settings;
mod state;
mod status;

pub use deliver::{Delivery, ExportError, ExportLock, ExportRun};
pub use machine::{RecordOrigin, read_machine_name};
pub use render::{PluginRenderer, RenderFailure, RenderRecords, is_about_records};
pub use settings::{ConfiguredExport, ExportStart, RefusalPolicy, configured_exports};
pub use state::ExportState;
pub use status::{ExportStatus, list_export_statuses};

/// The kind of the work that `maintain` does for an export; the key is the export's name.
pub const WORK: &str = "export";
