//! The results of a vetting, as they are signed. They are bounded: counts by plugin and label, no
//! row of the material.

use super::material::File;
use super::observer::PluginObservations;
use portcullis_bundle::{Component, Digest};
use portcullis_core::text::one_line;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The format version of these results.
const FORMAT: u8 = 1;
/// The most labels that are counted separately; the others are counted together.
const MOST_LABELS: usize = 16;
/// The label under which the others are counted.
const OTHERS: &str = "other labels";
/// The most failed cases that are named, for each plugin.
const MOST_NAMED: usize = 10;
/// The label of actions to which nobody should object.
pub const BENIGN: &str = "benign";

/// All results of a vetting.
#[derive(Serialize)]
pub struct Results {
    format: u8,
    /// The program that ran the vetting.
    program: String,
    /// The grants of the plugins: always none, whatever they request.
    granted: [String; 0],
    /// The highest percentage of benign actions that a plugin may object to.
    most_flagged: f64,
    pub material: Vec<File>,
    pub components: Vec<ComponentResults>,
    pub plugins: Vec<Row>,
    /// Results for labelled actions, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub corpus: BTreeMap<String, Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// Objections to the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The reason for signing despite the objections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub despite: Option<String>,
}

/// A component and its requests.
#[derive(Serialize)]
pub struct ComponentResults {
    pub digest: Digest,
    pub size: u64,
    imports: Vec<String>,
    pub asks: Vec<String>,
    pub plugins: Vec<String>,
}

/// A plugin.
#[derive(Default, Serialize)]
pub struct Row {
    pub name: String,
    pub kind: String,
    pub calls: u64,
    /// The number of faults, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    pub fuel: Fuel,
    /// The peak memory of a call, in bytes.
    pub memory_most: u64,
    /// The median time of a call, in microseconds, on the machine that vetted it.
    pub time_us_median: u64,
    /// Labelled actions to which it alone would have objected, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objected: BTreeMap<String, u64>,
    /// Events of sessions to which it alone would have objected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objected_in_sessions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<Cases>,
    /// The first fault, in words for people.
    #[serde(skip)]
    pub first_fault: Option<String>,
}

/// The fuel of a call, which is the same on every machine.
#[derive(Default, Serialize)]
pub struct Fuel {
    pub median: u64,
    pub most: u64,
}

/// Results of a plugin's cases.
#[derive(Default, Serialize)]
pub struct Cases {
    pub played: u64,
    pub failed: u64,
    /// The first failed cases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
}

/// Results for actions of one label.
#[derive(Default, Serialize)]
pub struct Label {
    /// The number of reviewed actions.
    pub actions: u64,
    /// The number objected to without the bundle.
    pub without: u64,
    /// The number objected to with it.
    pub with: u64,
    /// The number of rows that do not contain a valid action.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Results for sessions.
#[derive(Default, Serialize)]
pub struct Sessions {
    pub sessions: u64,
    pub steps: u64,
    /// The number of steps whose verdict, patterns, interventions or faults differ with the bundle.
    pub differing: u64,
    pub stricter: u64,
    pub milder: u64,
}

impl Results {
    /// Creates empty results; a plugin may object to `most_flagged` percent of benign actions.
    pub fn for_material(material: &[File], components: &[Component], most_flagged: f64) -> Self {
        let part = |component: &Component| ComponentResults {
            digest: component.digest,
            size: component.size,
            imports: component.wants.imports.clone(),
            asks: component.wants.grants.clone(),
            plugins: component.plugins.iter().map(|plugin| plugin.name.clone()).collect(),
        };
        let plugins = components.iter().flat_map(|component| &component.plugins);
        let row = |plugin: &portcullis_bundle::Plugin| Row {
            name: plugin.name.clone(),
            kind: plugin.kind.clone(),
            ..Row::default()
        };
        Self {
            format: FORMAT,
            program: format!("portcullis {}", env!("CARGO_PKG_VERSION")),
            granted: [],
            most_flagged,
            material: material.to_vec(),
            components: components.iter().map(part).collect(),
            plugins: plugins.map(row).collect(),
            corpus: BTreeMap::new(),
            sessions: None,
            problems: Vec::new(),
            despite: None,
        }
    }

    /// Returns the label under which actions of `label` are counted.
    pub fn count_label(&self, label: &str) -> String {
        let label = one_line(label, 64);
        if self.corpus.len() < MOST_LABELS || self.corpus.contains_key(&label) {
            label
        } else {
            OTHERS.to_owned()
        }
    }

    /// Returns the plugin of that name.
    pub fn find_plugin(&mut self, name: &str) -> Option<&mut Row> {
        self.plugins.iter_mut().find(|row| row.name == name)
    }

    /// Collects the objections to signing the bundle.
    pub fn judge_rows(&mut self) {
        let benign = self.corpus.get(BENIGN).map_or(0, |label| label.actions);
        self.problems =
            self.plugins.iter().flat_map(|row| row.problems(benign, self.most_flagged)).collect();
        let idle: Vec<String> = self
            .plugins
            .iter()
            .filter(|row| row.calls == 0 && row.faults.is_empty())
            .map(|row| format!("`{}`", row.name))
            .collect();
        if !idle.is_empty() {
            self.problems.push(format!(
                "never called by this material: {}; a corpus calls risk-calculators, a session \
                 also calls patterns, and cases call their own plugin",
                idle.join(", ")
            ));
        }
    }
}

impl Row {
    /// Adds what was observed of the plugin.
    pub fn add_observations(&mut self, observations: &PluginObservations) {
        let (mut fuel, mut times) = (observations.fuel.clone(), observations.times.clone());
        fuel.sort_unstable();
        times.sort_unstable();
        self.calls = u64::try_from(fuel.len()).unwrap_or(u64::MAX);
        self.faults = observations.faults.clone();
        self.first_fault = observations.first_fault.as_ref().map(|fault| one_line(fault, 300));
        self.fuel = Fuel { median: middle(&fuel), most: fuel.last().copied().unwrap_or_default() };
        self.memory_most = observations.memory;
        let median: Duration = middle(&times);
        self.time_us_median = u64::try_from(median.as_micros()).unwrap_or(u64::MAX);
    }

    fn problems(&self, benign: u64, most: f64) -> Vec<String> {
        let name = &self.name;
        let mut problems = Vec::new();
        let faults: u64 = self.faults.values().sum();
        if faults > 0 {
            let kinds: Vec<String> =
                self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            let first = self
                .first_fault
                .as_ref()
                .map(|first| format!("; the first: {first}"))
                .unwrap_or_default();
            problems.push(format!("`{name}` failed {faults} times ({}){first}", kinds.join(", ")));
        }
        if let Some(cases) = self.cases.as_ref().filter(|cases| cases.failed > 0) {
            let named: Vec<String> = cases.named.iter().map(|name| format!("`{name}`")).collect();
            problems.push(format!(
                "{} of {} cases of `{name}` gave another result: {}",
                cases.failed,
                cases.played,
                named.join(", ")
            ));
        }
        let flagged = self.objected.get(BENIGN).copied().unwrap_or_default();
        if flagged as f64 * 100.0 > most * benign as f64 {
            let share = format_percent(flagged, benign);
            problems.push(format!(
                "`{name}` objects to {flagged} of {benign} benign actions \
                 ({share}); at most {most} % are allowed"
            ));
        }
        problems
    }
}

impl Cases {
    /// Counts one more case.
    pub fn add_case(&mut self, name: &str, failed: bool) {
        self.played += 1;
        if failed {
            self.failed += 1;
            if self.named.len() < MOST_NAMED {
                self.named.push(one_line(name, 100));
            }
        }
    }
}

fn middle<T: Copy + Default>(sorted: &[T]) -> T {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Formats a share as a percentage, for people.
pub fn format_percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}
