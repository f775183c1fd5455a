//! The checkpoints, by session: what was kept of files before each action.

use super::parts::{add_notice, add_scrolled, format_time};
use super::{Frame, Place, encode_value};
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_checkpoint::CheckpointSummary;
use portcullis_config::Config;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::checkpoints::listing::{
    ReportedAction, describe_action, open_kept_vault, reported_actions,
};
use std::collections::BTreeMap;

/// The newest checkpoints that are shown.
const MOST: usize = 200;
/// The most damaged ones that are named.
const MOST_DAMAGED: usize = 20;
/// The heading of restores, and of actions that the journal does not know any more.
const ELSEWHERE: &str = "";

/// Composes the page.
///
/// # Errors
/// Fails if the vault or the journal cannot be read.
pub(crate) fn compose(site: &Site, reading: &Reading) -> Result<Frame> {
    let mut main = Html::new();
    let config = Config::load(&site.places, Some(&reading.home))?;
    let vault = open_kept_vault(&reading.home, &config.checkpoints)?;
    let listing = vault.map(|vault| vault.list()).transpose()?;
    let all = listing.as_ref().map(|listing| listing.checkpoints.as_slice()).unwrap_or_default();
    if all.is_empty() {
        main.put_template(
            "<p class=\"lead\">Nothing was kept yet. A checkpoint is taken before each action that can \
             change files, unless <code>checkpoints.enabled = false</code>.</p>",
            &[],
        );
    }
    let newest = all.get(all.len().saturating_sub(MOST)..).unwrap_or_default();
    if let Some(oldest) = newest.first() {
        let reported = reported_actions(&reading.store, oldest.at)?;
        add_sessions(&mut main, newest, &reported);
    }
    if newest.len() < all.len() {
        main.put_template(
            "<p>{} older ones: <code>{}</code> has them.</p>",
            &[&(all.len() - newest.len()), &reading.commands.spell("checkpoint list")],
        );
    }
    for damaged in listing.iter().flat_map(|listing| &listing.damaged).take(MOST_DAMAGED) {
        add_notice(&mut main, false, &format!("Damaged: {}", one_line(&damaged.to_string(), 512)));
    }
    Ok(Frame { title: "Checkpoints".into(), place: Place::Checkpoints, is_live: false, main })
}

fn add_sessions(
    main: &mut Html,
    newest: &[CheckpointSummary],
    reported: &BTreeMap<String, ReportedAction>,
) {
    // The session of the newest checkpoint comes first.
    let mut sessions: Vec<(&str, Vec<&CheckpointSummary>)> = Vec::new();
    for listed in newest.iter().rev() {
        let session =
            reported.get(listed.id.as_str()).map_or(ELSEWHERE, |action| action.session.as_str());
        match sessions.iter_mut().find(|(known, _)| *known == session) {
            Some((_, rows)) => rows.push(listed),
            None => sessions.push((session, vec![listed])),
        }
    }
    for (session, rows) in sessions {
        if session == ELSEWHERE {
            main.put_template("<section><h2>Restores and older actions</h2>", &[]);
        } else {
            main.put_template(
                "<section><h2>Session <a href=\"/session?id={}\">{}</a></h2>",
                &[&encode_value(session), &one_line(session, 60)],
            );
        }
        add_rows(main, &rows, reported);
        main.put_template("</section>", &[]);
    }
}

fn add_rows(
    main: &mut Html,
    rows: &[&CheckpointSummary],
    reported: &BTreeMap<String, ReportedAction>,
) {
    let mut table = Html::new();
    table.put_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">before</th><th scope=\"col\">time</th>\
         <th scope=\"col\">changed</th><th scope=\"col\" class=\"wide\">kept</th></tr></thead><tbody>",
        &[],
    );
    for listed in rows {
        let changed =
            listed.settled_at.map_or_else(|| "?".to_owned(), |_| listed.changes.to_string());
        table.put_template(
            "<tr><th scope=\"row\"><a href=\"/checkpoint?id={}\">{}</a></th><td>{}</td>\
             <td class=\"number\">{}</td><td class=\"wide\">{}</td></tr>",
            &[
                &encode_value(listed.id.as_str()),
                &describe_action(listed, reported.get(listed.id.as_str())),
                &format_time(listed.at),
                &changed,
                &if listed.complete { "all" } else { "not all" },
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "checkpoints of a session", &table);
}
