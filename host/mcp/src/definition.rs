//! A tool's definition: what the agent is told about a tool, and so what must not change unseen.

use serde_json::{Map, Value};

/// The parts of a definition.
const PARTS: &[&str] =
    &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
/// The purpose of the digest.
const PURPOSE: &str = "portcullis 2026 mcp tool definition";
/// The most letters of a line that people read.
const MOST_LINE: usize = 120;
/// The most bytes of a name.
const MOST_NAME: usize = 128;

/// One tool of a list, as the gate is asked about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its description as the server sent it.
    pub value: Value,
}

/// A definition with its digest.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name; empty if it has none.
    pub name: String,
    /// Its parts, with the names of all objects in order.
    pub parts: Map<String, Value>,
    /// BLAKE3 of the parts, 64 hex digits.
    pub digest: String,
}

impl ToolDefinition {
    /// Takes the definition out of a tool of a list.
    #[must_use]
    pub fn of_tool(tool: &Value) -> Self {
        let part = |name: &&str| Some(((*name).to_owned(), sorted(tool.get(*name)?)));
        let parts: Map<String, Value> = PARTS.iter().filter_map(part).collect();
        let name = parts.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = Value::Object(parts.clone()).to_string();
        let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
        hasher.update(text.as_bytes());
        Self { name, parts, digest: hasher.finalize().to_hex().to_string() }
    }

    /// Returns true if people and clients read the name alike: it has only visible ASCII letters.
    #[must_use]
    pub fn has_plain_name(&self) -> bool {
        (1..=MOST_NAME).contains(&self.name.len())
            && self.name.bytes().all(|byte| byte.is_ascii_graphic())
    }

    /// Returns every text that the agent is told, the names of parameters included, a line each.
    #[must_use]
    pub fn texts(&self) -> String {
        let mut texts = Vec::new();
        for (name, part) in &self.parts {
            if name == "description" {
                texts.extend(part.as_str().map(str::to_owned));
            } else {
                collect_texts(part, &mut texts);
            }
        }
        texts.join("\n")
    }

    /// Returns the parts as lines, for a comparison by people.
    #[must_use]
    pub fn lines(parts: &Map<String, Value>) -> String {
        let text = serde_json::to_string_pretty(parts).unwrap_or_default();
        let mut lines = String::new();
        for line in text.lines() {
            // A long text is shown in full, and its changed part alone as changed.
            let letters: Vec<char> = line.chars().collect();
            for piece in letters.chunks(MOST_LINE) {
                lines.extend(piece);
                lines.push('\n');
            }
        }
        lines
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(object) => {
            for (name, value) in object {
                texts.push(name.clone());
                collect_texts(value, texts);
            }
        }
        _ => {}
    }
}

/// Returns a value with the names of all objects in order: their order says nothing.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(object) => {
            let mut members: Vec<(&String, &Value)> = object.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_covers_each_part_and_no_order() {
        let tool = json!({
            "name": "a", "title": "A", "description": "does a",
            "inputSchema": { "type": "object", "properties": { "x": {}, "y": {} } },
            "outputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
        });
        let digest = |tool: &Value| ToolDefinition::of_tool(tool).digest;
        let moved = json!({
            "annotations": { "readOnlyHint": true }, "outputSchema": { "type": "object" },
            "inputSchema": { "properties": { "y": {}, "x": {} }, "type": "object" },
            "description": "does a", "title": "A", "name": "a", "_meta": { "other": 1 },
        });
        assert_eq!(digest(&tool), digest(&moved));
        for part in PARTS {
            let mut changed = tool.clone();
            changed[*part] = json!("changed");
            assert_ne!(digest(&tool), digest(&changed), "{part}");
            changed.as_object_mut().unwrap().remove(*part);
            assert_ne!(digest(&tool), digest(&changed), "{part}");
        }
        let texts = ToolDefinition::of_tool(&tool).texts();
        assert!(["does a", "A", "x"].iter().all(|text| texts.lines().any(|line| line == *text)));
    }

    #[test]
    fn names_are_plain() {
        for (name, plain) in [
            ("read_file", true),
            ("a.b/c-d", true),
            ("", false),
            ("a b", false),
            ("re\u{430}d", false),
        ] {
            let tool = ToolDefinition::of_tool(&json!({ "name": name }));
            assert_eq!(tool.has_plain_name(), plain, "{name}");
        }
    }
}
