//! The clients' tools and the meaning of each parameter.

use super::foreign;
use super::{CallLocation, Collector, MOST, MOST_TEXT, ShellReader, unread};
use crate::action::{
    Access, Command, Coverage, Direction, Effect, EffectKind, Facts, FileOperation, Intent,
    Message, NetworkRequest, Operation, Origin, Reading, Shell, ToolCall,
};
use crate::event::Call;
use crate::fault::Fault;
use crate::text::cut;
use serde_json::Value;

/// The result of reading a call: its typed parameters, purpose, shape, and the shell reader's
/// fault.
type Read = (Operation, Intent, String, Option<Fault>);

/// The way in which a tool's parameters are read.
enum Reader {
    Shell,
    /// The path's parameter, and the access to it.
    File(&'static str, Access),
    /// Searches below a folder; the working folder if none is named.
    Search,
    /// The parameter that holds an address.
    Fetch(&'static str),
    WebSearch,
    /// The parameters that hold the recipient and the text.
    Message(&'static str, &'static str),
    /// The client's own bookkeeping, which touches nothing.
    Internal,
}

const TOOLS: &[(&str, Reader)] = &[
    ("Bash", Reader::Shell),
    ("Monitor", Reader::Shell),
    ("Read", Reader::File("file_path", Access::Read)),
    ("NotebookRead", Reader::File("notebook_path", Access::Read)),
    ("Write", Reader::File("file_path", Access::Create)),
    ("Edit", Reader::File("file_path", Access::Modify)),
    ("MultiEdit", Reader::File("file_path", Access::Modify)),
    ("NotebookEdit", Reader::File("notebook_path", Access::Modify)),
    ("Delete", Reader::File("file_path", Access::Delete)),
    ("Glob", Reader::Search),
    ("Grep", Reader::Search),
    ("LS", Reader::Search),
    ("WebFetch", Reader::Fetch("url")),
    ("WebSearch", Reader::WebSearch),
    ("Agent", Reader::Message("subagent_type", "prompt")),
    ("Task", Reader::Message("subagent_type", "prompt")),
    ("SendMessage", Reader::Message("to", "message")),
    ("AskUserQuestion", Reader::Message("", "questions")),
    ("BashOutput", Reader::Internal),
    ("KillShell", Reader::Internal),
    ("TodoWrite", Reader::Internal),
    ("TaskCreate", Reader::Internal),
    ("TaskUpdate", Reader::Internal),
    ("TaskGet", Reader::Internal),
    ("TaskList", Reader::Internal),
    ("TaskOutput", Reader::Internal),
    ("TaskStop", Reader::Internal),
    ("ToolSearch", Reader::Internal),
    ("Skill", Reader::Internal),
    ("EnterPlanMode", Reader::Internal),
    ("ExitPlanMode", Reader::Internal),
    ("ListAgents", Reader::Internal),
    ("ReportFindings", Reader::Internal),
    ("CronList", Reader::Internal),
    ("CronCreate", Reader::Internal),
    ("CronDelete", Reader::Internal),
    ("ScheduleWakeup", Reader::Internal),
    ("EnterWorktree", Reader::Internal),
    ("ExitWorktree", Reader::Internal),
    ("Workflow", Reader::Internal),
    ("LSP", Reader::Internal),
    ("ListMcpResources", Reader::Internal),
    ("ReadMcpResource", Reader::Internal),
];

/// Returns true if, judging by its name, the tool runs a shell command; a tool of a server may do
/// so too.
#[must_use]
pub fn is_shell(tool: &str) -> bool {
    matches!(reader(tool), Some(Reader::Shell))
}

fn reader(tool: &str) -> Option<&'static Reader> {
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, reader)| reader)
}

pub(super) fn read(
    call: &Call,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> Read {
    match reader(&call.tool) {
        Some(Reader::Shell) => shell(call, place, facts, read_shell),
        Some(Reader::File(parameter, access)) => file(call, parameter, *access, facts),
        Some(Reader::Search) => search(call, facts),
        Some(Reader::Fetch(parameter)) => fetch(call, parameter, facts),
        Some(Reader::WebSearch) => web_search(call, facts),
        Some(Reader::Message(recipient, text)) => message(call, recipient, text),
        Some(Reader::Internal) => (tool(call), Intent::Message, String::new(), None),
        None => foreign::read(call, place, facts, read_shell),
    }
}

fn shell(
    call: &Call,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> Read {
    let Some(text) = parameter(call, "command", facts) else {
        return (tool(call), Intent::SystemCommand, String::new(), None);
    };
    let mut shell = Shell {
        text: cut(text, MOST_TEXT),
        commands: Vec::new(),
        background: call.input.get("run_in_background").and_then(Value::as_bool) == Some(true),
        timeout_ms: call
            .input
            .get("timeout")
            .and_then(Value::as_u64)
            .and_then(|ms| u32::try_from(ms).ok()),
    };
    match read_shell(text, place) {
        Ok(reading) => {
            let shape = reading.shape.clone();
            if text.len() > MOST_TEXT && !only_data_follows(&reading) {
                facts.limit(CUT);
            }
            shell.commands = take(reading, facts);
            (Operation::Shell(shell), Intent::SystemCommand, shape, None)
        }
        Err(fault) => {
            if text.len() > MOST_TEXT {
                facts.limit(CUT);
            }
            facts.gap(format!("the command could not be read ({})", fault.kind));
            facts.effect(unknown_process());
            (Operation::Shell(shell), Intent::SystemCommand, text.to_owned(), Some(unread(fault)))
        }
    }
}

/// The gap for a text that runs and was cut.
const CUT: &str = "a command of more than 64 KiB was cut for the plugins";

/// Returns true if the part cut from a long command line is only the text of heredocs that `cat`
/// and `tee` write out: no command begins there, and nothing that is run reads it.
fn only_data_follows(reading: &Reading) -> bool {
    let is_data = |index: usize, command: &Command| {
        let long = command
            .redirections
            .iter()
            .any(|to| to.direction == Direction::Heredoc && !to.target.known);
        let fed = reading
            .commands
            .iter()
            .any(|other| other.input_from.is_some_and(|from| from as usize == index));
        let plain = matches!(command.origin, Origin::Plain | Origin::Substitution);
        plain
            && command.end as usize <= MOST_TEXT
            && (!long || (matches!(command.program.as_str(), "cat" | "tee") && !fed))
    };
    reading.coverage == Coverage::Full
        && reading.commands.iter().enumerate().all(|(index, command)| is_data(index, command))
}

/// Notes that plugins do not see all parameters. A tool that runs its input may run the part that
/// they do not see.
pub(crate) fn note_cut_parameters(tool: &str, facts: &mut Facts) {
    facts.coverage = Coverage::Partial;
    let what = "its parameters are larger than 64 KiB".to_owned();
    let executes = reader(tool).is_none() && !foreign::only_writes(tool);
    if executes { &mut facts.limits } else { &mut facts.gaps }.push(what);
}

/// The prefix of a limit in the shell reader's list of gaps. Its contract has one list for both and
/// is frozen; from here on they are two.
const LIMIT: &str = "limit: ";

/// Copies a reading into the facts within the host's limits, and drops indices that are out of
/// range.
pub(super) fn take(reading: Reading, facts: &mut Collector<'_>) -> Vec<Command> {
    let Reading { mut commands, effects, forms, hosts, coverage, gaps, .. } = reading;
    if commands.len() > MOST {
        facts.limit("it runs more than 256 commands");
        commands.truncate(MOST);
    }
    let count = u32::try_from(commands.len()).unwrap_or(u32::MAX);
    let valid = |index: Option<u32>| index.filter(|index| *index < count);
    commands.iter_mut().for_each(|command| command.input_from = valid(command.input_from));
    for command in &commands {
        if !command.program.is_empty() && !facts.facts.programs.contains(&command.program) {
            facts.facts.programs.push(command.program.clone());
        }
    }
    for effect in effects {
        facts.effect(Effect { command: valid(effect.command), ..effect });
    }
    for form in forms.into_iter().take(64) {
        facts.facts.forms.push(crate::action::Form { command: valid(form.command), ..form });
    }
    hosts.iter().for_each(|host| facts.host(host));
    if coverage == Coverage::Partial {
        let gaps = if gaps.is_empty() { vec!["a part of the command".to_owned()] } else { gaps };
        for gap in gaps {
            match gap.strip_prefix(LIMIT) {
                Some(limit) => facts.limit(cut(limit, 512)),
                None => facts.gap(cut(&gap, 512)),
            }
        }
    }
    commands
}

fn file(call: &Call, name: &str, access: Access, facts: &mut Collector<'_>) -> Read {
    let Some(path) = parameter(call, name, facts) else {
        return (tool(call), Intent::Unknown, String::new(), None);
    };
    let (kind, intent) = match access {
        Access::Read | Access::Search => (EffectKind::FileRead, Intent::FileRead),
        Access::Create => (EffectKind::FileCreate, Intent::FileCreation),
        Access::Modify => (EffectKind::FileModify, Intent::FileModification),
        Access::Delete => (EffectKind::FileDelete, Intent::FileDeletion),
    };
    facts.file_as_named(kind, path);
    let text = |names: &[&str]| names.iter().find_map(|name| call.input.get(*name)?.as_str());
    let operation = FileOperation {
        access,
        path: facts.facts.paths.first().map(|path| path.text.clone()).unwrap_or_default(),
        content: text(&["content", "new_string", "new_source"]).map(|text| bounded(text, facts)),
        replaced: text(&["old_string"]).map(|text| bounded(text, facts)),
        every: call.input.get("replace_all").and_then(Value::as_bool) == Some(true),
    };
    (Operation::File(operation), intent, access.to_string(), None)
}

fn search(call: &Call, facts: &mut Collector<'_>) -> Read {
    let path = call.input.get("path").and_then(Value::as_str).unwrap_or(".");
    facts.file_as_named(EffectKind::FileRead, path);
    let path = facts.facts.paths.first().map(|path| path.text.clone()).unwrap_or_default();
    let operation =
        FileOperation { access: Access::Search, path, content: None, replaced: None, every: false };
    (Operation::File(operation), Intent::FileRead, "search".into(), None)
}

fn fetch(call: &Call, name: &str, facts: &mut Collector<'_>) -> Read {
    let Some(url) = parameter(call, name, facts) else {
        return (tool(call), Intent::NetworkRequest, String::new(), None);
    };
    let host = host_of(url);
    network(&host, facts);
    let body = call.input.get("prompt").and_then(Value::as_str).map(|text| bounded(text, facts));
    let request = NetworkRequest { url: cut(url, 4096), method: Some("GET".into()), body };
    (Operation::Network(request), Intent::NetworkRequest, host, None)
}

fn web_search(call: &Call, facts: &mut Collector<'_>) -> Read {
    let name = if call.input.contains_key("query") || !call.input.contains_key("text") {
        "query"
    } else {
        "text"
    };
    let body = parameter(call, name, facts).map(str::to_owned);
    facts.effect(Effect {
        kind: EffectKind::Network,
        target: "web search".into(),
        path: None,
        command: None,
        recursive: false,
        certain: true,
    });
    let request = NetworkRequest { url: String::new(), method: None, body };
    (Operation::Network(request), Intent::NetworkRequest, "search".into(), None)
}

pub(super) fn network(host: &str, facts: &mut Collector<'_>) {
    facts.host(host);
    facts.effect(Effect {
        kind: EffectKind::Network,
        target: host.to_owned(),
        path: None,
        command: None,
        recursive: false,
        certain: !host.is_empty(),
    });
}

fn message(call: &Call, recipient: &str, text: &str) -> Read {
    let part = |name: &str| match call.input.get(name) {
        Some(Value::String(text)) => cut(text, MOST_TEXT),
        Some(other) => cut(&other.to_string(), MOST_TEXT),
        None => String::new(),
    };
    let recipient = if recipient.is_empty() { "user".to_owned() } else { part(recipient) };
    let shape = recipient.clone();
    (Operation::Message(Message { recipient, text: part(text) }), Intent::Message, shape, None)
}

pub(super) const fn unknown_process() -> Effect {
    Effect {
        kind: EffectKind::ProcessStart,
        target: String::new(),
        path: None,
        command: None,
        recursive: false,
        certain: false,
    }
}

pub(super) fn tool(call: &Call) -> Operation {
    let mut names = call.tool.splitn(3, "__");
    let (server, name) = match (names.next(), names.next(), names.next()) {
        (Some("mcp"), Some(server), Some(name)) => (Some(server.to_owned()), name.to_owned()),
        _ => (None, call.tool.clone()),
    };
    let value = |value: &Value| match value {
        Value::String(text) => cut(text, 1024),
        other => cut(&other.to_string(), 1024),
    };
    let arguments = call
        .input
        .iter()
        .take(32)
        .map(|(key, argument)| (cut(key, 128), value(argument)))
        .collect();
    Operation::Tool(ToolCall { server, name, arguments })
}

fn parameter<'a>(call: &'a Call, name: &str, facts: &mut Collector<'_>) -> Option<&'a str> {
    let text = call.input.get(name).and_then(Value::as_str);
    if text.is_none() {
        facts.gap(format!(
            "the parameter `{name}` of `{}` is missing or not text",
            cut(&call.tool, 64)
        ));
    }
    text
}

pub(super) fn bounded(text: &str, facts: &mut Collector<'_>) -> String {
    if text.len() > MOST_TEXT {
        facts.gap("a text of more than 64 KiB was cut for the plugins");
    }
    cut(text, MOST_TEXT)
}

/// Returns the host of an address, without user information and port; empty if it has none.
pub(super) fn host_of(url: &str) -> String {
    let authority = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        .split(['/', '?', '#', '\\'])
        .next()
        .unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.to_ascii_lowercase()
}
