//! Custom rules in this installation: the plugin that evaluates them, and the test of their
//! examples.
//!
//! The plugin is only loaded if there are files. A project's rules get an instance of their own:
//! rules from a repository can neither use up the others' fuel nor fail in their name. The meaning
//! of rules is not known here.

pub mod dry_run;

use crate::bundles::receipt::PluginPin;
use crate::reviewer::{builtin_entry, in_place_of};
use anyhow::{Context, Result, bail};
use dry_run::{ExampleOutcome, RuleBench};
use portcullis_config::Config;
use portcullis_config::rules::{Rules, RulesFile, is_builtin};
use portcullis_engine::{PluginSpec, Setting, SettingValue};
use portcullis_store::Home;
use std::os::unix::fs::OpenOptionsExt;

/// The plugin that evaluates custom rules.
pub const PLUGIN: &str = "custom-rules";
/// The same plugin, for a project's rules.
pub const OF_PROJECT: &str = "project-rules";

/// Returns the plugins that the rules of a configuration need.
pub fn entries(config: &Config, bundled: &[PluginPin]) -> Vec<PluginSpec> {
    let Some(builtin) = portcullis_builtin::find(PLUGIN) else { return Vec::new() };
    let of =
        |project: bool| config.rules.files.iter().filter(move |file| file.of_project == project);
    let named = [(PLUGIN, false), (OF_PROJECT, true)];
    let used = named.into_iter().filter(|(_, project)| of(*project).next().is_some());
    used.map(|(name, project)| {
        entry(
            in_place_of(builtin_entry(builtin, config), bundled),
            name,
            project,
            of(project),
            config,
        )
    })
    .collect()
}

fn entry<'a>(
    entry: PluginSpec,
    name: &str,
    project: bool,
    files: impl Iterator<Item = &'a RulesFile>,
    config: &Config,
) -> PluginSpec {
    let disabled = config.rules.disabled.iter().filter(|name| !is_builtin(name)).cloned().collect();
    let texts =
        files.flat_map(|file| [file.path.display().to_string(), file.text.clone()]).collect();
    let setting = |key: &str, value| Setting { key: key.to_owned(), value };
    let own = [
        setting("files", SettingValue::Texts(texts)),
        setting("disabled", SettingValue::Texts(disabled)),
        setting("on_fault", SettingValue::Text(entry.on_fault.as_str().to_owned())),
        setting("project", SettingValue::Flag(project)),
    ];
    // Settings that somebody made for the plugin itself are passed on: it refuses them and names
    // the right place.
    let settings = entry.settings.iter().cloned().chain(own).collect();
    PluginSpec { name: name.to_owned(), settings, ..entry }
}

/// Tests the examples of a configuration's rules, once for each text.
///
/// # Errors
/// Fails if an example has another outcome than its rule says.
pub fn check_examples(config: &Config, home: &Home) -> Result<()> {
    let rules = &config.rules;
    if rules.files.is_empty() || rules.proven {
        return Ok(());
    }
    for file in &rules.files {
        let shown = file.path.display();
        let read = portcullis_rule_language::read(&file.text).unwrap_or_default();
        if read.iter().all(|read| read.examples.is_empty()) {
            continue;
        }
        let mut bench = RuleBench::new(file, config, home)?;
        for (rule, example) in read
            .iter()
            .flat_map(|read| read.examples.iter().map(move |example| (&read.rule, example)))
        {
            let outcome = bench.run(&rule.name, example);
            if let Some(what) = outcome.wrong(&rule.name, example) {
                let (line, column) = portcullis_rule_language::place::line_and_column(
                    &file.text,
                    example.place.start,
                );
                bail!(
                    "the rules file `{shown}`, line {line}, column {column}: {what}; `portcullis rules check` shows what the rule saw"
                );
            }
        }
    }
    keep(rules, home)
}

/// Writes the receipt. If that fails, the examples are tested again next time.
fn keep(rules: &Rules, home: &Home) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(rules.receipt(home)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).context("cannot note that the rules were tried"),
    }
}

impl ExampleOutcome {
    /// Returns the difference to the example's expectation, if there is one.
    #[must_use]
    pub fn wrong(&self, rule: &str, example: &portcullis_rule_language::Example) -> Option<String> {
        match self {
            Self::Failed(why) => {
                Some(format!("the example of `{rule}` could not be judged: {why}"))
            }
            Self::Judged { objected, .. } if *objected == example.matches => None,
            Self::Judged { .. } if example.matches => {
                Some(format!("`{rule}` has to match this example, and does not"))
            }
            Self::Judged { .. } => Some(format!("`{rule}` must not match this example, and does")),
        }
    }
}
