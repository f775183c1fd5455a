//! Actions for tests.

use super::{NOW, PROJECT};
use crate::text::push_json;
use crate::types::{
    Access, Action, Attribute, Command, Coverage, Effect, EffectKind, Entry, Facts, FileOperation,
    Form, GitState, Intent, Message, NetworkRequest, Operation, Origin, Outcome, Path, Scope,
    Shell, Status, ToolCall, Word,
};

/// Returns the action of a shell command line. The test states its effects, with [`BuildAction`].
///
/// ```
/// use portcullis_plugin::testing;
///
/// let action = testing::shell("git push -f; ls");
/// let programs: Vec<&str> = action.shell().into_iter().flat_map(|shell| &shell.commands).map(|command| command.program.as_str()).collect();
/// assert_eq!(programs, ["git", "ls"]);
/// ```
#[must_use]
pub fn shell(text: &str) -> Action {
    let commands = commands(text);
    let programs = commands.iter().map(|command| command.program.clone()).collect();
    let shell = Shell { text: text.into(), commands, background: false, timeout_ms: None };
    let mut action =
        action("Bash", Intent::SystemCommand, Operation::Shell(shell), &[("command", text)]);
    action.facts.programs = programs;
    action
}

/// Returns an action in which the file tool reads a file.
///
/// ```
/// use portcullis_plugin::{testing, types::EffectKind};
///
/// let action = testing::file_read("notes.txt");
/// assert!(action.touched().any(|(kind, path)| matches!(kind, EffectKind::FileRead) && path.text == "/project/notes.txt"));
/// ```
#[must_use]
pub fn file_read(path: &str) -> Action {
    file("Read", Intent::FileRead, Access::Read, path, None, None).reads(path)
}

/// Returns an action in which the file tool writes a new file.
///
/// ```
/// use portcullis_plugin::testing;
///
/// let action = testing::file_write("notes.txt", "a note");
/// assert_eq!(action.file().and_then(|file| file.content.as_deref()), Some("a note"));
/// ```
#[must_use]
pub fn file_write(path: &str, content: &str) -> Action {
    file("Write", Intent::FileCreation, Access::Create, path, Some(content), None).creates(path)
}

/// Returns an action in which the file tool replaces text in a file.
///
/// ```
/// use portcullis_plugin::testing;
///
/// let action = testing::file_edit("notes.txt", "old", "new");
/// assert_eq!(action.file().and_then(|file| file.replaced.as_deref()), Some("old"));
/// ```
#[must_use]
pub fn file_edit(path: &str, replaced: &str, content: &str) -> Action {
    file("Edit", Intent::FileModification, Access::Modify, path, Some(content), Some(replaced))
        .modifies(path)
}

/// Returns an action in which the file tool removes a file.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!(testing::file_delete("notes.txt").changed().count(), 1);
/// ```
#[must_use]
pub fn file_delete(path: &str) -> Action {
    file("Delete", Intent::FileDeletion, Access::Delete, path, None, None).deletes(path)
}

/// Returns an action in which the client fetches an address.
///
/// ```
/// use portcullis_plugin::testing;
///
/// assert_eq!(testing::fetch("https://Example.org/a").facts.hosts, ["example.org"]);
/// ```
#[must_use]
pub fn fetch(url: &str) -> Action {
    let request = NetworkRequest { url: url.into(), method: None, body: None };
    let host = url
        .split("://")
        .last()
        .unwrap_or(url)
        .split(['/', ':'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    action("WebFetch", Intent::NetworkRequest, Operation::Network(request), &[("url", url)])
        .contacts(&host)
}

/// Returns a message for a person (`user`) or a subagent.
///
/// ```
/// use portcullis_plugin::{testing, types::Operation};
///
/// let action = testing::message("user", "it is done");
/// assert!(matches!(action.operation, Operation::Message(message) if message.text == "it is done"));
/// ```
#[must_use]
pub fn message(recipient: &str, text: &str) -> Action {
    let message = Message { recipient: recipient.into(), text: text.into() };
    action("Task", Intent::Message, Operation::Message(message), &[("prompt", text)])
}

/// Returns a call of any other tool.
///
/// ```
/// use portcullis_plugin::testing;
///
/// let action = testing::tool("mcp__tickets__close", &[("id", "7")]);
/// assert_eq!((action.tool.as_str(), action.parameters.as_str()), ("mcp__tickets__close", r#"{"id":"7"}"#));
/// ```
#[must_use]
pub fn tool(name: &str, arguments: &[(&str, &str)]) -> Action {
    let call = ToolCall { server: None, name: name.into(), arguments: pairs(arguments) };
    action(name, Intent::Unknown, Operation::Tool(call), arguments)
}

/// Adds to an action what the host would have found out about it.
///
/// ```
/// use portcullis_plugin::testing::{self, BuildAction};
/// use portcullis_plugin::types::{Coverage, EffectKind, GitState, Status};
///
/// let action = testing::shell("make clean deploy")
///     .reads("Makefile")
///     .modifies("log.txt")
///     .creates("out.txt")
///     .deletes("build").git(GitState::Ignored)
///     .does(EffectKind::FileRead, "/etc/hosts").path(|path| path.glob = false)
///     .affects(EffectKind::Publish, "registry.example.org")
///     .contacts("example.org")
///     .form("recursive-force-delete", 200)
///     .partly("a variable that only the run knows")
///     .at_step(4);
/// assert_eq!((action.step, action.changed().count(), action.facts.paths[3].restorable), (4, 3, true));
/// assert_eq!((action.facts.coverage, action.facts.forms[0].weight), (Coverage::Partial, 200));
///
/// let outcome = |action: portcullis_plugin::types::Action| action.outcome.map(|outcome| (outcome.status, outcome.error));
/// assert_eq!(outcome(testing::shell("make").succeeded()), Some((Status::Ok, String::new())));
/// assert_eq!(outcome(testing::shell("make").failed("no rule")), Some((Status::Failed, "no rule".to_owned())));
/// assert_eq!(outcome(testing::shell("make").ended(Status::Refused, "")), Some((Status::Refused, String::new())));
/// ```
pub trait BuildAction: Sized {
    /// Adds an effect on a path.
    #[must_use]
    fn does(self, kind: EffectKind, path: &str) -> Self;
    /// Adds an effect on something that is not a path.
    #[must_use]
    fn affects(self, kind: EffectKind, target: &str) -> Self;
    /// Adds a contacted host.
    #[must_use]
    fn contacts(self, host: &str) -> Self;
    /// Adds a dangerous form.
    #[must_use]
    fn form(self, id: &str, weight: u16) -> Self;
    /// Changes the path that was added last.
    #[must_use]
    fn path(self, change: impl FnOnce(&mut Path)) -> Self;
    /// Sets its position in the session.
    #[must_use]
    fn at_step(self, step: u64) -> Self;
    /// Marks it as only partly understood.
    #[must_use]
    fn partly(self, gap: &str) -> Self;
    /// Sets its outcome.
    #[must_use]
    fn ended(self, status: Status, text: &str) -> Self;

    /// Adds the reading of a file.
    #[must_use]
    fn reads(self, path: &str) -> Self {
        self.does(EffectKind::FileRead, path)
    }
    /// Adds the creation of a file.
    #[must_use]
    fn creates(self, path: &str) -> Self {
        self.does(EffectKind::FileCreate, path)
    }
    /// Adds the change of a file.
    #[must_use]
    fn modifies(self, path: &str) -> Self {
        self.does(EffectKind::FileModify, path)
    }
    /// Adds the removal of a file.
    #[must_use]
    fn deletes(self, path: &str) -> Self {
        self.does(EffectKind::FileDelete, path)
    }
    /// Sets the state in git of the path that was added last; `clean` and `ignored` make it
    /// restorable.
    #[must_use]
    fn git(self, state: GitState) -> Self {
        self.path(|path| {
            path.git = state;
            path.restorable = matches!(state, GitState::Clean | GitState::Ignored);
        })
    }
    /// Makes it succeed.
    #[must_use]
    fn succeeded(self) -> Self {
        self.ended(Status::Ok, "")
    }
    /// Makes it fail.
    #[must_use]
    fn failed(self, error: &str) -> Self {
        self.ended(Status::Failed, error)
    }
}

impl BuildAction for Action {
    fn does(mut self, kind: EffectKind, path: &str) -> Self {
        let text = absolute(path);
        let known = self.facts.paths.iter().position(|path| path.text == text);
        let at = known.unwrap_or(self.facts.paths.len());
        if known.is_none() {
            self.facts.paths.push(new_path(&text, &kind));
        }
        self.facts.effects.push(Effect { path: u32::try_from(at).ok(), ..effect(kind, &text) });
        self
    }

    fn affects(mut self, kind: EffectKind, target: &str) -> Self {
        self.facts.effects.push(effect(kind, target));
        self
    }

    fn contacts(mut self, host: &str) -> Self {
        self.facts.hosts.push(host.into());
        self.affects(EffectKind::Network, host)
    }

    fn form(mut self, id: &str, weight: u16) -> Self {
        self.facts.forms.push(Form {
            id: id.into(),
            label: id.replace('-', " "),
            weight,
            command: None,
        });
        self
    }

    fn path(mut self, change: impl FnOnce(&mut Path)) -> Self {
        if let Some(path) = self.facts.paths.last_mut() {
            change(path);
        }
        self
    }

    fn at_step(self, step: u64) -> Self {
        Self { step, ..self }
    }

    fn partly(mut self, gap: &str) -> Self {
        self.facts.coverage = Coverage::Partial;
        self.facts.gaps.push(gap.into());
        self
    }

    fn ended(mut self, status: Status, text: &str) -> Self {
        let failed = status == Status::Failed;
        self.outcome = Some(Outcome {
            at: NOW,
            status,
            exit_code: self.shell().map(|_| i32::from(failed)),
            error: if failed { text.into() } else { String::new() },
            output: if failed { String::new() } else { text.into() },
            duration_ms: Some(10),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            tokens: None,
        });
        self
    }
}

fn action(tool: &str, intent: Intent, operation: Operation, parameters: &[(&str, &str)]) -> Action {
    Action {
        id: "review-1".into(),
        step: 0,
        client: "claude".into(),
        agent: None,
        tool: tool.into(),
        intent,
        operation,
        facts: facts(tool, parameters),
        parameters: object(parameters),
        outcome: None,
        attributes: Vec::new(),
    }
}

fn facts(tool: &str, parameters: &[(&str, &str)]) -> Facts {
    Facts {
        effects: Vec::new(),
        paths: Vec::new(),
        hosts: Vec::new(),
        programs: Vec::new(),
        forms: Vec::new(),
        shape: fingerprint(tool),
        identity: fingerprint(&format!("{tool}{parameters:?}")),
        coverage: Coverage::Full,
        gaps: Vec::new(),
    }
}

fn file(
    tool: &str,
    intent: Intent,
    access: Access,
    path: &str,
    content: Option<&str>,
    replaced: Option<&str>,
) -> Action {
    let path = absolute(path);
    let mut parameters = vec![("file_path", path.as_str())];
    parameters.extend(replaced.map(|text| ("old_string", text)));
    parameters.extend(
        content.map(|text| (if replaced.is_some() { "new_string" } else { "content" }, text)),
    );
    let operation = FileOperation {
        access,
        path: path.clone(),
        content: content.map(Into::into),
        replaced: replaced.map(Into::into),
        every: false,
    };
    action(tool, intent, Operation::File(operation), &parameters)
}

fn commands(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive([';', '|', '&', '\n']) {
        let words: Vec<&str> =
            piece.trim_end_matches([';', '|', '&', '\n']).split_whitespace().collect();
        if let Some((program, words)) = words.split_first() {
            found.push(command(program, words, start, start + piece.len()));
        }
        start += piece.len();
    }
    found
}

fn command(program: &str, words: &[&str], start: usize, end: usize) -> Command {
    Command {
        program: program.rsplit('/').next().unwrap_or(program).into(),
        words: words
            .iter()
            .map(|word| Word { text: (*word).into(), known: true, quoted: false })
            .collect(),
        assignments: Vec::new(),
        redirections: Vec::new(),
        wrappers: Vec::new(),
        origin: Origin::Plain,
        input_from: None,
        start: u32::try_from(start).unwrap_or(u32::MAX),
        end: u32::try_from(end).unwrap_or(u32::MAX),
        privileged: false,
    }
}

fn effect(kind: EffectKind, target: &str) -> Effect {
    Effect {
        kind,
        target: target.into(),
        path: None,
        command: None,
        recursive: false,
        certain: true,
    }
}

fn new_path(text: &str, kind: &EffectKind) -> Path {
    let created = matches!(kind, EffectKind::FileCreate);
    Path {
        text: text.into(),
        glob: text.contains(['*', '?']),
        scope: scope(text),
        entry: if created { Entry::Absent } else { Entry::File },
        link_target: None,
        git: GitState::Unknown,
        restorable: false,
    }
}

fn absolute(path: &str) -> String {
    if path.starts_with('/') { path.into() } else { format!("{PROJECT}/{path}") }
}

fn scope(path: &str) -> Scope {
    let under = |folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match () {
        () if under(PROJECT) => Scope::Inside,
        () if under("/tmp") => Scope::Scratch,
        () if path == "/"
            || [
                "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/usr", "/var",
            ]
            .into_iter()
            .any(under) =>
        {
            Scope::System
        }
        () => Scope::Outside,
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<Attribute> {
    pairs.iter().map(|pair| (*pair).into()).collect()
}

fn object(parameters: &[(&str, &str)]) -> String {
    let mut out = String::from("{");
    for (position, (name, value)) in parameters.iter().enumerate() {
        out.push_str(if position > 0 { "," } else { "" });
        push_json(&mut out, name);
        out.push(':');
        push_json(&mut out, value);
    }
    out.push('}');
    out
}

/// Hashes a text with FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
