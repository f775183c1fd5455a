//! The line on the terminal that says which plugin is being compiled.

use portcullis_core::text::one_line;
use portcullis_engine::Progress;
use std::io::IsTerminal;

/// The line; it is removed when this is dropped. Without a terminal there is none.
pub struct CompileLine {
    terminal: bool,
    /// The most columns that it took so far. Blanks remove it, as a terminal without escape sequences
    /// can do too.
    width: usize,
}

impl Default for CompileLine {
    fn default() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), width: 0 }
    }
}

impl CompileLine {
    /// Shows which plugin is about to be compiled.
    pub fn show_step(&mut self, step: &Progress<'_>) {
        if self.terminal && step.result.is_none() {
            let name = one_line(step.name, 40);
            let line = format!("compiling plugins {}/{} {name}", step.number, step.total);
            self.width = self.width.max(line.chars().count());
            anstream::eprint!("\r{line:<width$}", width = self.width);
        }
    }
}

impl Drop for CompileLine {
    fn drop(&mut self) {
        if self.width > 0 {
            anstream::eprint!("\r{:width$}\r", "", width = self.width);
        }
    }
}
