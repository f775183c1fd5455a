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

use crate::access::Visitor;
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::boundary::user_of_state;
use portcullis_config::clock::now_ms;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::frame::{NavigationEntry, PageParts, VisitorMark, compose_page};
pub(crate) use portcullis_served::frame::{begin_page, encode_value};

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
    let entry = |place: Place| NavigationEntry {
        path: place.path(),
        name: place.name(),
        waiting: if place == Place::Approvals { waiting } else { 0 },
        is_current: place == frame.place,
    };
    let places = Place::ALL.into_iter().filter(|place| sees_all || *place != Place::Users);
    let navigation: Vec<NavigationEntry> = places.map(entry).collect();
    let live = match frame.place {
        Place::Users => "/live?users=all",
        _ => "/live",
    };
    Ok(compose_page(&PageParts {
        title: &frame.title,
        brand: &whose,
        navigation: &navigation,
        visitor: VisitorMark { form_token: &visitor.form_token, name: None, role: visitor.role },
        live: frame.is_live.then_some(live),
        main: &frame.main,
    }))
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
