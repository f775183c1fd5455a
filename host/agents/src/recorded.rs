//! Events from a client's own recordings.

use portcullis_core::event::Event;
use serde_json::{Map, Value};

/// An event with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEvent {
    /// The event.
    pub event: Event,
    /// Its time in milliseconds since 1970, if the recording has it.
    pub at: Option<u64>,
}

/// Takes a call by its id from those that were announced and have not ended: tool and parameters.
pub type OpenCalls<'a> = dyn FnMut(&str) -> Option<(String, Map<String, Value>)> + 'a;
