//! The changes that an installation makes to a settings file, in a few lines. The same command for
//! each of many events makes a line-by-line difference hard to read.

use crate::paint;
use portcullis_agents::Invocation;
use portcullis_agents::hook_handler::HookHandler;
use portcullis_agents::hook_settings::HookSettings;
use portcullis_agents::json::JsonDocument;
use portcullis_core::text::one_line;
use portcullis_terminal::wrap::break_line;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// The width without a terminal, in columns.
const WIDTH: usize = 100;
/// The indent of what follows a sign.
const INDENT: usize = 4;
/// The most bytes of a value that is shown.
const MOST_VALUE: usize = 200;

/// The changes of a settings file that is otherwise as before.
#[derive(Debug, Default, PartialEq, Eq)]
struct HookChanges {
    /// Events that get a handler.
    added: Vec<String>,
    /// Events that lose their handler.
    removed: Vec<String>,
    /// The number of handlers that differ from those of this version and are replaced.
    replaced: usize,
    /// Other settings with their new values; `None` is removed.
    others: Vec<(String, Option<Value>)>,
}

/// Describes the changes; `None` if more changes than these lines can say.
pub fn describe_changes(
    hooks: &dyn HookSettings,
    path: &Path,
    before: &[u8],
    after: &[u8],
    wanted: &Invocation,
) -> Option<String> {
    let [before, after] = [before, after].map(|bytes| hooks.read_document(bytes).ok());
    let changes = HookChanges::find(hooks, &before?, &after?, wanted)?;
    Some(changes.format(path, wanted))
}

impl HookChanges {
    fn find(
        hooks: &dyn HookSettings,
        before: &JsonDocument,
        after: &JsonDocument,
        wanted: &Invocation,
    ) -> Option<Self> {
        let find = |document: &JsonDocument| hooks.find_handlers(document.value(), wanted);
        let [old, new] = [before, after].map(find);
        let only_in = |one: &[HookHandler], other: &[HookHandler]| -> Vec<String> {
            let is_in = |handlers: &[HookHandler], event: &str| {
                handlers
                    .iter()
                    .any(|handler| handler.event == event && handler.deviations.is_empty())
            };
            let events = hooks.events().iter().map(|listened| listened.event);
            events
                .filter(|event| is_in(one, event) && !is_in(other, event))
                .map(str::to_owned)
                .collect()
        };
        let wrong = |handlers: &[HookHandler]| {
            handlers.iter().filter(|handler| !handler.deviations.is_empty()).count()
        };
        let kept = hooks.empty_containers(before.value());
        let rest = |document| hooks.remove_handlers(document, wanted, &kept).ok();
        let others = other_changes(rest(before)?.value(), rest(after)?.value())?;
        Some(Self {
            added: only_in(&new, &old),
            removed: only_in(&old, &new),
            replaced: wrong(&old).saturating_sub(wrong(&new)),
            others,
        })
    }

    fn format(&self, path: &Path, wanted: &Invocation) -> String {
        let width = paint::prose_width(WIDTH);
        let mut text = format!("Changes of `{}`:\n", one_line(&path.display().to_string(), 400));
        let mut put = |line: String| {
            let _ = writeln!(text, "{}", break_line(&line, width, INDENT));
        };
        let hooks = |events: &[String]| format!("{} hooks: {}", events.len(), events.join(", "));
        if !self.added.is_empty() {
            put(format!("  {} {}", paint::good("+"), hooks(&self.added)));
            put("    each runs".to_owned());
            // One option a line: these are the paths that a person has to check.
            let command = std::iter::once(wanted.program.to_string_lossy().into_owned());
            let mut line = String::from("     ");
            for word in command.chain(wanted.arguments()) {
                if word.starts_with("--") {
                    put(std::mem::replace(&mut line, String::from("       ")));
                }
                let _ = write!(line, " {}", one_line(&word, 400));
            }
            put(line);
        }
        if !self.removed.is_empty() {
            put(format!("  {} {}", paint::bad("-"), hooks(&self.removed)));
        }
        if self.replaced > 0 {
            let what = "that differ from this version's are replaced";
            let count = self.replaced;
            put(format!(
                "  {} {count} hook{} {what}",
                paint::warn("~"),
                if count == 1 { "" } else { "s" }
            ));
        }
        for (name, value) in &self.others {
            let name = one_line(name, MOST_VALUE);
            match value {
                Some(value) => {
                    let value = one_line(&value.to_string(), MOST_VALUE);
                    put(format!("  {} {name} = {value}", paint::good("+")));
                }
                None => put(format!("  {} {name}", paint::bad("-"))),
            }
        }
        put(paint::dim("  (--diff shows every line)"));
        text
    }
}

/// Returns the settings that differ, without hooks; `None` if hooks differ that are not ours.
fn other_changes(before: &Value, after: &Value) -> Option<Vec<(String, Option<Value>)>> {
    let (before, after) = (before.as_object()?, after.as_object()?);
    if before.get("hooks") != after.get("hooks") {
        return None;
    }
    let set = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value))
        .map(|(name, value)| (name.clone(), Some(value.clone())));
    let gone =
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), None));
    Some(set.chain(gone).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hooks() -> &'static dyn HookSettings {
        portcullis_agents::DEFAULT.hook_settings()
    }

    fn wanted() -> Invocation {
        Invocation {
            agent: portcullis_agents::DEFAULT.name(),
            program: "/usr/local/bin/portcullis".into(),
            pinned: Some(("/home/me/.config/portcullis".into(), "/home/me/.state".into())),
        }
    }

    fn document(value: &Value) -> JsonDocument {
        JsonDocument::parse_document(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_command_is_shown_once_and_foreign_hooks_are_left_to_the_difference() {
        let before = document(&json!({"model": "opus"}));
        let after = hooks().add_handlers(Path::new("settings.json"), &before, &wanted()).unwrap();
        let changes = HookChanges::find(hooks(), &before, &after, &wanted()).unwrap();
        assert_eq!(changes.added.len(), hooks().events().len());
        let text = changes.format(Path::new("/s.json"), &wanted());
        assert_eq!(text.matches("/usr/local/bin/portcullis").count(), 1, "{text}");
        for part in ["--config /home/me/.config/portcullis\n", "--state /home/me/.state\n"] {
            assert!(text.contains(part), "{text}");
        }
        let back = HookChanges::find(hooks(), &after, &before, &wanted()).unwrap();
        assert_eq!((back.removed, back.added.len()), (changes.added, 0));

        let older = Invocation { pinned: None, ..wanted() };
        let older = hooks().add_handlers(Path::new("settings.json"), &before, &older).unwrap();
        let changes = HookChanges::find(hooks(), &older, &after, &wanted()).unwrap();
        assert_eq!(changes.replaced, hooks().events().len());

        let managed = document(&json!({"model": "opus", "allowManagedHooksOnly": true}));
        let managed =
            hooks().add_handlers(Path::new("settings.json"), &managed, &wanted()).unwrap();
        let changes = HookChanges::find(hooks(), &before, &managed, &wanted()).unwrap();
        assert_eq!(changes.others, [("allowManagedHooksOnly".to_owned(), Some(json!(true)))]);

        let foreign =
            json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}});
        let foreign = hooks()
            .add_handlers(Path::new("settings.json"), &document(&foreign), &wanted())
            .unwrap();
        assert_eq!(HookChanges::find(hooks(), &before, &foreign, &wanted()), None);
    }
}
