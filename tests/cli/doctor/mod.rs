//! Ways to break an installation. `doctor` names each by its check, in words that lead to the cause, with
//! something to do; where the mend can be carried out as told, the installation is whole again after it.
//!
//! Each row works on an installation of its own, as a user whom permissions hold back.

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

/// One way to break it.
pub struct Row {
    name: &'static str,
    breaks: Change,
    /// The check that must name it, and how bad it is.
    check: &'static str,
    level: &'static str,
    /// What it must say, mend included.
    says: &'static [&'static str],
    /// What the mend tells; then nothing of that check and nothing as bad as that is left.
    mend: Option<Change>,
}

/// All tests of `doctor` and `status`.
pub fn tests() -> Vec<Trial> {
    let rows = [settings::rows(), state::rows(), canary::rows(), upkeep::rows()].into_iter().flatten();
    let mut trials: Vec<Trial> = rows.map(|row| trial(format!("doctor: {}", row.name), move || broken(&row))).collect();
    trials.extend(looks::tests());
    trials
}

/// The findings of `doctor --json`, after its exit code was compared with them.
pub fn findings(installed: &Installed) -> Result<Vec<Value>> {
    let ended = installed.run(&["doctor", "--json"])?;
    let said: Value = serde_json::from_slice(&ended.stdout).map_err(|_| anyhow!("no JSON: {}", ended.all()))?;
    let findings = said["findings"].as_array().cloned().unwrap_or_default();
    let problem = findings.iter().any(|finding| finding["level"] == "problem");
    ensure!(ended.code == Some(if problem { 5 } else { 0 }) && said["whole"] == !problem, "the exit code does not fit: {}", ended.all());
    for finding in &findings {
        let told = finding["mend"].as_str().is_some_and(|mend| !mend.is_empty());
        ensure!(told || !matches!(finding["level"].as_str(), Some("problem" | "warning")), "it does not say what to do: {finding}");
    }
    Ok(findings)
}

fn broken(row: &Row) -> Result<()> {
    let installed = Installed::new(&format!("doctor {}", row.name))?;
    (row.breaks)(&installed)?;
    let found = findings(&installed)?;
    let names = |finding: &&Value| {
        let text = format!("{} {}", finding["what"].as_str().unwrap_or_default(), finding["mend"].as_str().unwrap_or_default());
        finding["check"] == row.check && finding["level"] == row.level && row.says.iter().all(|part| text.contains(part))
    };
    ensure!(found.iter().any(|finding| names(&finding)), "no {} of `{}` says {:?}: {}", row.level, row.check, row.says, told(&found));
    let Some(mend) = row.mend else { return Ok(()) };
    mend(&installed)?;
    let left = findings(&installed)?;
    let still = |finding: &&Value| finding["level"] == "problem" || (finding["check"] == row.check && finding["level"] == row.level);
    ensure!(!left.iter().any(|finding| still(&finding)), "after the mend there is still {}", told(&left));
    Ok(())
}

/// What is not well, for a message.
pub fn told(findings: &[Value]) -> String {
    let lines = findings.iter().filter(|finding| finding["level"] != "ok").map(|finding| format!("\n{finding}"));
    lines.collect()
}
