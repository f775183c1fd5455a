//! The disk of a recording, as far as it is known: the files that its own calls made, and folders
//! that only tools make. Everything else is unknown, not absent.

use super::regenerated::is_recreated_among;
use portcullis_core::action::Entry;
use portcullis_core::facts::collapse_path;
use portcullis_core::observe::{Observations, Observed, Query};
use std::collections::BTreeSet;
use std::path::Path;

/// The most files that are remembered; more stay unknown.
const MOST_FILES: usize = 4096;

/// The disk of a recording so far.
#[derive(Clone, Debug, Default)]
pub struct ReportedDisk {
    /// The files that calls made.
    made: BTreeSet<String>,
    /// The file that the current call makes, if its result says so: nothing was at its path before.
    making: Option<String>,
}

impl ReportedDisk {
    /// Goes on to the next event, with the file that its call makes.
    pub fn follow(&mut self, makes: Option<&str>) {
        if let Some(path) = self.making.take().filter(|_| self.made.len() < MOST_FILES) {
            self.made.insert(path);
        }
        self.making = makes.map(collapse_path);
    }

    /// Answers queries as far as the recording tells.
    pub(crate) fn observe(&self, queries: &[Query]) -> Observations {
        let answer = |query: &Query| Some((query.key(), self.look(query)?));
        queries.iter().filter(|query| !query.text && !query.glob).filter_map(answer).collect()
    }

    fn look(&self, query: &Query) -> Option<Observed> {
        let path = collapse_path(&query.path);
        if self.making.as_ref() == Some(&path) {
            return Some(Observed { entry: Entry::Absent, ..Observed::UNKNOWN });
        }
        if self.made.contains(&path) {
            return Some(Observed { entry: Entry::File, ..Observed::UNKNOWN });
        }
        let exists = |path: &Path| path.to_str().is_some_and(|path| self.made.contains(path));
        let recreated = query.removes && is_recreated_among(Path::new(&path), &exists);
        recreated.then_some(Observed { restorable: true, ..Observed::UNKNOWN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::parse_recordings;
    use serde_json::json;

    /// Returns what is known of `/p/<name>` before each step of a session.
    fn entries(steps: &[serde_json::Value], name: &str) -> Vec<Option<Entry>> {
        let session =
            json!({"id": "s", "goal": "", "meta": {"context": {"cwd": "/p"}}, "steps": steps});
        let recordings = parse_recordings(&session.to_string(), "s").unwrap();
        let mut reported = ReportedDisk::default();
        let query = Query {
            path: format!("/p/{name}"),
            glob: false,
            removes: true,
            recursive: true,
            changes: false,
            text: false,
            committed: false,
            leaves: None,
        };
        let mut found = Vec::new();
        for item in &recordings[0].items {
            reported.follow(item.makes.as_deref());
            if item.event.name == "PreToolUse" {
                let seen = reported.observe(std::slice::from_ref(&query));
                found.push(seen.values().next().map(|seen| seen.entry));
            }
        }
        found
    }

    #[test]
    fn a_file_that_a_call_made_is_known_from_then_on() {
        let write = |path: &str, result: &str| json!({"tool": "Write", "input": {"file_path": path, "content": "x"}, "result": result});
        let list = json!({"tool": "Bash", "input": {"command": "ls"}, "result": ""});
        let made = "File created successfully at: /p/a.py";
        let (absent, file) = (Some(Entry::Absent), Some(Entry::File));
        for (first, expected) in [
            (write("/p/a.py", made), [absent, file, file]),
            (write("/p/./a.py", made), [absent, file, file]),
            (write("/p/a.py", r#"{"type":"create","filePath":"/p/a.py"}"#), [absent, file, file]),
            (write("/p/a.py", "The file /p/a.py has been updated."), [None; 3]),
            (write("/p/b.py", made), [None; 3]),
            (json!({"tool": "Bash", "input": {"command": "x"}, "result": made}), [None; 3]),
        ] {
            assert_eq!(
                entries(&[first.clone(), list.clone(), list.clone()], "a.py"),
                expected,
                "{first}"
            );
        }
        let again = [write("/p/a.py", made), list, write("/p/a.py", made)];
        assert_eq!(entries(&again, "a.py"), [absent, file, absent]);
    }

    #[test]
    fn only_tools_make_folders_of_some_names() {
        for (path, expected) in [
            ("/p/__pycache__", true),
            ("/p/src/.pytest_cache", true),
            ("/p/specs", false),
            ("/p/build", false),
        ] {
            let query = Query {
                path: path.into(),
                glob: false,
                removes: true,
                recursive: true,
                changes: false,
                text: false,
                committed: false,
                leaves: None,
            };
            let seen = ReportedDisk::default().observe(&[query]);
            assert_eq!(seen.values().any(|seen| seen.restorable), expected, "{path}");
        }
    }
}
