//! Write records of the journal in a format.
//!
//! ```
//! use portcullis_plugin::audit_exporter::*;
//! use portcullis_plugin::testing;
//!
//! struct Lines;
//!
//! impl AuditExporter for Lines {
//!     const DESCRIPTOR: Descriptor = Descriptor::new("lines", "0.1.0", "A line a record.").reads(&[Reads::Records]);
//!
//!     fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
//!         let lines: String = records.iter().map(|record| format!("{} {}\n", record.sequence, record.summary.escape_debug())).collect();
//!         Ok(Rendered::text(lines, "text/plain; charset=utf-8"))
//!     }
//! }
//!
//! portcullis_plugin::export!(audit-exporter: Lines);
//!
//! let rendered = Lines::render(&[], &[testing::record(7)], true).unwrap();
//! assert_eq!(rendered.bytes, b"7 Bash: ls\n");
//! ```

pub use crate::bindings::audit_exporter::exports::portcullis::plugin::exporter::{
    AuditRecord, Decision, Detected, Faulted, RecordKind, Rendered,
};
pub use crate::descriptor::{Descriptor, Reads, Spec};
pub use crate::settings::{FromSettings, Settings};
pub use crate::types::{Error, Setting, Severity, Verdict};

/// A plugin that writes records in a format.
///
/// ```
/// use portcullis_plugin::audit_exporter::*;
/// use portcullis_plugin::testing;
///
/// struct Numbers;
///
/// impl AuditExporter for Numbers {
///     const DESCRIPTOR: Descriptor = Descriptor::new("numbers", "0.1.0", "The positions of records, below a heading.")
///         .reads(&[Reads::Records])
///         .settings(&[Spec::text("heading", "number", "what stands above them")]);
///
///     fn render(prepared: &[u8], records: &[AuditRecord], first: bool) -> Result<Rendered, Error> {
///         let settings = Settings::read(prepared)?;
///         let mut text = if first { format!("{}\n", settings.text("heading")?) } else { String::new() };
///         records.iter().for_each(|record| text.push_str(&format!("{}\n", record.sequence)));
///         Ok(Rendered::text(text, "text/plain; charset=utf-8"))
///     }
/// }
///
/// let prepared = Numbers::prepare(&[Setting::new("heading", "position")])?;
/// assert_eq!(Numbers::render(&prepared, &[testing::record(7)], true)?.bytes, b"position\n7\n");
/// assert!(Numbers::prepare(&[Setting::new("headings", "position")]).is_err());
/// # Ok::<(), Error>(())
/// ```
pub trait AuditExporter {
    /// The plugin's metadata.
    const DESCRIPTOR: Descriptor;

    /// Checks the settings and does the work that is needed once rather than for each batch. The
    /// default checks them against the descriptor and returns [`Settings::to_bytes`].
    ///
    /// # Errors
    /// Fails if a setting is unknown, of the wrong type or impossible.
    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        Self::DESCRIPTOR.prepare(settings)
    }

    /// Renders records in order; `first` is set for the first batch of an export.
    ///
    /// # Errors
    /// Fails if it cannot render them. The host keeps the records and tries again.
    fn render(prepared: &[u8], records: &[AuditRecord], first: bool) -> Result<Rendered, Error>;
}

/// ```
/// use portcullis_plugin::audit_exporter::Rendered;
///
/// let rendered = Rendered::text("a,b\n".to_owned(), "text/csv; charset=utf-8");
/// assert_eq!((rendered.bytes.as_slice(), rendered.content_type.as_str()), (&b"a,b\n"[..], "text/csv; charset=utf-8"));
/// ```
impl Rendered {
    /// Returns rendered text with its content type.
    #[must_use]
    pub fn text(text: String, content_type: &str) -> Self {
        Self { bytes: text.into_bytes(), content_type: content_type.into() }
    }
}

/// ```
/// use portcullis_plugin::audit_exporter::RecordKind;
///
/// assert_eq!(RecordKind::Review.as_str(), "review");
/// assert_eq!(RecordKind::Other("exception".into()).as_str(), "exception");
/// ```
impl RecordKind {
    /// Returns the name used in records.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Review => "review",
            Self::Outcome => "outcome",
            Self::Unreviewed => "unreviewed",
            Self::Intervention => "intervention",
            Self::Session => "session",
            Self::Configuration => "configuration",
            Self::Fault => "fault",
            Self::Other(name) => name,
        }
    }
}
