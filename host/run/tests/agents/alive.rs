//! Finds the living processes of an agent: each inherits a variable that no other process has.

use std::fs;

/// The variable.
pub(crate) const MARK: &str = "PORTCULLIS_TEST_MARK";

/// Returns the ids and names of all living processes that have the variable with this value.
pub(crate) fn alive(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| has(*id, wanted.as_bytes())).map(|id| format!("{id} {}", name(id))).collect()
}

/// Returns true if a process has the variable. A zombie no longer has an environment, so such a
/// process is alive.
fn has(id: u32, wanted: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}

fn name(id: u32) -> String {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").chars().take(80).collect()
}
