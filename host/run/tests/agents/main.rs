//! Agents that do things an agent should not do, each below a real monitor: this binary, started
//! again.
//!
//! A row is a script, an act that is carried out when it is ready, and the expected outcome. In
//! every row no process that the agent started is alive when the monitor reports the end, or soon
//! after the monitor itself was killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod alive;
mod check;
mod monitor;
mod rows;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some("watch") => portcullis_run::watcher_main(args),
        Some("launch") => portcullis_run::launcher_main(args),
        Some("monitor") => monitor::main(&args.next().unwrap().into_string().unwrap()),
        _ => trials(),
    }
}

fn trials() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Agents that use up a machine do not get all of it.
    arguments.test_threads.get_or_insert(2);
    let trials = rows::all().into_iter().flat_map(|row| {
        [true, false].map(|cgroup| {
            let row = row.clone();
            let name = format!(
                "{}{}",
                row.name.replace(' ', "_"),
                if cgroup { "" } else { "_without_cgroup" }
            );
            Trial::test(name, move || check::check(&row, cgroup).map_err(Into::into))
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
