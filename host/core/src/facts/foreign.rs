//! Tools that the host has no table for, those of MCP servers above all: what the names and values of
//! their parameters say.
//!
//! A server may do anything, so an effect that is not known always stays. What this adds is what the
//! agent itself asks for: a command line, a path, an address, a query, a text for somebody. It reads JSON
//! values only; a command line or a query in them is read by the sandboxed reader like any other.

use super::tools::{bounded, host_of, network, take, tool, unknown_process};
use super::{Collector, Place, ShellReader, unread};
use crate::action::{Command, Effect, EffectKind, Intent, Operation, Shell};
use crate::event::Call;
use crate::fault::Fault;
use crate::text::cut;
use serde_json::{Map, Value};

/// The most parameters that are looked at, nested ones included.
const MOST: usize = 64;
/// How deep parameters may nest.
const DEPTH: usize = 6;

/// Names of parameters that hold a command line.
const COMMANDS: &[&str] = &["command", "cmd", "commandline", "command_line", "shell_command", "bash", "script"];
/// Words of a tool's name that say that it runs command lines.
const SHELLS: &[&str] = &["shell", "bash", "exec", "execute", "terminal", "console", "run", "cmd", "powershell"];
/// Names of parameters that hold a path.
const PATHS: &[&str] = &[
    "path",
    "file",
    "file_path",
    "filepath",
    "filename",
    "file_name",
    "source",
    "src",
    "source_path",
    "destination",
    "dest",
    "destination_path",
    "target_path",
    "directory",
    "dir",
    "folder",
    "old_path",
    "new_path",
    "attachment",
    "uri",
];
/// Names of parameters that hold a query.
const QUERIES: &[&str] = &["sql", "query", "statement"];
/// Words of a tool's name that say that it talks to a database.
const DATABASES: &[&str] = &["sql", "query", "database", "db", "postgres", "mysql", "sqlite"];
/// Names of parameters that hold what goes out with a request.
const BODIES: &[&str] = &["body", "data", "payload", "form", "json", "content"];
/// Words of a tool's name that say that something is sent to somebody.
const SENDS: &[&str] = &["send", "email", "mail", "upload", "post", "publish", "notify", "share", "submit", "message", "reply", "forward"];
/// Words of a tool's name that say what is done to a path.
const READS: &[&str] = &["read", "get", "list", "view", "search", "find", "stat", "show", "open", "cat", "load", "fetch", "download"];
const WRITES: &[&str] =
    &["write", "save", "append", "edit", "update", "patch", "modify", "put", "create", "move", "rename", "copy", "replace"];
const DELETES: &[&str] = &["delete", "remove", "rm", "unlink", "trash", "erase"];
/// Words after which a command stands in a sentence that tells a shell what to do.
const ORDERS: &[&str] = &["run", "execute", "exec", "type", "enter", "invoke"];
/// Names under which a template puts the environment's values in.
const SECRETS: &[&str] = &["key", "token", "secret", "password", "passwd", "credential"];

/// Reads a call of a tool that is in no table.
pub(super) fn read(
    call: &Call,
    place: &Place,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> (Operation, Intent, String, Option<Fault>) {
    if !call.tool.starts_with("mcp__") {
        facts.gap(format!("the tool `{}` is not known", cut(&call.tool, 64)));
    }
    facts.effect(unknown_process());
    let name = Name::of(&call.tool);
    let parameters = parameters(&call.input, facts);
    let mut reader = Reader { place, facts, read_shell, fault: None, command: None, filled_in: false };
    for (key, text) in &parameters {
        reader.parameter(&name, key, text);
    }
    let recipient = parameters.iter().find(|(key, _)| matches!(key.as_str(), "to" | "recipient" | "recipients" | "channel" | "address"));
    let does = |reader: &Reader<'_, '_, '_, '_>, kind: &EffectKind| reader.facts.facts.effects.iter().any(|effect| effect.kind == *kind);
    let gives = reader.filled_in || does(&reader, &EffectKind::FileRead);
    if (name.says(SENDS) || does(&reader, &EffectKind::RemoteChange)) && !does(&reader, &EffectKind::Send) {
        // What stands in the call itself shows nothing of the machine.
        let kind = if gives { EffectKind::Send } else { EffectKind::RemoteChange };
        reader.plain(kind, &cut(recipient.map_or("", |(_, text)| text), 256));
    }
    let Reader { fault, command, .. } = reader;
    let operation = command.map_or_else(|| tool(call), Operation::Shell);
    let intent = if matches!(operation, Operation::Shell(_)) { Intent::SystemCommand } else { Intent::Unknown };
    (operation, intent, String::new(), fault)
}

/// The words of a tool's own name.
struct Name(Vec<String>);

impl Name {
    fn of(tool: &str) -> Self {
        let own = tool.rsplit("__").next().unwrap_or(tool);
        let mut words = vec![String::new()];
        for letter in own.chars().take(256) {
            if letter.is_ascii_uppercase() || !letter.is_ascii_alphanumeric() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
                word.push(letter.to_ascii_lowercase());
            }
        }
        Self(words)
    }

    fn says(&self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.as_str()))
    }

    /// What the tool does to a path.
    fn access(&self) -> EffectKind {
        if self.says(DELETES) {
            EffectKind::FileDelete
        } else if self.says(WRITES) {
            EffectKind::FileModify
        } else {
            EffectKind::FileRead
        }
    }
}

/// Every text among the parameters, with the name that it stands under, in lower case.
fn parameters(input: &Map<String, Value>, facts: &mut Collector<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, &Value, usize)> = input.iter().rev().map(|(key, value)| (key.to_ascii_lowercase(), value, 1)).collect();
    while let Some((key, value, depth)) = open.pop() {
        if found.len() == MOST || depth > DEPTH {
            facts.gap("it has more parameters, or nests them deeper, than are looked at");
            break;
        }
        match value {
            Value::String(text) => found.push((key, text.clone())),
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (key.clone(), item, depth + 1))),
            Value::Object(object) => {
                open.extend(object.iter().rev().map(|(key, value)| (key.to_ascii_lowercase(), value, depth + 1)));
            }
            _ => {}
        }
    }
    found
}

/// Reads parameters one by one.
struct Reader<'a, 'f, 'c, 's> {
    place: &'a Place,
    facts: &'f mut Collector<'c>,
    read_shell: &'f mut ShellReader<'s>,
    fault: Option<Fault>,
    /// The command line that the tool runs.
    command: Option<Shell>,
    /// A text holds what is only put in when the tool runs.
    filled_in: bool,
}

impl Reader<'_, '_, '_, '_> {
    fn parameter(&mut self, name: &Name, key: &str, text: &str) {
        let key_is = |names: &[&str]| names.contains(&key);
        if key_is(COMMANDS) || (name.says(SHELLS) && matches!(key, "raw" | "input" | "text" | "code" | "args")) {
            return self.command_line(text);
        }
        if key_is(QUERIES) && name.says(DATABASES) {
            return self.like(&format!("psql -c {}", quoted(text)));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return self.address(name, text);
        }
        if key_is(PATHS) && is_path(text) {
            self.facts.file(name.access(), text.strip_prefix("file://").unwrap_or(text));
            return;
        }
        if key == "method" && text.eq_ignore_ascii_case("delete") {
            self.plain(EffectKind::RemoteDelete, "");
        } else if key_is(BODIES) && !text.is_empty() && !name.says(WRITES) {
            let host = self.facts.facts.hosts.first().cloned().unwrap_or_default();
            if name.says(&["fetch", "request", "http", "call", "api", "webhook"]) {
                self.plain(EffectKind::RemoteChange, &host);
            }
        }
        self.template(text);
    }

    /// A command line, or a sentence that holds one.
    fn command_line(&mut self, text: &str) {
        let before = self.facts.facts.programs.len();
        self.own(text);
        let known = self.facts.facts.programs.get(before).is_some_and(|program| !program.is_empty());
        let order = text.split_ascii_whitespace().take(16).position(|word| ORDERS.contains(&word.to_ascii_lowercase().as_str()));
        if let Some(at) = order.filter(|_| known) {
            let rest: Vec<&str> = text.split_ascii_whitespace().skip(at + 1).collect();
            self.like(&rest.join(" "));
        }
    }

    /// Reads text as the command line that the tool runs, if it is the first.
    fn own(&mut self, text: &str) {
        if self.command.is_some() {
            return self.like(text);
        }
        let text = bounded(text, self.facts);
        if let Some(commands) = self.shell(&text) {
            self.command = Some(Shell { text, commands, background: false, timeout_ms: None });
        }
    }

    /// Reads text as a command line that stands for what the tool does.
    fn like(&mut self, text: &str) {
        let (effects, forms) = (self.facts.facts.effects.len(), self.facts.facts.forms.len());
        if self.shell(text).is_some() {
            self.facts.facts.effects.iter_mut().skip(effects).for_each(|effect| effect.command = None);
            self.facts.facts.forms.iter_mut().skip(forms).for_each(|form| form.command = None);
        }
    }

    fn shell(&mut self, text: &str) -> Option<Vec<Command>> {
        match (self.read_shell)(text, self.place) {
            Ok(reading) => Some(take(reading, self.facts)),
            Err(fault) => {
                self.facts.gap(format!("a command in its parameters could not be read ({})", fault.kind));
                self.fault.get_or_insert(unread(fault));
                None
            }
        }
    }

    fn address(&mut self, name: &Name, url: &str) {
        let host = host_of(url);
        if name.says(SENDS) && !name.says(READS) {
            self.facts.host(&host);
            self.send(&host);
        } else {
            // A request to a service that hands out credentials is read as the client that would make it.
            self.like(&format!("curl {}", quoted(url)));
            network(&host, self.facts);
        }
    }

    /// Text that a template or a shell behind the tool would fill in: what that reads counts.
    fn template(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') && name_like(text) {
            self.filled_in = true;
            self.like(&format!(": \"{}\"", text.replace('"', "\\\"")));
        }
        for variable in text.split("${").skip(1).take(16).filter_map(|rest| rest.split('}').next()) {
            let variable = variable.strip_prefix("env.").unwrap_or(variable);
            let lower = variable.to_ascii_lowercase();
            if variable.len() < 128 && SECRETS.iter().any(|word| lower.contains(word)) {
                self.filled_in = true;
                self.plain(EffectKind::SecretRead, "");
            }
        }
    }

    fn send(&mut self, target: &str) {
        self.plain(EffectKind::Send, &cut(target, 256));
    }

    fn plain(&mut self, kind: EffectKind, target: &str) {
        let certain = !target.is_empty();
        self.facts.effect(Effect { kind, target: target.to_owned(), path: None, command: None, recursive: false, certain });
    }
}

/// Backquotes around something that looks like a command with a word after it, not around a name in prose.
fn name_like(text: &str) -> bool {
    text.split('`').skip(1).step_by(2).any(|inner| inner.contains(['/', '|', '>']) && inner.contains(' '))
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4096 && !text.contains(['\n', '\0'])
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
