//! Recurring work of a machine in a fleet: reports what `doctor` finds to the hub.
//!
//! The checks are those that start no program and read no whole journal. Texts are masked, and do
//! not leave a machine whose detail is `outline`.

use super::{hold, take_lock};
use crate::error::{Error, Result};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::mask::Masker;
use portcullis_core::text::one_line;
use portcullis_fleet::protocol::{
    FindingLevel, MOST_FINDING_TEXT, MOST_FINDINGS, ProtectionReport, ReportedFinding, SentDetail,
    VERSION,
};
use portcullis_fleet::{FleetFiles, HubClient};
use portcullis_review::health::{HealthFinding, HealthInput, Level, find_installed, worst_level};
use portcullis_review::installed::derive_mask_key;
use portcullis_store::Home;
use std::cmp::Reverse;

/// The time between two reports, and before the first one of a machine that works by itself, in
/// milliseconds.
const PERIOD: u64 = 15 * 60 * 1000;
const FIRST: u64 = 60 * 1000;

/// Reports the protection of a machine in a fleet, if that is due. It does so without the lock of
/// `maintain`, since checks may take a while and records must not wait for them. A hub that does not
/// take it, such as an older one, is asked again with the next report. With `at_once` the first
/// report does not wait.
pub fn report_protection(places: &Paths, home: &Home, at_once: bool) -> Result<()> {
    let files = FleetFiles::of_home(home);
    if !files.is_member() {
        return Ok(());
    }
    let Some(_only) = hold(home, "protection.lock")? else { return Ok(()) };
    let Some(membership) = files.read_membership()? else { return Ok(()) };
    let (now, progress) = (now_ms(), files.read_progress()?.unwrap_or_default());
    if progress.journal.is_empty() {
        return Ok(());
    }
    if progress.reported_at == 0 && !at_once {
        return note_report(home, &files, now.saturating_sub(PERIOD - FIRST));
    }
    let least = if at_once { PERIOD - FIRST } else { PERIOD };
    let is_due = now.saturating_sub(progress.reported_at) >= least || now < progress.reported_at;
    if !is_due {
        return Ok(());
    }
    let config = Config::load(places, Some(home))?;
    let masker = Masker::new(derive_mask_key(home), &config.policy.mask);
    // Without a project, the settings are those of the person and of the organisation.
    let project = places.state.clone();
    let agents = match find_installed(places, &project) {
        installed if installed.is_empty() => vec![portcullis_agents::DEFAULT],
        installed => installed,
    };
    let input = HealthInput { agents, places: places.clone(), project, now, quick: true };
    let (findings, _) = input.examine_all(|_| {});
    let report = compose_report(findings, config.fleet_detail, &masker);
    HubClient::of_member(&membership)
        .and_then(|client| client.send_protection(&report))
        .map_err(|error| Error::io(error.to_string()))?;
    note_report(home, &files, now)
}

/// Notes the time of a report. The cursor is in the same file, so the lock of `maintain` is held; if
/// another instance has it, the next one reports again.
fn note_report(home: &Home, files: &FleetFiles, now: u64) -> Result<()> {
    let Some(_lock) = take_lock(home)? else { return Ok(()) };
    if let Some(mut progress) = files.read_progress()? {
        progress.reported_at = now;
        files.write_progress(&progress)?;
    }
    Ok(())
}

fn compose_report(
    mut findings: Vec<HealthFinding>,
    detail: SentDetail,
    masker: &Masker,
) -> ProtectionReport {
    let worst = level_of(worst_level(&findings));
    findings.retain(|finding| finding.level > Level::Ok);
    findings.sort_by_key(|finding| Reverse(finding.level));
    let omitted = findings.len().saturating_sub(MOST_FINDINGS);
    let text = |text: &str| match detail {
        SentDetail::Outline => String::new(),
        SentDetail::Full | SentDetail::Summary => {
            one_line(&masker.mask_text(text), MOST_FINDING_TEXT)
        }
    };
    let reported = findings.iter().take(MOST_FINDINGS).map(|finding| ReportedFinding {
        check: finding.check.as_str().to_owned(),
        level: level_of(finding.level),
        what: text(&finding.what),
        fix: text(&finding.fix),
    });
    ProtectionReport {
        version: VERSION,
        worst,
        findings: reported.collect(),
        omitted: u32::try_from(omitted).unwrap_or(u32::MAX),
    }
}

const fn level_of(level: Level) -> FindingLevel {
    match level {
        Level::Ok => FindingLevel::Ok,
        Level::Note => FindingLevel::Note,
        Level::Warning => FindingLevel::Warning,
        Level::Problem => FindingLevel::Problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::mask::MaskPolicy;
    use portcullis_review::health::Check;

    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

    #[test]
    fn a_report_is_masked_and_has_bounds() {
        let masker = Masker::new([1; 32], &MaskPolicy::default());
        let mut findings = vec![HealthFinding::ok(Check::Mode, "everything is enforced")];
        let warning = |_| HealthFinding::warning(Check::Mode, format!("has {TOKEN}"), "\u{202e}x");
        findings.extend((0..40).map(warning));
        findings.push(HealthFinding::problem(Check::Clock, "x".repeat(2000), ""));
        for (detail, has_text) in
            [(SentDetail::Full, true), (SentDetail::Summary, true), (SentDetail::Outline, false)]
        {
            let report = compose_report(findings.clone(), detail, &masker);
            assert_eq!((report.findings.len(), report.omitted), (MOST_FINDINGS, 9));
            assert_eq!(report.worst, FindingLevel::Problem);
            assert_eq!(report.findings[0].check, "clock");
            assert_eq!(!report.findings[0].what.is_empty(), has_text);
            let sent = serde_json::to_string(&report).unwrap();
            assert!(!sent.contains(TOKEN) && !sent.contains('\u{202e}'), "{sent}");
            assert!(report.findings.iter().all(|one| one.what.len() <= MOST_FINDING_TEXT));
        }
    }
}
