//! The protection of machines, as each reports it. It is a machine's word: a machine whose guard was
//! taken out can report anything, and one that reports nothing is shown as such.

use crate::database::Database;
use crate::failure::Failure;
use crate::machines::{KnownMachine, check_version};
use portcullis_fleet::protocol::{
    FindingLevel, MOST_FINDING_TEXT, MOST_FINDINGS, ProtectionReport, RefusalKind, ReportedFinding,
};

/// A machine's newest report.
#[derive(Debug)]
pub struct MachineProtection {
    /// The worst level.
    pub worst: FindingLevel,
    /// The findings that are not in order.
    pub findings: Vec<ReportedFinding>,
    /// The findings that the machine left out.
    pub omitted: i32,
    /// The time at which the hub got it, in milliseconds since 1970.
    pub received_at: i64,
}

/// Stores a report in place of the one before.
pub async fn take_protection(
    database: &Database,
    machine: &KnownMachine,
    report: &ProtectionReport,
) -> Result<(), Failure> {
    check_version(report.version)?;
    let fits = |text: &String| text.len() <= MOST_FINDING_TEXT && !text.contains('\0');
    let texts = report.findings.iter().flat_map(|one| [&one.check, &one.what, &one.fix]);
    if report.findings.len() > MOST_FINDINGS || !texts.into_iter().all(fits) {
        let reason = format!(
            "a report has at most {MOST_FINDINGS} findings, and a text {MOST_FINDING_TEXT} bytes"
        );
        return Err(Failure::refuse(RefusalKind::Malformed, reason));
    }
    let worst = report.findings.iter().map(|one| one.level).max().unwrap_or(FindingLevel::Ok);
    let findings = serde_json::to_string(&report.findings).map_err(Failure::internal)?;
    let omitted = i32::try_from(report.omitted).unwrap_or(i32::MAX);
    let client = database.connect().await?;
    client
        .execute(
            "UPDATE machines SET protection = $2, protection_findings = $3, \
             protection_omitted = $4, protection_at = now() WHERE machine = $1",
            &[&machine.id(), &report.worst.max(worst).as_str(), &findings, &omitted],
        )
        .await?;
    Ok(())
}

/// Returns a machine's newest report; `None` if it has sent none.
pub async fn find_protection(
    database: &Database,
    machine: &str,
) -> Result<Option<MachineProtection>, Failure> {
    let client = database.connect().await?;
    let row = client
        .query_opt(
            "SELECT protection, protection_findings, protection_omitted, \
             (extract(epoch FROM protection_at) * 1000)::bigint FROM machines \
             WHERE machine = $1 AND protection_at IS NOT NULL",
            &[&machine],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let damaged = || Failure::internal("the database holds a report of a protection that is none");
    Ok(Some(MachineProtection {
        worst: FindingLevel::find_level(row.get(0)).ok_or_else(damaged)?,
        findings: serde_json::from_str(row.get(1)).map_err(|_| damaged())?,
        omitted: row.get(2),
        received_at: row.get(3),
    }))
}
