//! A person's request to stop: Ctrl-C, a closed terminal, `kill`.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Catches the signals that would end the caller, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Signals {
    came: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    pub(crate) fn take() -> io::Result<Self> {
        let mut signals = Self { came: Arc::default(), registered: Vec::new() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signals
                .registered
                .push(signal_hook::flag::register(signal, Arc::clone(&signals.came))?);
        }
        Ok(signals)
    }

    /// Returns true if one arrived since the last call.
    pub(crate) fn came(&self) -> bool {
        self.came.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
