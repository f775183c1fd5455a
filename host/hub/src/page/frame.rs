//! The navigation around each page.

use crate::database::Database;
use crate::failure::Failure;
use crate::people::Visitor;
use portcullis_page::Html;
use portcullis_served::frame::{NavigationEntry, PageParts, VisitorMark, compose_page};

/// A page without what all pages share.
pub struct Frame {
    /// The title, which is the heading too.
    pub title: String,
    /// Its place in the navigation.
    pub place: Place,
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
    /// The acts of people on the hub.
    Audit,
}

impl Place {
    const ALL: [Self; 6] = [
        Self::Machines,
        Self::Search,
        Self::Approvals,
        Self::Findings,
        Self::Incidents,
        Self::Audit,
    ];

    const fn path(self) -> &'static str {
        match self {
            Self::Machines => "/",
            Self::Search => "/search",
            Self::Approvals => "/approvals",
            Self::Findings => "/findings",
            Self::Incidents => "/incidents",
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
    Ok(compose_page(&PageParts {
        title: &frame.title,
        brand: " hub",
        navigation: &Place::ALL.map(entry),
        visitor: VisitorMark {
            form_token: &visitor.form_token,
            name: Some(&visitor.person),
            role: visitor.role,
        },
        live: None,
        main: &frame.main,
    }))
}
