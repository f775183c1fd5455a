//! All sessions, the most recently active first.

use super::parts::{format_time, read_record};
use super::{Frame, Place, encode_value};
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_store::{Filter, SessionSummary, Store, StoredRecord};
use std::ops::ControlFlow;

/// The most sessions that are shown.
pub(super) const MOST: usize = 40;
/// The newest records of a session that are counted.
const COUNTED: u64 = 500;
/// A session without an event for so long, in milliseconds, is not marked as active.
const ACTIVE: u64 = 120_000;

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(reading: &Reading) -> Result<Frame> {
    let sessions = list_sessions(&reading.store)?;
    let mut main = Html::new();
    if sessions.is_empty() {
        main.put_template(
            "<p class=\"lead\">No agent has acted yet. <code>portcullis install</code> puts the hooks into your \
             agent's settings; its sessions appear here as they begin.</p>",
            &[],
        );
    } else {
        add_table(&mut main, &reading.store, &sessions)?;
    }
    Ok(Frame { title: "Sessions".into(), place: Place::Sessions, is_live: true, main })
}

/// Returns the sessions of a journal, the most recently active first.
pub(super) fn list_sessions(store: &Store) -> Result<Vec<SessionSummary>> {
    let mut sessions = store.sessions()?;
    sessions.retain(|session| {
        !session.session.is_empty() && !session.session.starts_with(CANARY_SESSION)
    });
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_at));
    Ok(sessions)
}

/// Begins the table of sessions.
pub(super) fn begin_table(main: &mut Html) {
    main.put_template(
        "<section><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"sessions\">\
         <table class=\"list\"><thead><tr><th scope=\"col\"><span class=\"skip\">active</span></th>\
         <th scope=\"col\">session</th><th scope=\"col\">newest event</th><th scope=\"col\" \
         class=\"wide\">agent</th><th scope=\"col\">reviews</th><th scope=\"col\">asked</th>\
         <th scope=\"col\">blocked</th></tr></thead><tbody>",
        &[],
    );
}

/// Ends it.
pub(super) fn end_table(main: &mut Html) {
    main.put_template("</tbody></table></div></section>", &[]);
}

fn add_table(main: &mut Html, store: &Store, sessions: &[SessionSummary]) -> Result<()> {
    begin_table(main);
    for session in sessions.iter().take(MOST) {
        add_row(main, store, session, None)?;
    }
    end_table(main);
    if sessions.len() > MOST {
        main.put_template(
            "<p>{} older sessions: <a href=\"/search\">search</a> finds them.</p>",
            &[&(sessions.len() - MOST)],
        );
    }
    Ok(())
}

/// Adds a session to the table: with a link, or as one of a user whose records are another's to open.
pub(super) fn add_row(
    main: &mut Html,
    store: &Store,
    session: &SessionSummary,
    user: Option<&str>,
) -> Result<()> {
    let mut newest: Option<StoredRecord> = None;
    let (mut asked, mut blocked) = (0, 0);
    let filter = Filter {
        session: Some(session.session.clone()),
        newest_first: true,
        limit: Some(COUNTED),
        ..Filter::default()
    };
    store.query_records(&filter, |stored| {
        let verdict = stored.record.verdict.as_deref();
        asked += usize::from(verdict == Some(Verdict::Ask.as_str()));
        blocked += usize::from(verdict == Some(Verdict::Block.as_str()));
        newest.get_or_insert(stored);
        ControlFlow::Continue(())
    })?;
    let Some(newest) = newest else { return Ok(()) };
    let record = read_record(&newest)?;
    let is_active = now_ms().saturating_sub(session.last_at) < ACTIVE;
    let mark = match is_active {
        true => "<tr><td><span class=\"dot on\" role=\"img\" aria-label=\"active\"></span></td>",
        false => "<tr><td><span class=\"dot\" role=\"img\" aria-label=\"quiet\"></span></td>",
    };
    main.put_template(mark, &[]);
    let (shown, summary) = (one_line(&session.session, 40), one_line(&record.summary, 120));
    match user {
        None => main.put_template(
            "<th scope=\"row\"><a href=\"/session?id={}\">{}</a><span class=\"goal\">{}</span></th>",
            &[&encode_value(&session.session), &shown, &summary],
        ),
        Some(user) => main.put_template(
            "<th scope=\"row\">{}: {}<span class=\"goal\">{}</span></th>",
            &[&user, &shown, &summary],
        ),
    }
    main.put_template(
        "<td>{}</td><td class=\"wide\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        &[
            &format_time(session.last_at),
            &one_line(&record.client, 40),
            &session.reviews,
            &asked,
            &blocked,
        ],
    );
    Ok(())
}
