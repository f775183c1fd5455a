//! A monitor in its smallest form, with a live view that asks at the terminal:
//! `cargo run -p portcullis-run --example live -- "the prompt" claude -p`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "an example talks to a person"
)]

use portcullis_run::{
    AgentCommand, CONTROL_ARGUMENTS, Confinement, ConfinementReport, Question, Reentry, Run,
    RunError, RunEvent, RunLimits, Sinks, StandardInput, StreamLine, begin_message, exit_code,
    refuse_message,
};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, ExitCode};
use std::time::Duration;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    match args.peek().and_then(|word| word.to_str()) {
        Some("watch") => portcullis_run::watcher_main(args.skip(1)),
        Some("launch") => portcullis_run::launcher_main(args.skip(1)),
        _ => {
            let prompt = args.next().unwrap_or_default();
            follow(&prompt.to_string_lossy(), args.collect())
        }
    }
}

fn follow(prompt: &str, command: Vec<OsString>) -> ExitCode {
    let ended = run(prompt, command);
    match &ended {
        Ok(ended) => println!("{ended:#?}"),
        Err(error) => eprintln!("error: {error}"),
    }
    ExitCode::from(exit_code(&ended))
}

fn run(prompt: &str, command: Vec<OsString>) -> Result<portcullis_run::RunResult, RunError> {
    let program = std::env::current_exe()
        .map_err(|source| RunError::System { doing: "finding this program", source })?;
    let reentry = Reentry { program, watcher: "watch".to_owned(), launcher: "launch".to_owned() };
    // It may write here, in the folder for temporary files and in its home, and connect to its
    // model over HTTPS.
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let write =
        [".".into(), std::env::temp_dir(), home].into_iter().filter(|path| path.is_dir()).collect();
    let confinement = Confinement { write: Some(write), signals: true, ..Confinement::default() };
    for (what, enforced) in ConfinementReport::of_confinement(&confinement).rows {
        println!("{enforced:?}: {what}");
    }
    let limits = RunLimits {
        time: Some(Duration::from_secs(600)),
        tokens: Some(1_000_000),
        ..RunLimits::default()
    };
    let agent = AgentCommand {
        confinement,
        input: StandardInput::Written,
        ..AgentCommand::new(command.into_iter().chain(CONTROL_ARGUMENTS.map(OsString::from)))
    };
    let mut run = Run::start_agent(&agent, &limits, &reentry, Sinks::default())?;
    let mut input = run.take_input();
    tell(&mut input, &begin_message(prompt));
    while let Some(event) = run.next_event() {
        match event {
            RunEvent::Output(StreamLine::Control(line)) => match Question::parse_question(&line) {
                Some(question) => tell(&mut input, &ask(&question)),
                None => tell(&mut input, &refuse_message(&line).unwrap_or_default()),
            },
            RunEvent::Output(StreamLine::Text { text, .. }) => println!("  {text}"),
            RunEvent::Output(StreamLine::Tool { name, input, .. }) => println!("> {name} {input}"),
            RunEvent::Output(StreamLine::Done { failed, text, .. }) => {
                println!("{} {text}", if failed { "!" } else { "<" })
            }
            RunEvent::Output(StreamLine::Result { text, reason, .. }) => {
                println!("= {text} ({reason})");
                // No other prompt follows.
                input = None;
            }
            RunEvent::Output(StreamLine::Other(_)) => {}
            other => println!("- {other:?}"),
        }
    }
    run.wait_for_end()
}

fn ask(question: &Question) -> String {
    println!(
        "? {} {} (y or n) {}",
        question.tool,
        question.input,
        question.reason.as_deref().unwrap_or_default()
    );
    let mut said = String::new();
    match std::io::stdin().read_line(&mut said) {
        Ok(_) if said.trim() == "y" => question.allow(),
        _ => question.deny_message("the person at the terminal says no", false),
    }
}

/// Writes a line to the agent; a failed write is ignored, since an agent that no longer reads is
/// about to end.
fn tell(input: &mut Option<ChildStdin>, line: &str) {
    let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
}
