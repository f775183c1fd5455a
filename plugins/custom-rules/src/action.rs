//! An action as conditions see it: the names of the language's table, filled from the host's
//! records.

use portcullis_plugin::types::{
    Access, Action, Attribute, Command, Context, Coverage, Direction, Effect, EffectKind, Entry,
    FileOperation, Form, GitState, Intent, Operation, Origin, Path, Quantity, Scope, Word,
};
use portcullis_rule_language::evaluate::{Around, Fields, Value};
use portcullis_rule_language::schema::EFFECTS;
use std::borrow::Cow;

/// An action in its session.
pub(crate) struct Seen<'a> {
    action: &'a Action,
    commands: Vec<SeenCommand<'a>>,
    effects: Vec<SeenEffect<'a>>,
    paths: Vec<SeenPath<'a>>,
    forms: Vec<SeenForm<'a>>,
    context: SeenContext<'a>,
    history: SeenHistory<'a>,
}

struct SeenCommand<'a>(&'a Command);
struct SeenEffect<'a>(&'a Effect, &'a Action);
struct SeenPath<'a>(&'a Path);
struct SeenForm<'a>(&'a Form);
struct SeenContext<'a>(&'a Context, &'a Action);
struct SeenHistory<'a>(&'a Context, &'a Action);

impl<'a> Seen<'a> {
    pub(crate) fn new(action: &'a Action, context: &'a Context) -> Self {
        Self {
            commands: action
                .shell()
                .map(|shell| shell.commands.iter().map(SeenCommand).collect())
                .unwrap_or_default(),
            effects: action.facts.effects.iter().map(|effect| SeenEffect(effect, action)).collect(),
            paths: action.facts.paths.iter().map(SeenPath).collect(),
            forms: action.facts.forms.iter().map(SeenForm).collect(),
            context: SeenContext(context, action),
            history: SeenHistory(context, action),
            action,
        }
    }

    pub(crate) fn around(&self) -> Around<'a> {
        Around { roots: &self.context.0.roots, home: self.context.0.home() }
    }

    fn file(&self) -> Option<&FileOperation> {
        self.action.file()
    }
}

impl Fields for Seen<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let (action, facts) = (self.action, &self.action.facts);
        match name {
            "tool" => Value::text(&action.tool),
            "intent" => Value::text(intent(action.intent)),
            "agent" => Value::text(action.agent.as_deref().unwrap_or_default()),
            "command" => Value::text(action.shell().map_or("", |shell| &shell.text)),
            "commands" => records(&self.commands),
            "programs" => Value::texts(&facts.programs),
            "program" => first(&facts.programs),
            "effects" => records(&self.effects),
            "paths" => records(&self.paths),
            "path" => Value::text(facts.paths.first().map_or("", |path| &path.text)),
            "hosts" => Value::texts(&facts.hosts),
            "host" => first(&facts.hosts),
            "forms" => records(&self.forms),
            "access" => Value::text(self.file().map_or("", |file| access(file.access))),
            "content" => Value::text(
                self.file().and_then(|file| file.content.as_deref()).unwrap_or_default(),
            ),
            "replaced" => Value::text(
                self.file().and_then(|file| file.replaced.as_deref()).unwrap_or_default(),
            ),
            "url" => Value::text(if let Operation::Network(request) = &action.operation {
                &request.url
            } else {
                ""
            }),
            "message" => Value::text(if let Operation::Message(message) = &action.operation {
                &message.text
            } else {
                ""
            }),
            "server" => match &action.operation {
                Operation::Tool(call) => Value::text(call.server.as_deref().unwrap_or_default()),
                _ => Value::text(""),
            },
            "arguments" => pairs(if let Operation::Tool(call) = &action.operation {
                &call.arguments
            } else {
                &[]
            }),
            "parameters" => Value::text(&action.parameters),
            "background" => Value::Flag(action.shell().is_some_and(|shell| shell.background)),
            "coverage" => {
                Value::text(if facts.coverage == Coverage::Full { "full" } else { "partial" })
            }
            "gaps" => Value::texts(&facts.gaps),
            "context" => Value::Record(&self.context),
            "history" => Value::Record(&self.history),
            _ => unknown(),
        }
    }
}

impl Fields for SeenCommand<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let command = self.0;
        match name {
            "program" => Value::text(&command.program),
            "words" => words(command.words.iter()),
            "operands" => words(command.operands()),
            "line" => Value::Text(Cow::Owned(line(command))),
            "wrappers" => Value::texts(&command.wrappers),
            "privileged" => Value::Flag(command.privileged),
            "origin" => Value::text(match &command.origin {
                Origin::Plain => "plain",
                Origin::Substitution => "substitution",
                Origin::Nested => "nested",
                Origin::FunctionBody => "function-body",
                Origin::Other(_) => "other",
            }),
            "known" => Value::Flag(
                !command.program.is_empty() && command.words.iter().all(|word| word.known),
            ),
            "targets" => {
                let written =
                    |direction| matches!(direction, Direction::Output | Direction::Append);
                words(
                    command
                        .redirections
                        .iter()
                        .filter(|one| written(one.direction))
                        .map(|one| &one.target),
                )
            }
            "assignments" => pairs(&command.assignments),
            _ => unknown(),
        }
    }
}

impl Fields for SeenEffect<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let Self(effect, action) = *self;
        match name {
            "kind" => Value::text(kind(&effect.kind)),
            "target" => Value::text(&effect.target),
            "recursive" => Value::Flag(effect.recursive),
            "certain" => Value::Flag(effect.certain),
            "program" => {
                let at = effect.command.and_then(|at| usize::try_from(at).ok());
                let command = at.and_then(|at| action.shell()?.commands.get(at));
                Value::text(command.map_or("", |command| &command.program))
            }
            "scope" => Value::text(
                action.facts.path(effect).map_or(Scope::Unknown, |path| path.scope).as_str(),
            ),
            _ => unknown(),
        }
    }
}

impl Fields for SeenPath<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let path = self.0;
        match name {
            "text" => Value::text(&path.text),
            "name" => {
                Value::text(path.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
            }
            "scope" => Value::text(path.scope.as_str()),
            "entry" => Value::text(match path.entry {
                Entry::Absent => "absent",
                Entry::File => "file",
                Entry::Folder => "folder",
                Entry::Link => "link",
                Entry::Special => "special",
                Entry::Unknown => "unknown",
            }),
            "git" => Value::text(match path.git {
                GitState::Clean => "clean",
                GitState::Changed => "changed",
                GitState::Untracked => "untracked",
                GitState::Ignored => "ignored",
                GitState::Unknown => "unknown",
            }),
            "restorable" => Value::Flag(path.restorable),
            "pattern" => Value::Flag(path.glob),
            "link" => Value::text(path.link_target.as_deref().unwrap_or_default()),
            _ => unknown(),
        }
    }
}

impl Fields for SeenForm<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        match name {
            "id" => Value::text(&self.0.id),
            "label" => Value::text(&self.0.label),
            "weight" => Value::Number(self.0.weight.into()),
            _ => unknown(),
        }
    }
}

impl Fields for SeenContext<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let Self(context, action) = *self;
        match name {
            "cwd" => Value::text(&context.cwd),
            "roots" => Value::texts(&context.roots),
            "home" => Value::text(context.home()),
            "goals" => context.goals.iter().map(|goal| Value::text(&goal.text)).collect(),
            "mode" => {
                let mode =
                    action.attributes.iter().find(|attribute| attribute.name == "permission-mode");
                Value::text(mode.map_or("", |mode| &mode.value))
            }
            "session" => Value::text(&context.session),
            "now" => number(context.now),
            _ => unknown(),
        }
    }
}

impl Fields for SeenHistory<'_> {
    fn field(&self, name: &'static str) -> Value<'_> {
        let Self(context, action) = *self;
        let limit =
            context.limits.iter().find(|limit| matches!(limit.quantity, Quantity::FileOperations));
        match name {
            "step" => number(action.step),
            "seen" => Value::Number(context.repetition.seen.into()),
            "failures" => Value::Number(context.repetition.failures.into()),
            "successes" => Value::Number(context.repetition.successes.into()),
            "file_operations" => number(limit.map_or(0, |limit| limit.used)),
            "file_operations_left" => {
                // Without a limit, more is left than anybody uses.
                number(limit.map_or(u64::MAX, |limit| limit.maximum.saturating_sub(limit.used)))
            }
            _ => unknown(),
        }
    }
}

/// Returns the value of a name that the table has and this module does not; a test rules that out.
/// The evaluation treats it as a failure in every use.
fn unknown<'v>() -> Value<'v> {
    Value::Map([].into())
}

fn number<'v>(number: u64) -> Value<'v> {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

fn first(texts: &[String]) -> Value<'_> {
    Value::text(texts.first().map_or("", String::as_str))
}

fn records<T: Fields>(items: &[T]) -> Value<'_> {
    items.iter().map(|item| Value::Record(item)).collect()
}

fn pairs(attributes: &[Attribute]) -> Value<'_> {
    Value::Map(
        attributes
            .iter()
            .map(|attribute| (attribute.name.as_str(), attribute.value.as_str()))
            .collect(),
    )
}

fn words<'v>(words: impl Iterator<Item = &'v Word>) -> Value<'v> {
    words.map(|word| Value::text(&word.text)).collect()
}

fn line(command: &Command) -> String {
    let words: Vec<&str> = std::iter::once(command.program.as_str())
        .chain(command.words.iter().map(|word| word.text.as_str()))
        .collect();
    words.join(" ")
}

fn kind(kind: &EffectKind) -> &str {
    let name = kind.as_str();
    if EFFECTS.contains(&name) { name } else { "other" }
}

const fn intent(intent: Intent) -> &'static str {
    match intent {
        Intent::FileRead => "file-read",
        Intent::FileCreation => "file-creation",
        Intent::FileModification => "file-modification",
        Intent::FileDeletion => "file-deletion",
        Intent::SystemCommand => "system-command",
        Intent::NetworkRequest => "network-request",
        Intent::Message => "message",
        Intent::Unknown => "unknown",
    }
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Create => "create",
        Access::Modify => "modify",
        Access::Delete => "delete",
        Access::Search => "search",
    }
}
