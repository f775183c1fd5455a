//! Generates any valid file: each key of the table may be in it, with any of its values.

use crate::keys::{ConfigKey, ValueKind, all_keys, find_by_name, toml_text};
use crate::plugins::{Type, declared_settings};
use portcullis_core::intervene::InterventionKind;
use portcullis_engine::SettingValue as Value;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;

const PATHS: &[&str] = &[
    "/",
    "/tmp",
    "/tmp/a",
    "/var",
    "/var/tmp",
    "~/.cache",
    "~/.cache/x",
    "~/",
    "/dev/shm",
    "/tmpx",
];
const NUMBERS: &[i64] = &[0, 1, 2, 50, 99, 100, 101, 36_500, 1_000_000_000];

/// A valid file.
pub(super) fn document() -> impl Strategy<Value = String> {
    let line = |key: &'static ConfigKey| proptest::option::weighted(0.3, said(key));
    let keys: Vec<_> =
        all_keys().filter(|key| !key.path.starts_with("pipelines.")).map(line).collect();
    let below: Vec<_> = all_keys()
        .filter(|key| !key.path.starts_with("pipelines.") && !key.is_global())
        .map(line)
        .collect();
    let pipeline =
        proptest::option::weighted(0.3, (select(vec!["/**", "/srv/*", "~/work/*"]), below));
    (keys, pipeline).prop_map(|(lines, pipeline)| {
        let mut text: String = lines.into_iter().flatten().map(|line| line + "\n").collect();
        if let Some((projects, lines)) = pipeline {
            text.push_str(&format!("[pipelines.some]\nprojects = [\"{projects}\"]\n"));
            text.extend(lines.into_iter().flatten().map(|line| line + "\n"));
        }
        text
    })
}

/// Returns a valid line with a key.
pub(super) fn sample_line(key: &'static ConfigKey) -> String {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    said(key).new_tree(&mut runner).unwrap().current()
}

/// A line with a key and a value.
fn said(key: &'static ConfigKey) -> BoxedStrategy<String> {
    if key.kind == ValueKind::Setting {
        return setting();
    }
    let name = match key.path {
        "interventions.plugins.*" => select(vec!["soft_correction", "emergency_stop"]),
        path if path.starts_with("plugins.") => {
            select(vec!["risk", "scope-creep", "emergency-stop", "mine"])
        }
        _ => select(vec!["loop"]),
    };
    (name, value_of(key))
        .prop_map(|(name, value)| {
            format!("{} = {}", key.path.replace('*', name), toml_text(&value))
        })
        .boxed()
}

/// A value; thresholds stay in order.
fn value_of(key: &ConfigKey) -> BoxedStrategy<Value> {
    let share = |range: std::ops::RangeInclusive<u16>| {
        range.prop_map(|score| Value::Decimal(f64::from(score) / 1000.0)).boxed()
    };
    match key.path {
        "risk.negligible" | "rationality.low" => share(0..=300),
        "risk.medium" | "rationality.medium" => share(300..=600),
        "risk.high" => share(600..=800),
        "rationality.high" => share(600..=1000),
        "risk.critical" => share(800..=1000),
        "interventions.score_thresholds.context_reinforcement" => share(0..=300),
        "interventions.score_thresholds.resource_throttling" => share(300..=500),
        "interventions.score_thresholds.checkpoint_rollback" => share(500..=700),
        "interventions.score_thresholds.emergency_stop" => share(700..=1000),
        _ => value(key.kind),
    }
}

/// Four answers, none milder than the one before it.
fn ladder() -> BoxedStrategy<Value> {
    let kinds: Vec<String> = InterventionKind::ALL.iter().map(ToString::to_string).collect();
    let own = |mut kinds: Vec<String>| {
        let strictest = kinds.pop().map(|last| format!("{last}:mine"));
        kinds.extend(strictest);
        Value::Texts(kinds)
    };
    (subsequence(kinds, 4), any::<bool>())
        .prop_map(move |(kinds, is_own)| if is_own { own(kinds) } else { Value::Texts(kinds) })
        .boxed()
}

fn value(kind: ValueKind) -> BoxedStrategy<Value> {
    let texts = |items: &[&'static str]| {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        let most = items.len();
        subsequence(items, 0..=most).prop_map(Value::Texts)
    };
    match kind {
        ValueKind::Choice(words) => select(words).prop_map(|word| Value::Text(word.into())).boxed(),
        ValueKind::Choices(words) => texts(words).boxed(),
        ValueKind::Answers => ladder(),
        ValueKind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        ValueKind::Integer(least, most) => {
            let numbers: Vec<i64> =
                NUMBERS.iter().copied().filter(|number| (least..=most).contains(number)).collect();
            select(numbers).prop_map(Value::Integer).boxed()
        }
        ValueKind::Score => {
            (0..=1000_u16).prop_map(|score| Value::Decimal(f64::from(score) / 1000.0)).boxed()
        }
        ValueKind::PathGlobs => texts(&["src/**", "/srv/*", "~/notes/**"]).boxed(),
        ValueKind::Plugins => texts(&["all", "scope-creep", "mine"]).boxed(),
        ValueKind::Text | ValueKind::Path => "[ -~]{1,12}".prop_map(Value::Text).boxed(),
        ValueKind::Paths | ValueKind::Globs => texts(PATHS).boxed(),
        ValueKind::File => Just(Value::Text("prompts.toml".into())).boxed(),
        ValueKind::Files => texts(&["rules.toml", "team/rules.toml"]).boxed(),
        ValueKind::Variables => texts(&["CI", "LANG", "_a1"]).boxed(),
        ValueKind::Hosts => texts(&[
            "https://api.example.org",
            "http://[fd00::1]:8080",
            "https://intranet.example=10.0.0.0/8",
        ])
        .boxed(),
        ValueKind::Tools => texts(&["a/b", "*/delete_*", "files/*"]).boxed(),
        ValueKind::Patterns => texts(&["EMP-[0-9]{6}", "\\bK[0-9]+\\b"]).boxed(),
        ValueKind::Names => texts(&["a", "\"", "b c"]).boxed(),
        ValueKind::Setting => prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            (-1e9..1e9).prop_map(Value::Decimal),
            any::<bool>().prop_map(Value::Flag),
            "\\PC{0,8}".prop_map(Value::Text),
            texts(&["a", "\"", "\n"]),
        ]
        .boxed(),
    }
}

/// A setting of a builtin plugin as declared, or any setting of another plugin.
fn setting() -> BoxedStrategy<String> {
    let mut strategies = vec![
        value(ValueKind::Setting)
            .prop_map(|value| format!("plugins.mine.settings.a.b = {}", toml_text(&value)))
            .boxed(),
        value(ValueKind::Setting)
            .prop_map(|value| format!("plugins.mine.settings.\"c d\" = {}", toml_text(&value)))
            .boxed(),
    ];
    for builtin in portcullis_builtin::ALL {
        // The builtin rules' settings are keys of the table too, and a file may set each only once.
        let declared = declared_settings(builtin.name).unwrap_or_default();
        for setting in declared.into_iter().filter(|setting| {
            builtin.name != "rules" || find_by_name(&format!("rules.{}", setting.key)).is_none()
        }) {
            let key = setting.key.replace('*', "loop");
            let path = format!("plugins.{}.settings.{key}", builtin.name);
            let quoted = format!("plugins.{}.settings.\"{key}\"", builtin.name);
            let (least, most) = (setting.minimum.unwrap_or(0.0), setting.maximum.unwrap_or(1000.0));
            let value = match setting.kind {
                Type::Text => "[a-z]{0,5}".prop_map(Value::Text).boxed(),
                Type::Integer => (least as i64..=most as i64).prop_map(Value::Integer).boxed(),
                Type::Decimal => (least..=most).prop_map(Value::Decimal).boxed(),
                Type::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
                Type::Texts => {
                    select(vec![vec![], vec!["a".to_owned()]]).prop_map(Value::Texts).boxed()
                }
            };
            strategies.push(
                (select(vec![path, quoted]), value)
                    .prop_map(|(path, value)| format!("{path} = {}", toml_text(&value)))
                    .boxed(),
            );
        }
    }
    proptest::strategy::Union::new(strategies).boxed()
}
