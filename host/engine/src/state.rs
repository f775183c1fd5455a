//! What the host keeps beside a guest during one call: its budgets, its log, what it asked for.
//!
//! A store lives for one call, so nothing here outlives an answer.

use crate::bindings::types::Step;
use crate::grants::{Grants, Random, Uses};
use crate::limits::Limits;
use crate::text;
use crate::wasi::Things;
use crate::web::Web;
use portcullis_core::plugins::Details;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::{Engine, ResourceLimiter, Store, UpdateDeadline};

/// Fuel that a call into the host costs besides the guest's own instructions, so that host time is
/// bounded by the same budget: about what the call costs on a machine that does an instruction in 1 ns.
pub(crate) const HOST_CALL_FUEL: u64 = 500;

/// The data of a store.
pub(crate) struct State {
    pub(crate) limiter: Limiter,
    pub(crate) log: Log,
    pub(crate) wants: Wants,
    /// Someone else wrote the guest: its words are quoted.
    pub(crate) foreign: bool,
    /// Milliseconds since 1970, fixed for the review.
    pub(crate) now_ms: u64,
    pub(crate) random: blake3::OutputReader,
    pub(crate) grants: Arc<Grants>,
    pub(crate) uses: Uses,
    /// What stands behind the guest's handles.
    pub(crate) things: Things,
    /// Bytes of granted files that were read.
    pub(crate) read_bytes: u64,
    /// When the call began, for a granted clock.
    pub(crate) begun: Instant,
    /// When its time is over.
    pub(crate) deadline: Option<Instant>,
    /// Requests that it handed over to be sent.
    pub(crate) requests: u32,
    pub(crate) web: Web,
    /// What `host.steps` answers from, oldest first; empty for all but patterns.
    pub(crate) steps: Arc<[Step]>,
    /// Valid while `Seat::with_store` runs.
    details: &'static Details<'static>,
    details_left: u32,
}

/// What a guest asked for that it was not given.
#[derive(Debug, Default)]
pub(crate) struct Wants {
    /// When the guest's start was over and its answer began to be computed.
    pub(crate) answering_since: Option<Instant>,
    /// It looked for files.
    pub(crate) files: bool,
}

/// Everything that a call needs besides the guest.
pub(crate) struct Seat<'a> {
    pub(crate) limits: &'a Limits,
    /// For calls whose answer is larger than `limits.answer_bytes` by contract.
    pub(crate) answer_bytes: usize,
    pub(crate) now_ms: u64,
    pub(crate) deadline: Option<Instant>,
    /// The same for the same plugin, so that a replay sees the same numbers.
    pub(crate) seed: &'a str,
    pub(crate) grants: &'a Arc<Grants>,
    pub(crate) web: &'a Web,
    /// Someone else wrote the guest.
    pub(crate) foreign: bool,
    pub(crate) details: &'a Details<'a>,
}

impl Seat<'_> {
    /// Runs `body` with a fresh store under the seat's limits, and gives what is left of it.
    pub(crate) fn with_store<T>(&self, engine: &Engine, body: impl FnOnce(&mut Store<State>) -> T) -> wasmtime::Result<(T, State, u64)> {
        let mut store = Store::new(engine, self.state());
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(self.limits.fuel)?;
        store.set_hostcall_fuel(self.answer_bytes.max(self.limits.answer_bytes));
        store.set_max_component_handles(self.limits.handles);
        store.set_epoch_deadline(1);
        let deadline = self.deadline;
        store.epoch_deadline_callback(move |_| {
            Ok(match deadline {
                Some(deadline) if Instant::now() >= deadline => UpdateDeadline::Interrupt,
                _ => UpdateDeadline::Continue(1),
            })
        });
        let result = body(&mut store);
        let used = self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or_default());
        let mut state = store.into_data();
        state.details = &|_| None;
        Ok((result, state, used))
    }

    fn state(&self) -> State {
        // SAFETY: wasmtime wants data without lifetimes in a store. The reference is private to `State`
        // and only `State::detail` reads it. `with_store` makes the store and keeps it to itself; before
        // it returns it replaces the reference, and until then `self.details` is borrowed.
        #[allow(unsafe_code, reason = "a store's data must be 'static")]
        let details = unsafe { std::mem::transmute::<&Details<'_>, &'static Details<'static>>(self.details) };
        State {
            limiter: Limiter::new(self.limits),
            log: Log::new(self.limits),
            wants: Wants::default(),
            foreign: self.foreign,
            now_ms: self.now_ms,
            random: self.random(),
            grants: Arc::clone(self.grants),
            uses: Uses::default(),
            things: Things::default(),
            read_bytes: 0,
            begun: Instant::now(),
            deadline: self.deadline,
            requests: 0,
            web: self.web.clone(),
            steps: Arc::default(),
            details,
            details_left: self.limits.detail_calls,
        }
    }

    fn random(&self) -> blake3::OutputReader {
        let mut hasher = blake3::Hasher::new_derive_key("portcullis guest random 1");
        match self.grants.random {
            Random::Seeded(seed) => hasher.update(&seed.to_le_bytes()),
            Random::Fixed | Random::System => hasher.update(self.seed.as_bytes()),
        };
        hasher.finalize_xof()
    }
}

impl State {
    /// A past step, while the budget lasts.
    pub(crate) fn detail(&mut self, step: u64) -> Option<portcullis_core::action::StepDetail> {
        self.details_left = self.details_left.checked_sub(1)?;
        (self.details)(step)
    }
}

/// Counts memories and tables together: wasmtime's own limiter looks at each alone.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_left: usize,
    table_left: usize,
    instances: usize,
    memories: usize,
    tables: usize,
    /// What was refused, if anything: a guest that then traps did so for want of it.
    pub(crate) refused: Option<Refused>,
}

/// What a guest wanted more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Memory,
    Table,
}

impl Limiter {
    fn new(limits: &Limits) -> Self {
        Self {
            memory_left: limits.memory_bytes,
            table_left: limits.table_elements,
            instances: limits.instances,
            memories: limits.memories,
            tables: limits.tables,
            refused: None,
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(take(&mut self.memory_left, current, desired) || self.refuse(Refused::Memory))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(take(&mut self.table_left, current, desired) || self.refuse(Refused::Table))
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.memories
    }

    fn tables(&self) -> usize {
        self.tables
    }
}

impl Limiter {
    /// Bytes of all memories together; `limits` are those that it began with.
    pub(crate) const fn memory_in_use(&self, limits: &Limits) -> usize {
        limits.memory_bytes.saturating_sub(self.memory_left)
    }

    fn refuse(&mut self, what: Refused) -> bool {
        self.refused = Some(what);
        false
    }
}

fn take(left: &mut usize, current: usize, desired: usize) -> bool {
    match left.checked_sub(desired.saturating_sub(current)) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

/// A plugin's log, escaped and within its budget.
#[derive(Debug)]
pub(crate) struct Log {
    lines: Vec<String>,
    lines_left: usize,
    bytes_left: usize,
    dropped: u64,
    /// The newest line that tells of an error.
    complaint: Option<String>,
    /// Bytes of the standard streams that do not end a line yet.
    pending: String,
}

/// A complaint is quoted in a fault's detail, so it is short.
const COMPLAINT_BYTES: usize = 300;

impl Log {
    fn new(limits: &Limits) -> Self {
        Self {
            lines: Vec::new(),
            lines_left: limits.log_lines,
            bytes_left: limits.log_bytes,
            dropped: 0,
            complaint: None,
            pending: String::new(),
        }
    }

    /// Adds one line.
    pub(crate) fn line(&mut self, level: &str, message: &str, complaint: bool) {
        let room = self.bytes_left.saturating_sub(level.len() + 2);
        let escaped = text::line(text::cut(message, room.max(COMPLAINT_BYTES)));
        if complaint {
            self.complain(&escaped);
        }
        if self.lines_left == 0 || room == 0 {
            self.dropped += 1;
            return;
        }
        let kept = text::cut(&escaped, room);
        self.dropped += u64::from(kept.len() < message.len());
        let line = format!("{level}: {kept}");
        self.bytes_left = self.bytes_left.saturating_sub(line.len());
        self.lines_left -= 1;
        self.lines.push(line);
    }

    /// Adds what a guest writes to standard output or error, a line at a time.
    pub(crate) fn stream(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for piece in text.split_inclusive('\n') {
            let room = COMPLAINT_BYTES.max(self.bytes_left).saturating_sub(self.pending.len());
            self.pending.push_str(text::cut(piece, room));
            if piece.ends_with('\n') {
                self.flush();
            }
        }
    }

    /// The lines, and the note of what did not fit.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.flush();
        if self.dropped > 0 {
            self.lines.push(format!("host: {} log lines dropped or cut, past the budget", self.dropped));
        }
        self.lines
    }

    /// What the guest last complained of.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        self.flush();
        self.complaint.clone()
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.pending);
        let line = line.trim_end();
        // A Rust panic is a line that tells where, a line that tells what, and a note about backtraces. Where it shows
        // a value, brackets may stand alone on the last lines.
        let note = line.starts_with("note: ") || !line.contains(char::is_alphanumeric);
        if !line.is_empty() {
            self.line("stdio", line, !note);
        }
    }

    fn complain(&mut self, line: &str) {
        let line = text::cut(line, COMPLAINT_BYTES);
        self.complaint = match self.complaint.take() {
            Some(where_) if where_.ends_with(':') && where_.contains("panicked at") => Some(format!("{where_} {line}")),
            _ => Some(line.to_owned()),
        };
    }
}
