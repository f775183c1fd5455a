//! `portcullis hook AGENT`: one event on standard input, one answer on standard output.

use crate::exit::CommandExit;
use portcullis_agents::invocation::{DEADLINE, TIMEOUT};
use portcullis_agents::{Agent, HookOutput};
use portcullis_config::boundary::Boundary;
use portcullis_review::approvals::AnswerPort;
use portcullis_review::hook::{
    HookCaller, answer_across, answer_event, answer_late, answer_to_panic, record_late,
    refuse_across,
};
use portcullis_review::parts::FreshParts;
use std::io::{IsTerminal, Read, Write};
use std::os::unix::process::parent_id;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// The time that a review still has after its deadline, to record itself. With [`DEADLINE`] it is
/// below the timeout of every handler before an action.
const GRACE: Duration = Duration::from_secs(2);
/// The wait for the payload of a client that starts this program without arguments.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the hook of an agent's client, which gives it up after `timeout` seconds; returns the
/// process's exit code.
pub fn run_hook(agent: &'static dyn Agent, timeout: u64) -> u8 {
    let late = LateAnswer::new(agent, timeout);
    if agent.needs_deadline() {
        // The thread costs a hook some percent.
        late.start();
    }
    answer(&HookCaller::of_process(agent), timeout, read_input(agent.max_input()), &late)
}

/// Runs as a hook if a client started this program without arguments and passes it an event: some
/// clients drop the arguments in the settings of another one. `None` if nobody passes an event.
pub fn run_bare_hook() -> Option<u8> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let agent = portcullis_agents::DEFAULT;
    // Another client than the default one, which may run the tool after its timeout.
    let late = LateAnswer::new(agent, TIMEOUT);
    let (sender, receiver) = channel();
    thread::spawn(move || {
        // After the wait nobody receives it.
        let _ = sender.send(read_input(agent.max_input()));
    });
    let input = receiver.recv_timeout(PATIENCE).ok()?;
    agent.parse(&input).ok()?;
    late.start();
    Some(answer(&HookCaller::of_process(agent), TIMEOUT, input, &late))
}

fn answer(caller: &HookCaller, timeout: u64, input: Vec<u8>, late: &LateAnswer) -> u8 {
    survive_file_size_limits();
    late.set_input(&input);
    let answered = catch_unwind(AssertUnwindSafe(|| match Boundary::read_machine() {
        Ok(None) => {
            answer_event(caller, &input, caller.agent.parse(&input), late, &FreshParts::of_hook())
        }
        Ok(Some(boundary)) => answer_across(caller, timeout, &input, &boundary, late),
        // Whoever set it up wants no review by anybody else.
        Err(problems) => refuse_across(caller, &input, &problems.to_string()),
    }))
    .unwrap_or_else(|_| answer_to_panic(caller.agent, &input));
    let Some(exit) = late.deliver_once(&answered.output) else {
        // The record of the review says another verdict than the answer that was given.
        record_late(caller, &input);
        return answer_late(caller.agent, &input).exit;
    };
    if answered.work_is_due {
        drop(super::maintain::start_detached());
    }
    exit
}

/// The answer that is given when the review takes too long: a refusal.
///
/// A person's answer may take longer than a review. The deadline moves for the wait, and the wait
/// ends so early that the review after it has as much time as any other: by then the client's
/// timeout is as far away as it usually is from the start.
#[derive(Clone)]
struct LateAnswer {
    agent: &'static dyn Agent,
    deadline: Arc<Mutex<Instant>>,
    /// The process that started this one.
    parent: u32,
    /// The time at which a wait has to have ended; `None` if the client leaves no time for one.
    latest_end: Option<Instant>,
    /// True once an answer is written. It is locked while one is.
    answered: Arc<Mutex<bool>>,
    input: Arc<Mutex<Vec<u8>>>,
}

impl LateAnswer {
    fn new(agent: &'static dyn Agent, timeout: u64) -> Self {
        let begun = Instant::now();
        let spare = Some(timeout.saturating_sub(TIMEOUT)).filter(|seconds| *seconds > 0);
        Self {
            agent,
            parent: parent_id(),
            deadline: Arc::new(Mutex::new(begun + DEADLINE)),
            latest_end: spare.map(|seconds| begun + Duration::from_secs(seconds)),
            answered: Arc::default(),
            input: Arc::default(),
        }
    }

    /// Starts to wait. Where the system gives no thread, the client's own timeout is what is left.
    fn start(&self) {
        let late = self.clone();
        let wait = move || {
            loop {
                let left = lock(&late.deadline).saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                thread::sleep(left);
            }
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

impl AnswerPort for LateAnswer {
    fn latest_end(&self) -> Option<Instant> {
        self.latest_end
    }

    fn begin_wait(&self, until: Instant, has_messages: bool) {
        *lock(&self.deadline) = until + DEADLINE;
        if has_messages {
            drop(super::maintain::start_detached());
        }
    }

    fn end_wait(&self) {
        *lock(&self.deadline) = Instant::now() + DEADLINE;
    }

    /// The client, or the shell in between, has died.
    fn is_abandoned(&self) -> bool {
        parent_id() != self.parent
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
