//! All machines: those with open incidents first, then the one that was seen last.

use super::changes::Topic;
use super::frame::{Frame, Place};
use super::parts::{add_machine, add_paging, show_time};
use super::visit::{PageHandle, SignedIn};
use crate::failure::Failure;
use crate::machines::{MachineSummary, search_machines};
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_served::frame::encode_value;
use portcullis_served::parts::add_scrolled;
use serde::Deserialize;

/// The machines on one page.
const MOST: u32 = 100;

/// The query of the page.
#[derive(Deserialize)]
pub struct MachinesQuery {
    /// A text that name, id, version or labels hold.
    #[serde(default)]
    text: String,
    /// The machines to leave out.
    #[serde(default)]
    from: u32,
}

/// Shows the page.
pub async fn show_machines(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<MachinesQuery>,
) -> Response {
    let text = query.text.trim().replace('\0', "");
    let found = search_machines(&state.hub.database, &text, query.from, MOST + 1).await;
    state.answer(&visitor, found.map(|machines| compose(&machines, &text, query.from))).await
}

fn compose(machines: &[MachineSummary], text: &str, from: u32) -> Frame {
    let mut main = Html::from_template(
        "<form class=\"search\" method=\"get\" action=\"/\"><label>Name, id, version or label<input \
         name=\"text\" value=\"{}\"></label><button class=\"main\">Show</button></form>",
        &[&text],
    );
    if machines.is_empty() {
        let template = match text.is_empty() && from == 0 {
            true => {
                "<p class=\"lead\" role=\"status\">No machine has joined: <code>portcullis hub token \
                 create</code> makes a token for one.</p>"
            }
            false => "<p class=\"lead\" role=\"status\">No machine has that.</p>",
        };
        main.put_template(template, &[]);
    } else {
        let shown = machines.iter().take(MOST as usize);
        main.put_template("<section>", &[]);
        add_scrolled(&mut main, "machines", &list_rows(shown));
        main.put_template("</section>", &[]);
    }
    let address = |from: u32| format!("/?text={}&from={from}", encode_value(text));
    let has_more = machines.len() > MOST as usize;
    let older = has_more.then(|| address(from.saturating_add(MOST)));
    let first = (from > 0).then(|| address(0));
    add_paging(&mut main, first.as_deref(), older.as_deref());
    Frame { title: "Machines".into(), place: Place::Machines, live: Some(Topic::Records), main }
}

fn list_rows<'a>(machines: impl Iterator<Item = &'a MachineSummary>) -> Html {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">machine</th><th scope=\"col\">seen</th>\
         <th scope=\"col\">protection</th><th scope=\"col\">incidents</th>\
         <th scope=\"col\" class=\"wide\">version</th><th scope=\"col\" class=\"wide\">orders</th>\
         <th scope=\"col\" class=\"wide\">records</th></tr></thead><tbody>",
        &[],
    );
    machines.for_each(|machine| add_row(&mut table, machine));
    table.put_template("</tbody></table>", &[]);
    table
}

fn add_row(table: &mut Html, machine: &MachineSummary) {
    table.put_template("<tr><th scope=\"row\">", &[]);
    add_machine(table, &machine.machine, &machine.name);
    let labels = one_line(&machine.labels.join(", "), 200);
    table.put_template(
        "<span class=\"goal\">{}</span></th><td>{}</td><td>",
        &[&labels, &show_time(machine.seen_at)],
    );
    add_standing(table, machine);
    table.put_template(
        "</td><td class=\"number\">{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td>\
         <td class=\"wide\">{}</td></tr>",
        &[
            &machine.incidents,
            &one_line(&machine.version, 32),
            &describe_orders(machine),
            &describe_records(machine),
        ],
    );
}

/// Adds one word about the protection.
pub fn add_standing(html: &mut Html, machine: &MachineSummary) {
    let (class, word) = match (machine.revoked_at, machine.protection.as_deref()) {
        (Some(_), _) => ("v-block", "revoked"),
        (None, Some("ok" | "note")) => ("v-allow", "whole"),
        (None, Some("warning")) => ("v-warn", "with gaps"),
        (None, Some(_)) => ("v-block", "not whole"),
        (None, None) => ("v-other", "not reported"),
    };
    html.put_template("<span class=\"badge {}\">{}</span>", &[&class, &word]);
}

/// Describes the orders that a machine has.
pub fn describe_orders(machine: &MachineSummary) -> String {
    match (machine.orders, &machine.orders_refused) {
        (_, Some(reason)) => format!("refused: {}", one_line(reason, 80)),
        (None, None) => "takes none".into(),
        (Some(0), None) => "none yet".into(),
        (Some(version), None) => format!("version {version}"),
    }
}

/// Describes how many records the hub has, and how many came without their whole document.
pub fn describe_records(machine: &MachineSummary) -> String {
    let mut facts = vec![count_noun(machine.records.unsigned_abs(), "record")];
    if machine.unproven > 0 {
        facts.push(format!("{} withheld", machine.unproven));
    }
    if machine.waiting > 0 {
        facts.push(format!("{} not sent yet", machine.waiting));
    }
    facts.join(", ")
}

/// Returns the failure of a page about a machine that there is not.
pub fn no_machine() -> Failure {
    Failure::refuse(
        portcullis_fleet::protocol::RefusalKind::NotFound,
        "the hub knows no such machine",
    )
}
