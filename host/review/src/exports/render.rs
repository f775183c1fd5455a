//! Records in an exporter's format.

use crate::reviewer::Reviewer;
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::{AuditRecord, Rendered};
use portcullis_engine::Kind;

/// Writes records in a format.
pub trait RenderRecords {
    /// Writes records in the format of that name; `first` is set where a document begins. `now` is
    /// in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if there is no such format, or the plugin does not write these records.
    fn render_records(
        &mut self,
        format: &str,
        records: &[AuditRecord],
        first: bool,
        now: u64,
    ) -> Result<Rendered, RenderFailure>;
}

/// A plugin wrote nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct RenderFailure {
    /// True if it is about these records: others may be written.
    pub is_refusal: bool,
    /// The description, in one line.
    pub what: String,
}

/// The exporter plugins of an installation, builtin ones and others alike.
pub struct PluginRenderer(pub Reviewer);

impl std::fmt::Debug for PluginRenderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginRenderer").finish_non_exhaustive()
    }
}

impl RenderRecords for PluginRenderer {
    fn render_records(
        &mut self,
        format: &str,
        records: &[AuditRecord],
        first: bool,
        now: u64,
    ) -> Result<Rendered, RenderFailure> {
        let plugins = &mut self.0.plugins;
        plugins.begin_review(now);
        let Some(answer) = plugins.render_records(format, records, first) else {
            let known = plugins.list_names(Kind::AuditExporter).join(", ");
            let what = format!("there is no exporter `{format}`; there are {known}");
            return Err(RenderFailure { is_refusal: false, what });
        };
        answer.result.map_err(|fault| RenderFailure {
            is_refusal: is_about_records(fault.kind),
            what: format!("the exporter {fault}"),
        })
    }
}

/// Returns true for a fault of an exporter that other records, or fewer, may not cause.
#[must_use]
pub const fn is_about_records(fault: FaultKind) -> bool {
    matches!(
        fault,
        FaultKind::Trap
            | FaultKind::OutOfFuel
            | FaultKind::OutOfMemory
            | FaultKind::StackOverflow
            | FaultKind::OutputTooLarge
            | FaultKind::BadValue
            | FaultKind::Declined
    )
}
