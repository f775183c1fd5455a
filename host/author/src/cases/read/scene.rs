//! Reads the surroundings of a case.

use super::super::CaseScene;
use super::super::values::Reader;
use portcullis_config::toml_text::{integer, quoted, shown, start, type_of};
use portcullis_core::action::{Entry, GitState};
use portcullis_core::observe::Observed;
use portcullis_engine::{Kind, Setting, SettingValue};
use portcullis_review::isolated::PROJECT;
use portcullis_review::rules;
use toml::de::{DeTable, DeValue};

impl Reader<'_> {
    pub(super) fn scene(
        &mut self,
        table: &DeTable<'_>,
        path: &str,
        defaults: &CaseScene,
    ) -> CaseScene {
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
            self.beside(&scene.with, table, path);
        }
        for (key, there) in [("files", true), ("absent", false)] {
            for named in self.texts(table, path, key).unwrap_or_default() {
                scene.disk.insert(absolute(&named), observed(&named, there));
            }
        }
        scene
    }

    /// Checks that the additional plugins are builtin risk-calculators, or, for an intervention,
    /// patterns that it answers.
    fn beside(&mut self, names: &[String], table: &DeTable<'_>, path: &str) {
        let answers = self.kind == Kind::Intervention;
        let fits = |kind| match kind {
            portcullis_builtin::Kind::RiskCalculator => true,
            portcullis_builtin::Kind::Pattern => answers,
            _ => false,
        };
        let all = portcullis_builtin::ALL.iter().filter(|builtin| fits(builtin.kind));
        let all: Vec<&str> =
            all.map(|builtin| builtin.name).filter(|name| *name != rules::PLUGIN).collect();
        let kinds = if answers { "risk-calculators and patterns" } else { "risk-calculators" };
        let Some(at) = table.get("with").map(start) else { return };
        for name in names.iter().filter(|name| !all.contains(&name.as_str())) {
            let names = quoted(&all);
            self.problem(
                at,
                format!(
                    "`{path}.with` holds `{}`; it may hold {names}, the builtin {kinds}",
                    shown(name)
                ),
            );
        }
    }

    fn settings(&mut self, table: &DeTable<'_>, path: &str, above: &str, found: &mut Vec<Setting>) {
        for (name, item) in table {
            let key = if above.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{above}.{}", name.get_ref())
            };
            let value = match item.get_ref() {
                DeValue::Table(below) => {
                    self.settings(below, path, &key, found);
                    continue;
                }
                DeValue::String(text) => Some(SettingValue::Text(text.to_string())),
                DeValue::Boolean(flag) => Some(SettingValue::Flag(*flag)),
                DeValue::Integer(number) => integer(number).map(SettingValue::Integer),
                DeValue::Float(number) => number
                    .as_str()
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .map(SettingValue::Decimal),
                DeValue::Array(items) => {
                    let texts: Option<Vec<String>> = items
                        .iter()
                        .map(|item| item.get_ref().as_str().map(str::to_owned))
                        .collect();
                    texts.map(SettingValue::Texts)
                }
                DeValue::Datetime(_) => None,
            };
            match value {
                Some(value) => found.push(Setting { key, value }),
                None => {
                    let what = format!(
                        "`{path}.{}` is {}; a setting is text, a number, a boolean or a list of texts",
                        shown(&key),
                        type_of(item)
                    );
                    self.problem(start(item), what);
                }
            }
        }
    }
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
    Observed { entry, real: None, git: GitState::Unknown, restorable: false, leads: None }
}
