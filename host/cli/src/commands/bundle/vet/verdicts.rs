//! Compares the verdicts of two versions of a bundle over the same material, for the person who
//! decides about an update.

use super::evaluation::Evaluation;
use super::material::MaterialPaths;
use super::results::{Results, format_percent};
use super::subjects::Subjects;
use crate::error::{Context, Result};
use portcullis_bundle::Bundle;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The changed verdicts.
#[derive(Debug, Serialize)]
pub struct Verdicts {
    /// Labelled actions, by label: objected to with the old version, and with the new one.
    pub corpus: BTreeMap<String, Count>,
    /// Labelled actions to which each plugin alone objected, by plugin and label.
    pub plugins: BTreeMap<String, BTreeMap<String, Count>>,
    /// Steps of sessions whose result differs from that without the bundle.
    pub sessions: Option<Count>,
    /// Failed calls of plugins.
    pub faults: Count,
}

/// A count with the old version and with the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The total; `None` if it is not known.
    pub of: u64,
    /// The count with the old version.
    pub old: u64,
    /// The count with the new version.
    pub new: u64,
}

/// Tries both versions on the named material.
///
/// # Errors
/// Fails if the material cannot be read, or if a version cannot be tried.
pub fn compare_verdicts(
    old: &Bundle,
    new: &Bundle,
    material: &MaterialPaths,
    places: &Paths,
) -> Result<Verdicts> {
    let tried = |bundle: &Bundle| -> Result<Results> {
        let subjects = Subjects::from_bundle(bundle, places)?;
        let material = material.read_material(&subjects)?;
        // Nothing is judged here, so plugins may object to any share.
        let mut results = Results::for_material(&material.files, &bundle.about().components, 100.0);
        Evaluation::new(&subjects, &material)?.run_material(&material, &mut results)?;
        Ok(results)
    };
    let old = tried(old).context("the old version cannot be tried")?;
    let new = tried(new).context("the new version cannot be tried")?;
    Ok(Verdicts::between(&old, &new))
}

impl Verdicts {
    /// Returns true if the new version gives another verdict, objects to other actions alone, or
    /// fails more or less often.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let counts = self.corpus.values().chain(self.plugins.values().flat_map(BTreeMap::values));
        counts.chain(&self.sessions).chain([&self.faults]).any(|count| count.old != count.new)
    }

    fn between(old: &Results, new: &Results) -> Self {
        let labels: BTreeSet<&String> = old.corpus.keys().chain(new.corpus.keys()).collect();
        let actions = |label: &str| new.corpus.get(label).map_or(0, |counts| counts.actions);
        let with = |results: &Results, label: &str| {
            results.corpus.get(label).map_or(0, |counts| counts.with)
        };
        let corpus = labels.iter().map(|label| {
            (
                (*label).clone(),
                Count { of: actions(label), old: with(old, label), new: with(new, label) },
            )
        });
        let names: BTreeSet<&String> =
            old.plugins.iter().chain(&new.plugins).map(|row| &row.name).collect();
        let alone = |results: &Results, name: &str, label: &str| {
            let row = results.plugins.iter().find(|row| row.name == name);
            row.and_then(|row| row.objected.get(label)).copied().unwrap_or_default()
        };
        let row = |name: &str| {
            let count = |label: &str| Count {
                of: actions(label),
                old: alone(old, name, label),
                new: alone(new, name, label),
            };
            labels.iter().map(|label| ((*label).clone(), count(label))).collect()
        };
        let faults =
            |results: &Results| results.plugins.iter().flat_map(|row| row.faults.values()).sum();
        let calls = new.plugins.iter().map(|row| row.calls).sum();
        let sessions = old.sessions.as_ref().zip(new.sessions.as_ref());
        Self {
            corpus: corpus.collect(),
            plugins: names.into_iter().map(|name| (name.clone(), row(name))).collect(),
            sessions: sessions.map(|(old, new)| Count {
                of: new.steps,
                old: old.differing,
                new: new.differing,
            }),
            faults: Count { of: calls, old: faults(old), new: faults(new) },
        }
    }

    /// Formats the comparison for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = "verdicts, with the old version and with the new one:\n".to_owned();
        let line = |text: &mut String, what: String, count: &Count| {
            let sign = if count.old == count.new { "=" } else { "->" };
            let old = format!("{} ({})", count.old, format_percent(count.old, count.of));
            let _ = writeln!(
                text,
                "  {what:<42} {old:>16} {sign:<2} {} ({})",
                count.new,
                format_percent(count.new, count.of)
            );
        };
        for (label, count) in &self.corpus {
            line(
                &mut text,
                format!("objects to {} ({})", one_line(label, 20), count_noun(count.of, "action")),
                count,
            );
        }
        for (plugin, labels) in &self.plugins {
            for (label, count) in labels.iter().filter(|(_, count)| count.old != count.new) {
                line(
                    &mut text,
                    format!("  {} alone, {}", one_line(plugin, 20), one_line(label, 14)),
                    count,
                );
            }
        }
        if let Some(count) = &self.sessions {
            line(&mut text, format!("steps of sessions changed ({})", count.of), count);
        }
        if self.faults.old + self.faults.new > 0 {
            line(&mut text, format!("failed calls ({})", self.faults.of), &self.faults);
        }
        text
    }
}
