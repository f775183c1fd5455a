//! A thread that loads plugins while the rest of a hook goes on.
//!
//! The thread that loads a plugin makes no difference to the plugin. If a load is late, its caller
//! waits for that one plugin; if it is not done, the caller loads the plugin itself.

use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

type Load = Box<dyn FnOnce() + Send>;

/// The way to the thread.
#[derive(Clone)]
pub(crate) struct Loader(Sender<Load>);

impl Loader {
    /// Starts the thread; `None` if the system does not give one.
    pub(crate) fn start() -> Option<Self> {
        let (sender, loads) = channel::<Load>();
        let run = move || {
            let _room = reserve_heap();
            loads.into_iter().for_each(|load| load());
        };
        Builder::new().name("portcullis-load".into()).spawn(run).ok()?;
        Some(Self(sender))
    }

    /// Runs this after everything that was passed before.
    pub(crate) fn run(&self, load: impl FnOnce() + Send + 'static) {
        // A thread that ended loads nothing more: its plugins are loaded at their calls.
        let _sent = self.0.send(Box::new(load));
    }
}

/// Reserves heap for the plugins, allocated at once and freed except for its end. glibc lets the
/// heap of a thread other than the first grow by a page at a time, each with a system call that
/// makes all threads of the process wait: two hundred of them in a hook. On other systems it costs
/// nothing.
fn reserve_heap() -> Vec<u8> {
    /// Larger blocks would not be on the heap.
    const BLOCK: usize = 112 << 10;
    const BLOCKS: usize = 9;
    let mut blocks: Vec<Vec<u8>> =
        (0..BLOCKS).map(|_| std::hint::black_box(Vec::with_capacity(BLOCK))).collect();
    blocks.pop().unwrap_or_default()
}
