//! `plugin.toml`: what a project is, and what its plugin says of itself.

use super::{Language, unfit};
use anyhow::{Context, Result, bail};
use portcullis_engine::Kind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The plugin's name.
    pub name: String,
    /// What it is to be.
    pub kind: Kind,
    pub language: Language,
    /// How it is built, where that is not the language's usual way.
    pub build: Option<Build>,
    /// The plugin's own version; with it, what follows is put into the component.
    pub version: Option<String>,
    pub description: Option<String>,
    #[serde(default)]
    pub reads: Vec<String>,
    pub severity: Option<Severity>,
    #[serde(default)]
    pub settings: Vec<Setting>,
}

/// A build of the author's own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The program and its arguments, run in the project's folder; no shell reads them.
    pub command: Vec<String>,
    /// The file that it writes: a component, or a core module.
    pub output: PathBuf,
}

/// The worst that a plugin reports.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

/// A setting that the plugin knows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    key: String,
    r#type: Type,
    default: toml::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<toml::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<toml::Value>,
    description: String,
}

/// A setting's type, by the names of the SDK.
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

/// What a plugin may say that it looks at.
const READS: &[&str] = &["action", "context", "outcome", "history", "session", "issue", "records"];

/// What a component says of itself, in the order in which the SDK writes it.
#[derive(Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    version: &'a str,
    description: &'a str,
    kind: Kind,
    reads: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    settings: &'a [Setting],
}

impl Manifest {
    /// The manifest in that file.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
        let manifest: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            anyhow::anyhow!("`{shown}`, line {line}: {}", error.message())
        })?;
        manifest.check().with_context(|| format!("`{shown}`"))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        if let Some(reason) = unfit(&self.name) {
            bail!("`name = {:?}`: {reason}", self.name);
        }
        if self.kind == Kind::ShellReader {
            bail!("`kind`: a plugin of one's own is a risk-calculator, a pattern, an intervention or an audit-exporter");
        }
        if let Some(unknown) = self.reads.iter().find(|read| !READS.contains(&read.as_str())) {
            bail!("`reads`: `{unknown}` is unknown; a plugin reads of `{}`", READS.join("`, `"));
        }
        match &self.build {
            Some(build) if build.command.is_empty() => bail!("`build.command` names no program: write `command = [\"make\"]`"),
            Some(build) if build.output.is_absolute() => bail!("`build.output`: name the file as the project's folder sees it"),
            None if self.language == Language::Other => {
                bail!("`language = \"other\"` needs a table `[build]` with `command = [\"make\"]` and `output = \"plugin.wasm\"`")
            }
            _ => {}
        }
        if self.version.is_some() != self.description.is_some() {
            bail!("`version` and `description` belong together: write both, or neither where the source says them");
        }
        Ok(())
    }

    /// What is put into the component, as JSON; none where the source says it.
    pub fn descriptor(&self) -> Result<Option<String>> {
        let (Some(version), Some(description)) = (&self.version, &self.description) else { return Ok(None) };
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
    use super::Manifest;

    fn read(text: &str) -> Result<Manifest, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin.toml");
        std::fs::write(&path, text).unwrap();
        Manifest::read(&path).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn mistakes_name_the_place_and_the_mend() {
        let whole = "name = \"a\"\nkind = \"pattern\"\nlanguage = \"c\"\n";
        for (text, said) in [
            (whole.replace("\"a\"", "\"A b\""), "`name = \"A b\"`: it needs lower-case"),
            (whole.replace("pattern", "patern"), "plugin.toml`, line 2: unknown variant `patern`"),
            (whole.replace("\"c\"", "\"cobol\""), "line 3: unknown variant `cobol`, expected one of `rust`"),
            (format!("{whole}nme = 1\n"), "line 4: unknown field `nme`, expected one of `name`"),
            ("name = \"a\"\n".to_owned(), "missing field `kind`"),
            (format!("{whole}reads = [\"disk\"]\n"), "`disk` is unknown; a plugin reads of `action`"),
            (format!("{whole}version = \"1\"\n"), "`version` and `description` belong together"),
            (whole.replace("\"c\"", "\"other\""), "needs a table `[build]`"),
            (format!("{whole}[build]\ncommand = []\noutput = \"a\"\n"), "`build.command` names no program"),
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
