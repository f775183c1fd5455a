//! Follows the agent's stream to its end: sends the prompt once its hooks are known to run, answers
//! its questions, and stops it when its review does.

use super::person::{Person, PersonAnswer};
use super::view::print_line;
use super::watch::SharedView;
use crate::error::Error;
use crate::paint;
use portcullis_agents::{Invocation, Supervision};
use portcullis_core::text::one_line;
use portcullis_run::{
    Question, Run, RunEvent, Stopper, StreamLine, parse_response, prompt_message, refuse_message,
    request_message,
};
use serde_json::Value;
use std::io::Write;
use std::process::ChildStdin;
use std::sync::Arc;

/// The id of the request for the client's list of its hooks.
const LISTING: &str = "hooks";
/// The client's reason for ending a turn that a hook stopped.
const HOOK_STOPPED: &str = "hook_stopped";

/// The inputs of the conversation with the agent.
pub struct Conversation<'a> {
    /// The person's prompt.
    pub prompt: &'a str,
    /// The client's own way of being supervised.
    pub supervision: &'a dyn Supervision,
    /// The hooks that it must have.
    pub wanted: &'a Invocation,
    /// The person who is asked, or why nobody can be.
    pub person: Result<Person, String>,
    /// The shared state of the run.
    pub shared: Arc<SharedView>,
    /// True if the agent's standard error is passed on.
    pub errors: bool,
}

/// The result of following an agent.
#[derive(Default)]
pub struct FollowResult {
    /// The agent's last words.
    pub text: Option<String>,
    /// The reason why it was not given its prompt.
    pub unguarded: Option<String>,
}

/// Processes the agent's events to the end of its stream.
pub fn follow_run(run: &mut Run, talk: &Conversation<'_>) -> FollowResult {
    let mut input = run.take_input();
    let stopper = run.stop_handle();
    let mut followed = FollowResult::default();
    say(&mut input, &request_message("begin", "initialize"));
    say(&mut input, &request_message(LISTING, "get_hooks_listing"));
    while let Some(event) = run.next_event() {
        match event {
            RunEvent::Output(StreamLine::Control(line)) => {
                control(run, talk, &stopper, &line, &mut input, &mut followed)
            }
            RunEvent::Output(StreamLine::Result { text, reason, .. }) => {
                // A client that did not obey its stop can end before the next look at the journal.
                let stopped = talk.shared.stopped();
                if let Some(why) = stopped
                    .as_deref()
                    .or((reason == HOOK_STOPPED).then_some("a hook ended the agent's turn"))
                {
                    talk.shared.stop_run(&stopper, why);
                }
                followed.text = Some(text);
                // There is no other prompt: the client ends.
                input = None;
            }
            RunEvent::Output(line) => view(talk, &stopper, line),
            RunEvent::Error(line) if talk.errors => print_line(&paint::dim(one_line(&line, 1000))),
            RunEvent::Warning(warning) => talk.shared.view().print_warning(&warning),
            _ => {}
        }
    }
    followed
}

fn view(talk: &Conversation<'_>, stopper: &Stopper, line: StreamLine) {
    let mut view = talk.shared.view();
    match line {
        StreamLine::Session { id, model, .. } => view.begin_session(&id, &model),
        StreamLine::Text { text, nested } => view.print_text(&text, nested),
        StreamLine::Tool { id, name, .. } => view.begin_call(&id, &name),
        StreamLine::Done { id, failed, .. } => {
            let unreviewed = view.end_call(&id, failed);
            drop(view);
            if let Some(tool) = unreviewed {
                talk.shared
                    .stop_run(stopper, &format!("{tool} was used without a review by our hooks"));
            }
        }
        StreamLine::Notice(text) => view.print_line(&paint::dim(one_line(&text, 400))),
        StreamLine::TooLong { bytes } => {
            view.print_line(&paint::dim(format!("a line of {bytes} bytes was not read")))
        }
        _ => {}
    }
}

fn control(
    run: &Run,
    talk: &Conversation<'_>,
    stopper: &Stopper,
    line: &Value,
    input: &mut Option<ChildStdin>,
    followed: &mut FollowResult,
) {
    if let Some(listing) = parse_response(line, LISTING) {
        let loaded = listing.map_err(|error| {
            Error::io(format!(
                "the client did not report which hooks it has loaded: {}",
                one_line(&error, 300)
            ))
        });
        let confirmed = loaded
            .and_then(|listing| Ok(talk.supervision.check_loaded_hooks(&listing, talk.wanted)?));
        match confirmed {
            Ok(warning) => {
                if let Some(warning) = warning {
                    print_line(&format!("{}: {warning}", paint::warn("warning")));
                }
                talk.shared.record_guarded();
                say(input, &prompt_message(talk.prompt));
            }
            Err(error) => {
                let why = error.in_line();
                talk.shared.stop_run(stopper, &why);
                followed.unguarded = Some(why);
            }
        }
    } else if let Some(question) = Question::parse_question(line) {
        let answer = answer(run, talk, &question);
        say(input, &answer);
    } else if let Some(refusal) = refuse_message(line) {
        say(input, &refusal);
    }
}

/// Returns the person's decision on a call, or why it is refused without one.
fn answer(run: &Run, talk: &Conversation<'_>, question: &Question) -> String {
    let review = {
        // The line of the review comes before the question about it.
        let mut view = talk.shared.view();
        view.read_journal();
        view.find_review(&question.call)
    };
    let decided = review.and_then(|record| record.decision.map(|decision| decision.primary_reason));
    let reason = question
        .reason
        .clone()
        .or(decided)
        .unwrap_or_else(|| "the client asks for permission".to_owned());
    let (answer, why) = match &talk.person {
        Err(nobody) => {
            (PersonAnswer::Nobody, format!("A person would have to decide, and {nobody}."))
        }
        // An agent that has ended meanwhile does not receive it.
        Ok(person) => {
            talk.shared.view().hold_lines();
            let said = person.ask_person(question, &reason, || run.is_over());
            talk.shared.view().release_lines();
            match said.unwrap_or(PersonAnswer::No) {
                PersonAnswer::Late => (
                    PersonAnswer::Late,
                    "A person would have to decide, and nobody at the terminal answered in time."
                        .to_owned(),
                ),
                said => (said, "The person at the terminal said no.".to_owned()),
            }
        }
    };
    talk.shared.view().note_answer(&question.call, answer);
    if answer == PersonAnswer::Yes {
        question.allow()
    } else {
        question.deny_message(&format!("{reason} {why}"), false)
    }
}

/// Sends a line to the agent; one that no longer reads is about to end.
fn say(input: &mut Option<ChildStdin>, line: &str) {
    let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
}
