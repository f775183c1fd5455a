//! Incidents of all journals, and the form with which an operator settles one.

use super::changes::Topic;
use super::frame::{Frame, Place};
use super::parts::{add_machine, add_paging, show_time};
use super::visit::{PageHandle, SignedIn, answer_failure, answer_refusal};
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::incidents::{IncidentSummary, search_incidents, settle_incident};
use crate::people::Visitor;
use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::parts::{add_hidden, add_notice, begin_form};
use serde::Deserialize;

/// The incidents on one page.
const MOST: u32 = 50;
/// The most bytes of an operator's reason.
const MOST_REASON: usize = 500;

/// The query of the page.
#[derive(Deserialize)]
pub struct IncidentsQuery {
    /// The incidents to leave out.
    #[serde(default)]
    from: u32,
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// The form that settles an incident.
#[derive(Deserialize)]
pub struct SettleForm {
    token: String,
    incident: i64,
    reason: String,
}

/// Shows the page.
pub async fn show_incidents(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<IncidentsQuery>,
) -> Response {
    let found = search_incidents(&state.hub.database, "", query.from, MOST + 1).await;
    let composed = found.map(|incidents| compose(&incidents, &visitor, &query));
    state.answer(&visitor, composed).await
}

fn compose(incidents: &[IncidentSummary], visitor: &Visitor, query: &IncidentsQuery) -> Frame {
    let mut main = Html::new();
    match query.said.as_str() {
        "settled" => add_notice(&mut main, true, "It is settled; it opens again if it goes on."),
        "reason" => {
            add_notice(&mut main, false, "A reason is missing: it stays with the incident.")
        }
        _ => {}
    }
    if incidents.is_empty() {
        main.put_template(
            "<p class=\"lead\" role=\"status\">Every journal continues as the hub has seen it, and no \
             rollout was held.</p>",
            &[],
        );
    }
    for incident in incidents.iter().take(MOST as usize) {
        add_incident(&mut main, incident, visitor);
    }
    let has_more = incidents.len() > MOST as usize;
    let older = has_more.then(|| format!("/incidents?from={}", query.from.saturating_add(MOST)));
    let first = (query.from > 0).then_some("/incidents");
    add_paging(&mut main, first, older.as_deref());
    Frame { title: "Incidents".into(), place: Place::Incidents, live: Some(Topic::Incidents), main }
}

fn add_incident(main: &mut Html, incident: &IncidentSummary, visitor: &Visitor) {
    main.put_template(
        "<section id=\"i{}\"><h2>{}: {}</h2><p class=\"goal\">",
        &[&incident.incident, &one_line(&incident.kind, 32), &one_line(&incident.reason, 300)],
    );
    match &incident.group {
        Some(group) => main.put_template("the rollout for {}", &[&one_line(group, 64)]),
        None => add_machine(main, &incident.machine, &incident.name),
    }
    let times =
        if incident.times == 1 { String::new() } else { format!(", {} times", incident.times) };
    let place = match incident.group {
        Some(_) => format!("version {} of its orders", incident.sequence),
        None => {
            format!("journal {}, record {}", one_line(&incident.journal, 32), incident.sequence)
        }
    };
    main.put_template(
        ", {}; first {}, last {}{}</p>",
        &[&place, &show_time(incident.first_at), &show_time(incident.last_at), &times],
    );
    if let (Some(by), Some(reason)) = (&incident.settled_by, &incident.settle_reason) {
        let words = match incident.settled_at {
            Some(at) => format!("settled by {} {}", one_line(by, 128), show_time(at)),
            None => format!("was settled by {}, and came again", one_line(by, 128)),
        };
        main.put_template("<p>{}: <q>{}</q></p>", &[&words, &one_line(reason, MOST_REASON)]);
    } else if incident.settled_at.is_some() {
        main.put_template("<p>It has settled itself.</p>", &[]);
    }
    if incident.settled_at.is_none() && visitor.role >= Role::Operator {
        begin_form(main, "/incidents/settle", &visitor.form_token);
        add_hidden(main, "incident", &incident.incident.to_string());
        main.put_template(
            "<label class=\"long\">Reason, which stays with it<input name=\"reason\" required \
             maxlength=\"{}\" autocomplete=\"off\"></label><button class=\"main\">Settle</button></form>",
            &[&MOST_REASON],
        );
    }
    main.put_template("</section>", &[]);
}

/// Settles an incident in the visitor's name.
pub async fn settle(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<SettleForm>,
) -> Response {
    let admitted =
        state.admit_form(&visitor, &form.token, Role::Operator, "/incidents/settle").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let reason = one_line(form.reason.trim(), MOST_REASON);
    if reason.is_empty() {
        return Redirect::to("/incidents?said=reason").into_response();
    }
    let settling = async {
        let mut client = state.hub.database.connect().await?;
        let transaction = client.transaction().await?;
        if !settle_incident(&transaction, form.incident, &reason, &visitor.person).await? {
            return Ok(false);
        }
        let entry = NewEntry::of_act(Act::SettleIncident, &form.incident.to_string())
            .with_detail("reason", reason.as_str());
        state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        transaction.commit().await?;
        Ok::<_, Failure>(true)
    };
    match settling.await {
        Ok(true) => Redirect::to("/incidents?said=settled").into_response(),
        Ok(false) => answer_refusal(
            StatusCode::NOT_FOUND,
            "Nothing was settled",
            "There is no such incident.",
        ),
        Err(failure) => answer_failure(&failure),
    }
}
