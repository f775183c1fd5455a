//! The rules in the configuration: settings of the builtin ones, and files of custom ones.
//!
//! Rules can only tighten, so the files of all layers are combined, including an untrusted
//! project's. A project's rules files have to be in the project. Their texts are read here and
//! passed to the plugin that parses them; each text is checked once before any plugin runs, so that
//! a mistake is reported as one of the configuration, with its position.

use super::file;
use super::keys;
use super::layers::{Layer, MergedSettings};
use super::parse::{ConfigDocument, KeyValue};
use super::problem::{BadConfiguration, ConfigProblem, Problems};
use crate::named_files::{NamedFile, read_named, resolve_name};
use crate::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_engine::{Setting, SettingValue as Value};
use portcullis_rule_language::builtin::BUILTIN;
use portcullis_rule_language::file::MOST_BYTES;
use portcullis_rule_language::place::line_and_column;
use portcullis_store::Home;
use portcullis_strict_toml::nearest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The plugin of the builtin rules.
const PLUGIN: &str = "rules";
/// The table of the builtin rules.
const TABLE: &str = "rules.";
/// The key for files, which is not a setting of the builtin rules.
const FILES: &str = "rules.files";
const DISABLED: &str = "rules.disabled";
/// The most files.
const MOST_FILES: usize = 16;
/// The most bytes of all files together: they pass through a plugin's memory.
const MOST_TOGETHER: usize = 1 << 20;

/// The custom rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomRules {
    /// The files, in the order in which they were named.
    pub files: Vec<RulesFile>,
    /// Disabled rules, builtin ones included.
    pub disabled: Vec<String>,
    /// The files and positions that disable them, by name, as far as they are known.
    pub disabled_at: BTreeMap<String, (PathBuf, (usize, usize))>,
    /// True if exactly these files were checked and their examples tested before, with this
    /// program.
    pub proven: bool,
}

/// A file of custom rules.
#[derive(Clone, Debug, PartialEq)]
pub struct RulesFile {
    /// Its path.
    pub path: PathBuf,
    /// True if it belongs to the project.
    pub of_project: bool,
    /// Its text.
    pub text: String,
}

/// Makes paths absolute and renames old keys; returns the problems.
pub(super) fn merge_rules(
    document: &mut ConfigDocument,
    layer: Layer,
    path: &Path,
) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    let folder = path.parent().unwrap_or(path);
    let pipelines = document.pipelines.iter_mut().map(|pipeline| &mut pipeline.said);
    for said in std::iter::once(&mut document.said).chain(pipelines) {
        said.iter_mut().for_each(rename);
        problems.extend(twice(said));
        for files in said.iter_mut().filter(|said| said.key.path == FILES) {
            problems.extend(absolute(files, layer, folder));
        }
    }
    problems
}

/// Renames `plugins.rules.settings.X`, the older name of `rules.X`.
fn rename(said: &mut KeyValue) {
    if said.name == PLUGIN
        && !said.setting.is_empty()
        && let Some(key) = keys::find_by_name(&format!("{TABLE}{}", said.setting))
    {
        *said = KeyValue {
            key,
            path: key.path.to_owned(),
            name: String::new(),
            setting: String::new(),
            ..said.clone()
        };
    }
}

fn twice(said: &[KeyValue]) -> Vec<ConfigProblem> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for again in said.iter().filter(|said| said.path.starts_with(TABLE)) {
        if let Some(line) = seen.insert(&again.path, again.place.0) {
            let what = format!(
                "`{0}` is given twice, also in line {line}; `plugins.rules.settings` is its old place; keep `{0}`",
                again.path
            );
            problems.push(ConfigProblem { place: Some(again.place), what });
        }
    }
    problems
}

fn absolute(said: &mut KeyValue, layer: Layer, folder: &Path) -> Vec<ConfigProblem> {
    let Value::Texts(items) = &mut said.value else { return Vec::new() };
    let mut problems = Vec::new();
    for item in items {
        if let Err(what) = resolve_name(item, (FILES, "rules"), layer, folder) {
            problems.push(ConfigProblem { place: Some(said.place), what });
        }
    }
    problems
}

/// Converts a key of the builtin rules to a setting of their plugin.
pub(super) fn setting(said: &KeyValue) -> Option<Setting> {
    let key = said.path.strip_prefix(TABLE).filter(|_| said.path != FILES)?;
    let value = match &said.value {
        // The plugin only knows its own rules.
        Value::Texts(names) if said.path == DISABLED => {
            Value::Texts(names.iter().filter(|name| is_builtin(name)).cloned().collect())
        }
        other => other.clone(),
    };
    Some(Setting { key: key.to_owned(), value })
}

/// Returns true if there is a builtin rule of that name.
pub fn is_builtin(name: &str) -> bool {
    BUILTIN.iter().any(|builtin| builtin.name == name)
}

/// Reads the files, and checks once that they are usable.
///
/// # Errors
/// Fails like `gather`, and if a file contains a mistake, or a disabled rule does not exist.
pub(super) fn read(
    paths: &[String],
    disabled: Vec<String>,
    places: &Paths,
    home: Option<&Home>,
    settled: &MergedSettings,
) -> Result<CustomRules, BadConfiguration> {
    let mut rules = gather(paths, disabled, places, settled)?;
    rules.proven = rules.files.is_empty() && rules.disabled.is_empty()
        || home.is_some_and(|home| rules.receipt_path(home).exists());
    let problems = if rules.proven { Vec::new() } else { rules.problems() };
    if problems.is_empty() { Ok(rules) } else { Err(BadConfiguration(problems)) }
}

/// Reads the files without checking their content.
///
/// # Errors
/// Fails if a file is missing, not a file, or too large.
pub(super) fn gather(
    paths: &[String],
    disabled: Vec<String>,
    places: &Paths,
    settled: &MergedSettings,
) -> Result<CustomRules, BadConfiguration> {
    let bad = |problems| BadConfiguration(vec![problems]);
    if paths.len() > MOST_FILES {
        let path = PathBuf::from(paths.first().map(String::as_str).unwrap_or_default());
        return Err(bad(Problems::in_file(
            &path,
            format!("it is one of {} rules files; at most {MOST_FILES} are read", paths.len()),
        )));
    }
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let file = one(&super::at_home(path, &places.person), places).map_err(bad)?;
        files.push(file.ok_or_else(|| bad(missing(path, settled)))?);
    }
    let together: usize = files.iter().map(|file| file.text.len()).sum();
    if let Some(last) = files.last().filter(|_| together > MOST_TOGETHER) {
        let what = format!(
            "the rules files have {together} bytes together; at most {MOST_TOGETHER} are read"
        );
        return Err(bad(Problems::in_file(&last.path, what)));
    }
    let disabled_at = disabled
        .iter()
        .filter_map(|name| {
            let (file, place) = settled.place_of_item(DISABLED, name)?;
            Some((name.clone(), (file.to_owned(), place)))
        })
        .collect();
    Ok(CustomRules { files, disabled, disabled_at, proven: false })
}

/// Reports a rules file that does not exist, at the line that names it.
fn missing(path: &str, settled: &MergedSettings) -> Problems {
    let what = format!("`{FILES}` names `{}`, and there is no such file", one_line(path, 1024));
    match settled.place_of_item(FILES, path) {
        Some((file, place)) => Problems::at_place(file, place, what),
        None => Problems::in_file(Path::new(path), what),
    }
}

/// Reads a rules file; returns `None` if there is no such file.
fn one(path: &Path, places: &Paths) -> Result<Option<RulesFile>, Problems> {
    let file = read_named(path, places)?;
    Ok(file.map(|NamedFile { text, of_project }| RulesFile {
        path: path.to_owned(),
        of_project,
        text,
    }))
}

impl CustomRules {
    /// Returns all problems of the files, examples excluded.
    #[must_use]
    pub fn problems(&self) -> Vec<Problems> {
        let mut all = Vec::new();
        let mut names: BTreeMap<String, &Path> = BTreeMap::new();
        for file in &self.files {
            let found = match portcullis_rule_language::read(&file.text) {
                Ok(rules) => {
                    let again = rules.iter().filter_map(|read| {
                        let before = names
                            .insert(read.rule.name.to_string(), &file.path)
                            .filter(|before| *before != file.path)?;
                        let what = format!(
                            "`{}` is a rule of `{}` too; each needs a name of its own",
                            read.rule.name,
                            before.display()
                        );
                        Some(ConfigProblem {
                            place: Some(line_and_column(&file.text, read.place.start)),
                            what,
                        })
                    });
                    again.collect()
                }
                Err(problems) => problems
                    .into_iter()
                    .map(|problem| ConfigProblem {
                        place: Some(line_and_column(&file.text, problem.span.start)),
                        what: problem.what,
                    })
                    .collect::<Vec<_>>(),
            };
            if !found.is_empty() {
                all.push(Problems { file: file.path.clone(), problems: found, more: 0 });
            }
        }
        // The names in a file with mistakes are unknown, so any of them would look wrong.
        if all.is_empty() {
            all.extend(self.unknown(&names));
        }
        all
    }

    /// Reports a disabled rule that does not exist: its owner means another one.
    fn unknown(&self, names: &BTreeMap<String, &Path>) -> Option<Problems> {
        let wrong =
            self.disabled.iter().find(|name| !is_builtin(name) && !names.contains_key(*name))?;
        let known =
            BUILTIN.iter().map(|builtin| builtin.name).chain(names.keys().map(String::as_str));
        let fix = match nearest(known, wrong) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "`portcullis rules list` shows all".to_owned(),
        };
        let what = format!(
            "`{DISABLED}` holds `{}`, and no rule has that name; {fix}",
            one_line(wrong, 64)
        );
        Some(match self.disabled_at.get(wrong) {
            Some((file, place)) => Problems::at_place(file, *place, what),
            None => Problems::in_file(Path::new(super::FILE), what),
        })
    }

    /// Returns the path of the file that records that these rules were proven: its name is specific
    /// to these texts, this program and this home, since the home's key is part of it.
    #[must_use]
    pub fn receipt_path(&self, home: &Home) -> PathBuf {
        let mut hasher =
            blake3::Hasher::new_keyed(&home.derive_key("portcullis 2026 proven rules"));
        // The length in front keeps two parts from reading as one.
        let mut add = |bytes: &[u8]| {
            hasher
                .update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes())
                .update(bytes);
        };
        let builtin = portcullis_builtin::find(PLUGIN)
            .map(|builtin| builtin.component.digest)
            .unwrap_or_default();
        for part in
            [env!("CARGO_PKG_VERSION"), builtin, portcullis_builtin::SHELL_READER.component.digest]
        {
            add(part.as_bytes());
        }
        self.disabled.iter().for_each(|name| add(name.as_bytes()));
        add(b"files");
        for file in &self.files {
            add(file.path.as_os_str().as_encoded_bytes());
            add(file.text.as_bytes());
        }
        home.cache().join(format!("rules-{}", hasher.finalize().to_hex()))
    }
}

const _: () = assert!(MOST_BYTES as u64 <= file::MOST_BYTES);
