//! A hook's answer as its client understands it.

use portcullis_core::text::one_line;
use serde_json::{Map, Value};

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

impl HookReply {
    /// Reads standard output as one JSON object.
    ///
    /// # Errors
    /// Fails with [`HookReply::Unread`] if it is empty or anything else.
    pub(crate) fn read_object(stdout: &str) -> Result<Map<String, Value>, Self> {
        let text = stdout.trim();
        match serde_json::from_str(text) {
            Ok(Value::Object(document)) => Ok(document),
            _ => Err(Self::unread(text)),
        }
    }

    /// Returns the reply for a text that is not one JSON object.
    pub(crate) fn unread(text: &str) -> Self {
        Self::Unread(if text.is_empty() {
            "it answered nothing".to_owned()
        } else {
            format!("its answer is not a JSON object: `{}`", one_line(text, 80))
        })
    }

    /// Returns its name in tables of tests.
    #[cfg(test)]
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Asked => "asked",
            Self::Rewritten => "rewritten",
            Self::Nothing => "nothing",
            Self::Failed(_) => "failed",
            Self::Unread(_) => "unread",
        }
    }
}
