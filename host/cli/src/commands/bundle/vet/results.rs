//! What came of a vetting, as it is signed. Bounded: counts by plugin and label, no row of the material.

use super::ear::Heard;
use super::material::File;
use portcullis_bundle::{Component, Digest};
use portcullis_core::text::one_line;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The layout of these results.
const FORMAT: u8 = 1;
/// Labels that are told apart; the others are counted together.
const MOST_LABELS: usize = 16;
/// What the others are counted under.
const OTHERS: &str = "other labels";
/// Failed cases that are named, for each plugin.
const MOST_NAMED: usize = 10;
/// The label of actions to which nobody should object.
pub const BENIGN: &str = "benign";

/// All of it.
#[derive(Serialize)]
pub struct Results {
    format: u8,
    /// What ran it.
    program: String,
    /// What the plugins were granted: nothing, whatever they ask for.
    granted: [String; 0],
    /// To how many percent of benign actions a plugin may object.
    most_flagged: f64,
    pub material: Vec<File>,
    pub components: Vec<Part>,
    pub plugins: Vec<Row>,
    /// By label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub corpus: BTreeMap<String, Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// What speaks against the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Why it is signed nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub despite: Option<String>,
}

/// A component: what it is and asks for.
#[derive(Serialize)]
pub struct Part {
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
    /// How often it failed, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    pub fuel: Fuel,
    /// The most of a call, in bytes.
    pub memory_most: u64,
    /// Of a call, in microseconds, on the machine that vetted it.
    pub time_us_median: u64,
    /// Labelled actions to which it alone would have objected, by label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objected: BTreeMap<String, u64>,
    /// Events of sessions to which it alone would have objected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objected_in_sessions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<Cases>,
    /// The first fault, for people.
    #[serde(skip)]
    pub first_fault: Option<String>,
}

/// The fuel of a call; the same on every machine.
#[derive(Default, Serialize)]
pub struct Fuel {
    pub median: u64,
    pub most: u64,
}

/// Cases of a plugin.
#[derive(Default, Serialize)]
pub struct Cases {
    pub played: u64,
    pub failed: u64,
    /// The first of those that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
}

/// What actions of one label came to.
#[derive(Default, Serialize)]
pub struct Label {
    /// How many were reviewed.
    pub actions: u64,
    /// Objected to without the bundle.
    pub without: u64,
    /// Objected to with it.
    pub with: u64,
    /// Rows that name no action.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What sessions came to.
#[derive(Default, Serialize)]
pub struct Sessions {
    pub sessions: u64,
    pub steps: u64,
    /// Steps whose verdict, patterns, interventions or faults would be others with the bundle.
    pub differing: u64,
    pub stricter: u64,
    pub milder: u64,
}

impl Results {
    /// Before anything is tried; a plugin may object to `most_flagged` percent of benign actions.
    pub fn of(material: &[File], components: &[Component], most_flagged: f64) -> Self {
        let part = |component: &Component| Part {
            digest: component.digest,
            size: component.size,
            imports: component.wants.imports.clone(),
            asks: component.wants.grants.clone(),
            plugins: component.plugins.iter().map(|plugin| plugin.name.clone()).collect(),
        };
        let plugins = components.iter().flat_map(|component| &component.plugins);
        let row = |plugin: &portcullis_bundle::Plugin| Row { name: plugin.name.clone(), kind: plugin.kind.clone(), ..Row::default() };
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

    /// The name under which actions of a label are counted.
    pub fn label(&self, label: &str) -> String {
        let label = one_line(label, 64);
        if self.corpus.len() < MOST_LABELS || self.corpus.contains_key(&label) { label } else { OTHERS.to_owned() }
    }

    /// The plugin of that name.
    pub fn plugin(&mut self, name: &str) -> Option<&mut Row> {
        self.plugins.iter_mut().find(|row| row.name == name)
    }

    /// What speaks against signing it.
    pub fn judge(&mut self) {
        let benign = self.corpus.get(BENIGN).map_or(0, |label| label.actions);
        self.problems = self.plugins.iter().flat_map(|row| row.problems(benign, self.most_flagged)).collect();
        let idle: Vec<String> =
            self.plugins.iter().filter(|row| row.calls == 0 && row.faults.is_empty()).map(|row| format!("`{}`", row.name)).collect();
        if !idle.is_empty() {
            self.problems.push(format!(
                "never called by this material: {}; a corpus asks risk-calculators, a session patterns too, and cases whatever they are of",
                idle.join(", ")
            ));
        }
    }
}

impl Row {
    /// Takes what was heard of it.
    pub fn take(&mut self, heard: &Heard) {
        let (mut fuel, mut times) = (heard.fuel.clone(), heard.times.clone());
        fuel.sort_unstable();
        times.sort_unstable();
        self.calls = u64::try_from(fuel.len()).unwrap_or(u64::MAX);
        self.faults = heard.faults.clone();
        self.first_fault = heard.first_fault.as_ref().map(|fault| one_line(fault, 300));
        self.fuel = Fuel { median: middle(&fuel), most: fuel.last().copied().unwrap_or_default() };
        self.memory_most = heard.memory;
        let median: Duration = middle(&times);
        self.time_us_median = u64::try_from(median.as_micros()).unwrap_or(u64::MAX);
    }

    fn problems(&self, benign: u64, most: f64) -> Vec<String> {
        let name = &self.name;
        let mut problems = Vec::new();
        let faults: u64 = self.faults.values().sum();
        if faults > 0 {
            let kinds: Vec<String> = self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            let first = self.first_fault.as_ref().map(|first| format!("; the first: {first}")).unwrap_or_default();
            problems.push(format!("`{name}` failed {faults} times ({}){first}", kinds.join(", ")));
        }
        if let Some(cases) = self.cases.as_ref().filter(|cases| cases.failed > 0) {
            let named: Vec<String> = cases.named.iter().map(|name| format!("`{name}`")).collect();
            problems.push(format!("{} of {} cases of `{name}` came out otherwise: {}", cases.failed, cases.played, named.join(", ")));
        }
        let flagged = self.objected.get(BENIGN).copied().unwrap_or_default();
        if flagged as f64 * 100.0 > most * benign as f64 {
            let share = percent(flagged, benign);
            problems.push(format!("`{name}` objects to {flagged} of {benign} benign actions ({share}); at most {most} % are taken"));
        }
        problems
    }
}

impl Cases {
    /// One more.
    pub fn add(&mut self, name: &str, failed: bool) {
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

/// A part in per cent, for people.
pub fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}
