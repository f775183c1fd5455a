//! The audit of the hub's own people, newest first.

use super::frame::{Frame, Place};
use super::parts::add_paging;
use super::visit::{PageHandle, SignedIn};
use crate::audit::{Channel, StoredEntry, describe_details, list_entries};
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::parts::{add_scrolled, format_time};
use serde::Deserialize;

/// The entries on one page.
const MOST: u32 = 100;

/// The query of the page.
#[derive(Deserialize)]
pub struct AuditQuery {
    /// The place before which the page begins.
    before: Option<u64>,
}

/// Shows the page.
pub async fn show_audit(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<AuditQuery>,
) -> Response {
    let found = list_entries(&state.hub.database, query.before, MOST).await;
    state.answer(&visitor, found.map(|entries| compose(&entries, query.before))).await
}

fn compose(entries: &[StoredEntry], before: Option<u64>) -> Frame {
    let mut main = Html::from_template(
        "<p class=\"lead\"><code>portcullis hub audit verify</code> checks that no entry was changed, \
         removed or inserted.</p>",
        &[],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">entry</th><th scope=\"col\">time</th>\
         <th scope=\"col\">person</th><th scope=\"col\">act</th><th scope=\"col\">about</th></tr>\
         </thead><tbody>",
        &[],
    );
    entries.iter().for_each(|entry| add_row(&mut table, entry));
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section>", &[]);
    add_scrolled(&mut main, "entries", &table);
    main.put_template("</section>", &[]);
    let oldest = entries.last().map(|entry| entry.sequence).filter(|oldest| *oldest > 1);
    let older = oldest.map(|oldest| format!("/audit?before={oldest}"));
    add_paging(&mut main, before.map(|_| "/audit"), older.as_deref());
    Frame { title: "Audit of the hub".into(), place: Place::Audit, live: None, main }
}

fn add_row(table: &mut Html, entry: &StoredEntry) {
    let Some(document) = entry.parse_document() else {
        table.put_template(
            "<tr><th scope=\"row\">{}</th><td colspan=\"4\">This entry is damaged.</td></tr>",
            &[&entry.sequence],
        );
        return;
    };
    let channel = match document.channel {
        Channel::Command => "by a command",
        Channel::Page => "on the page",
    };
    let by = if document.by.is_empty() { "nobody known" } else { &document.by };
    table.put_template(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}<span class=\"goal\">{}</span></td><td>{}</td>\
         <td>{}<span class=\"goal\">{}</span></td></tr>",
        &[
            &entry.sequence,
            &format_time(document.at),
            &one_line(by, 128),
            &channel,
            &document.act.as_str(),
            &one_line(&document.subject, 200),
            &describe_details(&document.details),
        ],
    );
}
