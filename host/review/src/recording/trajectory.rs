//! Whole sessions on one line each: a goal and steps with their results.

use super::{EPOCH, RecordedEvent, Recording, call, event};
use anyhow::{Result, anyhow};
use portcullis_agents::call_end;
use portcullis_core::event::{CallEnd, CallResult, Event, EventKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const CLIENT: &str = "trajectory";

pub(super) fn read(object: &Map<String, Value>) -> Result<Recording> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text(object.get("id"));
    let steps = object
        .get("steps")
        .and_then(Value::as_array)
        .ok_or_else(|| anyhow!("`steps` must be an array"))?;
    let meta = object
        .get("meta")
        .and_then(|meta| meta.get("context"))
        .and_then(|context| context.get("cwd"));
    let cwd = meta.and_then(Value::as_str).map_or_else(|| common_folder(steps), str::to_owned);
    let mut items = Vec::new();
    let mut clock = EPOCH;
    let mut push = |event: Event, seconds: u64| {
        clock += seconds * 1000;
        items.push(RecordedEvent { event, at: clock, seen: None, makes: None });
    };
    let goal = text(object.get("goal"));
    if !goal.is_empty() {
        push(event(CLIENT, &name, &cwd, "UserPromptSubmit", EventKind::Prompt(goal)), 1);
    }
    for (index, step) in steps.iter().enumerate() {
        let tool = step
            .get("tool")
            .and_then(Value::as_str)
            .ok_or_else(|| anyhow!("`steps[{index}].tool` must be a string"))?;
        let input = step.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
        let outcome = step
            .get("result")
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .unwrap_or_default();
        match tool {
            "UserPromptSubmit" => {
                let prompt = ["prompt", "text", "content"]
                    .iter()
                    .find_map(|key| input.get(*key)?.as_str())
                    .unwrap_or(&outcome)
                    .to_owned();
                push(event(CLIENT, &name, &cwd, tool, EventKind::Prompt(prompt)), 1);
            }
            "UserInterrupt" => push(event(CLIENT, &name, &cwd, "Stop", EventKind::Stop), 1),
            _ => {
                let failed = step.get("is_error").and_then(Value::as_bool) == Some(true);
                let end = if failed { call_end(tool, &outcome) } else { CallEnd::Finished };
                let call = call(Some(format!("{name}/{index}")), tool, input);
                push(
                    event(CLIENT, &name, &cwd, "PreToolUse", EventKind::BeforeTool(call.clone())),
                    1,
                );
                let after = if failed { "PostToolUseFailure" } else { "PostToolUse" };
                push(
                    event(
                        CLIENT,
                        &name,
                        &cwd,
                        after,
                        EventKind::AfterTool(
                            call,
                            CallResult { end, ..CallResult::from_text(outcome, failed) },
                        ),
                    ),
                    0,
                );
            }
        }
    }
    Ok(Recording { name, items })
}

/// The folder of a session that names none, and that of one whose paths climb out of their folder:
/// beside it and above it are other projects and the person's home, as on a machine.
const UNKNOWN: &str = "/project";
const CLIMBED: &str = "/home/user/work/project";

/// Guesses the project of a session that does not name one: the deepest folder that contains nine
/// tenths of the files in its file calls and of the folders that its commands change to first,
/// except temporary ones. The result is `/project` if there is no such folder, since a session
/// without a project has no scope to judge by.
fn common_folder(steps: &[Value]) -> String {
    let input = |step: &Value, key: &str| step.get("input")?.get(key)?.as_str().map(str::to_owned);
    let files = steps.iter().filter_map(|step| input(step, "file_path"));
    let folders = steps.iter().filter_map(|step| gone_to(&input(step, "command")?));
    let paths: Vec<String> = files
        .chain(folders)
        .filter(|path| {
            path.starts_with('/')
                && !path.starts_with("/tmp/")
                && !path.starts_with("/private/tmp/")
        })
        .collect();
    let mut holds: BTreeMap<&str, usize> = BTreeMap::new();
    for path in &paths {
        for (index, _) in path.match_indices('/').skip(1) {
            *holds.entry(path.get(..index).unwrap_or_default()).or_default() += 1;
        }
    }
    let enough = |count: &usize| count * 10 >= paths.len() * 9;
    let deepest = holds
        .iter()
        .filter(|(_, count)| enough(count))
        .map(|(folder, _)| *folder)
        .max_by_key(|folder| folder.len());
    let climbs = steps
        .iter()
        .any(|step| input(step, "file_path").is_some_and(|path| path.starts_with("../")));
    let unknown = if climbs { CLIMBED } else { UNKNOWN };
    let found = deepest.filter(|folder| folder.matches('/').count() >= 2).unwrap_or(unknown);
    let commands: Vec<String> = steps.iter().filter_map(|step| input(step, "command")).collect();
    named_from_above(found, &commands).to_owned()
}

/// Returns the folder above one that commands name from there: whoever deletes `specs/a` does not
/// work in `specs`, though all files that were opened are in it.
fn named_from_above<'f>(folder: &'f str, commands: &[String]) -> &'f str {
    let Some((above, name)) = folder.rsplit_once('/') else { return folder };
    let names = |command: &String| {
        command
            .split(|c: char| c.is_whitespace() || "\"'=;&|()".contains(c))
            .filter_map(|word| word.trim_start_matches("./").strip_prefix(name))
            .any(|rest| rest.starts_with('/'))
    };
    if above.matches('/').count() >= 2 && commands.iter().any(names) { above } else { folder }
}

/// Returns the folder that a command changes to first, with a trailing `/`. Hidden folders belong
/// to programs and are not a place of work.
fn gone_to(command: &str) -> Option<String> {
    let folder = command.trim_start().strip_prefix("cd /")?;
    let end =
        folder.find(|c: char| c.is_whitespace() || ";&|\"'".contains(c)).unwrap_or(folder.len());
    let folder = folder.get(..end)?.trim_end_matches('/');
    (!folder.is_empty() && !folder.starts_with('.') && !folder.contains("/."))
        .then(|| format!("/{folder}/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_folder_that_commands_name_is_below_the_project() {
        for (command, expected) in [
            ("rm specs/a.py", "/home/me/shop"),
            ("pytest ./specs/a.py -q", "/home/me/shop"),
            ("cat 'specs/a.py'", "/home/me/shop"),
            ("ls other/specs/a.py", "/home/me/shop/specs"),
            ("ls specs", "/home/me/shop/specs"),
            ("ls specs-old/a", "/home/me/shop/specs"),
        ] {
            let steps = [
                json!({ "tool": "Read", "input": { "file_path": "/home/me/shop/specs/a.py" } }),
                json!({ "tool": "Read", "input": { "file_path": "/home/me/shop/specs/b/c.py" } }),
                json!({ "tool": "Bash", "input": { "command": command } }),
            ];
            assert_eq!(common_folder(&steps), expected, "{command}");
        }
    }

    #[test]
    fn the_project_is_where_the_files_are() {
        let steps = |paths: &[&str]| {
            paths
                .iter()
                .map(|path| json!({ "tool": "Read", "input": { "file_path": path } }))
                .collect::<Vec<_>>()
        };
        for (paths, expected) in [
            (vec!["/home/me/shop/a", "/home/me/shop/src/b"], "/home/me/shop"),
            (vec!["/home/me/shop/a", "/home/me/shop/src/b", "/tmp/x"], "/home/me/shop"),
            (
                vec!["/home/me/shop/a"; 9].into_iter().chain(["/etc/hosts"]).collect(),
                "/home/me/shop",
            ),
            (vec!["/home/me/shop/a", "/etc/hosts"], "/project"),
            (vec!["/a", "/b"], "/project"),
            (vec!["src/a"], "/project"),
            (vec!["src/a", "../../notes/a"], "/home/user/work/project"),
            (vec![], "/project"),
        ] {
            assert_eq!(common_folder(&steps(&paths)), expected, "{paths:?}");
        }
        for (commands, expected) in [
            (vec!["cd /home/me/shop && make", "ls"], "/home/me/shop"),
            (
                vec!["cd /home/me/shop; ls", "cd /home/me/shop/src/ | cat", "cd /home/me/shop"],
                "/home/me/shop",
            ),
            (
                vec![
                    "cd /home/me/.cache/x && ls",
                    "cd /tmp/y && ls",
                    "ls && cd /home/me/other",
                    "cd src",
                    "cd /",
                ],
                "/project",
            ),
        ] {
            let mut steps: Vec<Value> = commands
                .iter()
                .map(|text| json!({ "tool": "Bash", "input": { "command": text } }))
                .collect();
            assert_eq!(common_folder(&steps), expected, "{commands:?}");
            steps.push(json!({ "tool": "Read", "input": { "file_path": "src/a" } }));
            assert_eq!(common_folder(&steps), expected, "{commands:?}");
        }
    }
}
