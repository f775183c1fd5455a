//! Literal secrets that are written into files which a commit may hold.

use crate::config::{Config, Strictness};
use crate::edits::Edit;
use crate::files::find_holding;
use crate::globs::matches_path;
use crate::objections::{Objecting, at_most, shorten};
use crate::placeholders::{Weight, find_added};
use portcullis_plugin::risk_calculator::{Evidence, Severity};
use portcullis_plugin::types::{Action, GitState, Path, Scope};

/// Adds the objections to the secrets that an edit brings in.
pub fn judge(edit: &Edit<'_>, action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    let added = find_added(&edit.new, edit.old.as_deref().unwrap_or_default());
    let Some((placeholder, weight)) = added else { return };
    let path = find_path(&edit.path, action);
    if path.is_some_and(is_never_committed) {
        return;
    }
    let git = path.map_or(GitState::Unknown, |path| path.git);
    let shown = shorten(&edit.path);
    let kind = placeholder.kind;
    let (strictness, reason) = if find_holding(&edit.path, config).is_some() {
        match git {
            // It is the place for secrets, as long as git does not see it.
            GitState::Unknown | GitState::Ignored => return,
            GitState::Untracked => (
                at_most(config.contents, Strictness::Warn),
                format!(
                    "{shown} gets a secret ({kind}) and git does not ignore it yet; add it to .gitignore first"
                ),
            ),
            GitState::Clean | GitState::Changed => (
                config.contents,
                format!(
                    "git tracks {shown}, and this writes a secret ({kind}) into it; take the file out of git, and write the value where git ignores it"
                ),
            ),
        }
    } else {
        let is_example = config.examples.iter().any(|glob| matches_path(glob, &edit.path));
        let strictness = match (weight, is_example) {
            (Weight::Strong, false) => config.contents,
            (Weight::Weak, true) => return,
            _ => at_most(config.contents, Strictness::Warn),
        };
        let reason = format!(
            "a literal secret ({kind}) is written into {shown}, which a commit may hold; read it from the environment or from a file that git ignores"
        );
        (strictness, reason)
    };
    found.push(Objecting {
        rule: "secret_written",
        strictness,
        severity: Severity::High,
        reason,
        instead: "read the value from the environment",
        evidence: Evidence::new("secret", placeholder.text),
    });
}

/// Returns what the host knows about the file of an edit.
fn find_path<'a>(written: &str, action: &'a Action) -> Option<&'a Path> {
    let written = written.trim_start_matches("./");
    action.facts.paths.iter().find(|path| {
        path.text == written
            || path.text.strip_suffix(written).is_some_and(|before| before.ends_with('/'))
    })
}

fn is_never_committed(path: &Path) -> bool {
    path.git == GitState::Ignored
        || matches!(path.scope, Scope::Outside | Scope::Scratch | Scope::System)
}
