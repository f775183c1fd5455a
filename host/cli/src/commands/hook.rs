//! `portcullis hook AGENT`: one event on standard input, one answer on standard output.

use crate::exit::CommandExit;
use portcullis_agents::invocation::DEADLINE;
use portcullis_agents::{Agent, HookOutput};
use portcullis_review::hook::{answer_event, answer_late, answer_to_panic, record_late};
use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

/// The time that a review still has after its deadline, to record itself. With [`DEADLINE`] it is
/// below the timeout of every handler before an action.
const GRACE: Duration = Duration::from_secs(2);
/// The wait for the payload of a client that starts this program without arguments.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the hook of an agent's client; returns the process's exit code.
pub fn run_hook(agent: &'static dyn Agent) -> u8 {
    let late = LateAnswer::new(agent);
    if agent.runs_after_timeout() {
        // The thread costs a hook some percent.
        late.start();
    }
    answer(agent, read_input(agent.max_input()), &late)
}

/// Runs as a hook if a client started this program without arguments and passes it an event: some
/// clients drop the arguments in the settings of another one. `None` if nobody passes an event.
pub fn run_bare_hook() -> Option<u8> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let agent = portcullis_agents::DEFAULT;
    // Another client than the default one, which may run the tool after its timeout.
    let late = LateAnswer::new(agent);
    let (sender, receiver) = channel();
    thread::spawn(move || {
        // After the wait nobody receives it.
        let _ = sender.send(read_input(agent.max_input()));
    });
    let input = receiver.recv_timeout(PATIENCE).ok()?;
    agent.parse(&input).ok()?;
    late.start();
    Some(answer(agent, input, &late))
}

fn answer(agent: &'static dyn Agent, input: Vec<u8>, late: &LateAnswer) -> u8 {
    survive_file_size_limits();
    late.set_input(&input);
    let answered = catch_unwind(AssertUnwindSafe(|| answer_event(agent, &input)))
        .unwrap_or_else(|_| answer_to_panic(agent, &input));
    let Some(exit) = late.deliver_once(&answered.output) else {
        // The record of the review says another verdict than the answer that was given.
        record_late(agent, &input);
        return answer_late(agent, &input).exit;
    };
    if answered.work_is_due {
        drop(super::maintain::start_detached());
    }
    exit
}

/// The answer that is given when the review takes too long: a refusal.
#[derive(Clone)]
struct LateAnswer {
    agent: &'static dyn Agent,
    /// True once an answer is written. It is locked while one is.
    answered: Arc<Mutex<bool>>,
    input: Arc<Mutex<Vec<u8>>>,
}

impl LateAnswer {
    fn new(agent: &'static dyn Agent) -> Self {
        Self { agent, answered: Arc::default(), input: Arc::default() }
    }

    /// Starts to wait. Where the system gives no thread, the client's own timeout is what is left.
    fn start(&self) {
        let late = self.clone();
        let wait = move || {
            thread::sleep(DEADLINE);
            let input = lock(&late.input).clone();
            let Some(code) = late.deliver_once(&answer_late(late.agent, &input)) else { return };
            thread::sleep(GRACE);
            exit(i32::from(code));
        };
        drop(Builder::new().name("portcullis-late".into()).spawn(wait));
    }

    /// Sets the event, so that a late answer fits it.
    fn set_input(&self, input: &[u8]) {
        input.clone_into(&mut lock(&self.input));
    }

    /// Writes an answer; returns the exit code, or `None` if another one was written before.
    fn deliver_once(&self, output: &HookOutput) -> Option<u8> {
        let mut answered = lock(&self.answered);
        if std::mem::replace(&mut *answered, true) {
            return None;
        }
        Some(deliver(output))
    }
}

/// Locks a value that no panic leaves half-changed.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a write beyond the limit on file sizes fail, so that it is handled like a full disk, with
/// a fix. The default action of the signal would end the hook without an answer.
fn survive_file_size_limits() {
    // If the system refuses the handler, the client still refuses a call whose hook was ended by a
    // signal.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Reads one byte more than the limit, so that larger input is noticed.
fn read_input(limit: usize) -> Vec<u8> {
    let mut input = Vec::with_capacity(4096);
    // After a read error the bytes so far are judged: an unreadable event is refused.
    let _ = std::io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut input);
    input
}

fn deliver(output: &HookOutput) -> u8 {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(&output.stdout).and_then(|()| stdout.flush()).is_err() {
        // A client that does not read its answer must not take silence for consent, and some take a
        // refusal without a reason for none.
        let _ = std::io::stderr().lock().write_all(b"portcullis cannot write its answer\n");
        return CommandExit::Rejected.code();
    }
    if !output.stderr.is_empty() {
        let _ = std::io::stderr().lock().write_all(&output.stderr);
    }
    output.exit
}
