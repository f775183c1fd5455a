//! Our hooks in the machine's `requirements.toml`, beside those in `hooks.json`.
//!
//! A file of TOML is read as the settings that its hooks would be in JSON, with its own text among
//! them: an edit changes that text, and keeps comments and order.

use super::hooks::{EVENTS, HOOKS};
use super::trust::table;
use crate::hook_form::HookForm;
use crate::hook_handler::{Deviation, HookHandler};
use crate::hook_settings::MANAGED_ONLY;
use crate::invocation::{EventSubscription, Invocation};
use crate::json::{JsonDocument, JsonPosition, NotJson};
use crate::settings_problem::SettingsProblem;
use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
use serde_json::{Map, Value, json};
use std::path::Path;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

/// The name of the file's own text among its hooks.
const TEXT: &str = "requirements.toml";
/// The same, as a JSON pointer.
const TEXT_POINTER: &str = "/hooks/requirements.toml";
/// The path of the groups and of the handlers in one.
const GROUPS: &str = "hooks";
/// The key with which the machine runs its own hooks only.
const ALONE: &str = "allow_managed_hooks_only";
/// The table and the key that keep hooks on, whatever a person or a command line says.
const FEATURES: &str = "features";
/// The switch, as it is named for people.
const SWITCH: &str = "features.hooks";
/// The comment behind our own value of that key.
const OURS: &str = " # for Portcullis";

/// Our hooks in either file.
pub(super) struct CodexHooks;

/// Returns the key by which a file of TOML switches hooks off.
pub(super) fn off_switch(settings: &Value) -> Option<&'static str> {
    (switch(settings)? == &Value::Bool(false)).then_some(SWITCH)
}

/// Returns the key by which it keeps them on.
pub(super) fn on_switch(settings: &Value) -> Option<&'static str> {
    (switch(settings)? == &Value::Bool(true)).then_some(SWITCH)
}

fn switch(settings: &Value) -> Option<&Value> {
    text_in(settings)?;
    settings.get(FEATURES)?.get(GROUPS)
}

fn text_in(settings: &Value) -> Option<&str> {
    settings.pointer(TEXT_POINTER)?.as_str()
}

impl HookForm for CodexHooks {
    fn events(&self) -> &'static [EventSubscription] {
        EVENTS
    }

    fn read_document(&self, bytes: &[u8]) -> Result<JsonDocument, NotJson> {
        let read = HOOKS.read_document(bytes);
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        // A file that begins so is meant as JSON, whose own error is the helpful one.
        if read.is_ok() || text.trim_start().starts_with(['{', '\u{feff}']) || text.is_empty() {
            return read;
        }
        view(text)
    }

    fn write_document(&self, document: &JsonDocument) -> Vec<u8> {
        let Some(text) = text_in(document.value()) else { return document.bytes() };
        let alone = document.value().get(MANAGED_ONLY) == Some(&Value::Bool(true));
        let mut text = text.to_owned();
        if alone
            && let Ok(mut parsed) = text.parse::<DocumentMut>()
            && parsed.get(ALONE).and_then(Item::as_bool) != Some(true)
        {
            parsed.insert(ALONE, value(true));
            text = parsed.to_string();
        }
        text.into_bytes()
    }

    fn find_problems(&self, document: &JsonDocument) -> Vec<SettingsProblem> {
        let problems = HOOKS.find_problems(document).into_iter();
        let Some(text) = text_in(document.value()) else { return problems.collect() };
        // The file's text stands among the events, and is none of them.
        let named = problems.filter(|problem| problem.pointer != TEXT_POINTER);
        let placed = |problem: SettingsProblem| {
            let event = problem.pointer.split('/').nth(2).unwrap_or_default();
            let line = text.lines().position(|line| line.contains(&format!("{GROUPS}.{event}")));
            let place = JsonPosition { line: line.map_or(1, |line| line + 1), column: 1 };
            SettingsProblem { place, ..problem }
        };
        named.map(placed).collect()
    }

    fn find(&self, settings: &Value, wanted: &Invocation) -> Vec<HookHandler> {
        HOOKS.find(settings, wanted)
    }

    fn find_foreign(&self, settings: &Value, event: &str, wanted: &Invocation) -> Vec<String> {
        HookForm::find_foreign(&HOOKS, settings, event, wanted)
    }

    fn add(
        &self,
        file: &Path,
        document: &JsonDocument,
        wanted: &Invocation,
    ) -> Result<JsonDocument> {
        let text = text_in(document.value());
        if file.extension().is_none_or(|end| end != "toml") {
            anyhow::ensure!(text.is_none(), "`{}` holds TOML: move it away", file.display());
            return HOOKS.add(document, wanted);
        }
        let mut parsed: DocumentMut = text.unwrap_or_default().parse().context("it is not TOML")?;
        let found = HOOKS.find(document.value(), wanted);
        let wrong = |handler: &&HookHandler| !handler.deviations.is_empty();
        take_out(&mut parsed, found.iter().filter(wrong))?;
        let features = table(parsed.as_table_mut(), FEATURES)?;
        if !features.contains_key(GROUPS) {
            let mut on = toml_edit::Value::from(true);
            on.decor_mut().set_suffix(OURS);
            features.insert(GROUPS, Item::Value(on));
        }
        for listened in HOOKS.missing(&found) {
            let hooks = table(parsed.as_table_mut(), GROUPS)?;
            let groups = hooks.entry(listened.event);
            let groups = groups.or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
            groups.as_array_of_tables_mut().with_context(inline)?.push(group(wanted, listened));
        }
        reread(&parsed)
    }

    fn remove(
        &self,
        document: &JsonDocument,
        wanted: &Invocation,
        keep: &[String],
    ) -> Result<JsonDocument> {
        let Some(text) = text_in(document.value()) else {
            return HOOKS.remove(document, wanted, keep);
        };
        let found = HOOKS.find(document.value(), wanted);
        if found.is_empty() {
            return Ok(document.clone());
        }
        let mut parsed: DocumentMut = text.parse().context("it is not TOML")?;
        take_out(&mut parsed, found.iter())?;
        let root = parsed.as_table_mut();
        if let Some(features) = root.get_mut(FEATURES).and_then(Item::as_table_mut) {
            // Only our own value, which its comment marks, is taken away.
            let suffix =
                |item: &Item| item.as_value()?.decor().suffix()?.as_str().map(str::to_owned);
            if features.get(GROUPS).and_then(suffix).is_some_and(|found| found == OURS) {
                features.remove(GROUPS);
            }
            if features.is_empty() {
                root.remove(FEATURES);
            }
        }
        reread(&parsed)
    }

    fn empty_containers(&self, settings: &Value) -> Vec<String> {
        HOOKS.empty_containers(settings)
    }
}

/// Removes handlers that hold nothing foreign, with the containers that this leaves empty.
fn take_out<'a>(
    document: &mut DocumentMut,
    handlers: impl DoubleEndedIterator<Item = &'a HookHandler>,
) -> Result<()> {
    let root = document.as_table_mut();
    // From the last on, so that the numbers of the others stay.
    for handler in handlers.rev().filter(|found| !found.deviations.contains(&Deviation::Mixed)) {
        let mut numbers = handler.pointer.split('/').filter_map(|part| part.parse::<usize>().ok());
        let (Some(at), Some(index)) = (numbers.next(), numbers.next()) else {
            bail!("the hook at `{}` is in no group: remove it by hand", handler.pointer)
        };
        let hooks = root.get_mut(GROUPS).and_then(Item::as_table_mut).with_context(inline)?;
        let groups = hooks.get_mut(&handler.event).and_then(Item::as_array_of_tables_mut);
        let groups = groups.with_context(inline)?;
        let group = groups.get_mut(at).with_context(inline)?;
        let listed = group.get_mut(GROUPS).and_then(Item::as_array_of_tables_mut);
        let listed = listed.with_context(inline)?;
        listed.remove(index);
        if listed.is_empty() {
            groups.remove(at);
        }
        if groups.is_empty() {
            hooks.remove(&handler.event);
        }
        if hooks.is_empty() {
            root.remove(GROUPS);
        }
    }
    Ok(())
}

fn inline() -> String {
    "hooks in it are written inline: give each a table of its own, `[[hooks.EVENT]]`".to_owned()
}

fn group(wanted: &Invocation, listened: &EventSubscription) -> Table {
    let mut handler = Table::new();
    handler.insert("type", value("command"));
    handler.insert("command", value(wanted.shell_line(listened)));
    handler.insert("timeout", value(i64::try_from(listened.timeout).unwrap_or(i64::MAX)));
    let mut handlers = ArrayOfTables::new();
    handlers.push(handler);
    let mut group = Table::new();
    group.insert(GROUPS, Item::ArrayOfTables(handlers));
    group
}

fn reread(document: &DocumentMut) -> Result<JsonDocument> {
    view(&document.to_string()).map_err(|error| anyhow::anyhow!("{}: {}", error.place, error.what))
}

/// Returns a file of TOML as settings.
fn view(text: &str) -> Result<JsonDocument, NotJson> {
    let parsed = text.parse::<DocumentMut>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let line = text.get(..offset).unwrap_or_default().matches('\n').count() + 1;
        NotJson {
            place: JsonPosition { line, column: 1 },
            what: one_line(error.message(), 200),
            expected: "the client reads TOML",
        }
    })?;
    let root = table_view(parsed.as_table());
    let events = root.get(GROUPS).and_then(Value::as_object);
    // Beside the events are a folder, and a person's trust.
    let lists = events.into_iter().flatten().filter(|(_, groups)| groups.is_array());
    let mut hooks: Map<String, Value> =
        lists.map(|(event, groups)| (event.clone(), groups.clone())).collect();
    hooks.insert(TEXT.to_owned(), json!(text));
    let mut settings = Map::new();
    settings.insert(GROUPS.to_owned(), Value::Object(hooks));
    let named = [(ALONE, MANAGED_ONLY), (FEATURES, FEATURES)];
    for (name, shown) in named {
        settings.extend(root.get(name).map(|found| (shown.to_owned(), found.clone())));
    }
    JsonDocument::parse_document(Value::Object(settings).to_string().as_bytes())
}

fn table_view(table: &dyn toml_edit::TableLike) -> Map<String, Value> {
    table.iter().map(|(name, item)| (name.to_owned(), item_view(item))).collect()
}

fn item_view(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_view(value),
        Item::Table(table) => Value::Object(table_view(table)),
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| Value::Object(table_view(table))).collect()
        }
    }
}

fn value_view(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => json!(number.value()),
        Toml::Boolean(truth) => json!(truth.value()),
        Toml::Datetime(time) => json!(time.value().to_string()),
        Toml::Array(values) => values.iter().map(value_view).collect(),
        Toml::InlineTable(table) => Value::Object(table_view(table)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Invocation {
        Invocation { agent: "codex", program: "/usr/local/bin/portcullis".into(), pinned: None }
    }

    fn read(text: &str) -> JsonDocument {
        CodexHooks.read_document(text.as_bytes()).unwrap()
    }

    fn written(document: &JsonDocument) -> String {
        String::from_utf8(CodexHooks.write_document(document)).unwrap()
    }

    fn added(document: &JsonDocument) -> JsonDocument {
        CodexHooks.add(Path::new("/etc/codex/requirements.toml"), document, &wanted()).unwrap()
    }

    const FOREIGN: &str = "[[hooks.PreToolUse]] # theirs\nmatcher = \"Bash\"\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/usr/bin/other\"\n";

    #[test]
    fn hooks_are_added_once_and_removed_and_the_rest_stays() {
        for text in [
            "",
            "# ours\nallowed_sandbox_modes = [\"read-only\"] # all\n",
            "allow_managed_hooks_only = true\n\n[features]\nhooks = true\n",
            "[features]\nother = false # theirs\n",
            FOREIGN,
        ] {
            let one = added(&read(text));
            let found = CodexHooks.find(one.value(), &wanted());
            assert_eq!(found.len(), EVENTS.len(), "{}", written(&one));
            assert!(found.iter().all(|handler| handler.deviations.is_empty()), "{found:?}");
            assert_eq!(CodexHooks.find_problems(&one), []);
            assert_eq!(on_switch(one.value()), Some(SWITCH), "{}", written(&one));
            let shown = written(&one);
            for line in text.lines() {
                assert!(shown.contains(line), "`{line}` is gone: {shown}");
            }
            let two = added(&read(&shown));
            assert_eq!(written(&two), shown);
            let back = CodexHooks.remove(&two, &wanted(), &[]).unwrap();
            assert_eq!(written(&back).trim(), text.trim());
        }
    }

    #[test]
    fn a_hook_that_differs_is_written_again() {
        let shown = written(&added(&read(FOREIGN)));
        let changed = shown.replacen("timeout = 300", "timeout = 1", 1);
        assert_ne!(changed, shown);
        let again = added(&read(&changed));
        let found = CodexHooks.find(again.value(), &wanted());
        assert!(found.iter().all(|handler| handler.deviations.is_empty()), "{found:?}");
        assert_eq!(found.len(), EVENTS.len());
        assert!(written(&again).contains("/usr/bin/other"));
    }

    #[test]
    fn switches_and_mistakes_are_found() {
        for (text, off, alone) in [
            ("[features]\nhooks = false\n", true, false),
            ("features.hooks = false", true, false),
            ("[features]\nhooks = true\n", false, false),
            ("allow_managed_hooks_only = true", false, true),
            ("[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"a\"\n", false, false),
            ("{\"features\": {\"hooks\": false}}", false, false),
        ] {
            let document = read(text);
            assert_eq!(off_switch(document.value()).is_some(), off, "{text}");
            let only = document.value().get(MANAGED_ONLY) == Some(&Value::Bool(true));
            assert_eq!(only, alone, "{text}");
            let problems = CodexHooks.find_problems(&document);
            assert_eq!(problems, [], "{text}");
        }
        let mistake = "\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\ntimeout = \"3\"\n";
        let problems = CodexHooks.find_problems(&read(mistake));
        assert_eq!(problems[0].pointer, "/hooks/Stop/0/hooks/0/timeout");
        assert_eq!(problems[0].place.line, 2);
        let broken = CodexHooks.read_document(b"a = 1\n[hooks\n").unwrap_err();
        assert_eq!((broken.place.line, broken.expected), (2, "the client reads TOML"));
        let error = CodexHooks.read_document(b"{\"a\"").unwrap_err();
        assert!(error.expected.contains("JSON"), "{error:?}");
    }

    #[test]
    fn only_the_machines_hooks_run_if_that_is_wanted() {
        let alone = added(&read("")).add_member("", MANAGED_ONLY, &json!(true)).unwrap();
        let text = written(&alone);
        assert!(text.starts_with("allow_managed_hooks_only = true\n"), "{text}");
        assert_eq!(read(&text).value().get(MANAGED_ONLY), Some(&json!(true)));
    }

    #[test]
    fn hooks_in_json_stay_json() {
        let document = read("{}");
        let json = CodexHooks.add(Path::new("/h/.codex/hooks.json"), &document, &wanted()).unwrap();
        assert!(written(&json).starts_with('{'));
        let toml = read("a = 1");
        assert!(CodexHooks.add(Path::new("/h/.codex/hooks.json"), &toml, &wanted()).is_err());
    }
}
