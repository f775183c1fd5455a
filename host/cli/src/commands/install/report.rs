//! The output of `install` and `uninstall`: lines for people as they occur, or one JSON object at
//! the end.

use super::changes::describe_changes;
use crate::differ;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_agents::Invocation;
use portcullis_agents::file::SettingsFile;
use portcullis_agents::hook_settings::HookSettings;
use portcullis_agents::settings::SettingsScope;
use portcullis_agents::settings_problem::SettingsProblem;
use portcullis_core::policy::Mode;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Collects the output.
pub struct InstallReport {
    as_json: bool,
    fields: Map<String, Value>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl InstallReport {
    /// Creates an empty report about a settings file.
    pub fn new(as_json: bool, scope: SettingsScope, file: &Path) -> Self {
        let mut fields = Map::new();
        fields.insert("scope".to_owned(), json!(scope));
        fields.insert("file".to_owned(), json!(file));
        Self { as_json, fields, warnings: Vec::new(), notes: Vec::new() }
    }

    /// Sets a field that only the JSON form has.
    pub fn set_value(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// Records whether verdicts are enforced.
    pub fn set_mode(&mut self, mode: Mode) {
        self.set_value("mode", json!(mode));
    }

    /// Returns true if reviews are recorded but not enforced.
    pub fn observes(&self) -> bool {
        self.fields.get("mode") == Some(&json!(Mode::Observe))
    }

    /// Records whether checkpoints are taken before actions.
    pub fn set_kept(&mut self, keeps: bool) {
        self.set_value("checkpoints", json!(keeps));
    }

    /// Returns true if no checkpoints are taken, as far as that is known.
    pub fn keeps_nothing(&self) -> bool {
        self.fields.get("checkpoints") == Some(&json!(false))
    }

    /// Reports a completed step.
    pub fn print_line(&mut self, text: &str) {
        if !self.as_json {
            paint::print_wrapped(&format!("{text}\n"), 2);
        }
        self.notes.push(text.to_owned());
    }

    /// Reports a warning.
    pub fn print_warning(&mut self, text: &str) {
        if !self.as_json {
            paint::report_wrapped(&format!("{}: {text}\n", paint::warn("warning")), 2);
        }
        self.warnings.push(text.to_owned());
    }

    /// Reports the problems of a file.
    pub fn print_problems(&mut self, file: &Path, problems: &[SettingsProblem]) {
        if self.as_json {
            self.set_value("problems", json!(problems));
            self.print("refused");
        } else {
            problems.iter().for_each(|problem| {
                anstream::eprintln!("{}: `{}`, {problem}", paint::bad("mistake"), file.display())
            });
        }
    }

    /// Reports the changes of a file: in a few lines if they can say all of it, otherwise or with
    /// `full` line by line.
    pub fn print_changes(
        &mut self,
        hooks: &dyn HookSettings,
        found: &SettingsFile,
        after: &[u8],
        wanted: &Invocation,
        full: bool,
    ) {
        let before = found.bytes.as_deref().unwrap_or_default();
        let short = || describe_changes(hooks, &found.path, before, after, wanted);
        if let Some(text) = Some(()).filter(|()| !full && !self.as_json).and_then(|()| short()) {
            return paint::print_text(&text);
        }
        self.print_diff(found, after);
    }

    /// Reports the changes of a file line by line.
    pub fn print_diff(&mut self, found: &SettingsFile, after: &[u8]) {
        let before = String::from_utf8_lossy(found.bytes.as_deref().unwrap_or_default());
        let after = String::from_utf8_lossy(after);
        let old = if found.bytes.is_some() {
            found.path.display().to_string()
        } else {
            "/dev/null".to_owned()
        };
        let new = found.path.display().to_string();
        if self.as_json {
            let shown = differ::plain_diff(&before, &after, &old, &new);
            let earlier = self.fields.get("diff").and_then(Value::as_str).unwrap_or_default();
            return self.set_value("diff", json!(format!("{earlier}{shown}")));
        }
        paint::print_text(&differ::painted_diff(&before, &after, &old, &new));
    }

    /// Finishes the report; returns the exit code for success.
    pub fn finish_with(mut self, outcome: &str, text: &str) -> CommandExit {
        if self.as_json {
            self.print(outcome);
        } else {
            paint::print_wrapped(&format!("{}\n", paint::good(text)), 2);
        }
        CommandExit::Success
    }

    fn print(&mut self, outcome: &str) {
        let mut fields = std::mem::take(&mut self.fields);
        fields.insert("outcome".to_owned(), json!(outcome));
        fields.insert("notes".to_owned(), json!(self.notes));
        fields.insert("warnings".to_owned(), json!(self.warnings));
        paint::print_text(&format!("{}\n", Value::Object(fields)));
    }
}
