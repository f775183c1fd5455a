//! `bundle.toml`: a publisher's description of a bundle. The reader is strict: every problem is
//! reported with its position and its fix.

use crate::error::{Error, Result};
use portcullis_bundle::BundleName;
use portcullis_config::file;
use portcullis_config::problem::{ConfigProblem, MOST, Problems};
use portcullis_config::toml_text::{LineIndex, integer, nearest, quoted, shown, start, type_of};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue;
use semver::Version;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The manifest's file name.
pub const MANIFEST: &str = "bundle.toml";
/// The keys of a bundle, and of one of its plugins.
const KEYS: (&[&str], &[&str]) = (
    &["name", "version", "description", "licence", "source", "plugin"],
    &["file", "name", "settings"],
);
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
    pub fn read(path: &Path) -> Result<Self> {
        let here = path.strip_prefix(".").unwrap_or(path);
        let path = if path.is_dir() { here.join(MANIFEST) } else { here.to_owned() };
        let shown = one_line(&path.display().to_string(), 400);
        let text = match file::read(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(Error::not_found(format!("there is no `{shown}`")).hint(format!("a bundle is described in a file `{MANIFEST}`, see `portcullis bundle build --help`"))),
            Err(problems) => return Err(problems.into()),
        };
        let mut reader = Reader { lines: LineIndex::of(&text), problems: Vec::new(), more: 0 };
        let read = match DeTable::parse(&text) {
            Ok(table) => reader.manifest(table.get_ref(), &path),
            Err(error) => {
                let message = one_line(&error.message().replace('\n', "; "), 300);
                reader.problem(
                    error.span().unwrap_or_default().start,
                    format!("it is not TOML: {message}"),
                );
                None
            }
        };
        let Reader { mut problems, more, .. } = reader;
        problems.sort();
        match read {
            Some(manifest) if problems.is_empty() => Ok(manifest),
            _ => Err(wrong(Problems { file: path, problems, more })),
        }
    }

    /// Creates an error about something in the manifest, with its position.
    pub fn wrong(&self, place: (usize, usize), what: String) -> Error {
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

type Item<'a> = Spanned<DeValue<'a>>;

/// Collects the problems.
struct Reader<'a> {
    lines: LineIndex<'a>,
    problems: Vec<ConfigProblem>,
    more: usize,
}

impl Reader<'_> {
    fn problem(&mut self, at: usize, what: String) {
        if self.problems.len() < MOST {
            self.problems.push(ConfigProblem { place: Some(self.lines.place(at)), what });
        } else {
            self.more += 1;
        }
    }

    fn manifest(&mut self, table: &DeTable<'_>, path: &Path) -> Option<BundleManifest> {
        self.known(table, "", KEYS.0);
        let name = self.parsed::<BundleName>(table, "name", "`acme/checks`");
        let version = self.parsed::<Version>(table, "version", "`1.0.0`");
        let [description, source] = ["description", "source"].map(|key| self.words(table, key));
        let licence = self.words(table, "licence");
        if let Some(item) = table.get("licence").filter(|_| !is_licence(&licence)) {
            let what = format!(
                "`licence` is `{}`; it must be an expression of SPDX, as `Apache-2.0` or `MIT OR Apache-2.0`",
                shown(&licence)
            );
            self.problem(start(item), what);
        }
        let plugins = match table.get("plugin") {
            Some(item) => self.plugins(item),
            None => {
                self.problem(
                    0,
                    "it has no plugin; add `[[plugin]]` with `file`, a component or the folder of a plugin's project".to_owned(),
                );
                Vec::new()
            }
        };
        Some(BundleManifest {
            path: path.to_owned(),
            name: name?,
            version: version?,
            description,
            licence,
            source,
            plugins,
        })
    }

    fn plugins(&mut self, item: &Item<'_>) -> Vec<PluginEntry> {
        let Some(items) = item.get_ref().as_array() else {
            self.problem(
                start(item),
                format!("`plugin` is {}; write it with two brackets: `[[plugin]]`", type_of(item)),
            );
            return Vec::new();
        };
        items.iter().filter_map(|item| self.plugin(item)).collect()
    }

    fn plugin(&mut self, item: &Item<'_>) -> Option<PluginEntry> {
        let at = start(item);
        let Some(table) = item.get_ref().as_table() else {
            self.problem(
                at,
                format!(
                    "`plugin` holds {}; write it with two brackets: `[[plugin]]`",
                    type_of(item)
                ),
            );
            return None;
        };
        self.known(table, "plugin.", KEYS.1);
        if !table.contains_key("file") {
            self.problem(
                at,
                "the plugin has no `file`; name a component, or the folder of a plugin's project"
                    .to_owned(),
            );
        }
        let file = self.text(table, "file");
        let name = self.text(table, "name");
        let mut settings = BTreeMap::new();
        if let Some(given) = table.get("settings") {
            match given.get_ref().as_table() {
                Some(table) => self.settings("", table, &mut settings),
                None => self.problem(
                    start(given),
                    format!("`plugin.settings` is {}; it must be a table", type_of(given)),
                ),
            }
        }
        Some(PluginEntry { place: self.lines.place(at), file: file?.into(), name, settings })
    }

    fn settings(
        &mut self,
        above: &str,
        table: &DeTable<'_>,
        into: &mut BTreeMap<String, (SettingValue, (usize, usize))>,
    ) {
        for (key, item) in table {
            let (name, at) = (format!("{above}{}", key.get_ref()), start(key));
            if let Some(below) = item.get_ref().as_table() {
                self.settings(&format!("{name}."), below, into);
                continue;
            }
            let place = self.lines.place(at);
            match setting(item) {
                None => {
                    let what = format!(
                        "`settings.{}` is {}; a setting is text, a number, a boolean or a list of texts",
                        shown(&name),
                        type_of(item)
                    );
                    self.problem(at, what);
                }
                Some(_) if into.contains_key(&name) => self.problem(
                    at,
                    format!("`settings.{}` is there twice; take one out", shown(&name)),
                ),
                Some(value) => drop(into.insert(name, (value, place))),
            }
        }
    }

    fn known(&mut self, table: &DeTable<'_>, above: &str, names: &[&str]) {
        for (key, _) in table {
            let given = key.get_ref().as_ref();
            if names.contains(&given) {
                continue;
            }
            let of = if above.is_empty() { "a bundle" } else { "a plugin" };
            let mend = nearest(names.iter().copied(), given).map_or_else(
                || format!("{of} has {}", quoted(names)),
                |name| format!("did you mean `{name}`?"),
            );
            self.problem(start(key), format!("`{above}{}` is unknown; {mend}", shown(given)));
        }
    }

    /// Parses a required value.
    fn parsed<T: FromStr<Err: Display>>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        example: &str,
    ) -> Option<T> {
        let Some(item) = table.get(key) else {
            self.problem(0, format!("it has no `{key}`; add it, as {example}"));
            return None;
        };
        let read = self.text(table, key)?.parse();
        read.map_err(|error: T::Err| {
            self.problem(start(item), format!("`{key}`: {error}; write it as {example}"))
        })
        .ok()
    }

    /// Reads a one-line text that is shown to people; empty if absent.
    fn words(&mut self, table: &DeTable<'_>, key: &str) -> String {
        let text = self.text(table, key).unwrap_or_default();
        if let Some(item) =
            table.get(key).filter(|_| text.len() > LONGEST || text.chars().any(char::is_control))
        {
            self.problem(
                start(item),
                format!("`{key}` must be one line of at most {LONGEST} bytes"),
            );
        }
        text
    }

    fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let item = table.get(key)?;
        let text = item.get_ref().as_str();
        if text.is_none() {
            self.problem(start(item), format!("`{key}` is {}; it must be text", type_of(item)));
        }
        text.map(str::to_owned)
    }
}

/// Converts a value to a setting, if it has a type that settings can have.
fn setting(item: &Item<'_>) -> Option<SettingValue> {
    Some(match item.get_ref() {
        DeValue::String(text) => SettingValue::Text(text.to_string()),
        DeValue::Integer(number) => SettingValue::Integer(integer(number)?),
        DeValue::Float(number) => SettingValue::Decimal(
            number.as_str().parse().ok().filter(|number: &f64| number.is_finite())?,
        ),
        DeValue::Boolean(flag) => SettingValue::Flag(*flag),
        DeValue::Array(items) => SettingValue::Texts(
            items
                .iter()
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
        ),
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// Returns true if every character may occur in an SPDX expression. The licence list keeps growing,
/// so names are not checked against it.
fn is_licence(text: &str) -> bool {
    let fits = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '.' | '-' | '+' | ':' | '(' | ')')
    };
    !text.is_empty() && text.chars().all(fits)
}
