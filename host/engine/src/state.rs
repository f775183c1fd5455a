//! The host's state for a guest during one call: its budgets, its log, what it asked for.
//!
//! A store is used for one call, so no guest sees anything of another call. In a process that
//! answers once, the memory of a store may stay until its end.

use crate::bindings::types::Step;
use crate::grants::{GrantUses, Grants, Random};
use crate::limits::Limits;
use crate::text;
use crate::wasi::granted::{GrantedState, RequestTerms, new_runtime};
use crate::web::Web;
use portcullis_core::plugins::Details;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use wasmtime::{CallHook, Engine, ResourceLimiter, Store, StoreContextMut, Trap, UpdateDeadline};

/// Fuel that a call into the host costs besides the guest's own instructions, so that host time is
/// bounded by the same budget: about what the call costs on a machine that does an instruction in 1
/// ns.
const HOST_CALL_FUEL: u64 = 500;

/// The data of a store.
pub(crate) struct GuestState {
    pub(crate) limiter: Limiter,
    pub(crate) log: Log,
    pub(crate) wants: UnmetRequests,
    /// Someone else wrote the guest: its words are quoted.
    pub(crate) foreign: bool,
    /// Milliseconds since 1970, fixed for the review.
    pub(crate) now_ms: u64,
    pub(crate) random: blake3::OutputReader,
    pub(crate) grants: Arc<Grants>,
    pub(crate) uses: GrantUses,
    /// Granted files and hosts; none for a plugin without either.
    pub(crate) granted: Option<Box<GrantedState>>,
    /// The start of the call, for a granted clock.
    pub(crate) begun: Instant,
    /// The end of the call's time.
    pub(crate) deadline: Option<Instant>,
    /// The steps that `host.steps` answers from, oldest first; empty for all but patterns.
    pub(crate) steps: Arc<[Step]>,
    /// Valid while `CallEnv::with_store` runs.
    details: &'static Details<'static>,
    details_left: u32,
}

/// The things that a guest asked for and was not given.
#[derive(Debug, Default)]
pub(crate) struct UnmetRequests {
    /// The time at which the guest had started and began to compute its answer.
    pub(crate) answering_since: Option<Instant>,
    /// It looked for files.
    pub(crate) files: bool,
}

/// Everything that a call needs besides the guest.
pub(crate) struct CallEnv<'a> {
    pub(crate) limits: &'a Limits,
    /// For calls whose answer is larger than `limits.answer_bytes` by contract.
    pub(crate) answer_bytes: usize,
    pub(crate) now_ms: u64,
    pub(crate) deadline: Option<Instant>,
    /// The same for the same plugin, so that a replay gets the same numbers.
    pub(crate) seed: &'a str,
    pub(crate) grants: &'a Arc<Grants>,
    /// The plugin was linked with files and hosts (`wasi::granted`), whether or not this call has
    /// any.
    pub(crate) granted: bool,
    pub(crate) web: &'a Web,
    /// Someone else wrote the guest.
    pub(crate) foreign: bool,
    /// The number of guests whose memory is left to the end of the process; none if it answers more
    /// than once.
    pub(crate) left: Option<&'a AtomicUsize>,
    pub(crate) details: &'a Details<'a>,
}

/// The look-up of past steps when no call runs.
const NO_DETAILS: &Details<'static> = &|_| None;

/// The most memory of a guest that is left to the end of the process, in bytes.
const LEFT_BYTES: usize = 8 << 20;
/// The most guests whose memory is left: each reserves some gigabytes of addresses.
const LEFT_GUESTS: usize = 24;

impl CallEnv<'_> {
    /// Runs `body` with a fresh store under these limits, and returns the final state with its
    /// result.
    pub(crate) fn with_store<T>(
        &self,
        engine: &Engine,
        body: impl FnOnce(&mut Store<GuestState>) -> T,
    ) -> wasmtime::Result<(T, GuestState, u64)> {
        let runtime = if self.granted { Some(new_runtime()?) } else { None };
        let state = GuestState {
            granted: runtime
                .as_ref()
                .map(|runtime| Box::new(GrantedState::new(runtime, self.request_terms()))),
            ..self.state()
        };
        let mut store = Store::new(engine, state);
        if runtime.is_some() {
            store.call_hook(settle);
        }
        let _entered = runtime.as_ref().map(|runtime| runtime.enter());
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(self.limits.fuel)?;
        store.set_hostcall_fuel(self.answer_bytes.max(self.limits.answer_bytes));
        store.set_max_component_handles(self.limits.handles);
        // This comes before the instance exists, since a guest's start function runs under it too.
        store.set_epoch_deadline(1);
        let deadline = self.deadline;
        store.epoch_deadline_callback(move |_| {
            // The epoch belongs to the whole engine and may move for another guest's sake: the
            // clock decides.
            Ok(match deadline {
                Some(deadline) if Instant::now() >= deadline => UpdateDeadline::Interrupt,
                _ => UpdateDeadline::Continue(1),
            })
        });
        let result = body(&mut store);
        let used = self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or_default());
        store.data_mut().details = NO_DETAILS;
        Ok((result, self.take_state(store), used))
    }

    /// Ends a store and returns its data.
    fn take_state(&self, mut store: Store<GuestState>) -> GuestState {
        let small = store.data().limiter.memory_in_use(self.limits) <= LEFT_BYTES;
        let has_room = |left: &AtomicUsize| left.fetch_add(1, Ordering::Relaxed) < LEFT_GUESTS;
        // A third party's plugin may have many memories.
        if self.foreign || !small || !self.left.is_some_and(has_room) {
            return store.into_data();
        }
        let fresh = CallEnv { details: NO_DETAILS, ..*self }.state();
        let state = std::mem::replace(store.data_mut(), fresh);
        // Unmapping each guest's memory interrupts the other threads. The end of the process does
        // it once for all.
        std::mem::forget(store);
        state
    }

    fn state(&self) -> GuestState {
        // SAFETY: a store's data must have no lifetimes. The reference is private to `GuestState`,
        // and only `GuestState::detail` reads it, which guests reach while a call runs. There are
        // two callers: `with_store` replaces the reference by one that is 'static before it
        // returns, and until then `self.details` is borrowed; `take_state` passes one that is
        // 'static.
        #[allow(unsafe_code, reason = "a store's data must be 'static")]
        let details =
            unsafe { std::mem::transmute::<&Details<'_>, &'static Details<'static>>(self.details) };
        GuestState {
            limiter: Limiter::new(self.limits),
            log: Log::new(self.limits),
            wants: UnmetRequests::default(),
            foreign: self.foreign,
            now_ms: self.now_ms,
            random: self.random(),
            grants: Arc::clone(self.grants),
            uses: GrantUses::default(),
            granted: None,
            begun: Instant::now(),
            deadline: self.deadline,
            steps: Arc::default(),
            details,
            details_left: self.limits.detail_calls,
        }
    }

    fn request_terms(&self) -> RequestTerms {
        RequestTerms {
            grants: Arc::clone(self.grants),
            web: self.web.clone(),
            deadline: self.deadline,
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

impl GuestState {
    /// Ends all uses of grants, and returns those that were made.
    pub(crate) fn take_uses(&mut self) -> GrantUses {
        let mut uses = std::mem::take(&mut self.uses);
        if let Some(granted) = &self.granted {
            uses.extend(granted.close());
        }
        uses
    }

    /// Returns a past step, as long as the budget lasts.
    pub(crate) fn detail(&mut self, step: u64) -> Option<portcullis_core::action::StepDetail> {
        self.details_left = self.details_left.checked_sub(1)?;
        (self.details)(step)
    }
}

/// Counts memories and tables together: wasmtime's own limiter checks each of them alone.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_left: usize,
    table_left: usize,
    instances: usize,
    memories: usize,
    tables: usize,
    /// The first refusal, if any: a guest that traps afterwards did so because of it.
    pub(crate) refused: Option<Refused>,
}

/// The resource that a guest wanted more of.
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
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(take(&mut self.memory_left, current, desired) || self.refuse(Refused::Memory))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
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
    /// Returns the bytes of all memories together; `limits` are those that the call began with.
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
    /// The newest line that reports an error.
    complaint: Option<String>,
    /// Bytes of the standard streams after their last line break.
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
        // A complaint is kept even if the log is full, because a fault quotes it.
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

    /// Adds a guest's output on the standard streams, a line at a time.
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

    /// Returns the lines, and a note of how many did not fit.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.flush();
        if self.dropped > 0 {
            self.lines
                .push(format!("host: {} log lines dropped or cut, past the budget", self.dropped));
        }
        self.lines
    }

    /// Returns the guest's last error message.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        self.flush();
        self.complaint.clone()
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.pending);
        let line = line.trim_end();
        // A Rust panic is a line with the location, a line with the message, and a note about
        // backtraces. If it shows a value, the last lines may be brackets alone.
        let note = line.starts_with("note: ") || !line.contains(char::is_alphanumeric);
        if !line.is_empty() {
            self.line("stdio", line, !note);
        }
    }

    fn complain(&mut self, line: &str) {
        let line = text::cut(line, COMPLAINT_BYTES);
        self.complaint = match self.complaint.take() {
            Some(where_) if where_.ends_with(':') && where_.contains("panicked at") => {
                Some(format!("{where_} {line}"))
            }
            _ => Some(line.to_owned()),
        };
    }
}

/// Charges fuel for the host's work on a guest's behalf.
pub(crate) fn charge(
    store: &mut StoreContextMut<'_, GuestState>,
    bytes: usize,
) -> wasmtime::Result<()> {
    charge_calls(store, 1, u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Charges fuel for this many calls, which handled this many bytes together.
pub(crate) fn charge_calls(
    store: &mut StoreContextMut<'_, GuestState>,
    calls: u64,
    bytes: u64,
) -> wasmtime::Result<()> {
    let cost = HOST_CALL_FUEL.saturating_mul(calls).saturating_add(bytes);
    match store.get_fuel()?.checked_sub(cost) {
        Some(left) => store.set_fuel(left),
        None => {
            store.set_fuel(0)?;
            Err(Trap::OutOfFuel.into())
        }
    }
}

/// Charges a guest with granted files or hosts for what the host did on its behalf, before the guest
/// goes on.
fn settle(mut store: StoreContextMut<'_, GuestState>, hook: CallHook) -> wasmtime::Result<()> {
    let state = store.data_mut();
    let (CallHook::ReturningFromHost, Some(granted)) = (hook, &mut state.granted) else {
        return Ok(());
    };
    let (calls, bytes, output) = granted.take_unpaid();
    if !output.is_empty() {
        state.log.stream(&output);
    }
    if calls == 0 && bytes == 0 { Ok(()) } else { charge_calls(&mut store, calls, bytes) }
}
