//! A person's answer to a question about a call.

/// The outcome of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonAnswer {
    /// The person allowed the call.
    Yes,
    /// The person refused it.
    No,
    /// The person did not answer in time.
    Late,
    /// Nobody could be asked.
    Nobody,
}

impl PersonAnswer {
    /// Returns the name for scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Late => "late",
            Self::Nobody => "nobody",
        }
    }

    /// Returns the words for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Yes => "the person let it run",
            Self::No => "the person said no",
            Self::Late => "nobody answered in time",
            Self::Nobody => "nobody could be asked",
        }
    }
}
