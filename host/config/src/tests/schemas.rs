//! Tests that the schema accepts what the reader accepts, as far as a schema can.

use super::arbitrary::document;
use crate::layers::Layer;
use crate::plugins::declared_settings;
use crate::reading::parse_layer;
use crate::schema::json_schema;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::path::Path;

/// Returns the problems that an editor would underline.
fn invalid(schema: &Json, value: &Json, at: &str) -> Vec<String> {
    schema
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(keyword, said)| broken(schema, keyword, said, value, at))
        .collect()
}

/// Returns one keyword's objections to a value. Knows the keywords in the schema; any other one
/// fails the test.
fn broken(schema: &Json, keyword: &str, said: &Json, value: &Json, at: &str) -> Vec<String> {
    let number = |json: &Json| json.as_f64().unwrap();
    let count = || said.as_u64().unwrap();
    let list = || said.as_array().unwrap();
    let holds = match keyword {
        "$schema" | "title" | "description" | "default" | "properties" | "patternProperties" => {
            true
        }
        "type" => said
            .as_array()
            .map_or(vec![said], |types| types.iter().collect())
            .iter()
            .any(|name| is(value, name)),
        "enum" => list().contains(value),
        "minimum" => !value.is_number() || number(value) >= number(said),
        "maximum" => !value.is_number() || number(value) <= number(said),
        "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= count()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= count()),
        "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= count()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= count()),
        "pattern" => value.as_str().is_none_or(|text| matches(said, text)),
        "required" => list().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
        "anyOf" => list().iter().any(|schema| invalid(schema, value, at).is_empty()),
        "items" => {
            return value
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|item| invalid(said, item, at))
                .collect();
        }
        "propertyNames" => {
            let names = value.as_object().into_iter().flat_map(|object| object.keys());
            return names.flat_map(|name| invalid(said, &json!(name), at)).collect();
        }
        "additionalProperties" => {
            let entries = value.as_object().into_iter().flatten();
            return entries
                .flat_map(|(name, value)| {
                    property(schema, said, name, value, &format!("{at}.{name}"))
                })
                .collect();
        }
        other => panic!("`{other}` is not known here"),
    };
    if holds { Vec::new() } else { vec![format!("{at}: {keyword}")] }
}

/// Returns an object's objections to one of its properties; `others` is the schema for unlisted
/// ones.
fn property(object: &Json, others: &Json, name: &str, value: &Json, at: &str) -> Vec<String> {
    let patterns = object["patternProperties"].as_object().into_iter().flatten();
    let fitting =
        patterns.filter(|(pattern, _)| matches(&json!(pattern), name)).map(|(_, schema)| schema);
    let known: Vec<&Json> = object["properties"].get(name).into_iter().chain(fitting).collect();
    match (known.is_empty(), others) {
        (true, Json::Bool(false)) => vec![format!("{at}: additionalProperties")],
        (true, schema) => invalid(schema, value, at),
        (false, _) => known.into_iter().flat_map(|schema| invalid(schema, value, at)).collect(),
    }
}

fn is(value: &Json, name: &Json) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("`{other}` is not a type"),
    }
}

fn matches(pattern: &Json, text: &str) -> bool {
    match pattern.as_str().unwrap() {
        "^(/|~/)" => text.starts_with('/') || text.starts_with("~/"),
        "^[a-z0-9_-]{1,64}$" => crate::names::is_name(text),
        pattern if pattern.starts_with("^(soft_correction|") => crate::answers::is_answer(text),
        crate::schema::HOST => portcullis_engine::Host::parse_host(text).is_some(),
        "^[A-Za-z_][A-Za-z0-9_]*$" => crate::parse::is_variable(text),
        "\\." => text.contains('.'),
        "^[^/]+/.+$" => text
            .split_once('/')
            .is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty()),
        other => panic!("`{other}` is not known here"),
    }
}

fn judged(text: &str) -> Vec<String> {
    invalid(&json_schema(), &toml::from_str(text).unwrap(), "")
}

#[test]
fn the_schema_underlines_refused_documents() {
    for (text, expected) in [
        ("mod = 1", Some(".mod: additionalProperties")),
        ("mode = \"off\"", Some(".mode: enum")),
        ("mode = 1", Some(".mode: enum")),
        ("hold_settings = 1", Some(".hold_settings: type")),
        ("limits.file_operations = 0", Some(".limits.file_operations: minimum")),
        ("limits.file_operations = 1.5", Some(".limits.file_operations: type")),
        ("scope.folders = [\"src\"]", Some(".scope.folders: pattern")),
        ("scope = 1", Some(".scope: type")),
        ("mask.personal = [\"token\"]", Some(".mask.personal: enum")),
        ("plugins_dir = \"\"", Some(".plugins_dir: minLength")),
        ("plugins.\"My Plugin\" = {}", Some(".plugins: pattern")),
        ("plugins.mine.on_fault = \"allow\"", Some(".plugins.mine.on_fault: enum")),
        (
            "plugins.mine.grants.hosts = [\"a.example\"]",
            Some(".plugins.mine.grants.hosts: pattern"),
        ),
        ("plugins.mine.settings.x = [1]", Some(".plugins.mine.settings.x: anyOf")),
        (
            "plugins.risk.settings.scop = 1",
            Some(".plugins.risk.settings.scop: additionalProperties"),
        ),
        ("plugins.risk.settings.scope = 2", Some(".plugins.risk.settings.scope: maximum")),
        ("pipelines.x.mode = \"observe\"", Some(".pipelines.x: required")),
        ("pipelines.x.projects = []", Some(".pipelines.x.projects: minItems")),
        (
            "pipelines.x = { projects = [\"/a\"], audit = {} }",
            Some(".pipelines.x.audit: additionalProperties"),
        ),
        (
            "pipelines.x = { projects = [\"/a\"], plugins.risk.settings.scope = \"a\" }",
            Some(".pipelines.x.plugins.risk.settings.scope: type"),
        ),
        ("", None),
        ("plugins.risk.settings.\"base.network\" = 0.1", None),
        ("plugins.mine.settings.a.b.c = [\"x\"]", None),
        ("pipelines.x = { projects = [\"~/a\"], mode = \"observe\" }", None),
    ] {
        let found = judged(text);
        assert_eq!(found.first().map(String::as_str), expected, "{text}: {found:?}");
        let refused = parse_layer(Layer::User, Path::new("c"), text).is_err();
        assert_eq!(refused, expected.is_some(), "{text}");
    }
}

#[test]
fn every_builtin_plugin_is_completed() {
    let schema = json_schema();
    for builtin in portcullis_builtin::ALL {
        let plugin = &schema["properties"]["plugins"]["properties"][builtin.name]["properties"];
        assert!(
            plugin["settings"]["properties"].is_object() && plugin["enabled"].is_object(),
            "{}",
            builtin.name
        );
        assert!(declared_settings(builtin.name).is_some(), "{}", builtin.name);
    }
    assert_eq!(
        schema["properties"]["plugins"]["properties"]["risk"]["properties"]["settings"]["properties"]
            ["scope"]["default"],
        0.3
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_schema_accepts_accepted_documents(text in document()) {
        if parse_layer(Layer::User, Path::new("c"), &text).is_ok() {
            prop_assert_eq!(judged(&text), Vec::<String>::new(), "{}", text);
        }
    }
}
