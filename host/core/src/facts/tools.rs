//! Reads calls of the clients' tools by their declared meaning.

use super::addresses::{
    asks_for_secrets, carries_data, holds_password, local_file, starts_deployment,
};
use super::parts::{host_of, network, take, tool, unknown_process};
use super::{CallLocation, Collector, MOST_TEXT, ShellReader, unread};
use super::{foreign, written};
use crate::action::{
    Access, Command, Coverage, Direction, Effect, EffectKind, Facts, FileOperation, Intent,
    Message, NetworkRequest, Operation, Origin, Reading, Shell,
};
use crate::client::{ClientProfile, Lasting, ToolMeaning};
use crate::event::Call;
use crate::fault::Fault;
use crate::text::cut_text;
use serde_json::{Map, Value};

/// The result of reading a call: its typed parameters, purpose, shape, and the shell reader's
/// fault.
type Read = (Operation, Intent, String, Option<Fault>);

/// Returns true if, judging by its name, the tool runs a shell command; a tool of a server may do
/// so too.
#[must_use]
pub fn is_shell(tool: &str, place: &CallLocation) -> bool {
    matches!(meaning(tool, &place.client, place.clients), Some(ToolMeaning::Shell))
}

/// Returns true if the reader of shell text will be asked about a call of a client that runs in a
/// folder: for a command, or for a text that a file tool writes and that something will run. `cwd`
/// and `home` are absolute.
#[must_use]
pub fn needs_shell_reader(
    call: &Call,
    client: &str,
    clients: &[&'static ClientProfile],
    cwd: &str,
    home: &str,
) -> bool {
    match meaning(&call.tool, client, clients) {
        Some(ToolMeaning::Shell) => true,
        Some(ToolMeaning::File(parameter, _)) => {
            let path = call.input.get(*parameter).and_then(Value::as_str).unwrap_or_default();
            written::is_run_later(&call.input, path, cwd, home)
        }
        _ => false,
    }
}

/// Returns the meaning of a tool for the client that calls it. Another client's tool of that name
/// counts only if the client itself has none: the same name can have other parameters there.
fn meaning(
    tool: &str,
    client: &str,
    clients: &[&'static ClientProfile],
) -> Option<&'static ToolMeaning> {
    let own = clients.iter().filter(|known| known.name == client);
    let mut tools = own.chain(clients).flat_map(|known| known.tools);
    tools.find(|(name, _)| *name == tool).map(|(_, meaning)| meaning)
}

pub(super) fn read(
    call: &Call,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> Read {
    match meaning(&call.tool, &place.client, place.clients) {
        Some(ToolMeaning::Shell) => shell(call, place, facts, read_shell),
        Some(ToolMeaning::File(parameter, access)) => {
            let (operation, intent, shape, _) = file(call, parameter, *access, facts);
            let path = call.input.get(*parameter).and_then(Value::as_str).unwrap_or_default();
            let fault = written::read(&call.input, path, place, facts, read_shell);
            (operation, intent, shape, fault)
        }
        Some(ToolMeaning::Search) => search(call, facts),
        Some(ToolMeaning::Fetch(parameter)) => fetch(call, parameter, facts),
        Some(ToolMeaning::WebSearch) => web_search(call, facts),
        Some(ToolMeaning::Message(recipient, text)) => message(call, recipient, text),
        Some(ToolMeaning::Later(text, lasting)) => later(call, text, *lasting, facts),
        Some(ToolMeaning::Internal) => (tool(call), Intent::Message, String::new(), None),
        None => foreign::read(call, place, facts, read_shell),
    }
}

fn shell(
    call: &Call,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> Read {
    if !call.input.contains_key("command") && only_looks(call, place.clients) {
        return (tool(call), Intent::Message, String::new(), None);
    }
    let Some(text) = parameter(call, "command", facts) else {
        return (tool(call), Intent::SystemCommand, String::new(), None);
    };
    let mut shell = Shell {
        text: cut_text(text, MOST_TEXT),
        commands: Vec::new(),
        background: runs_in_background(&call.tool, &call.input, place.clients),
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

/// Returns true if a call of a shell tool returns while its command goes on, by the parameters that
/// the clients' tools have for that.
pub(crate) fn runs_in_background(
    tool: &str,
    parameters: &Map<String, Value>,
    clients: &[&'static ClientProfile],
) -> bool {
    let mut marks = clients.iter().flat_map(|client| client.background);
    marks.any(|mark| mark.marks(tool, parameters))
}

/// Returns true if a call of a tool for commands in the background starts none.
fn only_looks(call: &Call, clients: &[&'static ClientProfile]) -> bool {
    let marks = clients.iter().flat_map(|client| client.background);
    let own: Vec<_> = marks.filter(|mark| mark.tool == call.tool).collect();
    !own.is_empty() && !own.iter().any(|mark| mark.marks(&call.tool, &call.input))
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
pub(crate) fn note_cut_parameters(tool: &str, place: &CallLocation, facts: &mut Facts) {
    facts.coverage = Coverage::Partial;
    let what = "its parameters are larger than 64 KiB".to_owned();
    let executes =
        meaning(tool, &place.client, place.clients).is_none() && !foreign::only_writes(tool);
    if executes { &mut facts.limits } else { &mut facts.gaps }.push(what);
}

fn file(call: &Call, name: &str, access: Access, facts: &mut Collector<'_>) -> Read {
    let paths = match access {
        Access::Read => parameters(call, name, facts),
        _ => parameter(call, name, facts).into_iter().collect(),
    };
    if paths.is_empty() {
        return (tool(call), Intent::Unknown, String::new(), None);
    }
    let (kind, intent) = match access {
        Access::Read | Access::Search => (EffectKind::FileRead, Intent::FileRead),
        Access::Create => (EffectKind::FileCreate, Intent::FileCreation),
        Access::Modify => (EffectKind::FileModify, Intent::FileModification),
        Access::Delete => (EffectKind::FileDelete, Intent::FileDeletion),
    };
    for path in paths {
        facts.file_as_named(kind.clone(), path);
    }
    let text = |names: &[&str]| names.iter().find_map(|name| call.input.get(*name)?.as_str());
    let operation = FileOperation {
        access,
        path: facts.facts.paths.first().map(|path| path.text.clone()).unwrap_or_default(),
        content: text(&CONTENTS).map(|text| bounded(text, facts)),
        replaced: text(&["old_string", "old_str"]).map(|text| bounded(text, facts)),
        every: ["replace_all", "allow_multiple"]
            .iter()
            .any(|name| call.input.get(*name).and_then(Value::as_bool) == Some(true)),
    };
    (Operation::File(operation), intent, access.to_string(), None)
}

/// The parameters that hold what a file gets.
const CONTENTS: [&str; 5] = ["content", "file_text", "new_string", "new_str", "new_source"];

fn search(call: &Call, facts: &mut Collector<'_>) -> Read {
    let named = ["path", "dir_path"].iter().find_map(|name| call.input.get(*name)?.as_str());
    let path = named.unwrap_or(".");
    facts.file_as_named(EffectKind::FileRead, path);
    let path = facts.facts.paths.first().map(|path| path.text.clone()).unwrap_or_default();
    let operation =
        FileOperation { access: Access::Search, path, content: None, replaced: None, every: false };
    (Operation::File(operation), Intent::FileRead, "search".into(), None)
}

fn fetch(call: &Call, name: &str, facts: &mut Collector<'_>) -> Read {
    let urls = parameters(call, name, facts);
    let prompt = call.input.get("prompt").and_then(Value::as_str);
    let asked = prompt.unwrap_or_default();
    let reached: Vec<_> = urls.iter().map(|url| reach(url, asked, facts)).collect();
    let Some((intent, shape)) = reached.into_iter().next() else {
        return (tool(call), Intent::NetworkRequest, String::new(), None);
    };
    let (method, body) = match intent {
        Intent::FileRead => (None, None),
        _ => (Some("GET".into()), prompt.map(|text| bounded(text, facts))),
    };
    let request = NetworkRequest { url: cut_text(&urls.join("\n"), 4096), method, body };
    (Operation::Network(request), intent, shape, None)
}

/// Notes the effects of a request to an address; returns its purpose and its shape.
fn reach(url: &str, prompt: &str, facts: &mut Collector<'_>) -> (Intent, String) {
    if let Some(path) = local_file(url) {
        facts.file_as_named(EffectKind::FileRead, &path);
        return (Intent::FileRead, path);
    }
    let host = host_of(url);
    network(&host, facts);
    let implied = [
        (carries_data(url) || holds_password(url), EffectKind::Send),
        (asks_for_secrets(url, &host), EffectKind::SecretRead),
        (obeys(prompt), EffectKind::UnseenCode),
        (starts_deployment(url), EffectKind::Publish),
    ];
    for (_, kind) in implied.into_iter().filter(|(holds, _)| *holds) {
        facts.effect(Effect {
            kind,
            target: host.clone(),
            path: None,
            command: None,
            recursive: false,
            certain: true,
        });
    }
    (Intent::NetworkRequest, host)
}

/// Returns true if the question to a page demands to do what the page says.
fn obeys(prompt: &str) -> bool {
    const ORDERS: &[&str] = &[
        "and execute it",
        "and execute them",
        "and run it",
        "and run them",
        "do what it says",
        "do whatever it says",
        "execute the instructions",
        "execute whatever",
        "follow all instructions",
        "follow any instructions",
        "follow its instructions",
        "apply the changes it asks",
        "carry out the steps",
        "do as it says",
        "follow every instruction",
        "follow the instructions",
        "follow the steps it gives",
        "obey",
        "run all commands",
        "run any commands",
        "run every command",
        "run the commands",
        "run the installer",
        "run the script",
        "run what it says",
        "run whatever",
    ];
    let low = prompt.to_ascii_lowercase();
    ORDERS.iter().any(|order| low.contains(order))
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

fn message(call: &Call, recipient: &str, text: &str) -> Read {
    let part = |name: &str| match call.input.get(name) {
        Some(Value::String(text)) => cut_text(text, MOST_TEXT),
        Some(other) => cut_text(&other.to_string(), MOST_TEXT),
        None => String::new(),
    };
    let recipient = if recipient.is_empty() { "user".to_owned() } else { part(recipient) };
    let shape = recipient.clone();
    (Operation::Message(Message { recipient, text: part(text) }), Intent::Message, shape, None)
}

/// Reads a text that an agent gets later. What that agent then does is reviewed as it does it; that it
/// starts by itself, without a session that a person began, is an effect of this call.
fn later(call: &Call, text: &str, lasting: Lasting, facts: &mut Collector<'_>) -> Read {
    let outlives = match lasting {
        Lasting::Session => false,
        Lasting::If(name) => match call.input.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        },
        Lasting::Always => true,
    };
    if outlives {
        facts.effect(Effect {
            kind: EffectKind::Persistence,
            target: LATER.to_owned(),
            path: None,
            command: None,
            recursive: false,
            certain: true,
        });
    }
    // Without a text it ends or changes what was arranged before.
    let text = call.input.contains_key(text).then(|| parameter(call, text, facts)).flatten();
    let text = text.map(|text| bounded(text, facts)).unwrap_or_default();
    let message = Message { recipient: LATER.to_owned(), text };
    (Operation::Message(message), Intent::Message, LATER.to_owned(), None)
}

/// The recipient of a text that an agent gets later.
const LATER: &str = "an agent, later";

fn parameter<'a>(call: &'a Call, name: &str, facts: &mut Collector<'_>) -> Option<&'a str> {
    let text = call.input.get(name).and_then(Value::as_str);
    if text.is_none() {
        facts.gap(format!(
            "the parameter `{name}` of `{}` is missing or not text",
            cut_text(&call.tool, 64)
        ));
    }
    text
}

/// Returns the texts of a parameter that holds one, or a list of them.
fn parameters<'a>(call: &'a Call, name: &str, facts: &mut Collector<'_>) -> Vec<&'a str> {
    let Some(Value::Array(listed)) = call.input.get(name) else {
        return parameter(call, name, facts).into_iter().collect();
    };
    let texts: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
    if texts.is_empty() || texts.len() < listed.len() {
        let tool = cut_text(&call.tool, 64);
        facts.gap(format!("the parameter `{name}` of `{tool}` is not a list of texts"));
    }
    texts
}

pub(super) fn bounded(text: &str, facts: &mut Collector<'_>) -> String {
    if text.len() > MOST_TEXT {
        facts.gap("a text of more than 64 KiB was cut for the plugins");
    }
    cut_text(text, MOST_TEXT)
}
