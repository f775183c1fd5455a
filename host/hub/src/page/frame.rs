//! The navigation around each page.

use super::changes::Topic;
use crate::database::Database;
use crate::failure::Failure;
use crate::people::Visitor;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::frame::{NavigationEntry, PageParts, VisitorMark, compose_page};

/// A page without what all pages share.
pub struct Frame {
    /// The title, which is the heading too.
    pub title: String,
    /// Its place in the navigation.
    pub place: Place,
    /// The changes that it shows while it is open; none if it stays as it is.
    pub live: Option<Topic>,
    /// The contents.
    pub main: Html,
}

/// The pages of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Machines, with one machine and its sessions.
    Machines,
    /// Search.
    Search,
    /// The actions that wait for an approver, and the passkeys that answer.
    Approvals,
    /// Journals that do not continue as the hub has seen them.
    Incidents,
    /// The findings that many machines have in common.
    Findings,
    /// What people said of reviews, and what they propose.
    Feedback,
    /// The cost and the faults of plugins.
    Plugins,
    /// The people of the hub, for operators.
    People,
    /// The acts of people on the hub.
    Audit,
}

impl Place {
    const ALL: [Self; 9] = [
        Self::Machines,
        Self::Search,
        Self::Approvals,
        Self::Findings,
        Self::Incidents,
        Self::Feedback,
        Self::Plugins,
        Self::People,
        Self::Audit,
    ];

    const fn path(self) -> &'static str {
        match self {
            Self::Machines => "/",
            Self::Search => "/search",
            Self::Approvals => "/approvals",
            Self::Findings => "/findings",
            Self::Incidents => "/incidents",
            Self::Feedback => "/feedback",
            Self::Plugins => "/plugins",
            Self::People => "/people",
            Self::Audit => "/audit",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Machines => "Machines",
            Self::Search => "Search",
            Self::Approvals => "Approvals",
            Self::Findings => "Findings",
            Self::Incidents => "Incidents",
            Self::Feedback => "Feedback",
            Self::Plugins => "Plugins",
            Self::People => "People",
            Self::Audit => "Audit",
        }
    }
}

/// Returns the whole page.
pub async fn compose_whole(
    database: &Database,
    visitor: &Visitor,
    frame: &Frame,
) -> Result<Html, Failure> {
    let client = database.connect().await?;
    let counts = client
        .query_one(
            "SELECT (SELECT count(*) FROM incidents WHERE settled_at IS NULL), \
             (SELECT count(*) FROM approval_questions JOIN machines USING (machine) \
              WHERE ended_at IS NULL AND expires_at > now() AND revoked_at IS NULL)",
            &[],
        )
        .await?;
    let count = |index: usize| usize::try_from(counts.get::<_, i64>(index)).unwrap_or(0);
    let (open, waiting) = (count(0), count(1));
    let entry = |place: Place| NavigationEntry {
        path: place.path(),
        name: place.name(),
        waiting: match place {
            Place::Incidents => open,
            Place::Approvals => waiting,
            _ => 0,
        },
        is_current: place == frame.place,
    };
    let shown = Place::ALL.into_iter().filter(|place| match place {
        Place::People => visitor.role >= Role::Operator,
        _ => true,
    });
    let navigation: Vec<NavigationEntry> = shown.map(entry).collect();
    Ok(compose_page(&PageParts {
        title: &frame.title,
        brand: " hub",
        navigation: &navigation,
        visitor: VisitorMark {
            form_token: &visitor.form_token,
            name: Some(&visitor.person),
            role: visitor.role,
        },
        live: frame.live.map(Topic::address),
        main: &frame.main,
    }))
}
