//! `portcullis compile`: the process that compiles third-party components. Only `compiler` starts
//! it; it reads a component from standard input and writes machine code to standard output.
//!
//! It limits itself before it reads a byte, and reads nothing else: no configuration, no
//! environment.

use crate::exit::CommandExit;
use portcullis_engine::{MAX_COMPONENT_BYTES, compile_here};
use portcullis_review::compiler::NOT_ACCEPTED;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::io::{self, Read, Write};

/// Compiles under the limits given as arguments: seconds of processor time, bytes of memory.
/// Returns the process's exit code.
pub fn run_compile(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let numbers: Option<Vec<u64>> =
        arguments.into_iter().map(|argument| argument.to_str()?.parse().ok()).collect();
    let Some([cpu_seconds, memory_bytes]) = numbers.as_deref() else {
        complain(
            "`portcullis compile` is started by portcullis itself; to compile plugins, run `portcullis doctor`",
        );
        return CommandExit::Rejected.code();
    };
    if let Err(error) = limit(*cpu_seconds, *memory_bytes) {
        complain(&format!("the limits for compiling cannot be set: {error}"));
        return CommandExit::Failure.code();
    }
    let mut component = Vec::new();
    if let Err(error) =
        io::stdin().lock().take(MAX_COMPONENT_BYTES.saturating_add(1)).read_to_end(&mut component)
    {
        complain(&format!("cannot read standard input: {error}"));
        return CommandExit::Failure.code();
    }
    match compile_here(&component).map(|answer| io::stdout().lock().write_all(&answer)) {
        Ok(Ok(())) => CommandExit::Success.code(),
        Ok(Err(error)) => {
            complain(&format!("cannot write standard output: {error}"));
            CommandExit::Failure.code()
        }
        Err(reason) => {
            complain(&reason);
            NOT_ACCEPTED
        }
    }
}

/// Sets the limits. It also forbids core dumps of untrusted data and writing files, and ends the
/// process when its parent dies.
fn limit(cpu_seconds: u64, memory_bytes: u64) -> io::Result<()> {
    bind_to_parent(memory_bytes)?;
    let limits = [
        (Resource::Cpu, cpu_seconds),
        // macOS takes no limit that is below what a process has mapped, which is always more there.
        #[cfg(not(target_os = "macos"))]
        (Resource::As, memory_bytes),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 16),
    ];
    for (resource, wanted) in limits {
        // The signal at the soft limit of processor time can be distinguished from others; the one
        // at the hard limit cannot.
        let last = if resource == Resource::Cpu { wanted.saturating_add(1) } else { wanted };
        // A stricter limit already in force is kept.
        let now = getrlimit(resource);
        let maximum = now.maximum.map_or(last, |maximum| maximum.min(last));
        let current = now.current.map_or(wanted, |current| current.min(wanted)).min(maximum);
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn bind_to_parent(_: u64) -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

/// Starts a thread that ends this process when its parent dies, which these systems do not do, and on
/// macOS when it has used too much memory.
#[cfg(not(target_os = "linux"))]
fn bind_to_parent(memory_bytes: u64) -> io::Result<()> {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
    let parent = rustix::process::getppid();
    let watch = move || {
        loop {
            if rustix::process::getppid() != parent {
                CommandExit::Failure.end_process();
            }
            if peak_memory() > memory_bytes {
                // The parent knows the limit by these words.
                complain("out of memory");
                CommandExit::Failure.end_process();
            }
            std::thread::sleep(PAUSE);
        }
    };
    std::thread::Builder::new().spawn(watch).map(drop)
}

/// Returns the most bytes of memory that this process has had; too many if that is unknown.
#[cfg(target_os = "macos")]
fn peak_memory() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_SELF)
        .ok()
        .and_then(|usage| u64::try_from(usage.max_rss()).ok())
        .unwrap_or(u64::MAX)
}

/// Returns nothing: the system itself holds the limit.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const fn peak_memory() -> u64 {
    0
}

fn complain(words: &str) {
    // The parent may have stopped reading.
    let _ = writeln!(io::stderr(), "{words}");
}
