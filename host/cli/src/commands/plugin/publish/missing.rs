//! The parts that a plugin still needs before it can be published.

use super::Arguments;
use crate::bundles::manifest::{BundleManifest, MANIFEST};
use crate::error::{Context, Result};
use crate::paint;
use portcullis_author::cases::{self, Case};
use portcullis_author::page::{PAGE, PageGap, list_gaps, names_setting};
use portcullis_author::project::PluginProject;
use portcullis_config::file;
use portcullis_config::problem::Problems;
use portcullis_core::text::one_line;
use portcullis_engine::{inspect_component, read_component};
use semver::Version;
use serde::Serialize;
use std::fmt::Write;

/// Something that is missing, and how to add it.
#[derive(Debug, Serialize)]
pub(super) struct MissingPart {
    what: String,
    fix: String,
}

impl MissingPart {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// Lists what is missing, before minutes of work. `published` are the versions that the registry
/// has.
pub(super) fn list_missing(
    project: &PluginProject,
    arguments: &Arguments,
    published: &[Version],
) -> Result<Vec<MissingPart>> {
    let mut missing = list_page_gaps(project)?;
    let (expecting, silent) = count_cases(project)?;
    if expecting == 0 {
        missing.push(MissingPart::new(
            "a case with a finding",
            "add one to `cases.toml`: `portcullis plugin test --update`",
        ));
    }
    if silent == 0 {
        missing.push(MissingPart::new(
            "a case that it lets pass",
            "add a harmless action to `cases.toml`",
        ));
    }
    missing.extend(list_bundle_gaps(project, arguments, published)?);
    for (what, file) in [("the key", &arguments.key), ("the previous version", &arguments.previous)]
    {
        if let Some(file) = file.as_deref().filter(|file| !file.is_file()) {
            let shown = one_line(&file.to_string_lossy(), 400);
            missing.push(MissingPart::new(what, format!("there is no `{shown}`")));
        }
    }
    Ok(missing)
}

/// Lists the settings that the built component declares and the plugin's page does not name.
pub(super) fn list_unexplained_settings(project: &PluginProject) -> Result<Vec<MissingPart>> {
    let page = read_page(project)?;
    let file = project.built()?;
    let inspection = read_component(&file)
        .and_then(|bytes| inspect_component(&bytes))
        .with_context(|| format!("`{}` is not a plugin", one_line(&file.to_string_lossy(), 400)))?;
    let declared = inspection.descriptor.map(|descriptor| descriptor.settings.parse());
    let keys = declared.iter().flat_map(|declared| declared.as_array()).flatten();
    let keys = keys.filter_map(|setting| setting.get("key")?.as_str());
    let unexplained = keys.filter(|key| !names_setting(&page, key)).map(|key| {
        let key = one_line(key, 100);
        MissingPart::new(
            format!("the setting `{key}` on the plugin's page"),
            format!("say in `{PAGE}` what it is for"),
        )
    });
    Ok(unexplained.collect())
}

fn read_page(project: &PluginProject) -> Result<String> {
    Ok(file::read_file(&project.folder.join(PAGE))?.unwrap_or_default())
}

fn list_page_gaps(project: &PluginProject) -> Result<Vec<MissingPart>> {
    let page = read_page(project)?;
    let gaps = list_gaps(&page, project.manifest.kind.as_str()).into_iter().map(|gap| match gap {
        PageGap::Section(section) => MissingPart::new(
            format!("the section `{}` of the plugin's page", section.title),
            format!("write it in `{PAGE}`: {}", section.says),
        ),
        PageGap::Placeholder(number, line) => MissingPart::new(
            format!("your own words in line {number} of the plugin's page"),
            format!("replace it in `{PAGE}`: {}", one_line(line, 200)),
        ),
    });
    Ok(gaps.collect())
}

fn list_bundle_gaps(
    project: &PluginProject,
    arguments: &Arguments,
    published: &[Version],
) -> Result<Vec<MissingPart>> {
    if !project.folder.join(MANIFEST).is_file() {
        return Ok(vec![MissingPart::new("a bundle", describe_bundle(project))]);
    }
    let manifest = BundleManifest::read_manifest(&project.folder)?;
    let mut missing = Vec::new();
    for (key, value) in [("licence", &manifest.licence), ("source", &manifest.source)] {
        if value.is_empty() {
            missing.push(MissingPart::new(
                format!("`{key}` of the bundle"),
                format!("add `{key} = \"...\"` to `{MANIFEST}`"),
            ));
        }
    }
    // A push would replace that version for all who have it.
    if !arguments.dry_run && published.contains(&manifest.version) {
        missing.push(MissingPart::new(
            "a new version of the bundle",
            format!("{} is published already: raise `version` in `{MANIFEST}`", manifest.version),
        ));
    }
    Ok(missing)
}

/// Returns how many cases expect a finding, and how many expect none.
fn count_cases(project: &PluginProject) -> Result<(usize, usize)> {
    let path = project.cases();
    let Some(text) = file::read_file(&path)? else { return Ok((0, 0)) };
    let cases = cases::read_cases(&text, project.manifest.kind)
        .map_err(|(problems, more)| Problems { file: path, problems, more })?;
    let expects = |case: &&Case| {
        let expected = case.steps.iter().map(|step| &step.expected).chain([&case.expected]);
        expected.into_iter().any(|expected| !expected.findings.is_empty())
    };
    let expecting = cases.iter().filter(expects).count();
    Ok((expecting, cases.len() - expecting))
}

fn describe_bundle(project: &PluginProject) -> String {
    let (name, version) = (&project.manifest.name, project.manifest.version.as_deref());
    let version = version.unwrap_or("0.1.0");
    format!(
        "write `{MANIFEST}`:\n  name = \"your-name/{name}\"\n  version = \"{version}\"\n  description = \"...\"\n  \
         licence = \"Apache-2.0\"\n  source = \"https://...\"\n\n  [[plugin]]\n  file = \".\""
    )
}

/// Formats what is missing, each with its fix.
pub(super) fn missing_text(missing: &[MissingPart]) -> String {
    let mut text = String::new();
    for part in missing {
        let _ = writeln!(text, "{} {}", paint::bad("missing"), paint::bold(&part.what));
        part.fix.lines().for_each(|line| {
            let _ = writeln!(text, "    {line}");
        });
    }
    text
}
