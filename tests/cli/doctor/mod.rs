//! Ways to break an installation. `doctor` reports each under its check, with words that lead to
//! the cause and a fix; if the fix can be carried out as described, the installation is healthy
//! again after it.
//!
//! Each row has an installation of its own, owned by a user who is restricted by permissions.

mod canary;
mod installed;
mod looks;
mod settings;
mod state;
mod upkeep;

use crate::common::trial;
use anyhow::{Result, anyhow, ensure};
use installed::Installed;
use libtest_mimic::Trial;
use serde_json::Value;

/// Changes an installation.
type Change = fn(&Installed) -> Result<()>;

/// A way to break an installation.
pub struct Row {
    name: &'static str,
    breaks: Change,
    /// The check that must report it, and the severity.
    check: &'static str,
    level: &'static str,
    /// Texts that it must contain, including the fix.
    says: &'static [&'static str],
    /// The described fix; after it, nothing of that check and nothing of that severity may be left.
    fix: Option<Change>,
}

/// Returns all tests of `doctor` and `status`.
pub fn tests() -> Vec<Trial> {
    let rows =
        [settings::rows(), state::rows(), canary::rows(), upkeep::rows()].into_iter().flatten();
    let mut trials: Vec<Trial> =
        rows.map(|row| trial(format!("doctor: {}", row.name), move || broken(&row))).collect();
    trials.extend(looks::tests());
    trials.push(trial("doctor: its trials are not the last action", tried_out));
    trials
}

/// The known-bad action stands in the journal and is not an agent's: only who asks for it is shown
/// it.
fn tried_out() -> Result<()> {
    let installed = Installed::new("doctor tried out")?;
    findings(&installed)?;
    let out = |arguments: &[&str]| Ok::<_, anyhow::Error>(installed.run(arguments)?.all());
    let asked_for = out(&["audit", "show", "--verdict", "block", "--canary"])?;
    ensure!(asked_for.contains("rm -rf ~") && asked_for.contains("canary"), "{asked_for}");
    let blocked = out(&["audit", "show", "--verdict", "block"])?;
    ensure!(!blocked.contains("rm -rf ~"), "{blocked}");
    for command in
        [&["explain", "last"][..], &["feedback", "last", "--right"], &["plugin", "record", "last"]]
    {
        let said = out(command)?;
        ensure!(!said.contains("rm -rf ~") && said.contains("the journal"), "{command:?}: {said}");
    }
    let newest = out(&["plugin", "record", "--last"])?;
    ensure!(!newest.contains("rm -rf ~"), "{newest}");
    installed.hook(&installed.site().calls("agent").bash("1", "rm -rf /"))?;
    findings(&installed)?;
    let explained = out(&["explain", "last"])?;
    ensure!(explained.contains("rm -rf /") && !explained.contains("rm -rf ~"), "{explained}");
    Ok(())
}

/// The findings of `doctor --json`, after its exit code was compared with them.
pub fn findings(installed: &Installed) -> Result<Vec<Value>> {
    let ended = installed.run(&["doctor", "--json"])?;
    let said: Value =
        serde_json::from_slice(&ended.stdout).map_err(|_| anyhow!("no JSON: {}", ended.all()))?;
    let findings = said["findings"].as_array().cloned().unwrap_or_default();
    let problem = findings.iter().any(|finding| finding["level"] == "problem");
    ensure!(
        ended.code == Some(if problem { 5 } else { 0 }) && said["whole"] == !problem,
        "the exit code does not fit: {}",
        ended.all()
    );
    for finding in &findings {
        let has_fix = finding["fix"].as_str().is_some_and(|fix| !fix.is_empty());
        ensure!(
            has_fix || !matches!(finding["level"].as_str(), Some("problem" | "warning")),
            "it does not say what to do: {finding}"
        );
    }
    Ok(findings)
}

fn broken(row: &Row) -> Result<()> {
    let installed = Installed::new(&format!("doctor {}", row.name))?;
    (row.breaks)(&installed)?;
    let found = findings(&installed)?;
    let names = |finding: &&Value| {
        let text = format!(
            "{} {}",
            finding["what"].as_str().unwrap_or_default(),
            finding["fix"].as_str().unwrap_or_default()
        );
        finding["check"] == row.check
            && finding["level"] == row.level
            && row.says.iter().all(|part| text.contains(part))
    };
    ensure!(
        found.iter().any(|finding| names(&finding)),
        "no {} of `{}` says {:?}: {}",
        row.level,
        row.check,
        row.says,
        format_problems(&found)
    );
    let Some(fix) = row.fix else { return Ok(()) };
    fix(&installed)?;
    let left = findings(&installed)?;
    let still = |finding: &&Value| {
        finding["level"] == "problem"
            || (finding["check"] == row.check && finding["level"] == row.level)
    };
    ensure!(
        !left.iter().any(|finding| still(&finding)),
        "after the fix there is still {}",
        format_problems(&left)
    );
    Ok(())
}

/// Formats the problems, for a message.
pub fn format_problems(findings: &[Value]) -> String {
    let lines = findings
        .iter()
        .filter(|finding| finding["level"] != "ok")
        .map(|finding| format!("\n{finding}"));
    lines.collect()
}
