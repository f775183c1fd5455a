//! `bundle.toml`: a publisher's description of a bundle. The reader is strict: every problem is
//! reported with its position and its fix.

use crate::error::{Error, Result};
use portcullis_bundle::BundleName;
use portcullis_config::file;
use portcullis_config::parse::read_settings;
use portcullis_config::problem::{ConfigProblem, Problems};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue;
use portcullis_strict_toml::{Document, Keys, Table};
use semver::Version;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The manifest's file name.
pub const MANIFEST: &str = "bundle.toml";
const BUNDLE: Keys<'_> = Keys {
    names: &["name", "version", "description", "licence", "source", "plugin"],
    owner: "a bundle",
};
const PLUGIN: Keys<'_> = Keys { names: &["file", "name", "settings"], owner: "a plugin" };
/// The most bytes of a text that is shown to people.
const LONGEST: usize = 1000;

/// A manifest.
#[derive(Debug)]
pub struct BundleManifest {
    /// Its file.
    pub path: PathBuf,
    pub name: BundleName,
    pub version: Version,
    /// Empty if absent, like the next two fields.
    pub description: String,
    pub licence: String,
    pub source: String,
    /// At least one.
    pub plugins: Vec<PluginEntry>,
}

/// A component that goes into the bundle.
#[derive(Debug)]
pub struct PluginEntry {
    /// Line and column, from 1.
    pub place: (usize, usize),
    /// A component, or the folder of a plugin's project, relative to the manifest's folder.
    pub file: PathBuf,
    /// The name of a component that has none itself.
    pub name: Option<String>,
    /// Settings given by the bundle, with their positions; nested tables become dotted names.
    pub settings: BTreeMap<String, (SettingValue, (usize, usize))>,
}

impl BundleManifest {
    /// Reads the manifest at that path: a file, or the folder that contains it.
    ///
    /// # Errors
    /// Fails if anything is wrong with it; the error lists every problem.
    pub fn read_manifest(path: &Path) -> Result<Self> {
        let here = path.strip_prefix(".").unwrap_or(path);
        let path = if path.is_dir() { here.join(MANIFEST) } else { here.to_owned() };
        let shown = one_line(&path.display().to_string(), 400);
        let text = match file::read_file(&path) {
            Ok(Some(text)) => text,
            Ok(None) => {
                return Err(Error::not_found(format!("there is no `{shown}`")).with_hint(format!(
                    "a \
                 bundle is described in a file `{MANIFEST}`, see `portcullis bundle build --help`"
                )));
            }
            Err(problems) => return Err(problems.into()),
        };
        let document = Document::parse(&text);
        let manifest =
            if document.is_sound() { read_manifest(&document.root(&BUNDLE), &path) } else { None };
        let (problems, more) = ConfigProblem::from_document(&document);
        match manifest {
            Some(manifest) if problems.is_empty() => Ok(manifest),
            _ => Err(wrong(Problems { file: path, problems, more })),
        }
    }

    /// Creates an error about something in the manifest, with its position.
    pub fn error_at(&self, place: (usize, usize), what: String) -> Error {
        wrong(Problems {
            file: self.path.clone(),
            problems: vec![ConfigProblem { place: Some(place), what }],
            more: 0,
        })
    }
}

fn wrong(problems: Problems) -> Error {
    Error::invalid(format!("the bundle cannot be built:\n{}", problems.lines().join("\n")))
}

fn read_manifest(table: &Table<'_>, path: &Path) -> Option<BundleManifest> {
    let name = read_required::<BundleName>(table, "name", "`acme/checks`");
    let version = read_required::<Version>(table, "version", "`1.0.0`");
    let [description, licence, source] =
        ["description", "licence", "source"].map(|key| read_line(table, key));
    if let (Some(item), Some(text)) = (table.get("licence"), &licence)
        && !is_licence(text)
    {
        item.refuse_value(text, "an expression of SPDX, as `Apache-2.0` or `MIT OR Apache-2.0`");
    }
    if !table.contains("plugin") {
        table.report("it has no plugin; add `[[plugin]]` with `file`, a component or the folder of a plugin's project");
    }
    let plugins = table.tables("plugin", &PLUGIN).iter().filter_map(read_plugin).collect();
    Some(BundleManifest {
        path: path.to_owned(),
        name: name?,
        version: version?,
        description: description.unwrap_or_default(),
        licence: licence.unwrap_or_default(),
        source: source.unwrap_or_default(),
        plugins,
    })
}

fn read_plugin(table: &Table<'_>) -> Option<PluginEntry> {
    if !table.contains("file") {
        table.report(
            "the plugin has no `file`; name a component, or the folder of a plugin's project",
        );
    }
    let file = table.text("file");
    let name = table.text("name");
    let settings = table.any_table("settings").map(|table| read_settings(&table));
    let settings = settings.into_iter().flatten();
    Some(PluginEntry {
        place: table.place(),
        file: file?.into(),
        name,
        settings: settings.map(|(name, value, item)| (name, (value, item.place()))).collect(),
    })
}

/// Parses a required value.
pub(super) fn read_required<T: FromStr<Err: Display>>(
    table: &Table<'_>,
    key: &str,
    example: &str,
) -> Option<T> {
    let Some(item) = table.get(key) else {
        table.report(format!("it has no `{key}`; add it, as {example}"));
        return None;
    };
    let parsed = item.text()?.parse();
    parsed
        .map_err(|error: T::Err| item.report(format!("`{key}`: {error}; write it as {example}")))
        .ok()
}

/// Reads a one-line text that is shown to people.
fn read_line(table: &Table<'_>, key: &str) -> Option<String> {
    let item = table.get(key)?;
    let text = item.text()?;
    if text.len() > LONGEST || text.chars().any(char::is_control) {
        item.report(format!("`{key}` must be one line of at most {LONGEST} bytes"));
    }
    Some(text.to_owned())
}

/// Returns true if every character may occur in an SPDX expression. The licence list keeps growing,
/// so names are not checked against it.
fn is_licence(text: &str) -> bool {
    let fits = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '.' | '-' | '+' | ':' | '(' | ')')
    };
    !text.is_empty() && text.chars().all(fits)
}
