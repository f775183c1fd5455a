//! The page on which a person's browser makes a passkey.

use super::parts::add_notice;
use portcullis_page::Html;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct EnrollQuery {
    #[serde(default)]
    said: String,
}

/// Returns the whole page.
pub(crate) fn whole_page(query: &EnrollQuery) -> Html {
    let mut page = super::begin_page("Set up a passkey", false);
    page.put_template(
        "<body class=\"site\"><main id=\"main\"><p class=\"brand\">Portcullis</p>\
         <h1>Set up a passkey</h1>",
        &[],
    );
    match query.said.as_str() {
        "done" => {
            add_notice(&mut page, true, "The passkey is set up: it can allow actions from now on.");
        }
        "failed" => {
            add_notice(&mut page, false, "No passkey was set up. Make a new link and try again.");
        }
        _ => {}
    }
    if query.said.is_empty() {
        page.put_template(
            "<p>Your device keeps the key, and asks for your finger, face or PIN each time that you \
             allow an action.</p><noscript><p class=\"notice bad\">A passkey needs JavaScript. \
             A code or a password does not: <code>portcullis approvals proof code</code>.</p>\
             </noscript><form id=\"enroll\" class=\"answer\" method=\"post\" \
             action=\"/enroll/finish\"><label>Code of the link<input name=\"code\" required \
             autocomplete=\"off\" spellcheck=\"false\"></label><input type=\"hidden\" \
             name=\"created\"><button class=\"main\">Set up</button></form>",
            &[],
        );
    } else {
        page.put_template("<p><a href=\"/\">To the page</a></p>", &[]);
    }
    page.put_template("</main></body></html>\n", &[]);
    page
}
