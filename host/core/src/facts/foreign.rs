//! Tools that the host has no table for, above all those of MCP servers, judged by the names and
//! values of their parameters.
//!
//! A server may do anything, so an effect that is not known always remains. This module adds what
//! the agent itself asks for: a command line, a path, an address, a query, a text for a recipient.
//! It reads JSON values only; a command line or a query in them goes through the sandboxed reader
//! like any other.

mod browser;
mod controls;
mod lines;
mod name;
mod named;
mod switches;
mod tables;

use super::addresses::{
    asks_for_secrets, carries_data, holds_password, holds_secrets, is_this_machine, local_file,
    starts_deployment,
};
use super::parts::{host_of, network, take, tool, unknown_process};
use super::texts::{self, Language, quoted};
use super::verbs;
use super::{CallLocation, Collector, MOST_TEXT, ShellReader, normalise_path, unread, written};
use crate::action::{Command, Effect, EffectKind, Intent, Operation, Shell};
use crate::event::Call;
use crate::fault::Fault;
use crate::text::cut_text;
use name::Name;
use serde_json::{Map, Value};
use switches::{is_set, text_of};
use tables::{
    BODIES, DATABASES, INSTALLED, INSTALLS, ORDERS, PATHS, PROSE, QUERIES, READS, REQUESTS, RUNS,
    SECRETS, SENDS, SHELLS, SQL, STUDIES, WRITES,
};

/// The most parameters that are examined, nested ones included.
const MOST: usize = 64;
/// The deepest nesting of parameters that is examined.
const DEPTH: usize = 6;

/// Reads a call of a tool that is not in any table.
pub(super) fn read(
    call: &Call,
    place: &CallLocation,
    facts: &mut Collector<'_>,
    read_shell: &mut ShellReader<'_>,
) -> (Operation, Intent, String, Option<Fault>) {
    if !call.tool.starts_with("mcp__") {
        facts.gap(format!("the tool `{}` is not known", cut_text(&call.tool, 64)));
    }
    facts.effect(unknown_process());
    let name = Name::of(&call.tool);
    let parameters = parameters(&name, &call.input, facts);
    let place = CallLocation { cwd: folder(&parameters, place), ..place.clone() };
    let language = said_language(&call.tool, &parameters);
    let mut reader = Reader {
        place: &place,
        facts,
        read_shell,
        fault: None,
        command: None,
        filled_in: false,
        language,
    };
    for (key, text) in &parameters {
        reader.parameter(&name, key, text);
    }
    for line in lines::lines_of(&name, &call.input) {
        reader.like(&line);
    }
    reader.written_text(&name, &call.input, &parameters);
    reader.given_secrets(&name, &parameters);
    let recipient = parameters.iter().find(|(key, _)| {
        matches!(key.as_str(), "to" | "recipient" | "recipients" | "channel" | "address")
    });
    let does = |reader: &Reader<'_, '_, '_, '_>, kind: &EffectKind| {
        reader.facts.facts.effects.iter().any(|effect| effect.kind == *kind)
    };
    let gives = reader.filled_in || does(&reader, &EffectKind::FileRead);
    if (name.says(SENDS) || does(&reader, &EffectKind::RemoteChange))
        && !does(&reader, &EffectKind::Send)
    {
        // Content given in the call itself reveals nothing about the machine.
        let kind = if gives { EffectKind::Send } else { EffectKind::RemoteChange };
        reader.plain(kind, &cut_text(recipient.map_or("", |(_, text)| text), 256));
    }
    reader.named(&name, call, &parameters);
    let Reader { fault, command, .. } = reader;
    let operation = command.map_or_else(|| tool(call), Operation::Shell);
    let intent = if matches!(operation, Operation::Shell(_)) {
        Intent::SystemCommand
    } else {
        Intent::Unknown
    };
    (operation, intent, String::new(), fault)
}

/// Returns true if, judging by its name, the tool only writes a text somewhere and runs nothing.
pub(super) fn only_writes(tool: &str) -> bool {
    let name = Name::of(tool);
    name.says(WRITES) && !name.says(SHELLS) && !name.says(DATABASES)
}

/// The word that ends a text that is fed to a program.
const HEREDOC: &str = "END_OF_PARAMETER";

/// Takes the place of the parameter's name when several parameters were joined into one.
const JOINED: &str = "\0command";

/// Returns the folder in which the tool's command runs.
fn folder(parameters: &[(String, String)], place: &CallLocation) -> String {
    let named =
        parameters.iter().find(|(key, text)| texts::is_folder(&texts::plain(key)) && is_path(text));
    named.map_or_else(
        || place.cwd.clone(),
        |(_, text)| normalise_path(text, &place.cwd, &place.home),
    )
}

/// Returns the language of the code among the parameters, named by one of them or by the tool's
/// name.
fn said_language(tool: &str, parameters: &[(String, String)]) -> Option<Language> {
    let named = parameters
        .iter()
        .filter(|(key, _)| texts::is_language(&texts::plain(key)))
        .find_map(|(_, text)| texts::language(text));
    let coded = parameters
        .iter()
        .filter(|(key, _)| texts::is_code(&texts::plain(key)))
        .find_map(|(key, _)| texts::language(key));
    let words = || {
        verbs::words(tool)
            .into_iter()
            .chain(tool.split("__").nth(1).map(verbs::words).unwrap_or_default())
    };
    named.or(coded).or_else(|| {
        words()
            .find_map(|word| texts::language(&word))
            .filter(|language| *language != Language::Shell)
    })
}

/// Opens the parameters of an object: those that form one command line together are joined, and all
/// others are queued for examination.
fn opened<'v>(
    object: &'v Map<String, Value>,
    depth: usize,
    open: &mut Vec<(String, &'v Value, usize)>,
    found: &mut Vec<(String, String)>,
) {
    let line = texts::combined(object);
    let others = object.iter().rev().filter(|(key, _)| line.is_none() || !texts::is_part(key));
    open.extend(others.map(|(key, value)| (key.to_ascii_lowercase(), value, depth)));
    found.extend(line.map(|line| (JOINED.to_owned(), line)));
}

/// Returns every text among the parameters with its parameter's name in lower case.
fn parameters(
    name: &Name,
    input: &Map<String, Value>,
    facts: &mut Collector<'_>,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    opened(input, 1, &mut open, &mut found);
    let runs = name.says(SHELLS)
        && found.is_empty()
        && !input.keys().any(|key| texts::is_command(&texts::plain(key)));
    while let Some((key, value, depth)) = open.pop() {
        if found.len() >= MOST || depth > DEPTH {
            facts.limit("it has more parameters, or nests them deeper, than are examined");
            break;
        }
        match value {
            Value::String(text) => found.push((key, text.clone())),
            Value::Array(items) => {
                let plain = texts::plain(&key);
                let as_command =
                    if runs && texts::is_arguments(&plain) { "argv" } else { plain.as_str() };
                let line = texts::joined(as_command, items);
                // A list of one-word commands looks like the words of a single command: both
                // readings are used.
                if line.is_none() || matches!(as_command, "commands" | "cmds") {
                    open.extend(items.iter().rev().map(|item| (key.clone(), item, depth + 1)));
                }
                found.extend(line.map(|line| (JOINED.to_owned(), line)));
            }
            Value::Object(object) => opened(object, depth + 1, &mut open, &mut found),
            _ => {}
        }
    }
    found
}

/// Reads parameters one by one.
struct Reader<'a, 'f, 'c, 's> {
    place: &'a CallLocation,
    facts: &'f mut Collector<'c>,
    read_shell: &'f mut ShellReader<'s>,
    fault: Option<Fault>,
    /// The command line that the tool runs.
    command: Option<Shell>,
    /// True if a text has placeholders that are filled in only when the tool runs.
    filled_in: bool,
    /// The language of code among the parameters.
    language: Option<Language>,
}

impl Reader<'_, '_, '_, '_> {
    fn parameter(&mut self, name: &Name, key: &str, text: &str) {
        let key_is = |names: &[&str]| names.contains(&key);
        let plain = texts::plain(key);
        if key == JOINED {
            self.like(text);
            return self.of_program(name, text);
        }
        if matches!(plain.as_str(), "playbook" | "playbookcontent") && text.contains('\n') {
            return self
                .like(&format!("ansible-playbook /dev/stdin <<'{HEREDOC}'\n{text}\n{HEREDOC}"));
        }
        let is_manifest =
            matches!(plain.as_str(), "manifest" | "manifests" | "resourceyaml" | "yaml");
        if is_manifest && text.contains("kind:") && text.contains('\n') {
            return self.like(&format!("kubectl apply -f - <<'{HEREDOC}'\n{text}\n{HEREDOC}"));
        }
        if plain == "keys" && types_keys(name) && text.trim_end().contains([' ', '\n']) {
            self.command_line(text.trim_end());
        }
        if texts::is_code(&plain) && self.runs_code(name, &plain, text) {
            return self.code(text);
        }
        if texts::is_command(&plain)
            || (name.says(SHELLS) && matches!(key, "raw" | "input" | "text" | "args"))
        {
            self.command_line(text);
            return self.of_program(name, text);
        }
        if SQL.contains(&plain.as_str()) || key_is(QUERIES) && name.asks_database() {
            return self.like(&format!("psql -c {}", quoted(text)));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return self.address(name, text);
        }
        let address = text.strip_prefix("view-source:").unwrap_or(text);
        if let Some(local) = local_file(address).filter(|_| !key_is(PATHS)) {
            return self.facts.file(EffectKind::FileRead, &local);
        }
        if key_is(PATHS) && is_path(text) && name.asks_metadata() {
            // Size and times reveal nothing of what a file holds.
            return self.facts.named(text);
        }
        if key_is(PATHS) && is_path(text) {
            let local = local_file(text);
            self.facts.file(name.access(), local.as_deref().unwrap_or(text));
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
        // Backquotes in prose for people are Markdown.
        let expands = name.says(SHELLS) || text.contains("$(") || text.contains("${");
        if expands || !PROSE.contains(&plain.as_str()) {
            self.template(text);
        }
    }

    /// Reads text as the arguments of the program that the server is named after.
    fn of_program(&mut self, name: &Name, text: &str) {
        let first = text.split_ascii_whitespace().next().unwrap_or("");
        if let Some(program) = name.program().filter(|program| *program != first) {
            self.like(&format!("{program} {text}"));
        }
    }

    /// Reads the text that a call puts into a file, as that of a file tool.
    fn written_text(
        &mut self,
        name: &Name,
        input: &Map<String, Value>,
        parameters: &[(String, String)],
    ) {
        let file =
            parameters.iter().find(|(key, text)| PATHS.contains(&key.as_str()) && is_path(text));
        let writes = name.access() == EffectKind::FileModify || name.says(&["insert"]);
        if !(writes || name.says(&["push", "commit"])) || is_set(input, &["dryrun"]) {
            return;
        }
        let own = file.map(|(_, path)| (path.as_str(), input));
        // Several files at once: `files: [{path, content}]`.
        let listed = input.get("files").and_then(Value::as_array).into_iter().flatten().take(MOST);
        let listed = listed.filter_map(|item| {
            let item = item.as_object()?;
            Some((text_of(item, &["path", "filepath", "filename"])?, item))
        });
        for (path, texts) in own.into_iter().chain(listed) {
            let fault = written::read(texts, path, self.place, self.facts, self.read_shell);
            self.fault = self.fault.take().or(fault);
        }
    }

    /// Notes secrets among what a call gives away.
    fn given_secrets(&mut self, name: &Name, parameters: &[(String, String)]) {
        let address = parameters
            .iter()
            .map(|(_, text)| text)
            .find(|text| text.starts_with("http://") || text.starts_with("https://"));
        let host = address.map(|url| host_of(url)).unwrap_or_default();
        let leaves = name.says(SENDS) || address.is_some() && name.says(REQUESTS);
        if !leaves || is_this_machine(&host) {
            return;
        }
        // A request shows who it is in a header of its own: that is what the secret is for.
        let shows = ["auth", "cookie", "key", "token"];
        let given = parameters.iter().filter(|(key, text)| {
            !text.starts_with("http") && !shows.iter().any(|word| key.contains(word))
        });
        if given.into_iter().any(|(_, text)| holds_secrets(text)) {
            self.send(&host);
        }
    }

    /// Returns true if code under this name is run.
    fn runs_code(&self, name: &Name, key: &str, text: &str) -> bool {
        let studies = name.says(STUDIES);
        match key {
            // The address of a cell is no code.
            "cell" | "cellsource" if !text.contains(['\n', '(', ' ', '=']) => false,
            "source" | "expression" | "program" => {
                !studies && (name.says(RUNS) || name.says(SHELLS) && self.language.is_some())
            }
            _ => {
                !studies
                    && (name.says(SHELLS)
                        || name.says(RUNS)
                        || self.language.is_some()
                        || key == "script")
            }
        }
    }

    /// Reads code in the language that the call names, or else the one that it appears to be in.
    fn code(&mut self, text: &str) {
        match self.language.unwrap_or_else(|| texts::guess(text)) {
            Language::Shell => self.command_line(text),
            Language::Code(interpreter) => self.like(&format!("{interpreter} {}", quoted(text))),
        }
    }

    /// Reads a command line, or a sentence that contains one.
    fn command_line(&mut self, text: &str) {
        let before = self.facts.facts.programs.len();
        self.own(text);
        let known =
            self.facts.facts.programs.get(before).is_some_and(|program| !program.is_empty());
        let order = text
            .split_ascii_whitespace()
            .take(16)
            .position(|word| ORDERS.contains(&word.to_ascii_lowercase().as_str()));
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
        if text.len() > MOST_TEXT {
            self.facts.limit("a command of more than 64 KiB was cut for the plugins");
        }
        let text = cut_text(text, MOST_TEXT);
        if let Some(commands) = self.shell(&text) {
            self.command = Some(Shell { text, commands, background: false, timeout_ms: None });
        }
    }

    /// Reads text as a command line with the same effects as the tool.
    fn like(&mut self, text: &str) {
        let (effects, forms) = (self.facts.facts.effects.len(), self.facts.facts.forms.len());
        if self.shell(text).is_some() {
            self.facts
                .facts
                .effects
                .iter_mut()
                .skip(effects)
                .for_each(|effect| effect.command = None);
            self.facts.facts.forms.iter_mut().skip(forms).for_each(|form| form.command = None);
        }
    }

    fn shell(&mut self, text: &str) -> Option<Vec<Command>> {
        match (self.read_shell)(text, self.place) {
            Ok(reading) => Some(take(reading, self.facts)),
            Err(fault) => {
                self.facts
                    .gap(format!("a command in its parameters could not be read ({})", fault.kind));
                self.fault.get_or_insert(unread(fault));
                None
            }
        }
    }

    fn address(&mut self, name: &Name, url: &str) {
        let host = host_of(url);
        if carries_data(url) || holds_password(url) {
            self.send(&host);
        }
        if asks_for_secrets(url, &host) {
            self.plain(EffectKind::SecretRead, &host);
        }
        if starts_deployment(url) {
            self.plain(EffectKind::Publish, &host);
        }
        if name.says(INSTALLS) && name.says(INSTALLED) {
            self.plain(EffectKind::UnseenCode, &host);
        }
        if name.says(SENDS) && !name.says(READS) {
            self.facts.host(&host);
            self.send(&host);
        } else {
            // A request to a service that issues credentials is read as the client command that
            // would make it.
            self.like(&format!("curl {}", quoted(url)));
            network(&host, self.facts);
        }
    }

    /// Reads text that a template or a shell behind the tool would expand: anything that the
    /// expansion reads counts.
    fn template(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') && texts::name_like(text) {
            self.filled_in = true;
            self.like(&format!(": \"{}\"", text.replace('"', "\\\"")));
        }
        for variable in text.split("${").skip(1).take(16).filter_map(|rest| rest.split('}').next())
        {
            let variable = variable.strip_prefix("env.").unwrap_or(variable);
            let lower = variable.to_ascii_lowercase();
            if variable.len() < 128 && SECRETS.iter().any(|word| lower.contains(word)) {
                self.filled_in = true;
                self.plain(EffectKind::SecretRead, "");
            }
        }
    }

    fn send(&mut self, target: &str) {
        self.plain(EffectKind::Send, &cut_text(target, 256));
    }

    fn plain(&mut self, kind: EffectKind, target: &str) {
        let certain = !target.is_empty();
        self.facts.effect(Effect {
            kind,
            target: target.to_owned(),
            path: None,
            command: None,
            recursive: false,
            certain,
        });
    }
}

/// Returns true for a tool that types keys into a terminal.
fn types_keys(name: &Name) -> bool {
    let typed = ["pane", "pty", "screen", "shell", "terminal", "tmux", "tty", "zellij"];
    name.0.iter().chain(&name.1).any(|word| typed.contains(&word.as_str()))
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4096 && !text.contains(['\n', '\0'])
}
