//! Parameters of the client's tools under the names that the core reads, and back.
//!
//! The client takes several forms of one call, and one call can have several actions: commands,
//! files or addresses. All of them are in the result, so that the strictest verdict counts for the
//! call. A form that the client does not take either is an error.

use crate::invocation::quote_word;
use crate::payload::type_name;
use serde_json::{Map, Value, json};

/// The tool that runs commands.
pub(super) const SHELL: &str = "run_commands";
/// The beginning of each patch.
const PATCH: &str = "*** Begin Patch";
/// Parameters of the tool that edits a file: the client's names and those that the core reads.
const EDITS: [(&str, &str); 2] = [("new_text", "new_string"), ("old_text", "old_string")];

/// Reads the parameters of a call.
///
/// # Errors
/// Fails with the place of a part that cannot be read.
pub(super) fn read_parameters(tool: &str, input: &Value) -> Result<Map<String, Value>, String> {
    let named = match tool {
        SHELL => json!({ "command": join_commands(&commands(input)?) }),
        "read_files" => json!({ "file_paths": files(input)? }),
        "fetch_web_content" => addresses(input)?,
        "apply_patch" => json!({ "command": patch(input)? }),
        "search_codebase" if !input.is_object() => json!({ "queries": input }),
        _ => input.clone(),
    };
    let mut named = match named {
        Value::Object(named) => named,
        Value::Null => Map::new(),
        other => return Err(unfit("input", &other, "an object")),
    };
    if tool == "editor" {
        for (own, read) in EDITS {
            rename(&mut named, own, read);
        }
    }
    Ok(named)
}

/// Returns parameters as the client takes them. It knows our names for commands and files too. It
/// refuses a call with other addresses under ours, which is the stricter answer.
pub(super) fn write_parameters(mut parameters: Map<String, Value>) -> Value {
    let command = parameters.get("command").and_then(Value::as_str).unwrap_or_default();
    if command.trim_start().starts_with(PATCH) {
        rename(&mut parameters, "command", "input");
    }
    for (own, read) in EDITS {
        rename(&mut parameters, read, own);
    }
    Value::Object(parameters)
}

fn rename(parameters: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = parameters.shift_remove(from) {
        parameters.insert(to.to_owned(), value);
    }
}

/// Returns the commands as one text. The client starts a shell for each, one after the other, so
/// each stays a unit of its own: no quote or heredoc of one can hide the next.
fn join_commands(commands: &[String]) -> String {
    match commands {
        [only] => only.clone(),
        several => {
            let lines = several.iter().map(|command| format!("bash -c {}", quote_word(command)));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns every command that the client could run for an input.
fn commands(input: &Value) -> Result<Vec<String>, String> {
    let Value::Object(object) = input else { return entries("input", input, command) };
    let mut found = Vec::new();
    if let Some(listed) = object.get("commands") {
        found.extend(entries("commands", listed, command)?);
    }
    if object.contains_key("command") {
        found.push(command("input", input)?);
    }
    if let Some(named) = object.get("cmd") {
        found.push(text("cmd", named)?);
    }
    filled("commands", found)
}

/// Returns a command: a text for a shell, or a program with its arguments.
fn command(place: &str, entry: &Value) -> Result<String, String> {
    let Value::Object(object) = entry else { return text(place, entry) };
    let program = text("command", object.get("command").unwrap_or(&Value::Null))?;
    match object.get("args") {
        None => Ok(program),
        Some(words) => {
            let words = entries("args", words, text)?;
            let words = std::iter::once(&program).chain(&words).map(|word| quote_word(word));
            Ok(words.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Returns every file that the client could read for an input.
fn files(input: &Value) -> Result<Vec<String>, String> {
    const LISTS: [&str; 3] = ["files", "file_paths", "paths"];
    let Value::Object(object) = input else { return entries("input", input, file) };
    let mut found = Vec::new();
    for list in LISTS {
        if let Some(listed) = object.get(list) {
            found.extend(entries(list, listed, file)?);
        }
    }
    if found.is_empty() {
        found.push(file("input", input)?);
    }
    Ok(found)
}

fn file(place: &str, entry: &Value) -> Result<String, String> {
    const NAMES: [&str; 3] = ["path", "file_path", "filePath"];
    let Value::Object(object) = entry else { return text(place, entry) };
    let named = NAMES.iter().find_map(|name| object.get(*name));
    text(&format!("{place}.path"), named.unwrap_or(&Value::Null))
}

/// Returns the addresses, and what the pages are asked.
fn addresses(input: &Value) -> Result<Value, String> {
    let requests = input.get("requests").unwrap_or(&Value::Null);
    let part = |name: &str| {
        let read = |request: &Value| text(name, request.get(name).unwrap_or(&Value::Null));
        match requests {
            Value::Array(requests) => requests.iter().map(read).collect::<Result<Vec<_>, _>>(),
            other => Err(unfit("requests", other, "an array")),
        }
    };
    Ok(json!({"url": filled("requests", part("url")?)?, "prompt": part("prompt")?.join("\n")}))
}

fn patch(input: &Value) -> Result<String, String> {
    let text_of = |value: &Value| text("input", value);
    input.get("input").map_or_else(|| text_of(input), text_of)
}

/// Returns the parts of a value: one, or a list of them.
fn entries(
    place: &str,
    value: &Value,
    read: fn(&str, &Value) -> Result<String, String>,
) -> Result<Vec<String>, String> {
    let Value::Array(listed) = value else { return Ok(vec![read(place, value)?]) };
    let read = |(index, entry): (usize, &Value)| read(&format!("{place}[{index}]"), entry);
    listed.iter().enumerate().map(read).collect()
}

fn text(place: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| unfit(place, value, "a string"))
}

fn filled(place: &str, found: Vec<String>) -> Result<Vec<String>, String> {
    if found.is_empty() { Err(format!("`{place}` is empty")) } else { Ok(found) }
}

fn unfit(place: &str, value: &Value, wanted: &str) -> String {
    format!("`{place}` must be {wanted}, not {}", type_name(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: &str, input: &Value) -> Value {
        Value::Object(read_parameters(tool, input).unwrap())
    }

    #[test]
    fn every_form_of_a_command_is_read() {
        for (input, expected) in [
            (json!({"commands": ["a b"]}), "a b"),
            (json!({"commands": "a b"}), "a b"),
            (json!({"commands": ["a b", "c"]}), "bash -c 'a b'\nbash -c c"),
            (json!({"commands": [{"command": "a", "args": ["b c", ";"]}]}), "a 'b c' ';'"),
            (json!({"commands": [{"command": "a; b"}]}), "a; b"),
            (json!({"command": "a; b"}), "a; b"),
            (json!({"command": "a", "args": []}), "a"),
            (json!({"cmd": "a b"}), "a b"),
            (json!(["a b"]), "a b"),
            (json!("a b"), "a b"),
            (
                json!({"commands": ["a"], "command": "b", "cmd": "c"}),
                "bash -c a\nbash -c b\nbash -c c",
            ),
            // Joined as they are, the heredoc would hide the second one.
            (
                json!({"commands": ["cat <<E", "rm x", "E"]}),
                "bash -c 'cat <<E'\nbash -c 'rm x'\nbash -c E",
            ),
        ] {
            assert_eq!(read(SHELL, &input), json!({ "command": expected }), "{input}");
        }
    }

    #[test]
    fn every_form_of_a_file_and_an_address_is_read() {
        for input in [
            json!({"files": [{"path": "a"}, {"file_path": "b"}, "c"]}),
            json!({"file_paths": ["a", "b", "c"]}),
            json!({"paths": [{"filePath": "a"}, "b", {"path": "c", "start_line": 1}]}),
            json!(["a", {"path": "b"}, "c"]),
        ] {
            let expected = json!({"file_paths": ["a", "b", "c"]});
            assert_eq!(read("read_files", &input), expected, "{input}");
        }
        for input in [json!("a"), json!({"path": "a"}), json!({"files": "a"})] {
            assert_eq!(read("read_files", &input), json!({"file_paths": ["a"]}), "{input}");
        }
        let input = json!({"requests": [{"url": "u", "prompt": "p"}, {"url": "v", "prompt": "q"}]});
        let expected = json!({"url": ["u", "v"], "prompt": "p\nq"});
        assert_eq!(read("fetch_web_content", &input), expected);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_its_place() {
        for (tool, input, place) in [
            (SHELL, json!({}), "`commands`"),
            (SHELL, json!({"commands": []}), "`commands`"),
            (SHELL, json!({"commands": ["a", 1]}), "`commands[1]`"),
            (SHELL, json!({"commands": [{"args": ["a"]}]}), "`command`"),
            (SHELL, json!({"command": "a", "args": "b", "commands": null}), "`commands`"),
            (SHELL, json!({"command": "a", "args": [1]}), "`args[0]`"),
            (SHELL, json!(null), "`input`"),
            ("read_files", json!({}), "`input.path`"),
            ("read_files", json!({"files": [{}]}), "`files[0].path`"),
            ("fetch_web_content", json!({}), "`requests`"),
            ("apply_patch", json!({"input": 1}), "`input`"),
            ("t__echo", json!("text"), "`input`"),
        ] {
            let problem = read_parameters(tool, &input).unwrap_err();
            assert!(problem.contains(place), "{tool} {input}: {problem}");
        }
    }

    #[test]
    fn parameters_that_are_written_are_in_a_form_of_the_client() {
        let patch = format!("{PATCH}\n*** End Patch");
        for (tool, input, written) in [
            (SHELL, json!({"commands": ["a b"]}), json!({"command": "a b"})),
            ("apply_patch", json!({ "input": patch }), json!({ "input": patch })),
            ("apply_patch", json!(patch), json!({ "input": patch })),
            (
                "editor",
                json!({"path": "a", "new_text": "n", "old_text": "o"}),
                json!({"path": "a", "new_text": "n", "old_text": "o"}),
            ),
            ("read_files", json!({"files": [{"path": "a"}]}), json!({"file_paths": ["a"]})),
            ("t__echo", json!({"a": 1}), json!({"a": 1})),
        ] {
            let read = read_parameters(tool, &input).unwrap();
            assert_eq!(write_parameters(read), written, "{tool} {input}");
        }
    }
}
