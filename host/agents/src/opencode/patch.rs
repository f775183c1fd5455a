//! Parameters of the clients' tools under the names that the core reads.

use crate::invocation::quote_word;
use portcullis_core::event::Call;
use serde_json::Value;
use std::path::Path;

/// Gives a call the parameters that the core reads: a patch is the command of its tool, and a
/// command in another folder begins with the change to it. `cwd` is the folder of the session.
pub(super) fn name_parameters(call: &mut Call, cwd: &str) {
    if call.tool == "apply_patch"
        && let Some(patch) = call.input.shift_remove("patchText")
    {
        call.input.insert("command".to_owned(), patch);
        return;
    }
    let text = |name: &str| call.input.get(name).and_then(Value::as_str);
    let (Some(command), Some(folder)) = (text("command"), text("workdir")) else { return };
    let folder = Path::new(cwd).join(folder);
    if !matches!(call.tool.as_str(), "bash" | "background_process") || folder == Path::new(cwd) {
        return;
    }
    let command = format!("cd {} && {command}", quote_word(&folder.to_string_lossy()));
    call.input.insert("command".to_owned(), command.into());
}
