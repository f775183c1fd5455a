//! Compiles components that others wrote, in a process of its own: this program once more, as `compile`.
//!
//! The process gets the very bytes that were inspected, through a pipe, so that no file can be put in
//! their place; and it answers through a pipe. It has no environment, no descriptor but its three, a
//! group of its own, and limits that it sets itself before it reads a byte. Time and length are watched
//! from here. Whatever becomes of it, this process goes on and says what happened.

use portcullis_core::text::one_line;
use portcullis_engine::{CompileEnd, CompileLimit, CompileLimits, Workshop};
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
/// How the process ends when the compiler does not accept what it got; the reason stands on standard error.
pub const NOT_ACCEPTED: u8 = 3;
/// Threads that compile: more would only take more memory each.
const THREADS: &str = "4";
/// The most that is kept of what the process complains.
const COMPLAINT_BYTES: u64 = 4096;
/// Beside the machine code, an answer has a check value.
const CHECK_BYTES: u64 = 32;
const MIB: u64 = 1 << 20;

/// For a person who waits, and for what is done in advance. Processor time is what a component is held to: CPython takes 8 s
/// of it, and took more than a minute on the wall of a busy machine.
const PATIENT: CompileLimits =
    CompileLimits { wall: Duration::from_secs(240), cpu_seconds: 120, memory_bytes: 2048 * MIB, output_bytes: 256 * MIB };
/// All files that one hook compiles have so much time together: half of what a client waits.
const HOOK: Duration = Duration::from_secs(15);

/// Starts the processes.
pub struct Processes {
    program: PathBuf,
    arguments: Vec<OsString>,
    each: CompileLimits,
    /// What is left for all together; none where only each is bounded.
    left: Option<Mutex<Duration>>,
}

impl Processes {
    /// As much as a component may need. What failed before is tried again.
    #[must_use]
    pub fn patient() -> Self {
        Self { program: this_program(), arguments: vec![COMMAND.into()], each: PATIENT, left: None }
    }

    /// As much as an agent that waits for its answer allows.
    #[must_use]
    pub fn of_hook() -> Self {
        Self { left: Some(Mutex::new(HOOK)), ..Self::patient() }
    }

    fn run(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd> {
        let deadline = Instant::now() + limits.wall;
        let mut child = self.start(limits).map_err(|error| CompileEnd::Unavailable(unavailable(&error)))?;
        let said = talk(&mut child, component, limits, deadline);
        let status = child.wait().map_err(|error| CompileEnd::Unavailable(unavailable(&error)))?;
        let (answer, complaint) = said?;
        if status.success() { Ok(answer) } else { Err(ended(status, &complaint, limits)) }
    }

    fn start(&self, limits: &CompileLimits) -> io::Result<Child> {
        // A client may have left us descriptors that are not for others.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args([limits.cpu_seconds, limits.memory_bytes].map(|limit| limit.to_string()));
        command.arg0("portcullis").env_clear().env("RAYON_NUM_THREADS", THREADS).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }
}

impl Workshop for Processes {
    fn limits(&self) -> Option<CompileLimits> {
        let Some(left) = &self.left else { return Some(self.each) };
        let left = *left.lock().unwrap_or_else(PoisonError::into_inner);
        (!left.is_zero()).then_some(CompileLimits { wall: left, ..self.each })
    }

    fn tries_again(&self) -> bool {
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

/// The running program itself, even where its file was replaced since.
fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    // An empty path cannot be started, which is told where it is tried.
    std::env::current_exe().unwrap_or_default()
}

fn unavailable(error: &io::Error) -> String {
    format!("{error}; it needs /proc, a process and three pipes more: let the system's limits allow them, then run `portcullis doctor`")
}

/// Gives the component and takes the answer, as long as there is time and the answer fits.
fn talk(child: &mut Child, component: &[u8], limits: &CompileLimits, deadline: Instant) -> Result<(Vec<u8>, String), CompileEnd> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let group = Pid::from_child(child);
    let most = limits.output_bytes.saturating_add(CHECK_BYTES);
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let listen = || {
            // One that ends without reading all of it is judged by how it ended.
            let feed = move || stdin.is_some_and(|mut stdin| stdin.write_all(component).is_ok());
            Builder::new().spawn_scoped(scope, feed)?;
            Builder::new().spawn_scoped(scope, move || sender.send(stdout.map(|stdout| at_most(stdout, most)).unwrap_or_default()))?;
            Builder::new().spawn_scoped(scope, move || stderr.map(complaint).unwrap_or_default())
        };
        let talked = listen().map_err(|error| CompileEnd::Unavailable(unavailable(&error))).and_then(|complaint| {
            let late = |_| CompileEnd::Limit(CompileLimit::Wall(limits.wall));
            let answer = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).map_err(late)?;
            if answer.len() as u64 > most {
                return Err(CompileEnd::Limit(CompileLimit::Output(limits.output_bytes)));
            }
            wait(child, deadline).map_err(late)?;
            Ok((answer, complaint.join().unwrap_or_default()))
        });
        if talked.is_err() {
            // It was not waited for yet, so the group is still its own. Its pipes close with it, and so the threads here end.
            let _gone = kill_process_group(group, Signal::KILL);
        }
        talked
    })
}

/// Waits until it ends, now that it has closed its output. How it ended is asked by whoever wants to know.
fn wait(child: &mut Child, deadline: Instant) -> Result<(), RecvTimeoutError> {
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            return Err(RecvTimeoutError::Timeout);
        }
        thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// One byte more than allowed, so that too much is noticed.
fn at_most(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before an error is judged like any answer.
    let _ = from.take(most.saturating_add(1)).read_to_end(&mut bytes);
    bytes
}

/// The beginning of what it complains; the rest is read too, since it would wait.
fn complaint(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = (&mut from).take(COMPLAINT_BYTES).read_to_end(&mut bytes);
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What an end means that is no answer.
fn ended(status: ExitStatus, complaint: &str, limits: &CompileLimits) -> CompileEnd {
    let memory = ["memory allocation of", "out of memory", "Cannot allocate memory", "ThreadPoolBuildError"];
    let short_of_memory = memory.iter().any(|words| complaint.contains(words));
    let first = one_line(complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing"), 200);
    match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(NOT_ACCEPTED) => CompileEnd::Invalid(first),
        (_, Some(signal)) if signal == Signal::XCPU.as_raw() => CompileEnd::Limit(CompileLimit::Cpu(limits.cpu_seconds)),
        (_, Some(signal)) if signal == Signal::ABORT.as_raw() && short_of_memory => {
            CompileEnd::Limit(CompileLimit::Memory(limits.memory_bytes))
        }
        (Some(_), _) if short_of_memory => CompileEnd::Limit(CompileLimit::Memory(limits.memory_bytes)),
        (Some(code), _) => CompileEnd::Crashed(format!("exit code {code}, {first}")),
        (None, Some(signal)) => CompileEnd::Crashed(format!("signal {signal}, {first}")),
        (None, None) => CompileEnd::Crashed(first),
    }
}

#[cfg(test)]
mod tests;
