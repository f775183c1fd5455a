//! The cost and the faults of plugins over the fleet, from records as they were stored.
//!
//! Records hold it already: each review names the plugins that were asked, their fuel and their
//! faults. So nothing is counted while records arrive, and a page reads the newest ones.

use crate::database::Database;
use crate::failure::Failure;
use crate::scans::await_turn;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The newest reviews that are read.
const MOST: i64 = 2000;
/// The most bytes of a document that is read.
const MOST_BYTES: i32 = 128 << 10;
/// The reviews that are read at once, and the bytes of documents after which no more are.
const AT_ONCE: i32 = 100;
const MOST_READ: usize = 64 << 20;
/// The most plugins that are shown: machines choose the names.
const MOST_PLUGINS: usize = 200;

/// The figures of one version of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginFigures {
    /// The machines that asked it.
    pub machines: BTreeSet<String>,
    /// The reviews in which it was asked.
    pub asked: u64,
    /// Its fuel in all of them.
    pub fuel: u64,
    /// Its most fuel in one.
    pub most_fuel: u64,
    /// The reviews in which it failed.
    pub faults: u64,
    /// The machines on which it failed.
    pub faulty_machines: BTreeSet<String>,
    /// The reviews in which it was only watched, and those in which it would have changed the verdict.
    pub shadow: (u64, u64),
}

/// The newest reviews of the fleet, by plugin and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSample {
    /// The reviews that name plugins.
    pub reviews: u64,
    /// The reviews that name none, since their document did not come whole.
    pub unknown: u64,
    /// The machines that they are of.
    pub machines: usize,
    /// The figures, by name and version.
    pub plugins: BTreeMap<(String, String), PluginFigures>,
}

/// The part of a document that counts.
#[derive(Deserialize)]
struct SampledDocument {
    #[serde(default)]
    plugins: Vec<SampledPlugin>,
    #[serde(default)]
    shadow: Vec<SampledShadow>,
    #[serde(default)]
    faults: Vec<SampledFault>,
}

#[derive(Deserialize)]
struct SampledPlugin {
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    fuel: u64,
}

#[derive(Deserialize)]
struct SampledShadow {
    plugin: SampledPlugin,
    actual: Option<String>,
    would: Option<String>,
}

#[derive(Deserialize)]
struct SampledFault {
    source: String,
}

impl PluginFigures {
    /// Returns the fuel of a review in the mean.
    pub const fn mean_fuel(&self) -> u64 {
        match self.asked {
            0 => 0,
            asked => self.fuel / asked,
        }
    }
}

impl PluginSample {
    fn add_review(&mut self, machine: &str, document: Option<&str>) {
        let parsed = document.and_then(|text| serde_json::from_str::<SampledDocument>(text).ok());
        let Some(parsed) = parsed.filter(|parsed| !parsed.plugins.is_empty()) else {
            self.unknown += 1;
            return;
        };
        self.reviews += 1;
        let mut versions: BTreeMap<String, String> = BTreeMap::new();
        for plugin in parsed.plugins {
            versions.insert(plugin.name.clone(), plugin.version.clone());
            let Some(figures) = self.find_figures(plugin.name, plugin.version) else { continue };
            figures.machines.insert(machine.to_owned());
            figures.asked += 1;
            figures.fuel = figures.fuel.saturating_add(plugin.fuel);
            figures.most_fuel = figures.most_fuel.max(plugin.fuel);
        }
        for shadow in parsed.shadow {
            let changes = shadow.actual != shadow.would;
            let plugin = shadow.plugin;
            let Some(figures) = self.find_figures(plugin.name, plugin.version) else { continue };
            figures.shadow.0 += 1;
            figures.shadow.1 += u64::from(changes);
        }
        let failed: BTreeSet<String> = parsed.faults.into_iter().map(|one| one.source).collect();
        for name in failed {
            let Some(version) = versions.get(&name).cloned() else { continue };
            let Some(figures) = self.find_figures(name, version) else { continue };
            figures.faults += 1;
            figures.faulty_machines.insert(machine.to_owned());
        }
    }

    fn find_figures(&mut self, name: String, version: String) -> Option<&mut PluginFigures> {
        let key = (name, version);
        if self.plugins.len() >= MOST_PLUGINS && !self.plugins.contains_key(&key) {
            return None;
        }
        Some(self.plugins.entry(key).or_default())
    }
}

/// Reads the newest reviews of the last day.
pub async fn sample_plugins(database: &Database) -> Result<PluginSample, Failure> {
    let _turn = await_turn().await?;
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let reviews = transaction
        .bind(
            "SELECT machine, CASE WHEN octet_length(document) <= $2 THEN document END \
             FROM records WHERE kind = 'review' AND stored_at > now() - interval '1 day' \
             ORDER BY stored_at DESC, machine DESC, journal DESC, sequence DESC LIMIT $1",
            &[&MOST, &MOST_BYTES],
        )
        .await?;
    let mut sample = PluginSample::default();
    let (mut machines, mut bytes) = (BTreeSet::new(), 0);
    // Machines choose the size of documents, so few are held at once.
    while bytes < MOST_READ {
        let rows = transaction.query_portal(&reviews, AT_ONCE).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let (machine, document): (String, Option<&str>) = (row.get(0), row.get(1));
            bytes += document.map_or(0, str::len);
            sample.add_review(&machine, document);
            machines.insert(machine);
        }
    }
    sample.machines = machines.len();
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_counted_by_version_with_their_faults() {
        let mut sample = PluginSample::default();
        let review = |fuel: u64, version: &str, faults: &str| {
            format!(
                r#"{{"plugins":[{{"name":"p","version":"{version}","fuel":{fuel}}}],"faults":{faults}}}"#
            )
        };
        sample.add_review("a", Some(&review(10, "1", "[]")));
        sample.add_review("a", Some(&review(30, "1", r#"[{"source":"p"},{"source":"p"}]"#)));
        sample.add_review("b", Some(&review(50, "2", r#"[{"source":"other"}]"#)));
        let shadow = r#"{"plugins":[{"name":"p","version":"2","fuel":1}],"shadow":
            [{"plugin":{"name":"s","version":"1"},"actual":"allow","would":"block"}]}"#;
        sample.add_review("b", Some(shadow));
        for unknown in [None, Some("{}"), Some("no JSON")] {
            sample.add_review("c", unknown);
        }
        assert_eq!((sample.reviews, sample.unknown), (4, 3));
        let of = |name: &str, version: &str| &sample.plugins[&(name.into(), version.into())];
        let first = of("p", "1");
        assert_eq!((first.asked, first.mean_fuel(), first.most_fuel, first.faults), (2, 20, 30, 1));
        assert_eq!(of("p", "2").faults, 0);
        assert_eq!(of("s", "1").shadow, (1, 1));
        assert_eq!(of("s", "1").mean_fuel(), 0);
    }
}
