//! A judgement: each requirement, met or missed, and why.

/// A policy's judgement of a bundle, or of an index of bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// All requirements, in the order in which they were checked.
    pub requirements: Vec<Requirement>,
    /// The earliest time at which a part of the judgement expires, in milliseconds since
    /// 1970-01-01T00:00:00Z; the subject then has to be judged again. `None` if nothing expires.
    pub until: Option<u64>,
}

/// A requirement on a bundle, or on an index of bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The requirement, as text.
    pub what: String,
    /// The way it is met, or why it is not.
    pub met: Result<String, String>,
}

impl Judgement {
    /// Returns true if there is at least one requirement and all are met.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        // `all` is true of no requirement.
        !self.requirements.is_empty()
            && self.requirements.iter().all(|requirement| requirement.met.is_ok())
    }

    /// Combines two judgements, both of which have to be met.
    #[must_use]
    pub fn merge_with(mut self, other: Self) -> Self {
        self.requirements.extend(other.requirements);
        self.until = self.until.into_iter().chain(other.until).min();
        self
    }
}
