//! The client's settings files: which are readable, which the client drops, and which entries
//! disable our hooks, redirect them or compete with them.

use super::finding::{Check, HealthFinding, or_ok};
use portcullis_agents::file;
use portcullis_agents::hook_settings::{HookSettings, MANAGED_ONLY};
use portcullis_agents::settings::{Folders, SettingsScope};
use portcullis_agents::settings_problem::SettingsProblem;
use portcullis_agents::{Agent, Invocation};
use portcullis_core::text::count_noun;
use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};

/// The most reported problems of one file.
const MOST_REPORTED: usize = 5;

/// The most bytes of a record of trusted folders, or of a file with variables.
const MOST_RECORD: u64 = 1 << 20;

/// Variables that redirect one of our hooks without pinned folders to another state or
/// configuration.
const LEADING: &[&str] = &["PORTCULLIS_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"];
/// Variables that load foreign code into the programs that the client starts.
const LOADING: &[&str] =
    &["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"];

/// A settings file.
#[derive(Clone, Debug)]
pub(super) struct ClientFile {
    /// Its scope.
    pub scope: SettingsScope,
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub content: SettingsContent,
}

/// The content of a settings file.
#[derive(Clone, Debug)]
pub(super) enum SettingsContent {
    /// No file.
    Missing,
    /// A file that neither the client nor this program can read.
    Unreadable(String),
    /// A file that the client drops completely, for these reasons.
    Dropped(Vec<String>),
    /// Settings that are valid for the client.
    Valid(Value),
}

impl ClientFile {
    /// Returns its settings, if they are valid for the client.
    pub(super) fn settings(&self) -> Option<&Value> {
        match &self.content {
            SettingsContent::Valid(settings) => Some(settings),
            _ => None,
        }
    }

    /// Returns its path for a message.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Reads every settings file that a client reads.
pub(super) fn read(agent: &dyn Agent, folders: &Folders) -> Vec<ClientFile> {
    let hooks = agent.hook_settings();
    let file = |(scope, path): (SettingsScope, PathBuf)| ClientFile {
        scope,
        content: content(hooks, &path),
        path,
    };
    folders.files().into_iter().map(file).collect()
}

fn content(hooks: &dyn HookSettings, path: &Path) -> SettingsContent {
    let bytes = match file::read_settings(path, hooks.most_bytes()).map(|found| found.bytes) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return SettingsContent::Missing,
        Err(error) => return SettingsContent::Unreadable(format!("{error:#}")),
    };
    let document = match hooks.read_document(&bytes) {
        Ok(document) => document,
        Err(error) => {
            return SettingsContent::Dropped(vec![SettingsProblem::from(error).to_string()]);
        }
    };
    let problems = hooks.find_problems(&document);
    if problems.is_empty() {
        SettingsContent::Valid(document.value().clone())
    } else {
        SettingsContent::Dropped(problems.iter().map(ToString::to_string).collect())
    }
}

/// Checks that the files are readable and valid for the client.
pub(super) fn readable(files: &[ClientFile]) -> Vec<HealthFinding> {
    let there = files.iter().filter(|file| file.settings().is_some()).count();
    let findings = files.iter().flat_map(unusable).collect();
    or_ok(
        findings,
        Check::Settings,
        format!("the client takes {}", count_noun(there as u64, "settings file")),
    )
}

fn unusable(file: &ClientFile) -> Vec<HealthFinding> {
    match &file.content {
        SettingsContent::Missing | SettingsContent::Valid(_) => Vec::new(),
        SettingsContent::Unreadable(error) => {
            vec![HealthFinding::problem(
                Check::Settings,
                error,
                "make it a file that you can read, or remove it",
            )]
        }
        SettingsContent::Dropped(problems) => {
            let what = format!("the client drops all of `{}`, hooks too", file.shown());
            let reported = problems
                .iter()
                .take(MOST_REPORTED)
                .map(|problem| HealthFinding::problem(Check::Settings, &what, problem.as_str()));
            reported.collect()
        }
    }
}

/// Returns the file that disables the hooks of a scope, if any.
pub(super) fn switched_off<'a>(
    agent: &dyn Agent,
    files: &'a [ClientFile],
    scope: SettingsScope,
) -> Option<(&'a ClientFile, &'static str)> {
    let settings: Vec<_> = files.iter().map(|file| (file.scope, file.settings())).collect();
    let (index, key) = agent.hook_settings().find_switch(&settings, scope)?;
    Some((files.get(index)?, key))
}

/// Reports entries in the files, and variables of this process's environment, that disable or
/// redirect our hooks, after what was found `around` the files.
pub(super) fn switches(
    agent: &dyn Agent,
    files: &[ClientFile],
    ours: &[SettingsScope],
    pinned: bool,
    around: Vec<HealthFinding>,
) -> Vec<HealthFinding> {
    let mut findings = around;
    let mut reported = Vec::new();
    let scopes: Vec<SettingsScope> =
        if ours.is_empty() { vec![SettingsScope::User] } else { ours.to_vec() };
    let off: Vec<_> = scopes.iter().map(|scope| switched_off(agent, files, *scope)).collect();
    // One installation that is switched on is enough.
    let any_on = off.iter().any(Option::is_none);
    for (file, key) in off.into_iter().flatten().filter(|_| !any_on) {
        if !reported.contains(&key) {
            reported.push(key);
            let what = format!("`{key}` in `{}` switches our hooks off", file.shown());
            let fix = if key == MANAGED_ONLY {
                format!("install with `sudo {} --managed`", agent.install_command())
            } else {
                "remove that line".to_owned()
            };
            findings.push(HealthFinding::problem(Check::Switches, what, fix));
        }
    }
    for file in files {
        findings.extend(redirections(agent, file, pinned));
        findings.extend(bypass(file));
    }
    let variable = agent.hook_settings().layout().person_variable;
    if let Some((name, folder)) = variable.and_then(|name| Some((name, env::var(name).ok()?))) {
        let what = format!(
            "{name} is `{folder}`: only clients that are started with it read the settings that were checked"
        );
        findings.push(HealthFinding::note(
            Check::Switches,
            what,
            "unset it and run `portcullis doctor` again to look at the usual ones",
        ));
    }
    or_ok(findings, Check::Switches, "nothing switches the hooks off or leads them elsewhere")
}

/// Reports a folder in which the client does not load our hooks, since the person does not trust it.
/// `record` is the client's record of such folders, if there is one.
fn judge_trust(
    agent: &dyn Agent,
    files: &[ClientFile],
    ours: &[SettingsScope],
    folder: &Path,
    record: Option<&str>,
) -> Option<HealthFinding> {
    let trust = agent.hook_settings().folder_trust()?;
    let settings: Vec<_> = files.iter().map(|file| (file.scope, file.settings())).collect();
    let of_project =
        ours.iter().any(|scope| matches!(scope, SettingsScope::Project | SettingsScope::Local));
    if !trust.is_on(&settings) || ours.is_empty() || !(trust.reaches_all || of_project) {
        return None;
    }
    let (name, folder_shown) = (agent.display_name(), folder.display());
    let lost = if trust.reaches_all { "no hooks" } else { "none of the project's hooks" };
    match record.and_then(|text| (trust.read)(text, folder)) {
        Some(true) => None,
        // The client asks first, and refuses to start without a person.
        None if trust.reaches_all => Some(HealthFinding::note(
            Check::Switches,
            format!(
                "{name} will ask if you trust `{folder_shown}`: until you do, it loads {lost} there"
            ),
            trust.fix,
        )),
        Some(false) | None => Some(HealthFinding::problem(
            Check::Switches,
            format!("`{folder_shown}` is not trusted, so {name} loads {lost} there"),
            trust.fix,
        )),
    }
}

/// Reports a folder that is not trusted.
pub(super) fn check_trust(
    agent: &dyn Agent,
    files: &[ClientFile],
    ours: &[SettingsScope],
    folders: &Folders,
) -> Option<HealthFinding> {
    let trust = agent.hook_settings().folder_trust()?;
    let record = file::read_settings(&folders.person.join(trust.file), MOST_RECORD).ok()?;
    let text = record.bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    judge_trust(agent, files, ours, &folders.project, text.as_deref())
}

/// Reports variables in the client's `.env` files that lead it to other settings.
pub(super) fn check_env_files(agent: &dyn Agent, folders: &Folders) -> Vec<HealthFinding> {
    let read = |path: PathBuf| {
        let bytes = file::read_settings(&path, MOST_RECORD).ok()?.bytes?;
        Some((path, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let texts = folders.env_files().into_iter().filter_map(read);
    texts.flat_map(|(path, text)| judge_env_file(agent, &path, &text)).collect()
}

fn judge_env_file(agent: &dyn Agent, path: &Path, text: &str) -> Vec<HealthFinding> {
    let variables = agent.profile().hooked.map_or(&[][..], |ways| ways.settings_variables);
    let set = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        Some(line.split_once('=')?.0.trim())
    });
    let mut names: Vec<&str> = set.filter(|name| variables.contains(name)).collect();
    names.dedup();
    let report = |name: &str| {
        HealthFinding::warning(
            Check::Switches,
            format!(
                "`{name}` in `{}` leads {} to other settings than those that were checked",
                path.display(),
                agent.display_name()
            ),
            format!("remove the line with `{name}`"),
        )
    };
    names.into_iter().map(report).collect()
}

fn redirections(agent: &dyn Agent, file: &ClientFile, pinned: bool) -> Vec<HealthFinding> {
    let variables =
        file.settings().and_then(|settings| settings.get("env")).and_then(Value::as_object);
    let names = variables.into_iter().flatten().map(|(name, _)| name.as_str());
    let check_variable = |name: &str| -> Option<HealthFinding> {
        let what = |how: &str| format!("`env.{name}` in `{}` {how}", file.shown());
        let fix = format!("remove `{name}` from `env`");
        if LEADING.contains(&name) && !pinned {
            return Some(HealthFinding::problem(
                Check::Switches,
                what("leads our hooks to another configuration or state"),
                fix,
            ));
        }
        match name {
            "HOME" => Some(HealthFinding::warning(
                Check::Switches,
                what("changes what `~` means to our hooks"),
                fix,
            )),
            _ if agent.hook_settings().layout().person_variable == Some(name) => {
                Some(HealthFinding::warning(
                    Check::Switches,
                    what("leads clients that the agent starts to other settings"),
                    fix,
                ))
            }
            _ if LOADING.contains(&name) => Some(HealthFinding::warning(
                Check::Switches,
                what("puts foreign code into the programs that the client starts"),
                fix,
            )),
            _ => None,
        }
    };
    names.filter_map(check_variable).collect()
}

fn bypass(file: &ClientFile) -> Option<HealthFinding> {
    let mode = file.settings()?.get("permissions")?.get("defaultMode")?.as_str()?;
    (mode == "bypassPermissions").then(|| {
        let what = format!(
            "`{}` starts sessions in bypassPermissions: only our hooks ask a person",
            file.shown()
        );
        HealthFinding::note(Check::Switches, what, "")
    })
}

/// Returns true if our plugin for the client, which contains our hooks, is enabled.
pub(super) fn has_our_plugin(files: &[ClientFile]) -> bool {
    let enabled = files
        .iter()
        .filter_map(|file| file.settings()?.get("enabledPlugins")?.as_object())
        .flatten();
    let mut ours = enabled.filter(|(name, on)| {
        // The client names a plugin together with its marketplace: `portcullis@portcullis`.
        name.split('@').next() == Some(portcullis_agents::PROGRAM) && *on == &Value::Bool(true)
    });
    ours.next().is_some()
}

/// Reports foreign hooks that may change the same calls: of several rewrites, the last one to
/// finish wins.
pub(super) fn rivals(
    agent: &dyn Agent,
    files: &[ClientFile],
    folders: &[PathBuf],
    ours: &Invocation,
) -> Vec<HealthFinding> {
    let mut findings = Vec::new();
    let gate = agent.hook_settings().gate_event();
    let form = agent.hook_settings().hooks();
    for file in folders.iter().flat_map(|folder| form.find_rivals(folder, gate)) {
        findings.push(HealthFinding::warning(
            Check::Rivals,
            format!(
                "`{}` can answer {gate} too: of two rewrites of a call the last one wins",
                file.display()
            ),
            "make sure that it changes no input, or remove it",
        ));
    }
    for file in files.iter().filter(|file| switched_off(agent, files, file.scope).is_none()) {
        let Some(settings) = file.settings() else { continue };
        for command in agent.hook_settings().foreign_commands(settings, gate, ours) {
            let what = format!(
                "`{command}` in `{}` answers {gate} too: of two rewrites of a call the last one wins",
                file.shown()
            );
            findings.push(HealthFinding::warning(
                Check::Rivals,
                what,
                "make sure that it changes no input (`updatedInput`), or remove it",
            ));
        }
        for name in settings
            .get("enabledPlugins")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(_, on)| *on == &Value::Bool(true))
        {
            let what = format!(
                "the client's plugin `{}` is enabled in `{}`: its hooks were not looked at",
                name.0,
                file.shown()
            );
            findings.push(HealthFinding::note(Check::Rivals, what, ""));
        }
    }
    or_ok(findings, Check::Rivals, format!("no other hook answers {gate}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::finding::Level;
    use portcullis_agents::DEFAULT;
    use serde_json::json;

    fn file(scope: SettingsScope, settings: Value) -> ClientFile {
        ClientFile {
            scope,
            path: format!("/{scope:?}.json").into(),
            content: SettingsContent::Valid(settings),
        }
    }

    #[test]
    fn switches_apply_by_scope() {
        let (all, only) = ("disableAllHooks", "allowManagedHooksOnly");
        let off = |scope: SettingsScope, key: &str| file(scope, json!({ key: true }));
        for (files, of_user, of_machine) in [
            (vec![], None, None),
            (vec![off(SettingsScope::User, all)], Some(all), None),
            (vec![off(SettingsScope::Project, all)], Some(all), None),
            (vec![off(SettingsScope::Local, all)], Some(all), None),
            (vec![off(SettingsScope::Managed, all)], Some(all), Some(all)),
            (vec![off(SettingsScope::Managed, only)], Some(only), None),
            (vec![off(SettingsScope::User, only)], None, None),
            (vec![file(SettingsScope::User, json!({ "disableAllHooks": "true" }))], None, None),
            (vec![file(SettingsScope::User, json!({ "disableAllHooks": false }))], None, None),
        ] {
            let key = |scope| switched_off(DEFAULT, &files, scope).map(|(_, key)| key);
            assert_eq!(
                (key(SettingsScope::User), key(SettingsScope::Managed)),
                (of_user, of_machine),
                "{files:?}"
            );
            let level = |ours: &[SettingsScope]| {
                switches(DEFAULT, &files, ours, true, Vec::new())
                    .iter()
                    .map(|finding| finding.level)
                    .max()
            };
            let expected =
                |off: Option<&str>| Some(if off.is_some() { Level::Problem } else { Level::Ok });
            assert_eq!(level(&[SettingsScope::User]), expected(of_user), "{files:?}");
            // One enabled installation is enough.
            assert_eq!(
                level(&[SettingsScope::User, SettingsScope::Managed]),
                expected(of_machine),
                "{files:?}"
            );
        }
    }

    #[test]
    fn variables_that_lead_elsewhere_are_reported_by_what_they_do() {
        for (name, pinned, level) in [
            ("PORTCULLIS_HOME", false, Level::Problem),
            ("PORTCULLIS_HOME", true, Level::Ok),
            ("XDG_STATE_HOME", false, Level::Problem),
            ("HOME", false, Level::Problem),
            ("HOME", true, Level::Warning),
            ("CLAUDE_CONFIG_DIR", true, Level::Warning),
            ("LD_PRELOAD", true, Level::Warning),
            ("EDITOR", false, Level::Ok),
        ] {
            let files = [file(SettingsScope::Local, json!({ "env": { name: "/elsewhere" } }))];
            let found = switches(DEFAULT, &files, &[SettingsScope::User], pinned, Vec::new());
            assert_eq!(
                found.iter().map(|finding| finding.level).max(),
                Some(level),
                "{name} {pinned}"
            );
        }
    }

    #[test]
    fn a_folder_without_trust_is_named_with_the_hooks_that_it_loses() {
        use SettingsScope::{Managed, Project, User};
        let on = || file(User, json!({"security": {"folderTrust": {"enabled": true}}}));
        let off = || file(User, json!({"security": {"folderTrust": {"enabled": false}}}));
        let (yes, no) = (r#"{"/p": "TRUST_FOLDER"}"#, r#"{"/p": "DO_NOT_TRUST"}"#);
        let trusted = "[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
        let (problem, note) = (Some(Level::Problem), Some(Level::Note));
        for (client, files, ours, record, expected) in [
            ("gemini", vec![], vec![User], Some(no), problem),
            ("gemini", vec![], vec![Managed], Some(no), problem),
            ("gemini", vec![], vec![User], Some(yes), None),
            ("gemini", vec![], vec![User], None, note),
            ("gemini", vec![], vec![], Some(no), None),
            ("gemini", vec![off()], vec![User], Some(no), None),
            ("qwen", vec![], vec![User], Some(no), None),
            ("qwen", vec![on()], vec![User], Some(no), problem),
            ("qwen", vec![on()], vec![User], Some(yes), None),
            ("codex", vec![], vec![User], None, None),
            ("codex", vec![], vec![Project], None, problem),
            ("codex", vec![], vec![User, Project], Some("model = 1"), problem),
            ("codex", vec![], vec![Project], Some(trusted), None),
            ("claude", vec![], vec![Project], None, None),
        ] {
            let agent = portcullis_agents::find_agent(client).unwrap();
            let found = judge_trust(agent, &files, &ours, Path::new("/p"), record);
            let level = found.as_ref().map(|finding| finding.level);
            assert_eq!(level, expected, "{client} {ours:?} {record:?}");
            if let Some(finding) = found {
                assert!(finding.what.contains("`/p`") && !finding.fix.is_empty(), "{finding:?}");
            }
        }
    }

    #[test]
    fn a_variable_that_leads_to_other_settings_is_found_in_every_spelling() {
        for (client, text, named) in [
            ("gemini", "GEMINI_CLI_HOME=/x\n", 1),
            ("gemini", "# a\nexport GEMINI_CLI_SYSTEM_SETTINGS_PATH = \"/x\"\n", 1),
            ("gemini", "  GEMINI_CLI_HOME='x'\nGEMINI_CLI_SYSTEM_SETTINGS_PATH=y", 2),
            ("gemini", "#GEMINI_CLI_HOME=/x\nGEMINI_API_KEY=k\nMY_GEMINI_CLI_HOME=1\n", 0),
            ("qwen", "QWEN_HOME=/x\r\n", 1),
            ("qwen", "GEMINI_CLI_HOME=/x\n", 0),
            ("qwen", "", 0),
        ] {
            let agent = portcullis_agents::find_agent(client).unwrap();
            let found = judge_env_file(agent, Path::new("/p/.env"), text);
            assert_eq!(found.len(), named, "{client} {text}");
            for finding in found {
                assert_eq!(finding.level, Level::Warning);
                assert!(finding.what.contains("`/p/.env`"), "{}", finding.what);
            }
        }
    }
}
