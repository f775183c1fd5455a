//! Files that a command replaces though nothing else holds what is in them: untracked ones and
//! private settings of the project, and files outside it.
//!
//! An edit keeps the rest of a file, and a command that reads a file before it writes it is one.
//! Output of a program, as the name of its file says, can be printed again.

use portcullis_builtin_shared::place;
use portcullis_plugin::types::{
    Action, Command, Context, Direction, Effect, EffectKind, Entry, GitState, Path, Scope,
};

/// Programs that put a file in the place of another one.
const REPLACE: &[&str] = &["cp", "gcp", "install", "mv", "rsync", "tee", "truncate"];
/// Flags by which these leave what exists alone, keep it under another name, or add to it.
const SPARING: &[&str] = &[
    "--append",
    "--backup",
    "--ignore-existing",
    "--interactive",
    "--no-clobber",
    "--update",
    "-S",
    "--suffix",
];
/// Programs that run a text of theirs, and how a text says that it replaces a file.
const TEXTS: &[&str] = &["bun", "deno", "node", "perl", "php", "python", "python3", "ruby"];
const WRITES: &[&str] = &[
    "'w'",
    "\"w\"",
    "'wb'",
    "\"wb\"",
    "File.write",
    "Deno.write",
    "copyFile",
    "file_put_contents",
    "shutil.copy",
    "shutil.move",
    "writeFile",
    "write_bytes",
    "write_text",
];
/// Endings and names of what a program prints.
const PRINTED: &[&str] =
    &[".bak", ".csv", ".err", ".html", ".lock", ".log", ".map", ".out", ".pid", ".tmp", ".xml"];
const PRINTED_NAMES: &[&str] =
    &["coverage", "diff", "dump", "out", "output", "report", "result", "results", "scratch", "tmp"];

/// Returns the files that are replaced.
pub(super) fn replaced<'a>(action: &'a Action, context: &Context) -> Vec<&'a str> {
    let facts = &action.facts;
    let writes =
        |effect: &&Effect| matches!(effect.kind, EffectKind::FileModify | EffectKind::FileCreate);
    let found = facts.effects.iter().enumerate().filter(|(_, effect)| writes(effect));
    found
        .filter_map(|(at, effect)| {
            let path = facts.path(effect)?;
            let command = command_of(effect, action)?;
            let read = facts.effects.iter().take(at).any(|earlier| {
                earlier.kind == EffectKind::FileRead && earlier.target == effect.target
            });
            let kept = read || effect.recursive || place::is_own(effect, action);
            let lost = !kept && is_missed(effect, path, context);
            (lost && replaces(command, path, effect.certain)).then_some(path.text.as_str())
        })
        .collect()
}

fn command_of<'a>(effect: &Effect, action: &'a Action) -> Option<&'a Command> {
    action.shell()?.commands.get(usize::try_from(effect.command?).ok()?)
}

/// Returns true if somebody would miss what a file holds.
fn is_missed(effect: &Effect, path: &Path, context: &Context) -> bool {
    let name = path.text.rsplit('/').next().unwrap_or_default();
    if path.restorable || is_printed(name) {
        return false;
    }
    match place::scope_of(effect, path) {
        Scope::Inside => match (path.entry, path.git) {
            (Entry::File, GitState::Untracked) => effect.certain,
            (Entry::File, GitState::Ignored) => effect.certain && is_private(name),
            (Entry::Folder, GitState::Untracked) => !effect.certain,
            _ => false,
        },
        Scope::Outside => {
            let dotted = place::below_home(&path.text, context.home())
                .is_some_and(|rest| rest.starts_with('.'));
            // Without a look at the disk, only another project of the person's counts as there.
            let exists = match path.entry {
                Entry::File | Entry::Link => true,
                Entry::Unknown => place::in_home(&path.text, context.home()),
                _ => false,
            };
            effect.certain && !dotted && exists
        }
        _ => false,
    }
}

/// Returns true for settings and data that people keep out of git on purpose.
fn is_private(name: &str) -> bool {
    let ends = [".db", ".key", ".local", ".p12", ".pem", ".sqlite", ".sqlite3", ".tfvars"];
    name.starts_with(".env") || ends.iter().any(|end| name.ends_with(end))
}

fn is_printed(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let last = stem.rsplit(['-', '_']).next().unwrap_or_default();
    PRINTED.iter().any(|end| name.ends_with(end))
        || PRINTED_NAMES.contains(&stem)
        || PRINTED_NAMES.contains(&last)
}

/// Returns true if a command puts something else in the place of all that a file holds.
fn replaces(command: &Command, path: &Path, certain: bool) -> bool {
    let ends = |target: &str| {
        let target = target.trim_start_matches("./").trim_start_matches("../");
        !target.is_empty() && path.text.ends_with(target)
    };
    let redirected = command
        .redirections
        .iter()
        .any(|to| to.direction == Direction::Output && to.descriptor == 1 && ends(&to.target.text));
    let words = || command.words.iter().map(|word| word.text.as_str());
    let program = command.program.as_str();
    let spares = || {
        words().any(|word| {
            let name = word.split('=').next().unwrap_or_default();
            let letters = word.starts_with('-') && !word.starts_with("--");
            SPARING.contains(&name)
                || letters && program == "tee" && word.contains('a')
                || letters && program == "rsync" && word.contains(['u', 'b'])
                || letters
                    && matches!(program, "cp" | "gcp" | "mv" | "install")
                    && word.contains(['n', 'u', 'b', 'i'])
        })
    };
    let copied = REPLACE.contains(&program) && !spares();
    let edited = TEXTS.contains(&program)
        && words().any(|word| WRITES.iter().any(|sign| word.contains(sign)))
        && !words().any(|word| word.contains("append") || word.contains("'a'"));
    if certain { redirected || copied || edited } else { edited }
}
