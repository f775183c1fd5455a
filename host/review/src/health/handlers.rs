//! Our handlers in the client's settings: one for every event, in the required form.

use super::finding::{Check, HealthFinding};
use super::program;
use super::settings::{ClientFile, switched_off};
use portcullis_agents::hook_handler::{Deviation, HookHandler};
use portcullis_agents::invocation::{TIMEOUT, take_timeout};
use portcullis_agents::own_files::SCRIPT;
use portcullis_agents::settings::SettingsScope;
use portcullis_agents::{Agent, Invocation};
use portcullis_config::paths::{PathOverrides, Paths};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The shortest timeout that is not reported, in seconds: the client may end a hook too early.
const SHORT: f64 = 5.0;
/// The longest timeout that is not reported, in seconds: a hanging hook would look like a hanging
/// client.
const LONG: f64 = 600.0;

/// One of our handlers as it is registered.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    /// The client whose settings have it.
    pub agent: &'static dyn Agent,
    /// The scope of its file.
    pub scope: SettingsScope,
    /// Its file.
    pub file: PathBuf,
    /// Its position, its program, and its deviations.
    pub registered: HookHandler,
    /// Its JSON value.
    pub value: Value,
    /// True if hooks of its scope are disabled.
    pub off: bool,
}

impl Handler {
    /// Returns the program and its arguments, if the client starts it without a shell.
    pub(super) fn exec(&self) -> Option<(&str, Vec<&str>)> {
        let arguments = self.value.get("args")?.as_array()?;
        Some((self.command()?, arguments.iter().filter_map(Value::as_str).collect()))
    }

    /// Returns the shell script that the client starts, if it starts one that is ours alone.
    pub(super) fn script(&self) -> Option<&str> {
        self.value.get(SCRIPT)?.as_str()
    }

    /// Returns the line that the client passes to a shell.
    pub(super) fn line(&self) -> Option<&str> {
        self.command().filter(|_| self.value.get("args").is_none())
    }

    /// Returns the program or the shell line, by the names that clients give it.
    fn command(&self) -> Option<&str> {
        ["command", "exec", "bash"].iter().find_map(|name| self.value.get(*name)?.as_str())
    }

    /// Returns the client's timeout in seconds.
    pub(super) fn timeout(&self) -> f64 {
        self.agent.hook_settings().timeout(&self.value)
    }

    /// Returns true if the client refuses when the handler fails.
    pub(super) fn closed(&self) -> bool {
        self.agent.hook_settings().refuses_on_failure(&self.value)
    }

    /// Returns the folders that it pins: `None` if it pins none, an error if its arguments are not
    /// those of our hooks.
    pub(super) fn pins(&self) -> Result<Option<PathOverrides>, ()> {
        let (_, pins) = self.hook_arguments().ok_or(())?;
        Ok((pins != PathOverrides::default()).then_some(pins))
    }

    /// Returns the timeout and the folders that its arguments name; `None` if they are not those of
    /// our hooks.
    fn hook_arguments(&self) -> Option<(u64, PathOverrides)> {
        let words: Vec<OsString> = match (self.exec(), self.line()) {
            (Some((_, arguments)), _) => arguments.iter().map(OsString::from).collect(),
            (None, Some(line)) => line
                .replace(['"', '\''], "")
                .split_whitespace()
                .skip(1)
                .map(OsString::from)
                .collect(),
            (None, None) => return None,
        };
        let mut words = words.into_iter().skip_while(|word| word != "hook");
        if words.next().is_none() || words.next().is_none_or(|agent| agent != self.agent.name()) {
            return None;
        }
        let mut words: Vec<OsString> = words.collect();
        Some((take_timeout(&mut words)?, PathOverrides::read_arguments(words)?))
    }

    /// Returns true if it may wait for a person until after the client has given it up.
    fn outlasts_client(&self) -> bool {
        let named = self.hook_arguments().map(|(timeout, _)| timeout);
        named.is_some_and(|named| named > TIMEOUT && named as f64 > self.timeout())
    }

    /// Returns the program if it is inside the project and named by the project's own settings: the
    /// author of the project controls both. The client asks the person before it trusts a folder;
    /// this program does not start it.
    pub(super) fn stranger(&self, project: &Path) -> Option<String> {
        if !matches!(self.scope, SettingsScope::Project | SettingsScope::Local) {
            return None;
        }
        let Some((command, _)) = self.exec() else { return self.line().map(str::to_owned) };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let inside = |path: PathBuf| !path.is_absolute() || real(&path).starts_with(real(project));
        program::find(command).is_none_or(inside).then(|| command.to_owned())
    }

    /// Returns true if it reaches every call of its event and the client waits for it.
    fn covers(&self) -> bool {
        let gap = |deviation: &Deviation| {
            matches!(
                deviation,
                Deviation::Event
                    | Deviation::Matcher(_)
                    | Deviation::Condition(_)
                    | Deviation::Async
                    | Deviation::Once
                    | Deviation::Text
            )
        };
        !self.registered.deviations.iter().any(gap)
    }
}

/// Returns our handlers in all settings files that are valid for the client.
pub(super) fn find(
    agent: &'static dyn Agent,
    files: &[ClientFile],
    wanted: &Invocation,
) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for file in files {
        let Some(settings) = file.settings() else { continue };
        let off = switched_off(agent, files, file.scope).is_some();
        for registered in agent.hook_settings().find_handlers(settings, wanted) {
            let value = settings.pointer(&registered.pointer).cloned().unwrap_or_default();
            handlers.push(Handler {
                agent,
                scope: file.scope,
                file: file.path.clone(),
                registered,
                value,
                off,
            });
        }
    }
    handlers
}

/// Checks the handlers. `plugin`: our plugin for the client is enabled, whose hooks are not in a
/// settings file.
pub(super) fn check(
    agent: &dyn Agent,
    handlers: &[Handler],
    places: &Paths,
    plugin: bool,
) -> Vec<HealthFinding> {
    if handlers.is_empty() {
        return vec![if plugin {
            HealthFinding::note(
                Check::Handlers,
                "our hooks come with the client's plugin, not from a settings file",
                format!("`{}` pins the folders too", agent.install_command()),
            )
        } else {
            HealthFinding::problem(
                Check::Handlers,
                format!(
                    "no settings file that {} reads here has our hooks: nothing is reviewed",
                    agent.display_name()
                ),
                install(agent, SettingsScope::User),
            )
        }];
    }
    let all = agent.hook_settings().events();
    let mut findings = Vec::from_iter(missing(agent, handlers));
    findings.extend(differing(all.len(), handlers, places));
    findings.extend(programs(agent, handlers));
    if findings.is_empty() {
        let mut files: Vec<String> =
            handlers.iter().map(|handler| handler.file.display().to_string()).collect();
        files.dedup();
        findings.push(HealthFinding::ok(
            Check::Handlers,
            format!("all {} events, in `{}`", all.len(), files.join("`, `")),
        ));
    }
    findings
}

/// Returns the advice that fixes most problems of a scope.
fn install(agent: &dyn Agent, scope: SettingsScope) -> String {
    let command = agent.install_command();
    match scope {
        SettingsScope::User => format!("run `{command}`"),
        SettingsScope::Project => format!("run `{command} --project`"),
        SettingsScope::Local => format!("run `{command} --local`"),
        SettingsScope::Managed => format!("run `sudo {command} --managed`"),
    }
}

fn missing(agent: &dyn Agent, handlers: &[Handler]) -> Option<HealthFinding> {
    let all = agent.hook_settings().events();
    // The `switches` check reports that all hooks are off.
    let all_off = handlers.iter().all(|handler| handler.off);
    let covered = |event: &str| {
        handlers.iter().any(|handler| {
            handler.registered.event == event && (all_off || !handler.off) && handler.covers()
        })
    };
    let missing: Vec<&str> =
        all.iter().map(|listened| listened.event).filter(|event| !covered(event)).collect();
    if missing.is_empty() {
        return None;
    }
    let gate = agent.hook_settings().gate_event();
    let unseen = if missing.contains(&gate) { ": actions run unreviewed" } else { "" };
    let scope = handlers.first().map_or(SettingsScope::User, |handler| handler.scope);
    Some(HealthFinding::problem(
        Check::Handlers,
        format!("none of our hooks covers {}{unseen}", names(&missing, all.len())),
        install(agent, scope),
    ))
}

/// Returns one finding for each kind of deviation in each file, with the events concerned.
fn differing(all: usize, handlers: &[Handler], places: &Paths) -> Vec<HealthFinding> {
    let mut found: BTreeMap<(PathBuf, String), (HealthFinding, Vec<&str>)> = BTreeMap::new();
    for handler in handlers {
        for deviation in &handler.registered.deviations {
            let Some((finding, what)) = judge(handler, deviation, places) else { continue };
            let entry = found
                .entry((handler.file.clone(), what))
                .or_insert_with(|| (finding.clone(), Vec::new()));
            // The worse of two events determines the level.
            if finding.level > entry.0.level {
                entry.0 = finding;
            }
            entry.1.push(&handler.registered.event);
        }
    }
    let tell =
        |((file, what), (finding, mut events)): ((PathBuf, String), (HealthFinding, Vec<&str>))| {
            events.dedup();
            HealthFinding {
                what: format!("{} in `{}`: {what}", names(&events, all), file.display()),
                ..finding
            }
        };
    found.into_iter().map(tell).collect()
}

fn judge(
    handler: &Handler,
    deviation: &Deviation,
    places: &Paths,
) -> Option<(HealthFinding, String)> {
    let fix = install(handler.agent, handler.scope);
    let problem =
        |what: String| Some((HealthFinding::problem(Check::Handlers, "", fix.as_str()), what));
    let warning =
        |what: String| Some((HealthFinding::warning(Check::Handlers, "", fix.as_str()), what));
    let event = handler.registered.event.as_str();
    let holds_back = event == handler.agent.hook_settings().gate_event() || event == "ConfigChange";
    match deviation {
        Deviation::Matcher(_)
        | Deviation::Condition(_)
        | Deviation::Async
        | Deviation::Once
        | Deviation::Text => problem(deviation.to_string()),
        Deviation::Open if holds_back => problem(deviation.to_string()),
        Deviation::Open | Deviation::Shell | Deviation::Mixed | Deviation::Repeated => {
            warning(deviation.to_string())
        }
        Deviation::Timeout(_) | Deviation::Arguments if handler.outlasts_client() => {
            problem("it waits for a person longer than the client waits for it".to_owned())
        }
        Deviation::Timeout(_) => timeout(handler)
            .map(|what| (HealthFinding::warning(Check::Handlers, "", fix.as_str()), what)),
        Deviation::Arguments => arguments(handler, places),
        Deviation::Event => {
            Some((HealthFinding::note(Check::Handlers, "", fix.as_str()), deviation.to_string()))
        }
        // A different program is checked through its file.
        Deviation::Program(_) => None,
    }
}

fn timeout(handler: &Handler) -> Option<String> {
    let seconds = handler.timeout();
    if seconds < SHORT {
        return Some(format!(
            "the client waits {seconds} s for it, which a loaded machine can exceed"
        ));
    }
    (seconds > LONG).then(|| {
        format!("the client waits {seconds} s for it, which looks like a client that hangs")
    })
}

fn arguments(handler: &Handler, places: &Paths) -> Option<(HealthFinding, String)> {
    let fix = install(handler.agent, handler.scope);
    let Ok(pins) = handler.pins() else {
        return Some((
            HealthFinding::problem(Check::Handlers, "", fix),
            "its arguments are not those of our hooks".to_owned(),
        ));
    };
    let Some(pins) = pins else {
        let open = || {
            (
                HealthFinding::warning(Check::Handlers, "", fix),
                "it names no folders: `env` in the settings can lead it to others".to_owned(),
            )
        };
        // A file that others use as well cannot name one person's folders.
        return matches!(handler.scope, SettingsScope::User | SettingsScope::Local).then(open);
    };
    let other = |pinned: &Option<PathBuf>, used: &Path| {
        pinned.as_ref().filter(|pinned| pinned.as_path() != used).cloned()
    };
    let mut apart: Vec<(&str, PathBuf)> = Vec::new();
    apart.extend(other(&pins.config, &places.config).map(|path| ("--config", path)));
    apart.extend(other(&pins.state, &places.state).map(|path| ("--state", path)));
    apart.extend(other(&pins.managed, &places.managed).map(|path| ("--managed-config", path)));
    let (_, first) = apart.first()?;
    let options: Vec<String> = apart
        .iter()
        .map(|(name, path)| format!("{name} {}", super::access::quoted(path)))
        .collect();
    let fix = format!("{fix}, or look at those: `portcullis {} doctor`", options.join(" "));
    Some((
        HealthFinding::problem(Check::Handlers, "", fix),
        format!("it uses `{}`, which is not the folder checked here", first.display()),
    ))
}

/// Reports handlers that start more than one program.
fn programs(agent: &dyn Agent, handlers: &[Handler]) -> Option<HealthFinding> {
    let mut programs: Vec<&str> =
        handlers.iter().map(|handler| handler.registered.program.as_str()).collect();
    programs.sort_unstable();
    programs.dedup();
    let (first, rest) = programs.split_first()?;
    (!rest.is_empty()).then(|| {
        let what =
            format!("the hooks start more than one program: `{first}`, `{}`", rest.join("`, `"));
        HealthFinding::warning(Check::Handlers, what, install(agent, SettingsScope::User))
    })
}

/// Formats event names for a message.
fn names(events: &[&str], all: usize) -> String {
    if events.len() == all {
        return format!("all {} events", events.len());
    }
    match events {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more events", rest.len())
        }
        _ => events.join(", "),
    }
}
