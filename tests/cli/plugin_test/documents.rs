//! Plays the cases in documents and templates, so that they stay correct.

use crate::common::site::Site;
use crate::test;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The kinds whose templates in Rust are built here.
pub const TEMPLATES: &[&str] = &["risk-calculator", "pattern", "intervention", "audit-exporter"];

/// Returns the name of a template's plugin.
pub fn template(kind: &str) -> String {
    format!("template-{kind}")
}

/// Returns the path of a file in the repository.
pub fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Each document, the prefix of its lines, and the plugins of its examples.
const DOCUMENTS: &[(&str, &str, &[&str])] = &[
    (
        "host/docs/plugin-cases.md",
        "",
        &["tests-weakened", "template-intervention", "template-audit-exporter"],
    ),
    (
        "host/author/src/cases/mod.rs",
        "//!",
        &["tests-weakened", "template-intervention", "template-audit-exporter"],
    ),
];

pub fn shown() -> Result<()> {
    let site = Site::new("plugin test documents")?;
    for (name, prefix, plugins) in DOCUMENTS {
        let text = fs::read_to_string(place(name)).with_context(|| (*name).to_owned())?;
        let examples = examples(&text, prefix);
        ensure!(
            examples.len() == plugins.len(),
            "`{name}` has {} examples in TOML, and {} of them are played",
            examples.len(),
            plugins.len()
        );
        for (example, plugin) in examples.iter().zip(*plugins) {
            let ended = test(&site, plugin, example, &[])?;
            ensure!(
                ended.code == Some(0),
                "an example of `{name}` is not as it says, played with {plugin}:\n{example}\n{}",
                ended.all()
            );
        }
    }
    Ok(())
}

pub fn templates() -> Result<()> {
    let site = Site::new("plugin test templates")?;
    for kind in TEMPLATES {
        let cases =
            fs::read_to_string(place(&format!("plugins/templates/kinds/{kind}/cases.toml")))?;
        let ended =
            test(&site, &template(kind), &cases.replace("sample-check", &template(kind)), &[])?;
        ensure!(ended.code == Some(0), "{kind}: {}", ended.all());
    }
    Ok(())
}

/// Returns the blocks of TOML.
fn examples(text: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let Some(line) = line.strip_prefix(prefix).map(|line| {
            if prefix.is_empty() { line } else { line.strip_prefix(' ').unwrap_or(line) }
        }) else {
            continue;
        };
        match &mut open {
            None if line == "```toml" => open = Some(String::new()),
            None => {}
            Some(_) if line == "```" => found.extend(open.take()),
            Some(block) => block.push_str(&format!("{line}\n")),
        }
    }
    found
}
