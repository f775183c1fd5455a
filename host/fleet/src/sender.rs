//! Sends the journal: from the cursor on, in order, one batch at a time.
//!
//! The cursor moves only after the hub's signed answer that the records are durable. A process that
//! is killed in between sends the same records again, which the hub recognises. A cursor that was
//! lost is taken from the hub: of the journals that it knows, the one whose newest record this
//! journal holds is this one.

use crate::detail::reduce_record;
use crate::hub_client::{HubClient, HubError};
use crate::membership::{FleetFiles, Membership, Progress};
use crate::protocol::{
    Acceptance, BATCH_BYTES, Batch, MOST_RECORDS, Position, RefusalKind, SentDetail, SentRecord,
    VERSION,
};
use crate::receipt::{Receipt, ReceiptError};
use portcullis_core::mask::Masker;
use portcullis_fs::SealError;
use portcullis_store::{Anchor, AnchorStatus, Filter, Store, StoreError};
use std::ops::ControlFlow;
use std::time::Instant;

const JOURNAL_BYTES: usize = 16;

/// The reasons why records could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The exchange failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Identity or cursor cannot be read or written.
    #[error("the fleet's files in the home: {0}")]
    Files(#[from] SealError),
    /// The hub's receipt does not count.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The receipt is for something else than this journal.
    #[error(
        "the hub's receipt names {0}, which this journal does not hold: it is an older copy, or was \
         rewritten"
    )]
    NotThisJournal(Position),
    /// The receipt names another machine or journal.
    #[error("the hub's receipt is for another machine or journal")]
    ForeignReceipt,
}

/// The result of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Records that the hub has accepted.
    pub sent: u64,
    /// Records of the journal that the hub does not have yet.
    pub waiting: u64,
}

/// Sends the journal of one home.
pub struct JournalSender<'a> {
    /// The journal.
    pub store: &'a mut Store,
    /// The home's documents.
    pub files: &'a FleetFiles,
    /// The hub.
    pub client: &'a HubClient,
    /// The machine's identity.
    pub membership: &'a Membership,
    /// Finds secrets that an older version has recorded.
    pub masker: &'a Masker,
    /// The detail of what leaves.
    pub detail: SentDetail,
    /// The version of this program.
    pub portcullis: &'a str,
}

impl std::fmt::Debug for JournalSender<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalSender").field("detail", &self.detail).finish_non_exhaustive()
    }
}

impl JournalSender<'_> {
    /// Sends records until the hub has all of them or the time is over, and at least the head, so
    /// that the hub sees each journal that went back. `now` is the clock, in milliseconds since
    /// 1970.
    ///
    /// # Errors
    /// Fails if the hub does not take them. The cursor keeps what it took before.
    pub fn send_journal(
        &mut self,
        until: Instant,
        now: fn() -> u64,
    ) -> Result<SendReport, SendError> {
        let mut progress = match self.files.read_progress()? {
            Some(progress) => progress,
            None => self.find_progress()?,
        };
        let result = self.send_batches(&mut progress, until, now);
        match &result {
            Ok(_) => {
                progress.failures = 0;
                progress.last_error = None;
                progress.disputed = false;
            }
            Err(error) => {
                progress.failures = progress.failures.saturating_add(1);
                progress.last_error = Some(error.to_string());
                progress.disputed = is_dispute(error);
            }
        }
        self.files.write_progress(&progress)?;
        result
    }

    fn send_batches(
        &mut self,
        progress: &mut Progress,
        until: Instant,
        now: fn() -> u64,
    ) -> Result<SendReport, SendError> {
        let mut report = SendReport::default();
        let mut may_go_back = true;
        loop {
            let batch = self.pack_batch(progress, now())?;
            let withheld = batch.records.iter().filter(|record| !record.exact).count() as u64;
            let before = progress.sequence;
            match self.client.send_batch(&batch) {
                Ok(acceptance) => {
                    self.advance(progress, &acceptance, now())?;
                    progress.withheld = progress.withheld.saturating_add(withheld);
                }
                Err(HubError::Refused(refusal))
                    if may_go_back
                        && refusal.refused == RefusalKind::Incident
                        && refusal.head.is_some_and(|head| head.sequence < before) =>
                {
                    // A hub whose database was restored has less than it once had.
                    let head = refusal.head.unwrap_or_default();
                    if self.holds(head)? != AnchorStatus::Holds {
                        return Err(HubError::Refused(refusal).into());
                    }
                    may_go_back = false;
                    (progress.sequence, progress.hash) = (head.sequence, head.hash);
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            self.files.write_progress(progress)?;
            report.sent = report.sent.saturating_add(progress.sequence.saturating_sub(before));
            report.waiting = batch.head.sequence.saturating_sub(progress.sequence);
            if report.waiting == 0 || progress.sequence <= before || Instant::now() >= until {
                return Ok(report);
            }
        }
    }

    /// Returns the next records after the cursor, as many as one batch takes.
    fn pack_batch(&self, progress: &Progress, now: u64) -> Result<Batch, SendError> {
        let start = self.store.start()?;
        let mut records: Vec<SentRecord> = Vec::new();
        let mut bytes = 0_usize;
        let filter = Filter {
            after: Some(progress.sequence),
            limit: Some(MOST_RECORDS as u64),
            ..Filter::default()
        };
        self.store.query_records(&filter, |stored| {
            let record = reduce_record(&stored, self.detail, self.masker);
            let size = serde_json::to_string(&record).map_or(0, |text| text.len());
            if bytes.saturating_add(size) > BATCH_BYTES && !records.is_empty() {
                return ControlFlow::Break(());
            }
            bytes = bytes.saturating_add(size);
            records.push(record);
            ControlFlow::Continue(())
        })?;
        // Read last: it is not older than any of the records.
        let head = self.store.head_anchor(now)?;
        Ok(Batch {
            version: VERSION,
            machine: self.membership.machine.clone(),
            journal: progress.journal.clone(),
            portcullis: self.portcullis.to_owned(),
            start: start.map_or_else(Position::default, |start| Position {
                sequence: start.sequence,
                hash: start.hash,
            }),
            head: Position { sequence: head.sequence, hash: head.hash },
            detail: self.detail,
            records,
        })
    }

    /// Moves the cursor to the record that the hub's receipt names.
    fn advance(
        &mut self,
        progress: &mut Progress,
        acceptance: &Acceptance,
        now: u64,
    ) -> Result<(), SendError> {
        progress.answered_at = now;
        let Some(signed) = &acceptance.receipt else { return Ok(()) };
        let receipt: Receipt = signed.verify_receipt(&self.membership.receipt_key)?;
        if receipt.machine != self.membership.machine
            || receipt.journal != progress.journal
            || receipt.sequence != acceptance.accepted_through
        {
            return Err(SendError::ForeignReceipt);
        }
        let position = Position { sequence: receipt.sequence, hash: receipt.hash };
        match self.holds(position)? {
            AnchorStatus::Holds => {}
            AnchorStatus::Pruned if position == progress.position() => {}
            _ => return Err(SendError::NotThisJournal(position)),
        }
        (progress.sequence, progress.hash) = (position.sequence, position.hash);
        progress.receipt = Some(signed.clone());
        Ok(())
    }

    /// Begins a cursor: where the hub is with this journal, or before its first record.
    fn find_progress(&mut self) -> Result<Progress, SendError> {
        let known = self.client.list_heads()?.heads;
        let mut newest = None;
        for (journal, head) in known {
            let status = self.holds(head)?;
            let progress = Progress {
                journal,
                sequence: head.sequence,
                hash: head.hash,
                ..Progress::default()
            };
            match status {
                AnchorStatus::Holds => return Ok(progress),
                // The hub has to see that its newest journal is not this one, or has gone back.
                AnchorStatus::Missing => newest = newest.or(Some(progress)),
                AnchorStatus::Replaced | AnchorStatus::Pruned => {}
            }
        }
        match newest {
            Some(progress) => Ok(progress),
            None => self.begin_journal(),
        }
    }

    fn begin_journal(&self) -> Result<Progress, SendError> {
        let mut id = [0; JOURNAL_BYTES];
        getrandom::fill(&mut id).map_err(HubError::Random)?;
        let start = self.store.start()?;
        let (sequence, hash) = start
            .map_or_else(|| (0, Position::default().hash), |start| (start.sequence, start.hash));
        let journal = data_encoding::HEXLOWER.encode(&id);
        Ok(Progress { journal, sequence, hash, ..Progress::default() })
    }

    fn holds(&mut self, position: Position) -> Result<AnchorStatus, StoreError> {
        if position == Position::default() {
            return Ok(AnchorStatus::Holds);
        }
        let anchor = Anchor { sequence: position.sequence, hash: position.hash, at: 0 };
        let found = self.store.check_anchors(&[anchor])?;
        Ok(found.first().map_or(AnchorStatus::Missing, |(_, status)| *status))
    }
}

/// Returns true if an error says that this journal and the hub's copy of it differ.
fn is_dispute(error: &SendError) -> bool {
    match error {
        SendError::NotThisJournal(_) | SendError::ForeignReceipt => true,
        SendError::Hub(HubError::Refused(refusal)) => refusal.refused == RefusalKind::Incident,
        _ => false,
    }
}
