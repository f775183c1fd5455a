//! Follows the agent's stream to its end: gives it the prompt once its hooks are known to run, answers its questions,
//! stops it where its review stops it.

use super::guard;
use super::person::{Answer, Person};
use super::view::tell;
use super::watch::Shared;
use crate::client::claude::handlers::Invocation;
use crate::paint;
use portcullis_core::text::one_line;
use portcullis_run::{Event, Line, Question, Run, Stopper, prompt, refuse, request, response};
use serde_json::Value;
use std::io::Write;
use std::process::ChildStdin;
use std::sync::Arc;

/// The request for the client's list of its hooks.
const LISTING: &str = "hooks";
/// How the client ends a turn that a hook stopped.
const HOOK_STOPPED: &str = "hook_stopped";

/// What is said to the agent and how.
pub struct Talk<'a> {
    /// What the person asks for.
    pub prompt: &'a str,
    /// What its hooks are to be.
    pub wanted: &'a Invocation,
    /// Who is asked, or why nobody can be.
    pub person: Result<Person, String>,
    /// What is known of the run.
    pub shared: Arc<Shared>,
    /// What the agent says on standard error is passed on.
    pub errors: bool,
}

/// What came of it.
#[derive(Default)]
pub struct Followed {
    /// The agent's last words.
    pub text: Option<String>,
    /// Why it was not given its prompt.
    pub unguarded: Option<String>,
}

/// Takes the agent's events until there is none.
pub fn follow(run: &mut Run, talk: &Talk<'_>) -> Followed {
    let mut input = run.input();
    let stopper = run.stopper();
    let mut followed = Followed::default();
    say(&mut input, &request("begin", "initialize"));
    say(&mut input, &request(LISTING, "get_hooks_listing"));
    while let Some(event) = run.next_event() {
        match event {
            Event::Output(Line::Control(line)) => control(run, talk, &stopper, &line, &mut input, &mut followed),
            Event::Output(Line::Result { text, reason, .. }) => {
                // A client that did not obey its stop can end before the next look at the journal.
                let stopped = talk.shared.stopped();
                if let Some(why) = stopped.as_deref().or((reason == HOOK_STOPPED).then_some("a hook ended the agent's turn")) {
                    talk.shared.stop(&stopper, why);
                }
                followed.text = Some(text);
                // There is no other prompt: the client ends.
                input = None;
            }
            Event::Output(line) => view(talk, &stopper, line),
            Event::Error(line) if talk.errors => tell(&paint::dim(one_line(&line, 1000))),
            Event::Warning(warning) => talk.shared.view().warn(&warning),
            _ => {}
        }
    }
    followed
}

fn view(talk: &Talk<'_>, stopper: &Stopper, line: Line) {
    let mut view = talk.shared.view();
    match line {
        Line::Session { id, model, .. } => view.session(&id, &model),
        Line::Text { text, nested } => view.text(&text, nested),
        Line::Tool { id, name, .. } => view.begin(&id, &name),
        Line::Done { id, failed, .. } => {
            let unreviewed = view.end(&id, failed);
            drop(view);
            if let Some(tool) = unreviewed {
                talk.shared.stop(stopper, &format!("{tool} was used and no hook of ours had reviewed it"));
            }
        }
        Line::Notice(text) => view.say(&paint::dim(one_line(&text, 400))),
        Line::TooLong { bytes } => view.say(&paint::dim(format!("a line of {bytes} bytes was not read"))),
        _ => {}
    }
}

fn control(run: &Run, talk: &Talk<'_>, stopper: &Stopper, line: &Value, input: &mut Option<ChildStdin>, followed: &mut Followed) {
    if let Some(listing) = response(line, LISTING) {
        let loaded =
            listing.map_err(|error| anyhow::anyhow!("the client did not tell which hooks it has loaded: {}", one_line(&error, 300)));
        match loaded.and_then(|listing| guard::loaded(&listing, talk.wanted)) {
            Ok(warning) => {
                if let Some(warning) = warning {
                    tell(&format!("{}: {warning}", paint::warn("warning")));
                }
                talk.shared.guarded();
                say(input, &prompt(talk.prompt));
            }
            Err(error) => {
                let why = format!("{error:#}");
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

/// The person's word on a call, or why it is refused without one.
fn answer(run: &Run, talk: &Talk<'_>, question: &Question) -> String {
    let review = talk.shared.view().review(&question.call);
    let decided = review.and_then(|record| record.decision.map(|decision| decision.primary_reason));
    let reason = question.reason.clone().or(decided).unwrap_or_else(|| "the client asks for permission".to_owned());
    let (answer, why) = match &talk.person {
        Err(nobody) => (Answer::Nobody, format!("A person would have to decide, and {nobody}.")),
        // An agent that ended meanwhile does not hear it.
        Ok(person) => match person.ask(question, &reason, || run.is_over()).unwrap_or(Answer::No) {
            Answer::Late => (Answer::Late, "A person would have to decide, and nobody at the terminal answered in time.".to_owned()),
            said => (said, "The person at the terminal said no.".to_owned()),
        },
    };
    talk.shared.view().answered(&question.call, answer);
    if answer == Answer::Yes { question.allow() } else { question.deny(&format!("{reason} {why}"), false) }
}

/// An agent that reads no more is about to end.
fn say(input: &mut Option<ChildStdin>, line: &str) {
    let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
}
