//! One module for each page. A page is composed from what one request reads.

pub(crate) mod approvals;
pub(crate) mod charts;
pub(crate) mod checkpoint;
pub(crate) mod checkpoints;
pub(crate) mod configuration;
pub(crate) mod enroll;
pub(crate) mod incident;
pub(crate) mod incidents;
mod parts;
mod plan;
pub(crate) mod plugins;
pub(crate) mod rollback;
pub(crate) mod rules;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod users;

use crate::access::{Role, Visitor};
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::boundary::user_of_state;
use portcullis_config::clock::now_ms;
use portcullis_page::Html;

/// A page without what all pages share.
pub(crate) struct Frame {
    pub(crate) title: String,
    /// Its place in the navigation.
    pub(crate) place: Place,
    /// True if it is to show what happens while it is open.
    pub(crate) is_live: bool,
    pub(crate) main: Html,
}

/// The pages of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Sessions,
    Approvals,
    Incidents,
    Checkpoints,
    Plugins,
    Rules,
    Metrics,
    Configuration,
    Search,
    /// Behind a boundary, for operators.
    Users,
}

impl Place {
    const ALL: [Self; 10] = [
        Self::Sessions,
        Self::Approvals,
        Self::Incidents,
        Self::Checkpoints,
        Self::Plugins,
        Self::Rules,
        Self::Metrics,
        Self::Configuration,
        Self::Search,
        Self::Users,
    ];

    const fn path(self) -> &'static str {
        match self {
            Self::Sessions => "/",
            Self::Approvals => "/approvals",
            Self::Incidents => "/incidents",
            Self::Checkpoints => "/checkpoints",
            Self::Plugins => "/plugins",
            Self::Rules => "/rules",
            Self::Metrics => "/charts",
            Self::Configuration => "/configuration",
            Self::Search => "/search",
            Self::Users => "/users",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Approvals => "Approvals",
            Self::Incidents => "Incidents",
            Self::Checkpoints => "Checkpoints",
            Self::Plugins => "Plugins",
            Self::Rules => "Rules",
            Self::Metrics => "Metrics",
            Self::Configuration => "Configuration",
            Self::Search => "Search",
            Self::Users => "All users",
        }
    }
}

/// Returns the whole page.
pub(crate) fn whole_page(reading: &Reading, visitor: &Visitor, frame: &Frame) -> Result<Html> {
    let waiting = reading.store.list_waiting_approvals(now_ms())?.len();
    let user = user_of_state(reading.home.path());
    let whose = user.map(|user| format!(" of user {user}")).unwrap_or_default();
    let sees_all = user.is_some() && visitor.role >= Role::Operator;
    let mut page = begin_page(&frame.title, frame.is_live);
    page.put_template(
        "<body class=\"site\"><a class=\"skip\" href=\"#main\">Skip to the contents</a><header>\
         <p class=\"brand\">Portcullis{}</p><nav aria-label=\"pages\"><ul>",
        &[&whose],
    );
    for place in Place::ALL.into_iter().filter(|place| sees_all || *place != Place::Users) {
        let template = match place == frame.place {
            true => "<li><a href=\"{}\" aria-current=\"page\">{}</a>",
            false => "<li><a href=\"{}\">{}</a>",
        };
        page.put_template(template, &[&place.path(), &place.name()]);
        if place == Place::Approvals && waiting > 0 {
            page.put_template(
                " <span class=\"count\" aria-label=\"{} waiting\">{}</span>",
                &[&waiting, &waiting],
            );
        }
        page.put_template("</li>", &[]);
    }
    page.put_template(
        "</ul></nav><form class=\"sign-out\" method=\"post\" action=\"/sign-out\">\
         <input type=\"hidden\" name=\"token\" value=\"{}\"><button>Sign out ({})</button></form>\
         </header><p class=\"notice\" id=\"stale\" hidden>Something new has happened: leave what you \
         type, or load the page again.</p>",
        &[&visitor.form_token, &visitor.role.as_str()],
    );
    let main = match frame.is_live {
        true if frame.place == Place::Users => "<main id=\"main\" data-live=\"/live?users=all\">",
        true => "<main id=\"main\" data-live=\"/live\">",
        false => "<main id=\"main\">",
    };
    page.put_template(main, &[]);
    page.put_template("<h1>{}</h1>", &[&frame.title]);
    page.add_piece(&frame.main);
    page.put_template("</main></body></html>\n", &[]);
    Ok(page)
}

/// Returns a page that says what failed.
pub(crate) fn error_page(error: &anyhow::Error) -> Html {
    let mut page = begin_page("This page failed", false);
    page.put_template("<body class=\"site\"><main><h1>This page failed</h1><p>{}.", &[error]);
    for cause in error.chain().skip(1) {
        page.put_template(" {}.", &[&cause]);
    }
    page.put_template("</p><p><a href=\"/\">Sessions</a></p></main></body></html>\n", &[]);
    page
}

/// Begins a page: everything before its body.
fn begin_page(title: &str, is_live: bool) -> Html {
    let mut page = Html::from_template(
        "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" \
         content=\"light dark\"><title>{} - Portcullis</title><link rel=\"stylesheet\" \
         href=\"/style.css\"><script src=\"/page.js\" type=\"module\"></script>",
        &[&title],
    );
    if is_live {
        page.put_template("<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>", &[]);
    }
    page.put_template("</head>", &[]);
    page
}

/// Encodes a text as a value in the query of an address.
pub(crate) fn encode_value(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
