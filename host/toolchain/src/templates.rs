//! The files of a project, composed from embedded layers: files for a kind in every language, files
//! for a language in every kind, and the source of that kind in that language. A later layer
//! replaces files of an earlier one; the page consists of two parts.

use portcullis_author::page::PAGE;
use portcullis_author::project::{Language, MANIFEST};
use portcullis_engine::Kind;
use std::collections::BTreeMap;

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The plugin's name in templates.
const NAME: &str = "sample-check";
/// The language's name in manifests that every language shares.
const LANGUAGE: &str = "sample-language";

/// The folder of the generated files.
pub const BINDINGS: &str = "bindings";

/// Returns the WIT files of the interfaces between host and plugins.
pub fn wit_files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    under("wit/".to_owned())
}

/// Returns true if there is a template.
pub fn exists(kind: Kind, language: Language) -> bool {
    under(format!("{}/{kind}/", language.as_str())).next().is_some()
}

/// Returns the files of a project, by name; `None` without a template.
pub fn project_files(
    name: &str,
    kind: Kind,
    language: Language,
) -> Option<BTreeMap<String, Vec<u8>>> {
    if !exists(kind, language) {
        return None;
    }
    let language_name = language.as_str();
    let mut files = BTreeMap::new();
    for layer in [
        format!("kinds/{kind}/"),
        format!("{language_name}/shared/"),
        format!("{language_name}/{kind}/"),
    ] {
        files.extend(under(layer).map(|(file, bytes)| (file.to_owned(), bytes.to_vec())));
    }
    let more = FILES
        .iter()
        .find(|(file, _)| *file == format!("{language_name}/{PAGE}"))
        .map(|(_, bytes)| *bytes);
    if let Some(readme) = files.get_mut(PAGE) {
        readme.extend_from_slice(more.unwrap_or_default());
    }
    for bytes in files.values_mut() {
        if let Ok(text) = std::str::from_utf8(bytes) {
            *bytes = text.replace(NAME, name).into_bytes();
        }
    }
    if let Some(manifest) = files.get_mut(MANIFEST) {
        *manifest = String::from_utf8_lossy(manifest).replace(LANGUAGE, language_name).into_bytes();
    }
    files.extend(brought_along(language));
    Some(files)
}

/// Returns the generated files of a project, by name: the bindings that the compilers of some languages need.
pub fn list_bindings(
    kind: Kind,
    language: Language,
) -> impl Iterator<Item = (String, &'static [u8])> {
    under(format!("{}/{kind}/{BINDINGS}/", language.as_str()))
        .map(|(file, bytes)| (format!("{BINDINGS}/{file}"), bytes))
}

/// Returns the files that a language's tools need in addition to the template.
fn brought_along(language: Language) -> Vec<(String, Vec<u8>)> {
    let with = |source: &str, place: &str| -> Vec<(String, Vec<u8>)> {
        under(source.to_owned())
            .map(|(file, bytes)| (format!("{place}{file}"), bytes.to_vec()))
            .collect()
    };
    match language {
        Language::Rust => [with("sdk/src/", "sdk/src/"), with("wit/", "sdk/wit/")].concat(),
        Language::Python | Language::Js | Language::Ts => with("wit/", "wit/"),
        Language::C | Language::Go | Language::Other => Vec::new(),
    }
}

fn under(folder: String) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES
        .iter()
        .filter_map(move |(name, bytes)| Some((name.strip_prefix(folder.as_str())?, *bytes)))
}

#[cfg(test)]
mod tests {
    use super::{FILES, project_files};
    use portcullis_author::page::{PAGE, PLACEHOLDER, PageGap, list_gaps, list_sections};
    use portcullis_author::project::{Language, PluginManifest};
    use portcullis_engine::Kind;

    /// Every template has what every project needs, and no placeholder is left.
    #[test]
    fn templates_are_whole() {
        let mut seen = 0;
        for kind in [Kind::RiskCalculator, Kind::Pattern, Kind::Intervention, Kind::AuditExporter] {
            for language in [
                Language::Rust,
                Language::C,
                Language::Python,
                Language::Js,
                Language::Ts,
                Language::Go,
            ] {
                let Some(files) = project_files("my-own", kind, language) else { continue };
                seen += 1;
                for wanted in ["plugin.toml", "README.md", ".gitignore", "cases.toml"] {
                    assert!(
                        files.contains_key(wanted),
                        "{kind} in {} has no `{wanted}`",
                        language.as_str()
                    );
                }
                for (name, bytes) in &files {
                    let text = String::from_utf8_lossy(bytes);
                    assert!(
                        !text.contains("sample-"),
                        "{kind} in {}: `{name}` holds a placeholder",
                        language.as_str()
                    );
                }
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("plugin.toml"), &files["plugin.toml"]).unwrap();
                let manifest =
                    PluginManifest::read_manifest(&folder.path().join("plugin.toml")).unwrap();
                assert_eq!(
                    (manifest.kind, manifest.language, manifest.name.as_str()),
                    (kind, language, "my-own")
                );
            }
        }
        assert!(seen >= 24, "{seen} templates");
    }

    /// A new page has a placeholder in each section; only the settings are those of the sample.
    #[test]
    fn new_pages_hold_placeholders() {
        for kind in [Kind::RiskCalculator, Kind::Pattern, Kind::Intervention, Kind::AuditExporter] {
            let files = project_files("my-own", kind, Language::C).unwrap();
            let page = String::from_utf8_lossy(&files[PAGE]);
            let gaps = list_gaps(&page, kind.as_str());
            let sections = list_sections(kind.as_str());
            let placeholders = |gap: &PageGap<'_>| matches!(gap, PageGap::Placeholder(..));
            // One says what the plugin is for.
            assert!(
                gaps.len() == sections.len() && gaps.iter().all(placeholders),
                "{kind}: {gaps:?}"
            );
            for section in sections.iter().filter(|section| section.title != "Settings") {
                let placeholder =
                    format!("## {}\n\n{PLACEHOLDER} {}.\n", section.title, section.says);
                assert!(page.contains(&placeholder), "{kind}: {placeholder}");
            }
        }
    }

    /// The SDK in a project has the same dependencies as the SDK of the workspace.
    #[test]
    fn the_sdk_in_a_project_is_the_workspaces() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let workspace: toml::Table =
            std::fs::read_to_string(format!("{root}/Cargo.toml")).unwrap().parse().unwrap();
        let sdk: toml::Table = std::fs::read_to_string(format!("{root}/plugins/sdk/Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
        let text = FILES.iter().find(|(name, _)| *name == "rust/shared/sdk/Cargo.toml").unwrap().1;
        let copy: toml::Table = std::str::from_utf8(text).unwrap().parse().unwrap();
        for key in ["version", "edition", "rust-version", "license"] {
            assert_eq!(copy["package"][key], workspace["workspace"]["package"][key], "{key}");
        }
        let names = |table: &toml::Table| {
            table["dependencies"].as_table().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&copy), names(&sdk));
        for name in names(&copy) {
            assert_eq!(
                copy["dependencies"][&name], workspace["workspace"]["dependencies"][&name],
                "{name}"
            );
        }
    }
}
