//! One session of a machine: its risk over time, and each step, as its records arrived.

use super::changes::Topic;
use super::frame::{Frame, Place};
use super::parts::{add_machine, name_of, show_time, summary_of};
use super::visit::{PageHandle, SignedIn};
use crate::database::Database;
use crate::failure::Failure;
use crate::records::{FoundRecord, read_session};
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::policy::RiskThresholds;
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_fleet::protocol::RefusalKind;
use portcullis_page::figures::{add_figures, add_legend, session_title};
use portcullis_page::{Html, chart, steps};
use portcullis_review::timeline::{ActiveInterventions, Timeline};
use portcullis_served::parts::add_scrolled;
use serde::Deserialize;

/// The newest records that are shown.
const MOST: u32 = 1000;
/// The prefix of the steps' names on the page.
const ANCHOR: &str = "s";

/// The query of the page.
#[derive(Deserialize)]
pub struct SessionQuery {
    /// The machine.
    machine: String,
    /// The session, as the machine names it.
    id: String,
}

/// Shows the page.
pub async fn show_session(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<SessionQuery>,
) -> Response {
    let composed = compose(&state.hub.database, &query).await;
    state.answer(&visitor, composed).await
}

async fn compose(database: &Database, query: &SessionQuery) -> Result<Frame, Failure> {
    let missing =
        || Failure::refuse(RefusalKind::NotFound, "the hub has no record of this session");
    if query.machine.contains('\0') || query.id.contains('\0') {
        return Err(missing());
    }
    let found = read_session(database, &query.machine, &query.id, MOST).await?;
    let first = found.first().ok_or_else(missing)?;
    let mut timeline = Timeline::new(&query.id);
    let mut reduced = Vec::new();
    for (index, one) in found.iter().enumerate() {
        // A document that came whole is a record; of one that was reduced, the columns are shown.
        let document = one.document.as_deref();
        match document.and_then(|document| serde_json::from_str::<Record>(document).ok()) {
            Some(record) => {
                if timeline.folder.is_none() {
                    timeline.folder = record.action.as_ref().map(|action| action.cwd.clone());
                }
                timeline.add_event(index, &[record], &ActiveInterventions::default());
            }
            None => reduced.push(one),
        }
    }
    let mut main = Html::new();
    let (title, about) = match timeline.entries.is_empty() {
        true => (one_line(&query.id, 200), show_time(first.at)),
        false => session_title(&timeline, 200),
    };
    main.put_template("<p class=\"lead\">{}, on ", &[&about]);
    add_machine(&mut main, &first.machine, &first.name);
    main.put_template("</p>", &[]);
    if found.len() == MOST as usize {
        main.put_template("<p>Only the newest {} records are shown.</p>", &[&MOST]);
    }
    if !timeline.entries.is_empty() {
        add_timeline(&mut main, &timeline);
    }
    add_objected(&mut main, &found);
    if !reduced.is_empty() {
        add_reduced(&mut main, &reduced);
    }
    let title = if title.is_empty() { name_of(&first.machine, &first.name) } else { title };
    Ok(Frame { title, place: Place::Machines, live: Some(Topic::Records), main })
}

fn add_timeline(main: &mut Html, timeline: &Timeline) {
    main.put_template("<section>", &[]);
    add_figures(main, timeline, None);
    main.put_template("<figure><figcaption>Risk of each step</figcaption>", &[]);
    let drawn = chart::draw_chart(timeline, &RiskThresholds::default(), ANCHOR);
    add_scrolled(main, "risk of each step", &drawn);
    main.put_template("</figure>", &[]);
    add_legend(main);
    main.add_piece(&steps::list_steps(timeline, ANCHOR));
    main.put_template("</section>", &[]);
}

/// Adds the reviews with an objection, each of which a person may call wrong.
fn add_objected(main: &mut Html, found: &[FoundRecord]) {
    let objected = |one: &&FoundRecord| {
        one.kind == "review" && one.verdict.as_deref().is_some_and(|verdict| verdict != "allow")
    };
    let mut objected = found.iter().filter(objected).peekable();
    if objected.peek().is_none() {
        return;
    }
    main.put_template("<section><h2>Was it right?</h2><ul>", &[]);
    for one in objected {
        let summary = summary_of(one.document.as_deref());
        main.put_template(
            "<li>{}: <a href=\"/record?place={}\">{}</a></li>",
            &[
                &one_line(one.verdict.as_deref().unwrap_or("·"), 32),
                &one.place.to_word(),
                &summary.unwrap_or_else(|| one_line(&one.subject, 64)),
            ],
        );
    }
    main.put_template("</ul></section>", &[]);
}

fn add_reduced(main: &mut Html, reduced: &[&FoundRecord]) {
    main.put_template(
        "<section><h2>Records without their whole document</h2><p class=\"goal\">The machine sends \
         less than the whole, or withheld what looked like a secret.</p>",
        &[],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">time</th><th scope=\"col\">record</th>\
         <th scope=\"col\">verdict</th></tr></thead><tbody>",
        &[],
    );
    for one in reduced {
        let summary = summary_of(one.document.as_deref());
        table.put_template(
            "<tr><td>{}</td><th scope=\"row\">{}<span class=\"goal\">{}</span></th><td>{}</td></tr>",
            &[
                &show_time(one.at),
                &summary.unwrap_or_else(|| one_line(&one.subject, 64)),
                &one_line(&one.kind, 32),
                &one_line(one.verdict.as_deref().unwrap_or("·"), 32),
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "records without their whole document", &table);
    main.put_template("</section>", &[]);
}
