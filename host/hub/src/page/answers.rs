//! The forms of an answer by passkey: one returns the text that a device has to sign, the other takes
//! the signature.
//!
//! The hub checks role, person and signature, so that mistakes show at once. The machine checks the
//! signature again, against its own orders, and believes nothing else.

use super::visit::{
    PageHandle, PageState, SignedIn, answer_failure, answer_refusal, now_ms, send_options,
};
use crate::approvals::approvers::store_answer;
use crate::approvals::queue::find_queued;
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::passkeys::{find_key, read_assertion, request_options};
use crate::people::Visitor;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::text::one_line;
use portcullis_fleet::approvals::{ApproverSigned, FleetAnswer, MOST_WORDS};
use portcullis_fleet::protocol::RefusalKind;
use portcullis_served::Role;
use serde::Deserialize;

/// The form that asks for the text to sign.
#[derive(Deserialize)]
pub struct BeginForm {
    token: String,
    machine: String,
    question: String,
    digest: String,
    answer: GivenWord,
    #[serde(default)]
    words: String,
}

/// The button of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GivenWord {
    Allow,
    Deny,
}

/// The form with what a device signed.
#[derive(Deserialize)]
pub struct AnswerForm {
    token: String,
    machine: String,
    question: String,
    answer: GivenWord,
    text: String,
    signed: String,
}

fn refuse(reason: &str) -> Failure {
    Failure::refuse(RefusalKind::Foreign, reason)
}

/// Returns the text of an answer, and what a browser needs to have it signed.
pub async fn begin_answer(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<BeginForm>,
) -> Response {
    let admitted =
        state.admit_form(&visitor, &form.token, Role::Approver, "/approvals/passkey").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    match word_answer(&state, &visitor, &form).await {
        Ok(options) => send_options(options),
        Err(failure) => refuse_answer(&state, &visitor, &form.machine, &failure).await,
    }
}

async fn word_answer(
    state: &PageState,
    visitor: &Visitor,
    form: &BeginForm,
) -> Result<String, Failure> {
    let page = state.passkey_page()?;
    let client = state.hub.database.connect().await?;
    let (machine, question) = (form.machine.replace('\0', ""), form.question.replace('\0', ""));
    let queued = find_queued(&client, &visitor.person, &machine, &question).await?;
    let queued = queued.ok_or_else(|| {
        Failure::refuse(RefusalKind::NotFound, "no action waits under that id any more")
    })?;
    if queued.digest != form.digest {
        return Err(refuse("the machine asks about another action than was shown"));
    }
    if queued.credentials.is_empty() {
        return Err(refuse("the orders name none of your passkeys for this question"));
    }
    let answer = FleetAnswer {
        machine: queued.machine,
        question: queued.question,
        digest: queued.digest,
        allows: form.answer == GivenWord::Allow,
        words: one_line(&form.words, MOST_WORDS),
        at: now_ms(),
    };
    let text = answer.to_text();
    let ids: Vec<&str> = queued.credentials.iter().map(String::as_str).collect();
    Ok(request_options(&page, &FleetAnswer::challenge_of_text(&text), &text, &ids))
}

/// Takes an answer that a passkey signed.
pub async fn take_form(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<AnswerForm>,
) -> Response {
    let admitted =
        state.admit_form(&visitor, &form.token, Role::Approver, "/approvals/answer").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    if form.signed.is_empty() || form.signed == "none" {
        return Redirect::to("/approvals?said=unsigned").into_response();
    }
    match take_signed(&state, &visitor, &form).await {
        Ok(true) => Redirect::to("/approvals?said=allowed").into_response(),
        Ok(false) => Redirect::to("/approvals?said=denied").into_response(),
        Err(failure) => refuse_answer(&state, &visitor, &form.machine, &failure).await,
    }
}

async fn take_signed(
    state: &PageState,
    visitor: &Visitor,
    form: &AnswerForm,
) -> Result<bool, Failure> {
    let read = read_assertion(&form.signed)?;
    let mut client = state.hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let credential = read.credential.replace('\0', "");
    let key = find_key(&transaction, &visitor.person, &credential).await?;
    let key = key.ok_or_else(|| refuse("the passkey is none of yours"))?;
    let signed = ApproverSigned {
        text: form.text.clone(),
        key: serde_json::from_value(key.into()).map_err(Failure::internal)?,
        signature: read.signature,
        passkey: Some(read.assertion),
    };
    let answer = store_answer(&transaction, &signed).await?;
    let is_same = answer.machine == form.machine
        && answer.question == form.question
        && answer.allows == (form.answer == GivenWord::Allow);
    if !is_same {
        return Err(refuse("the passkey signed another answer than the form gives"));
    }
    let about = format!("{}/{}", answer.machine, answer.question);
    let entry = NewEntry::of_act(Act::AnswerQuestion, &about)
        .with_detail("answer", if answer.allows { "allow" } else { "deny" })
        .with_detail("key", signed.key.to_string())
        .with_detail("digest", answer.digest.as_str());
    state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
    transaction.commit().await?;
    Ok(answer.allows)
}

/// Refuses an answer, with an entry in the audit.
async fn refuse_answer(
    state: &PageState,
    visitor: &Visitor,
    machine: &str,
    failure: &Failure,
) -> Response {
    if failure.status().is_server_error() {
        return answer_failure(failure);
    }
    let entry =
        NewEntry::of_act(Act::RefuseAnswer, machine).with_detail("reason", failure.reason());
    let recorded = state.audit.record_act(&state.hub.database, &visitor.actor(), entry).await;
    match recorded {
        Err(failure) => answer_failure(&failure),
        // A passkey that is not believed is no reason to sign in again.
        Ok(()) if failure.status() == StatusCode::UNAUTHORIZED => {
            answer_refusal(StatusCode::FORBIDDEN, "Not answered", failure.reason())
        }
        Ok(()) => answer_refusal(failure.status(), "Not answered", failure.reason()),
    }
}
