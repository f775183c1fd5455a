//! The text of a panic, for the record of the review.
//!
//! A component for `wasm32-unknown-unknown` has no standard error: without this a panic is a trap
//! without a message.

use crate::host;

/// Sends the place and message of any later panic to the log, and so into the fault.
/// [`export!`](crate::export) calls it.
pub fn tell() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}:{}", place.file(), place.line(), place.column()));
        host::error(&format!(
            "panicked{}: {}",
            place.unwrap_or_default(),
            panic.payload_as_str().unwrap_or("without words")
        ));
    }));
}
