//! Translates errors that end a call into named faults.

use crate::bindings::types;
use crate::limits::Limits;
use crate::state::{GuestState, Refused};
use crate::termination::Termination;
use crate::text;
use portcullis_core::fault::FaultKind;
use portcullis_core::text::{quote_words, strip_quotes};
use wasmtime::component::ResourceTableError;
use wasmtime::{Error, Trap, WasmBacktrace};

/// The most bytes of a guest's own words in a fault's detail.
const QUOTED_BYTES: usize = 400;

/// The most bytes of a detail, as documented in `core::fault`.
const DETAIL_BYTES: usize = 1024;

/// The most bytes of a name that a guest gives.
const NAME_BYTES: usize = 200;

/// A fault whose source is not named yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnnamedFault {
    pub(crate) kind: FaultKind,
    pub(crate) detail: String,
}

impl UnnamedFault {
    pub(crate) fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(text::cut(&detail, DETAIL_BYTES).len());
        Self { kind, detail }
    }

    /// Returns the same failure with the step in which it happened.
    pub(crate) fn in_step(self, what: &str) -> Self {
        Self::new(self.kind, format!("while it {what}: {}", self.detail))
    }
}

/// Returns the named fault for an error that ended a call.
pub(crate) fn of_error(error: &Error, state: &mut GuestState, limits: &Limits) -> UnnamedFault {
    // A trap of fuel, time or stack names its own cause; any other after a refusal follows from
    // that.
    let named = by_trap(error, limits)
        .or_else(|| by_table(error))
        .or_else(|| by_refusal(state, limits))
        .or_else(|| by_message(error, limits));
    if let Some(failure) = named {
        return failure;
    }
    let mut detail = match error.downcast_ref::<Trap>() {
        Some(trap) => format!("it trapped ({}){}", reason(*trap), place(error)),
        None if error.is::<Termination>() || !state.foreign => {
            text::line(text::cut(&error.root_cause().to_string(), QUOTED_BYTES))
        }
        None => strip_quotes(&error.root_cause().to_string(), QUOTED_BYTES),
    };
    if let Some(complaint) = state.log.complaint() {
        detail = format!("{detail}; it said: {}", words(&complaint, state));
    }
    if state.wants.files {
        return UnnamedFault::new(
            FaultKind::MissingGrant,
            format!(
                "it looked for files (`wasi:filesystem`), which are not granted; then {detail}"
            ),
        );
    }
    let kind = match error.downcast_ref::<Trap>() {
        Some(trap) if lifting(*trap) => FaultKind::BadValue,
        Some(_) => FaultKind::Trap,
        None => by_origin(error, state),
    };
    UnnamedFault::new(kind, detail)
}

/// Returns the named fault for an error that the plugin itself returned.
pub(crate) fn of_answer(error: types::Error, state: &GuestState) -> UnnamedFault {
    let quote = |said: &str| words(said, state);
    match error {
        types::Error::InvalidSetting(setting) => UnnamedFault::new(
            FaultKind::BadSettings,
            format!(
                "setting `{}`: {}",
                strip_quotes(&setting.key, NAME_BYTES),
                quote(&setting.reason)
            ),
        ),
        types::Error::InvalidInput(words) => UnnamedFault::new(
            FaultKind::Declined,
            format!("it cannot read its own saved data: {}", quote(&words)),
        ),
        types::Error::Failed(words) if state.wants.files => UnnamedFault::new(
            FaultKind::MissingGrant,
            format!(
                "it looked for files (`wasi:filesystem`), which are not granted; then it said: {}",
                quote(&words)
            ),
        ),
        types::Error::Failed(words) => {
            UnnamedFault::new(FaultKind::Declined, format!("it said: {}", quote(&words)))
        }
    }
}

/// Returns a guest's own words. Those of a third-party plugin are quoted, so that they are not
/// mistaken for the host's.
fn words(said: &str, state: &GuestState) -> String {
    if state.foreign {
        quote_words(said, QUOTED_BYTES)
    } else {
        text::line(text::cut(said, QUOTED_BYTES))
    }
}

fn by_trap(error: &Error, limits: &Limits) -> Option<UnnamedFault> {
    Some(match error.downcast_ref::<Trap>()? {
        Trap::OutOfFuel => UnnamedFault::new(
            FaultKind::OutOfFuel,
            format!("it used up its {} units of fuel{}", limits.fuel, place(error)),
        ),
        Trap::Interrupt => UnnamedFault::new(
            FaultKind::Timeout,
            format!("it was still running when the review's time was up{}", place(error)),
        ),
        Trap::StackOverflow => UnnamedFault::new(
            FaultKind::StackOverflow,
            format!("it recursed too deep{}", place(error)),
        ),
        _ => return None,
    })
}

fn by_table(error: &Error) -> Option<UnnamedFault> {
    let full = matches!(error.downcast_ref()?, ResourceTableError::Full);
    full.then(|| UnnamedFault::new(FaultKind::Trap, Termination::Open.to_string()))
}

fn by_refusal(state: &GuestState, limits: &Limits) -> Option<UnnamedFault> {
    let detail = match state.limiter.refused? {
        Refused::Memory => {
            format!("it wanted more than {} KiB of memory", limits.memory_bytes / 1024)
        }
        Refused::Table => format!("it wanted more than {} table elements", limits.table_elements),
    };
    Some(UnnamedFault::new(FaultKind::OutOfMemory, detail))
}

/// Matches wasmtime errors that have no public type by their text; a test ties each text to its
/// fault.
fn by_message(error: &Error, limits: &Limits) -> Option<UnnamedFault> {
    let message = error.root_cause().to_string();
    if message.contains("fuel allocated for hostcalls has been exhausted") {
        let detail =
            format!("it answered or logged more than {} KiB at once", limits.answer_bytes / 1024);
        return Some(UnnamedFault::new(FaultKind::OutputTooLarge, detail));
    }
    if message.contains("handle limit exceeded") {
        return Some(UnnamedFault::new(
            FaultKind::OutOfMemory,
            format!("it holds more than {} handles", limits.handles),
        ));
    }
    if message.contains("resource limit exceeded") {
        return Some(UnnamedFault::new(
            FaultKind::OutOfMemory,
            format!("it has too many parts: {}", text::line(&message)),
        ));
    }
    None
}

/// Classifies errors that are not traps: they come from the host, from the guest's start, or from
/// reading the guest's answer.
fn by_origin(error: &Error, state: &GuestState) -> FaultKind {
    match error.downcast_ref::<Termination>() {
        Some(Termination::NotOffered(_)) => FaultKind::MissingGrant,
        Some(_) => FaultKind::Trap,
        None if state.wants.answering_since.is_some() => FaultKind::BadValue,
        None => FaultKind::LoadFailed,
    }
}

/// Returns true for traps that mean that the answer itself cannot be read.
fn lifting(trap: Trap) -> bool {
    matches!(
        trap,
        Trap::InvalidChar
            | Trap::StringOutOfBounds
            | Trap::ListOutOfBounds
            | Trap::InvalidDiscriminant
            | Trap::UnalignedPointer
    )
}

fn reason(trap: Trap) -> String {
    trap.to_string().trim_start_matches("wasm trap: ").to_owned()
}

/// Returns the guest function in which it happened, if the component names its functions.
fn place(error: &Error) -> String {
    let frame = error.downcast_ref::<WasmBacktrace>().and_then(|trace| trace.frames().first());
    match frame.and_then(|frame| frame.func_name()) {
        Some(name) => format!(" in `{}`", strip_quotes(name, 100)),
        None => String::new(),
    }
}
