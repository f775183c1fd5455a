//! The line on the terminal that says which plugin is being compiled.

use portcullis_core::text::one_line;
use portcullis_engine::Progress;
use std::io::IsTerminal;

/// The line; it is removed when this is dropped. Without a terminal there is none.
pub struct CompileLine {
    terminal: bool,
}

impl Default for CompileLine {
    fn default() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }
}

impl CompileLine {
    /// Shows that a plugin is done.
    pub fn show_step(&mut self, step: &Progress<'_>) {
        if self.terminal {
            let name = one_line(step.name, 40);
            anstream::eprint!("\r\x1b[Kcompiling plugins {}/{} {name}", step.done, step.total);
        }
    }
}

impl Drop for CompileLine {
    fn drop(&mut self) {
        if self.terminal {
            anstream::eprint!("\r\x1b[K");
        }
    }
}
