//! Lock files: what deletes or empties one.

use crate::wishes::Wish;
use portcullis_plugin::types::{Action, Context, Entry, GitState, Path, Scope};

const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lockb",
    "bun.lock",
    "deno.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pylock.toml",
    "Pipfile.lock",
    "Cargo.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "packages.lock.json",
];
/// Folders that are made again from the lock file.
const MADE: &[&str] =
    &["node_modules", "vendor", "target", ".venv", "venv", "site-packages", "dist", "build"];

/// Returns the lock files that an action deletes or moves away, each with its path.
pub fn find_lost(action: &Action, context: &Context) -> Vec<(Wish, String)> {
    let lost = action.facts.effects.iter().filter_map(|effect| {
        let path = action.facts.path(effect)?;
        // A lock file that git brings back is not lost; it is the manifest's drift that counts.
        let goes = effect.kind == portcullis_plugin::types::EffectKind::FileDelete
            || is_taken_away(action, effect.command);
        (goes && is_lock(path)).then_some(path)
    });
    let lost: Vec<&Path> = lost.collect();
    if lost.is_empty() || is_asked_for(context) {
        return Vec::new();
    }
    lost.into_iter()
        .map(|path| {
            let name = path.text.rsplit('/').next().unwrap_or_default().to_owned();
            (Wish::Unlocked(name), path.text.clone())
        })
        .collect()
}

/// Returns true for commands that take a file away without an effect that says so.
fn is_taken_away(action: &Action, command: Option<u32>) -> bool {
    let commands = action.shell().map(|shell| shell.commands.as_slice()).unwrap_or_default();
    let command = command.and_then(|at| commands.get(at as usize));
    command.is_some_and(|command| {
        let first = command.words.first().map_or("", |word| word.text.as_str());
        match command.program.as_str() {
            "git" => first == "rm",
            "truncate" => true,
            _ => false,
        }
    })
}

fn is_lock(path: &Path) -> bool {
    let mut parts = path.text.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let named = LOCKS.contains(&name)
        || (path.glob
            && name.contains("lock")
            && LOCKS.iter().any(|lock| crate::globs::matches_glob(name, lock)));
    named
        && !parts.any(|folder| MADE.contains(&folder))
        && !matches!(path.scope, Scope::Scratch)
        && path.entry != Entry::Absent
        && path.git != GitState::Ignored
}

/// Returns true if the newest request asks for a new lock file.
fn is_asked_for(context: &Context) -> bool {
    const VERBS: &[&str] =
        &["delete", "remove", "regenerate", "recreate", "rebuild", "reset", "refresh", "new lock"];
    let Some(goal) = context.goals.last() else { return false };
    let text = goal.text.to_lowercase();
    text.contains("lock") && VERBS.iter().any(|verb| text.contains(verb))
}
