//! A fleet's orders: every key tightens what the machine's owner says, or is not for orders.

use super::arbitrary::sample_line;
use super::{PERSON, PROJECT, file};
use crate::keys::{all_keys, toml_text};
use crate::layers::{IgnoreReason, Layer, LayerContext, MergedSettings, merge_layers};
use crate::order_scope::order_scope;
use crate::reading::parse_orders;
use portcullis_engine::SettingValue as Value;
use std::collections::BTreeSet;
use std::path::Path;

/// For each key that is for orders: lines with its values, from the loosest to the strictest.
#[rustfmt::skip]
const CHAINS: &[(&str, &[&str])] = &[
    ("mode", &["mode = \"observe\"", "mode = \"blocking\""]),
    ("profile", &["profile = \"relaxed\"", "profile = \"strict\""]),
    ("reviewer.enabled", &["reviewer.enabled = false", "reviewer.enabled = true"]),
    ("reviewer.first_time", &["reviewer.first_time = true", "reviewer.first_time = false"]),
    ("risk.negligible", &["risk.negligible = 0.35", "risk.negligible = 0.3", "risk.negligible = 0.1"]),
    ("risk.medium", &["risk.medium = 0.65", "risk.medium = 0.6", "risk.medium = 0.5"]),
    ("risk.high", &["risk.high = 0.9", "risk.high = 0.8", "risk.high = 0.7"]),
    ("risk.critical", &["risk.critical = 0.99", "risk.critical = 0.95", "risk.critical = 0.9"]),
    ("risk.named", &["risk.named = 0.9", "risk.named = 0.1"]),
    ("rationality.high", &["rationality.high = 0.7", "rationality.high = 0.8", "rationality.high = 0.9"]),
    ("rationality.medium", &["rationality.medium = 0.4", "rationality.medium = 0.5", "rationality.medium = 0.6"]),
    ("rationality.low", &["rationality.low = 0.1", "rationality.low = 0.4"]),
    ("durability", &["durability = \"process\"", "durability = \"full\""]),
    ("hold_settings", &["hold_settings = false", "hold_settings = true"]),
    ("scope.folders", &["scope.folders = [\"/srv\", \"/opt\"]", "scope.folders = [\"/srv\"]", "scope.folders = [\"/srv/a\"]", "scope.folders = []"]),
    ("scope.paths", &["scope.paths = []", "scope.paths = [\"src/**\"]"]),
    ("scope.scratch", &["scope.scratch = [\"/tmp\", \"/var/tmp\"]", "scope.scratch = [\"/tmp\"]", "scope.scratch = [\"/tmp/a\"]"]),
    ("limits.file_operations", &["limits.file_operations = 200", "limits.file_operations = 100", "limits.file_operations = 9"]),
    ("limits.memory_mb", &["limits.memory_mb = 40000", "limits.memory_mb = 9"]),
    ("limits.execution_time_seconds", &["limits.execution_time_seconds = 40000", "limits.execution_time_seconds = 9"]),
    ("limits.token_usage", &["limits.token_usage = 9000000", "limits.token_usage = 9"]),
    ("limits.processes", &["limits.processes = 2000", "limits.processes = 9"]),
    ("limits.output_mb", &["limits.output_mb = 300", "limits.output_mb = 9"]),
    ("approvals.two_people", &["approvals.two_people = \"never\"", "approvals.two_people = \"high\"", "approvals.two_people = \"low\""]),
    ("rules.builtin", &["rules.builtin = \"none\"", "rules.builtin = \"all\""]),
    ("rules.disabled", &["rules.disabled = [\"a\", \"b\"]", "rules.disabled = [\"a\"]", "rules.disabled = []"]),
    ("rules.limit_file_operations.warn_at", &["rules.limit_file_operations.warn_at = 0.9", "rules.limit_file_operations.warn_at = 0.2"]),
    ("rules.warn_external_network.fetching", &["rules.warn_external_network.fetching = false", "rules.warn_external_network.fetching = true"]),
    ("rules.warn_external_network.trusted_hosts", &["rules.warn_external_network.trusted_hosts = [\"a\", \"b\"]", "rules.warn_external_network.trusted_hosts = [\"b\"]"]),
    ("mcp.hide", &["mcp.hide = []", "mcp.hide = [\"a/b\"]", "mcp.hide = [\"a/b\", \"c/*\"]"]),
    ("interventions.enabled", &["interventions.enabled = false", "interventions.enabled = true"]),
    ("interventions.soft_correction", &["interventions.soft_correction = false", "interventions.soft_correction = true"]),
    ("interventions.context_reinforcement", &["interventions.context_reinforcement = false", "interventions.context_reinforcement = true"]),
    ("interventions.resource_throttling", &["interventions.resource_throttling = false", "interventions.resource_throttling = true"]),
    ("interventions.checkpoint_rollback", &["interventions.checkpoint_rollback = false", "interventions.checkpoint_rollback = true"]),
    ("interventions.emergency_stop", &["interventions.emergency_stop = false", "interventions.emergency_stop = true"]),
    ("patterns.enabled", &["patterns.enabled = []", "patterns.enabled = [\"scope-creep\"]", "patterns.enabled = [\"scope-creep\", \"goal-drift\"]"]),
    ("patterns.sensitivity", &["patterns.sensitivity = \"low\"", "patterns.sensitivity = \"medium\"", "patterns.sensitivity = \"high\""]),
    ("mask.personal", &["mask.personal = []", "mask.personal = [\"email\"]", "mask.personal = [\"email\", \"payment-card\"]"]),
    ("mask.results", &["mask.results = false", "mask.results = true"]),
    ("fleet.approvals", &["fleet.approvals = false", "fleet.approvals = true"]),
    ("performance.async_threshold", &["performance.async_threshold = 0.9", "performance.async_threshold = 0.1"]),
    ("checkpoints.enabled", &["checkpoints.enabled = false", "checkpoints.enabled = true"]),
    ("checkpoints.on_failure", &["checkpoints.on_failure = \"ignore\"", "checkpoints.on_failure = \"warn\"", "checkpoints.on_failure = \"ask\""]),
    ("run.time_seconds", &["run.time_seconds = 900", "run.time_seconds = 9"]),
    ("run.memory_mb", &["run.memory_mb = 900", "run.memory_mb = 9"]),
    ("run.tokens", &["run.tokens = 900", "run.tokens = 9"]),
    ("run.processes", &["run.processes = 900", "run.processes = 9"]),
    ("run.output_mb", &["run.output_mb = 900", "run.output_mb = 9"]),
    ("run.answer_seconds", &["run.answer_seconds = 900", "run.answer_seconds = 9"]),
    ("run.grace_ms", &["run.grace_ms = 900", "run.grace_ms = 9"]),
    ("run.confine", &["run.confine = false", "run.confine = true"]),
    ("run.writable", &["run.writable = [\"/srv\"]", "run.writable = [\"/srv/a\"]", "run.writable = []"]),
    ("plugins.*.enabled", &["plugins.scope-creep.enabled = false", "plugins.scope-creep.enabled = true"]),
    ("plugins.*.on_fault", &["plugins.mine.on_fault = \"warn\"", "plugins.mine.on_fault = \"ask\"", "plugins.mine.on_fault = \"block\""]),
    ("plugins.*.shadow", &["plugins.mine.shadow = true", "plugins.mine.shadow = false"]),
    ("plugins.*.grants.clocks", &["plugins.mine.grants.clocks = true", "plugins.mine.grants.clocks = false"]),
    ("plugins.*.grants.random", &["plugins.mine.grants.random = \"system\"", "plugins.mine.grants.random = \"fixed\""]),
    ("plugins.*.grants.environment", &["plugins.mine.grants.environment = [\"A\", \"B\"]", "plugins.mine.grants.environment = [\"A\"]", "plugins.mine.grants.environment = []"]),
    ("plugins.*.grants.directories", &["plugins.mine.grants.directories = [\"/srv\", \"/opt\"]", "plugins.mine.grants.directories = [\"/srv\"]", "plugins.mine.grants.directories = [\"/srv/a\"]"]),
    ("plugins.*.grants.project", &["plugins.mine.grants.project = true", "plugins.mine.grants.project = false"]),
    ("plugins.*.grants.hosts", &["plugins.mine.grants.hosts = [\"https://a\", \"https://b\"]", "plugins.mine.grants.hosts = [\"https://b\"]"]),
];

/// Merges the person's file, orders and a trusted project's file.
fn merged(own: &str, orders: &str, project: &str) -> MergedSettings {
    let files = [(Layer::User, own), (Layer::Orders, orders), (Layer::Project, project)];
    let files: Vec<_> = files.iter().map(|(layer, text)| file(*layer, text)).collect();
    merge_layers(
        &files,
        &LayerContext {
            person: PERSON,
            project: Some(Path::new(PROJECT)),
            trusted: true,
            pipeline: None,
        },
    )
}

/// Returns the values in force of everything that the lines name, as text.
fn values(settled: &MergedSettings, lines: &[&str]) -> Vec<String> {
    let mut paths: BTreeSet<String> = BTreeSet::new();
    for line in lines {
        let read = file(Layer::User, line);
        for said in crate::order_scope::expand_profile(&read.document.said) {
            paths.insert(said.path);
        }
    }
    let value = |path: &String| {
        let entry = settled.entries.get(path).map(|entry| entry.said.value.clone());
        let default = || crate::keys::find_by_name(path).and_then(|key| (key.default)());
        match entry.or_else(default) {
            Some(Value::Texts(mut items)) => {
                items.sort();
                toml_text(&Value::Texts(items))
            }
            value => value.as_ref().map(toml_text).unwrap_or_default(),
        }
    };
    paths.iter().map(value).collect()
}

#[test]
fn every_key_tightens_or_is_not_for_orders() {
    for key in all_keys().filter(|key| key.path != "pipelines.*.projects") {
        let chain = CHAINS.iter().find(|(path, _)| *path == key.path);
        assert_eq!(
            order_scope(key).is_some(),
            chain.is_some(),
            "`{}` has to be in the table if it is for orders, and only then",
            key.path
        );
        let Some((_, lines)) = chain else {
            let line = sample_line(key);
            let refused = parse_orders(&line, Path::new("orders")).unwrap_err().to_string();
            assert!(refused.contains("not for orders"), "{line}: {refused}");
            continue;
        };
        assert!(lines.len() > 1, "{}", key.path);
        for (own, own_line) in lines.iter().enumerate() {
            for (ordered, line) in lines.iter().enumerate() {
                parse_orders(line, Path::new("orders")).unwrap();
                let expected = lines[own.max(ordered)];
                // A profile stands below what a file says; orders say its values.
                let expected = values(&merged(expected, "", ""), lines);
                let found = values(&merged(own_line, line, ""), lines);
                assert_eq!(found, expected, "{own_line} with the orders {line}");
                // A project that a person trusts loosens nothing of it.
                let loosest = if key.is_owners() { "" } else { lines[0] };
                let with_project = values(&merged(own_line, line, loosest), lines);
                assert_eq!(with_project, expected, "{own_line}, orders {line}, project {loosest}");
            }
        }
    }
}

/// Rows: the person's file, orders, the key, and its value in force.
#[test]
fn orders_give_nothing_that_the_owner_has_not() {
    let grants = |what: &str| format!("[plugins.mine.grants]\n{what}");
    let ten = "https://intranet.example=10.0.0.1";
    let (one, net) = (
        grants(&format!("hosts = [\"{ten}\"]")),
        grants("hosts = [\"https://intranet.example=10.0.0.0/8\"]"),
    );
    #[rustfmt::skip]
    let rows: &[(&str, &str, &str, &str)] = &[
        ("", &grants("directories = [\"/\"]"), "plugins.mine.grants.directories", "nothing"),
        (&grants("directories = [\"/srv\"]"), &grants("directories = [\"/\"]"), "plugins.mine.grants.directories", "[\"/srv\"]"),
        (&grants("directories = [\"/srv\"]"), &grants("directories = [\"/etc\"]"), "plugins.mine.grants.directories", "nothing"),
        ("", &grants("project = true"), "plugins.mine.grants.project", "nothing"),
        ("", &grants("clocks = true"), "plugins.mine.grants.clocks", "nothing"),
        ("", &grants("random = \"system\""), "plugins.mine.grants.random", "\"fixed\""),
        ("", &grants("environment = [\"A\"]"), "plugins.mine.grants.environment", "nothing"),
        (&grants("environment = [\"A\"]"), &grants("environment = [\"B\"]"), "plugins.mine.grants.environment", "nothing"),
        ("", &grants("hosts = [\"https://a\"]"), "plugins.mine.grants.hosts", "nothing"),
        (&one, &net, "plugins.mine.grants.hosts", "nothing"),
        ("", "plugins.mine.on_fault = \"block\"", "plugins.mine.on_fault", "\"block\""),
        ("", "plugins.mine.on_fault = \"warn\"", "plugins.mine.on_fault", "nothing"),
        // Its default.
        ("", "plugins.mine.enabled = true", "plugins.mine.enabled", "true"),
        ("plugins.mine.enabled = false", "plugins.mine.enabled = true", "plugins.mine.enabled", "nothing"),
        ("mode = \"observe\"", "mode = \"async\"", "mode", "\"observe\""),
        ("scope.paths = [\"docs/**\"]", "scope.paths = [\"src/**\"]", "scope.paths", "[\"docs/**\"]"),
        ("", "scope.paths = [\"/etc/**\"]", "scope.paths", "nothing"),
    ];
    for (own, orders, path, expected) in rows {
        let settled = merged(own, orders, "");
        let value = settled.entries.get(*path).map(|entry| toml_text(&entry.said.value));
        let value = match value.as_deref() {
            None | Some("[]" | "false") => "nothing",
            Some(value) => value,
        };
        assert_eq!(value, *expected, "{own} with the orders {orders}");
    }
}

#[test]
fn a_person_sees_what_orders_changed_and_what_they_did_not() {
    let settled = merged(
        "limits.processes = 7\nmode = \"observe\"",
        "limits.processes = 9\nmode = \"blocking\"",
        "",
    );
    let why = |path: &str| {
        let ignored = settled.ignored.iter().find(|ignored| ignored.path == path).unwrap();
        (ignored.layer, ignored.why)
    };
    assert_eq!(why("limits.processes"), (Layer::Orders, IgnoreReason::Looser));
    assert_eq!(why("mode"), (Layer::User, IgnoreReason::Overridden(Layer::Orders)));
    assert_eq!(settled.entries["mode"].origin.layer, Layer::Orders);
    assert_eq!(settled.entries["limits.processes"].origin.layer, Layer::User);
    // The command line of `run` may not exceed them either.
    let settled = merged("run.tokens = 900", "run.tokens = 90", "run.tokens = 9");
    assert_eq!(settled.held["run.tokens"], Value::Integer(90));
    assert_eq!(settled.entries["run.tokens"].said.value, Value::Integer(9));
}

#[test]
fn orders_have_no_pipelines_and_no_mistakes() {
    for (text, said) in [
        ("", ""),
        ("[pipelines.a]\nprojects = [\"/**\"]\nmode = \"blocking\"", "no pipelines"),
        ("mode = \"off\"", "must be one of"),
        ("modes = 1", "unknown"),
        ("mode", "not TOML"),
        ("[notifications.channels.a]\nkind = \"program\"", "not for orders"),
        ("plugins_dir = \"/tmp\"", "not for orders"),
        ("fleet.detail = \"full\"", "not for orders"),
    ] {
        let problem = parse_orders(text, Path::new("orders")).err().map(|found| found.to_string());
        assert_eq!(problem.is_none(), said.is_empty(), "{text}: {problem:?}");
        assert!(problem.unwrap_or_default().contains(said), "{text}");
    }
}

/// The page has a row for each key that is for orders.
#[test]
fn the_page_on_orders_has_every_key_as_it_is() {
    let expected: Vec<String> = all_keys()
        .filter_map(|key| {
            let scope = order_scope(key)?;
            let name = key.path.replace('*', "NAME");
            Some(format!("| `{name}` | {} |", scope.in_words()))
        })
        .collect();
    let page = include_str!("../../../docs/fleet-orders.md");
    let section = page.split_once("\n## Keys\n").and_then(|(_, rest)| rest.split("\n## ").next());
    let rows: Vec<&str> = section.unwrap().lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows, expected, "host/docs/fleet-orders.md should have:\n{}", expected.join("\n"));
}
