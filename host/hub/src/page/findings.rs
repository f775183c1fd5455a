//! Things that many machines have met within a day: a text that told agents what to do, a new
//! destination, a new package.

use super::frame::{Frame, Place};
use super::parts::{add_machine, add_session, show_time};
use super::visit::{PageHandle, SignedIn};
use crate::findings::{FindingBounds, FleetFinding, list_findings};
use crate::people::Visitor;
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::parts::{add_hidden, add_notice, add_untrusted, begin_form};
use serde::Deserialize;

/// The most bytes of a person's reason.
const MOST_REASON: usize = 500;

/// The query of the page.
#[derive(Deserialize)]
pub struct FindingsQuery {
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// Shows the page.
pub async fn show_findings(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<FindingsQuery>,
) -> Response {
    let bounds = FindingBounds::default();
    let found = list_findings(&state.hub.database, bounds).await;
    state
        .answer(&visitor, found.map(|findings| compose(&findings, bounds, &visitor, &query.said)))
        .await
}

fn compose(
    findings: &[FleetFinding],
    bounds: FindingBounds,
    visitor: &Visitor,
    said: &str,
) -> Frame {
    let mut main = Html::new();
    match said {
        "marked" => add_notice(&mut main, true, "It is noted."),
        "reason" => add_notice(&mut main, false, "A reason is missing: it stays with the mark."),
        _ => {}
    }
    main.put_template(
        "<p class=\"lead\">What at least {} machines met within {} hours: texts that told agents what to \
         do, and destinations and packages that are new to the fleet.</p>",
        &[&bounds.machines, &(bounds.within.as_secs() / 3600)],
    );
    if findings.is_empty() {
        main.put_template("<p role=\"status\">There is nothing of that kind.</p>", &[]);
    }
    findings.iter().for_each(|finding| add_finding(&mut main, finding, visitor));
    Frame { title: "Findings".into(), place: Place::Findings, live: None, main }
}

fn add_finding(main: &mut Html, finding: &FleetFinding, visitor: &Visitor) {
    let machines = count_noun(finding.machines.unsigned_abs(), "machine");
    let title = match finding.kind.as_str() {
        "destination" => format!("A new destination of {machines}"),
        "package" => format!("A new package on {machines}"),
        _ => format!("A text that told agents on {machines} what to do"),
    };
    main.put_template("<section><h2>{}</h2>", &[&title]);
    add_untrusted(main, "as machines named it", &finding.value);
    main.put_template(
        "<p class=\"goal\">{}; first {}, last {}</p><ul>",
        &[
            &count_noun(finding.times.unsigned_abs(), "record"),
            &show_time(finding.first_at),
            &show_time(finding.last_at),
        ],
    );
    for met in &finding.met_by {
        main.put_template("<li>", &[]);
        add_machine(main, &met.machine, &met.name);
        if let Some(session) = met.session.as_deref().filter(|session| !session.is_empty()) {
            main.put_template(", session ", &[]);
            add_session(main, &met.machine, session);
        }
        main.put_template(
            ", record {}, {}</li>",
            &[&one_line(&met.record, 40), &show_time(met.first_at)],
        );
    }
    let more = finding.machines.unsigned_abs().saturating_sub(finding.met_by.len() as u64);
    if more > 0 {
        main.put_template("<li>and {} more</li>", &[&more]);
    }
    main.put_template("</ul>", &[]);
    add_mark(main, finding, visitor);
    main.put_template("</section>", &[]);
}

/// Adds what a person said of a finding, and the form to say it.
fn add_mark(main: &mut Html, finding: &FleetFinding, visitor: &Visitor) {
    if let Some(harmless) = &finding.harmless {
        main.put_template(
            "<p>{} called it harmless: <q>{}</q></p>",
            &[&one_line(&harmless.by, 128), &one_line(&harmless.reason, MOST_REASON)],
        );
    }
    if visitor.role < Role::Approver {
        return;
    }
    begin_form(main, "/findings", &visitor.form_token);
    add_hidden(main, "kind", &finding.kind);
    add_hidden(main, "value", &finding.value);
    if finding.harmless.is_some() {
        add_hidden(main, "again", "true");
        main.put_template("<button class=\"also\">It is not harmless</button></form>", &[]);
    } else {
        main.put_template(
            "<label class=\"long\">Reason, which stays with it<input name=\"reason\" required \
             maxlength=\"{}\" autocomplete=\"off\"></label><button class=\"also\">It is \
             harmless</button></form>",
            &[&MOST_REASON],
        );
    }
}
