//! The differences between two bundles, according to their own descriptions, for the person who
//! decides about an update.
//!
//! Their descriptions are not verified here: see `check_description`.

use crate::paint;
use portcullis_bundle::{About, Component, Plugin};
use portcullis_config::amount::format_size;
use portcullis_core::text::one_line;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most bytes shown of a text that somebody else wrote.
const MOST: usize = 200;

/// All differences between two bundles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Changes {
    /// Changes of name, version, description, licence and source.
    pub bundle: Vec<FieldChange>,
    /// Grant lines of all plugins together. A new line means more than the old bundle could ever be
    /// given.
    pub grants: LineChanges,
    /// New plugins, by name.
    pub added: Vec<PluginSummary>,
    /// Removed plugins, by name.
    pub removed: Vec<PluginSummary>,
    /// Plugins that are in both bundles and differ, by name.
    pub changed: Vec<PluginChange>,
}

/// A field whose value changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// The field's name.
    pub what: String,
    /// The old value; `None` if the field is new.
    pub old: Option<Value>,
    /// The new value; `None` if the field is removed.
    pub new: Option<Value>,
}

/// The differences between two lists of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineChanges {
    /// Lines that only the new list has, sorted.
    pub new: Vec<String>,
    /// Lines that only the old list has, sorted.
    pub gone: Vec<String>,
}

/// A plugin that only one of the bundles has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginSummary {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its own version.
    pub version: String,
    /// The size of its component, in bytes.
    pub size: u64,
    /// The digest of its component.
    pub digest: String,
    /// The imports of its component.
    pub imports: Vec<String>,
    /// The grant lines that it requests.
    pub grants: Vec<String>,
    /// The settings that the bundle gives it.
    pub settings: serde_json::Map<String, Value>,
}

/// A plugin that both bundles have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginChange {
    /// Its name.
    pub name: String,
    /// Changes of kind, world, version, description, size and digest.
    pub plugin: Vec<FieldChange>,
    /// Changes of its imports.
    pub imports: LineChanges,
    /// Changes of the grant lines that it requests.
    pub grants: LineChanges,
    /// Changes of the settings that the bundle gives it, by name.
    pub settings: Vec<FieldChange>,
    /// Changes of the settings that it declares, by name.
    pub schema: Vec<FieldChange>,
}

/// Computes the changes from `old` to `new`.
#[must_use]
pub fn list_changes(old: &About, new: &About) -> Changes {
    let named = |about| -> BTreeMap<&str, (&Component, &Plugin)> { plugins(about).collect() };
    let (before, after) = (named(old), named(new));
    let only = |these: &BTreeMap<&str, (&Component, &Plugin)>,
                others: &BTreeMap<&str, (&Component, &Plugin)>| {
        these
            .iter()
            .filter(|(name, _)| !others.contains_key(*name))
            .map(|(_, (component, plugin))| shown(component, plugin))
            .collect()
    };
    let both = after.iter().filter_map(|(name, now)| Some((*name, *before.get(name)?, *now)));
    let changed = both
        .map(|(name, before, now)| changed(name, before, now))
        .filter(|changed| !changed.is_empty())
        .collect();
    Changes {
        bundle: fields([
            ("name", old.name.as_str().into(), new.name.as_str().into()),
            ("version", old.version.to_string().into(), new.version.to_string().into()),
            ("description", old.description.as_str().into(), new.description.as_str().into()),
            ("licence", old.licence.as_str().into(), new.licence.as_str().into()),
            ("source", old.source.as_str().into(), new.source.as_str().into()),
        ]),
        grants: lines(
            old.components.iter().flat_map(|one| &one.wants.grants),
            new.components.iter().flat_map(|one| &one.wants.grants),
        ),
        added: only(&after, &before),
        removed: only(&before, &after),
        changed,
    }
}

impl Changes {
    /// Returns true if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Formats the changes for people, one line per change; empty if nothing changes.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.bundle.iter().for_each(|field| put(&mut text, "", field));
        for plugin in &self.removed {
            let _ = writeln!(text, "{} {}", paint::bad("- removed"), plugin.text());
        }
        for plugin in &self.added {
            let _ = writeln!(text, "{} {}", paint::good("+ added"), plugin.text());
            plugin.settings.iter().for_each(|(name, value)| {
                let _ = writeln!(text, "    setting {} = {}", line(name), line(&value.to_string()));
            });
            plugin.imports.iter().for_each(|import| {
                let _ = writeln!(text, "    imports {}", line(import));
            });
            plugin.grants.iter().for_each(|grant| {
                let _ = writeln!(text, "    {}", paint::warn(format!("asks for {}", line(grant))));
            });
        }
        for plugin in &self.changed {
            let _ =
                writeln!(text, "{} {}", paint::warn("~ changed"), paint::bold(line(&plugin.name)));
            plugin.plugin.iter().for_each(|field| put(&mut text, "    ", field));
            plugin.settings.iter().for_each(|field| put(&mut text, "    setting ", field));
            plugin.schema.iter().for_each(|field| put(&mut text, "    knows the setting ", field));
            put_lines(&mut text, "imports", &plugin.imports);
            put_lines(&mut text, "asks for", &plugin.grants);
        }
        for grant in &self.grants.new {
            let _ =
                writeln!(text, "{}", paint::bad(format!("! new grant asked for: {}", line(grant))));
        }
        for grant in &self.grants.gone {
            let _ = writeln!(text, "no longer asked for: {}", line(grant));
        }
        text
    }
}

impl PluginChange {
    fn is_empty(&self) -> bool {
        let Self { name: _, plugin, imports, grants, settings, schema } = self;
        let none = LineChanges::default();
        plugin.is_empty()
            && settings.is_empty()
            && schema.is_empty()
            && *imports == none
            && *grants == none
    }
}

impl PluginSummary {
    fn text(&self) -> String {
        let Self { name, kind, version, digest, .. } = self;
        let asks = if self.grants.is_empty() { ", asks for no grant" } else { "" };
        format!(
            "{}  {} {}, {}, {}{asks}",
            paint::bold(line(name)),
            line(kind),
            line(version),
            format_size(self.size),
            short(digest)
        )
    }
}

/// Returns the plugins in the order of their names, which are unique within a bundle.
fn plugins(about: &About) -> impl Iterator<Item = (&str, (&Component, &Plugin))> {
    about.plugins().map(|(component, plugin)| (plugin.name.as_str(), (component, plugin)))
}

fn shown(component: &Component, plugin: &Plugin) -> PluginSummary {
    PluginSummary {
        name: plugin.name.clone(),
        kind: plugin.kind.clone(),
        version: plugin.version.clone(),
        size: component.size,
        digest: component.digest.to_string(),
        imports: component.wants.imports.clone(),
        grants: component.wants.grants.clone(),
        settings: plugin.settings.clone(),
    }
}

fn changed(
    name: &str,
    (old_component, old): (&Component, &Plugin),
    (new_component, new): (&Component, &Plugin),
) -> PluginChange {
    let (was, is) = (&old_component.wants, &new_component.wants);
    PluginChange {
        name: name.to_owned(),
        plugin: fields([
            ("kind", old.kind.as_str().into(), new.kind.as_str().into()),
            ("world", old_component.world.as_str().into(), new_component.world.as_str().into()),
            ("version", old.version.as_str().into(), new.version.as_str().into()),
            ("description", old.description.as_str().into(), new.description.as_str().into()),
            ("size", old_component.size.into(), new_component.size.into()),
            (
                "digest",
                old_component.digest.to_string().into(),
                new_component.digest.to_string().into(),
            ),
        ]),
        imports: lines(&was.imports, &is.imports),
        grants: lines(&was.grants, &is.grants),
        settings: entries(&old.settings, &new.settings),
        schema: entries(&by_key(&old.schema), &by_key(&new.schema)),
    }
}

fn fields<const N: usize>(all: [(&str, Value, Value); N]) -> Vec<FieldChange> {
    let differing = all.into_iter().filter(|(_, old, new)| old != new);
    differing
        .map(|(what, old, new)| FieldChange {
            what: what.to_owned(),
            old: Some(old),
            new: Some(new),
        })
        .collect()
}

fn lines<'a>(
    old: impl IntoIterator<Item = &'a String>,
    new: impl IntoIterator<Item = &'a String>,
) -> LineChanges {
    let (old, new): (BTreeSet<&String>, BTreeSet<&String>) =
        (old.into_iter().collect(), new.into_iter().collect());
    let only = |these: &BTreeSet<&String>, others| {
        these.difference(others).map(|line| (*line).clone()).collect()
    };
    LineChanges { new: only(&new, &old), gone: only(&old, &new) }
}

fn entries(
    old: &serde_json::Map<String, Value>,
    new: &serde_json::Map<String, Value>,
) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differing = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    differing
        .map(|name| FieldChange {
            what: name.clone(),
            old: old.get(name).cloned(),
            new: new.get(name).cloned(),
        })
        .collect()
}

/// Returns the settings that a plugin declares, by name.
fn by_key(schema: &[Value]) -> serde_json::Map<String, Value> {
    let key = |declared: &Value| {
        declared.get("key").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    schema.iter().map(|declared| (key(declared), declared.clone())).collect()
}

fn put(text: &mut String, before: &str, field: &FieldChange) {
    let value = |value: &Option<Value>| match (value, field.what.as_str()) {
        (None, _) => "nothing".to_owned(),
        // A plugin may have settings of these names, which are no sizes and no digests.
        (Some(Value::Number(bytes)), "size") if before.trim().is_empty() => {
            format_size(bytes.as_u64().unwrap_or_default())
        }
        (Some(Value::String(digest)), "digest") if before.trim().is_empty() => short(digest),
        (Some(Value::String(words)), _) if words.is_empty() => "nothing".to_owned(),
        (Some(Value::String(words)), _) => line(words),
        (Some(other), _) => line(&other.to_string()),
    };
    let _ = writeln!(
        text,
        "{before}{}: {} -> {}",
        line(&field.what),
        value(&field.old),
        value(&field.new)
    );
}

fn put_lines(text: &mut String, what: &str, lines: &LineChanges) {
    for (mark, all) in [("-", &lines.gone), ("+", &lines.new)] {
        for one in all {
            let _ = writeln!(text, "    {what}: {mark} {}", line(one));
        }
    }
}

/// Shortens a digest to what is enough to distinguish two by eye.
fn short(digest: &str) -> String {
    one_line(digest.get(..19).unwrap_or(digest), MOST)
}

fn line(text: &str) -> String {
    one_line(text, MOST)
}
