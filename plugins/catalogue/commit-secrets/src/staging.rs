//! Files of secrets on their way into a commit.

use crate::config::{Config, Strictness};
use crate::files::{Holding, find_holding};
use crate::git::Git;
use crate::objections::{Objecting, at_most, shorten};
use crate::placeholders::{Weight, find_added};
use portcullis_plugin::risk_calculator::{Evidence, Severity};
use portcullis_plugin::types::{Action, Command, EffectKind, GitState, Path, Scope};

/// What a command stages.
enum Staged<'a> {
    /// These paths.
    Paths(Vec<&'a str>),
    /// Everything that is not ignored.
    All,
    /// Every change of what git tracks already.
    Tracked,
}

/// Adds the objections to what a command stages or commits.
pub fn judge(command: &Command, action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    if let Some(git) = Git::read(command) {
        judge_git(&git, action, config, found);
    } else if is_other_add(command) {
        let paths = command.operands().skip(1).map(|word| word.text.as_str());
        judge_paths(paths, false, config, found);
    }
}

/// Returns true for the command of another version control that adds files.
fn is_other_add(command: &Command) -> bool {
    let verb = command.operands().next().map_or("", |word| word.text.as_str());
    matches!(
        (command.program.as_str(), verb),
        ("hg" | "svn" | "bzr" | "fossil" | "darcs" | "sl", "add") | ("jj", "file")
    )
}

fn judge_git(git: &Git<'_>, action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    judge_message(git, config, found);
    let forced = matches!(git.verb, "add" | "stage") && git.has(Some('f'), &["--force"]);
    let Some(staged) = find_staged(git) else { return };
    let excluded: Vec<&str> = git.operands.iter().copied().filter_map(find_exclusion).collect();
    match staged {
        Staged::Paths(paths) => {
            let before = found.len();
            judge_paths(paths.iter().copied(), forced, config, found);
            if forced && found.len() == before {
                found.extend(paths.first().map(|path| object_to_force(path, config.forced)));
            }
        }
        Staged::All | Staged::Tracked => {
            let tracked_only = matches!(staged, Staged::Tracked);
            let written = list_written_secrets(action, tracked_only, config);
            let written = written.filter(|path| !is_excluded(path, &excluded));
            let before = found.len();
            found.extend(written.map(|path| object_to_all(path, config)));
            if forced && found.len() == before {
                // A person knows what is ignored, and an agent has seldom looked.
                let strictness =
                    if config.forced == Strictness::Off { config.forced } else { Strictness::Ask };
                found.push(object_to_force("everything", strictness));
            }
        }
    }
}

fn find_staged<'a>(git: &Git<'a>) -> Option<Staged<'a>> {
    let paths = || {
        let paths = git.operands.iter().copied().filter(|path| find_exclusion(path).is_none());
        paths.map(|path| path.trim_start_matches(":/")).collect::<Vec<_>>()
    };
    match git.verb {
        "add" | "stage" if git.has(Some('n'), &["--dry-run"]) => None,
        "add" | "stage" => {
            let paths = paths();
            let all = git.has(Some('A'), &["--all", "--no-ignore-removal"])
                || paths.iter().any(|path| matches!(*path, "." | "./" | "*" | "" | ".."));
            Some(match (paths.is_empty(), all) {
                (_, true) if !paths.iter().any(|path| path.len() > 2) => Staged::All,
                (true, _) if git.has(Some('u'), &["--update"]) => Staged::Tracked,
                (true, _) => return None,
                _ => Staged::Paths(paths),
            })
        }
        "commit" if git.has(None, &["--dry-run"]) => None,
        "commit" if git.has(Some('a'), &["--all"]) => Some(Staged::Tracked),
        "commit" if !git.operands.is_empty() => Some(Staged::Paths(paths())),
        "update-index" if git.has(None, &["--add", "--cacheinfo"]) => Some(Staged::Paths(paths())),
        _ => None,
    }
}

/// Returns what a path leaves out: `:!.env`, `:(exclude)*.pem`.
fn find_exclusion(path: &str) -> Option<&str> {
    path.strip_prefix(":!")
        .or_else(|| path.strip_prefix(":^"))
        .or_else(|| path.strip_prefix(":(exclude)"))
}

fn is_excluded(path: &Path, excluded: &[&str]) -> bool {
    excluded.iter().any(|glob| crate::globs::matches_path(glob.trim_start_matches('/'), &path.text))
}

fn judge_paths<'a>(
    paths: impl Iterator<Item = &'a str>,
    forced: bool,
    config: &Config,
    found: &mut Vec<Objecting>,
) {
    for path in paths {
        let Some(holding) = find_holding(path, config) else { continue };
        let shown = shorten(path);
        let reason = match (holding, forced) {
            (_, true) => format!(
                "{shown} holds secrets and is ignored for that reason; leave it out of the commit, and commit an example without values"
            ),
            (Holding::Surely, _) => format!(
                "{shown} is a file of secrets, and a commit keeps them for ever; add it to .gitignore, and commit an example without values"
            ),
            (Holding::Perhaps, _) => {
                format!("{shown} often holds a secret; look into it before it goes into a commit")
            }
        };
        let strictness = match holding {
            Holding::Surely => config.staging,
            Holding::Perhaps => at_most(config.staging, Strictness::Warn),
        };
        found.push(Objecting {
            rule: "commit_secret_file",
            strictness,
            severity: Severity::High,
            reason,
            instead: "add the file to .gitignore",
            evidence: Evidence::path(shown),
        });
    }
}

/// Returns the files of secrets that the action itself writes and git does not ignore.
fn list_written_secrets<'a>(
    action: &'a Action,
    tracked_only: bool,
    config: &'a Config,
) -> impl Iterator<Item = &'a Path> {
    action.touched().filter_map(move |(kind, path)| {
        let written = match kind {
            EffectKind::FileModify => true,
            EffectKind::FileCreate => !tracked_only,
            _ => false,
        };
        let untracked = tracked_only && path.git == GitState::Untracked;
        let inside = matches!(path.scope, Scope::Inside | Scope::Unknown);
        let counts = written && inside && !untracked && path.git != GitState::Ignored;
        (counts && find_holding(&path.text, config) == Some(Holding::Surely)).then_some(path)
    })
}

fn object_to_all(path: &Path, config: &Config) -> Objecting {
    let name = shorten(path.text.rsplit('/').next().unwrap_or_default());
    Objecting {
        rule: "commit_secret_file",
        strictness: config.staging,
        severity: Severity::High,
        reason: format!(
            "{name} is a file of secrets that this writes, and everything is added to the commit; add the files by name, and {name} to .gitignore"
        ),
        instead: "add files by name",
        evidence: Evidence::path(&path.text),
    }
}

fn object_to_force(path: &str, strictness: Strictness) -> Objecting {
    let shown = shorten(path);
    Objecting {
        rule: "commit_ignored_file",
        strictness,
        severity: Severity::Medium,
        reason: format!(
            "{shown} is added although git ignores it; add it without force, or change .gitignore if it belongs into the repository"
        ),
        instead: "add it without --force",
        evidence: Evidence::path(shown),
    }
}

/// Objects to a secret in the text of a commit or a tag.
fn judge_message(git: &Git<'_>, config: &Config, found: &mut Vec<Objecting>) {
    if !matches!(git.verb, "commit" | "tag" | "notes" | "merge") {
        return;
    }
    let shown = git.values(&["-m", "--message"]).filter_map(|text| find_added(text, ""));
    let strong = shown.into_iter().find(|(_, weight)| *weight == Weight::Strong);
    if let Some((placeholder, _)) = strong {
        found.push(Objecting {
            rule: "secret_published",
            strictness: config.publishing,
            severity: Severity::High,
            reason: format!(
                "the message holds a secret ({}), and everybody with the repository reads it; write the message without it",
                placeholder.kind
            ),
            instead: "write the message without the value",
            evidence: Evidence::new("secret", placeholder.text),
        });
    }
}
