//! What a process uses up.
//!
//! A child begins with its parent's peak of memory, since it shares that memory until it becomes another
//! program. So this program starts itself once more as something small that does nothing but start the
//! hook, wait for it, and write down what it used.

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

/// The first argument of the small one.
const WORD: &str = "--meter";
/// How long a hook may be there: longer than it compiles. Every guest ends far before it; who sleeps does not.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a process used up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Microseconds of processor time, the system's for it and that of the process that compiles included.
    pub processor: u64,
    /// Bytes of memory at the peak of the process that used most: the one that compiles may be it.
    pub memory: u64,
}

impl Used {
    /// The worse of both, in each respect.
    pub fn worse(self, other: Self) -> Self {
        Self { processor: self.processor.max(other.processor), memory: self.memory.max(other.memory) }
    }

    /// The better of both, in each respect.
    pub fn better(self, other: Self) -> Self {
        Self { processor: self.processor.min(other.processor), memory: self.memory.min(other.memory) }
    }
}

/// Runs a command with this input; what it said and what it used.
pub fn run(command: &Command, input: &[u8], folder: &Path) -> Result<(Ended, Used)> {
    let report = folder.join("used.json");
    let mut small = Command::new(env::current_exe().context("this program has no path")?);
    small.arg(WORD).arg(&report).arg(command.get_program()).args(command.get_args());
    small.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    small.current_dir(command.get_current_dir().unwrap_or(folder));
    let ended = process::run(small, input, PATIENCE)?;
    let text = fs::read_to_string(&report).with_context(|| format!("nobody measured: {}", ended.all()))?;
    let told: Value = serde_json::from_str(&text)?;
    let number = |name: &str| told[name].as_u64().ok_or_else(|| anyhow!("`{text}` does not tell {name}"));
    Ok((ended, Used { processor: number("processor")?, memory: number("memory")? }))
}

/// Whether this is the small one; the exit code of what it ran.
pub fn is_asked() -> Option<ExitCode> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let [word, report, program, rest @ ..] = arguments.as_slice() else { return None };
    (word == WORD).then(|| measure(Path::new(report), Command::new(program).args(rest)).unwrap_or(ExitCode::from(u8::MAX)))
}

fn measure(report: &Path, command: &mut Command) -> Result<ExitCode> {
    let ended = command.spawn()?.wait4()?;
    let processor = u64::try_from((ended.rusage.utime + ended.rusage.stime).as_micros())?;
    fs::write(report, json!({ "processor": processor, "memory": ended.rusage.maxrss }).to_string())?;
    // A signal has no code: no hook may end by one.
    Ok(ended.status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(u8::MAX), ExitCode::from))
}
