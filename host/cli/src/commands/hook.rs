//! `portcullis hook AGENT`: one event on standard input, one answer on standard output.

use crate::exit::CommandExit;
use portcullis_agents::{Agent, HookOutput};
use portcullis_review::hook::{answer_event, answer_to_panic};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs the hook of an agent's client; returns the process's exit code.
pub fn run_hook(agent: &'static dyn Agent) -> u8 {
    survive_file_size_limits();
    let input = read_input(agent.max_input());
    let answered = catch_unwind(AssertUnwindSafe(|| answer_event(agent, &input)))
        .unwrap_or_else(|_| answer_to_panic(agent, &input));
    let exit = deliver(&answered.output);
    if answered.work_is_due {
        super::maintain::start_detached();
    }
    exit
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
        // A client that does not read its answer must not take silence for consent.
        return CommandExit::Rejected.code();
    }
    if !output.stderr.is_empty() {
        let _ = std::io::stderr().lock().write_all(&output.stderr);
    }
    output.exit
}
