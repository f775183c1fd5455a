//! The page on which a browser gives the code of its link.

use super::parts::add_notice;
use portcullis_page::Html;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct SignInQuery {
    #[serde(default)]
    said: String,
}

/// Returns the whole page.
pub(crate) fn whole_page(query: &SignInQuery) -> Html {
    let mut page = super::begin_page("Sign in", false);
    page.put_template(
        "<body class=\"site\"><main id=\"main\"><p class=\"brand\">Portcullis</p><h1>Sign in</h1>",
        &[],
    );
    match query.said.as_str() {
        "unknown" => add_notice(
            &mut page,
            false,
            "This code was used, is older than a minute, or never was. Make a new one.",
        ),
        "out" => add_notice(&mut page, true, "You are signed out."),
        _ => {}
    }
    page.put_template(
        "<p>In a terminal, <code>portcullis open</code> prints a link that works once, within a \
         minute. Behind a boundary root makes it: <code>portcullis open --of-user NAME</code>. Open it \
         here, or type what stands behind its <code>#</code>.</p>\
         <form id=\"sign-in\" class=\"answer\" method=\"post\" action=\"/sign-in\"><label>Code\
         <input name=\"code\" required autocomplete=\"off\" spellcheck=\"false\"></label>\
         <button class=\"main\">Sign in</button></form></main></body></html>\n",
        &[],
    );
    page
}
