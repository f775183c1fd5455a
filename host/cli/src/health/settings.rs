//! The client's settings files as they stand: which can be read, which the client drops, what in them
//! switches our hooks off, leads them elsewhere or competes with them.

use super::finding::{Check, Finding, or_ok};
use crate::client::claude::handlers::Invocation;
use crate::client::claude::registered;
use crate::client::claude::settings::{Folders, Scope};
use crate::client::claude::validate::{self, MOST_BYTES};
use crate::client::file;
use crate::client::json::Document;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The most problems of one file that are told.
const MOST_TOLD: usize = 5;

/// Variables that lead a hook of ours without pinned folders to another state or configuration.
const LEADING: &[&str] = &["PORTCULLIS_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"];
/// Variables that put foreign code into the programs that the client starts.
const LOADING: &[&str] = &["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"];

/// A settings file.
#[derive(Clone, Debug)]
pub struct File {
    /// For whom it counts.
    pub scope: Scope,
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub content: Content,
}

/// What a settings file says.
#[derive(Clone, Debug)]
pub enum Content {
    /// There is none.
    Missing,
    /// The client cannot read it, and neither can we.
    Unreadable(String),
    /// The client drops all of it, for these reasons.
    Dropped(Vec<String>),
    /// What the client takes.
    Valid(Value),
}

impl File {
    /// Its settings, where the client takes them.
    pub fn settings(&self) -> Option<&Value> {
        match &self.content {
            Content::Valid(settings) => Some(settings),
            _ => None,
        }
    }

    /// Its path, for a message.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Reads every settings file that a client reads.
pub fn read(folders: &Folders) -> Vec<File> {
    let file = |(scope, path): (Scope, PathBuf)| File { scope, content: content(&path), path };
    folders.files().into_iter().map(file).collect()
}

fn content(path: &Path) -> Content {
    let bytes = match file::look(path, MOST_BYTES).map(|found| found.bytes) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Content::Missing,
        Err(error) => return Content::Unreadable(format!("{error:#}")),
    };
    let document = match Document::parse(&bytes) {
        Ok(document) => document,
        Err(error) => return Content::Dropped(vec![validate::Problem::from(error).to_string()]),
    };
    let problems = validate::problems(&document);
    if problems.is_empty() {
        Content::Valid(document.value().clone())
    } else {
        Content::Dropped(problems.iter().map(ToString::to_string).collect())
    }
}

/// Whether the files can be read and the client takes them.
pub fn readable(files: &[File]) -> Vec<Finding> {
    let there = files.iter().filter(|file| file.settings().is_some()).count();
    let findings = files.iter().flat_map(unusable).collect();
    or_ok(findings, Check::Settings, format!("the client takes {there} settings file{}", if there == 1 { "" } else { "s" }))
}

fn unusable(file: &File) -> Vec<Finding> {
    match &file.content {
        Content::Missing | Content::Valid(_) => Vec::new(),
        Content::Unreadable(error) => {
            vec![Finding::problem(Check::Settings, error, "make it a file that you can read, or remove it")]
        }
        Content::Dropped(problems) => {
            let what = format!("the client drops all of `{}`, hooks too", file.shown());
            let told = problems.iter().take(MOST_TOLD).map(|problem| Finding::problem(Check::Settings, &what, problem.as_str()));
            told.collect()
        }
    }
}

/// Whether hooks of a scope are switched off, and by which file.
pub fn switched_off(files: &[File], scope: Scope) -> Option<(&File, &'static str)> {
    let says = |file: &&File, name: &str| file.settings().and_then(|settings| settings.get(name)) == Some(&Value::Bool(true));
    let managed = |file: &&File| file.scope == Scope::Managed;
    let of_machine = || files.iter().filter(managed);
    if let Some(file) = of_machine().find(|file| says(file, "disableAllHooks")) {
        return Some((file, "disableAllHooks"));
    }
    if scope == Scope::Managed {
        return None;
    }
    if let Some(file) = of_machine().find(|file| says(file, "allowManagedHooksOnly")) {
        return Some((file, "allowManagedHooksOnly"));
    }
    files.iter().find(|file| says(file, "disableAllHooks")).map(|file| (file, "disableAllHooks"))
}

/// What in the files, or in this process's environment, switches our hooks off or leads them elsewhere.
pub fn switches(files: &[File], ours: &[Scope], pinned: bool, config_dir: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told = Vec::new();
    let scopes: Vec<Scope> = if ours.is_empty() { vec![Scope::User] } else { ours.to_vec() };
    let off: Vec<_> = scopes.iter().map(|scope| switched_off(files, *scope)).collect();
    let any_on = off.iter().any(Option::is_none);
    for (file, key) in off.into_iter().flatten().filter(|_| !any_on) {
        if !told.contains(&key) {
            told.push(key);
            let what = format!("`{key}` in `{}` switches our hooks off", file.shown());
            let mend =
                if key == "allowManagedHooksOnly" { "install with `sudo portcullis install claude --managed`" } else { "remove that line" };
            findings.push(Finding::problem(Check::Switches, what, mend));
        }
    }
    for file in files {
        findings.extend(redirections(file, pinned));
        findings.extend(bypass(file));
    }
    if let Some(folder) = config_dir {
        let what = format!("CLAUDE_CONFIG_DIR is `{folder}`: only clients that are started with it read the settings that were looked at");
        findings.push(Finding::note(Check::Switches, what, "unset it and run `portcullis doctor` again to look at the usual ones"));
    }
    or_ok(findings, Check::Switches, "nothing switches the hooks off or leads them elsewhere")
}

fn redirections(file: &File, pinned: bool) -> Vec<Finding> {
    let variables = file.settings().and_then(|settings| settings.get("env")).and_then(Value::as_object);
    let names = variables.into_iter().flatten().map(|(name, _)| name.as_str());
    let told = |name: &str| -> Option<Finding> {
        let what = |how: &str| format!("`env.{name}` in `{}` {how}", file.shown());
        let mend = format!("remove `{name}` from `env`");
        if LEADING.contains(&name) && !pinned {
            return Some(Finding::problem(Check::Switches, what("leads our hooks to another configuration or state"), mend));
        }
        match name {
            "HOME" => Some(Finding::warning(Check::Switches, what("changes what `~` means to our hooks"), mend)),
            "CLAUDE_CONFIG_DIR" => {
                Some(Finding::warning(Check::Switches, what("leads clients that the agent starts to other settings"), mend))
            }
            _ if LOADING.contains(&name) => {
                Some(Finding::warning(Check::Switches, what("puts foreign code into the programs that the client starts"), mend))
            }
            _ => None,
        }
    };
    names.filter_map(told).collect()
}

fn bypass(file: &File) -> Option<Finding> {
    let mode = file.settings()?.get("permissions")?.get("defaultMode")?.as_str()?;
    (mode == "bypassPermissions").then(|| {
        let what = format!("`{}` starts sessions in bypassPermissions: nobody is asked but by our hooks", file.shown());
        Finding::note(Check::Switches, what, "")
    })
}

/// The client's plugin that brings our hooks along is enabled.
pub fn has_our_plugin(files: &[File]) -> bool {
    let enabled = files.iter().filter_map(|file| file.settings()?.get("enabledPlugins")?.as_object()).flatten();
    let mut ours = enabled.filter(|(name, on)| name.split('@').next() == Some(env!("CARGO_PKG_NAME")) && *on == &Value::Bool(true));
    ours.next().is_some()
}

/// Hooks of others that may change the same calls: of several rewrites the last to finish wins.
pub fn rivals(files: &[File], ours: &Invocation) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| switched_off(files, file.scope).is_none()) {
        let Some(settings) = file.settings() else { continue };
        for command in registered::others(settings, "PreToolUse", ours) {
            let what = format!("`{}` in `{}` answers PreToolUse too: of two rewrites of a call the last one wins", command, file.shown());
            findings.push(Finding::warning(Check::Rivals, what, "make sure that it changes no input (`updatedInput`), or remove it"));
        }
        for name in
            settings.get("enabledPlugins").and_then(Value::as_object).into_iter().flatten().filter(|(_, on)| *on == &Value::Bool(true))
        {
            let what = format!("the client's plugin `{}` is enabled in `{}`: its hooks were not looked at", name.0, file.shown());
            findings.push(Finding::note(Check::Rivals, what, ""));
        }
    }
    or_ok(findings, Check::Rivals, "no other hook answers PreToolUse")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::finding::Level;
    use serde_json::json;

    fn file(scope: Scope, settings: Value) -> File {
        File { scope, path: format!("/{}.json", scope.source()).into(), content: Content::Valid(settings) }
    }

    #[test]
    fn what_switches_hooks_off_depends_on_where_both_stand() {
        let (all, only) = ("disableAllHooks", "allowManagedHooksOnly");
        let off = |scope: Scope, key: &str| file(scope, json!({ key: true }));
        for (files, of_user, of_machine) in [
            (vec![], None, None),
            (vec![off(Scope::User, all)], Some(all), None),
            (vec![off(Scope::Project, all)], Some(all), None),
            (vec![off(Scope::Local, all)], Some(all), None),
            (vec![off(Scope::Managed, all)], Some(all), Some(all)),
            (vec![off(Scope::Managed, only)], Some(only), None),
            (vec![off(Scope::User, only)], None, None),
            (vec![file(Scope::User, json!({ "disableAllHooks": "true" }))], None, None),
            (vec![file(Scope::User, json!({ "disableAllHooks": false }))], None, None),
        ] {
            let key = |scope| switched_off(&files, scope).map(|(_, key)| key);
            assert_eq!((key(Scope::User), key(Scope::Managed)), (of_user, of_machine), "{files:?}");
            let level = |ours: &[Scope]| switches(&files, ours, true, None).iter().map(|finding| finding.level).max();
            let expected = |off: Option<&str>| Some(if off.is_some() { Level::Problem } else { Level::Ok });
            assert_eq!(level(&[Scope::User]), expected(of_user), "{files:?}");
            // One installation that runs is enough.
            assert_eq!(level(&[Scope::User, Scope::Managed]), expected(of_machine), "{files:?}");
        }
    }

    #[test]
    fn variables_that_lead_elsewhere_are_told_by_what_they_do() {
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
            let files = [file(Scope::Local, json!({ "env": { name: "/elsewhere" } }))];
            let found = switches(&files, &[Scope::User], pinned, None);
            assert_eq!(found.iter().map(|finding| finding.level).max(), Some(level), "{name} {pinned}");
        }
    }
}
