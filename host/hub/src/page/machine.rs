//! One machine: what the hub knows of it, what it reports of its protection, its incidents and its
//! sessions.

use super::changes::Topic;
use super::frame::{Frame, Place};
use super::machines::{add_standing, describe_orders, describe_records, no_machine};
use super::parts::{add_paging, add_session, name_of, show_time};
use super::visit::{PageHandle, SignedIn};
use crate::database::Database;
use crate::failure::Failure;
use crate::incidents::{IncidentSummary, search_incidents};
use crate::machines::{MachineSummary, find_machine};
use crate::protection::{MachineProtection, find_protection};
use crate::sessions::{SessionSummary, list_sessions};
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::frame::encode_value;
use portcullis_served::parts::add_scrolled;
use serde::Deserialize;

/// The sessions on one page, and the incidents.
const MOST: u32 = 100;
const MOST_INCIDENTS: u32 = 20;

/// The query of the page.
#[derive(Deserialize)]
pub struct MachineQuery {
    /// The machine.
    id: String,
    /// The sessions to leave out.
    #[serde(default)]
    from: u32,
}

/// Shows the page.
pub async fn show_machine(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MachineQuery>,
) -> Response {
    let composed = compose(&state.hub.database, &query).await;
    state.answer(&visitor, composed).await
}

async fn compose(database: &Database, query: &MachineQuery) -> Result<Frame, Failure> {
    if query.id.contains('\0') {
        return Err(no_machine());
    }
    let machine = find_machine(database, &query.id).await?.ok_or_else(no_machine)?;
    let protection = find_protection(database, &query.id).await?;
    let incidents = search_incidents(database, &query.id, 0, MOST_INCIDENTS).await?;
    let sessions = list_sessions(database, &query.id, query.from, MOST + 1).await?;
    let mut main = Html::from_template("<section><dl>", &[]);
    add_facts(&mut main, &machine);
    main.put_template("</dl></section>", &[]);
    add_protection(&mut main, protection.as_ref());
    add_incidents(&mut main, &incidents);
    add_sessions(&mut main, &machine.machine, &sessions);
    let address = |from: u32| format!("/machine?id={}&from={from}", encode_value(&query.id));
    let has_more = sessions.len() > MOST as usize;
    let older = has_more.then(|| address(query.from.saturating_add(MOST)));
    let first = (query.from > 0).then(|| address(0));
    add_paging(&mut main, first.as_deref(), older.as_deref());
    let title = name_of(&machine.machine, &machine.name);
    Ok(Frame { title, place: Place::Machines, live: Some(Topic::Records), main })
}

fn add_facts(main: &mut Html, machine: &MachineSummary) {
    main.put_template("<dt>protection</dt><dd>", &[]);
    add_standing(main, machine);
    main.put_template("</dd>", &[]);
    let revoked = machine.revoked_at.map(|at| {
        let reason = machine.revoke_reason.as_deref().unwrap_or_default();
        format!("{}: {}", show_time(at), one_line(reason, 500))
    });
    let facts = [
        ("id", Some(machine.machine.clone())),
        ("revoked", revoked),
        ("seen", Some(show_time(machine.seen_at))),
        ("joined", Some(show_time(machine.joined_at))),
        ("labels", Some(one_line(&machine.labels.join(", "), 500)).filter(|it| !it.is_empty())),
        ("version", Some(one_line(&machine.version, 64))),
        ("sends", machine.detail.clone()),
        ("orders", Some(describe_orders(machine))),
        ("the hub has", Some(describe_records(machine))),
    ];
    for (term, value) in facts {
        if let Some(value) = value {
            main.put_template("<dt>{}</dt><dd>{}</dd>", &[&term, &value]);
        }
    }
    main.put_template(
        "<dt>records</dt><dd><a href=\"/search?machine={}\">Search its records</a></dd>",
        &[&encode_value(&machine.machine)],
    );
}

fn add_protection(main: &mut Html, protection: Option<&MachineProtection>) {
    main.put_template("<section><h2>Protection</h2>", &[]);
    let Some(protection) = protection else {
        main.put_template(
            "<p>The machine has not reported what <code>portcullis doctor</code> finds.</p></section>",
            &[],
        );
        return;
    };
    main.put_template(
        "<p class=\"goal\">As <code>portcullis doctor</code> found it on the machine, at worst a {}; \
         received {}.</p>",
        &[&protection.worst.as_str(), &show_time(protection.received_at)],
    );
    if protection.findings.is_empty() {
        main.put_template("<p>It found nothing to fix.</p>", &[]);
    }
    main.put_template("<ul>", &[]);
    for finding in &protection.findings {
        main.put_template(
            "<li><b>{}</b> {}: ",
            &[&finding.level.as_str(), &one_line(&finding.check, 64)],
        );
        main.put_prose(&one_line(&finding.what, 500));
        main.put_template("<span class=\"goal\">", &[]);
        main.put_prose(&one_line(&finding.fix, 500));
        main.put_template("</span></li>", &[]);
    }
    main.put_template("</ul>", &[]);
    if protection.omitted > 0 {
        main.put_template("<p>{} more are not listed.</p>", &[&protection.omitted]);
    }
    main.put_template("</section>", &[]);
}

fn add_incidents(main: &mut Html, incidents: &[IncidentSummary]) {
    if incidents.is_empty() {
        return;
    }
    main.put_template("<section><h2>Incidents</h2><ul>", &[]);
    for incident in incidents {
        let state = if incident.settled_at.is_some() { " (settled)" } else { "" };
        main.put_template(
            "<li><a href=\"/incidents#i{}\">{}</a>{}, {}: {}</li>",
            &[
                &incident.incident,
                &one_line(&incident.kind, 32),
                &state,
                &show_time(incident.last_at),
                &one_line(&incident.reason, 300),
            ],
        );
    }
    main.put_template("</ul></section>", &[]);
}

fn add_sessions(main: &mut Html, machine: &str, sessions: &[SessionSummary]) {
    main.put_template("<section><h2>Sessions</h2>", &[]);
    if sessions.is_empty() {
        main.put_template("<p>The hub has no record of a session.</p></section>", &[]);
        return;
    }
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">session</th><th scope=\"col\">newest \
         event</th><th scope=\"col\" class=\"wide\">first event</th><th scope=\"col\" class=\"wide\">records</th><th scope=\"col\">reviews</th>\
         <th scope=\"col\">asked</th><th scope=\"col\">blocked</th></tr></thead><tbody>",
        &[],
    );
    for session in sessions.iter().take(MOST as usize) {
        table.put_template("<tr><th scope=\"row\">", &[]);
        add_session(&mut table, machine, &session.session);
        table.put_template(
            "</th><td>{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            &[
                &show_time(session.last_at),
                &show_time(session.first_at),
                &session.records,
                &session.reviews,
                &session.asked,
                &session.blocked,
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "sessions", &table);
    main.put_template("</section>", &[]);
}
