//! Hooks in files of our own: a program that the client loads, or one that it starts by its name.
//!
//! Such a file holds one line of data, the command that it starts, and fixed text around it. It is
//! ours if it has that line, and correct if it is, byte for byte, what that command gives. A file
//! without the line is somebody else's: it is neither written nor removed.

use crate::hook_form::HookForm;
use crate::hook_handler::{Deviation, HookHandler};
use crate::invocation::{EventSubscription, Invocation, quote_word};
use crate::json::{JsonDocument, NotJson};
use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Our hooks in such files.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    /// Every event that our hooks handle.
    pub(crate) events: &'static [EventSubscription],
    /// The text of a file, with one line of data in it.
    pub(crate) template: &'static str,
    /// The beginning of the line of data.
    pub(crate) before: &'static str,
    /// Its end.
    pub(crate) after: &'static str,
    /// True if each file is for the event of its name; otherwise one file is for all events.
    pub(crate) by_name: bool,
    /// The line of a shell script that starts the command, if the file is one: the line after the
    /// data.
    pub(crate) shell_line: Option<fn(&StartData) -> String>,
}

/// The data of a file: the command that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartData {
    /// The program.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// The event, in a file for one event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<String>,
}

impl StartData {
    /// Returns the command as one line for a shell.
    pub(crate) fn shell_line(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        words.map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
    }
}

impl OwnFiles {
    /// Returns the text of a file.
    pub(crate) fn render(&self, data: &StartData) -> String {
        let shown = serde_json::to_string(data).unwrap_or_default();
        let mut lines = self.template.split_inclusive('\n');
        let mut text = String::new();
        while let Some(line) = lines.next() {
            if !line.starts_with(self.before) {
                text.push_str(line);
                continue;
            }
            text.push_str(&format!("{}{shown}{}\n", self.before, self.after));
            if let Some(shell_line) = self.shell_line {
                text.push_str(&format!("{}\n", shell_line(data)));
                // The template holds an example of this line.
                lines.next();
            }
        }
        text
    }

    /// Returns the arguments in the file for an event. A file for all events adds those of one
    /// event itself.
    fn arguments(&self, wanted: &Invocation, event: &str) -> Vec<String> {
        let listened = self.events.iter().find(|listened| listened.event == event);
        match listened.filter(|_| self.by_name) {
            Some(listened) => wanted.event_arguments(listened),
            None => wanted.arguments(),
        }
    }

    fn read_data(&self, text: &str) -> Option<StartData> {
        let line = text.lines().find_map(|line| line.strip_prefix(self.before))?;
        let data: StartData =
            serde_json::from_str(line.trim_end().strip_suffix(self.after)?).ok()?;
        data.args.iter().any(|word| word == "hook").then_some(data)
    }

    /// Returns settings with a handler for each event of a file; `text` is the file's own, if it
    /// differs from the correct one.
    fn view(&self, data: &StartData, differs: bool) -> Value {
        let of_file = |listened: &&EventSubscription| {
            data.event.as_deref().is_none_or(|e| e == listened.event)
        };
        let mut events = Map::new();
        for listened in self.events.iter().filter(of_file) {
            let mut handler = json!({
                "type": "command",
                "command": data.command,
                "args": data.args,
                "timeout": listened.timeout,
            });
            if let Some(fields) = handler.as_object_mut() {
                if listened.closed {
                    fields.insert("onFailure".to_owned(), json!("block"));
                }
                if differs {
                    fields.insert(DIFFERS.to_owned(), json!(true));
                } else if self.shell_line.is_some() {
                    fields.insert(SCRIPT.to_owned(), json!(self.render(data)));
                }
            }
            events.insert(listened.event.to_owned(), json!([{ "hooks": [handler] }]));
        }
        json!({ "hooks": events })
    }
}

/// The field of a handler whose file has another text than it should.
const DIFFERS: &str = "differs";
/// The field of a handler with the shell script that the client starts.
pub const SCRIPT: &str = "script";
/// The field with the first line of somebody else's file.
const FOREIGN: &str = "foreign";
/// The most bytes of that line that are shown.
const MOST_SHOWN: usize = 80;

impl HookForm for OwnFiles {
    fn events(&self) -> &'static [EventSubscription] {
        self.events
    }

    fn has_own_files(&self) -> bool {
        true
    }

    fn read_document(&self, bytes: &[u8]) -> Result<JsonDocument, NotJson> {
        let text = String::from_utf8_lossy(bytes);
        let view = match self.read_data(&text) {
            _ if text.trim().is_empty() => json!({}),
            Some(data) => self.view(&data, self.render(&data).as_bytes() != bytes),
            None => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                json!({ FOREIGN: one_line(first, MOST_SHOWN) })
            }
        };
        JsonDocument::parse_document(view.to_string().as_bytes())
    }

    fn write_document(&self, document: &JsonDocument) -> Vec<u8> {
        let data = handlers(document.value()).next().and_then(|(event, handler)| {
            let data = json!({
                "command": handler.get("command")?,
                "args": handler.get("args")?,
                "event": self.by_name.then_some(event),
            });
            serde_json::from_value::<StartData>(data).ok()
        });
        data.map(|data| self.render(&data).into_bytes()).unwrap_or_default()
    }

    fn find(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
        let judge = |(event, handler): (&str, &Value)| {
            let program = handler.get("command").and_then(Value::as_str).unwrap_or_default();
            let mut deviations = Vec::new();
            if handler.get(DIFFERS).is_some() {
                deviations.push(Deviation::Text);
            }
            if Path::new(program) != wanted.program {
                deviations.push(Deviation::Program(program.to_owned()));
            }
            if handler.get("args") != Some(&json!(self.arguments(wanted, event))) {
                deviations.push(Deviation::Arguments);
            }
            HookHandler {
                event: event.to_owned(),
                pointer: format!("/hooks/{event}/0/hooks/0"),
                program: program.to_owned(),
                deviations,
            }
        };
        handlers(settings).map(judge).collect()
    }

    fn find_foreign(&self, settings: &Value, event: &str, _wanted: &Invocation) -> Vec<String> {
        let foreign = settings.get(FOREIGN).and_then(Value::as_str);
        // A foreign file is named once, not for each event.
        let gate = self.events.first().is_some_and(|first| first.event == event);
        foreign.filter(|_| gate).map(str::to_owned).into_iter().collect()
    }

    fn find_rivals(&self, folder: &Path, event: &str) -> Vec<PathBuf> {
        let answers = |path: &PathBuf| match self.by_name {
            true => path.file_stem().is_some_and(|name| name == event),
            false => path.extension().is_some_and(|end| end == "js" || end == "ts"),
        };
        // A file that cannot be read as text is not ours.
        let ours = |path: &PathBuf| {
            fs::read_to_string(path).is_ok_and(|text| self.read_data(&text).is_some())
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
        let mut found: Vec<PathBuf> = files.filter(|path| answers(path) && !ours(path)).collect();
        found.sort();
        found
    }

    fn add(
        &self,
        file: &Path,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument> {
        if document.value().get(FOREIGN).is_some() {
            bail!(
                "`{}` is not a file of Portcullis, which would have to replace it: move it away",
                file.display()
            );
        }
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let data = StartData {
            command: wanted.program.to_string_lossy().into_owned(),
            args: self.arguments(wanted, name.as_deref().unwrap_or_default()),
            event: name.filter(|_| self.by_name),
        };
        let view = self.view(&data, false);
        JsonDocument::parse_document(view.to_string().as_bytes())
            .ok()
            .context("the hooks cannot be written down: please report it")
    }

    fn remove(
        &self,
        document: &JsonDocument,
        _wanted: &Invocation,
        _keep: &[String],
    ) -> Result<JsonDocument> {
        if document.value().get(FOREIGN).is_some() {
            return Ok(document.clone());
        }
        JsonDocument::parse_document(b"").ok().context("an empty file cannot be read")
    }

    fn empty_containers(&self, _settings: &Value) -> Vec<String> {
        Vec::new()
    }
}

/// Returns each event of settings with its handler.
fn handlers(settings: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let events = settings.get("hooks").and_then(Value::as_object);
    events
        .into_iter()
        .flatten()
        .filter_map(|(event, groups)| Some((event.as_str(), groups.pointer("/0/hooks/0")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &[EventSubscription] = &[
        EventSubscription { event: "Before", closed: false, timeout: 1 },
        EventSubscription { event: "After", closed: false, timeout: 1 },
    ];
    const SCRIPTS: OwnFiles = OwnFiles {
        events: EVENTS,
        template: "#!/bin/sh\n# HOOK = {}\nstart\n# the end\n",
        before: "# HOOK = ",
        after: "",
        by_name: true,
        shell_line: Some(|data| data.shell_line()),
    };

    fn wanted(program: &str) -> Invocation {
        Invocation { agent: "test", program: program.into(), pinned: None }
    }

    fn written(name: &str, before: &[u8]) -> Result<Vec<u8>> {
        let document = SCRIPTS.read_document(before).ok().context("no document")?;
        let added = SCRIPTS.add(Path::new(name), &document, &wanted("/a b/p"))?;
        Ok(SCRIPTS.write_document(&added))
    }

    fn find(bytes: &[u8]) -> Vec<HookHandler> {
        let document = SCRIPTS.read_document(bytes).unwrap();
        SCRIPTS.find(document.value(), &wanted("/a b/p"))
    }

    #[test]
    fn a_file_is_ours_and_correct_if_its_text_is_the_one_that_is_written() {
        let bytes = written("/hooks/After", b"").unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains("\n'/a b/p' hook test\n# the end\n"), "{text}");
        let found = find(&bytes);
        assert_eq!((found[0].event.as_str(), found.len()), ("After", 1));
        assert_eq!(found[0].deviations, []);

        let changed = text.replace("# the end", "exit 0");
        assert_eq!(find(changed.as_bytes())[0].deviations, [Deviation::Text]);
        let found = find(text.replace("/a b/p", "/an other").as_bytes());
        assert_eq!(found[0].deviations, [Deviation::Program("/an other".to_owned())]);
        assert_eq!(written("/hooks/After", changed.as_bytes()).unwrap(), bytes);

        let document = SCRIPTS.read_document(&bytes).unwrap();
        let without = SCRIPTS.remove(&document, &wanted("/a b/p"), &[]).unwrap();
        assert_eq!(SCRIPTS.write_document(&without), b"");
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let foreign = b"#!/bin/sh\necho mine\n";
        assert_eq!(find(foreign).len(), 0);
        let refused = written("/hooks/Before", foreign).unwrap_err().to_string();
        assert!(refused.contains("/hooks/Before"), "{refused}");
        let document = SCRIPTS.read_document(foreign).unwrap();
        let without = SCRIPTS.remove(&document, &wanted("/a b/p"), &[]).unwrap();
        assert_eq!(without.value(), document.value());
    }

    #[test]
    fn other_hooks_of_an_event_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        put("Before", &written("/hooks/Before", b"").unwrap());
        put("Before.py", b"print()");
        put("After", b"echo");
        let found = SCRIPTS.find_rivals(folder.path(), "Before");
        assert_eq!(found, [folder.path().join("Before.py")]);
    }
}
