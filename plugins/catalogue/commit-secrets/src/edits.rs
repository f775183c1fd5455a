//! The texts that an action writes into files, whichever tool does it: a file tool, a tool with
//! several edits, a patch, an MCP server, a redirection.

use crate::json;
use portcullis_plugin::types::{
    Action, Command, Direction, FileOperation, Operation, Shell, ToolCall,
};
use std::borrow::Cow;

/// A text that is written into a file.
#[derive(Debug)]
pub struct Edit<'a> {
    /// The file as the tool names it.
    pub path: Cow<'a, str>,
    /// What goes, none where the whole file is written.
    pub old: Option<Cow<'a, str>>,
    /// What comes.
    pub new: Cow<'a, str>,
}

/// Returns the texts that an action writes into files whose path `wants` picks.
pub fn list_edits(action: &Action, wants: fn(&str) -> bool) -> Vec<Edit<'_>> {
    match &action.operation {
        Operation::File(file) if wants(&file.path) => of_file(file, action).into_iter().collect(),
        Operation::Tool(call) => of_tool(call, wants).into_iter().collect(),
        Operation::Shell(shell) => of_shell(shell, wants),
        _ => Vec::new(),
    }
}

fn of_file<'a>(file: &'a FileOperation, action: &'a Action) -> Option<Edit<'a>> {
    let path = Cow::Borrowed(file.path.as_str());
    if let Some(new) = &file.content {
        let old = file.replaced.as_deref().map(Cow::Borrowed);
        return Some(Edit { path, old, new: Cow::Borrowed(new) });
    }
    // A tool with several edits has no typed form: its parameters do.
    let (old, new) = read_several(&action.parameters)?;
    Some(Edit { path, old: Some(Cow::Owned(old)), new: Cow::Owned(new) })
}

/// Returns the old texts and the new texts of a tool that makes several edits at once.
fn read_several(parameters: &str) -> Option<(String, String)> {
    let (mut old, mut new) = (String::new(), String::new());
    json::walk(parameters, |member| {
        let text = match member.key {
            "old_string" | "oldText" | "old_str" | "old_text" => &mut old,
            "new_string" | "newText" | "new_str" | "new_text" => &mut new,
            _ => return,
        };
        text.push_str(member.value);
        text.push('\n');
    });
    (!new.is_empty() || !old.is_empty()).then_some((old, new))
}

fn of_tool<'a>(call: &'a ToolCall, wants: fn(&str) -> bool) -> Option<Edit<'a>> {
    let argument = |names: &[&str]| {
        let found = call.arguments.iter().find(|argument| names.contains(&argument.name.as_str()));
        found.map(|argument| argument.value.as_str())
    };
    let path = argument(&["path", "file_path", "filename", "file", "uri", "filepath"])?;
    if !wants(path) {
        return None;
    }
    let path = Cow::Borrowed(path);
    if let Some(edits) = argument(&["edits"]) {
        let (old, new) = read_several(edits)?;
        return Some(Edit { path, old: Some(Cow::Owned(old)), new: Cow::Owned(new) });
    }
    let new = argument(&["content", "contents", "text", "new_string", "new_str", "data"])?;
    let old = argument(&["old_string", "old_str", "oldText"]).map(Cow::Borrowed);
    Some(Edit { path, old, new: Cow::Borrowed(new) })
}

fn of_shell<'a>(shell: &'a Shell, wants: fn(&str) -> bool) -> Vec<Edit<'a>> {
    let mut edits = Vec::new();
    for (at, command) in shell.commands.iter().enumerate() {
        if command.program == "apply_patch" {
            let patch = command.words.iter().map(|word| word.text.as_str());
            let heredoc = find_heredoc(command);
            for text in patch.chain(heredoc) {
                read_patch(text, wants, &mut edits);
            }
            continue;
        }
        let Some((path, appends)) = find_target(command).filter(|(path, _)| wants(path)) else {
            continue;
        };
        if let Some(new) = find_written(command, at, shell) {
            let old = appends.then_some(Cow::Borrowed(""));
            edits.push(Edit { path: Cow::Borrowed(path), old, new });
        }
    }
    edits
}

/// Returns the file that a command's output goes to, and whether it is added to the file.
fn find_target(command: &Command) -> Option<(&str, bool)> {
    if command.program == "tee" {
        let appends = command.has_flag(Some('a'), "append");
        return command.operands().next().map(|word| (word.text.as_str(), appends));
    }
    command.redirections.iter().find_map(|redirection| match redirection.direction {
        Direction::Output => Some((redirection.target.text.as_str(), false)),
        Direction::Append => Some((redirection.target.text.as_str(), true)),
        _ => None,
    })
}

/// Returns the text that a command writes, as far as the line shows it.
fn find_written<'a>(command: &'a Command, at: usize, shell: &'a Shell) -> Option<Cow<'a, str>> {
    if let Some(text) = find_heredoc(command) {
        return Some(Cow::Borrowed(text));
    }
    if matches!(command.program.as_str(), "echo" | "printf") {
        return Some(Cow::Owned(join_words(command)));
    }
    let feeder = shell.commands.get(command.input_from? as usize)?;
    // A command that feeds itself does not exist; one line of feeders is all that is looked at.
    if !matches!(command.program.as_str(), "tee" | "cat")
        || command.input_from == u32::try_from(at).ok()
    {
        return None;
    }
    find_heredoc(feeder).map(Cow::Borrowed).or_else(|| {
        matches!(feeder.program.as_str(), "echo" | "printf").then(|| Cow::Owned(join_words(feeder)))
    })
}

fn find_heredoc(command: &Command) -> Option<&str> {
    let heredoc = command.redirections.iter().find(|one| one.direction == Direction::Heredoc);
    heredoc.map(|heredoc| heredoc.target.text.as_str())
}

fn join_words(command: &Command) -> String {
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| word.text.as_str())
        .skip_while(|word| matches!(*word, "-n" | "-e" | "-ne" | "-en" | "--"))
        .collect();
    words.join(" ").replace("\\n", "\n")
}

/// Reads the form of patches that starts with `*** Begin Patch`.
fn read_patch<'a>(text: &'a str, wants: fn(&str) -> bool, edits: &mut Vec<Edit<'a>>) {
    let mut wanted = false;
    for line in text.lines() {
        let named = ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix));
        if let Some(path) = named {
            wanted = wants(path.trim());
            if wanted {
                edits.push(Edit {
                    path: Cow::Borrowed(path.trim()),
                    old: Some(Cow::Owned(String::new())),
                    new: Cow::Owned(String::new()),
                });
            }
            continue;
        }
        let Some(edit) = edits.last_mut().filter(|_| wanted) else { continue };
        let (text, line) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(line), _) => (edit.new.to_mut(), line),
            (_, Some(line)) => match &mut edit.old {
                Some(old) => (old.to_mut(), line),
                None => continue,
            },
            _ => continue,
        };
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    fn edits(action: &Action) -> Vec<String> {
        let all = list_edits(action, |_| true);
        let shown = |edit: &Edit<'_>| {
            format!("{}: {:?} -> {}", edit.path, edit.old.as_deref(), edit.new.trim_end())
        };
        all.iter().map(shown).collect()
    }

    #[test]
    fn every_tool_that_writes_is_read() {
        assert_eq!(edits(&testing::file_edit("a", "x", "y")), ["/project/a: Some(\"x\") -> y"]);
        assert_eq!(edits(&testing::file_write("a", "y")), ["/project/a: None -> y"]);
        let tool = testing::tool("mcp__files__write", &[("path", "a"), ("content", "y")]);
        assert_eq!(edits(&tool), ["a: None -> y"]);
        let several = r#"[{"oldText":"x","newText":"y"},{"oldText":"p","newText":"q"}]"#;
        let tool = testing::tool("mcp__files__edit", &[("path", "a"), ("edits", several)]);
        assert_eq!(edits(&tool), ["a: Some(\"x\\np\\n\") -> y\nq"]);
        assert!(edits(&testing::file_read("a")).is_empty());
    }

    #[test]
    fn patches_are_cut_into_files() {
        let mut found = Vec::new();
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n z\n*** Add File: b\n+q\n*** End Patch";
        read_patch(patch, |_| true, &mut found);
        let shown: Vec<String> =
            found.iter().map(|edit| format!("{} {}", edit.path, edit.new)).collect();
        assert_eq!(shown, ["a y\n", "b q\n"]);
    }
}
