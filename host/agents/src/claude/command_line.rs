//! The command line of Claude Code, as far as `run` must understand it: the position of the prompt,
//! the arguments that would disable the review, and the arguments used instead.
//!
//! Unknown options are passed on. Arguments do not decide whether the hooks really run: the client
//! is asked before it gets the prompt (`run_hooks`).

use crate::request::{AgentRequest, short};
use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::HintedFailure;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The name of the client's program.
const PROGRAM: &str = "claude";

/// Options that take the next argument unconditionally.
const ONE: &[&str] = &[
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--autocompact",
    "--debug-file",
    "--effort",
    "--fallback-model",
    "--json-schema",
    "--max-budget-usd",
    "--max-turns",
    "--model",
    "-n",
    "--name",
    "--permission-mode",
    "--permission-prompts",
    "--plugin-dir",
    "--plugin-url",
    "--session-id",
    "--setting-sources",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
    "--system-prompt-snapshot",
];

/// Options that take all arguments up to the next option.
const SEVERAL: &[&str] = &[
    "--add-dir",
    "--allowedTools",
    "--allowed-tools",
    "--betas",
    "--disallowedTools",
    "--disallowed-tools",
    "--file",
    "--mcp-config",
    "--tools",
];

/// Options that take the next argument unless that is an option.
const PERHAPS: &[&str] =
    &["-d", "--debug", "--from-pr", "--prompt-suggestions", "-r", "--resume", "-w", "--worktree"];

/// Options that take nothing.
const NONE: &[&str] = &[
    "--allow-dangerously-skip-permissions",
    "--ax-screen-reader",
    "--brief",
    "--chrome",
    "-c",
    "--continue",
    "--dangerously-skip-permissions",
    "--disable-slash-commands",
    "--exclude-dynamic-system-prompt-sections",
    "--fork-session",
    "--forward-subagent-text",
    "--ide",
    "--include-hook-events",
    "--include-partial-messages",
    "--no-chrome",
    "--no-session-persistence",
    "-p",
    "--print",
    "--replay-user-messages",
    "--strict-mcp-config",
    "--verbose",
];

/// Options that `run` does not pass on, and what to do instead.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["--bare", "--safe-mode", "--restricted"],
        "starts the agent without the hooks that review it: leave it out",
    ),
    (
        &["--output-format"],
        "is set by `run` itself: leave it out, and write `--json` before the `--` for one JSON document at the end",
    ),
    (
        &["--input-format", "--permission-prompt-tool"],
        "is set by `run` itself: leave it out, and give the prompt as an argument or on standard input",
    ),
    (
        &[
            "--bg",
            "--background",
            "--cloud",
            "--desktop",
            "--environment",
            "--remote-control",
            "--teleport",
            "--tmux",
        ],
        "has the agent work where `run` can neither follow nor stop it: leave it out",
    ),
    (&["-h", "--help", "-v", "--version"], "runs no agent: call `claude` itself"),
];

/// Parses the words after `--`.
///
/// # Errors
/// Fails if it is not a command that can be followed and reviewed; the message names the
/// argument and the fix.
pub(super) fn read_command(words: &[String]) -> Result<AgentRequest> {
    let Some((program, words)) = words.split_first() else {
        bail!(HintedFailure::new(
            "there is no command to run",
            "write it after `--`, as in `portcullis run -- claude -p \"...\"`"
        ));
    };
    if Path::new(program).file_name().is_none_or(|name| name != PROGRAM) {
        bail!(HintedFailure::new(
            format!("unsupported agent `{program}`"),
            "`run` knows Claude Code only, as in `portcullis run -- claude -p \"...\"`"
        ));
    }
    let mut asked = AgentRequest { program: program.clone(), ..AgentRequest::default() };
    let mut places: Vec<&String> = Vec::new();
    let mut words = words.iter().peekable();
    let mut doubt: Option<Doubt> = None;
    while let Some(word) = words.next() {
        if word == "--" {
            // The prompt follows, so a word before it was the value of an unknown option.
            let prompt: Vec<&String> = words.by_ref().collect();
            if let (Some(doubted), true, [value]) = (&doubt, !prompt.is_empty(), &places[..]) {
                asked.options.insert(doubted.at, (*value).clone());
                places.clear();
            }
            doubt = doubt.filter(|_| prompt.is_empty());
            places.extend(prompt);
            break;
        }
        if !word.starts_with('-') || word == "-" {
            places.push(word);
            continue;
        }
        let (name, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        refuse(name)?;
        let mut values: Vec<String> = value.into_iter().collect();
        if values.is_empty() {
            let next = |word: &&String| !word.starts_with('-');
            if ONE.contains(&name) {
                values.extend(words.next().cloned());
            } else if SEVERAL.contains(&name) {
                values.extend(std::iter::from_fn(|| words.next_if(|word| next(word))).cloned());
            } else if PERHAPS.contains(&name) {
                values.extend(words.next_if(|word| next(word)).cloned());
            } else if !NONE.contains(&name) && words.peek().is_some_and(next) {
                doubt = Some(Doubt { name: name.to_owned(), at: asked.options.len() + 1 });
            }
        }
        keep(&mut asked, name, word, values)?;
    }
    if let Some(Doubt { name, .. }) = doubt {
        bail!(HintedFailure::new(
            format!(
                "`{name}` is not known here, so what follows it may be its value or the prompt"
            ),
            format!("write `{name}=VALUE`, or the prompt last, after another `--`")
        ));
    }
    if !asked.options.iter().any(|option| option == "-p" || option == "--print") {
        bail!(HintedFailure::new(
            format!("`{PROGRAM}` would wait for a person at its screen, which `run` does not show"),
            "add `-p`"
        ));
    }
    match places[..] {
        [] => {}
        [prompt] => asked.prompt = Some(prompt.clone()),
        [first, second, ..] => bail!(HintedFailure::new(
            format!("there are two prompts, `{}` and `{}`", short(first), short(second)),
            "put one in quotes"
        )),
    }
    Ok(asked)
}

/// An option that is not known, with a word behind it.
struct Doubt {
    name: String,
    /// The place of that word among the options, if it is the option's value.
    at: usize,
}

fn keep(asked: &mut AgentRequest, name: &str, word: &str, values: Vec<String>) -> Result<()> {
    match name {
        "--settings" => {
            if asked.settings.is_some() {
                bail!(HintedFailure::new(
                    "`--settings` is given twice, of which the client reads one",
                    "put them together"
                ));
            }
            asked.settings = Some(values.into_iter().next().ok_or_else(|| {
                HintedFailure::new("`--settings` has no value", "name a file, or write JSON")
            })?);
            return Ok(());
        }
        "--add-dir" => asked.folders.extend(values.iter().map(PathBuf::from)),
        _ => {}
    }
    asked.options.push(word.to_owned());
    if !word.contains('=') {
        asked.options.extend(values);
    }
    Ok(())
}

/// Returns the given settings as a value to add the hooks to.
///
/// # Errors
/// Fails if they cannot be read, or if they disable hooks.
pub(super) fn own_settings(asked: &AgentRequest) -> Result<Map<String, Value>> {
    let Some(given) = &asked.settings else { return Ok(Map::new()) };
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        std::fs::read_to_string(given)
            .with_context(|| format!("cannot read `{}`, which `--settings` names", short(given)))?
    };
    let value: Value =
        serde_json::from_str(&text).context("the value of `--settings` is not valid JSON")?;
    let Value::Object(settings) = value else {
        bail!(HintedFailure::new("the value of `--settings` is not a JSON object", "write `{...}`"))
    };
    if settings.get("disableAllHooks").is_some_and(|value| value != &Value::Bool(false)) {
        bail!(HintedFailure::new(
            "`disableAllHooks` in `--settings` starts the agent without the hooks that review it",
            "take it out"
        ));
    }
    Ok(settings)
}

fn refuse(name: &str) -> Result<()> {
    match REFUSED.iter().find(|(names, _)| names.contains(&name)) {
        Some((_, why)) => bail!("`{name}` {why}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<AgentRequest> {
        // `+` represents a space within a word.
        read_command(&line.split(' ').map(|word| word.replace('+', " ")).collect::<Vec<_>>())
    }

    #[test]
    fn the_prompt_is_distinguished_from_the_values_of_options() {
        for (line, prompt, options) in [
            ("claude -p hello+there", Some("hello there"), "-p"),
            ("claude hello -p", Some("hello"), "-p"),
            ("/opt/claude --print", None, "--print"),
            ("claude -p --model opus hello", Some("hello"), "-p --model opus"),
            ("claude -p --model=opus hello", Some("hello"), "-p --model=opus"),
            ("claude -p --model --odd hello", Some("hello"), "-p --model --odd"),
            (
                "claude -p hello --allowedTools Bash Edit",
                Some("hello"),
                "-p --allowedTools Bash Edit",
            ),
            (
                "claude --allowedTools Bash Edit -p hello",
                Some("hello"),
                "--allowedTools Bash Edit -p",
            ),
            ("claude -p --resume abc hello", Some("hello"), "-p --resume abc"),
            ("claude --resume -p hello", Some("hello"), "--resume -p"),
            ("claude -c -p -- --hello", Some("--hello"), "-c -p"),
            ("claude -p --newer value -- hello", Some("hello"), "-p --newer value"),
            ("claude --newer value -p -- hello", Some("hello"), "--newer value -p"),
            (
                "claude -p --newer value --model opus -- hello",
                Some("hello"),
                "-p --newer value --model opus",
            ),
            ("claude -p --newer value --other word -- hello", None, ""),
            ("claude -p hi --newer value -- hello", None, ""),
            ("claude -p --newer value --", None, ""),
            ("claude -p --newer value hello", None, ""),
            ("claude -p --newer -- hello", Some("hello"), "-p --newer"),
            ("claude -p --newer=value hello", Some("hello"), "-p --newer=value"),
            ("claude -p hello --newer", Some("hello"), "-p --newer"),
            ("claude -p --settings {} hello", Some("hello"), "-p"),
        ] {
            let Ok(asked) = read(line) else {
                assert!(options.is_empty(), "{line}: {:?}", read(line));
                continue;
            };
            assert_eq!(
                (asked.prompt.as_deref(), asked.options.join(" ").as_str()),
                (prompt, options),
                "{line}"
            );
        }
    }

    #[test]
    fn folders_and_settings_are_known() {
        let asked =
            read("claude -p --add-dir /a /b --settings {\"model\":\"x\"} --add-dir=/c").unwrap();
        assert_eq!(asked.folders, ["/a", "/b", "/c"].map(PathBuf::from));
        assert_eq!(own_settings(&asked).unwrap().get("model"), Some(&Value::from("x")));
        assert_eq!(own_settings(&read("claude -p").unwrap()).unwrap(), Map::new());
    }
}
