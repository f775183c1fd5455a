//! The text of a case file: read strictly, every problem with its place.

use super::expect::{self, Holds};
use super::values::{Item, Reader, in_order};
use super::{Case, End, Expected, Place, Scene, Step, What};
use crate::config::problem::Problem;
use crate::rules;
use crate::toml_text::{Lines, integer, nearest, quoted, shown, start, type_of};
use crate::trial::PROJECT;
use portcullis_core::action::{Entry, GitState};
use portcullis_core::observe::Observed;
use portcullis_core::text::one_line;
use portcullis_engine::{Kind, Setting, SettingValue};
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

const SCENE: &[&str] = &["goals", "settings", "with", "files", "absent"];
const STEP: &[&str] = &["says", "tool", "input", "returns", "fails", "refused", "after", "agent", "expect"];
/// The longest that a step lets wait for itself, in seconds: a year.
const MOST_SECONDS: i64 = 31_536_000;

/// Reads the cases of a plugin of that kind.
///
/// # Errors
/// Everything that is wrong, in the file's order, and how many problems more there are.
pub fn read(text: &str, kind: Kind) -> Result<Vec<Case>, (Vec<Problem>, usize)> {
    let mut reader = Reader { lines: Lines::of(text), problems: Vec::new(), more: 0, kind };
    let cases = match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            let message = one_line(&error.message().replace('\n', "; "), 300);
            reader.problem(error.span().unwrap_or_default().start, format!("it is not TOML: {message}"));
            Vec::new()
        }
    };
    reader.problems.sort();
    if reader.problems.is_empty() { Ok(cases) } else { Err((reader.problems, reader.more)) }
}

impl Reader<'_> {
    fn file(&mut self, table: &DeTable<'_>) -> Vec<Case> {
        self.known(table, "", &["defaults", "case"]);
        let mut defaults = Scene::default();
        if let Some(given) = table.get("defaults")
            && let Some(given) = self.table(given, "defaults")
        {
            self.known(given, "defaults", SCENE);
            defaults = self.scene(given, "defaults", &Scene::default());
        }
        let Some(cases) = table.get("case") else {
            if self.problems.is_empty() {
                self.problem(0, "it holds no case; begin one with `[[case]]` and a `name`".to_owned());
            }
            return Vec::new();
        };
        let cases: Vec<Case> = self.tables(cases, "case").into_iter().filter_map(|(at, given)| self.case(at, given, &defaults)).collect();
        self.unique(&cases);
        cases
    }

    fn unique(&mut self, cases: &[Case]) {
        let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
        for case in cases {
            if let Some(place) = seen.insert(&case.name, case.place) {
                let what =
                    format!("two cases have the name `{}`, this one and that in line {}; give each its own", shown(&case.name), place.0);
                self.problems.push(Problem { place: Some(case.place), what });
            }
        }
    }

    fn case(&mut self, at: usize, table: &DeTable<'_>, defaults: &Scene) -> Option<Case> {
        let place = self.lines.place(at);
        self.known(table, "case", &[&["name"], SCENE, &["step"]].concat());
        let name = self.text(table, "case", "name");
        if name.is_none() && !table.contains_key("name") {
            self.problem(at, "the case has no `name`; say in a few words what it shows: `name = \"...\"`".to_owned());
        }
        let scene = self.scene(table, "case", defaults);
        let steps = match table.get("step") {
            Some(steps) => self.tables(steps, "case.step"),
            None => {
                self.problem(at, "the case has no step; add `[[case.step]]` with `tool` and `input`, or with `says`".to_owned());
                Vec::new()
            }
        };
        let steps = steps.into_iter().filter_map(|(at, given)| self.step(at, given)).collect();
        Some(Case { name: name?, place, scene, steps })
    }

    fn scene(&mut self, table: &DeTable<'_>, path: &str, defaults: &Scene) -> Scene {
        let mut scene = defaults.clone();
        if let Some(goals) = self.texts(table, path, "goals") {
            scene.goals = goals;
        }
        if let Some(given) = table.get("settings") {
            scene.settings = Vec::new();
            let whole = format!("{path}.settings");
            if let Some(given) = self.table(given, &whole) {
                self.settings(given, &whole, "", &mut scene.settings);
                scene.settings.sort_by(|a, b| a.key.cmp(&b.key));
            }
        }
        if let Some(names) = self.texts(table, path, "with") {
            scene.with = names;
            self.judges(&scene.with, table, path);
        }
        for (key, there) in [("files", true), ("absent", false)] {
            for named in self.texts(table, path, key).unwrap_or_default() {
                scene.disk.insert(absolute(&named), observed(&named, there));
            }
        }
        scene
    }

    /// What judges beside the plugin has to be a builtin risk-calculator.
    fn judges(&mut self, names: &[String], table: &DeTable<'_>, path: &str) {
        let all = portcullis_builtin::ALL.iter().filter(|builtin| builtin.kind == portcullis_builtin::Kind::RiskCalculator);
        let all: Vec<&str> = all.map(|builtin| builtin.name).filter(|name| *name != rules::PLUGIN).collect();
        let Some(at) = table.get("with").map(start) else { return };
        for name in names.iter().filter(|name| !all.contains(&name.as_str())) {
            let names = quoted(&all);
            self.problem(at, format!("`{path}.with` holds `{}`; it may hold {names}, the builtin risk-calculators", shown(name)));
        }
    }

    fn settings(&mut self, table: &DeTable<'_>, path: &str, above: &str, found: &mut Vec<Setting>) {
        for (name, item) in table {
            let key = if above.is_empty() { name.get_ref().to_string() } else { format!("{above}.{}", name.get_ref()) };
            let value = match item.get_ref() {
                DeValue::Table(below) => {
                    self.settings(below, path, &key, found);
                    continue;
                }
                DeValue::String(text) => Some(SettingValue::Text(text.to_string())),
                DeValue::Boolean(flag) => Some(SettingValue::Flag(*flag)),
                DeValue::Integer(number) => integer(number).map(SettingValue::Integer),
                DeValue::Float(number) => number.as_str().parse().ok().filter(|number: &f64| number.is_finite()).map(SettingValue::Decimal),
                DeValue::Array(items) => {
                    let texts: Option<Vec<String>> = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
                    texts.map(SettingValue::Texts)
                }
                DeValue::Datetime(_) => None,
            };
            match value {
                Some(value) => found.push(Setting { key, value }),
                None => {
                    let what =
                        format!("`{path}.{}` is {}; a setting is text, a number, a boolean or a list of texts", shown(&key), type_of(item));
                    self.problem(start(item), what);
                }
            }
        }
    }

    fn step(&mut self, at: usize, table: &DeTable<'_>) -> Option<Step> {
        let path = "case.step";
        self.known(table, path, STEP);
        let seconds = match table.get("after") {
            Some(_) => self.whole(table, path, "after", MOST_SECONDS)?,
            None => 1,
        };
        let agent = self.text(table, path, "agent");
        let expected = match table.get("expect") {
            Some(given) => self.tables(given, "case.step.expect").into_iter().filter_map(|(at, given)| self.expected(at, given)).collect(),
            None => Vec::new(),
        };
        let what = self.what(at, table)?;
        if let (What::Says(_), Some(given)) = (&what, table.get("expect")) {
            self.problem(start(given), "no plugin is asked about what the person says; move `expect` to a step with a `tool`".to_owned());
        }
        Some(Step { place: self.lines.place(at), what, after: seconds.saturating_mul(1000), agent, expected, end: end_of(table) })
    }

    fn what(&mut self, at: usize, table: &DeTable<'_>) -> Option<What> {
        let path = "case.step";
        if table.contains_key("says") {
            let others = ["tool", "input", "returns", "fails", "refused"];
            if let Some((key, _)) = table.iter().find(|(key, _)| others.contains(&key.get_ref().as_ref())) {
                let what =
                    format!("a step with `says` has no `{}`: what the person says and what the agent does are two steps", key.get_ref());
                self.problem(start(key), what);
            }
            return self.text(table, path, "says").map(What::Says);
        }
        if !table.contains_key("tool") {
            let what = "the step has neither `tool` nor `says`; name what the agent calls, as `tool = \"Bash\"`, or what the person says";
            self.problem(at, what.to_owned());
            return None;
        }
        let tool = self.text(table, path, "tool")?;
        let input = match table.get("input") {
            Some(given) => {
                let given = self.table(given, "case.step.input")?;
                self.object(given, "case.step.input")
            }
            None => {
                let what =
                    format!("the step calls `{}` without `input`; give its parameters, as `input = {{ command = \"ls\" }}`", shown(&tool));
                self.problem(at, what);
                return None;
            }
        };
        let end = self.end(table)?;
        Some(What::Calls { tool, input, end })
    }

    fn end(&mut self, table: &DeTable<'_>) -> Option<End> {
        let path = "case.step";
        let given: Vec<_> = table.iter().filter(|(key, _)| matches!(key.get_ref().as_ref(), "returns" | "fails" | "refused")).collect();
        if let [(one, _), (other, _), ..] = given.as_slice() {
            let (later, earlier) = if start(one) > start(other) { (one, other) } else { (other, one) };
            let what = format!("a call that has `{}` has no `{}`: it ends in one way", earlier.get_ref(), later.get_ref());
            self.problem(start(later), what);
            return None;
        }
        Some(match given.first().map(|(key, _)| key.get_ref().as_ref()) {
            Some("fails") => End::Fails(self.text(table, path, "fails")?),
            Some("returns") => End::Returns(self.text(table, path, "returns")?),
            Some(_) if self.flag(table, path, "refused")? => End::Refused,
            _ => End::Returns(String::new()),
        })
    }

    fn expected(&mut self, at: usize, table: &DeTable<'_>) -> Option<Expected> {
        let path = "case.step.expect";
        let Some(keys) = expect::keys(self.kind) else {
            let what = format!("{} is not asked about a step, so a step of its cases has no `expect`", a_plugin(self.kind));
            self.problem(at, what);
            return None;
        };
        if table.is_empty() {
            self.problem(
                at,
                "an `expect` says at least one thing of the finding; leave it out where the plugin has to say nothing".to_owned(),
            );
        }
        let mut found = Expected { head: at, ..Expected::default() };
        for (key, item) in in_order(table) {
            let name = key.get_ref().as_ref();
            let Some((_, holds)) = keys.iter().find(|(known, _)| *known == name) else {
                let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
                let of = format!("a finding of {} has {}", a_plugin(self.kind), quoted(&names));
                let mend = nearest(names.iter().copied(), name).map_or(of, |name| format!("did you mean `{name}`?"));
                self.problem(start(key), format!("`{path}.{}` is unknown; {mend}", shown(name)));
                continue;
            };
            if let Some(value) = self.held(&format!("{path}.{name}"), *holds, item) {
                found.says.insert(name.to_owned(), value);
                found.places.push((name.to_owned(), start(key), item.span()));
            }
        }
        Some(found)
    }

    /// The value, if it is one that may stand there.
    fn held(&mut self, path: &str, holds: Holds, item: &Item<'_>) -> Option<Value> {
        let value = self.json(item, path)?;
        let fits = match (holds, &value) {
            (Holds::Text, Value::String(_))
            | (Holds::Flag, Value::Bool(_))
            | (Holds::List, Value::Array(_))
            | (Holds::Table, Value::Object(_)) => true,
            (Holds::Score, Value::Number(number)) => number.as_u64().is_some_and(|number| number <= 1000),
            (Holds::Whole, Value::Number(number)) => number.is_u64(),
            (Holds::Word(words), Value::String(word)) => words().contains(&word.as_str()),
            _ => false,
        };
        if fits {
            return Some(value);
        }
        let is = match &value {
            Value::String(word) => format!("`{}`", shown(word)),
            Value::Number(number) => format!("`{number}`"),
            _ => type_of(item).to_owned(),
        };
        let meant = match (holds, &value) {
            (Holds::Word(words), Value::String(word)) => nearest(words().into_iter(), word),
            _ => None,
        };
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        self.problem(start(item), format!("`{path}` is {is}; it must be {}{meant}", holds.in_words()));
        None
    }
}

/// Where the last value of a table ends, in it and in what stands below it.
fn end_of(table: &DeTable<'_>) -> usize {
    let end = |(_, item): (_, &Item<'_>)| {
        let below = match item.get_ref() {
            DeValue::Table(table) => end_of(table),
            DeValue::Array(items) => items.iter().filter_map(|item| item.get_ref().as_table()).map(end_of).max().unwrap_or_default(),
            _ => 0,
        };
        below.max(item.span().end)
    };
    table.iter().map(end).max().unwrap_or_default()
}

/// What a plugin of a kind is called in a sentence.
fn a_plugin(kind: Kind) -> String {
    let article = if matches!(kind, Kind::Intervention | Kind::AuditExporter) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn absolute(named: &str) -> String {
    let path = named.trim_end_matches('/');
    if path.starts_with('/') { path.to_owned() } else { format!("{PROJECT}/{path}") }
}

fn observed(named: &str, there: bool) -> Observed {
    let entry = match (there, named.ends_with('/')) {
        (false, _) => Entry::Absent,
        (true, true) => Entry::Folder,
        (true, false) => Entry::File,
    };
    Observed { entry, real: None, git: GitState::Unknown, restorable: false }
}
