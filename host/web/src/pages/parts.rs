//! Pieces that several pages have.

use crate::access::Visitor;
use crate::people::Approvers;
use anyhow::{Context, Result};
use portcullis_core::record::Record;
use portcullis_page::Html;
use portcullis_served::parts;
pub(super) use portcullis_served::parts::{add_hidden, add_notice, add_scrolled, format_time};
use portcullis_store::StoredRecord;

/// Reads a record.
///
/// # Errors
/// Fails if its document is damaged.
pub(super) fn read_record(stored: &StoredRecord) -> Result<Record> {
    serde_json::from_str(&stored.record.document)
        .with_context(|| format!("the record {} cannot be read", stored.record.id))
}

/// Begins a form that changes something: the token shows that it is one of this page.
pub(super) fn begin_form(html: &mut Html, action: &'static str, visitor: &Visitor) {
    parts::begin_form(html, action, &visitor.form_token);
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
