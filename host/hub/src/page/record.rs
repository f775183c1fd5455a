//! One review of a machine, with the objections to it, and the form with which a person says whether
//! they were right.

use super::frame::{Frame, Place};
use super::parts::{add_machine, add_session, show_time, summary_of};
use super::visit::{PageHandle, PageState, SignedIn, answer_failure, answer_refusal};
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::feedback::{ReviewMark, WORDS, list_marks, mark_review};
use crate::people::Visitor;
use crate::proposals::Proposal;
use crate::records::{Cursor, FoundRecord, find_record};
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_fleet::protocol::RefusalKind;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::frame::encode_value;
use portcullis_served::parts::{add_hidden, add_notice, add_untrusted, begin_form};
use serde::Deserialize;

/// The most bytes of a person's reason.
const MOST_REASON: usize = 500;

/// The query of the page.
#[derive(Deserialize)]
pub struct RecordQuery {
    /// The place.
    place: String,
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// The form that marks a review.
#[derive(Deserialize)]
pub struct MarkForm {
    token: String,
    place: String,
    word: String,
    reason: String,
}

fn missing() -> Failure {
    Failure::refuse(RefusalKind::NotFound, "the hub has no such review")
}

/// Returns the review at a place of an address.
async fn find_review(state: &PageState, place: &str) -> Result<FoundRecord, Failure> {
    let cursor = Cursor::from_word(place).ok_or_else(missing)?;
    let found = find_record(&state.hub.database, &cursor).await?.ok_or_else(missing)?;
    if found.kind == "review" { Ok(found) } else { Err(missing()) }
}

/// Shows the page.
pub async fn show_record(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<RecordQuery>,
) -> Response {
    let composed = async {
        let found = find_review(&state, &query.place).await?;
        let marks = list_marks(&state.hub.database, Some(&found)).await?;
        Ok::<_, Failure>(compose(&found, marks.first(), &visitor, &query))
    };
    let composed = composed.await;
    state.answer(&visitor, composed).await
}

fn compose(
    found: &FoundRecord,
    mark: Option<&ReviewMark>,
    visitor: &Visitor,
    query: &RecordQuery,
) -> Frame {
    let mut main = Html::new();
    match query.said.as_str() {
        "marked" => add_notice(&mut main, true, "It is noted, and changes no verdict."),
        "reason" => add_notice(&mut main, false, "A reason is missing: it stays with the mark."),
        _ => {}
    }
    let record =
        found.document.as_deref().and_then(|text| serde_json::from_str::<Record>(text).ok());
    main.put_template(
        "<p class=\"lead\">{}, on ",
        &[&one_line(found.verdict.as_deref().unwrap_or("·"), 32)],
    );
    add_machine(&mut main, &found.machine, &found.name);
    if let Some(session) = found.session.as_deref().filter(|session| !session.is_empty()) {
        main.put_template(", session ", &[]);
        add_session(&mut main, &found.machine, session);
    }
    main.put_template(", received {}</p>", &[&show_time(found.stored_at)]);
    match &record {
        Some(record) => add_objections(&mut main, record),
        None => main.put_template(
            "<p>The machine sent less than the whole record: it does not say which rules objected.</p>",
            &[],
        ),
    }
    add_mark(&mut main, mark, visitor, &query.place, found);
    if let Some(record) = &record {
        add_proposals(&mut main, record);
    }
    let summary = summary_of(found.document.as_deref());
    let title = summary.unwrap_or_else(|| one_line(&found.subject, 64));
    Frame { title, place: Place::Feedback, live: None, main }
}

fn add_objections(main: &mut Html, record: &Record) {
    if let Some(action) = &record.action {
        add_untrusted(main, "the agent's parameters", &action.parameters);
    }
    main.put_template("<section><h2>Objections</h2><ul>", &[]);
    let objections = record.findings.iter().flat_map(|findings| &findings.objections);
    let mut count = 0;
    for objection in objections {
        count += 1;
        main.put_template(
            "<li><b>{}</b> of {}, {}: ",
            &[
                &one_line(&objection.rule, 64),
                &one_line(&objection.source, 64),
                &objection.verdict.as_str(),
            ],
        );
        main.put_prose(&one_line(&objection.reason, 500));
        main.put_template("</li>", &[]);
    }
    if count == 0 {
        main.put_template("<li>No rule objected: risk and rationality decided.</li>", &[]);
    }
    main.put_template("</ul></section>", &[]);
}

fn add_mark(
    main: &mut Html,
    mark: Option<&ReviewMark>,
    visitor: &Visitor,
    place: &str,
    found: &FoundRecord,
) {
    main.put_template("<section><h2>Was it right?</h2>", &[]);
    if let Some(mark) = mark {
        main.put_template(
            "<p>{} called it {} {}: <q>{}</q></p>",
            &[
                &one_line(&mark.marked_by, 128),
                &mark.word.replace('-', " "),
                &show_time(mark.marked_at),
                &one_line(&mark.reason, MOST_REASON),
            ],
        );
    }
    let has_objection = found.verdict.as_deref().is_some_and(|verdict| verdict != "allow");
    if visitor.role >= Role::Approver && has_objection {
        begin_form(main, "/record", &visitor.form_token);
        add_hidden(main, "place", place);
        main.put_template(
            "<label class=\"long\">Reason, which stays with it<input name=\"reason\" required \
             maxlength=\"{}\" autocomplete=\"off\"></label><button class=\"main\" name=\"word\" \
             value=\"false-positive\">It was wrong</button><button class=\"also\" name=\"word\" \
             value=\"right\">It was right</button></form>",
            &[&MOST_REASON],
        );
    } else if !has_objection {
        main.put_template("<p>Nothing objected.</p>", &[]);
    }
    main.put_template("</section>", &[]);
}

fn add_proposals(main: &mut Html, record: &Record) {
    let proposals = Proposal::of_review(record);
    if proposals.is_empty() {
        return;
    }
    main.put_template("<section><h2>What if</h2><ul>", &[]);
    for proposal in proposals {
        let (kind, value) = proposal.parts();
        main.put_template(
            "<li><a href=\"/proposal?kind={}&amp;value={}\"><code>{}</code></a></li>",
            &[&kind, &encode_value(value), &proposal.to_configuration()],
        );
    }
    main.put_template("</ul></section>", &[]);
}

/// Marks a review.
pub async fn mark(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<MarkForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/record").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let back = |said: &str| {
        let place = encode_value(&form.place);
        Redirect::to(&format!("/record?place={place}&said={said}")).into_response()
    };
    let reason = one_line(form.reason.trim(), MOST_REASON);
    if reason.is_empty() {
        return back("reason");
    }
    let marking = async {
        let found = find_review(&state, &form.place).await?;
        let has_objection = found.verdict.as_deref().is_some_and(|verdict| verdict != "allow");
        if !has_objection || !WORDS.contains(&form.word.as_str()) {
            return Err(Failure::refuse(RefusalKind::Malformed, "there is nothing to mark"));
        }
        let document = found.document.as_deref();
        let record = document.and_then(|text| serde_json::from_str::<Record>(text).ok());
        let objections = record.iter().flat_map(|record| &record.findings);
        let objections = objections.flat_map(|findings| &findings.objections);
        let mut rules: Vec<String> =
            objections.map(|objection| one_line(&objection.rule, 200)).collect();
        rules.sort();
        rules.dedup();
        let summary = summary_of(document).unwrap_or_default();
        let mut client = state.hub.database.connect().await?;
        let transaction = client.transaction().await?;
        let said = (summary.as_str(), rules.as_slice());
        mark_review(&transaction, &found, said, &form.word, &reason, &visitor.person).await?;
        let about = format!("{}/{}", found.machine, found.id);
        let entry = NewEntry::of_act(Act::MarkReview, &about)
            .with_detail("word", form.word.as_str())
            .with_detail("reason", reason.as_str());
        state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        Ok::<_, Failure>(transaction.commit().await?)
    };
    match marking.await {
        Ok(()) => back("marked"),
        Err(failure) if failure.status().is_server_error() => answer_failure(&failure),
        Err(failure) => answer_refusal(failure.status(), "Nothing was marked", failure.reason()),
    }
}
