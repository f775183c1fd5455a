//! An action as it was understood: the commands of a shell text as a tree, the effects with their
//! locations, and the parts that were not understood.

use portcullis_core::action::{
    Command, Coverage, Direction, Effect, Facts, Operation, Origin, Word,
};
use portcullis_core::record::Record;
use portcullis_core::text::{count_noun, one_line};
use portcullis_terminal::layout::{TextPage, add_list};

/// The most commands that are shown.
const MOST_COMMANDS: usize = 100;
/// The maximum indent depth of commands.
const DEEPEST: usize = 8;

/// Writes the record's information about the action.
pub fn write_action(page: &mut TextPage, record: &Record) {
    let Some(action) = &record.action else { return };
    page.add_heading("as received (masked)");
    page.add_indented(&one_line(&action.parameters, 2000));
    if let Some(run_as) = &action.run_as {
        page.add_heading("as run");
        page.add_indented(&one_line(run_as, 2000));
    }
    page.add_heading(&format!("understood as {}, in {}", action.intent, one_line(&action.cwd, 60)));
    operation(page, &action.operation);
    facts(page, &action.facts);
}

fn operation(page: &mut TextPage, operation: &Operation) {
    match operation {
        Operation::Shell(shell) => {
            for (index, command) in shell.commands.iter().enumerate().take(MOST_COMMANDS) {
                let within = |other: &&Command| {
                    (other.start, other.end) != (command.start, command.end)
                        && other.start <= command.start
                        && command.end <= other.end
                };
                let depth = shell.commands.iter().take(index).filter(within).count().min(DEEPEST);
                tree(page, index, command, depth);
            }
            let more = shell.commands.len().saturating_sub(MOST_COMMANDS);
            if more > 0 {
                page.add_indented(&format!("and {}", count_noun(more as u64, "more command")));
            }
            if shell.background {
                page.add_indented("in the background");
            }
        }
        Operation::File(file) => {
            page.add_indented(&format!("{} {}", file.access, one_line(&file.path, 400)))
        }
        Operation::Network(request) => {
            page.add_indented(&format!(
                "{} {}",
                request.method.as_deref().unwrap_or("request"),
                one_line(&request.url, 400)
            ));
        }
        Operation::Message(message) => {
            page.add_indented(&format!("a message to {}", one_line(&message.recipient, 200)))
        }
        Operation::Tool(tool) => {
            let server = tool
                .server
                .as_deref()
                .map(|server| format!(" of {}", one_line(server, 100)))
                .unwrap_or_default();
            page.add_indented(&format!("the tool {}{server}", one_line(&tool.name, 200)));
        }
        Operation::Other(text) => page.add_indented(&one_line(text, 400)),
    }
}

/// Writes one command, and below it everything that changes its meaning.
fn tree(page: &mut TextPage, index: usize, command: &Command, depth: usize) {
    let indent = "  ".repeat(depth);
    let program = if command.program.is_empty() { "(no program)" } else { &command.program };
    let line: Vec<String> = std::iter::once(program.replace(UNKNOWN, "<unknown>"))
        .chain(command.words.iter().map(shown))
        .collect();
    let line = line.join(" ");
    let rest = format!("  {indent}   ");
    page.add_wrapped(&format!("  {indent}{:<3}", index + 1), &rest, &one_line(&line, 1000));
    let below = format!("{rest}  ");
    for note in notes(command) {
        page.add_wrapped(&format!("{rest}| "), &below, &one_line(&note, 400));
    }
}

/// The character for a part that is not known before it runs.
const UNKNOWN: char = '\u{fffd}';

/// Formats a word with its unknown parts.
fn shown(word: &Word) -> String {
    if word.text.contains(UNKNOWN) {
        word.text.replace(UNKNOWN, "<unknown>")
    } else if word.known {
        word.text.clone()
    } else {
        format!("{}<or other>", word.text)
    }
}

fn notes(command: &Command) -> Vec<String> {
    let mut notes = Vec::new();
    match &command.origin {
        Origin::Plain => {}
        Origin::Substitution => notes.push("its output becomes a part of a command".to_owned()),
        Origin::Nested => notes.push("in a text that another command runs".to_owned()),
        Origin::FunctionBody => notes.push("in a function".to_owned()),
        Origin::Other(origin) => notes.push(origin.clone()),
    }
    if !command.wrappers.is_empty() {
        notes.push(format!("through {}", command.wrappers.join(", ")));
    }
    if command.privileged {
        notes.push("with elevated privileges".to_owned());
    }
    if let Some(from) = command.input_from {
        notes.push(format!("reads what {} writes", from.saturating_add(1)));
    }
    let assignments: Vec<String> =
        command.assignments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !assignments.is_empty() {
        notes.push(format!("with {}", assignments.join(" ")));
    }
    for redirection in &command.redirections {
        let how = match redirection.direction {
            Direction::Input => "reads",
            Direction::Output => "writes",
            Direction::Append => "appends to",
            Direction::Duplicate => "is joined with",
            Direction::Heredoc => "reads a text of its own:",
        };
        notes.push(format!(
            "descriptor {} {how} {}",
            redirection.descriptor,
            shown(&redirection.target)
        ));
    }
    notes
}

fn facts(page: &mut TextPage, facts: &Facts) {
    add_list(page, "what it does", facts.effects.iter().map(|found| effect(found, facts)));
    let meant = facts.effects.iter().filter_map(|effect| effect.path).collect::<Vec<_>>();
    let others = facts
        .paths
        .iter()
        .enumerate()
        .filter(|(index, _)| !meant.iter().any(|meant| *meant as usize == *index));
    add_list(
        page,
        "paths that it names",
        others.map(|(_, path)| format!("{} [{}]", path.text, place(path))),
    );
    add_list(page, "hosts", facts.hosts.iter().cloned());
    add_list(
        page,
        "dangerous forms",
        facts.forms.iter().map(|form| format!("{} (+{}): {}", form.id, form.weight, form.label)),
    );
    if facts.coverage == Coverage::Partial {
        add_list(page, "not read to its end", facts.limits.iter().cloned());
        let unnamed = facts.gaps.is_empty() && facts.limits.is_empty();
        let gaps = if unnamed { vec!["a part of it".to_owned()] } else { facts.gaps.clone() };
        add_list(page, "not understood", gaps.into_iter());
    }
}

fn effect(effect: &Effect, facts: &Facts) -> String {
    let path = effect.path.and_then(|index| facts.paths.get(index as usize));
    let command = effect
        .command
        .map(|index| format!(" (command {})", index.saturating_add(1)))
        .unwrap_or_default();
    format!(
        "{} {}{}{}{command}{}",
        effect.kind.as_str(),
        effect.target,
        if effect.recursive { " and all below" } else { "" },
        if effect.certain { "" } else { " (not certain)" },
        path.map(|path| format!(" [{}]", place(path))).unwrap_or_default()
    )
}

fn place(path: &portcullis_core::action::Path) -> String {
    let link = path
        .link_target
        .as_deref()
        .map(|target| format!(" to {}", one_line(target, 200)))
        .unwrap_or_default();
    format!(
        "{}, {}{link}, git {}{}",
        path.scope,
        path.entry,
        path.git,
        if path.restorable { ", restorable" } else { "" }
    )
}
