//! Which file speaks for a key: the organisation's before the person's, the person's before the project's.
//!
//! A project's file only tightens: of what it says, that counts which makes the guard stricter. The rest
//! counts after a person trusted that very file, and then for keys that neither organisation nor person
//! speaks of. What does not count is kept and named. What the values mean is not known here.

use super::keys::{Key, Project, toml_text};
use super::parse::{Document, Pipeline, Said};
use super::rules;
use portcullis_engine::SettingValue as Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The organisation's.
    Managed,
    /// The person's.
    User,
    /// The project's.
    Project,
}

/// One file that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Whose it is.
    pub layer: Layer,
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub document: Document,
    /// BLAKE3 of its bytes.
    pub digest: blake3::Hash,
}

/// For whom the files are merged.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// The person's home folder; empty when unknown.
    pub person: &'a str,
    /// The project's folder.
    pub project: Option<&'a Path>,
    /// Whether a person trusted the project's file as it is.
    pub trusted: bool,
    /// A pipeline to take in place of those that match the project.
    pub pipeline: Option<&'a str>,
}

/// What holds, and what was said in vain.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// What somebody said and what holds, by path. What is not here has its default.
    pub entries: BTreeMap<String, Entry>,
    /// What does not count.
    pub ignored: Vec<Ignored>,
    /// What the organisation says, by path: a project may tighten it, a command line too, and nothing loosens it.
    pub held: BTreeMap<String, Value>,
    /// The files that were read.
    pub files: Vec<(Layer, PathBuf)>,
}

/// A value that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Who said it; its value is the one that holds.
    pub said: Said,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whose file.
    pub layer: Layer,
    /// The pipeline that said it.
    pub pipeline: Option<String>,
    /// The project's file tightened what would hold otherwise.
    pub tightened: bool,
}

/// Something that a file says and that does not count, or only in part.
#[derive(Clone, Debug, PartialEq)]
pub struct Ignored {
    /// The key with its table.
    pub path: String,
    /// The value, as TOML.
    pub value: String,
    /// Whose file says it.
    pub layer: Layer,
    /// The line.
    pub line: usize,
    /// Why it does not count.
    pub why: Why,
}

/// Why something does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It would loosen or steer, and nobody trusted the project's file.
    Untrusted,
    /// A file that goes before says otherwise.
    Overridden(Layer),
    /// It holds for the whole installation, and no project changes it.
    Global,
    /// The organisation and the person alone say it.
    Owner,
}

impl Layer {
    /// The name in what scripts read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl Why {
    /// For people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Untrusted => "it needs trust: look at it with `portcullis trust`",
            Self::Overridden(Layer::Managed) => "the organisation's file says otherwise",
            Self::Overridden(_) => "your own file says otherwise",
            Self::Global => "it holds for the whole installation, and no project changes it",
            Self::Owner => "no project says it, only you and your organisation",
        }
    }
}

/// Merges the files.
pub fn settle(files: &[Read], scene: &Scene<'_>) -> Settled {
    let mut settled = Settled { files: files.iter().map(|file| (file.layer, file.path.clone())).collect(), ..Settled::default() };
    let own = Matching::of(scene);
    for layer in [Layer::User, Layer::Managed] {
        for file in files.iter().filter(|file| file.layer == layer) {
            settled.take(layer, None, &file.document.said);
            if let Some(pipeline) = own.first(&file.document.pipelines) {
                settled.take(layer, Some(&pipeline.name), &pipeline.said);
            }
        }
    }
    let managed = settled.entries.iter().filter(|(_, entry)| entry.origin.layer == Layer::Managed);
    settled.held = managed.map(|(path, entry)| (path.clone(), entry.said.value.clone())).collect();
    for file in files.iter().filter(|file| file.layer == Layer::Project) {
        settled.project(&file.document, scene.trusted.then_some(&own));
    }
    settled
}

impl Settled {
    /// The value that holds; none where there is no default either.
    pub fn value(&self, key: &Key) -> Option<Value> {
        self.entries.get(key.path).map(|entry| entry.said.value.clone()).or_else(key.default)
    }

    /// A file's keys go before those that were taken until now.
    fn take(&mut self, layer: Layer, pipeline: Option<&str>, said: &[Said]) {
        for said in said {
            let origin = Origin { layer, pipeline: pipeline.map(str::to_owned), tightened: false };
            let before = self.entries.remove(&said.path);
            let added = before.as_ref().and_then(|before| rules::added(said, &before.said));
            let together = added.is_some();
            self.entries.insert(said.path.clone(), Entry { said: added.unwrap_or_else(|| said.clone()), origin });
            if together {
                continue;
            }
            if let Some(before) = before.filter(|before| before.origin.layer != layer && before.said.value != said.value) {
                self.ignored.push(Ignored::of(&before.said, before.origin.layer, Why::Overridden(layer)));
            }
        }
    }

    fn project(&mut self, document: &Document, trusted: Option<&Matching<'_>>) {
        let spoken: BTreeMap<String, Layer> = self.entries.iter().map(|(path, entry)| (path.clone(), entry.origin.layer)).collect();
        for said in &document.said {
            self.project_says(said, None, trusted.is_some(), &spoken);
        }
        let chosen = trusted.and_then(|matching| matching.first(&document.pipelines));
        if let Some(pipeline) = chosen {
            for said in &pipeline.said {
                self.project_says(said, Some(&pipeline.name), true, &spoken);
            }
        }
        if trusted.is_none() {
            self.ignored.extend(document.pipelines.iter().map(|pipeline| Ignored {
                path: format!("{}.{}", super::keys::PIPELINES, pipeline.name),
                value: format!("{} keys", pipeline.said.len()),
                layer: Layer::Project,
                line: pipeline.place.0,
                why: Why::Untrusted,
            }));
        }
    }

    /// `spoken` tells of which keys a file speaks that goes before the project's.
    fn project_says(&mut self, said: &Said, pipeline: Option<&str>, trusted: bool, spoken: &BTreeMap<String, Layer>) {
        if said.key.is_owners() {
            let why = if said.key.is_global() { Why::Global } else { Why::Owner };
            self.ignored.push(Ignored::of(said, Layer::Project, why));
            return;
        }
        let spoken = spoken.get(&said.path).copied();
        let origin = |tightened| Origin { layer: Layer::Project, pipeline: pipeline.map(str::to_owned), tightened };
        if trusted && spoken.is_none() {
            self.entries.insert(said.path.clone(), Entry { said: said.clone(), origin: origin(false) });
            return;
        }
        let current = self.entries.get(&said.path).map(|entry| entry.said.value.clone()).or_else(|| (said.key.default)());
        let tightened = current.as_ref().map_or_else(|| first(said), |current| tighten(said, current));
        if let Some(value) = tightened.clone().filter(|value| Some(value) != current.as_ref()) {
            let entry = Entry { said: Said { value, ..said.clone() }, origin: origin(true) };
            self.entries.insert(said.path.clone(), entry);
        }
        let holds = tightened.or(current);
        if !holds.is_some_and(|holds| same(&holds, &said.value)) {
            let why = spoken.filter(|_| trusted).map_or(Why::Untrusted, Why::Overridden);
            self.ignored.push(Ignored::of(said, Layer::Project, why));
        }
    }
}

impl Ignored {
    fn of(said: &Said, layer: Layer, why: Why) -> Self {
        Self { path: said.path.clone(), value: toml_text(&said.value), layer, line: said.place.0, why }
    }
}

/// What holds when a project's file that nobody trusted says something where nobody did: a limit is stricter than none.
fn first(said: &Said) -> Option<Value> {
    matches!((said.key.project, &said.value), (Project::Least, Value::Integer(_))).then(|| said.value.clone())
}

/// What holds when a project's file that nobody trusted says something; none where that changes nothing.
/// It is never looser than `current`.
fn tighten(said: &Said, current: &Value) -> Option<Value> {
    match (said.key.project, &said.value, current) {
        (Project::Least, Value::Integer(wanted), Value::Integer(current)) => Some(Value::Integer(*wanted.min(current))),
        (Project::Least, Value::Decimal(wanted), Value::Decimal(current)) => Some(Value::Decimal(wanted.min(*current))),
        (Project::Most, Value::Decimal(wanted), Value::Decimal(current)) => Some(Value::Decimal(wanted.max(*current))),
        (Project::True, Value::Flag(true), _) => Some(Value::Flag(true)),
        (Project::False, Value::Flag(false), _) => Some(Value::Flag(false)),
        (Project::Later, Value::Text(wanted), Value::Text(current)) => said.key.later(wanted, current).map(|word| Value::Text(word.into())),
        (Project::Within, Value::Texts(wanted), Value::Texts(current)) if current.is_empty() => {
            let within = wanted.iter().filter(|glob| !glob.starts_with(['/', '~'])).cloned().collect::<Vec<_>>();
            (!within.is_empty()).then_some(Value::Texts(within))
        }
        (Project::TrueIfBuiltin, Value::Flag(true), _) if portcullis_builtin::find(&said.name).is_some() => Some(Value::Flag(true)),
        (Project::Word(word), Value::Text(wanted), _) if wanted == word => Some(said.value.clone()),
        (Project::Union, Value::Texts(wanted), Value::Texts(current)) => {
            let mut all = current.clone();
            for item in wanted {
                if !all.contains(item) {
                    all.push(item.clone());
                }
            }
            Some(Value::Texts(all))
        }
        (Project::Intersection, Value::Texts(wanted), Value::Texts(current)) => Some(Value::Texts(in_both(wanted, current))),
        _ => None,
    }
}

/// The folders that lie in one of `wanted` and in one of `current`.
fn in_both(wanted: &[String], current: &[String]) -> Vec<String> {
    let mut both: Vec<String> = Vec::new();
    for folder in current {
        for other in wanted {
            let narrower = if Path::new(folder).starts_with(other) {
                folder
            } else if Path::new(other).starts_with(folder) {
                other
            } else {
                continue;
            };
            if !both.contains(narrower) {
                both.push(narrower.clone());
            }
        }
    }
    both
}

/// Lists are sets here.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Texts(a), Value::Texts(b)) => a.iter().all(|item| b.contains(item)) && b.iter().all(|item| a.contains(item)),
        _ => a == b,
    }
}

/// Finds the pipeline for a project.
struct Matching<'a> {
    named: Option<&'a str>,
    project: Option<PathBuf>,
    homes: Vec<String>,
}

impl<'a> Matching<'a> {
    fn of(scene: &Scene<'a>) -> Self {
        // A link that an agent made must not choose the pipeline, so the project's real path counts.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut homes = Vec::new();
        if !scene.person.is_empty() {
            homes = vec![scene.person.to_owned(), real(Path::new(scene.person)).to_string_lossy().into_owned()];
        }
        Self { named: scene.pipeline, project: scene.project.map(real), homes }
    }

    /// The first pipeline that is for the project.
    fn first<'p>(&self, pipelines: &'p [Pipeline]) -> Option<&'p Pipeline> {
        match (self.named, &self.project) {
            (Some(name), _) => pipelines.iter().find(|pipeline| pipeline.name == name),
            (None, Some(project)) => pipelines.iter().find(|pipeline| pipeline.projects.iter().any(|pattern| self.fits(pattern, project))),
            (None, None) => None,
        }
    }

    fn fits(&self, pattern: &str, project: &Path) -> bool {
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        let fits = |pattern: &str| glob::Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_path_with(project, options));
        match pattern.strip_prefix("~/") {
            Some(below) => self.homes.iter().any(|home| fits(&format!("{}/{below}", glob::Pattern::escape(home)))),
            None => fits(pattern),
        }
    }
}
