//! What an index says of a vetting: who, when, on what material, and with which counts. It is taken
//! from the attestation; nobody writes it.

use crate::key::KeyId;
use crate::statement::Statement;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The format of results whose counts are known here.
const RESULTS_FORMAT: u64 = 1;

/// A vetting of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedVetting {
    /// The reviewer, in their own words.
    pub reviewer: String,
    /// The id of the key that its signature names.
    pub key: KeyId,
    /// The time, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// The end of its validity, in milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The material, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub material: Vec<ListedMaterial>,
    /// The labelled actions, by label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corpus: Vec<ListedCounts>,
    /// The cost of each plugin, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<ListedUse>,
    /// The number of problems that were found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub problems: u64,
    /// The reason to sign despite them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub despite: Option<String>,
}

/// The material of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedMaterial {
    /// `corpus`, `session` or `cases`.
    pub kind: String,
    /// The number of files.
    pub files: u64,
    /// The number of actions, sessions or cases in them.
    pub holds: u64,
}

/// The objections to the actions of one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedCounts {
    /// The label.
    pub label: String,
    /// The number of actions.
    pub actions: u64,
    /// The number objected to without the bundle.
    pub without: u64,
    /// The number objected to with it.
    pub with: u64,
}

/// The cost of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedUse {
    /// Its name.
    pub name: String,
    /// The number of calls.
    pub calls: u64,
    /// The median of a call's fuel.
    pub fuel_median: u64,
    /// The median of a call's time on the reviewer's machine, in microseconds.
    pub time_us_median: u64,
    /// The most memory of a call, in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_most: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The part of a vetting's results that an index repeats.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Results {
    material: Vec<Material>,
    corpus: BTreeMap<String, Counts>,
    plugins: Vec<Row>,
    problems: Vec<Value>,
    despite: Option<String>,
}

#[derive(Deserialize)]
struct Material {
    kind: String,
    holds: u64,
}

#[derive(Deserialize)]
struct Counts {
    actions: u64,
    without: u64,
    with: u64,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    calls: u64,
    fuel: Fuel,
    time_us_median: u64,
    #[serde(default)]
    memory_most: u64,
}

#[derive(Deserialize)]
struct Fuel {
    median: u64,
}

impl ListedVetting {
    /// Describes the vetting of a statement; `None` for a statement without one. Of results in
    /// another format only the reviewer and the times are known.
    pub(super) fn of_statement(statement: &Statement, key: KeyId) -> Option<Self> {
        let vetting = statement.vetting.as_ref()?;
        let is_known =
            vetting.results.get("format").and_then(Value::as_u64) == Some(RESULTS_FORMAT);
        let results: Results = Some(&vetting.results)
            .filter(|_| is_known)
            .and_then(|results| serde_json::from_value(results.clone()).ok())
            .unwrap_or_default();
        let mut material: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for Material { kind, holds } in results.material {
            let (files, all) = material.entry(kind).or_default();
            *files += 1;
            *all = all.saturating_add(holds);
        }
        let material = material.into_iter().map(|(kind, (files, holds))| ListedMaterial {
            kind,
            files,
            holds,
        });
        let corpus =
            results.corpus.into_iter().map(|(label, Counts { actions, without, with })| {
                ListedCounts { label, actions, without, with }
            });
        let mut plugins: Vec<ListedUse> = results
            .plugins
            .into_iter()
            .map(|row| ListedUse {
                name: row.name,
                calls: row.calls,
                fuel_median: row.fuel.median,
                time_us_median: row.time_us_median,
                memory_most: row.memory_most,
            })
            .collect();
        plugins.sort_by(|a, b| a.name.cmp(&b.name));
        Some(Self {
            reviewer: vetting.reviewer.clone(),
            key,
            at: vetting.at,
            expires: statement.expires,
            material: material.collect(),
            corpus: corpus.collect(),
            plugins,
            problems: u64::try_from(results.problems.len()).unwrap_or(u64::MAX),
            despite: results.despite,
        })
    }
}
