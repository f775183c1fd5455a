//! The kind of an action: looking, testing, ordinary work, or something else.
//!
//! It knows programs by name, like `checks`, and only in favour of an action.

use super::words::Stems;
use portcullis_builtin_shared::checks::is_check;
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{
    Action, Command, Effect, EffectKind, NetworkRequest, Operation, Scope,
};

/// The maximum number of bytes of a file's content whose words count.
const CONTENT: usize = 2048;

/// Programs that maintain a project's dependencies or history, or look at its forge.
const KEEPERS: &[&str] = &[
    "bun", "bundle", "bundler", "cargo", "composer", "conda", "corepack", "deno", "dotnet", "gem",
    "gh", "git", "glab", "go", "gradle", "gradlew", "mix", "mvn", "npm", "nuget", "pdm", "pip",
    "pip3", "pipenv", "pnpm", "poetry", "rustup", "uv", "yarn",
];

/// The kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// It leaves nothing behind.
    Looks,
    /// It tests, checks or builds.
    Tests,
    /// It changes files of the project, keeps its dependencies or its local history, or looks
    /// something up.
    Works,
    /// Anything else.
    Other,
}

/// Returns the action's kind.
pub(super) fn of(action: &Action) -> Nature {
    let mut lasting = place::lasting(&action.facts).peekable();
    if lasting.peek().is_none() {
        return match action.operation {
            Operation::Tool(_) | Operation::Other(_)
                if action.intent != portcullis_plugin::types::Intent::Message =>
            {
                Nature::Other
            }
            Operation::Network(_) => Nature::Works,
            _ => Nature::Looks,
        };
    }
    let looks = |effect: &Effect| {
        effect.kind == EffectKind::FileRead
            || (effect.kind == EffectKind::Network && !place::is_external(effect))
    };
    if place::lasting(&action.facts).all(looks) {
        return Nature::Looks;
    }
    let effects = || place::lasting(&action.facts).filter(|effect| !looks(effect));
    match () {
        () if effects().all(|effect| {
            is_local(effect, action) && command(effect, action).is_some_and(is_check)
        }) =>
        {
            Nature::Tests
        }
        () if effects().all(|effect| is_local(effect, action) || keeps(effect, action)) => {
            Nature::Works
        }
        () => Nature::Other,
    }
}

/// Returns true if everything that it changes or removes is in the project or in scratch.
pub(super) fn stays_inside(action: &Action) -> bool {
    place::lasting(&action.facts).all(|effect| {
        let deleted = effect.kind == EffectKind::FileDelete
            && action.facts.path(effect).is_some_and(|path| path.scope == Scope::Inside);
        deleted || effect.kind == EffectKind::FileRead || is_local(effect, action)
    })
}

/// Returns true if it only makes or changes files of the project or of scratch, or removes
/// expendable ones.
fn is_local(effect: &Effect, action: &Action) -> bool {
    let path = action.facts.path(effect);
    match effect.kind {
        EffectKind::FileCreate | EffectKind::FileModify => path.is_some_and(|path| {
            matches!(place::scope_of(effect, path), Scope::Inside | Scope::Scratch)
        }),
        EffectKind::FileDelete => place::is_expendable(effect, &action.facts),
        _ => false,
    }
}

/// Returns true if a package manager, git or its forge's client fetches something, or the client
/// itself looks it up.
fn keeps(effect: &Effect, action: &Action) -> bool {
    let looks_up = matches!(&action.operation, Operation::Network(request) if fetches(request));
    effect.kind == EffectKind::Network && (looks_up || kept(effect, action))
}

fn fetches(request: &NetworkRequest) -> bool {
    request.method.as_deref().is_none_or(|method| method == "GET")
}

fn kept(effect: &Effect, action: &Action) -> bool {
    command(effect, action).is_some_and(|command| KEEPERS.contains(&command.program.as_str()))
}

fn command<'a>(effect: &Effect, action: &'a Action) -> Option<&'a Command> {
    action.shell()?.commands.get(usize::try_from(effect.command?).ok()?)
}

/// Returns true for a tool that maintains the project's dependencies or history, whose changes of
/// files nobody reads first.
pub(super) fn is_kept(action: &Action) -> bool {
    action.shell().is_some_and(|shell| {
        shell
            .commands
            .iter()
            .any(|command| KEEPERS.contains(&command.program.as_str()) || is_check(command))
    })
}

/// Returns the subject of the action: its paths, its command's words, its text.
pub(super) fn words(action: &Action, roots: &[String]) -> Stems {
    let paths = place::lasting(&action.facts).map(|effect| below(&effect.target, roots));
    let text = match &action.operation {
        Operation::File(file) => [
            below(&file.path, roots),
            file.content.as_deref().map_or("", head),
            file.replaced.as_deref().map_or("", head),
        ],
        Operation::Network(request) => {
            [request.url.as_str(), request.body.as_deref().map_or("", head), ""]
        }
        Operation::Message(message) => [head(&message.text), "", ""],
        _ => [action.tool.as_str(), "", ""],
    };
    let arguments = match &action.operation {
        Operation::Tool(call) => call.arguments.as_slice(),
        _ => &[],
    };
    Stems::of(
        paths
            .chain(spoken(action))
            .chain(text)
            .chain(arguments.iter().map(|argument| head(&argument.value))),
    )
}

/// Returns the targets of effects of these kinds, relative to the project.
pub(super) fn targets(
    action: &Action,
    roots: &[String],
    kinds: fn(&EffectKind) -> bool,
) -> Vec<String> {
    place::lasting(&action.facts)
        .filter(|effect| kinds(&effect.kind))
        .map(|effect| below(&effect.target, roots).to_owned())
        .collect()
}

/// Returns the words of the command line alone.
pub(super) fn spoken(action: &Action) -> impl Iterator<Item = &str> {
    let commands = action.shell().into_iter().flat_map(|shell| &shell.commands);
    commands.flat_map(|command| {
        std::iter::once(command.program.as_str())
            .chain(command.words.iter().map(|word| word.text.as_str()))
    })
}

/// Returns true if a tool that maintains the project's dependencies or history is given one of
/// these subcommands.
pub(super) fn orders(action: &Action, subcommands: &[&str]) -> bool {
    let commands = action.shell().into_iter().flat_map(|shell| &shell.commands);
    let mut kept = commands.filter(|command| KEEPERS.contains(&command.program.as_str()));
    kept.any(|command| command.operands().any(|word| subcommands.contains(&word.text.as_str())))
}

/// Returns the path relative to the project's folder: the part above it is not informative.
pub(super) fn below<'a>(path: &'a str, roots: &[String]) -> &'a str {
    place::root_of(path, roots).and_then(|root| path.strip_prefix(root)).unwrap_or(path)
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(CONTENT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
