//! Pieces that several pages have.

use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::frame::encode_value;
use portcullis_served::parts::format_time;
use serde_json::Value;

/// The most bytes of a name.
const MOST_NAME: usize = 64;
/// The most bytes of a summary in a list.
const MOST_SUMMARY: usize = 240;

/// Returns a time of the database for people.
pub fn show_time(at: i64) -> String {
    format_time(u64::try_from(at).unwrap_or(0))
}

/// Adds a link to a machine.
pub fn add_machine(html: &mut Html, machine: &str, name: &str) {
    html.put_template(
        "<a href=\"/machine?id={}\">{}</a>",
        &[&encode_value(machine), &name_of(machine, name)],
    );
}

/// Returns a machine's own name; its id if it has none.
pub fn name_of(machine: &str, name: &str) -> String {
    one_line(if name.trim().is_empty() { machine } else { name }, MOST_NAME)
}

/// Adds a link to a session of a machine.
pub fn add_session(html: &mut Html, machine: &str, session: &str) {
    html.put_template(
        "<a href=\"/session?machine={}&amp;id={}\">{}</a>",
        &[&encode_value(machine), &encode_value(session), &one_line(session, 40)],
    );
}

/// Returns the summary in a record's document, or nothing.
pub fn summary_of(document: Option<&str>) -> Option<String> {
    let document: Value = serde_json::from_str(document?).ok()?;
    Some(one_line(document.get("summary")?.as_str()?, MOST_SUMMARY))
}

/// Adds links to the pages before and after.
pub fn add_paging(html: &mut Html, newest: Option<&str>, older: Option<&str>) {
    if newest.is_none() && older.is_none() {
        return;
    }
    html.put_template("<nav class=\"paging\" aria-label=\"more\"><ul>", &[]);
    if let Some(address) = newest {
        html.put_template("<li><a href=\"{}\">The first page</a></li>", &[&address]);
    }
    if let Some(address) = older {
        html.put_template("<li><a href=\"{}\" rel=\"next\">The next page</a></li>", &[&address]);
    }
    html.put_template("</ul></nav>", &[]);
}
