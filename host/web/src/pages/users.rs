//! The sessions of all users of a boundary, for operators: who works, who waits, who was stopped.
//!
//! It only lists. What a session did is shown to whoever has a link to its user's records.

use super::parts::{add_notice, format_time};
use super::sessions::{self, list_sessions};
use super::{Frame, Place};
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_store::SessionSummary;
use std::cmp::Reverse;
use std::sync::Arc;

/// A user's records.
struct UserRecords {
    name: String,
    reading: Reading,
    sessions: Vec<SessionSummary>,
}

/// Composes the page.
pub(crate) fn compose(sites: &[Arc<Site>]) -> Result<Frame> {
    let mut main = Html::new();
    let (mut users, mut unreadable) = (Vec::new(), Vec::new());
    for site in sites {
        match UserRecords::read(site) {
            Ok(user) => users.push(user),
            // The journal of one user must not hide those of the others.
            Err(error) => unreadable.push(one_line(&format!("{error:#}"), 512)),
        }
    }
    for problem in &unreadable {
        add_notice(&mut main, false, &format!("The records of a user cannot be read: {problem}"));
    }
    add_users(&mut main, &users)?;
    add_sessions(&mut main, &users)?;
    Ok(Frame { title: "All users".into(), place: Place::Users, is_live: true, main })
}

impl UserRecords {
    fn read(site: &Site) -> Result<Self> {
        let reading = site.open()?;
        let name = reading.commands.user().unwrap_or_default().to_owned();
        let sessions = list_sessions(&reading.store)?;
        Ok(Self { name, reading, sessions })
    }

    fn last_at(&self) -> u64 {
        self.sessions.first().map_or(0, |session| session.last_at)
    }
}

fn add_users(main: &mut Html, users: &[UserRecords]) -> Result<()> {
    main.put_template(
        "<section><h2>Users</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"users\"><table class=\"list\"><thead><tr><th scope=\"col\">user</th><th \
         scope=\"col\">sessions</th><th scope=\"col\">newest event</th><th scope=\"col\">waiting\
         </th><th scope=\"col\" class=\"wide\">to see more</th></tr></thead><tbody>",
        &[],
    );
    for user in users {
        let waiting = user.reading.store.list_waiting_approvals(now_ms())?.len();
        let newest = match user.last_at() {
            0 => "none".to_owned(),
            at => format_time(at),
        };
        main.put_template(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td>{}</td><td \
             class=\"number\">{}</td><td class=\"wide\"><code>{}</code></td></tr>",
            &[
                &user.name,
                &user.sessions.len(),
                &newest,
                &waiting,
                &user.reading.commands.spell("open"),
            ],
        );
    }
    main.put_template("</tbody></table></div></section>", &[]);
    Ok(())
}

fn add_sessions(main: &mut Html, users: &[UserRecords]) -> Result<()> {
    let all = users.iter().flat_map(|user| user.sessions.iter().map(move |one| (user, one)));
    let mut all: Vec<(&UserRecords, &SessionSummary)> = all.collect();
    all.sort_by_key(|(_, session)| Reverse(session.last_at));
    main.put_template("<h2>Sessions</h2>", &[]);
    sessions::begin_table(main);
    for (user, session) in all.iter().take(sessions::MOST) {
        sessions::add_row(main, &user.reading.store, session, Some(&user.name))?;
    }
    sessions::end_table(main);
    let more = all.len().saturating_sub(sessions::MOST);
    if more > 0 {
        main.put_template("<p>{} older sessions are not listed.</p>", &[&more]);
    }
    Ok(())
}
