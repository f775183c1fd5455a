//! Git's hooks and aliases: files that a git command starts, and settings that make a word of it
//! a command.

use super::expand::Field;
use super::scripts::{Manner, RunText};
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places::{self, Place};
use std::rc::Rc;

/// The hooks that each subcommand starts, besides [`ALWAYS`].
const HOOKS: &[(&str, &[&str])] = &[
    ("commit", &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite"]),
    ("merge", &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"]),
    (
        "pull",
        &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "post-checkout"],
    ),
    ("push", &["pre-push"]),
    ("checkout", &["post-checkout"]),
    ("switch", &["post-checkout"]),
    ("clone", &["post-checkout"]),
    (
        "rebase",
        &["pre-rebase", "post-checkout", "post-rewrite", "prepare-commit-msg", "post-commit"],
    ),
    ("cherry-pick", &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]),
    ("revert", &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]),
    ("am", &["applypatch-msg", "pre-applypatch", "post-applypatch"]),
    ("worktree", &["post-checkout"]),
    ("gc", &["pre-auto-gc"]),
    ("add", &[]),
    ("branch", &[]),
    ("fetch", &[]),
    ("mv", &[]),
    ("reset", &[]),
    ("restore", &[]),
    ("rm", &[]),
    ("stash", &[]),
    ("tag", &[]),
    ("update-ref", &[]),
    ("update-index", &[]),
];

/// Hooks of every change of a reference or of the index.
const ALWAYS: &[&str] = &["reference-transaction", "post-index-change"];

/// Hooks that `--no-verify` leaves out.
const VERIFYING: &[&str] =
    &["pre-commit", "commit-msg", "pre-merge-commit", "pre-push", "pre-rebase"];

impl Walker<'_> {
    /// Reads the hooks that a git command starts, or the alias that its subcommand is.
    pub(super) fn git_hooks(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if setting.place != Place::Here {
            return;
        }
        let subcommand = plan.subcommand.first().and_then(|at| rest.get(*at));
        let Some(subcommand) = subcommand else {
            return self.git_alias(rest, plan, command, setting);
        };
        let Some((_, hooks)) = HOOKS.iter().find(|(name, _)| *name == subcommand.text) else {
            return;
        };
        let looks = |field: &Field| matches!(field.text.as_str(), "list" | "show");
        if subcommand.text == "stash" && rest.iter().any(looks) {
            return;
        }
        let unverified = rest.iter().any(|field| {
            let text = field.text.as_str();
            let cluster = !text.starts_with("--") && text.starts_with('-');
            // The text behind these letters is their value: the `n` of `-mn` is a message.
            let letters = text.split(['m', 'F', 'C', 'c']).next().unwrap_or("");
            text.len() > 6 && "--no-verify".starts_with(text)
                || subcommand.text == "commit" && cluster && letters.contains('n')
        });
        let root = self.repository();
        let config = self.git_setting(&root, "core.hookspath", command, setting);
        let clones = subcommand.text == "clone";
        let given = hooks_path(rest, plan.subcommand.first().copied().filter(|_| !clones));
        // A new repository has no hooks of its own.
        if clones && given.is_none() {
            return;
        }
        if given.is_some_and(|path| matches!(path, "" | "/dev/null")) {
            return;
        }
        let folder = match given.map(str::to_owned).or(config.map(|(value, _)| value)) {
            Some(path) => places::resolve(&path, &root).0,
            None => format!("{root}/.git/hooks"),
        };
        for hook in hooks.iter().chain(ALWAYS) {
            if unverified && VERIFYING.contains(hook) {
                continue;
            }
            let mut paths = vec![format!("{folder}/{hook}")];
            // Husky's own hooks start those beside its folder.
            paths.extend(folder.strip_suffix("/_").map(|outer| format!("{outer}/{hook}")));
            for path in paths {
                let mark = self.env.mark();
                // Git runs hooks at the top of the repository, wherever it was started.
                self.env.enter(&root, true, true);
                self.run_script(subcommand, &path, None, Manner::Program, &[], command, setting);
                self.env.restore(mark);
            }
        }
    }

    /// Reads the alias of a repository after which a subcommand that git does not have is named.
    fn git_alias(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let Some(word) = plan.operands.first().and_then(|at| rest.get(*at)) else { return };
        let root = self.repository();
        let name = word.text.to_ascii_lowercase();
        let key = format!("alias.{name}");
        let Some((value, whole)) = self.git_setting(&root, &key, command, setting) else { return };
        let text = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
        let run = RunText {
            path: &format!("{root}/.git/config"),
            part: &key,
            whole: &whole,
            text: &text,
            language: None,
            span: word.span,
            sourced: false,
        };
        let mark = self.env.mark();
        // Aliases that go to a shell run at the top of the repository, too.
        self.env.enter(&root, true, true);
        self.run_text(&run, command, setting);
        self.env.restore(mark);
    }

    /// Returns the folder of the repository: the project, or the folder outside of it.
    pub(super) fn repository(&self) -> String {
        let folder = self.env.folder.trim_end_matches('/');
        if self.is_project(folder) { self.project.to_owned() } else { folder.to_owned() }
    }

    /// Returns a setting of the repository's own configuration, and all of that file.
    fn git_setting(
        &mut self,
        root: &str,
        key: &str,
        command: Option<u32>,
        setting: &Setting,
    ) -> Option<(String, Rc<str>)> {
        let path = format!("{root}/.git/config");
        let text = self.open_script(&path, false, command, setting)?;
        let settings = read_settings(&text);
        // The last of several values counts for git.
        let value = settings.into_iter().rev().find(|(known, _)| *known == key)?.1;
        Some((value, text))
    }
}

/// Returns the folder of hooks that a call sets: `-c core.hooksPath=FOLDER`, in any case of letters,
/// before the word at `end`. The last of several counts for git.
fn hooks_path(rest: &[Field], end: Option<usize>) -> Option<&str> {
    let words = rest.get(..end.unwrap_or(rest.len()))?;
    words.iter().enumerate().rev().find_map(|(at, field)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let (key, value) = match field.text.strip_prefix("--config=") {
            Some(setting) => setting,
            // The message of a commit can look the same.
            None => before
                .filter(|flag| matches!(flag.text.as_str(), "-c" | "--config"))
                .map(|_| field.text.as_str())?,
        }
        .split_once('=')?;
        key.eq_ignore_ascii_case("core.hookspath").then_some(value)
    })
}

/// Returns the settings of a configuration of git: `section.key` in lower case, and the value. The
/// name between section and key is left out.
pub(super) fn read_settings(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text.lines().map(str::trim).take(4096) {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split([' ', ']', '"', '.']).next().unwrap_or("");
            section = name.to_ascii_lowercase();
            continue;
        }
        if line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let value = value.trim();
        let value =
            value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        let value = value.replace("\\\"", "\"").replace("\\\\", "\\");
        settings.push((format!("{section}.{}", key.trim().to_ascii_lowercase()), value));
    }
    settings
}
