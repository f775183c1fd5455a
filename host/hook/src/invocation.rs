//! The command line of a hook, as `install` writes it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The exit code that all clients take for a refusal.
pub(crate) const REJECTED: u8 = 2;
/// The most bytes of a payload that is read: one more than any client's adapter takes.
pub(crate) const MOST_PAYLOAD: u64 = (16 << 20) + 1;
/// The timeout of a handler whose command line names none, in seconds.
const TIMEOUT: u64 = 30;

/// The arguments of a hook.
pub(crate) struct HookArguments {
    /// The client's name.
    pub(crate) agent: String,
    /// The pinned folders, as they stand.
    pub(crate) pins: Vec<OsString>,
    /// The pinned state folder.
    pub(crate) state: Option<PathBuf>,
    /// The client's timeout, in seconds.
    pub(crate) timeout: u64,
}

impl HookArguments {
    /// Reads `hook AGENT [--config DIR] [--state DIR] [--managed-config FILE] [--timeout SECONDS]`.
    /// Returns `None` for anything else: the other program reports it, or has that command.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Self> {
        let (command, rest) = arguments.split_first()?;
        let (agent, rest) = rest.split_first().filter(|_| command == "hook")?;
        let agent = agent.to_str().filter(|name| !name.starts_with('-'))?.to_owned();
        let mut hook = Self { agent, pins: Vec::new(), state: None, timeout: TIMEOUT };
        for pair in rest.chunks(2) {
            let [name, value] = pair else { return None };
            match name.to_str()? {
                "--timeout" => hook.timeout = value.to_str()?.parse().ok()?,
                "--config" | "--state" | "--managed-config" => {
                    if name == "--state" {
                        hook.state = Some(PathBuf::from(value));
                    }
                    hook.pins.extend([name.clone(), value.clone()]);
                }
                _ => return None,
            }
        }
        Some(hook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_lines_of_install_are_read() {
        let parse = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            HookArguments::parse(&words).map(|hook| {
                (hook.agent, hook.pins.len(), hook.state.map(PathBuf::into_os_string), hook.timeout)
            })
        };
        let read = |agent: &str, pins, state: Option<&str>, timeout| {
            Some((agent.to_owned(), pins, state.map(OsString::from), timeout))
        };
        for (line, expected) in [
            ("hook claude", read("claude", 0, None, 30)),
            ("hook codex --timeout 300", read("codex", 0, None, 300)),
            ("hook qwen --config /c --state /s", read("qwen", 4, Some("/s"), 30)),
            ("hook", None),
            ("", None),
            ("hook --state", None),
            ("hook claude --state", None),
            ("hook claude --timeout soon", None),
            ("hook claude --help", None),
            ("status claude", None),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
    }
}
