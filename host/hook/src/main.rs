//! `portcullis-hook AGENT`: one event on standard input, one answer on standard output, with the
//! arguments of `portcullis hook`.
//!
//! It hands the event to the resident service and writes the service's answer. Where there is no
//! service, or anything at all goes wrong, it becomes `portcullis hook` with the same arguments and
//! the same event, which reviews by itself. So it decides nothing: there is no verdict in it that
//! could be looser than the embedded one.

mod ask;
mod embedded;
mod invocation;

use embedded::{REASON_VARIABLE, become_embedded};
use invocation::HookArguments;
use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let mut payload = Vec::with_capacity(4096);
    // After a read error the embedded review judges the bytes so far, and refuses them.
    let read = io::stdin().lock().take(invocation::MOST_PAYLOAD).read_to_end(&mut payload);
    let asked = match (read, HookArguments::parse(&arguments)) {
        (Ok(_), Some(hook)) => ask::ask_service(&hook, payload.clone()),
        // Its error messages are those of the other program.
        _ => Err(None),
    };
    match asked {
        Ok(answer) => deliver(&answer),
        Err(reason) => {
            // `exec` returns only if it fails.
            let error = become_embedded(&arguments, &payload, reason.as_deref());
            let _ = writeln!(
                io::stderr(),
                "portcullis-hook cannot start `portcullis`: {error}; install both programs in one \
                 folder ({REASON_VARIABLE} is {})",
                reason.as_deref().unwrap_or("not set")
            );
            ExitCode::from(invocation::REJECTED)
        }
    }
}

fn deliver(answer: &portcullis_protocol::Answer) -> ExitCode {
    let mut stdout = io::stdout().lock();
    if stdout.write_all(&answer.stdout).and_then(|()| stdout.flush()).is_err() {
        // A client that does not read its answer must not take silence for consent.
        let _ = io::stderr().lock().write_all(b"portcullis-hook cannot write its answer\n");
        return ExitCode::from(invocation::REJECTED);
    }
    // Without standard error the answer still holds.
    let _ = io::stderr().lock().write_all(&answer.stderr);
    ExitCode::from(answer.exit)
}
