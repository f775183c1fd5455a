//! `plugin.toml`: the description of a project and of its plugin.

use super::{Language, explain_unfit_name};
use anyhow::{Context, Result, bail};
use portcullis_engine::Kind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginManifest {
    /// The plugin's name.
    pub name: String,
    /// The plugin's kind.
    pub kind: Kind,
    /// The plugin's language, which determines the tools that build it.
    pub language: Language,
    /// The build command, if it differs from the language's usual one.
    pub build: Option<Build>,
    /// The plugin's own version; if it is set, the fields below are embedded in the component.
    pub version: Option<String>,
    /// The description of the plugin.
    pub description: Option<String>,
    /// The inputs that the plugin reads.
    #[serde(default)]
    pub reads: Vec<String>,
    /// The highest severity that the plugin reports.
    pub severity: Option<ManifestSeverity>,
    /// The settings that the plugin declares.
    #[serde(default)]
    pub settings: Vec<ManifestSetting>,
}

/// A custom build.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The program and its arguments, run in the project's folder without a shell.
    pub command: Vec<String>,
    /// The output file: a component, or a core module.
    pub output: PathBuf,
}

/// The highest severity that a plugin reports.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ManifestSeverity {
    /// Low severity.
    Low,
    /// Medium severity.
    Medium,
    /// High severity.
    High,
    /// Critical severity.
    Critical,
}

/// A setting that the plugin declares.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestSetting {
    /// Its name in the configuration; a `*` at its end stands for the rest of a name.
    pub key: String,
    r#type: Type,
    default: toml::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<toml::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<toml::Value>,
    description: String,
}

/// A setting's type, by the SDK's names.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Type {
    Text,
    Integer,
    Decimal,
    Score,
    Flag,
    Texts,
}

/// The inputs that a plugin may declare to read.
const READS: &[&str] = &["action", "context", "outcome", "history", "session", "issue", "records"];

/// A component's description of itself, in the SDK's field order.
#[derive(Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    version: &'a str,
    description: &'a str,
    kind: Kind,
    reads: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<ManifestSeverity>,
    settings: &'a [ManifestSetting],
}

impl PluginManifest {
    /// Reads the manifest in that file.
    pub fn read_manifest(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        let manifest: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            anyhow::anyhow!("`{shown}`, line {line}: {}", error.message())
        })?;
        manifest.check().with_context(|| format!("`{shown}`"))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        if let Some(reason) = explain_unfit_name(&self.name) {
            bail!("`name = {:?}`: {reason}", self.name);
        }
        if self.kind == Kind::ShellReader {
            bail!(
                "`kind`: a plugin is a risk-calculator, a pattern, an intervention or an audit-exporter"
            );
        }
        if let Some(unknown) = self.reads.iter().find(|read| !READS.contains(&read.as_str())) {
            bail!("`reads`: `{unknown}` is unknown; a plugin reads of `{}`", READS.join("`, `"));
        }
        match &self.build {
            Some(build) if build.command.is_empty() => {
                bail!("`build.command` names no program: write `command = [\"make\"]`")
            }
            Some(build) if build.output.is_absolute() => {
                bail!("`build.output`: name the file as the project's folder sees it")
            }
            None if self.language == Language::Other => {
                bail!(
                    "`language = \"other\"` needs a table `[build]` with `command = [\"make\"]` \
                     and `output = \"plugin.wasm\"`"
                )
            }
            _ => {}
        }
        if self.version.is_some() != self.description.is_some() {
            bail!(
                "`version` and `description` belong together: write both, or neither where the source says them"
            );
        }
        Ok(())
    }

    /// Returns the description to embed in the component, as JSON; `None` if the source contains
    /// it.
    pub fn descriptor(&self) -> Result<Option<String>> {
        let (Some(version), Some(description)) = (&self.version, &self.description) else {
            return Ok(None);
        };
        let descriptor = Descriptor {
            name: &self.name,
            version,
            description,
            kind: self.kind,
            reads: &self.reads,
            severity: self.severity,
            settings: &self.settings,
        };
        Ok(Some(serde_json::to_string(&descriptor).context("cannot write the descriptor")?))
    }
}

#[cfg(test)]
mod tests {
    use super::PluginManifest;

    fn read(text: &str) -> Result<PluginManifest, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin.toml");
        std::fs::write(&path, text).unwrap();
        PluginManifest::read_manifest(&path).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn mistakes_name_the_place_and_the_fix() {
        let whole = "name = \"a\"\nkind = \"pattern\"\nlanguage = \"c\"\n";
        for (text, said) in [
            (whole.replace("\"a\"", "\"A b\""), "`name = \"A b\"`: it needs lower-case"),
            (whole.replace("pattern", "patern"), "plugin.toml`, line 2: unknown variant `patern`"),
            (
                whole.replace("\"c\"", "\"cobol\""),
                "line 3: unknown variant `cobol`, expected one of `rust`",
            ),
            (format!("{whole}nme = 1\n"), "line 4: unknown field `nme`, expected one of `name`"),
            ("name = \"a\"\n".to_owned(), "missing field `kind`"),
            (
                format!("{whole}reads = [\"disk\"]\n"),
                "`disk` is unknown; a plugin reads of `action`",
            ),
            (format!("{whole}version = \"1\"\n"), "`version` and `description` belong together"),
            (whole.replace("\"c\"", "\"other\""), "needs a table `[build]`"),
            (
                format!("{whole}[build]\ncommand = []\noutput = \"a\"\n"),
                "`build.command` names no program",
            ),
            (whole.replace("pattern", "shell-reader"), "is a risk-calculator, a pattern"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(said), "{text}\n{error}");
        }
    }

    #[test]
    fn the_descriptor_is_as_the_sdk_writes_it() {
        let text = "name = \"a\"\nkind = \"pattern\"\nlanguage = \"c\"\nversion = \"1\"\ndescription = \"x\"\nreads = [\"outcome\"]\n\
                    [[settings]]\nkey = \"most\"\ntype = \"integer\"\ndefault = 3\nminimum = 2\ndescription = \"y\"\n";
        assert_eq!(
            read(text).unwrap().descriptor().unwrap().unwrap(),
            "{\"name\":\"a\",\"version\":\"1\",\"description\":\"x\",\"kind\":\"pattern\",\"reads\":[\"outcome\"],\
             \"settings\":[{\"key\":\"most\",\"type\":\"integer\",\"default\":3,\"minimum\":2,\"description\":\"y\"}]}"
        );
    }
}
