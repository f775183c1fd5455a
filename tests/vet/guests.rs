//! Guests for vetting, one for each argument for or against a plugin.

use crate::common::guests;
use anyhow::{Result, anyhow, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Risk-calculators: the name, and the body of `assess`.
const ASSESSORS: &[(&str, &str)] = &[
    ("careful", CAREFUL),
    ("jumpy", "Ok(Ruling::warn(\"anything\", \"it could be bad\").into())"),
    ("broken", "panic!(\"the sky fell on {}\", action.tool)"),
];

const CAREFUL: &str = "let settings = Settings::read(prepared)?; \
    if action.parameters.contains(settings.text(\"word\")?) { \
        return Ok(Ruling::ask(\"no_frobbing\", \"frobbing is for people\").severity(Severity::High).into()); \
    } \
    Ok(Assessment::nothing())";

/// A guest that only its cases call.
const IDLE: &str = r#"
use portcullis_plugin::audit_exporter::*;
struct Guest;
impl AuditExporter for Guest {
    const DESCRIPTOR: Descriptor = Descriptor::new("idle", "0.1.0", "A guest of the tests.").reads(&[Reads::Records]);
    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        Ok(Rendered::text(format!("{} records\n", records.len()), "text/plain"))
    }
}
portcullis_plugin::export!(audit-exporter: Guest);
"#;

/// Two plugins in one component.
const PAIR: &str = r#"
use portcullis_plugin::risk_calculator::*;
struct One;
struct Other;
impl RiskCalculator for One {
    const DESCRIPTOR: Descriptor = Descriptor::new("pair-frob", "0.1.0", "A guest of the tests.");
    fn assess(_: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> { said(action, "frob") }
}
impl RiskCalculator for Other {
    const DESCRIPTOR: Descriptor = Descriptor::new("pair-push", "0.1.0", "A guest of the tests.");
    fn assess(_: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> { said(action, "push") }
}
fn said(action: &Action, word: &str) -> Result<Assessment, Error> {
    if action.parameters.contains(word) {
        return Ok(Ruling::ask("said", word).into());
    }
    Ok(Assessment::nothing())
}
portcullis_plugin::export!(risk-calculator: [One, Other]);
"#;

/// Returns the component of that name; all are built together, once.
pub fn built(name: &str) -> Result<PathBuf> {
    static BUILT: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let folder = BUILT
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))?;
    let path = folder.join(format!("{name}.wasm"));
    ensure!(path.is_file(), "the build made no `{}`", path.display());
    Ok(path)
}

fn build() -> Result<PathBuf> {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk").canonicalize()?;
    let scratch = tempfile::Builder::new().prefix("portcullis-vet-").tempdir()?;
    for (name, body) in ASSESSORS {
        lay(&scratch.path().join(name), name, &assessor(name, body), &sdk)?;
    }
    for (name, source) in [("idle", IDLE), ("pair", PAIR)] {
        lay(&scratch.path().join(name), name, source, &sdk)?;
    }
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[profile.release]\nopt-level = 1\npanic = \"abort\"\nstrip = \"debuginfo\"\n";
    fs::write(scratch.path().join("Cargo.toml"), workspace)?;
    fs::copy(sdk.join("../examples/rust/Cargo.lock"), scratch.path().join("Cargo.lock"))?;
    guests::built(scratch.path(), "vet")
}

fn lay(folder: &Path, name: &str, source: &str, sdk: &Path) -> Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [dependencies]\nportcullis-plugin = {{ path = {sdk:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(fs::write(folder.join("src/lib.rs"), format!("#![allow(unused)]\n{source}"))?)
}

fn assessor(name: &str, body: &str) -> String {
    format!(
        "use portcullis_plugin::risk_calculator::*;\nstruct Guest;\n\
         impl RiskCalculator for Guest {{\n    const DESCRIPTOR: Descriptor = Descriptor::new({name:?}, \"0.1.0\", \"A guest of the tests.\")\
         .settings(&[Spec::text(\"word\", \"frob\", \"the word that it objects to\")]);\n    \
         fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {{ {body} }}\n}}\n\
         portcullis_plugin::export!(risk-calculator: Guest);\n"
    )
}
