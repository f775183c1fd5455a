//! HTML in the style of this program: the pages that commands write into files, and the parts that
//! the page of the service shares with them.
//!
//! | module | |
//! |---|---|
//! | `html` | markup that can hold any text |
//! | `chart` | a session's risk, findings and interventions as a drawing |
//! | `steps` | the same as a list |
//! | `figures` | a session's title, counts, and the legend |
//! | `columns` | counts as columns |
//! | `diff` | the difference of two texts |
//! | `incident` | an incident: facts, cause, impact, what was done |
//!
//! A page in a file loads nothing: no script, no font, no picture. Its content security policy
//! allows none, so that untrusted text cannot do anything in it.

pub mod chart;
pub mod columns;
pub mod diff;
pub mod figures;
mod html;
pub mod incident;
pub mod steps;

pub use html::Html;
use sha2::{Digest, Sha256};

/// The style of all pages.
pub const STYLE: &str = include_str!("style.css");

/// Formats a whole page. It begins with `beginning`, which identifies the kind of page in a file.
pub fn render_page(beginning: &'static str, title: &str, lead: &Html, main: &Html) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE)
    );
    let mut page = Html::from_template("<html lang=\"en\"><head><meta charset=\"utf-8\">", &[]);
    page.put_template("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", &[&policy]);
    page.put_template(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta \
         name=\"color-scheme\" content=\"light dark\">",
        &[],
    );
    page.put_template(
        "<meta name=\"referrer\" content=\"no-referrer\"><title>{} - Portcullis</title><style>",
        &[&title],
    );
    page.add_piece(&style());
    page.put_template(
        "</style></head><body><header><p class=\"brand\">Portcullis</p><h1>{}</h1>",
        &[&title],
    );
    page.add_piece(lead);
    page.put_template("</header><main>", &[]);
    page.add_piece(main);
    page.put_template(
        "</main><footer>Made by portcullis {}. This page is one file and loads nothing.</footer></body></html>\n",
        &[&env!("CARGO_PKG_VERSION")],
    );
    format!("{beginning}{}", page.as_str())
}

/// Returns the style, which is a literal of this program.
fn style() -> Html {
    Html::from_template(STYLE, &[])
}

/// Returns the hash by which the page's policy allows the style.
fn digest(style: &str) -> String {
    data_encoding::BASE64.encode(&Sha256::digest(style))
}
