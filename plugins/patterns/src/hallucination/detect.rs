//! Counts acts on missing things.

use super::answers::{Kind, Target, missing};
use super::config::Config;
use super::memory::{Act, Memory};
use portcullis_builtin_shared::steps::{graded, share, thousandths};
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Access, Action, EffectKind, Operation, Outcome, Severity, Status};

/// The maximum number of targets in the evidence, newest first.
const SHOWN: usize = 8;
/// The exit code by which a shell says that it found no such program.
const NOT_FOUND: i32 = 127;
/// Programs that are called to check if something exists.
const LOOKING: &[&str] = &[
    "ls", "stat", "test", "[", "[[", "which", "type", "command", "whereis", "find", "fd", "file",
    "locate", "tree",
];
/// Git subcommands that bring files.
const GIT: &[&str] = &[
    "checkout",
    "switch",
    "restore",
    "pull",
    "merge",
    "rebase",
    "stash",
    "clone",
    "apply",
    "reset",
    "worktree",
    "submodule",
];
/// Programs that bring commands.
const INSTALLERS: &[&str] = &[
    "apt", "apt-get", "apk", "brew", "bundle", "cargo", "conda", "dnf", "gem", "go", "make",
    "mise", "mix", "npm", "pip", "pip3", "pipx", "pnpm", "poetry", "rustup", "uv", "yarn", "yum",
];

/// Updates the memory with this action's outcome, and reports acts on missing things.
pub(super) fn look(
    config: &Config,
    mut memory: Memory,
    history: &History,
    action: &Action,
) -> Report {
    let Some(outcome) = action
        .outcome
        .as_ref()
        .filter(|outcome| matches!(outcome.status, Status::Ok | Status::Failed))
    else {
        return Report::nothing();
    };
    let before = memory.clone();
    let oldest = action.step.saturating_sub(config.within);
    // The first steps of a session include step 0, which is not greater than `oldest`.
    memory.acts.retain(|act| act.step > oldest || action.step < config.within);
    let looks = is_looking(action);
    let found = missing(action, outcome);
    let mut informed = false;
    let mut line = None;
    for (target, said) in &found {
        let known = memory.learn(target);
        // A check that something is there may find that it is not.
        let looked = looks && target.kind == Kind::Path;
        if !looked && !memory.acts.iter().any(|act| act.step == action.step) {
            memory.act(action.step, known, target.clone());
            informed |= known;
            line = Some(said.clone());
        }
    }
    if let Some(target) = again(&memory, action, outcome).filter(|_| found.is_empty() && !looks) {
        memory.act(action.step, true, target);
        informed = true;
    }
    if outcome.status == Status::Ok {
        made(&mut memory, action, &found);
    }
    let acts = u32::try_from(memory.acts.len()).unwrap_or(u32::MAX);
    let after =
        u32::try_from(memory.acts.iter().filter(|act| act.informed).count()).unwrap_or(u32::MAX);
    let enough = informed && acts >= config.threshold && after >= config.after_told;
    let report = if enough {
        detection(config, &memory, history, action, line, after).into()
    } else {
        Report::nothing()
    };
    if memory == before { report } else { report.remember(memory.to_bytes()) }
}

/// Returns true if the action only checks if something exists.
fn is_looking(action: &Action) -> bool {
    match &action.operation {
        Operation::File(file) => file.access == Access::Search,
        Operation::Shell(shell) => {
            !shell.commands.is_empty()
                && shell.commands.iter().all(|command| {
                    LOOKING.contains(&command.program.as_str()) || command.program == "echo"
                })
        }
        _ => false,
    }
}

/// Returns the target of a failed action on something that is known not to exist, whatever the
/// error says.
fn again(memory: &Memory, action: &Action, outcome: &Outcome) -> Option<Target> {
    if outcome.status != Status::Failed {
        return None;
    }
    let makes = |path: &str| {
        action.touched().any(|(kind, made)| *kind == EffectKind::FileCreate && made.text == path)
    };
    let mut paths = action
        .touched()
        .filter(|(kind, path)| uses(kind) && !makes(&path.text))
        .map(|(_, path)| Target::new(Kind::Path, &path.text));
    // A program that ran and failed exists: only the shell's own code says that it does not.
    let unfound = outcome.exit_code == Some(NOT_FOUND);
    let mut programs = action
        .facts
        .programs
        .iter()
        .filter(|_| unfound)
        .map(|program| Target::new(Kind::Command, program));
    let known = |target: &Target| memory.missing.contains(target);
    paths.find(known).or_else(|| programs.find(known))
}

const fn uses(kind: &EffectKind) -> bool {
    matches!(kind, EffectKind::FileRead | EffectKind::FileModify | EffectKind::FileDelete)
}

/// Forgets missing things that a successful action has made, or has shown to exist.
fn made(memory: &mut Memory, action: &Action, missing: &[(Target, String)]) {
    for (kind, path) in action.touched() {
        let shown =
            action.file().is_some_and(|file| matches!(file.access, Access::Read | Access::Modify));
        if *kind == EffectKind::FileCreate || (shown && uses(kind)) {
            memory.forget(Kind::Path, Some(&path.text));
        }
    }
    if let Some(file) =
        action.file().filter(|file| matches!(file.access, Access::Modify | Access::Create))
    {
        memory.forget(Kind::Text, Some(&file.path));
    }
    memory.missing.retain(|target| target.kind != Kind::Tool || target.name != action.tool);
    for command in action.shell().map(|shell| shell.commands.as_slice()).unwrap_or_default() {
        let verb = command.operands().next().map(|word| word.text.as_str()).unwrap_or_default();
        if command.program == "git" && GIT.contains(&verb) {
            memory.forget(Kind::Path, None);
        }
        if INSTALLERS.contains(&command.program.as_str()) {
            memory.forget(Kind::Command, None);
        }
    }
    // A thing that the same outcome reports as missing stays missing.
    for (target, _) in missing {
        memory.learn(target);
    }
}

/// The share of the recent steps from which on acts are a run of them; fewer are spread over a
/// session that goes well, no matter how many they are.
const RUN: u32 = 300;

fn detection(
    config: &Config,
    memory: &Memory,
    history: &History,
    action: &Action,
    line: Option<String>,
    after: u32,
) -> Detection {
    let acts = u32::try_from(memory.acts.len()).unwrap_or(u32::MAX);
    let more = acts.saturating_sub(config.threshold);
    let confidence = u32::from(config.confidence)
        .saturating_add(more.saturating_mul(u32::from(config.confidence_step)));
    let impact =
        share(history, config.window, |step| memory.acts.iter().any(|act| act.step == step.index));
    let bad = match more {
        _ if impact < RUN => Severity::Low,
        4.. => Severity::High,
        _ => graded(more, impact),
    };
    let newest = newest(&memory.acts);
    let summary = [
        &acts.to_string(),
        " actions worked with what is not there, ",
        &after.to_string(),
        " of them after the session had been warned: ",
        &listed(newest.iter().map(|act| act.target.name.as_str())),
    ]
    .concat();
    let detection = Detection::new("hallucination", bad.min(config.severity), &summary)
        .sure(thousandths(confidence), thousandths(impact))
        .since(memory.acts.first().map_or(action.step, |act| act.step));
    let targets = newest
        .iter()
        .take(SHOWN)
        .map(|act| evidence(act.target.kind.evidence(), &act.target.name, Some(act.step)));
    let said = line.map(|line| evidence("error", &line, Some(action.step)));
    targets.chain(said).fold(detection, Detection::because)
}

/// Returns the newest act for each target, newest first.
fn newest(acts: &[Act]) -> Vec<&Act> {
    let mut found: Vec<&Act> = Vec::new();
    for act in acts.iter().rev() {
        if !found.iter().any(|known| known.target == act.target) {
            found.push(act);
        }
    }
    found
}
