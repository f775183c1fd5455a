//! Reads the surroundings of a case.

use super::super::CaseSetup;
use super::Reader;
use portcullis_config::parse::read_settings;
use portcullis_core::action::Entry;
use portcullis_core::observe::Observed;
use portcullis_engine::{Kind, Setting};
use portcullis_review::isolated::PROJECT;
use portcullis_review::plugin_specs::RULES_PLUGIN;
use portcullis_strict_toml::{Table, list_names, show};

impl Reader {
    pub(super) fn setup(&self, table: &Table<'_>, defaults: &CaseSetup) -> CaseSetup {
        let mut setup = defaults.clone();
        if let Some(goals) = table.texts("goals") {
            setup.goals = goals;
        }
        if table.contains("settings") {
            let settings = table.any_table("settings").map(|given| read_settings(&given));
            let settings = settings.into_iter().flatten();
            setup.settings = settings.map(|(key, value, _)| Setting { key, value }).collect();
            setup.settings.sort_by(|a, b| a.key.cmp(&b.key));
        }
        if let Some(names) = table.texts("with") {
            setup.with = names;
            self.check_with(&setup.with, table);
        }
        for (key, there) in [("files", true), ("absent", false)] {
            for named in table.texts(key).unwrap_or_default() {
                setup.disk.insert(absolute(&named), observed(&named, there));
            }
        }
        setup
    }

    /// Checks that the additional plugins are builtin risk-calculators, or, for an intervention,
    /// patterns that it answers.
    fn check_with(&self, names: &[String], table: &Table<'_>) {
        let answers = self.kind == Kind::Intervention;
        let fits = |kind| match kind {
            portcullis_builtin::Kind::RiskCalculator => true,
            portcullis_builtin::Kind::Pattern => answers,
            _ => false,
        };
        let all = portcullis_builtin::ALL.iter().filter(|builtin| fits(builtin.kind));
        let all: Vec<&str> =
            all.map(|builtin| builtin.name).filter(|name| *name != RULES_PLUGIN).collect();
        let kinds = if answers { "risk-calculators and patterns" } else { "risk-calculators" };
        let Some(item) = table.get("with") else { return };
        for name in names.iter().filter(|name| !all.contains(&name.as_str())) {
            item.report(format!(
                "`{}` holds `{}`; it may hold {}, the builtin {kinds}",
                item.path(),
                show(name),
                list_names(&all)
            ));
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
    Observed { entry, ..Observed::UNKNOWN }
}
