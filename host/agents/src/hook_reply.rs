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

#[cfg(test)]
pub(crate) mod checks {
    //! The check of the answers that our adapters write.

    use crate::HookOutput;
    use portcullis_core::event::{Disposition, Reply};
    use serde_json::{Map, Value, json};

    /// Our answer, as a client gets it.
    pub(crate) struct WrittenAnswer {
        pub(crate) ruling: Disposition,
        pub(crate) code: Option<i32>,
        pub(crate) stdout: String,
        pub(crate) stderr: String,
    }

    /// Writes the answer to each ruling, with and without texts for the agent and the person, to
    /// `event` and to one without a name. `check` gets each answer with the name of the reply that
    /// it has to be; one that a client cannot express is stricter, so `rewrite` and `ask` name the
    /// replies that a rewrite and a question become.
    pub(crate) fn check_rulings(
        event: &str,
        [rewrite, ask]: [&'static str; 2],
        render: impl Fn(&str, &Reply) -> HookOutput,
        check: impl Fn(&WrittenAnswer, &str),
    ) {
        let input: Map<String, Value> =
            [("command".to_owned(), json!("mv a b"))].into_iter().collect();
        let texts = || vec!["a note".to_owned()];
        for (ruling, expected) in [
            (Disposition::None, "nothing"),
            (Disposition::Rewrite(input), rewrite),
            (Disposition::Ask("why".into()), ask),
            (Disposition::Refuse("why".into()), "refused"),
            (Disposition::Refuse(" ".into()), "refused"),
            (Disposition::Stop("why".into()), "refused"),
        ] {
            for (agent, person) in [(vec![], vec![]), (texts(), vec![]), (texts(), texts())] {
                let reply = Reply { ruling: ruling.clone(), agent, person, result: None };
                for event in [event, ""] {
                    let output = render(event, &reply);
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let answer = WrittenAnswer {
                        ruling: ruling.clone(),
                        code: Some(i32::from(output.exit)),
                        stdout: text(&output.stdout),
                        stderr: text(&output.stderr),
                    };
                    check(&answer, expected);
                }
            }
        }
    }
}
