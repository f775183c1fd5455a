//! Files that record what exists: a hand that edits one makes the tool destroy or duplicate what the
//! file no longer tells the truth about.

use crate::findings::Finding;
use crate::names::Environment;
use crate::settings::Config;
use crate::tools::{self, Family};
use portcullis_plugin::types::{Action, Context, EffectKind, Entry, Evidence, Path};

/// Folders of examples, where a state file records nothing that exists.
const EXAMPLES: &[&str] =
    &["test", "tests", "testdata", "fixtures", "examples", "__tests__", "spec", "node_modules"];

/// Returns true if an action touches such a file.
pub fn concern(action: &Action) -> bool {
    action.facts.paths.iter().any(|path| is_state(&path.text))
}

/// Judges the changes of such files; what the tool itself writes is left to it.
pub fn judge(action: &Action, context: &Context, config: &Config) -> Vec<Finding> {
    let by_tool = |command: Option<u32>| {
        let at = command.and_then(|at| usize::try_from(at).ok());
        let command = at.and_then(|at| action.shell()?.commands.get(at));
        let family = command.and_then(|command| tools::family(&command.program));
        matches!(family, Some(Family::Terraform | Family::Stack))
    };
    let changed = action.facts.effects.iter().filter_map(|effect| {
        let path = action.facts.path(effect)?;
        let is_one = effect.kind.changes_files()
            && is_state(&path.text)
            && path.entry != Entry::Absent
            && !by_tool(effect.command);
        is_one.then_some((&effect.kind, path))
    });
    changed.filter_map(|(kind, path)| judge_path(kind, path, context, config)).collect()
}

fn judge_path(
    kind: &EffectKind,
    path: &Path,
    context: &Context,
    config: &Config,
) -> Option<Finding> {
    let place = context
        .roots
        .iter()
        .find_map(|root| path.text.strip_prefix(root.as_str()))
        .unwrap_or(&path.text);
    if place.split('/').any(|folder| EXAMPLES.contains(&folder))
        || config.patterns.find(place) == Some(Environment::Development)
    {
        return None;
    }
    let name = path.text.rsplit('/').next().unwrap_or_default();
    let reason = if *kind == EffectKind::FileDelete {
        format!(
            "without `{name}` the tool no longer knows what exists: the next apply makes all of \
             it again"
        )
    } else {
        format!(
            "`{name}` records what exists: changed by hand, it makes the next apply \
             destroy or duplicate something"
        )
    };
    Some(Finding {
        rule: "infrastructure_state",
        answer: config.state,
        reason,
        instead: "let the tool change it (moved, removed and import blocks, or `state mv`), and \
                  keep a backup"
            .into(),
        evidence: Evidence::path(&path.text),
    })
}

fn is_state(path: &str) -> bool {
    [".tfstate", ".tfstate.backup", ".tfstate.lock.info"].iter().any(|end| path.ends_with(end))
        || path.contains("/.pulumi/stacks/")
}
