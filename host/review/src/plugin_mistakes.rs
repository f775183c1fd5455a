//! Finds mistakes of a configuration that show only when its plugins are loaded: settings that a
//! plugin refuses, templates that no intervention can fill, an exporter that does not exist.

use crate::reviewer::Reviewer;
use portcullis_config::Config;
use portcullis_config::problem::KeyProblem;
use portcullis_core::text::one_line;
use portcullis_engine::{Kind, Setting, SettingValue};

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
    let exporters = reviewer.plugins.list_names(Kind::AuditExporter);
    if !exporters.contains(&config.audit.export_format) {
        mistakes.push(KeyProblem {
            key: "audit.export_format".to_owned(),
            what: format!(
                "there is no exporter `{}`: there are {}",
                one_line(&config.audit.export_format, 256),
                exporters.join(", ")
            ),
        });
    }
    let interventions = reviewer.plugins.list_names(Kind::Intervention);
    for (issue, text) in &config.policy.interventions.templates {
        mistakes.extend(check_template(config, &interventions, issue, text, load)?);
    }
    Ok(mistakes)
}

/// Returns the plugins that cannot be loaded, each with the reason.
fn refusals(reviewer: &mut Reviewer) -> Vec<(String, String)> {
    let mut refused = Vec::new();
    reviewer.plugins.compile_all(|progress| {
        if let Err(fault) = progress.result {
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

/// Reports a template that every intervention refuses. One may know placeholders that another does
/// not, and which of them answers is known only in a session.
fn check_template(
    config: &Config,
    interventions: &[String],
    issue: &str,
    text: &str,
    load: &mut dyn FnMut(Config) -> anyhow::Result<Reviewer>,
) -> anyhow::Result<Option<KeyProblem>> {
    let setting =
        Setting { key: format!("templates.{issue}"), value: SettingValue::Text(text.to_owned()) };
    let mut tried = config.clone();
    for name in interventions {
        let plugin = tried.plugins.entry(name.clone()).or_default();
        if plugin.settings.iter().all(|own| own.key != setting.key) {
            plugin.settings.push(setting.clone());
            plugin.settings.sort_by(|a, b| a.key.cmp(&b.key));
        }
    }
    let refused = refusals(&mut load(tried)?);
    let named = format!("setting `{}`: ", setting.key);
    let reasons: Vec<&str> = interventions
        .iter()
        .filter_map(|name| refused.iter().find(|(plugin, _)| plugin == name))
        .filter_map(|(_, why)| Some(why.split_once(&named)?.1))
        .collect();
    let all = !interventions.is_empty() && reasons.len() == interventions.len();
    Ok(reasons.first().filter(|_| all).map(|why| KeyProblem {
        key: format!("interventions.templates.{issue}"),
        what: format!("the template for `{}`: {}", one_line(issue, 64), one_line(why, 512)),
    }))
}
