//! Finds mistakes of a configuration that show only when its plugins are loaded: settings that a
//! plugin refuses, templates that no intervention can fill, an exporter that does not exist.

use crate::exports::configured_exports;
use crate::reviewer::Reviewer;
use portcullis_config::Config;
use portcullis_config::problem::KeyProblem;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::review::RULE;
use portcullis_core::text::one_line;
use portcullis_engine::{Kind, Setting, SettingValue};
use portcullis_strict_toml::nearest;
use std::collections::BTreeSet;

/// Finds the mistakes that show only when plugins are loaded: a setting that its plugin refuses, an
/// exporter that does not exist, a template with a placeholder that no intervention fills.
/// `load` makes a reviewer of a configuration.
///
/// # Errors
/// Fails if a reviewer cannot be made.
pub fn find_plugin_mistakes(
    config: &Config,
    load: &mut dyn FnMut(Config) -> anyhow::Result<Reviewer>,
) -> anyhow::Result<Vec<KeyProblem>> {
    let mut reviewer = load(config.clone())?;
    let mut mistakes: Vec<KeyProblem> = refusals(&mut reviewer)
        .into_iter()
        .map(|(plugin, why)| refused_plugin(&plugin, &why, config))
        .collect();
    mistakes.extend(unknown_exporters(config, &reviewer.plugins.list_names(Kind::AuditExporter)));
    mistakes.extend(unknown_ladders(config, &reviewer.plugins.list_names(Kind::Pattern)));
    mistakes.extend(find_template_mistakes(config, &mut reviewer, load)?);
    Ok(mistakes)
}

/// Reports formats that no exporter writes: that of `audit export`, and those of exports.
fn unknown_exporters(config: &Config, exporters: &[String]) -> Vec<KeyProblem> {
    // No format depends on the home folder.
    let exports = configured_exports(config, "");
    let named = exports
        .into_iter()
        .filter(|(_, export)| !export.format.is_empty())
        .map(|(name, export)| (format!("exports.{name}.format"), export.format));
    let default = ("audit.export_format".to_owned(), config.audit.export_format.clone());
    std::iter::once(default)
        .chain(named)
        .filter(|(_, format)| !exporters.contains(format))
        .map(|(key, format)| KeyProblem {
            key,
            what: format!(
                "there is no exporter `{}`: there are {}",
                one_line(&format, 256),
                exporters.join(", ")
            ),
        })
        .collect()
}

/// Finds the templates that are never read, since no pattern has their name, and those with a
/// placeholder that no intervention fills. `reviewer` is one of this configuration, which names its
/// plugins; only templates that are tried load others.
///
/// # Errors
/// Fails if a reviewer cannot be made.
pub fn find_template_mistakes(
    config: &Config,
    reviewer: &mut Reviewer,
    load: &mut dyn FnMut(Config) -> anyhow::Result<Reviewer>,
) -> anyhow::Result<Vec<KeyProblem>> {
    let named = &config.policy.interventions.templates;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let interventions = reviewer.plugins.list_names(Kind::Intervention);
    let patterns = reviewer.plugins.list_names(Kind::Pattern);
    let mut mistakes = unknown_templates(config, &patterns, &interventions);
    let templates: Vec<Template<'_>> =
        named.iter().map(|(name, text)| Template::of(name, text, config, &interventions)).collect();
    // Mostly all are right, and then they are tried together.
    if !refusals(&mut load(try_templates(config, &templates))?).is_empty() {
        for template in &templates {
            mistakes.extend(check_template(config, template, load)?);
        }
    }
    Ok(mistakes)
}

/// A template with the plugins that may use it.
struct Template<'a> {
    /// Its name in the configuration.
    name: &'a str,
    /// Its name among the settings of a plugin.
    setting: String,
    text: &'a str,
    plugins: Vec<String>,
}

impl<'a> Template<'a> {
    fn of(name: &'a str, text: &'a str, config: &Config, all: &[String]) -> Self {
        let kind = InterventionKind::ALL
            .iter()
            .find_map(|kind| Some((kind, name.strip_prefix(kind.as_str())?.strip_prefix('.')?)));
        let plugin_of = |kind: &InterventionKind| {
            let chosen = config.policy.interventions.plugins.get(kind.as_str()).cloned();
            chosen.unwrap_or_else(|| kind.plugin_name())
        };
        if let Some((kind, issue)) = kind {
            let setting = format!("templates.{issue}");
            return Self { name, setting, text, plugins: vec![plugin_of(kind)] };
        }
        // Of the builtin plugins, one reads plain names. What others read is not known.
        let correction = plugin_of(&InterventionKind::SoftCorrection);
        let reads =
            |plugin: &&String| **plugin == correction || portcullis_builtin::find(plugin).is_none();
        let plugins = all.iter().filter(reads).cloned().collect();
        Self { name, setting: format!("templates.{name}"), text, plugins }
    }
}

/// Returns a configuration in which every plugin has its templates as settings, which it checks
/// when it is loaded.
fn try_templates(config: &Config, templates: &[Template<'_>]) -> Config {
    let mut tried = config.clone();
    for Template { setting, text, plugins, .. } in templates {
        for name in plugins {
            let plugin = tried.plugins.entry(name.clone()).or_default();
            if plugin.settings.iter().all(|own| own.key != *setting) {
                let value = SettingValue::Text((*text).to_owned());
                plugin.settings.push(Setting { key: setting.clone(), value });
                plugin.settings.sort_by(|a, b| a.key.cmp(&b.key));
            }
        }
    }
    tried
}

/// The names of templates that are not an issue's.
const PARTS: &[&str] = &[
    "default",
    "last_word",
    "resource_throttling.notice",
    "resource_throttling.unchanged",
    "resource_throttling.efficiency",
    "checkpoint_rollback.rollback",
    "checkpoint_rollback.conversation",
    "checkpoint_rollback.plan",
];

/// Returns the issue that a plugin's name stands for.
fn issue_of(plugin: &str) -> String {
    plugin.replace('-', "_")
}

/// Returns the issues that are named like the pattern that reports them, also those of builtin
/// patterns that are switched off.
fn list_issues(patterns: &[String]) -> BTreeSet<String> {
    let builtin = portcullis_builtin::ALL.iter().map(|builtin| builtin.name);
    patterns.iter().map(String::as_str).chain(builtin).map(issue_of).collect()
}

/// Reports ladders of issues that nobody reports. A third party's pattern may report issues with
/// other names than its own, so that with one of them every name may be right.
fn unknown_ladders(config: &Config, patterns: &[String]) -> Vec<KeyProblem> {
    if patterns.iter().any(|name| portcullis_builtin::find(name).is_none()) {
        return Vec::new();
    }
    let known = list_issues(patterns);
    let ladders = &config.policy.interventions.ladders;
    let unknown = ladders.keys().filter(|name| !known.contains(*name) && !name.starts_with(RULE));
    unknown
        .map(|name| {
            let fix = match nearest(known.iter().map(String::as_str), name) {
                Some(known) => format!("did you mean `{known}`?"),
                None => "remove it, or install the pattern that does".to_owned(),
            };
            KeyProblem {
                key: format!("interventions.ladders.{name}"),
                what: format!("no pattern reports `{}`; {fix}", one_line(name, 64)),
            }
        })
        .collect()
}

/// Reports templates whose names no pattern, rule or plugin uses: they would never be read.
fn unknown_templates(
    config: &Config,
    patterns: &[String],
    interventions: &[String],
) -> Vec<KeyProblem> {
    let ladders = config.policy.interventions.ladders.keys().cloned();
    let mut known = list_issues(patterns);
    known.extend(ladders.chain(["default".to_owned()]));
    let tables: Vec<String> =
        interventions.iter().map(|name| format!("{}.", issue_of(name))).collect();
    let unknown = config.policy.interventions.templates.keys().filter_map(|name| {
        let below = tables.iter().find_map(|table| name.strip_prefix(table.as_str()));
        let issue = below.unwrap_or(name);
        let is_known =
            issue.starts_with(RULE) || known.contains(issue) || PARTS.contains(&name.as_str());
        (!is_known).then(|| {
            let fix = match nearest(known.iter().map(String::as_str), issue) {
                Some(known) => format!("did you mean `{known}`?"),
                None => NOT_NAMED.to_owned(),
            };
            KeyProblem {
                key: format!("interventions.templates.{name}"),
                what: format!("no pattern reports `{}`; {fix}", one_line(issue, 64)),
            }
        })
    });
    unknown.collect()
}

const NOT_NAMED: &str =
    "a pattern that is not named like its plugin is known by its ladder in `interventions.ladders`";

/// Returns the plugins that cannot be loaded, each with the reason.
fn refusals(reviewer: &mut Reviewer) -> Vec<(String, String)> {
    let mut refused = Vec::new();
    reviewer.plugins.compile_all(|progress| {
        if let Some(Err(fault)) = progress.result {
            refused.push((progress.name.to_owned(), fault.detail));
        }
    });
    refused
}

/// Reports a plugin that cannot be loaded, at its setting if the reason names one.
fn refused_plugin(plugin: &str, why: &str, config: &Config) -> KeyProblem {
    let named = why.split_once("setting `").and_then(|(_, rest)| rest.split('`').next());
    let set = |key: &&str| {
        let settings = config.plugins.get(plugin).map(|plugin| plugin.settings.as_slice());
        settings.unwrap_or_default().iter().any(|setting| setting.key == **key)
    };
    let key = match named.filter(|key| set(key)) {
        Some(setting) => format!("plugins.{plugin}.settings.{setting}"),
        None => format!("plugins.{plugin}"),
    };
    KeyProblem {
        key,
        what: format!("the plugin `{plugin}` cannot be loaded: {}", one_line(why, 512)),
    }
}

/// Reports a template that every plugin refuses which may use it. One may know placeholders that
/// another does not, and which of them answers is known only in a session.
fn check_template(
    config: &Config,
    template: &Template<'_>,
    load: &mut dyn FnMut(Config) -> anyhow::Result<Reviewer>,
) -> anyhow::Result<Option<KeyProblem>> {
    let refused = refusals(&mut load(try_templates(config, std::slice::from_ref(template)))?);
    let named = format!("setting `{}`: ", template.setting);
    let reasons: Vec<&str> = template
        .plugins
        .iter()
        .filter_map(|name| refused.iter().find(|(plugin, _)| plugin == name))
        .filter_map(|(_, why)| Some(why.split_once(&named)?.1))
        .collect();
    let all = !template.plugins.is_empty() && reasons.len() == template.plugins.len();
    Ok(reasons.first().filter(|_| all).map(|why| KeyProblem {
        key: format!("interventions.templates.{}", template.name),
        what: format!("the template for `{}`: {}", one_line(template.name, 64), one_line(why, 512)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installed::load_reviewer;
    use anyhow::bail;
    use portcullis_agents::HookEnvironment;
    use portcullis_config::paths::Paths;
    use portcullis_store::Home;

    #[test]
    fn templates_load_only_what_tries_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let home = Home::open_root(root.join("state")).unwrap();
        let places = Paths {
            person: String::new(),
            config: root.join("config"),
            state: root.join("state"),
            managed: root.join("managed.toml"),
            project: None,
            environment: HookEnvironment::of_process(),
            handed: None,
        };
        let mut config = Config::builtin_only(&places);
        config.policy.interventions.templates.insert("loop".into(), "Look again.".into());
        let mut reviewer = load_reviewer(&places, &home, config.clone(), &[], 1).unwrap();
        let mut loaded = Vec::new();
        let mut load = |given: Config| {
            loaded.push(given != config);
            bail!("nothing is compiled in this test")
        };
        // The plugins' names are those of the reviewer; the first that is loaded tries templates.
        assert!(find_template_mistakes(&config, &mut reviewer, &mut load).is_err());
        assert_eq!(loaded, [true]);
        config.policy.interventions.templates.clear();
        let mut none = |_| bail!("there is nothing to try");
        assert!(find_template_mistakes(&config, &mut reviewer, &mut none).unwrap().is_empty());
    }
}
