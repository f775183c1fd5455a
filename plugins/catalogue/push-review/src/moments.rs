//! The moments at which work leaves the machine: pushes, requests to merge, merges, releases.

use crate::changes::follow_branch;
use crate::git::Git;
use portcullis_plugin::types::{Action, Command, Operation, ToolCall};

/// What happens to a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A merge is asked for; others look at it before it happens.
    Request,
    /// Commits are pushed.
    Push,
    /// Commits replace others, as long as nobody else pushed.
    LeasedForce,
    /// A tag is pushed, or a release made.
    Tag,
    /// A request is merged.
    Merge,
    /// Commits replace whatever is there.
    Force,
    /// A branch or tag goes.
    Delete,
    /// A request is merged past its checks.
    ForcedMerge,
}

/// A moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What happens.
    pub kind: Kind,
    /// The branch or tag, empty if it is not known.
    pub branch: String,
    /// Every branch is meant.
    pub all: bool,
}

/// Returns the moments of an action that has not run yet. `branch` is the one that is checked out.
pub fn list_moments(action: &Action, branch: &str) -> Vec<Moment> {
    match &action.operation {
        Operation::Shell(shell) => {
            let mut current = branch.to_owned();
            let mut moments = Vec::new();
            for command in &shell.commands {
                if let Some(git) = Git::read(command) {
                    follow_branch(&mut current, &git);
                    read_push(&git, &current, &mut moments);
                } else {
                    moments.extend(read_client(command, &current));
                }
            }
            moments
        }
        Operation::Tool(call) => read_tool(call).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns true if an action may have a moment.
pub fn may_have_one(action: &Action) -> bool {
    match &action.operation {
        Operation::Shell(shell) => shell.commands.iter().any(|command| {
            let has = |wanted: &str| command.words.iter().any(|word| word.text == wanted);
            match command.program.as_str() {
                "git" => has("push") || has("send-pack"),
                "gh" | "glab" | "hub" | "tea" | "az" => true,
                "hg" | "jj" | "sl" | "bzr" | "svn" => has("push") || has("dcommit"),
                _ => false,
            }
        }),
        Operation::Tool(call) => read_tool(call).is_some(),
        _ => false,
    }
}

fn read_push(git: &Git<'_>, current: &str, moments: &mut Vec<Moment>) {
    if git.verb != "push" || git.has(Some('n'), &["--dry-run"]) {
        return;
    }
    let deletes = git.has(Some('d'), &["--delete"]);
    let forces = git.has(Some('f'), &["--force", "--mirror"]);
    let leases = git.has(None, &["--force-with-lease", "--force-if-includes"]);
    let tags = git.has(None, &["--tags"]);
    let all = git.has(None, &["--all", "--mirror", "--branches"]);
    let skipped = usize::from(!git.has(None, &["--repo"]));
    let references = git.operands.get(skipped..).unwrap_or_default();
    if references.is_empty() {
        let kind = match (forces, leases, tags) {
            (true, ..) => Kind::Force,
            (_, true, _) => Kind::LeasedForce,
            (.., true) => Kind::Tag,
            _ => Kind::Push,
        };
        let branch = if tags { String::new() } else { current.to_owned() };
        moments.push(Moment { kind, branch, all });
        return;
    }
    for reference in references {
        let (plain, is_forced) = match reference.strip_prefix('+') {
            Some(rest) => (rest, true),
            None => (*reference, forces),
        };
        let (source, target) = plain.split_once(':').unwrap_or((plain, plain));
        let is_tag = target.starts_with("refs/tags/") || source == "tag" || is_version(target);
        let name = target.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/");
        let name = if matches!(name, "HEAD" | "@") { current } else { name };
        let kind = if deletes || source.is_empty() {
            Kind::Delete
        } else if is_forced {
            Kind::Force
        } else if is_tag || tags {
            Kind::Tag
        } else if leases {
            Kind::LeasedForce
        } else {
            Kind::Push
        };
        // What only the run knows stands as U+FFFD.
        let branch = if name.contains('\u{fffd}') { "" } else { name };
        moments.push(Moment { kind, branch: branch.to_owned(), all });
    }
}

/// Returns true for the name of a version: `v1.2`, `1.2.3`.
fn is_version(name: &str) -> bool {
    let rest = name.strip_prefix('v').unwrap_or(name);
    rest.starts_with(|first: char| first.is_ascii_digit())
        && rest.contains('.')
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
}

/// Reads the clients of forges, and other version control.
fn read_client(command: &Command, current: &str) -> Option<Moment> {
    let mut operands = command.operands().map(|word| word.text.as_str());
    let (first, second) =
        (operands.next().unwrap_or_default(), operands.next().unwrap_or_default());
    let third = operands.next().unwrap_or_default();
    let value = |names: &[&str]| {
        command.words.iter().enumerate().find_map(|(at, word)| {
            if let Some((name, value)) = word.text.split_once('=') {
                return names.contains(&name).then_some(value);
            }
            names
                .contains(&word.text.as_str())
                .then(|| command.words.get(at + 1))?
                .map(|next| next.text.as_str())
        })
    };
    let kind = match (command.program.as_str(), first, second) {
        ("gh", "pr", "create" | "new")
        | ("glab", "mr", "create" | "new")
        | ("tea", "pr" | "pulls", "create" | "c") => Kind::Request,
        ("az", "repos", "pr") if third == "create" => Kind::Request,
        ("hub", "pull-request", _) => Kind::Request,
        ("gh", "pr", "merge") if command.has_flag(None, "admin") => Kind::ForcedMerge,
        ("gh", "pr", "merge")
        | ("glab", "mr", "merge" | "accept")
        | ("tea", "pr" | "pulls", "merge") => Kind::Merge,
        ("gh" | "glab" | "hub", "release", "create") => Kind::Tag,
        ("hg" | "sl" | "bzr", "push", _) | ("jj", "git", "push") | ("svn", "dcommit", _) => {
            let forced = command.has_flag(Some('f'), "force");
            let kind = if forced { Kind::Force } else { Kind::Push };
            return Some(Moment { kind, branch: current.to_owned(), all: false });
        }
        _ => return None,
    };
    let branch = match kind {
        Kind::Tag => third.to_owned(),
        _ => value(&["--base", "-B", "--target-branch", "-b"]).unwrap_or_default().to_owned(),
    };
    Some(Moment { kind, branch, all: false })
}

/// Reads the tools of MCP servers of forges.
fn read_tool(call: &ToolCall) -> Option<Moment> {
    let argument = |names: &[&str]| {
        let found = call.arguments.iter().find(|argument| names.contains(&argument.name.as_str()));
        found.map(|argument| argument.value.clone()).unwrap_or_default()
    };
    let (kind, branch) = match call.name.as_str() {
        "create_pull_request" | "create_merge_request" => {
            (Kind::Request, argument(&["base", "target_branch"]))
        }
        "merge_pull_request" | "accept_merge_request" | "merge_merge_request" => {
            (Kind::Merge, argument(&["base", "target_branch"]))
        }
        "push_files" | "create_or_update_file" | "delete_file" | "git_push" | "push" => {
            (Kind::Push, argument(&["branch"]))
        }
        "create_release" | "create_tag" => (Kind::Tag, argument(&["tag_name", "tag"])),
        _ => return None,
    };
    let is_forge = call.server.as_deref().is_some_and(|server| {
        ["git", "bitbucket", "gitea"].iter().any(|name| server.to_lowercase().contains(name))
    });
    is_forge.then_some(Moment { kind, branch, all: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    #[test]
    fn moments_are_read_from_commands() {
        use Kind::{Delete, Force, LeasedForce, Merge, Push, Request, Tag};
        for (line, expected) in [
            ("git push", vec![(Push, "topic")]),
            ("git push origin main", vec![(Push, "main")]),
            ("git push -u origin HEAD", vec![(Push, "topic")]),
            ("git push origin HEAD:refs/heads/main", vec![(Push, "main")]),
            ("git push origin +main", vec![(Force, "main")]),
            ("git push --force-with-lease", vec![(LeasedForce, "topic")]),
            ("git push origin :old", vec![(Delete, "old")]),
            ("git push origin v1.2.0", vec![(Tag, "v1.2.0")]),
            ("git push --tags", vec![(Tag, "")]),
            ("git push --dry-run origin main", vec![]),
            ("git checkout main && git push", vec![(Push, "main")]),
            ("git switch -c fix ; git push -f origin fix", vec![(Force, "fix")]),
            ("gh pr create --base main --fill", vec![(Request, "main")]),
            ("gh pr merge 3 --squash", vec![(Merge, "")]),
            ("gh pr view 3", vec![]),
            ("git pull ; git status", vec![]),
        ] {
            let moments = list_moments(&testing::shell(line), "topic");
            let found: Vec<(Kind, &str)> =
                moments.iter().map(|moment| (moment.kind, moment.branch.as_str())).collect();
            assert_eq!(found, expected, "{line}");
        }
    }
}
