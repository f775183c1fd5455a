//! Encryption: checks that the master keys are available, and that no key file is damaged.

use super::finding::{Check, HealthFinding, or_ok};
use portcullis_core::text::{count_noun, one_line};
use portcullis_encryption::{EncryptionError, KeptIn};
use portcullis_store::Home;

/// Checks the keys of a home.
pub(super) fn check(home: &Home) -> Vec<HealthFinding> {
    examine(home).unwrap_or_else(|error| vec![problem(&error.to_string(), STATUS)])
}

const STATUS: &str = "`portcullis encryption status` shows the keys";

fn examine(home: &Home) -> Result<Vec<HealthFinding>, EncryptionError> {
    let keys = home.data_keys();
    if keys.is_off()? {
        let what = "new data is kept as plain text";
        return Ok(vec![HealthFinding::warning(
            Check::Encryption,
            what,
            "`portcullis encryption on` encrypts it again",
        )]);
    }
    let masters = keys.masters().list()?;
    let mut findings = Vec::new();
    for (place, entry) in masters.iter().enumerate() {
        let Err(error) = keys.masters().read(&entry.id) else { continue };
        let fix = match entry.kept_in {
            KeptIn::Keyring => "`portcullis encryption unlock` puts it back after a restart",
            _ => "put it back, or run `portcullis encryption restore FILE`",
        };
        let what = error.to_string();
        // Without an older one, only data of earlier days is unreadable.
        findings.push(match place {
            0 => problem(&what, fix),
            _ => HealthFinding::warning(Check::Encryption, one_line(&what, 512), fix),
        });
    }
    let days = keys.list_keys()?;
    for damaged in days.iter().filter_map(|key| key.master.as_ref().err()) {
        findings.push(problem(damaged, STATUS));
    }
    let summary = match masters.first() {
        None => "on, nothing is encrypted yet".to_owned(),
        Some(_) => format!("on, {}", count_noun(days.len() as u64, "key")),
    };
    Ok(or_ok(findings, Check::Encryption, summary))
}

fn problem(what: &str, fix: &str) -> HealthFinding {
    HealthFinding::problem(Check::Encryption, one_line(what, 512), fix)
}
