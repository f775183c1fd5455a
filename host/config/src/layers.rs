//! Merges the files: the organisation's takes precedence over the person's, and that over the
//! project's. A fleet's orders tighten what the first two say.
//!
//! A profile stands below them: its values are those of keys that neither sets.
//!
//! A project's file can only tighten: only its stricter values count. Other values count after a
//! person has trusted exactly that file, and then only for keys that neither the organisation nor
//! the person sets. Values that do not count are kept and reported. The meaning of the values is
//! not known here.

use super::keys::{ConfigKey, ProjectScope, ValueKind, toml_text};
use super::order;
use super::order_scope::{expand_profile, order_scope};
use super::parse::{ConfigDocument, KeyValue, PipelineSection};
use super::profiles::{PROFILE, RETENTION, profile_values, retention_values};
use portcullis_core::text::count_noun;
use portcullis_engine::SettingValue as Value;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The orders of the machine's fleet.
    Orders,
    /// The organisation's.
    Managed,
    /// The person's.
    User,
    /// The project's.
    Project,
    /// The profile that one of them named: it stands below all files.
    Profile,
}

/// One file that was read.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Its owner.
    pub layer: Layer,
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub document: ConfigDocument,
    /// BLAKE3 of its bytes, for a project's file with those of the templates' file that it names.
    pub digest: blake3::Hash,
}

/// The circumstances of a merge.
#[derive(Clone, Debug)]
pub struct LayerContext<'a> {
    /// The person's home folder; empty when unknown.
    pub person: &'a str,
    /// The project's folder.
    pub project: Option<&'a Path>,
    /// True if a person trusted the project's file in its current state.
    pub trusted: bool,
    /// A pipeline to take in place of those that match the project.
    pub pipeline: Option<&'a str>,
}

/// The values in force, and the values that do not count.
#[derive(Clone, Debug, Default)]
pub struct MergedSettings {
    /// The values that were set and are in force, by path. All other keys have their default.
    pub entries: BTreeMap<String, EffectiveValue>,
    /// The values that do not count.
    pub ignored: Vec<IgnoredKey>,
    /// The organisation's values, by path: a project or a command line may tighten them, and
    /// nothing loosens them.
    pub held: BTreeMap<String, Value>,
    /// The files that were read.
    pub files: Vec<(Layer, PathBuf)>,
    /// The owner and the position of each item of a list, by the list's path and the item: several
    /// files may add to one list.
    items: BTreeMap<(String, String), (Layer, (usize, usize))>,
}

/// A value that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValue {
    /// The setting; its value is the one in force.
    pub said: KeyValue,
    /// Its origin.
    pub origin: ValueOrigin,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// The owner of its file.
    pub layer: Layer,
    /// The pipeline that contains it.
    pub pipeline: Option<String>,
    /// True if the project's file tightened the value that would be in force otherwise.
    pub tightened: bool,
}

/// A value in a file that does not count, or only in part.
#[derive(Clone, Debug, PartialEq)]
pub struct IgnoredKey {
    /// The key with its table.
    pub path: String,
    /// The value, as TOML.
    pub value: String,
    /// The owner of the file.
    pub layer: Layer,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The reason.
    pub why: IgnoreReason,
}

/// The reason why a value does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreReason {
    /// It would loosen or redirect, and nobody trusted the project's file.
    Untrusted,
    /// A file that takes precedence has another value.
    Overridden(Layer),
    /// The key applies to the whole installation, and no project can change it.
    Global,
    /// Only the organisation and the person can set it.
    Owner,
    /// The machine's own value is as strict, or stricter.
    Looser,
}

impl Layer {
    /// Returns the name in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Profile => "profile",
        }
    }
}

impl IgnoreReason {
    /// Returns a description for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Untrusted => "it needs trust: look at it with `portcullis trust`",
            Self::Overridden(Layer::Orders) => "the fleet's orders say otherwise",
            Self::Overridden(Layer::Managed) => "the organisation's file says otherwise",
            Self::Overridden(_) => "your own file says otherwise",
            Self::Global => "it applies to the whole installation, and no project changes it",
            Self::Owner => "no project says it, only you and your organisation",
            Self::Looser => "this machine's own configuration is as strict, or stricter",
        }
    }
}

/// Merges the files.
pub fn merge_layers(files: &[LayerFile], context: &LayerContext<'_>) -> MergedSettings {
    let mut settled = MergedSettings {
        files: files.iter().map(|file| (file.layer, file.path.clone())).collect(),
        ..MergedSettings::default()
    };
    let own = Matching::of(context);
    for layer in [Layer::User, Layer::Managed] {
        for file in files.iter().filter(|file| file.layer == layer) {
            settled.take(layer, None, &file.document.said);
            if let Some(pipeline) = own.first(&file.document.pipelines) {
                settled.take(layer, Some(&pipeline.name), &pipeline.said);
            }
        }
    }
    settled.take_preset(PROFILE, profile_values);
    settled.take_preset(RETENTION, retention_values);
    let managed = settled.entries.iter().filter(|(_, entry)| entry.origin.layer == Layer::Managed);
    settled.held = managed.map(|(path, entry)| (path.clone(), entry.said.value.clone())).collect();
    for file in files.iter().filter(|file| file.layer == Layer::Orders) {
        settled.take_orders(&file.document);
    }
    for file in files.iter().filter(|file| file.layer == Layer::Project) {
        settled.project(&file.document, context.trusted.then_some(&own));
    }
    settled
}

impl MergedSettings {
    /// Returns the value in force; `None` if there is no default either.
    pub fn value_of(&self, key: &ConfigKey) -> Option<Value> {
        self.entries.get(key.path).map(|entry| entry.said.value.clone()).or_else(key.default)
    }

    /// Returns the file and the position that set a key, or the first key of a table.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Option<(&Path, (usize, usize))> {
        let below = format!("{path}.");
        let first = || self.entries.iter().find(|(key, _)| key.starts_with(&below));
        let entry = self.entries.get(path).or_else(|| first().map(|(_, entry)| entry))?;
        Some((self.file_of(entry.origin.layer)?, entry.said.place))
    }

    /// Returns the file and the position of an item of a list.
    #[must_use]
    pub fn place_of_item(&self, path: &str, item: &str) -> Option<(&Path, (usize, usize))> {
        let (layer, place) = self.items.get(&(path.to_owned(), item.to_owned()))?;
        Some((self.file_of(*layer)?, *place))
    }

    /// Returns the file of a layer, if it was read.
    #[must_use]
    pub fn file_of(&self, layer: Layer) -> Option<&Path> {
        let (_, path) = self.files.iter().find(|(known, _)| *known == layer)?;
        Some(path)
    }

    fn note_items(&mut self, layer: Layer, said: &KeyValue) {
        let Value::Texts(items) = &said.value else { return };
        for item in items {
            self.items
                .entry((said.path.clone(), item.clone()))
                .or_insert_with(|| (layer, said.place));
        }
    }

    /// Applies a file's keys, which take precedence over the earlier ones.
    fn take(&mut self, layer: Layer, pipeline: Option<&str>, said: &[KeyValue]) {
        for said in said {
            self.note_items(layer, said);
            let origin =
                ValueOrigin { layer, pipeline: pipeline.map(str::to_owned), tightened: false };
            let before = self.entries.remove(&said.path);
            let added = before.as_ref().and_then(|before| add_files(said, &before.said));
            let together = added.is_some();
            self.entries.insert(
                said.path.clone(),
                EffectiveValue { said: added.unwrap_or_else(|| said.clone()), origin },
            );
            if together {
                continue;
            }
            if let Some(before) = before
                .filter(|before| before.origin.layer != layer && before.said.value != said.value)
            {
                self.ignored.push(IgnoredKey::of(
                    &before.said,
                    before.origin.layer,
                    IgnoreReason::Overridden(layer),
                ));
            }
        }
    }

    /// Gives the keys that no file sets the values of the profile, or of another set of values, that
    /// a file names under `key`.
    fn take_preset(&mut self, key: &str, values_of: fn(&str) -> Vec<KeyValue>) {
        let Some(named) = self.entries.get(key) else { return };
        let Value::Text(name) = &named.said.value else { return };
        // Nobody loosens a choice of the organisation.
        let layer = match named.origin.layer {
            Layer::Managed => Layer::Managed,
            _ => Layer::Profile,
        };
        let place = named.said.place;
        let values = values_of(name);
        // A threshold that a file sets takes precedence over those around it too.
        let set: Vec<&KeyValue> = self
            .entries
            .values()
            .filter(|entry| entry.origin.layer <= layer)
            .map(|entry| &entry.said)
            .collect();
        let values: Vec<KeyValue> =
            values.into_iter().filter(|said| order::fits(said, &set)).collect();
        for said in values {
            let origin = ValueOrigin { layer, pipeline: None, tightened: false };
            let entry = EffectiveValue { said: KeyValue { place, ..said }, origin };
            let own = self.entries.get(&entry.said.path);
            if own.is_some_and(|own| own.origin.layer <= layer) {
                continue;
            }
            if let Some(own) = own.filter(|own| own.said.value != entry.said.value) {
                let why = IgnoreReason::Overridden(layer);
                self.ignored.push(IgnoredKey::of(&own.said, own.origin.layer, why));
            }
            self.entries.insert(entry.said.path.clone(), entry);
        }
    }

    /// Applies orders: each value counts as far as it tightens what the machine's own files say, and
    /// from then on nothing loosens the key.
    fn take_orders(&mut self, document: &ConfigDocument) {
        for said in expand_profile(&document.said) {
            let Some(scope) = order_scope(said.key) else { continue };
            let own = self.entries.get(&said.path).cloned();
            let current =
                own.as_ref().map_or_else(said.key.default, |own| Some(own.said.value.clone()));
            let tightened = match &current {
                Some(current) => tighten(scope, &said, current),
                None => first(scope, &said),
            };
            let ordered = tightened.clone().filter(|value| Some(value) != current.as_ref());
            if !ordered.as_ref().is_some_and(|value| same(value, &said.value))
                && !current.as_ref().is_some_and(|value| same(value, &said.value))
            {
                self.ignored.push(IgnoredKey::of(&said, Layer::Orders, IgnoreReason::Looser));
            }
            let Some(value) = ordered.clone().or(current) else { continue };
            self.held.insert(said.path.clone(), value.clone());
            if ordered.is_none() && own.is_some() {
                continue;
            }
            self.note_items(Layer::Orders, &said);
            if let Some(own) = own {
                let why = IgnoreReason::Overridden(Layer::Orders);
                self.ignored.push(IgnoredKey::of(&own.said, own.origin.layer, why));
            }
            let origin =
                ValueOrigin { layer: Layer::Orders, pipeline: None, tightened: ordered.is_some() };
            let path = said.path.clone();
            self.entries.insert(path, EffectiveValue { said: KeyValue { value, ..said }, origin });
        }
    }

    fn project(&mut self, document: &ConfigDocument, trusted: Option<&Matching<'_>>) {
        let spoken: BTreeMap<String, Layer> = self
            .entries
            .iter()
            // A profile fills in what no file sets, so a trusted project may set it too.
            .filter(|(_, entry)| entry.origin.layer != Layer::Profile)
            .map(|(path, entry)| (path.clone(), entry.origin.layer))
            .collect();
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
            self.ignored.extend(document.pipelines.iter().map(|pipeline| IgnoredKey {
                path: format!("{}.{}", super::keys::PIPELINES, pipeline.name),
                value: count_noun(pipeline.said.len() as u64, "key"),
                layer: Layer::Project,
                line: pipeline.place.0,
                column: pipeline.place.1,
                why: IgnoreReason::Untrusted,
            }));
        }
    }

    /// Applies a value of the project's file. `spoken` contains the keys that files with precedence
    /// over it set.
    fn project_says(
        &mut self,
        said: &KeyValue,
        pipeline: Option<&str>,
        trusted: bool,
        spoken: &BTreeMap<String, Layer>,
    ) {
        self.note_items(Layer::Project, said);
        if said.key.is_owners() {
            let why = if said.key.is_global() { IgnoreReason::Global } else { IgnoreReason::Owner };
            self.ignored.push(IgnoredKey::of(said, Layer::Project, why));
            return;
        }
        let spoken = spoken.get(&said.path).copied();
        let origin = |tightened| ValueOrigin {
            layer: Layer::Project,
            pipeline: pipeline.map(str::to_owned),
            tightened,
        };
        if trusted && spoken.is_none() {
            self.entries.insert(
                said.path.clone(),
                EffectiveValue { said: said.clone(), origin: origin(false) },
            );
            return;
        }
        let current = self
            .entries
            .get(&said.path)
            .map(|entry| entry.said.value.clone())
            .or_else(|| (said.key.default)());
        let scope = said.key.project;
        let tightened = current
            .as_ref()
            .map_or_else(|| first(scope, said), |current| tighten(scope, said, current));
        if let Some(value) = tightened.clone().filter(|value| Some(value) != current.as_ref()) {
            let entry =
                EffectiveValue { said: KeyValue { value, ..said.clone() }, origin: origin(true) };
            self.entries.insert(said.path.clone(), entry);
        }
        let holds = tightened.or(current);
        if !holds.is_some_and(|holds| same(&holds, &said.value)) {
            let why = spoken
                .filter(|_| trusted)
                .map_or(IgnoreReason::Untrusted, IgnoreReason::Overridden);
            self.ignored.push(IgnoredKey::of(said, Layer::Project, why));
        }
    }
}

impl IgnoredKey {
    fn of(said: &KeyValue, layer: Layer, why: IgnoreReason) -> Self {
        Self {
            path: said.path.clone(),
            value: toml_text(&said.value),
            layer,
            line: said.place.0,
            column: said.place.1,
            why,
        }
    }
}

/// Adds lists of files to those of an earlier layer; `None` if the key replaces the earlier value.
fn add_files(said: &KeyValue, before: &KeyValue) -> Option<KeyValue> {
    match (said.key.kind, &before.value, &said.value) {
        (ValueKind::Files, Value::Texts(before), Value::Texts(own)) => {
            let more = own.iter().filter(|item| !before.contains(item)).cloned();
            Some(KeyValue {
                value: Value::Texts(before.iter().cloned().chain(more).collect()),
                ..said.clone()
            })
        }
        _ => None,
    }
}

/// Returns the value that is in force if only an untrusted project's file, or orders, set the key: a
/// limit is stricter than none, and nothing is stricter than the last word.
fn first(scope: ProjectScope, said: &KeyValue) -> Option<Value> {
    let counts = match (scope, &said.value, said.key.kind) {
        (ProjectScope::Least, Value::Integer(_), _) => true,
        // The default depends on the plugin, and is never stricter than the last word.
        (ProjectScope::Later, Value::Text(word), ValueKind::Choice(words)) => {
            words.last() == Some(&word.as_str())
        }
        _ => false,
    };
    counts.then(|| said.value.clone())
}

/// Returns the value in force after an untrusted project's file, or orders, set the key; `None` if
/// that changes nothing. It is never looser than `current`.
fn tighten(scope: ProjectScope, said: &KeyValue, current: &Value) -> Option<Value> {
    match (scope, &said.value, current) {
        (ProjectScope::Least, Value::Integer(wanted), Value::Integer(current)) => {
            Some(Value::Integer(*wanted.min(current)))
        }
        (ProjectScope::Least, Value::Decimal(wanted), Value::Decimal(current)) => {
            Some(Value::Decimal(wanted.min(*current)))
        }
        (ProjectScope::Most, Value::Decimal(wanted), Value::Decimal(current)) => {
            Some(Value::Decimal(wanted.max(*current)))
        }
        (ProjectScope::True, Value::Flag(true), _) => Some(Value::Flag(true)),
        (ProjectScope::False, Value::Flag(false), _) => Some(Value::Flag(false)),
        (ProjectScope::Later, Value::Text(wanted), Value::Text(current)) => {
            said.key.later_of(wanted, current).map(|word| Value::Text(word.into()))
        }
        (ProjectScope::Within, Value::Texts(wanted), Value::Texts(current))
            // Globs of two owners cannot be intersected, so the project's count only alone.
            if current.is_empty() =>
        {
            let within = wanted
                .iter()
                // Absolute globs would lead out of the project.
                .filter(|glob| !glob.starts_with(['/', '~']))
                .cloned()
                .collect::<Vec<_>>();
            (!within.is_empty()).then_some(Value::Texts(within))
        }
        (ProjectScope::TrueIfBuiltin, Value::Flag(true), _)
            if portcullis_builtin::find(&said.name).is_some() =>
        {
            Some(Value::Flag(true))
        }
        (ProjectScope::Word(word), Value::Text(wanted), _) if wanted == word => {
            Some(said.value.clone())
        }
        (ProjectScope::Union, Value::Texts(wanted), Value::Texts(current)) => {
            let mut all = current.clone();
            for item in wanted {
                if !all.contains(item) {
                    all.push(item.clone());
                }
            }
            Some(Value::Texts(all))
        }
        (ProjectScope::Intersection, Value::Texts(wanted), Value::Texts(current)) => {
            Some(Value::Texts(in_both(wanted, current)))
        }
        (ProjectScope::Common, Value::Texts(wanted), Value::Texts(current)) => {
            let both = current.iter().filter(|item| wanted.contains(item));
            Some(Value::Texts(both.cloned().collect()))
        }
        _ => None,
    }
}

/// Returns the folders that are inside one of `wanted` and one of `current`.
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

/// Compares values; lists are treated as sets.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Texts(a), Value::Texts(b)) => {
            a.iter().all(|item| b.contains(item)) && b.iter().all(|item| a.contains(item))
        }
        _ => a == b,
    }
}

/// Finds the pipeline for a project.
struct Matching<'a> {
    context: &'a LayerContext<'a>,
    /// Looked up when the first pipeline is met: most configurations have none.
    real: OnceCell<RealFolders>,
}

/// The folders by which a pipeline applies.
struct RealFolders {
    project: Option<PathBuf>,
    homes: Vec<String>,
}

impl<'a> Matching<'a> {
    const fn of(context: &'a LayerContext<'a>) -> Self {
        Self { context, real: OnceCell::new() }
    }

    /// Returns the first pipeline that applies to the project.
    fn first<'p>(&self, pipelines: &'p [PipelineSection]) -> Option<&'p PipelineSection> {
        if pipelines.is_empty() {
            return None;
        }
        if let Some(name) = self.context.pipeline {
            return pipelines.iter().find(|pipeline| pipeline.name == name);
        }
        let real = self.real.get_or_init(|| RealFolders::of(self.context));
        let project = real.project.as_ref()?;
        pipelines
            .iter()
            .find(|pipeline| pipeline.projects.iter().any(|pattern| real.fits(pattern, project)))
    }
}

impl RealFolders {
    fn of(context: &LayerContext<'_>) -> Self {
        // A link made by an agent must not select the pipeline, so the project's real path counts.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut homes = Vec::new();
        if !context.person.is_empty() {
            homes = vec![
                context.person.to_owned(),
                real(Path::new(context.person)).to_string_lossy().into_owned(),
            ];
        }
        Self { project: context.project.map(real), homes }
    }

    fn fits(&self, pattern: &str, project: &Path) -> bool {
        let options =
            glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
        let fits = |pattern: &str| {
            glob::Pattern::new(pattern)
                .is_ok_and(|pattern| pattern.matches_path_with(project, options))
        };
        match pattern.strip_prefix("~/") {
            Some(below) => self
                .homes
                .iter()
                .any(|home| fits(&format!("{}/{below}", glob::Pattern::escape(home)))),
            None => fits(pattern),
        }
    }
}
