//! The table of attacks in `host/docs/attacks.md`: facts known in advance must match; measurements
//! are from the last time the page was written.

use crate::attacks::{ATTACKS, Attack};
use crate::meter::Used;
use crate::review::{MEASURED, benign};
use anyhow::{Context, Result, anyhow, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

const BEGIN: &str = "<!-- attacks: written by the tests (PORTCULLIS_BLESS=1) -->\n";
const END: &str = "<!-- attacks end -->\n";
const HEAD: &str = "| Attack | What the guest does | Fault | Verdict | At most | Measured |\n|---|---|---|---|---|---|\n";

/// Compares the page with the table, or writes it.
pub fn check() -> Result<()> {
    let path = page();
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let (before, rest) = text
        .split_once(BEGIN)
        .ok_or_else(|| anyhow!("`{}` has no line `{}`", path.display(), BEGIN.trim()))?;
    let (shown, after) = rest
        .split_once(END)
        .ok_or_else(|| anyhow!("`{}` has no line `{}`", path.display(), END.trim()))?;
    if env::var_os("PORTCULLIS_BLESS").is_some() {
        return Ok(fs::write(&path, [before, BEGIN, &written()?, END, after].concat())?);
    }
    let known: Vec<String> = ATTACKS.iter().map(known).collect();
    let (_, rows) =
        shown.split_once(HEAD).ok_or_else(|| anyhow!("the table has another head: {FIX}"))?;
    let rows: Vec<&str> =
        rows.lines().map(|row| row.rsplitn(3, '|').nth(2).unwrap_or(row)).collect();
    for row in &known {
        ensure!(
            rows.contains(&row.as_str()),
            "`{}` does not hold the row `{row}`: {FIX}",
            path.display()
        );
    }
    ensure!(
        rows == known,
        "`{}` holds other rows than the table of attacks, or in another order: {FIX}",
        path.display()
    );
    Ok(())
}

const FIX: &str = "run `PORTCULLIS_BLESS=1 cargo test --release --workspace --test hostile`";

fn written() -> Result<String> {
    let measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut table = format!("With a benign new plugin a hook took {}.\n\n{HEAD}", shown(benign()?));
    for attack in ATTACKS {
        let cost = measured.get(attack.name).ok_or_else(|| {
            anyhow!("`{}` was not measured: run all attacks, none alone", attack.name)
        })?;
        table += &format!("{}| {} |\n", known(attack), shown(*cost));
    }
    Ok(table)
}

/// Formats a row without its last cell.
fn known(attack: &Attack) -> String {
    let Attack { name, does, fault, or, verdict, most_ms, most_mib, .. } = attack;
    let or = or.map(|(fault, _)| format!(" or {fault}")).unwrap_or_default();
    format!(
        "| {name} | {does} | {}{or} | {verdict} | {most_ms} ms, {most_mib} MiB ",
        fault.unwrap_or("none")
    )
}

fn shown(cost: Used) -> String {
    format!("{} ms, {} MiB", cost.processor / 1_000, cost.memory >> 20)
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/attacks.md")
}
