//! The flags that change the effect of a call whatever its verb is: help, dry runs, and reach.

use super::super::plan::Plan;
use super::{Call, Grammar};

impl Call<'_> {
    /// Returns true for flags that make it reach further than the one thing that is named.
    pub(super) fn is_wide(&self) -> bool {
        const WIDE: &[&str] = &[
            "--all",
            "--all-namespaces",
            "--force-delete-without-recovery",
            "--force-destroy",
            "--skip-final-snapshot",
        ];
        let flag = |names: &[&str]| {
            self.plan
                .flags
                .iter()
                .filter_map(|at| self.words.get(*at))
                .any(|flag| names.contains(&flag.trim_end_matches("=true")))
        };
        let tops = || {
            self.plan.operands.iter().filter_map(|at| self.words.get(*at)).any(|word| is_top(word))
        };
        flag(WIDE) || flag(&["-A"]) || (flag(&["--recursive", "-r", "-R"]) && tops())
    }

    pub(super) fn asks_for_help(&self) -> bool {
        let first = self.path.first().filter(|step| !step.doubtful);
        first.is_some_and(|step| matches!(step.parts.as_slice(), [only] if matches!(only.as_str(), "help" | "completion" | "version")))
            || matches!(self.words, ["-h" | "-V" | "-v" | "--version" | "-version"])
            || (self.grammar == Grammar::Groups && self.words.len() <= 3 && self.words.last() == Some(&"help"))
            || self.flags_for_sure().any(|flag| matches!(flag, "--help" | "-help" | "--usage"))
    }

    /// Returns true for a dry run that no other flag cancels.
    pub(super) fn is_dry_run(&self) -> bool {
        const DRY: &[&str] = &[
            "--check-only",
            "--dry-run",
            "--dryrun",
            "--dry_run",
            "--generate-cli-skeleton",
            "--just-print",
            "--no-execute-changeset",
            "--no-op",
            "--noop",
            "--plan-only",
            "--preview",
            "--simulate",
            "--validate-only",
            "--what-if",
            "--whatif",
        ];
        let name = |flag: &str| flag.split('=').next().unwrap_or("").to_ascii_lowercase();
        let taken_back = self.plan.flags.iter().any(|at| {
            let flag = self.words.get(*at).copied().unwrap_or("");
            let off = matches!(self.words.get(at + 1), Some(&("none" | "false")));
            name(flag).starts_with("--no-dry")
                || (DRY.contains(&name(flag).as_str()) && (is_off(flag) || off))
        });
        !taken_back && self.flags_for_sure().any(|flag| DRY.contains(&name(flag).as_str()))
    }

    /// Returns the flags that cannot be the value of the flag before them.
    fn flags_for_sure(&self) -> impl Iterator<Item = &str> {
        self.plan
            .flags
            .iter()
            .filter(|at| !may_be_value(self.words, self.plan, **at))
            .filter_map(|at| self.words.get(*at).copied())
    }
}

/// Returns true if the word before this one is an unknown flag, so that this word may be its value.
pub(super) fn may_be_value(words: &[&str], plan: &Plan, at: usize) -> bool {
    const SWITCHES: &[&str] = &[
        "--all",
        "--all-namespaces",
        "--approve",
        "--async",
        "--auto-approve",
        "--batch",
        "--confirm",
        "--debug",
        "--delete",
        "--force",
        "--ignore-not-found",
        "--insecure",
        "--interactive",
        "--json",
        "--no-cache",
        "--no-cli-pager",
        "--no-color",
        "--no-input",
        "--no-verify-ssl",
        "--no-wait",
        "--now",
        "--quiet",
        "--recursive",
        "--remove",
        "--server-side",
        "--silent",
        "--verbose",
        "--wait",
        "--yes",
        "-A",
        "-a",
        "-auto-approve",
        "-f",
        "-force",
        "-q",
        "-r",
        "-v",
        "-y",
    ];
    let Some(before) = at.checked_sub(1) else { return false };
    let flag = words.get(before).copied().unwrap_or("");
    plan.flags.contains(&before) && !flag.contains('=') && !SWITCHES.contains(&flag)
}

/// Returns true for a flag that is switched off: `--dry-run=none`.
pub(super) fn is_off(flag: &str) -> bool {
    matches!(flag.split_once('=').map(|(_, value)| value), Some("none" | "false" | "no" | "0"))
}

/// Returns true if an address names a bucket, not something in it.
fn is_top(word: &str) -> bool {
    word.split_once("://").is_some_and(|(_, rest)| !rest.trim_end_matches(['/', '*']).contains('/'))
}
