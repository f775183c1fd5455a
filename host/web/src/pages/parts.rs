//! Pieces that several pages have.

use crate::access::Visitor;
use crate::people::Approvers;
use anyhow::{Context, Result};
use portcullis_core::record::Record;
use portcullis_core::text::list_lines;
use portcullis_page::Html;
use portcullis_page::diff::draw_printed_diff;
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

/// Adds a difference as `diff -u` prints it. Its lines are an agent's text, too.
pub(super) fn add_diff(html: &mut Html, diff: &str) {
    html.put_template("<div class=\"untrusted\">", &[]);
    html.add_piece(&draw_printed_diff(diff));
    html.put_template("</div>", &[]);
}

/// Adds a notice.
pub(super) fn add_notice(html: &mut Html, is_good: bool, text: &str) {
    let template = match is_good {
        true => "<p class=\"notice good\" role=\"status\">{}</p>",
        false => "<p class=\"notice bad\" role=\"alert\">{}</p>",
    };
    html.put_template(template, &[&text]);
}

/// Begins a form that changes something: the token shows that it is one of this page.
pub(super) fn begin_form(html: &mut Html, action: &'static str, visitor: &Visitor) {
    html.put_template(
        "<form class=\"answer\" method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"token\" \
         value=\"{}\">",
        &[&action, &visitor.form_token],
    );
}

/// Adds a hidden field of a form.
pub(super) fn add_hidden(html: &mut Html, name: &'static str, value: &str) {
    html.put_template("<input type=\"hidden\" name=\"{}\" value=\"{}\">", &[&name, &value]);
}

/// Adds the fields for the proof that a person acts. `ask` is the address that lets a passkey sign.
pub(super) fn add_proof_fields(html: &mut Html, approvers: &Approvers, ask: &'static str) {
    let [has_code, has_password, has_passkey] =
        ["code", "password", "passkey"].map(|kind| approvers.has_kind(kind));
    let else_passkey = if has_passkey { "; leave it empty to use a passkey" } else { "" };
    match (has_code, has_password) {
        (true, false) => html.put_template(
            "<label>Code of your authenticator{}<input name=\"proof\" inputmode=\"numeric\" \
             autocomplete=\"one-time-code\" maxlength=\"6\"></label>",
            &[&else_passkey],
        ),
        (_, true) => html.put_template(
            "<label>{}{}<input name=\"proof\" type=\"password\" autocomplete=\"off\"></label>",
            &[&if has_code { "Code or password" } else { "Password" }, &else_passkey],
        ),
        (false, false) => {}
    }
    if has_passkey {
        html.put_template(
            "<input type=\"hidden\" name=\"signed\" data-ask=\"{}\"><noscript><p>A passkey needs \
             JavaScript.</p></noscript>",
            &[&ask],
        );
    }
}

/// Adds the table of a page that is wider than a phone: it scrolls by itself. `name` names it for
/// readers who do not see it.
pub(super) fn add_scrolled(html: &mut Html, name: &'static str, table: &Html) {
    html.put_template(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">",
        &[&name],
    );
    html.add_piece(table);
    html.put_template("</div>", &[]);
}
