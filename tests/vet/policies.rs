//! Tests of trust in a vetting: `bundle verify` with policies that require one.

use crate::vetting_site::VettingSite;
use anyhow::{Context, Result, ensure};
use portcullis_bundle::{SecretKey, Signature, Statement, Vetting, write_archive};
use std::fs::{self, File};
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 24 * 60 * 60 * 1000;

/// A vetting, and the rule by which it is judged.
struct Row {
    what: &'static str,
    /// The key that signs the vetting; `None` for a bundle that nobody vetted.
    by: Option<&'static str>,
    /// The times of the vetting and of its expiry, in milliseconds from now.
    at: i64,
    expires: Option<i64>,
    rule: &'static str,
    /// Trusted, or the missed requirement.
    says: Result<(), &'static str>,
}

const VETTED: &str = "vetters = [\"security\"]";
const LATELY: &str = "vetters = [\"security\"]\nvetting_days = 180";

const ROWS: &[Row] = &[
    Row {
        what: "a reviewer's key",
        by: Some("security"),
        at: -DAY,
        expires: Some(DAY),
        rule: LATELY,
        says: Ok(()),
    },
    Row {
        what: "nobody vetted it",
        by: None,
        at: 0,
        expires: None,
        rule: VETTED,
        says: Err("none of them made a statement about this bundle"),
    },
    Row {
        what: "the publisher vets it, under another name",
        by: Some("release"),
        at: -DAY,
        expires: None,
        rule: "vetters = [\"again\"]",
        says: Err("vetted only with the signing key"),
    },
    Row {
        what: "long ago",
        by: Some("security"),
        at: -181 * DAY,
        expires: None,
        rule: LATELY,
        says: Err("vetted 181 days ago"),
    },
    Row {
        what: "long ago, and that is enough",
        by: Some("security"),
        at: -181 * DAY,
        expires: None,
        rule: VETTED,
        says: Ok(()),
    },
    Row {
        what: "it has ended",
        by: Some("security"),
        at: -2 * DAY,
        expires: Some(-DAY),
        rule: VETTED,
        says: Err("the statement has expired"),
    },
    Row {
        what: "before its time",
        by: Some("security"),
        at: DAY,
        expires: None,
        rule: VETTED,
        says: Err("the statement is dated in the future"),
    },
];

pub fn judged() -> Result<()> {
    let stage = VettingSite::new("vet judged")?;
    stage.bundle(&[("careful", "")])?;
    fs::copy(stage.path("checks.tar"), stage.path("signed.tar"))?;
    for row in ROWS {
        made(&stage, row).with_context(|| row.what)?;
        judge(&stage, row).with_context(|| row.what)?;
    }
    // The signature of `vet` meets the policy's requirement.
    fs::copy(stage.path("signed.tar"), stage.path("checks.tar"))?;
    stage.vetted(&["--corpus", "corpus.jsonl"])?;
    judge(&stage, &ROWS[0])
}

/// Adds the row's vetting to `checks.tar`.
fn made(stage: &VettingSite, row: &Row) -> Result<()> {
    let (bundle, mut signatures) = stage.read("signed.tar")?;
    if let Some(by) = row.by {
        let vetting = Vetting {
            reviewer: "Ann".into(),
            at: moment(row.at)?,
            results: serde_json::json!({ "format": 1 }),
        };
        let statement = Statement::about_index(
            bundle.index(),
            row.expires.map(moment).transpose()?,
            Some(vetting),
        );
        let key: SecretKey = stage.secret(by)?;
        signatures.push(Signature::sign_statement(&statement, &key)?);
    }
    Ok(write_archive(&bundle, &signatures, File::create(stage.path("checks.tar"))?)?)
}

fn judge(stage: &VettingSite, row: &Row) -> Result<()> {
    let key = |name: &str, file: &str| {
        let pem = fs::read_to_string(stage.path(&format!("{file}.key.pub")))?;
        Ok::<_, anyhow::Error>(format!(
            "[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{pem}\"\"\"\n"
        ))
    };
    let keys = [key("release", "release")?, key("again", "release")?, key("security", "security")?]
        .concat();
    let grants = "grants = [\"environment\", \"clocks\", \"random\", \"directories\"]";
    stage.write(
        "trust.toml",
        &format!(
            "{keys}[[rule]]\nnames = [\"acme/\"]\npublishers = [\"release\"]\n{}\n{grants}\n",
            row.rule
        ),
    )?;
    let ended = stage.site.run(&["bundle", "verify", "checks.tar", "--trust", "trust.toml"])?;
    match row.says {
        Ok(()) => ensure!(ended.code == Some(0), "{}", ended.all()),
        Err(missed) => ensure!(
            ended.code == Some(1) && ended.text().contains(missed),
            "not {missed:?}: {}",
            ended.all()
        ),
    }
    Ok(())
}

fn moment(from_now: i64) -> Result<u64> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    Ok(u64::try_from(now + from_now)?)
}
