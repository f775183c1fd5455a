//! A hook's answer as its client understands it.

/// The client's interpretation of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReply {
    /// The tool does not run, for this reason.
    Refused(String),
    /// A person decides.
    Asked,
    /// The tool runs with another input.
    Rewritten,
    /// No objection.
    Nothing,
    /// The hook failed: `onFailure` decides, and without it the tool runs.
    Failed(String),
    /// Nothing that the client can read: the tool runs regardless of `onFailure`.
    Unread(String),
}
