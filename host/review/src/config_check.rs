//! Finds mistakes of a configuration that none of its lines shows alone: values that do not count,
//! channels that cannot send, a folder that does not exist, a strategy without its decider.

use crate::credentials::HomeCredentials;
use crate::exports::configured_exports;
use crate::notifications::configured_channels;
use portcullis_config::Config;
use portcullis_config::layers::{IgnoreReason, IgnoredKey, Layer, MergedSettings};
use portcullis_config::problem::{KeyProblem, Problems};
use portcullis_core::policy::Strategy;
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;
use portcullis_network::{DocumentError, DocumentFolder};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the mistakes, each with its file and position.
#[must_use]
pub fn find_mistakes(
    settled: &MergedSettings,
    config: &Config,
    person: &str,
    credentials: &HomeCredentials,
) -> Vec<Problems> {
    let ignored = settled.ignored.iter().filter_map(|ignored| without_effect(settled, ignored));
    let keys = channels(config, person, credentials)
        .into_iter()
        .chain(exports(config, person, credentials))
        .chain(check_decider(config))
        .chain(plugins_folder(settled, config))
        .chain(upgrade_source(config));
    let keys = keys.map(|problem| place_problem(settled, Some(config), &problem));
    ignored.chain(keys).collect()
}

/// Returns a problem with the file and the position that set its key.
#[must_use]
pub fn place_problem(
    settled: &MergedSettings,
    config: Option<&Config>,
    problem: &KeyProblem,
) -> Problems {
    let prompts = config.and_then(|config| config.prompts.as_ref());
    let template =
        prompts.and_then(|file| Some((&file.path, file.find_template(&problem.key)?.place)));
    if let Some((file, place)) = template {
        return Problems::at_place(file, place, problem.what.clone());
    }
    match settled.place_of(&problem.key) {
        Some((file, place)) => Problems::at_place(file, place, problem.what.clone()),
        None => Problems::in_file(Path::new(portcullis_config::FILE), problem.what.clone()),
    }
}

/// Reports a custom strategy that names no plugin that decides: it would decide nothing.
#[must_use]
pub fn check_decider(config: &Config) -> Option<KeyProblem> {
    let policy = &config.policy.interventions;
    let missing = policy.strategy == Strategy::Custom && policy.decider.is_none();
    missing.then(|| KeyProblem {
        key: "interventions.strategy".to_owned(),
        what: "`interventions.strategy` is `custom`, but `interventions.decider` names no plugin that decides"
            .to_owned(),
    })
}

/// Reports a project's value that has no effect. A value that a person's own file overrides is no
/// mistake.
fn without_effect(settled: &MergedSettings, ignored: &IgnoredKey) -> Option<Problems> {
    if ignored.layer != Layer::Project || matches!(ignored.why, IgnoreReason::Overridden(_)) {
        return None;
    }
    let what =
        format!("`{}` has no effect: {}", one_line(&ignored.path, 256), ignored.why.in_words());
    let file = settled.file_of(ignored.layer)?;
    Some(Problems::at_place(file, (ignored.line, ignored.column), what))
}

fn channels(config: &Config, person: &str, credentials: &HomeCredentials) -> Vec<KeyProblem> {
    let channels = configured_channels(config, person);
    let problem = |(name, channel): (&String, &crate::notifications::ConfiguredChannel)| {
        let what = format!("the channel `{name}` cannot be used");
        let table = format!("notifications.channels.{name}");
        Some(name_key(&table, config.channels.get(name), &what, &channel.problem(credentials)?))
    };
    channels.iter().filter_map(problem).collect()
}

fn exports(config: &Config, person: &str, credentials: &HomeCredentials) -> Vec<KeyProblem> {
    let exports = configured_exports(config, person);
    let problem = |(name, export): (&String, &crate::exports::ConfiguredExport)| {
        let what = format!("the export `{name}` cannot be used");
        let table = format!("exports.{name}");
        let why = export.problem(credentials)?;
        Some(name_key(&table, config.exports.get(name), &what, &why))
    };
    exports.iter().filter_map(problem).collect()
}

/// Returns a problem of a table with the key that it names, if it names one that is there.
fn name_key(
    table: &str,
    said: Option<&BTreeMap<String, Value>>,
    what: &str,
    why: &str,
) -> KeyProblem {
    let mut named = why.split('`').filter(|part| part.starts_with(table) && *part != table);
    let known = named.find(|key| {
        let key = key.strip_prefix(table).unwrap_or_default().trim_start_matches('.');
        said.is_some_and(|said| said.contains_key(key))
    });
    KeyProblem { key: known.unwrap_or(table).to_owned(), what: format!("{what}: {why}") }
}

/// Reports a place of new versions that `upgrade --check` would not ask.
fn upgrade_source(config: &Config) -> Option<KeyProblem> {
    let source = config.upgrade.source.as_deref()?;
    let why = match DocumentFolder::parse_address(source) {
        _ if source.starts_with('/') || source.starts_with("~/") => return None,
        Ok(_) => return None,
        Err(DocumentError::Malformed) => {
            "it takes a folder from `/` or `~/` on, or `https://HOST/FOLDER`".to_owned()
        }
        Err(error) => error.to_string(),
    };
    Some(KeyProblem {
        key: "upgrade.source".to_owned(),
        what: format!("`upgrade.source` is `{}`: {why}", one_line(source, 400)),
    })
}

/// Reports a plugins folder that somebody named and that does not exist: its plugins do not run.
fn plugins_folder(settled: &MergedSettings, config: &Config) -> Option<KeyProblem> {
    let named = settled.place_of("plugins_dir").is_some();
    (named && !config.plugins_dir.is_dir()).then(|| KeyProblem {
        key: "plugins_dir".to_owned(),
        what: format!(
            "`plugins_dir` is `{}`, and there is no such folder: create it, or remove the key",
            one_line(&config.plugins_dir.display().to_string(), 1024)
        ),
    })
}
