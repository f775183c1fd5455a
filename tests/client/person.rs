//! A person at a terminal, in addition to the client.

use anyhow::{Context, Result};
use portcullis_tests::terminal::{Answer, Shown, converse, script};

use crate::installed::path;
use crate::run::{self, Programs};
use crate::scratch::Scratch;

/// Returns what one of our commands shows a person who types the requested word.
pub(crate) fn at_a_terminal(
    scratch: &Scratch,
    programs: &Programs,
    arguments: &str,
) -> Result<String> {
    Ok(confirm(scratch, programs, arguments)?.text)
}

/// Runs one of our commands for a person who types the requested word.
pub(crate) fn confirm(scratch: &Scratch, programs: &Programs, arguments: &str) -> Result<Shown> {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let ours = std::iter::once(programs.portcullis.to_string_lossy().into_owned());
    let words: Vec<String> = ours.chain(arguments.into_iter().map(str::to_owned)).collect();
    let mut script = script(&words);
    script.current_dir(scratch.project()).env_clear().envs(run::environment(scratch));
    converse(script, Answer::Word)
}

/// Returns what `portcullis run` shows a person who types these keys when it asks about calls. The
/// client has the model at `url`.
pub(crate) fn watching(
    scratch: &Scratch,
    programs: &Programs,
    url: &str,
    client: &[&str],
    keys: &[&str],
) -> Result<Shown> {
    // By its name: the path of a client in the command line of our parent would make it look like
    // an agent.
    let named = programs.client.file_name().context("the client has no name")?;
    let words =
        [programs.portcullis.to_string_lossy(), "run".into(), "--".into(), named.to_string_lossy()];
    let words: Vec<String> = words
        .into_iter()
        .map(String::from)
        .chain(client.iter().map(|word| (*word).to_owned()))
        .collect();
    let mut script = script(&words);
    run::surround(&mut script, scratch, url);
    script.env("PATH", path(programs)?);
    converse(script, Answer::Keys(keys))
}
