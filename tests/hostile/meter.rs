//! Measures the resources of a process.
//!
//! A child starts with its parent's peak of memory, since it shares that memory until it executes
//! another program. So this program starts itself once more as a small process that only starts the
//! hook, waits for it, and writes down what it used.

use crate::common::process::{self, Ended};
use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use wait4::Wait4;

/// The first argument of the small process.
const WORD: &str = "--meter";
/// The timeout of a hook, which is longer than compiling. Every guest ends far earlier; a sleeping
/// one does not.
const PATIENCE: Duration = Duration::from_secs(60);

/// The resources used by a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Microseconds of processor time, including system time and that of the compiler process.
    pub processor: u64,
    /// Bytes of memory at the peak of the largest process, which may be the compiler.
    pub memory: u64,
}

impl Used {
    /// Returns the maximum of both, in each respect.
    pub fn worse(self, other: Self) -> Self {
        Self {
            processor: self.processor.max(other.processor),
            memory: self.memory.max(other.memory),
        }
    }

    /// Returns the minimum of both, in each respect.
    pub fn better(self, other: Self) -> Self {
        Self {
            processor: self.processor.min(other.processor),
            memory: self.memory.min(other.memory),
        }
    }
}

/// Runs a command with this input; returns its output and its resources.
pub fn run(command: &Command, input: &[u8], folder: &Path) -> Result<(Ended, Used)> {
    let report = folder.join("used.json");
    let mut small = Command::new(env::current_exe().context("this program has no path")?);
    small.arg(WORD).arg(&report).arg(command.get_program()).args(command.get_args());
    small.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    small.current_dir(command.get_current_dir().unwrap_or(folder));
    let ended = process::run(small, input, PATIENCE)?;
    let text =
        fs::read_to_string(&report).with_context(|| format!("nobody measured: {}", ended.all()))?;
    let measured: Value = serde_json::from_str(&text)?;
    let number = |name: &str| {
        measured[name].as_u64().ok_or_else(|| anyhow!("`{text}` does not tell {name}"))
    };
    Ok((ended, Used { processor: number("processor")?, memory: number("memory")? }))
}

/// Acts as the small process if requested; returns the exit code of the command.
pub fn is_asked() -> Option<ExitCode> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let [word, report, program, rest @ ..] = arguments.as_slice() else { return None };
    (word == WORD).then(|| {
        measure(Path::new(report), Command::new(program).args(rest))
            .unwrap_or(ExitCode::from(u8::MAX))
    })
}

fn measure(report: &Path, command: &mut Command) -> Result<ExitCode> {
    let ended = command.spawn()?.wait4()?;
    let processor = u64::try_from((ended.rusage.utime + ended.rusage.stime).as_micros())?;
    fs::write(
        report,
        json!({ "processor": processor, "memory": ended.rusage.maxrss }).to_string(),
    )?;
    // An end by a signal has no code; no hook may end by one.
    Ok(ended
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::from(u8::MAX), ExitCode::from))
}
