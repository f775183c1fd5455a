//! Secrets on their way to a gist, a release, an issue, a repository's settings.

use crate::config::{Config, Strictness};
use crate::files::{Holding, find_holding};
use crate::json;
use crate::objections::{Objecting, at_most, shorten};
use crate::placeholders::{Weight, find_added};
use portcullis_plugin::risk_calculator::{Evidence, Severity};
use portcullis_plugin::types::{Action, Command, Direction, EffectKind, Shell, ToolCall};

/// Where something goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A gist, a snippet, a release, an issue: people read it.
    Read,
    /// A repository's or organisation's secrets: nobody reads them back.
    Kept,
    /// A repository's variables: whoever may see the settings reads them.
    Variables,
}

/// Adds the objections to what a command publishes.
pub fn judge(command: &Command, shell: &Shell, config: &Config, found: &mut Vec<Objecting>) {
    let Some(place) = find_place(command) else { return };
    let fed = command.input_from.and_then(|at| shell.commands.get(at as usize));
    let inputs = command.redirections.iter().filter(|one| one.direction == Direction::Input);
    let files = command
        .operands()
        .skip(2)
        .map(|word| word.text.as_str())
        .chain(list_file_options(command))
        .chain(inputs.map(|input| input.target.text.as_str()))
        .chain(fed.into_iter().flat_map(|feeder| feeder.operands().map(|word| word.text.as_str())));
    for path in files {
        let path = path.split('#').next().unwrap_or(path).trim_start_matches('@');
        if find_holding(path, config) == Some(Holding::Surely) {
            found.push(object_to_file(path, place, config));
        }
    }
    let texts = command.words.iter().map(|word| word.text.as_str());
    for text in texts {
        if let Some((placeholder, _)) = find_added(text, "") {
            found.push(object_to_value(placeholder.text, placeholder.kind, place, config));
        }
    }
}

/// Returns the files that options name: `-F notes.md`, `--body-file=x`, `-f .env`.
fn list_file_options(command: &Command) -> impl Iterator<Item = &str> {
    const OPTIONS: &[&str] =
        &["-F", "--body-file", "-f", "--env-file", "--notes-file", "-a", "--add"];
    let words = &command.words;
    words.iter().enumerate().filter_map(|(at, word)| {
        if let Some((name, value)) = word.text.split_once('=') {
            return (OPTIONS.contains(&name) || value.starts_with('@')).then_some(value);
        }
        OPTIONS
            .contains(&word.text.as_str())
            .then(|| words.get(at + 1))
            .flatten()
            .map(|next| next.text.as_str())
    })
}

fn find_place(command: &Command) -> Option<Place> {
    if !matches!(command.program.as_str(), "gh" | "glab" | "hub") {
        return None;
    }
    let mut operands = command.operands().map(|word| word.text.as_str());
    match (operands.next()?, operands.next().unwrap_or_default()) {
        ("gist" | "snippet" | "release", "create" | "edit" | "upload" | "new")
        | ("issue" | "pr" | "mr", "create" | "comment" | "edit" | "note" | "review" | "new") => {
            Some(Place::Read)
        }
        ("api", _) => Some(Place::Read),
        ("secret", "set") => Some(Place::Kept),
        // glab's variables are masked only where somebody asks for it.
        ("variable", "set" | "create" | "update") => Some(Place::Variables),
        _ => None,
    }
}

fn object_to_file(path: &str, place: Place, config: &Config) -> Objecting {
    let shown = shorten(path);
    let (reason, strictness) = match place {
        Place::Read => (
            format!(
                "{shown} is a file of secrets, and what is published cannot be taken back; publish an example without values"
            ),
            config.publishing,
        ),
        Place::Kept => (
            format!(
                "all values of {shown} go into the repository's secrets, where every workflow may use them; set only those that a workflow needs"
            ),
            at_most(config.publishing, Strictness::Warn),
        ),
        Place::Variables => (
            format!(
                "{shown} holds secrets, and variables are shown to whoever sees the settings; set them as secrets"
            ),
            at_most(config.publishing, Strictness::Ask),
        ),
    };
    build(reason, strictness, Evidence::path(shown))
}

fn object_to_value(text: &str, kind: &str, place: Place, config: &Config) -> Objecting {
    let (reason, strictness) = match place {
        Place::Read => (
            format!(
                "a secret ({kind}) is published with this, and it cannot be taken back; leave the value out"
            ),
            config.publishing,
        ),
        Place::Kept => (
            format!(
                "the secret ({kind}) stands in the command line and stays in logs and histories; pass it by standard input"
            ),
            at_most(config.publishing, Strictness::Warn),
        ),
        Place::Variables => (
            format!(
                "a secret ({kind}) becomes a variable, which whoever sees the settings can read; set it as a secret"
            ),
            at_most(config.publishing, Strictness::Ask),
        ),
    };
    build(reason, strictness, Evidence::new("secret", text))
}

fn build(reason: String, strictness: Strictness, evidence: Evidence) -> Objecting {
    Objecting {
        rule: "secret_published",
        strictness,
        severity: Severity::High,
        reason,
        instead: "leave the secret out",
        evidence,
    }
}

/// Adds the objections to a tool of an MCP server that stages, commits or publishes.
pub fn judge_tool(call: &ToolCall, action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    let name = call.name.to_ascii_lowercase();
    let server = call.server.as_deref().unwrap_or_default().to_ascii_lowercase();
    let is_forge =
        ["github", "gitlab", "bitbucket", "gitea"].iter().any(|forge| server.contains(forge));
    let publishes =
        is_forge || action.facts.effects.iter().any(|effect| effect.kind == EffectKind::Publish);
    let stages =
        server.contains("git") && ["add", "commit", "stage"].iter().any(|verb| name.contains(verb));
    let reads = ["get_", "list_", "search_", "read"].iter().any(|verb| name.starts_with(verb));
    if reads || !(publishes || stages) {
        return;
    }
    for argument in &call.arguments {
        judge_argument(&argument.name, &argument.value, publishes, config, found);
    }
}

fn judge_argument(
    name: &str,
    value: &str,
    publishes: bool,
    config: &Config,
    found: &mut Vec<Objecting>,
) {
    const PATHS: &[&str] = &["path", "paths", "file", "files", "filename", "file_path", "filepath"];
    let mut judge_path = |path: &str| {
        if find_holding(path, config) == Some(Holding::Surely) {
            let objecting = object_to_file(path, Place::Read, config);
            found.push(if publishes {
                objecting
            } else {
                Objecting { rule: "commit_secret_file", strictness: config.staging, ..objecting }
            });
        }
    };
    if value.starts_with(['[', '{']) {
        json::walk(value, |member| {
            if PATHS.contains(&member.key) || (member.key.is_empty() && PATHS.contains(&name)) {
                judge_path(member.value);
            }
        });
    } else if PATHS.contains(&name) {
        judge_path(value);
    }
    let strong = find_added(value, "").filter(|(_, weight)| *weight == Weight::Strong);
    if let Some((placeholder, _)) = strong {
        found.push(object_to_value(placeholder.text, placeholder.kind, Place::Read, config));
    }
}
