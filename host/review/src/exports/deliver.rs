//! One run of one export: deliveries until nothing waits, the time is over, or one fails.

use super::batch::{Batch, read_batch};
use super::machine::RecordOrigin;
use super::render::RenderRecords;
use super::settings::{ConfiguredExport, ExportStart, RefusalPolicy};
use super::state::ExportState;
use crate::export::for_exporter;
use crate::stored_records::to_store;
use portcullis_config::names::is_name;
use portcullis_core::finding::AuditRecord;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::hash_parts;
use portcullis_credentials::CredentialReader;
use portcullis_fs::open_lock_file;
use portcullis_sinks::{
    Accepted, Cargo, OpenSink, SinkFailure, SinkProblem, SyslogMessage, SyslogSeverity,
};
use portcullis_store::{ExportCursor, Hash, Home, Store, StoreError, StoredRecord};
use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

/// The most records passed over without a delivery in between: if a sink refuses all of them, its
/// settings are wrong, not the records.
const MOST_SKIPPED: u64 = 10;

/// An export cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The journal or the cursor cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cursor names a record that the journal does not hold.
    #[error(
        "the export `{name}` is at record {sequence}, and the journal holds another one there or \
         none: `portcullis exports reset {name}` starts it again"
    )]
    NotThisJournal {
        /// The export.
        name: String,
        /// The position of its cursor.
        sequence: u64,
    },
    /// The sink or the plugin did not take the records. It is noted with the cursor.
    #[error("{what}")]
    Failed {
        /// The failure, with its fix.
        what: String,
        /// True if the sink refused the credential.
        is_of_credential: bool,
    },
}

impl ExportError {
    fn of_failure(failure: &SinkFailure) -> Self {
        Self::Failed { what: failure.to_string(), is_of_credential: failure.is_of_credential }
    }

    /// Returns true if the sink refused the credential.
    #[must_use]
    pub const fn is_of_credential(&self) -> bool {
        matches!(self, Self::Failed { is_of_credential: true, .. })
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Records that the sink acknowledged.
    pub delivered: u64,
    /// Records that were passed over.
    pub skipped: u64,
    /// Records that retention had removed.
    pub lost: u64,
    /// True if records are left: the time was over, or they wait for more.
    pub is_unfinished: bool,
    /// The sink's last answer.
    pub answer: Option<String>,
}

/// The right to deliver an export: one process at a time has it.
#[derive(Debug)]
pub struct ExportLock(#[allow(dead_code, reason = "it holds the lock until it is dropped")] File);

impl ExportLock {
    /// Takes the lock of an export; `None` if another process delivers it just now.
    ///
    /// # Errors
    /// Fails if the lock's file cannot be opened.
    pub fn take_lock(home: &Home, name: &str) -> io::Result<Option<Self>> {
        // A name that nobody can configure, as in a row that somebody forged, must not lead elsewhere.
        let file = match is_name(name) {
            true => format!("export.{name}.lock"),
            false => format!("export.{:016x}.lock", hash_parts(&[name])),
        };
        let lock = open_lock_file(&home.path().join(file))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self(lock))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// One run of one export, whose lock the caller holds.
pub struct ExportRun<'a> {
    /// The export's name.
    pub name: &'a str,
    /// Its settings.
    pub export: &'a ConfiguredExport,
    /// The journal.
    pub store: &'a mut Store,
    /// The formats.
    pub renderer: &'a mut dyn RenderRecords,
    /// The origin of the records.
    pub origin: &'a RecordOrigin,
    /// Reads credentials.
    pub credentials: &'a dyn CredentialReader,
    /// The clock, in milliseconds since 1970.
    pub now: fn() -> u64,
}

impl std::fmt::Debug for ExportRun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportRun").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A cursor with its notes.
struct Progress {
    cursor: ExportCursor,
    state: ExportState,
}

/// The reason why some records were not delivered.
enum PartFailure {
    Store(StoreError),
    Sink(SinkFailure),
}

impl From<StoreError> for PartFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SinkFailure> for PartFailure {
    fn from(failure: SinkFailure) -> Self {
        Self::Sink(failure)
    }
}

impl ExportRun<'_> {
    /// Delivers what waits, until `until`. With `patient`, a delivery that is not full waits for more
    /// records as long as the settings say; without it, nothing waits, not even a retry.
    ///
    /// # Errors
    /// Fails if a delivery failed, which is noted with the cursor, or the journal cannot be used.
    pub fn deliver_waiting(
        &mut self,
        until: Instant,
        patient: bool,
    ) -> Result<Delivery, ExportError> {
        let mut delivery = Delivery::default();
        let mut progress = self.find_progress(&mut delivery)?;
        if patient && progress.state.retry_at > (self.now)() {
            return Ok(Delivery { is_unfinished: true, ..delivery });
        }
        let mut sink = None;
        loop {
            let batch = read_batch(self.store, self.export, progress.cursor.sequence)?;
            let Some(last) = batch.last else { return Ok(delivery) };
            if patient && self.may_wait(&batch) {
                return Ok(Delivery { is_unfinished: true, ..delivery });
            }
            let outcome =
                self.deliver_batch(&mut sink, &batch.wanted, &mut progress, &mut delivery);
            match outcome {
                Ok(()) => self.move_to(&mut progress, last)?,
                Err(PartFailure::Store(error)) => return Err(error.into()),
                Err(PartFailure::Sink(failure)) => {
                    return Err(self.note_failure(&mut progress, &failure)?);
                }
            }
            if !batch.is_full {
                return Ok(delivery);
            }
            if Instant::now() >= until {
                return Ok(Delivery { is_unfinished: true, ..delivery });
            }
        }
    }

    /// Sends a record that is in no journal, to try the sink; returns its answer.
    ///
    /// # Errors
    /// Fails if the plugin or the sink does not take it, or the cursor cannot be written.
    pub fn send_trial(&mut self) -> Result<String, ExportError> {
        let mut progress = self.find_progress(&mut Delivery::default())?;
        let mut sink = None;
        let summary = format!("a person tried the export `{}`", self.name);
        let now = (self.now)();
        let record = Record::outside_session(
            RecordKind::Configuration,
            "exports test",
            &summary,
            now,
            self.name,
        );
        let record = StoredRecord::chain_after(None, None, None, to_store(&record));
        let record = StoredRecord { sequence: 0, ..record };
        let sent = self.deliver_part(&mut sink, &[record], &progress);
        let accepted = sent.map_err(|failure| ExportError::of_failure(&failure))?;
        // A file has grown.
        progress.state.position = sink.as_ref().map(OpenSink::position).unwrap_or_default();
        self.write(&mut progress)?;
        Ok(accepted.what)
    }

    /// Returns true if a delivery is not full and young.
    fn may_wait(&self, batch: &Batch) -> bool {
        let Some(oldest) = batch.wanted.first() else { return false };
        let age = (self.now)().saturating_sub(oldest.record.at);
        !batch.is_full && u128::from(age) < self.export.batch_wait.as_millis()
    }

    /// Reads the cursor, or begins one. What retention removed after it is counted.
    fn find_progress(&mut self, delivery: &mut Delivery) -> Result<Progress, ExportError> {
        let start = self.store.start()?;
        let Some(cursor) = self.store.find_export_cursor(self.name)? else {
            let position = match self.export.start {
                ExportStart::Now => {
                    let head = self.store.head_anchor((self.now)())?;
                    (head.sequence, head.hash)
                }
                ExportStart::Beginning => {
                    start.map_or_else(Default::default, |start| (start.sequence, start.hash))
                }
            };
            let mut progress = Progress {
                cursor: ExportCursor { name: self.name.to_owned(), ..ExportCursor::default() },
                state: ExportState::default(),
            };
            self.move_to(&mut progress, position)?;
            return Ok(progress);
        };
        let state = ExportState::of_cursor(&cursor);
        let mut progress = Progress { cursor, state };
        let sequence = progress.cursor.sequence;
        match start.filter(|start| start.sequence > sequence) {
            Some(start) => {
                let lost = start.sequence.saturating_sub(sequence);
                progress.state.lost = progress.state.lost.saturating_add(lost);
                delivery.lost = lost;
                self.move_to(&mut progress, (start.sequence, start.hash))?;
            }
            None if !self.holds(&progress.cursor)? => {
                return Err(ExportError::NotThisJournal { name: self.name.to_owned(), sequence });
            }
            None => {}
        }
        Ok(progress)
    }

    /// Returns true if the journal holds the cursor's record, or begins right after it.
    fn holds(&mut self, cursor: &ExportCursor) -> Result<bool, StoreError> {
        use portcullis_store::{Anchor, AnchorStatus};
        if cursor.sequence == 0 {
            return Ok(true);
        }
        let anchor = Anchor { sequence: cursor.sequence, hash: cursor.hash, at: 0 };
        let found = self.store.check_anchors(&[anchor])?;
        Ok(found.first().is_some_and(|(_, status)| {
            matches!(status, AnchorStatus::Holds | AnchorStatus::Pruned)
        }))
    }

    /// Delivers records; where they are refused, in halves, until the refused one is alone.
    fn deliver_batch(
        &mut self,
        sink: &mut Option<OpenSink>,
        records: &[StoredRecord],
        progress: &mut Progress,
        delivery: &mut Delivery,
    ) -> Result<(), PartFailure> {
        // The parts that are left, the next one last: an explicit stack, since a batch can be halved
        // often.
        let mut parts = vec![records];
        while let Some(part) = parts.pop() {
            let Some(last) = part.last() else { continue };
            match self.deliver_part(sink, part, progress) {
                Ok(accepted) => {
                    let count = part.len() as u64;
                    delivery.delivered = delivery.delivered.saturating_add(count);
                    delivery.answer = Some(accepted.what);
                    progress.state.note_delivery(count, accepted.rejected, (self.now)());
                    progress.state.position =
                        sink.as_ref().map(OpenSink::position).unwrap_or_default();
                }
                Err(failure) if failure.problem != SinkProblem::Refused => {
                    return Err(failure.into());
                }
                Err(_) if part.len() > 1 => {
                    let (first, rest) = part.split_at(part.len() / 2);
                    parts.extend([rest, first]);
                    continue;
                }
                Err(failure)
                    if self.export.on_refusal == RefusalPolicy::Stop
                        || progress.state.skipped_in_row >= MOST_SKIPPED =>
                {
                    return Err(self.describe_refusal(&failure, last).into());
                }
                Err(failure) => {
                    progress.state.note_skip(&last.record.id, &failure.to_string());
                    delivery.skipped = delivery.skipped.saturating_add(1);
                }
            }
            self.move_to(progress, (last.sequence, last.hash))?;
        }
        Ok(())
    }

    fn describe_refusal(&self, failure: &SinkFailure, record: &StoredRecord) -> SinkFailure {
        let what = format!("record {} is refused: {}", record.record.id, failure.what);
        let fix = match self.export.on_refusal {
            RefusalPolicy::Stop => format!(
                "{}, or pass over such records with `exports.{}.retry.on_refusal = \"skip\"`",
                failure.fix, self.name
            ),
            RefusalPolicy::Skip => format!(
                "{}; {MOST_SKIPPED} records before it were passed over without any delivery",
                failure.fix
            ),
        };
        SinkFailure { what, fix, ..failure.clone() }
    }

    /// Renders and delivers some records.
    fn deliver_part(
        &mut self,
        sink: &mut Option<OpenSink>,
        part: &[StoredRecord],
        progress: &Progress,
    ) -> Result<Accepted, SinkFailure> {
        let sink = match sink {
            Some(open) => open,
            None => sink.insert(self.open_sink(&progress.state)?),
        };
        let mut records = Vec::with_capacity(part.len());
        for stored in part {
            let mut record = for_exporter(stored)
                .map_err(|error| refused(format!("this version cannot read it ({error:#})")))?;
            self.origin.add_to(&mut record);
            records.push(record);
        }
        let now = (self.now)();
        let first = sink.starts_document(now)?;
        if sink.takes_messages() {
            let messages = self.render_messages(&records, now)?;
            return sink.deliver(&Cargo::Messages(&messages), now, self.deadline());
        }
        let rendered = self.render(&records, first, now)?;
        let cargo =
            Cargo::Document { bytes: &rendered.bytes, content_type: &rendered.content_type };
        sink.deliver(&cargo, now, self.deadline())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.export.timeout
    }

    fn open_sink(&self, state: &ExportState) -> Result<OpenSink, SinkFailure> {
        match &self.export.sink {
            Ok(sink) => OpenSink::open(sink, self.credentials, &state.position),
            Err(problem) => Err(SinkFailure {
                problem: SinkProblem::Settings,
                what: problem.clone(),
                fix: format!("`portcullis exports test {}` tries it", self.name),
                is_of_credential: false,
            }),
        }
    }

    fn render_messages(
        &mut self,
        records: &[AuditRecord],
        now: u64,
    ) -> Result<Vec<SyslogMessage>, SinkFailure> {
        let mut messages = Vec::with_capacity(records.len());
        for record in records {
            let rendered = self.render(std::slice::from_ref(record), false, now)?;
            messages.push(SyslogMessage {
                at: format_rfc3339(record.at),
                severity: syslog_severity(record),
                id: record.kind.clone(),
                text: rendered.bytes,
            });
        }
        Ok(messages)
    }

    fn render(
        &mut self,
        records: &[AuditRecord],
        first: bool,
        now: u64,
    ) -> Result<portcullis_core::finding::Rendered, SinkFailure> {
        let rendered = self.renderer.render_records(&self.export.format, records, first, now);
        rendered.map_err(|failure| match failure.is_refusal {
            true => refused(failure.what),
            false => SinkFailure {
                problem: SinkProblem::Settings,
                what: failure.what,
                fix: format!("check `exports.{}.format` and `portcullis plugin list`", self.name),
                is_of_credential: false,
            },
        })
    }

    /// Moves the cursor, and writes its notes.
    fn move_to(
        &mut self,
        progress: &mut Progress,
        (sequence, hash): (u64, Hash),
    ) -> Result<(), StoreError> {
        let cursor = &mut progress.cursor;
        // A new cursor is written even at the beginning.
        let is_moved = cursor.sequence != sequence || cursor.document.is_empty();
        (cursor.sequence, cursor.hash) = (sequence, hash);
        if is_moved { self.write(progress) } else { Ok(()) }
    }

    fn write(&mut self, progress: &mut Progress) -> Result<(), StoreError> {
        progress.state.write_to(&mut progress.cursor);
        self.store.put_export_cursor(&progress.cursor)
    }

    /// Notes a failure with the cursor, and when it is tried again.
    fn note_failure(
        &mut self,
        progress: &mut Progress,
        failure: &SinkFailure,
    ) -> Result<ExportError, StoreError> {
        let asked = match failure.problem {
            SinkProblem::Later(wait) => wait.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let own = self.export.retry_wait(self.name, progress.state.failures.saturating_add(1));
        progress.state.note_failure(&failure.to_string(), (self.now)(), own.max(asked));
        self.write(progress)?;
        Ok(ExportError::of_failure(failure))
    }
}

fn refused(what: String) -> SinkFailure {
    SinkFailure {
        problem: SinkProblem::Refused,
        what,
        fix: "look at the record with `portcullis audit show --json`".into(),
        is_of_credential: false,
    }
}

/// Formats a time in milliseconds since 1970 as RFC 3339, UTC.
fn format_rfc3339(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| "-".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// Returns the severity that a syslog server files a record under.
fn syslog_severity(record: &AuditRecord) -> SyslogSeverity {
    let verdict = record.decision.as_ref().map(|decision| decision.verdict);
    if record.kind == RecordKind::Fault.as_str() || !record.faults.is_empty() {
        return SyslogSeverity::Error;
    }
    let is_answer = record.kind == RecordKind::Intervention.as_str();
    if verdict >= Some(Verdict::Ask) || !record.detections.is_empty() || is_answer {
        return SyslogSeverity::Warning;
    }
    if verdict >= Some(Verdict::Warn) || record.kind == RecordKind::Unreviewed.as_str() {
        return SyslogSeverity::Notice;
    }
    SyslogSeverity::Informational
}
