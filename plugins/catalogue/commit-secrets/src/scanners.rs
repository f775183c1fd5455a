//! Scanners for secrets that are turned off, told to look away, or skipped with all other hooks.

use crate::config::{Config, Strictness};
use crate::edits::Edit;
use crate::files::is_line_about_secrets;
use crate::git::Git;
use crate::globs::matches_path;
use crate::objections::{Objecting, shorten};
use portcullis_plugin::risk_calculator::{Evidence, Severity};
use portcullis_plugin::types::{Action, Command, EffectKind, Entry};

const SCANNERS: &[&str] = &[
    "gitleaks",
    "detect-secrets",
    "trufflehog",
    "ggshield",
    "gitguardian",
    "git-secrets",
    "secretlint",
    "talisman",
    "whispers",
    "detect-private-key",
    "detect-aws-credentials",
    "secret-scanning",
    "noseyparker",
];
/// Comments that tell a scanner to pass over a line.
const MARKS: &[&str] = &[
    "gitleaks:allow",
    "pragma: allowlist",
    "pragma: whitelist secret",
    "trufflehog:ignore",
    "ggignore",
    "nosecret",
    "secretlint-disable",
    "talisman:ignore",
];
/// A scanner's own files.
const FILES: &[&str] = &[
    ".gitleaks.toml",
    "gitleaks.toml",
    ".gitleaksignore",
    ".gitleaks-baseline.json",
    ".secrets.baseline",
    ".trufflehogignore",
    ".trufflehog.yml",
    ".trufflehog.yaml",
    ".gitguardian.yml",
    ".gitguardian.yaml",
    ".ggshield.yml",
    ".ggshield.yaml",
    ".secretlintrc",
    ".secretlintrc.json",
    ".secretlintignore",
    ".talismanrc",
    ".whispers.yml",
    ".gitallowed",
    "secret_scanning.yml",
];
/// Words of such a file that make it pass over something.
const ALLOWING: &[&str] = &[
    "allowlist",
    "whitelist",
    "ignore",
    "exclude",
    "paths",
    "regexes",
    "stopwords",
    "commits",
    "disabled",
    "hashed_secret",
    "fileignoreconfig",
];
/// Files that say which checks run.
const CHECKS: &[&str] = &[
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    ".lefthook.yml",
    ".overcommit.yml",
    ".gitlab-ci.yml",
    "package.json",
    "Makefile",
    "justfile",
    "**/.github/workflows/*",
    "**/.husky/*",
    "**/.git/hooks/*",
    "**/.circleci/*",
];

/// The most lines of `.gitignore` that are compared: each costs a look at every known name.
const MOST_LINES: usize = 400;

/// Adds the objections to a command that skips checks.
pub fn judge(command: &Command, config: &Config, found: &mut Vec<Objecting>) {
    if let Some(git) = Git::read(command) {
        judge_git(&git, config, found);
    }
    let words = || command.words.iter().map(|word| word.text.as_str());
    let assigned = command.assignments.iter().map(|one| (one.name.as_str(), one.value.as_str()));
    let exported =
        words().filter(|_| matches!(command.program.as_str(), "export" | "env" | "declare"));
    for (name, value) in assigned.chain(exported.filter_map(|word| word.split_once('='))) {
        judge_variable(name, value, config, found);
    }
    let first = words().next().unwrap_or_default();
    let uninstalls = match command.program.as_str() {
        "pre-commit" | "husky" | "lefthook" | "overcommit" => {
            first == "uninstall" || first == "--uninstall"
        }
        "gitleaks" | "detect-secrets" | "ggshield" => false,
        "chmod" => {
            words().any(|word| word.contains(".git/hooks/"))
                && words().any(|word| matches!(word, "-x" | "a-x" | "000" | "644" | "600"))
        }
        _ => false,
    };
    if uninstalls {
        found.push(object_to_hooks(
            &format!("{} {first}", command.program),
            Strictness::Ask,
            config,
        ));
    }
}

fn judge_git(git: &Git<'_>, config: &Config, found: &mut Vec<Objecting>) {
    let skips = match git.verb {
        "commit" => git.has(None, &["--no-verify"]) || git.has(Some('n'), &[]),
        "push" | "merge" | "rebase" | "am" | "pull" => git.has(None, &["--no-verify"]),
        _ => false,
    };
    if skips {
        found.push(object_to_hooks("--no-verify", Strictness::Warn, config));
    }
    let set = git.settings.iter().filter_map(|setting| setting.split_once('='));
    let configured = (git.verb == "config")
        .then(|| {
            let skip = usize::from(git.operands.first() == Some(&"set"));
            Some((*git.operands.get(skip)?, *git.operands.get(skip + 1)?))
        })
        .flatten();
    for (key, value) in set.chain(configured) {
        let leads_nowhere = matches!(value, "" | "/dev/null" | "/dev" | "." | "no" | "none")
            || value.starts_with("/tmp")
            || value.starts_with("/nonexistent");
        if key.eq_ignore_ascii_case("core.hooksPath") && leads_nowhere {
            found.push(object_to_hooks("core.hooksPath", Strictness::Ask, config));
        }
    }
}

fn judge_variable(name: &str, value: &str, config: &Config, found: &mut Vec<Objecting>) {
    match name {
        "SKIP" if SCANNERS.iter().any(|scanner| value.contains(scanner)) => {
            found.push(object_to_scanner(&format!("SKIP={value}"), "skips", config));
        }
        "SKIP" | "LEFTHOOK_EXCLUDE" => {}
        "HUSKY" | "LEFTHOOK" if value == "0" || value == "false" => {
            found.push(object_to_hooks(&format!("{name}={value}"), Strictness::Warn, config));
        }
        "HUSKY_SKIP_HOOKS" | "OVERCOMMIT_DISABLE" | "PRE_COMMIT_ALLOW_NO_CONFIG"
            if value != "0" =>
        {
            found.push(object_to_hooks(&format!("{name}={value}"), Strictness::Warn, config));
        }
        _ => {}
    }
}

/// Adds the objections to files that go: hooks, a scanner's settings, `.gitignore`.
pub fn judge_deletions(action: &Action, config: &Config, found: &mut Vec<Objecting>) {
    for effect in &action.facts.effects {
        let Some(path) = action.facts.path(effect) else { continue };
        let name = path.text.rsplit('/').next().unwrap_or_default();
        match effect.kind {
            EffectKind::FileDelete if FILES.contains(&name) => {
                found.push(object_to_scanner(
                    name,
                    "is deleted, which turns off or changes",
                    config,
                ));
            }
            EffectKind::FileDelete
                if path.text.contains("/.git/hooks/") && !name.ends_with(".sample") =>
            {
                found.push(object_to_hooks(name, Strictness::Ask, config));
            }
            EffectKind::FileDelete if name == ".gitignore" => {
                found.push(object_to_ignoring("all of .gitignore", config));
            }
            EffectKind::FileCreate | EffectKind::FileModify if name == ".gitignore" => {
                let commands =
                    action.shell().map(|shell| shell.commands.as_slice()).unwrap_or_default();
                let command = effect.command.and_then(|at| commands.get(at as usize));
                found.extend(
                    command.and_then(|command| judge_ignore_command(command, path.entry, config)),
                );
            }
            _ => {}
        }
    }
}

/// Judges a command that changes `.gitignore` in place, or writes all of it again.
fn judge_ignore_command(command: &Command, entry: Entry, config: &Config) -> Option<Objecting> {
    let words = || command.words.iter().map(|word| word.text.as_str());
    match command.program.as_str() {
        "sed" | "perl" | "awk" | "gsed" => {
            let script = words().find(|word| {
                let plain = word.replace('\\', "");
                let deletes =
                    plain.ends_with('d') || plain.starts_with("s/") || plain.starts_with("s|");
                deletes
                    && plain
                        .split(['/', '|', '^', '$', '#'])
                        .any(|part| is_line_about_secrets(part, config))
            })?;
            Some(object_to_ignoring(script, config))
        }
        "truncate" => Some(object_to_ignoring("all of .gitignore", config)),
        ":" | "true" | "cp" if entry == Entry::File => {
            Some(object_to_ignoring("all of .gitignore", config))
        }
        _ => None,
    }
}

/// Adds the objections to an edit that makes a scanner look away, or git see a secret.
pub fn judge_edit(edit: &Edit<'_>, config: &Config, found: &mut Vec<Objecting>) {
    let name = edit.path.rsplit('/').next().unwrap_or_default();
    let old = edit.old.as_deref().unwrap_or_default();
    if name == ".gitignore" || edit.path.ends_with(".git/info/exclude") {
        judge_ignore_edit(old, &edit.new, config, found);
        return;
    }
    if FILES.contains(&name) {
        let allows = |text: &str| {
            let text = text.to_lowercase();
            ALLOWING.iter().map(|word| text.matches(word).count()).sum::<usize>()
        };
        let is_list = name.ends_with("ignore") || name == ".gitallowed";
        let grows = is_list && count_lines(&edit.new) > count_lines(old);
        if grows || allows(&edit.new) > allows(old) {
            found.push(object_to_scanner(name, "gets an exception from", config));
        }
        return;
    }
    let is_example = config.examples.iter().any(|glob| matches_path(glob, &edit.path));
    let mark =
        MARKS.iter().find(|mark| edit.new.matches(*mark).count() > old.matches(*mark).count());
    if let Some(mark) = mark.filter(|_| !is_example) {
        found.push(object_to_scanner(mark, "hides a line from", config));
    }
    if CHECKS.iter().any(|glob| matches_path(glob, &edit.path)) {
        let lost =
            SCANNERS.iter().find(|scanner| old.contains(*scanner) && !edit.new.contains(*scanner));
        if let Some(scanner) = lost {
            found.push(object_to_scanner(
                scanner,
                "is taken out of the checks, which turns off",
                config,
            ));
        }
    }
}

fn count_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count()
}

fn judge_ignore_edit(old: &str, new: &str, config: &Config, found: &mut Vec<Objecting>) {
    let has = |text: &str, wanted: &str| text.lines().any(|line| line.trim() == wanted);
    let lost = old.lines().take(MOST_LINES).map(str::trim).find(|line| {
        !line.starts_with('!') && is_line_about_secrets(line, config) && !has(new, line)
    });
    // A broader pattern in the place of a narrower one keeps as much out.
    let is_covered = |line: &str| {
        let name = line.rsplit('/').next().unwrap_or(line);
        new.lines().take(MOST_LINES).map(str::trim).any(|glob| {
            !glob.is_empty()
                && !glob.starts_with(['#', '!'])
                && matches_path(glob.trim_matches('/'), name)
        })
    };
    if let Some(line) = lost.filter(|line| !is_covered(line)) {
        found.push(object_to_ignoring(line, config));
    }
    let opened = new.lines().take(MOST_LINES).map(str::trim).find(|line| {
        line.starts_with('!') && is_line_about_secrets(line, config) && !has(old, line)
    });
    found.extend(opened.map(|line| object_to_ignoring(line, config)));
}

fn object_to_scanner(what: &str, does: &str, config: &Config) -> Objecting {
    let shown = shorten(what);
    Objecting {
        rule: "secret_scanner_off",
        strictness: config.scanners,
        severity: Severity::High,
        reason: format!(
            "{shown} {does} the scanner for secrets; take the secret out instead, or have a person look at it"
        ),
        instead: "take the secret out of the file",
        evidence: Evidence::new("scanner", shown),
    }
}

/// Objects to hooks that are skipped, as the setting says; `least` is how bad it is by itself.
fn object_to_hooks(what: &str, least: Strictness, config: &Config) -> Objecting {
    let shown = shorten(what);
    let strictness = match (config.hooks, least) {
        (Strictness::Warn, Strictness::Ask) => Strictness::Ask,
        (strictness, _) => strictness,
    };
    Objecting {
        rule: "commit_hooks_skipped",
        strictness,
        severity: Severity::Medium,
        reason: format!(
            "{shown} skips every hook of the repository, a scanner for secrets among them; fix what the hook reports"
        ),
        instead: "run it with the hooks",
        evidence: Evidence::new("scanner", shown),
    }
}

fn object_to_ignoring(line: &str, config: &Config) -> Objecting {
    let shown = shorten(line);
    Objecting {
        rule: "secret_not_ignored",
        strictness: config.ignoring,
        severity: Severity::High,
        reason: format!(
            "after this git no longer ignores files of secrets ({shown}), and the next commit may hold them; leave the line as it is"
        ),
        instead: "leave the line in .gitignore",
        evidence: Evidence::new("line", shown),
    }
}
