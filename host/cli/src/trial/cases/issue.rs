//! An issue that a case puts to an intervention, as the host would.

use portcullis_core::action::Limit;
use portcullis_core::finding::{Checkpoint, Evidence, PastIntervention};
use portcullis_core::score::{Score, Severity};

/// What the plugin is to answer. What the session tells by itself, such as its totals, is not here.
#[derive(Clone, Debug)]
pub struct Put {
    /// A pattern's name, or `rule:` and a rule's name.
    pub name: String,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Score,
    /// How much of the session it touches.
    pub impact: Score,
    /// The step at which it began; none for the one that it comes up at.
    pub first_step: Option<u64>,
    /// In words.
    pub summary: String,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
    /// How often it came up before.
    pub recurrences: u32,
    /// How far the host has escalated.
    pub level: u8,
    /// The controller's score; none for what it makes of the others.
    pub score: Option<u32>,
    /// What can be gone back to, newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Interventions before those of the case, newest first.
    pub past: Vec<PastIntervention>,
    /// The operator's messages: an issue's name, then text.
    pub templates: Vec<(String, String)>,
    /// Limits in force, in place of the host's own of the same quantity.
    pub limits: Vec<Limit>,
}

impl Put {
    /// One of which nothing but the name is told.
    pub fn named(name: String) -> Self {
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
            score: None,
            checkpoints: Vec::new(),
            past: Vec::new(),
            templates: Vec::new(),
            limits: Vec::new(),
        }
    }
}
