//! Calls that say in parameters what a program's command line says in words: a server that is named
//! like a program, a unit that is stopped, a container that is started, a branch that is reset.
//! They are read as that command line, so that a server and a shell get the same answer.

use super::Name;
use super::switches::{is_set, text_of};
use super::tables::SHELLS;
use crate::facts::texts;
use serde_json::{Map, Value};

/// The most words of one line.
const WORDS: usize = 64;

/// Returns the command lines that a call stands for; none for most calls.
pub(super) fn lines_of(name: &Name, input: &Map<String, Value>) -> Vec<String> {
    let lines = [
        of_program(name, input),
        of_packages(name, input),
        of_unit(name, input),
        of_container(name, input),
        of_containers(name, input),
    ];
    lines.into_iter().flatten().chain(of_git(name, input)).collect()
}

/// Returns the line of a tool that installs packages, named by a parameter.
fn of_packages(name: &Name, input: &Map<String, Value>) -> Option<String> {
    const MANAGERS: &[&str] = &["apt", "brew", "cargo", "gem", "npm", "pip", "pnpm", "uv", "yarn"];
    const NAMES: &[&str] = &[
        "dependencies",
        "modules",
        "name",
        "names",
        "package",
        "packagename",
        "packages",
        "spec",
        "url",
    ];
    let program = name.program().filter(|program| MANAGERS.contains(program))?;
    let verb = ["install", "add"].into_iter().find(|verb| name.says(&[verb]))?;
    let (_, given) = input.iter().find(|(key, _)| NAMES.contains(&texts::plain(key).as_str()))?;
    let mut words = vec![program];
    // `uv add`, and for its tools `uv pip install`.
    words.extend((program == "uv" && verb == "install").then_some("pip"));
    words.push(verb);
    let registry = text_of(input, &["registry", "indexurl", "index", "source"]);
    if let Some(registry) = registry.filter(|_| matches!(program, "npm" | "pnpm" | "pip" | "gem")) {
        words.push(match program {
            "pip" => "--index-url",
            "gem" => "--source",
            _ => "--registry",
        });
        words.push(registry);
    }
    match given {
        Value::String(text) => words.extend(text.split_ascii_whitespace().take(WORDS)),
        Value::Array(items) => words.extend(items.iter().filter_map(Value::as_str).take(WORDS)),
        _ => return None,
    }
    Some(texts::line(&words))
}

/// Returns the line of a tool that throws containers away with their data.
fn of_containers(name: &Name, input: &Map<String, Value>) -> Option<String> {
    let docker = name
        .0
        .iter()
        .chain(&name.1)
        .any(|word| matches!(word.as_str(), "compose" | "docker" | "podman"));
    let volumes = is_set(input, &["volumes", "removevolumes", "withvolumes", "v"]);
    if docker && name.says(&["down"]) && volumes {
        return Some("docker compose down -v".to_owned());
    }
    let prunes = docker && name.says(&["prune"]) && !is_set(input, &["dryrun"]);
    if prunes && (volumes || name.says(&["volume", "volumes"])) {
        return Some("docker volume prune -af".to_owned());
    }
    None
}

/// Returns the line of a tool that takes a program's arguments, and has its subcommand in its name:
/// `apply` of a server `terraform`.
fn of_program(name: &Name, input: &Map<String, Value>) -> Option<String> {
    let program = name.program().filter(|_| !name.says(SHELLS))?;
    let is_known = |key: &String| texts::is_command(&texts::plain(key));
    if input.keys().any(is_known) {
        return None;
    }
    let (_, given) = input.iter().find(|(key, _)| takes_arguments(&texts::plain(key)))?;
    let subcommand = name.0.iter().map(String::as_str).filter(|word| *word != program);
    let mut words: Vec<&str> = std::iter::once(program).chain(subcommand).collect();
    match given {
        Value::Array(items) => words.extend(items.iter().filter_map(Value::as_str).take(WORDS)),
        Value::String(text) => return Some(format!("{} {text}", texts::line(&words))),
        _ => return None,
    }
    Some(texts::line(&words))
}

fn takes_arguments(key: &str) -> bool {
    texts::is_arguments(key) || matches!(key, "flags" | "extraargs" | "cliargs" | "extraflags")
}

/// Words that name a manager of services.
const MANAGERS: &[&str] =
    &["daemon", "initd", "service", "services", "systemctl", "systemd", "unit", "units"];
/// Words that name what has services of its own, which are no units.
const OTHERS: &[&str] = &[
    "aws",
    "cloud",
    "compose",
    "consul",
    "docker",
    "ecs",
    "gcloud",
    "k8s",
    "kube",
    "kubectl",
    "kubernetes",
    "railway",
    "render",
    "swarm",
];

/// Returns the line of a tool that takes a service of this machine away.
fn of_unit(name: &Name, input: &Map<String, Value>) -> Option<String> {
    let has = |words: &[&str]| name.0.iter().chain(&name.1).any(|it| words.contains(&it.as_str()));
    if !has(MANAGERS) || has(OTHERS) {
        return None;
    }
    let unit = text_of(input, &["unit", "unitname", "service", "servicename", "daemon", "name"])?;
    let said = text_of(input, &["action", "operation", "state", "verb", "desiredstate"]);
    let said = said.map(str::to_ascii_lowercase);
    let words = said.iter().chain(&name.0).map(String::as_str);
    let stopped = words.filter_map(|word| match word {
        "stop" | "stopped" | "halt" | "inactive" | "terminate" => Some("stop"),
        "disable" | "disabled" => Some("disable"),
        "mask" | "masked" => Some("mask"),
        "kill" | "killed" => Some("kill"),
        _ => None,
    });
    let switched = || {
        let off = |key: &str| input.get(key).and_then(Value::as_bool) == Some(false);
        (off("enabled") || off("enable"))
            .then_some("disable")
            .or(is_set(input, &["masked"]).then_some("mask"))
    };
    let verb = stopped.into_iter().next().or_else(switched)?;
    let user = text_of(input, &["scope", "bus", "mode"]).is_some_and(|scope| scope == "user")
        || is_set(input, &["user"]);
    let scope = if user { " --user" } else { "" };
    Some(format!("systemctl{scope} {verb} {}", texts::line(&[unit])))
}

/// Returns the line of a tool that starts a container, as far as it opens the machine to it.
fn of_container(name: &Name, input: &Map<String, Value>) -> Option<String> {
    if !name.says(&["container", "containers", "run", "create", "start", "launch"]) {
        return None;
    }
    let image = text_of(input, &["image", "imagename"])?;
    let mut words = vec!["docker".to_owned(), "run".to_owned()];
    let mut open = vec![input];
    let nested = ["hostconfig", "options", "config", "securitycontext"];
    let inner = input.iter().filter(|(key, _)| nested.contains(&texts::plain(key).as_str()));
    open.extend(inner.filter_map(|(_, value)| value.as_object()));
    for (key, value) in open.into_iter().flat_map(Map::iter) {
        match texts::plain(key).as_str() {
            "privileged" if value.as_bool() == Some(true) => words.push("--privileged".to_owned()),
            "pid" | "pidmode" if value.as_str() == Some("host") => {
                words.push("--pid=host".to_owned());
            }
            "volumes" | "volume" | "binds" | "mounts" | "mount" => {
                for mount in mounts_of(value) {
                    words.extend(["-v".to_owned(), mount]);
                }
            }
            _ => {}
        }
    }
    if words.len() == 2 {
        return None;
    }
    words.push(image.to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).take(WORDS).collect();
    Some(texts::line(&words))
}

/// Returns mounts as the engine's client writes them: `SOURCE:TARGET`.
fn mounts_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().take(WORDS).flat_map(mounts_of).collect(),
        Value::Object(object) => {
            let source = text_of(object, &["source", "src", "hostpath", "host", "from"]);
            let target =
                text_of(object, &["target", "destination", "dst", "containerpath", "bind"]);
            if let Some(source) = source {
                return vec![format!("{source}:{}", target.unwrap_or("/mnt"))];
            }
            // A map from the machine's folders to the container's: `{"/": {"bind": "/host"}}`.
            let pairs = object.iter().take(WORDS).filter(|(key, _)| key.starts_with('/'));
            pairs
                .map(|(key, value)| {
                    let target = match value {
                        Value::Object(inner) => text_of(inner, &["bind", "target"]),
                        other => other.as_str(),
                    };
                    format!("{key}:{}", target.unwrap_or("/mnt"))
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the lines of a tool that throws work of a repository away.
fn of_git(name: &Name, input: &Map<String, Value>) -> Vec<String> {
    let git = name.0.iter().chain(&name.1).any(|word| word == "git");
    let folder = text_of(input, &["repopath", "repositorypath", "repo", "cwd", "path", "worktree"]);
    let folder = folder.filter(|path| path.starts_with(['/', '~', '.']));
    let at = |rest: &[&str]| {
        let place = folder.map(|path| vec!["-C", path]).unwrap_or_default();
        let words: Vec<&str> =
            std::iter::once("git").chain(place).chain(rest.iter().copied()).collect();
        texts::line(&words)
    };
    let says = |words: &[&str]| name.says(words);
    let mut lines = Vec::new();
    let hard = is_set(input, &["hard"])
        || text_of(input, &["mode", "type", "resettype", "resetmode"])
            .is_some_and(|mode| mode.trim_start_matches('-').eq_ignore_ascii_case("hard"));
    if says(&["reset"]) && hard {
        let goal = text_of(input, &["ref", "commit", "target", "revision", "sha"]);
        lines.push(at(&["reset", "--hard", goal.unwrap_or("HEAD")]));
    }
    let forced = is_set(input, &["force", "forced", "discardchanges"]);
    let leaves = git && says(&["checkout", "restore", "switch"]) && forced;
    if leaves || says(&["discard"]) && (git || says(&["changes", "change", "file", "files"])) {
        lines.push(at(&["checkout", "-f", "--", "."]));
    }
    if git && says(&["clean"]) && !is_set(input, &["dryrun"]) {
        lines.push(at(&["clean", "-fd"]));
    }
    let action = text_of(input, &["action", "operation", "subcommand"]).unwrap_or("");
    let drops = |verb: &str| says(&[verb]) || action == verb;
    if says(&["stash"]) && (drops("drop") || drops("clear")) {
        lines.push(at(&["stash", if drops("clear") { "clear" } else { "drop" }]));
    }
    lines
}
