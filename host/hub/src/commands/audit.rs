//! The commands about the audit of the hub's own people.

use crate::audit::{
    AuditLog, AuditVerification, StoredEntry, describe_details, find_hash, list_entries,
};
use crate::database::Database;
use crate::folder::{read_config, read_receipt_key};
use crate::process::{explain_failure, start_runtime};
use anyhow::Result;
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::hub_command::{
    HubAuditCommand, KeptHead, ShowAuditArguments, VerifyAuditArguments,
};
use portcullis_store::to_hex;
use portcullis_terminal::paint;
use serde_json::{Value, json};

/// The indent of what an entry says below its first line.
const INDENT: usize = 8;

/// Runs a command about the audit.
pub fn run_audit(command: &HubAuditCommand) -> Result<()> {
    match command {
        HubAuditCommand::Show(arguments) => show(arguments),
        HubAuditCommand::Verify(arguments) => verify(arguments),
    }
}

fn show(arguments: &ShowAuditArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let listed = list_entries(&database, None, arguments.limit);
    let entries = start_runtime()?.block_on(listed).map_err(explain_failure)?;
    for entry in entries.iter().rev() {
        match arguments.json {
            true => paint::print_text(&format!("{}\n", entry_json(entry))),
            false => print_entry(entry),
        }
    }
    if entries.is_empty() && !arguments.json {
        paint::print_text("nobody has done anything on this hub\n");
    }
    Ok(())
}

fn entry_json(entry: &StoredEntry) -> Value {
    json!({
        "sequence": entry.sequence,
        "previous": to_hex(&entry.previous),
        "hash": to_hex(&entry.hash),
        "entry": entry.parse_document(),
    })
}

fn print_entry(entry: &StoredEntry) {
    let Some(document) = entry.parse_document() else {
        let line = format!("{:>6}  {}\n", entry.sequence, paint::bad("damaged"));
        return paint::print_text(&line);
    };
    let by = if document.by.is_empty() { "nobody known" } else { &document.by };
    paint::print_text(&format!(
        "{:>6}  {} UTC  {}  {}  {}\n",
        entry.sequence,
        paint::time(document.at),
        one_line(by, 128),
        paint::bold(document.act.as_str()),
        one_line(&document.subject, 200),
    ));
    if !document.details.is_empty() {
        let line = format!("{:INDENT$}{}\n", "", describe_details(&document.details));
        paint::print_wrapped(&line, INDENT);
    }
}

fn verify(arguments: &VerifyAuditArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let audit = AuditLog::of_key(read_receipt_key(&arguments.folder)?);
    let runtime = start_runtime()?;
    let verified = runtime.block_on(audit.verify_chain(&database)).map_err(explain_failure)?;
    let lost = match &arguments.head {
        Some(kept) => {
            let found =
                runtime.block_on(find_hash(&database, kept.sequence)).map_err(explain_failure)?;
            (found.map(|hash| to_hex(&hash)).as_ref() != Some(&kept.hash)).then_some(kept)
        }
        None => None,
    };
    if arguments.json {
        print_json(&verified, lost);
    } else if verified.first_bad.is_none() {
        let entries = count_noun(verified.entries, "entry");
        let head = format!("{}:{}", verified.entries, to_hex(&verified.head));
        let good = paint::good("the chain holds");
        paint::print_text(&format!("{good}: {entries}, head {head}\n"));
    }
    let changed = |message: String| Err(KnownFailure::Forged(message).into());
    if let Some((place, flaw)) = verified.first_bad {
        return changed(format!("the hub's audit was changed at entry {place}: {flaw}"));
    }
    match lost {
        Some(kept) => changed(format!(
            "the hub's audit does not hold entry {} as it was kept: its newest entries were \
             removed, or all of it was replaced",
            kept.sequence
        )),
        None => Ok(()),
    }
}

fn print_json(verified: &AuditVerification, lost: Option<&KeptHead>) {
    let flaw = verified.first_bad.map(|(place, flaw)| json!({ "entry": place, "flaw": flaw }));
    let said = json!({
        "intact": verified.first_bad.is_none() && lost.is_none(),
        "entries": verified.entries,
        "head": to_hex(&verified.head),
        "first_bad": flaw,
        "kept_head_holds": lost.is_none(),
    });
    paint::print_text(&format!("{said}\n"));
}
