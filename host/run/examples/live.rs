//! A monitor in its smallest form, with a live view: `cargo run -p portcullis-run --example live -- claude -p "..."
//! --output-format stream-json --verbose`.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "an example talks to a person")]

use portcullis_run::{Agent, Confinement, Event, Input, Limits, Line, Reentry, Report, Run, RunError, Sinks, exit_code};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    match args.peek().and_then(|word| word.to_str()) {
        Some("watch") => portcullis_run::watcher_main(args.skip(1)),
        Some("launch") => portcullis_run::launcher_main(args.skip(1)),
        _ => follow(args.collect()),
    }
}

fn follow(command: Vec<OsString>) -> ExitCode {
    let ended = run(command);
    match &ended {
        Ok(ended) => println!("{ended:#?}"),
        Err(error) => eprintln!("error: {error}"),
    }
    ExitCode::from(exit_code(&ended))
}

fn run(command: Vec<OsString>) -> Result<portcullis_run::Ended, RunError> {
    let program = std::env::current_exe().map_err(|source| RunError::System { doing: "finding this program", source })?;
    let reentry = Reentry { program, watcher: "watch".to_owned(), launcher: "launch".to_owned() };
    // It may write here, in the folder for temporary files and in its own, and speak to its model over HTTPS.
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let write = [".".into(), std::env::temp_dir(), home].into_iter().filter(|path| path.is_dir()).collect();
    let confinement = Confinement { write: Some(write), signals: true, ..Confinement::default() };
    for (what, enforced) in Report::of(&confinement).rows {
        println!("{enforced:?}: {what}");
    }
    let limits = Limits { time: Some(Duration::from_secs(600)), tokens: Some(1_000_000), ..Limits::default() };
    let agent = Agent { confinement, input: Input::Nothing, ..Agent::new(command) };
    let mut run = Run::start(&agent, &limits, &reentry, Sinks::default())?;
    while let Some(event) = run.next_event() {
        match event {
            Event::Output(Line::Text { text, .. }) => println!("  {text}"),
            Event::Output(Line::Tool { name, input, .. }) => println!("> {name} {input}"),
            Event::Output(Line::Done { failed, text, .. }) => println!("{} {text}", if failed { "!" } else { "<" }),
            Event::Output(Line::Result { text, reason, .. }) => println!("= {text} ({reason})"),
            Event::Output(Line::Other(_)) => {}
            other => println!("- {other:?}"),
        }
    }
    run.wait()
}
