//! Our handlers as they are in a client's settings.

/// One of our handlers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookHandler {
    /// The event.
    pub event: String,
    /// Its JSON pointer.
    pub pointer: String,
    /// The program that it starts.
    pub program: String,
    /// Its deviations; empty if it is correct.
    pub deviations: Vec<Deviation>,
}

/// A deviation of one of our handlers from its correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It is registered for an event that we do not handle.
    Event,
    /// It is called for some tools only.
    Matcher(String),
    /// It is called for some calls only.
    Condition(String),
    /// The client does not wait for it.
    Async,
    /// A shell starts it.
    Shell,
    /// The shell line does more than start it: the handler is not only ours.
    Mixed,
    /// It starts another program.
    Program(String),
    /// Its arguments differ.
    Arguments,
    /// The client continues if it fails.
    Open,
    /// It runs once per session.
    Once,
    /// It has another timeout, in seconds.
    Timeout(String),
    /// It is registered more than once for its event.
    Repeated,
    /// Its file has another text than the one that starts this command.
    Text,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Event => f.write_str("this event is not one that is reviewed"),
            Self::Matcher(matcher) => {
                write!(f, "the matcher `{matcher}` lets only some tools reach it")
            }
            Self::Condition(condition) => {
                write!(f, "the condition `{condition}` lets only some calls reach it")
            }
            Self::Async => f.write_str("the client does not wait for its answer"),
            Self::Shell => f.write_str("a shell starts it: `args` is missing"),
            Self::Mixed => f.write_str("its shell line does more than start it"),
            Self::Program(program) => write!(f, "it starts another program, `{program}`"),
            Self::Arguments => f.write_str("its arguments differ"),
            Self::Open => {
                f.write_str("the action runs where it fails: it is not marked to block then")
            }
            Self::Once => f.write_str("it runs once a session: `once` is set"),
            Self::Timeout(timeout) => write!(f, "its timeout is {timeout}"),
            Self::Text => f.write_str("the text of its file was changed"),
            Self::Repeated => f.write_str("it is listed more than once for this event"),
        }
    }
}
