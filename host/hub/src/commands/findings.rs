//! The command that lists what many machines have in common.

use crate::database::Database;
use crate::findings::{FindingBounds, FleetFinding, list_findings};
use crate::folder::read_config;
use crate::output::time;
use crate::process::{explain_failure, start_runtime};
use anyhow::Result;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::hub_command::FindingsArguments;
use portcullis_terminal::paint;
use serde_json::json;

/// The indent of what the list says below a finding.
const INDENT: usize = 4;

/// Runs the command.
pub fn run_findings(arguments: &FindingsArguments) -> Result<()> {
    let FindingsArguments { folder, machines, within, json } = arguments;
    let database = Database::configure(&read_config(folder)?)?;
    let bounds = FindingBounds { machines: *machines, within: *within };
    let found = start_runtime()?.block_on(list_findings(&database, bounds));
    let findings = found.map_err(explain_failure)?;
    if *json {
        paint::print_text(&format!("{}\n", json!({ "findings": findings })));
        return Ok(());
    }
    if findings.is_empty() {
        let least = count_noun((*machines).into(), "machine");
        paint::print_text(&format!("nothing that {least} met within that time\n"));
    }
    findings.iter().for_each(print_finding);
    Ok(())
}

fn print_finding(finding: &FleetFinding) {
    let value = one_line(&finding.value, 200);
    let machines = count_noun(finding.machines.unsigned_abs(), "machine");
    let kind = one_line(&finding.kind, 32);
    paint::print_text(&format!("{kind}  {}  {machines}\n", paint::bold(value)));
    let names: Vec<String> = finding.met_by.iter().map(|met| one_line(&met.name, 64)).collect();
    let line = format!(
        "{:INDENT$}{}, first {} UTC, last {} UTC: {}\n",
        "",
        count_noun(finding.times.unsigned_abs(), "record"),
        time(finding.first_at),
        time(finding.last_at),
        names.join(", "),
    );
    paint::print_wrapped(&line, INDENT);
}
