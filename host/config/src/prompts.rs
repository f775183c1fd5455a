//! The operator's file of message templates: `interventions.custom_prompts_path`.
//!
//! It holds the same names as `interventions.templates`. Its text is part of what a person trusts
//! in a project, since it speaks to the agent in our name.

use crate::layers::{Layer, MergedSettings};
use crate::named_files::{NamedFile, read_named, resolve_name};
use crate::parse::{ConfigDocument, KeyValue};
use crate::paths::Paths;
use crate::problem::{BadConfiguration, ConfigProblem, Problems};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue;
use portcullis_strict_toml::{Document, Item, Value, nearest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The key.
pub const PROMPTS: &str = "interventions.custom_prompts_path";
/// The table of the templates in the configuration itself, with a dot.
const TEMPLATES: &str = "interventions.templates.";
/// The most bytes of the file: each intervention gets its templates with each issue.
const MOST_BYTES: usize = 64 << 10;

/// A file of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptsFile {
    /// Its path.
    pub path: PathBuf,
    /// True if it belongs to the project.
    pub of_project: bool,
    /// The templates that count, by name.
    pub templates: BTreeMap<String, PromptTemplate>,
}

/// A template of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Its text.
    pub text: String,
    /// Its line and column, from 1.
    pub place: (usize, usize),
}

impl PromptsFile {
    /// Returns the template to which a key of the configuration refers, if it is in this file.
    #[must_use]
    pub fn find_template(&self, key: &str) -> Option<&PromptTemplate> {
        self.templates.get(key.strip_prefix(TEMPLATES)?)
    }
}

/// Makes the file's path absolute, in every section that names one; returns the problems.
pub(crate) fn merge_prompts(
    document: &mut ConfigDocument,
    layer: Layer,
    path: &Path,
) -> Vec<ConfigProblem> {
    let folder = path.parent().unwrap_or(path);
    let pipelines = document.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.said);
    let named = document.said.iter_mut().chain(pipelines).filter(|said| said.key.path == PROMPTS);
    let mut problems = Vec::new();
    for said in named {
        let SettingValue::Text(name) = &mut said.value else { continue };
        if let Err(what) = resolve_name(name, (PROMPTS, "templates"), layer, folder) {
            problems.push(ConfigProblem { place: Some(said.place), what });
        }
    }
    problems
}

/// Returns the digest of a project's file together with the files of templates that it names. One
/// that cannot be read is an error as soon as it counts.
pub(crate) fn digest_with_prompts(
    text: blake3::Hash,
    document: &ConfigDocument,
    places: &Paths,
) -> blake3::Hash {
    let named: BTreeSet<&str> = document.all().filter_map(path_of).collect();
    if named.is_empty() {
        return text;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for name in named {
        let file = read_named(Path::new(name), places).ok().flatten();
        let content = file.map(|file| blake3::hash(file.text.as_bytes()));
        hasher.update(&content.map_or([0; 32], |digest| *digest.as_bytes()));
    }
    hasher.finalize()
}

/// Returns true if a document names a file of templates, in any section.
pub(crate) fn names_file(document: &ConfigDocument) -> bool {
    document.all().any(|said| path_of(said).is_some())
}

fn path_of(said: &KeyValue) -> Option<&str> {
    match &said.value {
        SettingValue::Text(name) if said.key.path == PROMPTS => Some(name),
        _ => None,
    }
}

/// Reads the file that is in force; none if no file names one.
///
/// # Errors
/// Fails if it is missing, cannot be read, or holds something else than templates.
pub(crate) fn read_prompts(
    settled: &MergedSettings,
    places: &Paths,
) -> Result<Option<PromptsFile>, BadConfiguration> {
    let Some(entry) = settled.entries.get(PROMPTS) else { return Ok(None) };
    let Some(name) = path_of(&entry.said) else { return Ok(None) };
    let path = crate::at_home(name, &places.person);
    let file = read_named(&path, places).and_then(|file| {
        file.ok_or_else(|| {
            let what =
                format!("`{PROMPTS}` names `{}`, and there is no such file", one_line(name, 1024));
            match settled.place_of(PROMPTS) {
                Some((file, place)) => Problems::at_place(file, place, what),
                None => Problems::in_file(&path, what),
            }
        })
    });
    let mut file = file
        .and_then(|file| parse_prompts(&path, file))
        .map_err(|problems| BadConfiguration(vec![problems]))?;
    // A template in a configuration file of the same owner, or of one before it, takes precedence.
    let layer = entry.origin.layer;
    file.templates.retain(|name, _| {
        let own = settled.entries.get(&format!("{TEMPLATES}{name}"));
        own.is_none_or(|own| own.origin.layer > layer)
    });
    Ok(Some(file))
}

fn parse_prompts(
    path: &Path,
    NamedFile { text, of_project }: NamedFile,
) -> Result<PromptsFile, Problems> {
    if text.len() > MOST_BYTES {
        let what = format!("it has more than {MOST_BYTES} bytes, the most that is read");
        return Err(Problems::in_file(path, what));
    }
    let document = Document::parse(&text);
    let mut templates = BTreeMap::new();
    for item in document.any_root().entries() {
        match item.value() {
            Value::Table(table) => {
                check_intervention(&item);
                for below in table.entries() {
                    // The plain names are those of this intervention.
                    let plain = item.key() == InterventionKind::SoftCorrection.as_str();
                    let table = if plain { String::new() } else { format!("{}.", item.key()) };
                    add_template(&mut templates, format!("{table}{}", below.key()), &below);
                }
            }
            _ => add_template(&mut templates, item.key().to_owned(), &item),
        }
    }
    let (problems, more) = ConfigProblem::from_document(&document);
    if problems.is_empty() {
        return Ok(PromptsFile { path: path.to_owned(), of_project, templates });
    }
    Err(Problems { file: path.to_owned(), problems, more })
}

/// Reports a table that is not named after an intervention.
fn check_intervention(item: &Item<'_>) {
    let known = || InterventionKind::ALL.iter().map(|kind| kind.as_str());
    if known().any(|kind| kind == item.key()) {
        return;
    }
    let fix = match nearest(known(), item.key()) {
        Some(kind) => format!("did you mean `{kind}`?"),
        None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
    };
    item.report_key(format!("`{}` is not an intervention; {fix}", item.path()));
}

fn add_template(templates: &mut BTreeMap<String, PromptTemplate>, name: String, item: &Item<'_>) {
    let Some(text) = item.text() else { return };
    let template = PromptTemplate { text: text.to_owned(), place: item.place() };
    if templates.insert(name, template).is_some() {
        item.report_key(format!("`{}` is given twice; remove one of them", item.path()));
    }
}
