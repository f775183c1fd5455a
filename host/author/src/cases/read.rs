//! Reads the text of a case file strictly; every problem has its position.

mod expected;
mod issue;
mod setup;
mod step;

use super::{Case, CaseSetup, Expectation};
use portcullis_config::problem::ConfigProblem;
use portcullis_engine::Kind;
use portcullis_review::export;
use portcullis_strict_toml::{Document, Item, Keys, Table, Value, show};
use std::collections::BTreeMap;

const SETUP: &[&str] = &["goals", "settings", "with", "files", "absent"];
/// The keys that only cases of an audit-exporter have.
const EXPORT: &[&str] = &["batch", "expect"];

/// Reads the cases of a plugin of that kind.
///
/// # Errors
/// Fails if anything is wrong; the error lists the problems in the file's order, and the number of
/// omitted ones.
pub fn read_cases(text: &str, kind: Kind) -> Result<Vec<Case>, (Vec<ConfigProblem>, usize)> {
    let document = Document::parse(text);
    let reader = Reader { kind };
    let cases = if document.is_sound() { reader.file(&document) } else { Vec::new() };
    let (problems, omitted) = ConfigProblem::from_document(&document);
    if problems.is_empty() { Ok(cases) } else { Err((problems, omitted)) }
}

/// Reads the cases of a plugin of this kind.
struct Reader {
    kind: Kind,
}

impl Reader {
    fn file(&self, document: &Document<'_>) -> Vec<Case> {
        let file = document.root(&Keys { names: &["defaults", "case"], owner: "a case file" });
        let defaults = file
            .table("defaults", &Keys { names: SETUP, owner: "`defaults`" })
            .map(|table| self.setup(&table, &CaseSetup::default()))
            .unwrap_or_default();
        if !file.contains("case") {
            if document.problems().0.is_empty() {
                file.report("it holds no case; begin one with `[[case]]` and a `name`");
            }
            return Vec::new();
        }
        let names = [&["name"], SETUP, &["step"], EXPORT].concat();
        let tables = file.tables("case", &Keys { names: &names, owner: "`case`" });
        report_duplicates(&tables);
        tables.iter().filter_map(|table| self.case(table, &defaults)).collect()
    }

    fn case(&self, table: &Table<'_>, defaults: &CaseSetup) -> Option<Case> {
        let name = table.text("name");
        if !table.contains("name") {
            table.report(
                "the case has no `name`; say in a few words what it shows: `name = \"...\"`",
            );
        }
        let setup = self.setup(table, defaults);
        if !table.contains("step") {
            table.report(
                "the case has no step; add `[[case.step]]` with `tool` and `input`, or with `says`",
            );
        }
        let steps = table.tables("step", &step::STEP);
        let steps = steps.iter().filter_map(|table| self.step(table, &setup)).collect();
        let batch = self.batch(table);
        let expected = self.expectation(table, Expectation::CASE);
        Some(Case { name: name?, place: table.place(), setup, steps, batch, expected })
    }

    /// Reads the number of records that an exporter gets at a time, from a table that only its kind
    /// of plugin has.
    fn batch(&self, table: &Table<'_>) -> usize {
        if self.kind != Kind::AuditExporter {
            for item in EXPORT.iter().filter_map(|key| table.get(key)) {
                let of = expected::a_plugin(self.kind);
                item.report(match item.key() {
                    "expect" => format!(
                        "{of} is asked step by step; put `[[case.step.expect]]` below the step that it is about"
                    ),
                    name => format!(
                        "`case.{name}` is for audit-exporters, which get records; {of} is asked \
                         step by step: take it out"
                    ),
                });
            }
            return export::BATCH;
        }
        let most = i64::try_from(export::BATCH).unwrap_or(i64::MAX);
        let batch = table.integer("batch", 1..=most);
        batch.and_then(|batch| usize::try_from(batch).ok()).unwrap_or(export::BATCH)
    }
}

fn report_duplicates(cases: &[Table<'_>]) {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases {
        let Some(name) = case.get("name").and_then(|item| read_text(&item)) else { continue };
        if let Some(line) = lines.insert(name.clone(), case.place().0) {
            case.report(format!(
                "two cases have the name `{}`, this one and that in line {line}; give each its own",
                show(&name)
            ));
        }
    }
}

/// Returns a text without reporting a value of another type.
fn read_text(item: &Item<'_>) -> Option<String> {
    if let Value::Text(text) = item.value() { Some(text.to_owned()) } else { None }
}
