//! An issue that a case presents to an intervention, as the host would.

use portcullis_core::action::Limit;
use portcullis_core::finding::{Checkpoint, Evidence, PastIntervention};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::score::{Score, Severity};

/// The issue that the plugin has to answer. Facts derived from the session, such as its totals, are
/// not here.
#[derive(Clone, Debug)]
pub struct CaseIssue {
    /// A pattern's name, or `rule:` and a rule's name.
    pub name: String,
    /// Its severity.
    pub severity: Severity,
    /// Its confidence.
    pub confidence: Score,
    /// The share of the session that it affects.
    pub impact: Score,
    /// The step at which it began; `None` for the one at which it is raised.
    pub first_step: Option<u64>,
    /// Its description.
    pub summary: String,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    /// The number of earlier occurrences.
    pub recurrences: u32,
    /// The host's escalation level.
    pub level: u8,
    /// The kind of intervention that is due; `None` if the plugin decides on it.
    pub due: Option<InterventionKind>,
    /// The controller's score; `None` if it is derived from the other values.
    pub score: Option<u32>,
    /// The available checkpoints, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Interventions before those of the case, newest first.
    pub past: Vec<PastIntervention>,
    /// The operator's messages: an issue's name, then text.
    pub templates: Vec<(String, String)>,
    /// Limits in force, which replace the host's own of the same quantity.
    pub limits: Vec<Limit>,
}

impl CaseIssue {
    /// Creates an issue with a name and default values.
    pub fn with_name(name: String) -> Self {
        Self {
            summary: name.replace('_', " "),
            name,
            severity: Severity::Medium,
            confidence: Score::new(800),
            impact: Score::new(500),
            first_step: None,
            evidence: Vec::new(),
            recurrences: 0,
            level: 0,
            due: None,
            score: None,
            checkpoints: Vec::new(),
            past: Vec::new(),
            templates: Vec::new(),
            limits: Vec::new(),
        }
    }
}
