//! The files that a recording's calls made, by what their results say.

use super::RecordedEvent;
use portcullis_core::event::{Call, CallResult, EventKind};
use std::collections::HashMap;

/// Beginnings of results that say that a file is new.
const NEW: &[&str] = &[
    "File created successfully",
    "New file created",
    "Successfully created and wrote to new file",
    "Created file ",
];
/// The same in a result that is JSON.
const NEW_JSON: &str = "\"type\":\"create\"";
/// Names of the parameter that has the path.
const PATHS: &[&str] = &["file_path", "path"];
/// Names of the parameter that has the text.
const TEXTS: &[&str] = &["content", "file_text", "contents", "new_string"];

/// Notes at each call which file it makes.
pub(super) fn note_made_files(items: &mut [RecordedEvent]) {
    let mut made: HashMap<String, String> = HashMap::new();
    for item in items.iter() {
        if let EventKind::AfterTool(call, result) = &item.event.kind
            && let Some(id) = &call.id
            && let Some(path) = made_file(call, result)
        {
            made.insert(id.clone(), absolute(&path, &item.event.cwd));
        }
    }
    for item in items {
        if let EventKind::BeforeTool(Call { id: Some(id), .. }) = &item.event.kind {
            item.makes = made.remove(id);
        }
    }
}

/// Returns the file that a call of a tool that writes files made.
fn made_file(call: &Call, result: &CallResult) -> Option<String> {
    let text = |names: &[&str]| names.iter().find_map(|name| call.input.get(*name)?.as_str());
    let (path, _) = (text(PATHS)?, text(TEXTS)?);
    let said = result.output.trim_start();
    let is_new = NEW.iter().any(|begin| said.starts_with(begin))
        || said.starts_with('{') && said.replace(": ", ":").contains(NEW_JSON);
    (is_new && !result.failed).then(|| path.to_owned())
}

fn absolute(path: &str, cwd: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") }
}
