//! Follows the agent's stream to its end: sends the prompt once its hooks are known to run, answers
//! its questions, and stops it when its review does.

use super::person::{Person, PersonAnswer};
use super::view::print_line;
use super::watch::Shared;
use crate::error::Error;
use crate::paint;
use portcullis_agents::{Agent, Invocation};
use portcullis_core::text::one_line;
use portcullis_run::{Event, Line, Question, Run, Stopper, prompt, refuse, request, response};
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
    /// The client.
    pub agent: &'a dyn Agent,
    /// The hooks that it must have.
    pub wanted: &'a Invocation,
    /// The person who is asked, or why nobody can be.
    pub person: Result<Person, String>,
    /// The shared state of the run.
    pub shared: Arc<Shared>,
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
pub fn follow(run: &mut Run, talk: &Conversation<'_>) -> FollowResult {
    let mut input = run.input();
    let stopper = run.stopper();
    let mut followed = FollowResult::default();
    say(&mut input, &request("begin", "initialize"));
    say(&mut input, &request(LISTING, "get_hooks_listing"));
    while let Some(event) = run.next_event() {
        match event {
            Event::Output(Line::Control(line)) => {
                control(run, talk, &stopper, &line, &mut input, &mut followed)
            }
            Event::Output(Line::Result { text, reason, .. }) => {
                // A client that did not obey its stop can end before the next look at the journal.
                let stopped = talk.shared.stopped();
                if let Some(why) = stopped
                    .as_deref()
                    .or((reason == HOOK_STOPPED).then_some("a hook ended the agent's turn"))
                {
                    talk.shared.stop(&stopper, why);
                }
                followed.text = Some(text);
                // There is no other prompt: the client ends.
                input = None;
            }
            Event::Output(line) => view(talk, &stopper, line),
            Event::Error(line) if talk.errors => print_line(&paint::dim(one_line(&line, 1000))),
            Event::Warning(warning) => talk.shared.view().warn(&warning),
            _ => {}
        }
    }
    followed
}

fn view(talk: &Conversation<'_>, stopper: &Stopper, line: Line) {
    let mut view = talk.shared.view();
    match line {
        Line::Session { id, model, .. } => view.session(&id, &model),
        Line::Text { text, nested } => view.text(&text, nested),
        Line::Tool { id, name, .. } => view.begin(&id, &name),
        Line::Done { id, failed, .. } => {
            let unreviewed = view.end(&id, failed);
            drop(view);
            if let Some(tool) = unreviewed {
                talk.shared
                    .stop(stopper, &format!("{tool} was used without a review by our hooks"));
            }
        }
        Line::Notice(text) => view.say(&paint::dim(one_line(&text, 400))),
        Line::TooLong { bytes } => {
            view.say(&paint::dim(format!("a line of {bytes} bytes was not read")))
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
    if let Some(listing) = response(line, LISTING) {
        let loaded = listing.map_err(|error| {
            Error::io(format!(
                "the client did not report which hooks it has loaded: {}",
                one_line(&error, 300)
            ))
        });
        let confirmed =
            loaded.and_then(|listing| Ok(talk.agent.check_loaded_hooks(&listing, talk.wanted)?));
        match confirmed {
            Ok(warning) => {
                if let Some(warning) = warning {
                    print_line(&format!("{}: {warning}", paint::warn("warning")));
                }
                talk.shared.guarded();
                say(input, &prompt(talk.prompt));
            }
            Err(error) => {
                let why = error.in_line();
                talk.shared.stop(stopper, &why);
                followed.unguarded = Some(why);
            }
        }
    } else if let Some(question) = Question::read(line) {
        let answer = answer(run, talk, &question);
        say(input, &answer);
    } else if let Some(refusal) = refuse(line) {
        say(input, &refusal);
    }
}

/// Returns the person's decision on a call, or why it is refused without one.
fn answer(run: &Run, talk: &Conversation<'_>, question: &Question) -> String {
    let review = {
        // The line of the review comes before the question about it.
        let mut view = talk.shared.view();
        view.look();
        view.review(&question.call)
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
            let said = person.ask(question, &reason, || run.is_over());
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
    talk.shared.view().answered(&question.call, answer);
    if answer == PersonAnswer::Yes {
        question.allow()
    } else {
        question.deny(&format!("{reason} {why}"), false)
    }
}

/// Sends a line to the agent; one that no longer reads is about to end.
fn say(input: &mut Option<ChildStdin>, line: &str) {
    let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
}
