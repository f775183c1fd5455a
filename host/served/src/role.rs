//! What a person may do on a page.

/// A role. Each may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sees everything, and answers nothing.
    Viewer,
    /// Answers actions that wait.
    Approver,
    /// Changes things: decides about incidents, restores checkpoints, settles what a hub reports.
    Operator,
}

impl Role {
    /// All roles, the one that may do least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Approver, Self::Operator];

    /// Returns its name, one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Operator => "operator",
        }
    }

    /// Returns the role of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}
