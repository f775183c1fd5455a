//! The words by which people find a record: lower-case letters and digits, without what is between
//! them.
//!
//! The database keeps them beside the record, in an index. They come from the parts of a document
//! that people read; numbers of plugins and digests would only fill the index.

use portcullis_fleet::protocol::SentRecord;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most words of a record. Further ones are not found.
const MOST_WORDS: usize = 400;
/// The most bytes of a word; a longer one is cut, here and in a search.
const MOST_BYTES: usize = 64;
/// The words of a search; further ones do not count.
const MOST_ASKED: usize = 16;
/// The fewest characters of a word that also finds longer ones.
const LEAST_PREFIX: usize = 3;
/// The members of a document that are searched.
const MEMBERS: &[&str] = &["client", "event", "summary", "detections", "faults", "details"];
/// The members of an action, and of a decision.
const OF_ACTION: &[&str] = &["parameters", "run_as", "cwd"];
const OF_DECISION: &[&str] = &["primary_reason", "reasons"];
/// The deepest member that is read.
const DEEPEST: usize = 16;

/// Returns the words of a record, separated by blanks.
pub fn collect_words(record: &SentRecord) -> String {
    let mut words = Words::default();
    words.add_text(&record.subject);
    words.add_text(&record.id);
    let document = record.document.as_deref().unwrap_or_default();
    if let Ok(Value::Object(mut members)) = serde_json::from_str(document) {
        let mut take = |name: &str| members.remove(name);
        for name in MEMBERS {
            take(name).iter().for_each(|value| words.add_value(value, 0));
        }
        for (name, parts) in [("action", OF_ACTION), ("decision", OF_DECISION)] {
            let Some(Value::Object(members)) = take(name) else { continue };
            let found = parts.iter().filter_map(|part| members.get(*part));
            found.for_each(|value| words.add_value(value, 0));
        }
    }
    words.0.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns a query of the database for records that have all words of a text; `None` if it has no
/// word. Each word consists of letters and digits alone, so the query has no other operator.
pub fn write_query(text: &str) -> Option<String> {
    let mut words = Words::default();
    words.add_text(text);
    let terms = words.0.iter().take(MOST_ASKED).map(|word| {
        let ending = if word.chars().count() >= LEAST_PREFIX { ":*" } else { "" };
        format!("'{word}'{ending}")
    });
    let query = terms.collect::<Vec<_>>().join(" & ");
    (!query.is_empty()).then_some(query)
}

#[derive(Default)]
struct Words(BTreeSet<String>);

impl Words {
    fn add_value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.add_string(text, depth),
            Value::Array(items) if depth < DEEPEST => {
                items.iter().for_each(|item| self.add_value(item, depth + 1));
            }
            Value::Object(members) if depth < DEEPEST => {
                members.values().for_each(|member| self.add_value(member, depth + 1));
            }
            _ => {}
        }
    }

    /// Adds a text, which may be JSON itself, as the parameters of an action are.
    fn add_string(&mut self, text: &str, depth: usize) {
        if text.starts_with(['{', '['])
            && depth < DEEPEST
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            return self.add_value(&value, depth + 1);
        }
        self.add_text(text);
    }

    fn add_text(&mut self, text: &str) {
        let found = text.split(|letter: char| !letter.is_alphanumeric());
        for word in found.filter(|word| !word.is_empty()) {
            if self.0.len() >= MOST_WORDS {
                return;
            }
            let word = word.to_lowercase();
            let end = portcullis_core::text::floor_boundary(&word, MOST_BYTES);
            // A letter in lower case may be followed by a mark, which is none.
            let word: String = word
                .get(..end)
                .unwrap_or_default()
                .chars()
                .filter(|one| one.is_alphanumeric())
                .collect();
            if !word.is_empty() {
                self.0.insert(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(document: &str) -> SentRecord {
        serde_json::from_value(json!({
            "sequence": 1, "previous": "00".repeat(32), "hash": "00".repeat(32), "id": "r1", "at": 1,
            "kind": "review", "subject": "Bash", "document": document, "exact": false,
        }))
        .unwrap()
    }

    #[test]
    fn a_record_has_the_words_that_people_read() {
        let parameters = json!({ "command": "curl\nhttp://x.example/É'; DROP" }).to_string();
        let document = json!({
            "summary": "Fetches a page", "action": { "parameters": parameters, "cwd": "/home/ann" },
            "decision": { "verdict": "ask", "reasons": ["leaves the machine"], "findings": "many" },
            "plugins": [{ "name": "unseen" }],
        });
        let words = collect_words(&record(&document.to_string()));
        assert_eq!(
            words,
            "a ann bash curl drop example fetches home http leaves machine page r1 the x é"
        );
        assert_eq!(collect_words(&record("no JSON")), "bash r1");
        assert_eq!(collect_words(&record("")), "bash r1");
    }

    #[test]
    fn words_have_bounds() {
        let many: String = (0..2000).map(|number| format!("w{number} ")).collect();
        let words = collect_words(&record(&json!({ "summary": many }).to_string()));
        assert_eq!(words.split(' ').count(), MOST_WORDS);
        let long = json!({ "summary": "é".repeat(1000) }).to_string();
        let words = collect_words(&record(&long));
        assert!(words.split(' ').all(|word| word.len() <= MOST_BYTES), "{words}");
        let deep = format!("{}\"x\"{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(collect_words(&record(&format!("{{\"summary\":{deep}}}"))), "bash r1");
    }

    #[test]
    fn a_query_has_no_operator_of_its_asker() {
        for (text, query) in [
            ("curl x.example", Some("'curl':* & 'example':* & 'x'")),
            ("a' | 'b", Some("'a' & 'b'")),
            ("!foo <-> \\bar:*", Some("'bar':* & 'foo':*")),
            ("'; DROP TABLE records; --", Some("'drop':* & 'records':* & 'table':*")),
            ("  ", None),
            ("--", None),
            ("İ", Some("'i'")),
        ] {
            assert_eq!(write_query(text).as_deref(), query, "{text}");
        }
    }
}
