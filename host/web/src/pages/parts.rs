//! Pieces that several pages have.

use anyhow::{Context, Result};
use portcullis_core::record::Record;
use portcullis_core::text::list_lines;
use portcullis_page::Html;
use portcullis_store::StoredRecord;
use portcullis_terminal::paint;

/// The most bytes of an agent's text that are shown: more than an approval keeps, so that nothing is
/// allowed that was not seen.
const MOST: usize = 256 << 10;

/// Reads a record.
///
/// # Errors
/// Fails if its document is damaged.
pub(super) fn read_record(stored: &StoredRecord) -> Result<Record> {
    serde_json::from_str(&stored.record.document)
        .with_context(|| format!("the record {} cannot be read", stored.record.id))
}

/// Returns a time for people.
pub(super) fn format_time(at: u64) -> String {
    format!("{} UTC", paint::time(at))
}

/// Adds a text that an agent wrote, under a heading that says so: it must not look like ours.
pub(super) fn add_untrusted(html: &mut Html, heading: &str, text: &str) {
    html.put_template(
        "<div class=\"untrusted\"><b>{}</b><pre>{}</pre></div>",
        &[&heading, &list_lines(text, MOST)],
    );
}

/// Adds the lines of a difference as `diff -u` prints it. They are an agent's text, too.
pub(super) fn add_diff(html: &mut Html, diff: &str) {
    html.put_template("<div class=\"untrusted\"><pre class=\"diff\">", &[]);
    for line in list_lines(diff, MOST).lines() {
        let template = match line.chars().next() {
            Some('+') => "<ins>{}\n</ins>",
            Some('-') => "<del>{}\n</del>",
            _ => "{}\n",
        };
        html.put_template(template, &[&line]);
    }
    html.put_template("</pre></div>", &[]);
}

/// Adds a notice.
pub(super) fn add_notice(html: &mut Html, is_good: bool, text: &str) {
    let template = match is_good {
        true => "<p class=\"notice good\" role=\"status\">{}</p>",
        false => "<p class=\"notice bad\" role=\"alert\">{}</p>",
    };
    html.put_template(template, &[&text]);
}
