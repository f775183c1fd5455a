//! Tools that the host has no table for, above all those of MCP servers, judged by the names and
//! values of their parameters.
//!
//! A server may do anything, so an effect that is not known always remains. This module adds what
//! the agent itself asks for: a command line, a path, an address, a query, a text for a recipient.
//! It reads JSON values only; a command line or a query in them goes through the sandboxed reader
//! like any other.

mod tables;

use super::addresses::{carries_data, local_file};
use super::parts::{host_of, network, take, tool, unknown_process};
use super::texts::{self, Language, quoted};
use super::verbs::{self, VerbMeaning};
use super::{CallLocation, Collector, MOST_TEXT, ShellReader, normalise_path, unread};
use crate::action::{Command, Effect, EffectKind, Form, Intent, Operation, Shell};
use crate::event::Call;
use crate::fault::Fault;
use crate::score::Score;
use crate::text::cut_text;
use serde_json::{Map, Value};
use tables::{
    AMOUNTS, BODIES, DATABASES, DELETES, KINDS, ORDERS, PATHS, PAYEES, PROGRAMS, QUERIES, READS,
    REMOTE, RUNS, SECRETS, SENDS, SHARED, SHELLS, STAGES, STUDIES, WRITES,
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

/// The words of a tool's own name, and those of its server.
struct Name(Vec<String>, Vec<String>);

impl Name {
    fn of(tool: &str) -> Self {
        let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
        Self(verbs::words(tool), server.map(verbs::words).unwrap_or_default())
    }

    fn says(&self, words: &[&str]) -> bool {
        self.0.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Returns true if the tool or its server talks to a database.
    fn asks_database(&self) -> bool {
        let server = self.1.iter().any(|word| DATABASES.contains(&word.as_str()));
        self.says(DATABASES) || (server && !self.says(&["search"]))
    }

    /// Returns the program of which the tool takes the words.
    fn program(&self) -> Option<&'static str> {
        let named = |program: &&&str| self.0.iter().chain(&self.1).any(|word| word == **program);
        let program = PROGRAMS.iter().find(named).copied()?;
        Some(if program == "redis" { "redis-cli" } else { program })
    }

    /// Returns the tool's effect on a path.
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
            return self.like(text);
        }
        if texts::is_code(&plain) && self.runs_code(name, &plain) {
            return self.code(text);
        }
        if texts::is_command(&plain)
            || (name.says(SHELLS) && matches!(key, "raw" | "input" | "text" | "args"))
        {
            self.command_line(text);
            let first = text.split_ascii_whitespace().next().unwrap_or("");
            if let Some(program) = name.program().filter(|program| *program != first) {
                self.like(&format!("{program} {text}"));
            }
            return;
        }
        if key == "sql" || key_is(QUERIES) && name.asks_database() {
            return self.like(&format!("psql -c {}", quoted(text)));
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return self.address(name, text);
        }
        let address = text.strip_prefix("view-source:").unwrap_or(text);
        if let Some(local) = local_file(address).filter(|_| !key_is(PATHS)) {
            return self.facts.file(EffectKind::FileRead, &local);
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
        self.template(text);
    }

    /// Returns true if code under this name is run.
    fn runs_code(&self, name: &Name, key: &str) -> bool {
        let studies = name.says(STUDIES);
        match key {
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

    /// Adds the effects that the tool's own name implies.
    fn named(&mut self, name: &Name, call: &Call, parameters: &[(String, String)]) {
        let server = call
            .tool
            .strip_prefix("mcp__")
            .and_then(|rest| rest.split("__").next())
            .unwrap_or_default();
        let files = self.facts.facts.effects.iter().any(|effect| effect.kind.changes_files());
        let remote =
            call.input.keys().any(|key| REMOTE.contains(&key.to_ascii_lowercase().as_str()));
        let holds = |(key, text): &(String, String)| {
            KINDS.contains(&texts::plain(key).as_str()) && verbs::is_whole(text)
        };
        let forced = call.input.iter().any(|(key, value)| {
            key.to_ascii_lowercase().starts_with("force") && value.as_bool() == Some(true)
        });
        let shared = || {
            parameters.iter().any(|(key, text)| key == "branch" && SHARED.contains(&text.as_str()))
        };
        let pushes = name.0.first().is_some_and(|word| word == "push");
        let meaning = verbs::meaning_of(&name.0);
        let has = |keys: &[&str]| {
            parameters.iter().any(|(key, _)| keys.contains(&texts::plain(key).as_str()))
                || call.input.keys().any(|key| keys.contains(&texts::plain(key).as_str()))
        };
        if meaning != VerbMeaning::Looks && has(AMOUNTS) && has(PAYEES) {
            return self.plain(EffectKind::ResourceUse, server);
        }
        let may_deploy =
            matches!(meaning, VerbMeaning::Publishes | VerbMeaning::Stops | VerbMeaning::Unknown);
        if may_deploy && deploys(name) {
            let production = |(key, text): &(String, String)| {
                STAGES.contains(&texts::plain(key).as_str()) && names_production(text)
            };
            if name.says(&["prod", "production"]) || parameters.iter().any(production) {
                self.form("to-production", "changes what runs in production", 200);
            }
        }
        if meaning != VerbMeaning::Looks && opens(call) {
            self.form("open-to-all", "opens something on a service to everybody", 200);
            self.plain(EffectKind::RemoteChange, server);
        }
        match meaning {
            VerbMeaning::Destroys | VerbMeaning::DestroysAll | VerbMeaning::Tidies
                if files && !remote => {}
            VerbMeaning::Tidies => self.plain(EffectKind::RemoteChange, server),
            VerbMeaning::Destroys if !parameters.iter().any(holds) => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form("delete-remote", "deletes something on a remote service", 100);
            }
            VerbMeaning::Destroys | VerbMeaning::DestroysAll => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form(
                    "destroy-remote",
                    "deletes a whole database, bucket, cluster, project or \
                     the like on a remote service",
                    200,
                );
            }
            VerbMeaning::Unknown if name.says(&["scale"]) && empties(&call.input, 1) => {
                self.plain(EffectKind::RemoteDelete, server);
                self.form("delete-remote", "deletes something on a remote service", 100);
            }
            // Others have it, or miss it, at once.
            VerbMeaning::Publishes | VerbMeaning::Stops => self.plain(EffectKind::Publish, server),
            VerbMeaning::Overwrites => self.overwrites(server),
            VerbMeaning::Spends => self.plain(EffectKind::ResourceUse, server),
            VerbMeaning::Grants => self.plain(EffectKind::Privilege, server),
            VerbMeaning::Unknown if pushes && forced => self.overwrites(server),
            VerbMeaning::Unknown if pushes && shared() => self.plain(EffectKind::Publish, server),
            VerbMeaning::Unknown | VerbMeaning::Looks => {}
        }
    }

    fn overwrites(&mut self, server: &str) {
        self.plain(EffectKind::Publish, server);
        self.form("force-push", "overwrites the history of a remote branch", 200);
    }

    fn form(&mut self, id: &str, label: &str, weight: u16) {
        self.facts.facts.forms.push(Form {
            id: id.to_owned(),
            label: label.to_owned(),
            weight: Score::new(weight),
            command: None,
        });
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
        if carries_data(url) {
            self.send(&host);
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
        if text.contains("$(") || text.contains('`') && name_like(text) {
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

/// Returns true for a tool that puts something where it runs.
fn deploys(name: &Name) -> bool {
    name.says(&["deploy", "promote", "publish", "release", "rollout", "ship", "rollback", "apply"])
}

/// Returns true if one of the parts of a text says production.
fn names_production(text: &str) -> bool {
    text.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| matches!(part, "live" | "prd" | "prod" | "production"))
}

/// Returns true if a call leaves none of something that runs.
fn empties(input: &Map<String, Value>, depth: usize) -> bool {
    const COUNTS: &[&str] =
        &["count", "desired", "desiredcount", "instances", "max", "replicas", "size", "to"];
    input.iter().any(|(key, value)| match value {
        Value::Object(object) => depth < DEPTH && empties(object, depth + 1),
        value => {
            let none = value.as_i64() == Some(0) || value.as_str() == Some("0");
            none && COUNTS.contains(&texts::plain(key).as_str())
        }
    })
}

/// Returns true if a parameter of the call opens its object to everybody.
fn opens(call: &Call) -> bool {
    call.input.iter().any(|(key, value)| match (texts::plain(key).as_str(), value) {
        ("visibility" | "acl" | "access", Value::String(text)) => {
            matches!(text.as_str(), "public" | "public-read" | "public-read-write")
        }
        ("public" | "ispublic" | "makepublic", Value::Bool(set)) => *set,
        ("private" | "isprivate", Value::Bool(set)) => !*set,
        _ => false,
    })
}

/// Returns true for backquotes around something that looks like a command followed by a word, not
/// around a name. In prose they only quote: a message that explains a command runs nothing.
fn name_like(text: &str) -> bool {
    let inner = text.split('`').skip(1).step_by(2);
    let mut commands = inner.filter(|inner| inner.contains(['/', '|', '>']) && inner.contains(' '));
    commands.next().is_some() && !is_prose(text)
}

/// Returns true if a text reads as sentences around its backquoted parts: many words of letters,
/// and few of anything else.
fn is_prose(text: &str) -> bool {
    let around = text.split('`').step_by(2).flat_map(str::split_whitespace);
    let (mut plain, mut other) = (0, 0);
    for word in around {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        if word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-')) {
            plain += usize::from(!word.is_empty());
        } else {
            other += 1;
        }
    }
    plain >= PROSE && plain >= 4 * other
}

/// The fewest words of letters of a text that is prose.
const PROSE: usize = 8;

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4096 && !text.contains(['\n', '\0'])
}
