//! The client's own messages in place of a tool's result: a person refused the call, or it was
//! dropped or interrupted.

use portcullis_core::event::CallEnd;

/// The client's mark of its own messages. A server's tool could write it into its own answer.
pub(super) const MARK: &str = "<tool_use_error>";
const SERVER: &str = "mcp__";

/// The beginnings of messages about a call that a person or a rule refused: in transcripts and
/// hooks, and as the terminal shows them.
const REFUSED: &[&str] = &[
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "[Request interrupted by user for tool use]",
    "Permission to use ",
    "No (tell Claude what to do differently)",
    "User rejected ",
];
/// The beginnings of messages about a call that the client dropped, since another call of the same
/// message failed.
const DROPPED: &[&str] = &["Sibling tool call errored", "Cancelled: parallel tool call"];
/// The beginnings of messages about a call that a person interrupted.
const INTERRUPTED: &[&str] =
    &["[Request interrupted by user]", "Request interrupted by user", "Interrupted by user"];

/// Returns the completeness of a failed call, by its result. A message counts only at the
/// beginning, where a command's own output follows its exit code, and never from a server's tool.
pub(super) fn call_end(tool: &str, result: &str) -> CallEnd {
    if tool.starts_with(SERVER) {
        return CallEnd::Finished;
    }
    let text = message(result);
    let begins = |texts: &[&str]| texts.iter().any(|known| text.starts_with(known));
    match () {
        () if begins(REFUSED) => CallEnd::Refused,
        () if begins(DROPPED) => CallEnd::Dropped,
        () if begins(INTERRUPTED) => CallEnd::Interrupted,
        () => CallEnd::Finished,
    }
}

/// Returns a message without the marks in front of it.
pub(super) fn message(result: &str) -> &str {
    let text = result.trim_start();
    let text = text.strip_prefix(MARK).unwrap_or(text).trim_start();
    text.strip_prefix("Error:").unwrap_or(text).trim_start()
}

/// Returns the message that the client itself wrote under its mark; none for a result.
pub(super) fn is_marked<'a>(tool: &str, result: &'a str) -> Option<&'a str> {
    result.trim_start().strip_prefix(MARK).filter(|_| !tool.starts_with(SERVER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every message in every dress is seen; the same words elsewhere, or from a server, are a
    /// result.
    #[test]
    fn messages_in_place_of_results() {
        let all = [
            (REFUSED, CallEnd::Refused),
            (DROPPED, CallEnd::Dropped),
            (INTERRUPTED, CallEnd::Interrupted),
        ];
        for (text, end) in all.iter().flat_map(|(texts, end)| texts.iter().map(|text| (text, *end)))
        {
            for dressed in [
                format!("{text} and more"),
                format!("{MARK}{text}</tool_use_error>"),
                format!("Error: {text}"),
                format!("\u{a0}Error: {text}"),
                format!("\n {text}"),
            ] {
                for tool in ["Bash", "Edit", "Task"] {
                    assert_eq!(call_end(tool, &dressed), end, "{tool} {dressed:?}");
                }
                assert_eq!(
                    call_end("mcp__notes__find", &dressed),
                    CallEnd::Finished,
                    "{dressed:?}"
                );
            }
            for other in [
                format!("Exit code 1\n{text}"),
                format!("grep: {text}"),
                format!("`{text}`"),
                text.to_lowercase().replace("doesn't", "does not").replace('[', "("),
            ] {
                assert_eq!(call_end("Bash", &other), CallEnd::Finished, "{other:?}");
            }
        }
        assert_eq!(call_end("Bash", ""), CallEnd::Finished);
        assert_eq!(call_end("Read", "<tool_use_error>File does not exist."), CallEnd::Finished);
    }
}
