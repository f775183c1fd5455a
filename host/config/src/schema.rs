//! The configuration as a JSON schema (draft 2020-12), for editors: completion, hints, red
//! underlines.
//!
//! Every valid file is valid by the schema. The reverse does not hold: for example, only `config
//! check` reports a path that contains `..`.

#![allow(
    clippy::indexing_slicing,
    reason = "every value that is indexed is an object made here, which takes a new name"
)]

use super::keys::{ConfigKey, PIPELINES, ValueKind, all_keys};
use super::plugins::{SettingDeclaration, Type, declared_settings};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::mask::MOST_PATTERNS;
use portcullis_engine::SettingValue as Value;
use serde_json::{Map, Value as Json, json};

/// Names of plugins and pipelines.
const NAME: &str = "^[a-z0-9_-]{1,64}$";
/// Paths and globs.
const PATH: &str = "^(/|~/)";
/// Hosts, with the optional addresses of a name.
pub const HOST: &str = "^https?://[A-Za-z0-9._:\\[\\]-]+(=[0-9A-Fa-f.:]+(/[0-9]{1,3})?)?$";

/// Returns the schema.
pub fn json_schema() -> Json {
    let mut root = object("What portcullis may and must do.");
    let mut pipeline = object("Keys that replace the file's others for some projects.");
    for key in all_keys() {
        match key.path.strip_prefix("pipelines.*.") {
            Some(below) => insert(&mut pipeline, below, key),
            None => {
                insert(&mut root, key.path, key);
                if !key.is_global() {
                    insert(&mut pipeline, key.path, key);
                }
            }
        }
    }
    pipeline["required"] = json!([super::keys::PROJECTS]);
    for table in [&mut root, &mut pipeline] {
        builtin_settings(table);
    }
    let mut pipelines =
        named_tables("Keys for some projects, by a name of your own; the first that fits counts.");
    pipelines["additionalProperties"] = pipeline;
    root["properties"][PIPELINES] = pipelines;
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "portcullis configuration",
    });
    if let (Json::Object(schema), Json::Object(root)) = (&mut schema, root) {
        schema.extend(root);
    }
    schema
}

/// Inserts a key into its table, creating tables as needed.
fn insert(table: &mut Json, path: &str, key: &ConfigKey) {
    let Some((name, below)) = path.split_once('.') else {
        match path {
            "*" => table["additionalProperties"] = value(key),
            "**" => *table = settings_of_any(key),
            name => table["properties"][name] = value(key),
        }
        return;
    };
    if name == "*" {
        if !table["additionalProperties"].is_object() {
            *table = named_tables("One table for each, by name.");
            table["additionalProperties"] = object("Settings of the one of that name.");
        }
        insert(&mut table["additionalProperties"], below, key);
        return;
    }
    let inner = &mut table["properties"][name];
    if inner.is_null() {
        *inner = object("");
    }
    insert(inner, below, key);
}

/// Returns the schema of an unknown plugin: its settings may have any name.
fn settings_of_any(key: &ConfigKey) -> Json {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let deeper = json!({ "type": "object" });
    json!({
        "type": "object",
        "description": key.doc,
        "additionalProperties": { "anyOf": [scalar, list, deeper] },
    })
}

/// Inserts the builtin plugins by name, with their declared settings.
fn builtin_settings(table: &mut Json) {
    let any = table["properties"]["plugins"]["additionalProperties"].clone();
    for builtin in portcullis_builtin::ALL {
        let mut settings = object("The plugin's own settings.");
        // A name with a dot is another notation for a table.
        settings["patternProperties"] = json!({ "\\.": {} });
        for setting in declared_settings(builtin.name).unwrap_or_default() {
            declare(&mut settings, &setting.key, &setting);
        }
        let mut plugin = any.clone();
        plugin["properties"]["settings"] = settings;
        table["properties"]["plugins"]["properties"][builtin.name] = plugin;
    }
}

fn declare(table: &mut Json, path: &str, setting: &SettingDeclaration) {
    match path.split_once('.') {
        None if path == "*" => table["additionalProperties"] = setting_value(setting),
        None => table["properties"][path] = setting_value(setting),
        Some((name, below)) => {
            let inner = &mut table["properties"][name];
            if inner.is_null() {
                *inner = object("");
                inner["patternProperties"] = json!({ "\\.": {} });
            }
            declare(inner, below, setting);
        }
    }
}

fn setting_value(setting: &SettingDeclaration) -> Json {
    let mut schema = match setting.kind {
        Type::Text => json!({ "type": "string" }),
        Type::Integer => json!({ "type": "integer" }),
        Type::Decimal => json!({ "type": "number" }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Texts => json!({ "type": "array", "items": { "type": "string" } }),
    };
    schema["description"] = json!(setting.description);
    schema["default"] = setting.default.clone();
    for (name, bound) in [("minimum", setting.minimum), ("maximum", setting.maximum)] {
        if let Some(bound) = bound {
            schema[name] = json!(bound);
        }
    }
    schema
}

fn value(key: &ConfigKey) -> Json {
    let mut schema = match key.kind {
        ValueKind::Choice(words) => json!({ "enum": words }),
        ValueKind::Choices(words) => json!({ "type": "array", "items": { "enum": words } }),
        ValueKind::Answers => {
            let kinds: Vec<&str> = InterventionKind::ALL.iter().map(|kind| kind.as_str()).collect();
            let answer = format!("^({})(:[a-z0-9_-]{{1,64}})?$", kinds.join("|"));
            let items = json!({ "type": "string", "pattern": answer });
            json!({ "type": "array", "items": items, "minItems": 4, "maxItems": 4 })
        }
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueKind::Score => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Path | ValueKind::File => json!({ "type": "string", "minLength": 1 }),
        ValueKind::Paths => {
            json!({ "type": "array", "items": { "type": "string", "pattern": PATH } })
        }
        ValueKind::Globs => {
            json!({
                "type": "array",
                "minItems": 1,
                "items": { "type": "string", "pattern": PATH },
            })
        }
        ValueKind::PathGlobs => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        ValueKind::Plugins => {
            json!({ "type": "array", "items": { "type": "string", "pattern": NAME } })
        }
        ValueKind::Patterns => {
            json!({
                "type": "array",
                "maxItems": MOST_PATTERNS,
                "items": { "type": "string", "minLength": 1, "maxLength": 256 },
            })
        }
        ValueKind::Variables => {
            json!({
                "type": "array",
                "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            })
        }
        ValueKind::Hosts => {
            json!({ "type": "array", "items": { "type": "string", "pattern": HOST } })
        }
        ValueKind::Tools => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[^/]+/.+$" } })
        }
        ValueKind::Files | ValueKind::Names => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        ValueKind::Setting => json!({}),
    };
    let default = if key.default_text.is_empty() {
        String::new()
    } else {
        format!("; default {}", key.default_in_words())
    };
    schema["description"] =
        json!(format!("{}{default}. In a project's file: {}", key.doc, key.project.in_words()));
    if let Some(default) = (key.default)() {
        schema["default"] = to_json(&default);
    }
    schema
}

/// Converts a value to JSON.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        Value::Decimal(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        Value::Texts(texts) => json!(texts),
    }
}

fn object(description: &str) -> Json {
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    if !description.is_empty() {
        object.insert("description".into(), json!(description));
    }
    object.insert("properties".into(), json!({}));
    object.insert("additionalProperties".into(), json!(false));
    Json::Object(object)
}

fn named_tables(description: &str) -> Json {
    json!({ "type": "object", "description": description, "propertyNames": { "pattern": NAME } })
}
