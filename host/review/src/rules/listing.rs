//! The rules of a configuration: builtin ones and those of files, each with its state and origin.

use portcullis_config::Config;
use portcullis_config::rules::CustomRules;
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue;
use portcullis_rule_language::Verdict;
use portcullis_rule_language::builtin::{BUILTIN, Builtin};

/// A rule, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    /// Its name.
    pub name: String,
    /// `on`, `off` or `disabled`.
    pub state: &'static str,
    /// The verdicts that it can give.
    pub verdict: String,
    /// `builtin`, or file and line.
    pub source: String,
    /// A description in one line.
    pub about: String,
}

/// Returns all rules, the builtin ones first.
#[must_use]
pub fn list_rules(config: &Config) -> Vec<ListedRule> {
    builtin(config).chain(custom(&config.rules)).collect()
}

fn builtin(config: &Config) -> impl Iterator<Item = ListedRule> {
    let plugin = config.plugins.get("rules");
    let set = plugin.and_then(|plugin| {
        let found = plugin.settings.iter().find(|setting| setting.key == "builtin")?;
        if let SettingValue::Text(set) = &found.value { Some(set.as_str()) } else { None }
    });
    let off = plugin.and_then(|plugin| plugin.enabled) == Some(false);
    let chosen = move |essential: bool| match set.unwrap_or("all") {
        "none" => false,
        "essential" => essential,
        _ => true,
    };
    let row = move |rule: &Builtin| ListedRule {
        name: rule.name.to_owned(),
        state: match config.rules.disabled.iter().any(|name| name == rule.name) {
            true => "disabled",
            false if off || !chosen(rule.essential) => "off",
            false => "on",
        },
        verdict: rule.verdicts.to_owned(),
        source: "builtin".to_owned(),
        about: rule.about.to_owned(),
    };
    BUILTIN.iter().map(row)
}

fn custom(rules: &CustomRules) -> Vec<ListedRule> {
    let mut rows = Vec::new();
    for file in &rules.files {
        for read in portcullis_rule_language::read(&file.text).unwrap_or_default() {
            let place =
                portcullis_rule_language::place::line_and_column(&file.text, read.place.start);
            let whose = if file.of_project { " (the project's)" } else { "" };
            rows.push(ListedRule {
                state: if rules.disabled.iter().any(|name| *name == read.rule.name) {
                    "disabled"
                } else {
                    "on"
                },
                verdict: read.rule.verdict.as_str().to_owned(),
                source: format!(
                    "{}:{}{whose}",
                    one_line(&file.path.display().to_string(), 1024),
                    place.0
                ),
                about: about(read.rule.verdict, read.rule.severity.as_str(), read.examples.len()),
                name: read.rule.name.into_owned(),
            });
        }
    }
    rows
}

fn about(verdict: Verdict, severity: &str, examples: usize) -> String {
    let tried = match examples {
        0 => "no example tries it".to_owned(),
        1 => "one example tries it".to_owned(),
        more => format!("{more} examples try it"),
    };
    format!("{} with severity {severity}; {tried}", verdict.as_str())
}
