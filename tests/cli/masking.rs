//! Masking of personal data, measured: over numbers and names that a library of others makes
//! (`masking/labelled.py`), and over code, in which there are none.

use crate::common::{in_ci, tell, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_core::mask::{MaskPolicy, Masker, SecretKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The texts that are made.
const TEXTS: usize = 4500;
/// The most lines of code in a thousand in which something is found.
const MOST_ALARMS: f64 = 5.0;

/// Each kind with the least share of values that are found, and of findings that are right, in
/// percent. They are what was reached, and only rise.
const LEAST: &[(SecretKind, f64, f64)] = &[
    (SecretKind::Email, 99.0, 99.0),
    (SecretKind::PaymentCard, 99.0, 99.0),
    (SecretKind::Phone, 99.0, 99.0),
    (SecretKind::Iban, 99.0, 99.0),
    (SecretKind::NationalId, 99.0, 99.0),
    (SecretKind::IpAddress, 99.0, 99.0),
    (SecretKind::MacAddress, 99.0, 99.0),
    (SecretKind::PersonName, 99.0, 99.0),
    (SecretKind::PostalAddress, 60.0, 95.0),
];

pub fn tests() -> Vec<Trial> {
    vec![
        trial("masking: personal data that others make is found", find_labelled),
        trial("masking: code is left alone", leave_code),
    ]
}

fn masker() -> Masker {
    let kinds = LEAST.iter().map(|(kind, ..)| *kind).collect();
    Masker::new([7; 32], &MaskPolicy { kinds, ..MaskPolicy::default() })
}

#[derive(Default)]
struct Counts {
    values: usize,
    found: usize,
    findings: usize,
    missed: Vec<String>,
    wrong: Vec<String>,
}

fn find_labelled() -> Result<()> {
    let Some(python) = find_python()? else { return Ok(()) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/masking/labelled.py");
    let made = Command::new(python).arg(script).arg(TEXTS.to_string()).output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let lines = String::from_utf8(made.stdout)?;
    ensure!(lines.lines().count() == TEXTS, "{} texts", lines.lines().count());
    let masker = masker();
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = row["text"].as_str().context("no text")?;
        let span = &row["spans"][0];
        let bound = |at: usize| span[at].as_u64().and_then(|at| usize::try_from(at).ok());
        let range = bound(0).context("no start")?..bound(1).context("no end")?;
        let kind = span[2].as_str().context("no kind")?;
        let mut is_found = false;
        for secret in masker.find_secrets(text) {
            // A part of a value that is found hides it too, if little is left.
            let common =
                secret.range.end.min(range.end).saturating_sub(secret.range.start.max(range.start));
            let is_right = common * 10 >= range.len() * 8;
            is_found |= is_right;
            let of_kind = counts.entry(name_of(secret.kind)).or_default();
            of_kind.findings += 1;
            if !is_right {
                of_kind.wrong.push(text.to_owned());
            }
        }
        let of_kind = counts.entry(name_of_text(kind)?).or_default();
        of_kind.values += 1;
        of_kind.found += usize::from(is_found);
        if !is_found {
            of_kind.missed.push(text.to_owned());
        }
    }
    let mut low = Vec::new();
    for (kind, least_found, least_right) in LEAST {
        let of_kind = counts.get(name_of(*kind)).with_context(|| format!("no {kind}"))?;
        let found = share(of_kind.found, of_kind.values);
        let right = share(of_kind.findings - of_kind.wrong.len(), of_kind.findings);
        tell(&format!("{kind}: {found:.1} % of {} found, {right:.1} % right", of_kind.values));
        if found < *least_found || right < *least_right {
            let (missed, wrong) = (first(&of_kind.missed), first(&of_kind.wrong));
            low.push(format!(
                "{kind}: {found:.1} % found, {right:.1} % right\nmissed:\n{missed}\nwrong:\n{wrong}"
            ));
        }
    }
    ensure!(low.is_empty(), "{}", low.join("\n"));
    Ok(())
}

fn first(texts: &[String]) -> String {
    texts.iter().take(12).map(|text| format!("  {text}\n")).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn name_of(kind: SecretKind) -> &'static str {
    LEAST
        .iter()
        .map(|(kind, ..)| *kind)
        .find(|known| *known == kind)
        .map_or("secret", SecretKind::as_str)
}

fn name_of_text(kind: &str) -> Result<&'static str> {
    let known = LEAST.iter().map(|(known, ..)| known.as_str()).find(|known| *known == kind);
    known.with_context(|| format!("no kind `{kind}`"))
}

/// Looks through this repository's own sources, and through those that the variable
/// `PORTCULLIS_MASKING_CODE` names besides.
fn leave_code() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no root")?;
    let mut folders = vec![root.join("host"), root.join("plugins")];
    folders.extend(std::env::var_os("PORTCULLIS_MASKING_CODE").map(PathBuf::from));
    let masker = masker();
    let (mut lines, mut alarms) = (0, BTreeMap::<&str, Vec<String>>::new());
    let mut open = folders;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name().to_string_lossy().into_owned();
            // Tests of masking hold what it finds.
            if kind.is_dir() && name != "target" && name != "node_modules" {
                open.push(path);
            } else if kind.is_file() && is_code(&name) && !is_of_masking(&path) {
                let Ok(text) = fs::read_to_string(&path) else { continue };
                lines += text.lines().count();
                for secret in masker.find_secrets(&text) {
                    let of_kind = name_of(secret.kind);
                    if of_kind != "secret" {
                        let value = text.get(secret.range.clone()).unwrap_or_default();
                        let shown = format!("{}: {value}", path.display());
                        alarms.entry(of_kind).or_default().push(shown);
                    }
                }
            }
        }
    }
    ensure!(lines > 100_000, "only {lines} lines of code");
    for (kind, found) in &alarms {
        let rate = share(found.len(), lines) * 10.0;
        tell(&format!("{kind}: {} in {lines} lines of code, {rate:.2} in a thousand", found.len()));
        ensure!(rate <= MOST_ALARMS, "{kind}: {rate:.2} in a thousand lines:\n{}", first(found));
    }
    Ok(())
}

fn is_code(name: &str) -> bool {
    let endings = [
        ".c", ".cpp", ".css", ".go", ".h", ".html", ".java", ".js", ".json", ".md", ".php", ".py",
        ".rb", ".rs", ".sh", ".sql", ".toml", ".ts", ".yaml", ".yml",
    ];
    endings.iter().any(|ending| name.ends_with(ending))
}

fn is_of_masking(path: &Path) -> bool {
    let path = path.to_string_lossy();
    path.contains("/mask") || path.ends_with("personal.rs")
}

/// Returns the Python that `.ci/run languages` installs the library into.
fn find_python() -> Result<Option<PathBuf>> {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python =
        tmp.parent().context("cargo's folder has no parent")?.join("languages/faker/bin/python");
    if python.exists() {
        return Ok(Some(python));
    }
    ensure!(!in_ci(), "there is no `{}`: `.ci/run languages` makes it", python.display());
    tell("skipped: the library Faker is not installed");
    Ok(None)
}
