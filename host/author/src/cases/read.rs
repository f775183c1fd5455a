//! Reads the text of a case file strictly; every problem has its position.

mod expected;
mod issue;
mod scene;
mod step;

use super::values::Reader;
use super::{Case, CaseScene, Expectation, FilePosition};
use portcullis_config::problem::ConfigProblem;
use portcullis_config::toml_text::{LineIndex, shown, start};
use portcullis_core::text::one_line;
use portcullis_engine::Kind;
use portcullis_review::export;
use std::collections::BTreeMap;
use toml::de::DeTable;

const SCENE: &[&str] = &["goals", "settings", "with", "files", "absent"];
/// The keys that only cases of an audit-exporter have.
const EXPORT: &[&str] = &["batch", "expect"];

/// Reads the cases of a plugin of that kind.
///
/// # Errors
/// Fails if anything is wrong; the error lists the problems in the file's order, and the number of
/// omitted ones.
pub fn read(text: &str, kind: Kind) -> Result<Vec<Case>, (Vec<ConfigProblem>, usize)> {
    let mut reader = Reader { lines: LineIndex::of(text), problems: Vec::new(), more: 0, kind };
    let cases = match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            let message = one_line(&error.message().replace('\n', "; "), 300);
            reader.problem(
                error.span().unwrap_or_default().start,
                format!("it is not TOML: {message}"),
            );
            Vec::new()
        }
    };
    reader.problems.sort();
    if reader.problems.is_empty() { Ok(cases) } else { Err((reader.problems, reader.more)) }
}

impl Reader<'_> {
    fn file(&mut self, table: &DeTable<'_>) -> Vec<Case> {
        self.known(table, "", &["defaults", "case"]);
        let mut defaults = CaseScene::default();
        if let Some(given) = table.get("defaults")
            && let Some(given) = self.table(given, "defaults")
        {
            self.known(given, "defaults", SCENE);
            defaults = self.scene(given, "defaults", &CaseScene::default());
        }
        let Some(cases) = table.get("case") else {
            if self.problems.is_empty() {
                self.problem(
                    0,
                    "it holds no case; begin one with `[[case]]` and a `name`".to_owned(),
                );
            }
            return Vec::new();
        };
        let cases: Vec<Case> = self
            .tables(cases, "case")
            .into_iter()
            .filter_map(|(at, given)| self.case(at, given, &defaults))
            .collect();
        self.unique(&cases);
        cases
    }

    fn unique(&mut self, cases: &[Case]) {
        let mut seen: BTreeMap<&str, FilePosition> = BTreeMap::new();
        for case in cases {
            if let Some(place) = seen.insert(&case.name, case.place) {
                let what = format!(
                    "two cases have the name `{}`, this one and that in line {}; give each its own",
                    shown(&case.name),
                    place.0
                );
                self.problems.push(ConfigProblem { place: Some(case.place), what });
            }
        }
    }

    fn case(&mut self, at: usize, table: &DeTable<'_>, defaults: &CaseScene) -> Option<Case> {
        let place = self.lines.place(at);
        self.known(table, "case", &[&["name"], SCENE, &["step"], EXPORT].concat());
        let name = self.text(table, "case", "name");
        if name.is_none() && !table.contains_key("name") {
            self.problem(
                at,
                "the case has no `name`; say in a few words what it shows: `name = \"...\"`"
                    .to_owned(),
            );
        }
        let scene = self.scene(table, "case", defaults);
        let steps = match table.get("step") {
            Some(steps) => self.tables(steps, "case.step"),
            None => {
                self.problem(at, "the case has no step; add `[[case.step]]` with `tool` and `input`, or with `says`".to_owned());
                Vec::new()
            }
        };
        let steps =
            steps.into_iter().filter_map(|(at, given)| self.step(at, given, &scene)).collect();
        let batch = self.batch(table);
        let expected = self.expectation(at, table, Expectation::CASE);
        Some(Case { name: name?, place, scene, steps, batch, expected })
    }

    /// Reads the number of records that an exporter gets at a time, from a table that only its kind
    /// of plugin has.
    fn batch(&mut self, table: &DeTable<'_>) -> usize {
        if self.kind != Kind::AuditExporter {
            for (key, given) in
                table.iter().filter(|(key, _)| EXPORT.contains(&key.get_ref().as_ref()))
            {
                let of = expected::a_plugin(self.kind);
                let what = match key.get_ref().as_ref() {
                    "expect" => format!(
                        "{of} is asked step by step; put `[[case.step.expect]]` below the step that it is about"
                    ),
                    name => format!(
                        "`case.{name}` is for audit-exporters, which get records; {of} is asked step by step: take it out"
                    ),
                };
                self.problem(start(given), what);
            }
            return export::BATCH;
        }
        let most = i64::try_from(export::BATCH).unwrap_or(i64::MAX);
        let batch = self
            .whole(table, "case", "batch", 1..=most)
            .and_then(|batch| usize::try_from(batch).ok());
        batch.unwrap_or(export::BATCH)
    }
}
