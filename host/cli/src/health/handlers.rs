//! Our handlers in the client's settings: one for every event, in the form that holds.

use super::finding::{Check, Finding};
use super::program;
use super::settings::{File, switched_off};
use crate::client::claude::handlers::{EVENTS, Invocation};
use crate::client::claude::registered::{self, Deviation, Registered};
use crate::client::claude::settings::Scope;
use crate::places::{Pins, Places};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The client may end a hook that had less time than this, in seconds.
const SHORT: f64 = 5.0;
/// A hook that hangs for longer than this looks like a client that hangs.
const LONG: f64 = 600.0;
/// Seconds that the client waits where a handler names no time.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// A handler of ours as it stands.
#[derive(Clone, Debug)]
pub struct Handler {
    /// For whom its file counts.
    pub scope: Scope,
    /// Its file.
    pub file: PathBuf,
    /// Where in it, which program, and how it differs.
    pub registered: Registered,
    /// Its own text.
    pub value: Value,
    /// Hooks of its scope are switched off.
    pub off: bool,
}

impl Handler {
    /// The program and its arguments, where the client starts it without a shell.
    pub fn exec(&self) -> Option<(&str, Vec<&str>)> {
        let arguments = self.value.get("args")?.as_array()?;
        Some((self.value.get("command")?.as_str()?, arguments.iter().filter_map(Value::as_str).collect()))
    }

    /// The line that the client gives to a shell.
    pub fn line(&self) -> Option<&str> {
        self.value.get("command")?.as_str().filter(|_| self.value.get("args").is_none())
    }

    /// Seconds that the client waits.
    pub fn timeout(&self) -> f64 {
        self.value.get("timeout").and_then(Value::as_f64).unwrap_or(DEFAULT_TIMEOUT)
    }

    /// The client refuses where it fails.
    pub fn closed(&self) -> bool {
        self.value.get("onFailure").and_then(Value::as_str) == Some("block")
    }

    /// The folders that it pins; none where it pins none, an error where its arguments are not ours.
    pub fn pins(&self) -> Result<Option<Pins>, ()> {
        let words: Vec<OsString> = match (self.exec(), self.line()) {
            (Some((_, arguments)), _) => arguments.iter().map(OsString::from).collect(),
            (None, Some(line)) => line.replace(['"', '\''], "").split_whitespace().skip(1).map(OsString::from).collect(),
            (None, None) => return Err(()),
        };
        let mut words = words.into_iter().skip_while(|word| word != "hook");
        if words.next().is_none() || words.next().is_none_or(|agent| agent != "claude") {
            return Err(());
        }
        let pins = Pins::read(words).ok_or(())?;
        Ok((pins != Pins::default()).then_some(pins))
    }

    /// The program, where it lies inside the project and the project's own settings name it: whoever wrote
    /// the project wrote that. The client asks the person before it trusts a folder; we do not start it.
    pub fn stranger(&self, project: &Path) -> Option<String> {
        if !matches!(self.scope, Scope::Project | Scope::Local) {
            return None;
        }
        let Some((command, _)) = self.exec() else { return self.line().map(str::to_owned) };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let inside = |path: PathBuf| !path.is_absolute() || real(&path).starts_with(real(project));
        program::find(command).is_none_or(inside).then(|| command.to_owned())
    }

    /// It reaches every call of its event and the client waits for it.
    fn covers(&self) -> bool {
        let gap = |deviation: &Deviation| {
            matches!(deviation, Deviation::Event | Deviation::Matcher(_) | Deviation::Condition(_) | Deviation::Async | Deviation::Once)
        };
        !self.registered.deviations.iter().any(gap)
    }
}

/// Our handlers in all files that the client takes.
pub fn find(files: &[File], wanted: &Invocation) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for file in files {
        let Some(settings) = file.settings() else { continue };
        let off = switched_off(files, file.scope).is_some();
        for registered in registered::find(settings, wanted) {
            let value = settings.pointer(&registered.pointer).cloned().unwrap_or_default();
            handlers.push(Handler { scope: file.scope, file: file.path.clone(), registered, value, off });
        }
    }
    handlers
}

/// Judges them. `plugin`: the client's plugin of ours is enabled, whose hooks stand in no settings file.
pub fn check(handlers: &[Handler], places: &Places, plugin: bool) -> Vec<Finding> {
    if handlers.is_empty() {
        return vec![if plugin {
            Finding::note(
                Check::Handlers,
                "our hooks come with the client's plugin, and stand in no settings file",
                "`portcullis install claude` pins the folders too",
            )
        } else {
            Finding::problem(
                Check::Handlers,
                "no settings file that Claude Code reads here has hooks of ours: nothing is reviewed",
                INSTALL,
            )
        }];
    }
    let mut findings = Vec::from_iter(missing(handlers));
    findings.extend(differing(handlers, places));
    findings.extend(programs(handlers));
    if findings.is_empty() {
        let mut files: Vec<String> = handlers.iter().map(|handler| handler.file.display().to_string()).collect();
        files.dedup();
        findings.push(Finding::ok(Check::Handlers, format!("all {} events, in `{}`", EVENTS.len(), files.join("`, `"))));
    }
    findings
}

/// What mends most of it.
const INSTALL: &str = "run `portcullis install claude`";

fn install(scope: Scope) -> &'static str {
    match scope {
        Scope::User => INSTALL,
        Scope::Project => "run `portcullis install claude --project`",
        Scope::Local => "run `portcullis install claude --local`",
        Scope::Managed => "run `sudo portcullis install claude --managed`",
    }
}

fn missing(handlers: &[Handler]) -> Option<Finding> {
    // That all hooks are off is for `switches` to say.
    let all_off = handlers.iter().all(|handler| handler.off);
    let covered =
        |event: &str| handlers.iter().any(|handler| handler.registered.event == event && (all_off || !handler.off) && handler.covers());
    let missing: Vec<&str> = EVENTS.iter().map(|listened| listened.event).filter(|event| !covered(event)).collect();
    if missing.is_empty() {
        return None;
    }
    let unseen = if missing.contains(&"PreToolUse") { ": actions run unreviewed" } else { "" };
    let scope = handlers.first().map_or(Scope::User, |handler| handler.scope);
    Some(Finding::problem(Check::Handlers, format!("no hook of ours covers {}{unseen}", names(&missing)), install(scope)))
}

/// One finding for each way to differ in each file, with the events that it concerns.
fn differing(handlers: &[Handler], places: &Places) -> Vec<Finding> {
    let mut found: BTreeMap<(PathBuf, String), (Finding, Vec<&str>)> = BTreeMap::new();
    for handler in handlers {
        for deviation in &handler.registered.deviations {
            let Some((finding, what)) = judge(handler, deviation, places) else { continue };
            let entry = found.entry((handler.file.clone(), what)).or_insert_with(|| (finding.clone(), Vec::new()));
            // The worse of two events speaks for both.
            if finding.level > entry.0.level {
                entry.0 = finding;
            }
            entry.1.push(&handler.registered.event);
        }
    }
    let tell = |((file, what), (finding, mut events)): ((PathBuf, String), (Finding, Vec<&str>))| {
        events.dedup();
        Finding { what: format!("{} in `{}`: {what}", names(&events), file.display()), ..finding }
    };
    found.into_iter().map(tell).collect()
}

fn judge(handler: &Handler, deviation: &Deviation, places: &Places) -> Option<(Finding, String)> {
    let mend = install(handler.scope);
    let problem = |what: String| Some((Finding::problem(Check::Handlers, "", mend), what));
    let warning = |what: String| Some((Finding::warning(Check::Handlers, "", mend), what));
    let holds_back = matches!(handler.registered.event.as_str(), "PreToolUse" | "ConfigChange");
    match deviation {
        Deviation::Matcher(_) | Deviation::Condition(_) | Deviation::Async | Deviation::Once => problem(deviation.to_string()),
        Deviation::Open if holds_back => problem(deviation.to_string()),
        Deviation::Open | Deviation::Shell | Deviation::Mixed | Deviation::Repeated => warning(deviation.to_string()),
        Deviation::Timeout(said) => timeout(handler, said).map(|what| (Finding::warning(Check::Handlers, "", mend), what)),
        Deviation::Arguments => arguments(handler, places),
        Deviation::Event => Some((Finding::note(Check::Handlers, "", mend), deviation.to_string())),
        // Another path is judged by what lies there.
        Deviation::Program(_) => None,
    }
}

fn timeout(handler: &Handler, said: &str) -> Option<String> {
    let seconds = handler.timeout();
    if seconds < SHORT {
        return Some(format!("the client waits {said} s for it, which a loaded machine can exceed"));
    }
    (seconds > LONG).then(|| format!("the client waits {said} s for it, which looks like a client that hangs"))
}

fn arguments(handler: &Handler, places: &Places) -> Option<(Finding, String)> {
    let mend = install(handler.scope);
    let Ok(pins) = handler.pins() else {
        return Some((Finding::problem(Check::Handlers, "", mend), "its arguments are not those of a hook of ours".to_owned()));
    };
    let Some(pins) = pins else {
        let open =
            || (Finding::warning(Check::Handlers, "", mend), "it names no folders: `env` in the settings can lead it to others".to_owned());
        // What others use as well cannot name one person's folders.
        return matches!(handler.scope, Scope::User | Scope::Local).then(open);
    };
    let other = |pinned: &Option<PathBuf>, used: &Path| pinned.as_ref().filter(|pinned| pinned.as_path() != used).cloned();
    let mut apart: Vec<(&str, PathBuf)> = Vec::new();
    apart.extend(other(&pins.config, &places.config).map(|path| ("--config", path)));
    apart.extend(other(&pins.state, &places.state).map(|path| ("--state", path)));
    apart.extend(other(&pins.managed, &places.managed).map(|path| ("--managed-config", path)));
    let (_, first) = apart.first()?;
    let options: Vec<String> = apart.iter().map(|(name, path)| format!("{name} {}", super::access::quoted(path))).collect();
    let mend = format!("{mend}, or look at those: `portcullis {} doctor`", options.join(" "));
    Some((
        Finding::problem(Check::Handlers, "", mend),
        format!("it works with `{}`, which is not the folder looked at here", first.display()),
    ))
}

/// Handlers that start more than one program.
fn programs(handlers: &[Handler]) -> Option<Finding> {
    let mut programs: Vec<&str> = handlers.iter().map(|handler| handler.registered.program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    let (first, rest) = programs.split_first()?;
    (!rest.is_empty()).then(|| {
        let what = format!("the hooks start more than one program: `{first}`, `{}`", rest.join("`, `"));
        Finding::warning(Check::Handlers, what, INSTALL)
    })
}

/// Events for a message.
fn names(events: &[&str]) -> String {
    if events.len() == EVENTS.len() {
        return format!("all {} events", events.len());
    }
    match events {
        [first, second, third, rest @ ..] if rest.len() > 1 => format!("{first}, {second}, {third} and {} more events", rest.len()),
        _ => events.join(", "),
    }
}
