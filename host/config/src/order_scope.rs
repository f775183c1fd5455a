//! The configuration in a fleet's orders, and the one rule for all its keys: orders tighten what the
//! machine's owner says, and never loosen it.
//!
//! So orders can demand more (a lower limit, the blocking mode, fewer grants of a plugin), and a key
//! in them cannot give a plugin, a project or an agent anything. A key whose values have no stricter
//! direction is not for orders at all, and neither is one that names a file or a program of the
//! machine: such orders are refused as a whole, before they count.

use crate::keys::{ConfigKey, ProjectScope};
use crate::parse::{ConfigDocument, KeyValue};
use crate::profiles::{PROFILE, PROFILE_NAMES, profile_values};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;

/// Keys that no project tightens without trust, and orders do: the values of them that count.
const OF_ORDERS: &[(&str, ProjectScope)] = &[
    ("mode", ProjectScope::Word("blocking")),
    ("reviewer.enabled", ProjectScope::True),
    (PROFILE, ProjectScope::Later),
    ("scope.folders", ProjectScope::Intersection),
    ("approvals.two_people", ProjectScope::Later),
    ("fleet.approvals", ProjectScope::True),
    ("rules.disabled", ProjectScope::Common),
    ("rules.warn_external_network.trusted_hosts", ProjectScope::Common),
    ("run.writable", ProjectScope::Intersection),
    ("plugins.*.on_fault", ProjectScope::Later),
    ("plugins.*.shadow", ProjectScope::False),
    ("plugins.*.grants.clocks", ProjectScope::False),
    ("plugins.*.grants.random", ProjectScope::Word("fixed")),
    ("plugins.*.grants.environment", ProjectScope::Common),
    ("plugins.*.grants.directories", ProjectScope::Intersection),
    ("plugins.*.grants.project", ProjectScope::False),
    ("plugins.*.grants.hosts", ProjectScope::Common),
];

/// Keys that an untrusted project tightens, and orders do not, since they name files.
const OF_PROJECTS: &[&str] = &["rules.files"];

/// Returns the values of a key that count in orders; none if it is not for orders.
#[must_use]
pub fn order_scope(key: &ConfigKey) -> Option<ProjectScope> {
    if let Some((_, scope)) = OF_ORDERS.iter().find(|(path, _)| *path == key.path) {
        return Some(*scope);
    }
    let tightens =
        !matches!(key.project, ProjectScope::Trust | ProjectScope::Never | ProjectScope::Owner);
    (tightens && !OF_PROJECTS.contains(&key.path)).then_some(key.project)
}

/// Returns the keys of orders with the values of the profile that they name, if they name one.
pub(crate) fn expand_profile(said: &[KeyValue]) -> Vec<KeyValue> {
    let mut all = Vec::with_capacity(said.len());
    for said in said {
        let Value::Text(name) = &said.value else {
            all.push(said.clone());
            continue;
        };
        if said.key.path == PROFILE {
            let place = said.place;
            all.extend(values_at_least(name).into_iter().map(|said| KeyValue { place, ..said }));
        } else {
            all.push(said.clone());
        }
    }
    all
}

/// Returns the values of a profile, with the defaults of what only a milder one sets: a machine with
/// that one is not as strict otherwise.
fn values_at_least(profile: &str) -> Vec<KeyValue> {
    let mut values = profile_values(profile);
    let milder = PROFILE_NAMES.iter().take_while(|name| **name != profile);
    for said in milder.flat_map(|name| profile_values(name)) {
        if !values.iter().any(|own| own.path == said.path)
            && let Some(value) = (said.key.default)()
        {
            values.push(KeyValue { value, ..said });
        }
    }
    values
}

/// Returns the first thing that is not for orders, with its position.
pub(crate) fn find_foreign(document: &ConfigDocument) -> Option<((usize, usize), String)> {
    if let Some(pipeline) = document.pipelines.first() {
        let what = "orders have no pipelines: they are for all projects of a machine";
        return Some((pipeline.place, what.to_owned()));
    }
    let said = document.said.iter().find(|said| order_scope(said.key).is_none())?;
    let path = one_line(&said.path, 128);
    Some((said.place, format!("`{path}` is not for orders, which can only tighten; leave it out")))
}
