//! Custom rules in this installation: the plugin that asks them, and the proof that their examples hold.
//!
//! The plugin is loaded only where there are files. A project's rules get an instance of their own: what
//! a repository wrote neither uses up the others' fuel nor fails in their name. What a rule means is not
//! known here.

pub mod trial;

use crate::bundles::receipt::Pinned;
use crate::config::Config;
use crate::config::rules::{Rules, RulesFile, is_builtin};
use crate::runtime::{builtin_entry, in_place_of};
use anyhow::{Context, Result, bail};
use portcullis_engine::{Entry, Setting, SettingValue};
use portcullis_store::Home;
use std::os::unix::fs::OpenOptionsExt;
use trial::{Bench, Outcome};

/// The plugin that asks custom rules.
pub const PLUGIN: &str = "custom-rules";
/// The same plugin, for a project's rules.
pub const OF_PROJECT: &str = "project-rules";

/// The plugins that the rules of a configuration need.
pub fn entries(config: &Config, bundled: &[Pinned]) -> Vec<Entry> {
    let Some(builtin) = portcullis_builtin::find(PLUGIN) else { return Vec::new() };
    let of = |project: bool| config.rules.files.iter().filter(move |file| file.of_project == project);
    let named = [(PLUGIN, false), (OF_PROJECT, true)];
    let used = named.into_iter().filter(|(_, project)| of(*project).next().is_some());
    used.map(|(name, project)| entry(in_place_of(builtin_entry(builtin, config), bundled), name, project, of(project), config)).collect()
}

fn entry<'a>(entry: Entry, name: &str, project: bool, files: impl Iterator<Item = &'a RulesFile>, config: &Config) -> Entry {
    let disabled = config.rules.disabled.iter().filter(|name| !is_builtin(name)).cloned().collect();
    let texts = files.flat_map(|file| [file.path.display().to_string(), file.text.clone()]).collect();
    let setting = |key: &str, value| Setting { key: key.to_owned(), value };
    let own = [
        setting("files", SettingValue::Texts(texts)),
        setting("disabled", SettingValue::Texts(disabled)),
        setting("on_fault", SettingValue::Text(entry.on_fault.as_str().to_owned())),
        setting("project", SettingValue::Flag(project)),
    ];
    // What somebody set for the plugin itself is passed on: it refuses it, and says where rules are named.
    let settings = entry.settings.iter().cloned().chain(own).collect();
    Entry { name: name.to_owned(), settings, ..entry }
}

/// Tries the examples of a configuration's rules, once for each text of them.
///
/// # Errors
/// An example comes out differently than its rule says.
pub fn prove(config: &Config, home: &Home) -> Result<()> {
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
        let mut bench = Bench::new(file, config, home)?;
        for (rule, example) in read.iter().flat_map(|read| read.examples.iter().map(move |example| (&read.rule, example))) {
            let outcome = bench.run(&rule.name, example);
            if let Some(what) = outcome.wrong(&rule.name, example) {
                let (line, column) = portcullis_rule_language::place::line_and_column(&file.text, example.place.start);
                bail!("the rules file `{shown}`, line {line}, column {column}: {what}; `portcullis rules check` shows what the rule saw");
            }
        }
    }
    keep(rules, home)
}

/// Where the receipt cannot be written, the examples are tried again next time.
fn keep(rules: &Rules, home: &Home) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(rules.receipt(home)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).context("cannot note that the rules were tried"),
    }
}

impl Outcome {
    /// How it differs from what the example says, if it does.
    #[must_use]
    pub fn wrong(&self, rule: &str, example: &portcullis_rule_language::Example) -> Option<String> {
        match self {
            Self::Failed(why) => Some(format!("the example of `{rule}` could not be judged: {why}")),
            Self::Judged { objected, .. } if *objected == example.matches => None,
            Self::Judged { .. } if example.matches => Some(format!("`{rule}` has to match this example, and does not")),
            Self::Judged { .. } => Some(format!("`{rule}` must not match this example, and does")),
        }
    }
}
