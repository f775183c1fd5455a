//! What a step does to files, and whether that brings back a state that a file had.
//!
//! A file's text is not there to be compared. Two writes of the same content are one state; of
//! edits, the lines that differ between what is replaced and what replaces it tell which part went
//! from which state to which.

use crate::git::Restored;
use crate::memory::{FileMemory, Memory, Return, State};
use crate::parts::{compare, read_substitution};
use crate::texts::unique;
use portcullis_plugin::types::{
    Access, Action, Command, Direction, EffectKind, FileOperation, Operation, Scope, Shell,
};

/// Programs that write what stands on the command line, so that the same command is the same
/// content.
const WRITERS: &[&str] = &["cat", "tee", "echo", "printf", "cp", "install"];

/// Notes what a step changed. Returns the path of the file that came back to a state that it had,
/// if one did.
pub fn note_changes(memory: &mut Memory, action: &Action, cwd: &str) -> Option<String> {
    match &action.operation {
        Operation::Shell(shell) => note_commands(memory, shell, action, cwd),
        Operation::File(operation) => note_tool(memory, operation, action),
        _ => {
            let state = State::Written(action.facts.identity);
            let paths = list_written(action, None).into_iter();
            paths
                .filter(|path| note_whole(change_file(memory, path, action.step), state))
                .last()
                .map(str::to_owned)
        }
    }
}

fn note_tool(memory: &mut Memory, operation: &FileOperation, action: &Action) -> Option<String> {
    let FileOperation { access, path, content, replaced, .. } = operation;
    if matches!(access, Access::Read | Access::Search) || is_scratch(action, path) {
        return None;
    }
    let file = change_file(memory, path, action.step);
    let came_back = match (access, content, replaced) {
        (Access::Delete, ..) => note_whole(file, State::Gone),
        (_, None, _) => note_whole(file, State::Unknown),
        (_, Some(_), None) => note_whole(file, State::Written(action.facts.identity)),
        (_, Some(new), Some(old)) => note_part(file, compare(old, new)),
    };
    came_back.then(|| path.clone())
}

fn change_file<'a>(memory: &'a mut Memory, path: &str, step: u64) -> &'a mut FileMemory {
    memory.edits = memory.edits.saturating_add(1);
    let file = memory.file(path, step);
    file.edits = file.edits.saturating_add(1);
    file
}

fn note_commands(memory: &mut Memory, shell: &Shell, action: &Action, cwd: &str) -> Option<String> {
    let mut found = None;
    for (index, command) in (0..).zip(&shell.commands) {
        if let Some(restored) = Restored::read(command, cwd) {
            for file in &mut memory.files {
                if restored.has(&file.path) && file.whole.last() != Some(&State::Base) {
                    note_base(file);
                    found = Some(file.path.clone());
                }
            }
            continue;
        }
        let substitution = read_substitution(command);
        for path in list_written(action, Some(index)) {
            let file = change_file(memory, path, action.step);
            let came_back = if let Some(states) = substitution {
                note_part(file, states)
            } else if is_gone(action, path) {
                note_whole(file, State::Gone)
            } else if is_writer(command) {
                note_whole(file, State::Printed(action.facts.identity))
            } else {
                note_whole(file, State::Unknown)
            };
            if came_back {
                found = Some(path.to_owned());
            }
        }
    }
    found
}

/// Returns the paths that a command (or, without one, the action) surely writes, as far as they are
/// no scratch files.
fn list_written(action: &Action, command: Option<u32>) -> Vec<&str> {
    let own = action.facts.effects.iter().filter(|effect| {
        effect.command == command && effect.certain && effect.kind.changes_files()
    });
    let paths = own.filter_map(|effect| action.facts.path(effect));
    let kept = paths.filter(|path| !path.glob && path.scope != Scope::Scratch);
    unique(kept.map(|path| path.text.as_str()))
}

/// Returns true if the action removes a file, and does not make it.
fn is_gone(action: &Action, path: &str) -> bool {
    let has = |wanted: &EffectKind| {
        action.touched().any(|(kind, touched)| kind == wanted && touched.text == path)
    };
    has(&EffectKind::FileDelete) && !has(&EffectKind::FileCreate)
}

fn is_scratch(action: &Action, path: &str) -> bool {
    action.facts.paths.iter().any(|known| known.scope == Scope::Scratch && known.text == path)
}

fn is_writer(command: &Command) -> bool {
    let appends = command.redirections.iter().any(|to| to.direction == Direction::Append)
        || command.words.iter().any(|word| word.text == "-a");
    WRITERS.contains(&command.program.as_str()) && !appends
}

fn note_base(file: &mut FileMemory) {
    file.whole.push(State::Base);
    for states in &mut file.parts {
        states.push(states.first().copied().unwrap_or(State::Unknown));
    }
    count_return(file, Return::Whole(State::Base));
}

/// Notes what a whole file is. Returns true if it came back.
fn note_whole(file: &mut FileMemory, state: State) -> bool {
    let may_return = !matches!(state, State::Unknown | State::Gone);
    let came_back = may_return && file.whole.contains(&state) && file.whole.last() != Some(&state);
    file.whole.push(state);
    file.parts.clear();
    if came_back {
        count_return(file, Return::Whole(state));
    }
    came_back
}

/// Notes from what to what a part of a file goes. Returns true if it came back.
fn note_part(file: &mut FileMemory, (from, to): (State, State)) -> bool {
    if file.whole.last() != Some(&State::Unknown) {
        file.whole.push(State::Unknown);
    }
    let is_put_back = |states: &Vec<State>| {
        is_empty(&from) && states.last().is_some_and(is_empty) && states.contains(&to)
    };
    let known = file.parts.iter().position(|states| states.last() == Some(&from));
    let known = known.or_else(|| file.parts.iter().position(is_put_back));
    let mut states = known.map_or_else(|| vec![from], |at| file.parts.remove(at));
    // What is taken out without a line around it is taken out where it was put in.
    let empty = states.iter().find(|state| is_empty(state) && is_empty(&to));
    let state = empty.copied().unwrap_or(to);
    let came_back = states.contains(&state) && states.last() != Some(&state);
    let first = states.first().copied().unwrap_or(from);
    states.push(state);
    file.parts.push(states);
    if came_back {
        count_return(file, Return::Part(first, state));
    }
    came_back
}

const fn is_empty(state: &State) -> bool {
    matches!(state, State::Empty(_))
}

fn count_return(file: &mut FileMemory, state: Return) {
    match file.returns.iter_mut().find(|(known, _)| *known == state) {
        Some((_, times)) => *times = times.saturating_add(1),
        None => file.returns.push((state, 1)),
    }
}

/// How often one part of a file came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Returns {
    /// In all.
    pub total: u32,
    /// To how many states.
    pub states: u32,
    /// To one of them the most.
    pub most: u32,
}

impl Returns {
    const fn add(&mut self, times: u32) {
        self.total = self.total.saturating_add(times);
        self.states += 1;
        if times > self.most {
            self.most = times;
        }
    }
}

/// Returns the returns of each part, the most first. What git put back, it put back in every part.
pub fn list_returns(file: &FileMemory) -> Vec<Returns> {
    let mut restored = Returns::default();
    for (state, times) in &file.returns {
        if *state == Return::Whole(State::Base) {
            restored.add(*times);
        }
    }
    // The whole file is a part of itself, without a first state.
    let mut parts = vec![(None, restored)];
    for (state, times) in &file.returns {
        let part = match state {
            Return::Whole(State::Base) => continue,
            Return::Whole(_) => None,
            Return::Part(first, _) => Some(*first),
        };
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, returns)) => returns.add(*times),
            None => {
                let mut returns = restored;
                returns.add(*times);
                parts.push((part, returns));
            }
        }
    }
    let mut all: Vec<Returns> = parts.into_iter().map(|(_, returns)| returns).collect();
    all.sort_by_key(|returns| std::cmp::Reverse(returns.total));
    all
}
