//! Compiles third-party components in a separate process: this program again, as `compile`.
//!
//! The process gets exactly the bytes that were inspected, through a pipe, so that no file can be
//! put in their place; it answers through a pipe too. It has an empty environment, only its three
//! standard descriptors, a process group of its own, and limits that it sets itself before it reads
//! a byte. This process enforces the deadline and the size of the output. However the compiler
//! ends, this process continues and reports the result.

use portcullis_core::text::one_line;
use portcullis_engine::{CompileEnd, CompileLimit, CompileLimits, Compiler};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// The argument that makes this program compile.
pub const COMMAND: &str = "compile";
/// The exit code if the compiler rejects its input; the reason is on standard error.
pub const NOT_ACCEPTED: u8 = 3;
/// The number of compiler threads: more would only use more memory.
const THREADS: &str = "4";
/// The most bytes that are kept of the process's standard error.
const COMPLAINT_BYTES: u64 = 4096;
/// The bytes of the checksum that follows the machine code in an answer.
const CHECK_BYTES: u64 = 32;
const MIB: u64 = 1 << 20;

/// The limits when a person waits, or when plugins are compiled in advance. Processor time is the
/// real limit: CPython needs 8 s of it, but took more than a minute of wall time on a busy machine.
const PATIENT: CompileLimits = CompileLimits {
    wall: Duration::from_secs(240),
    cpu_seconds: 120,
    memory_bytes: 2048 * MIB,
    output_bytes: 256 * MIB,
};
/// The time that all compilations of one hook share: half of the client's timeout.
const HOOK: Duration = Duration::from_secs(15);

/// Starts the processes.
pub struct Processes {
    program: PathBuf,
    arguments: Vec<OsString>,
    each: CompileLimits,
    /// The time left for all compilations together; `None` if each has its own limit only.
    left: Option<Mutex<Duration>>,
}

impl Processes {
    /// Allows as much as a component may need. Retries components that failed before.
    #[must_use]
    pub fn with_patience() -> Self {
        Self { program: this_program(), arguments: vec![COMMAND.into()], each: PATIENT, left: None }
    }

    /// Allows as much as an agent that waits for its answer can spare.
    #[must_use]
    pub fn of_hook() -> Self {
        Self { left: Some(Mutex::new(HOOK)), ..Self::with_patience() }
    }

    fn run(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        let deadline = Instant::now() + limits.wall;
        let mut child =
            self.start(limits).map_err(|error| CompileEnd::Unavailable(unavailable(&error)))?;
        let said = talk(&mut child, component, limits, deadline);
        let status = child.wait().map_err(|error| CompileEnd::Unavailable(unavailable(&error)))?;
        let (answer, complaint) = said?;
        if status.success() { Ok(answer) } else { Err(ended(status, &complaint, limits)) }
    }

    fn start(&self, limits: &CompileLimits) -> io::Result<Child> {
        // The client may have left descriptors open that the compiler must not inherit.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args([limits.cpu_seconds, limits.memory_bytes].map(|limit| limit.to_string()));
        command
            .arg0("portcullis")
            .env_clear()
            .env("RAYON_NUM_THREADS", THREADS)
            .current_dir("/")
            .process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

impl Compiler for Processes {
    fn limits(&self) -> Option<CompileLimits> {
        let Some(left) = &self.left else { return Some(self.each) };
        let left = *left.lock().unwrap_or_else(PoisonError::into_inner);
        (!left.is_zero()).then_some(CompileLimits { wall: left, ..self.each })
    }

    fn retries_failures(&self) -> bool {
        self.left.is_none()
    }

    fn waited(&self, time: Duration) {
        if let Some(left) = &self.left {
            let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
            *left = left.saturating_sub(time);
        }
    }

    fn compile(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        let begun = Instant::now();
        let answer = self.run(component, limits);
        self.waited(begun.elapsed());
        answer
    }
}

/// Returns the running program itself, even if its file was replaced since.
fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    // An empty path cannot be started; the error is reported at the start.
    std::env::current_exe().unwrap_or_default()
}

fn unavailable(error: &io::Error) -> String {
    format!(
        "{error}; it needs /proc, a process and three pipes more: let the system's limits allow \
         them, then run `portcullis doctor`"
    )
}

/// Writes the component and reads the answer, until the deadline or the size limit.
fn talk(
    child: &mut Child,
    component: &[u8],
    limits: &CompileLimits,
    deadline: Instant,
) -> Result<(Vec<u8>, String), CompileEnd> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let group = Pid::from_child(child);
    let most = limits.output_bytes.saturating_add(CHECK_BYTES);
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let listen = || {
            // A process that ends without reading everything is judged by its exit status.
            let feed = move || stdin.is_some_and(|mut stdin| stdin.write_all(component).is_ok());
            Builder::new().spawn_scoped(scope, feed)?;
            Builder::new().spawn_scoped(scope, move || {
                sender.send(stdout.map(|stdout| at_most(stdout, most)).unwrap_or_default())
            })?;
            Builder::new().spawn_scoped(scope, move || stderr.map(complaint).unwrap_or_default())
        };
        let talked = listen()
            .map_err(|error| CompileEnd::Unavailable(unavailable(&error)))
            .and_then(|complaint| {
                let late = |_| CompileEnd::Limit(CompileLimit::Wall(limits.wall));
                let answer = receiver
                    .recv_timeout(deadline.saturating_duration_since(Instant::now()))
                    .map_err(late)?;
                if answer.len() as u64 > most {
                    return Err(CompileEnd::Limit(CompileLimit::Output(limits.output_bytes)));
                }
                wait(child, deadline).map_err(late)?;
                Ok((answer, complaint.join().unwrap_or_default()))
            });
        if talked.is_err() {
            // The child has not been waited for, so the process group is still its own. Killing it
            // closes its pipes, which ends the threads here.
            let _gone = kill_process_group(group, Signal::KILL);
        }
        talked
    })
}

/// Waits for the exit of a process that has closed its output. The caller reads the exit status.
fn wait(child: &mut Child, deadline: Instant) -> Result<(), RecvTimeoutError> {
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            return Err(RecvTimeoutError::Timeout);
        }
        thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// Reads up to one byte more than the limit, so that too long an answer is detected.
fn at_most(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Bytes that arrived before an error are judged like any answer.
    let _ = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    bytes
}

/// Returns the beginning of standard error. The rest is read too, or the process would block.
fn complaint(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = (&mut from).take(COMPLAINT_BYTES).read_to_end(&mut bytes);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Maps an exit without a usable answer to its meaning.
fn ended(status: ExitStatus, complaint: &str, limits: &CompileLimits) -> CompileEnd {
    let memory =
        ["memory allocation of", "out of memory", "Cannot allocate memory", "ThreadPoolBuildError"];
    let short_of_memory = memory.iter().any(|words| complaint.contains(words));
    let first = one_line(
        complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing"),
        200,
    );
    match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(NOT_ACCEPTED) => CompileEnd::Invalid(first),
        (_, Some(signal)) if signal == Signal::XCPU.as_raw() => {
            CompileEnd::Limit(CompileLimit::Cpu(limits.cpu_seconds))
        }
        (_, Some(signal)) if signal == Signal::ABORT.as_raw() && short_of_memory => {
            CompileEnd::Limit(CompileLimit::Memory(limits.memory_bytes))
        }
        (Some(_), _) if short_of_memory => {
            CompileEnd::Limit(CompileLimit::Memory(limits.memory_bytes))
        }
        (Some(code), _) => CompileEnd::Crashed(format!("exit code {code}, {first}")),
        (None, Some(signal)) => CompileEnd::Crashed(format!("signal {signal}, {first}")),
        (None, None) => CompileEnd::Crashed(first),
    }
}

#[cfg(test)]
mod tests;
