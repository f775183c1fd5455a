//! The installed client: its version, and its own word on which of our hooks it loaded.

use super::finding::{Check, Finding};
use super::handlers::Handler;
use super::settings::File;
use crate::client::claude::handlers::Invocation;
use crate::client::claude::listing::{self, Off};
use crate::client::claude::registered;
use crate::client::claude::settings::Scope;
use crate::client::claude::version::{self, LEAST};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Asks the client for its version.
pub fn version(client: Option<&Path>) -> Finding {
    let Some(client) = client else {
        let what = "no `claude` in PATH or where its installers put it: its version and what it loaded were not looked at";
        return Finding::note(Check::Version, what, "");
    };
    let shown = client.display();
    match version::ask(client) {
        Ok(found) if found < LEAST => {
            let what = format!("`{shown}` is {found}: it runs a tool whenever a hook fails, since it does not know `onFailure`");
            Finding::problem(Check::Version, what, format!("update it to {LEAST} or later: `claude update`"))
        }
        Ok(found) => Finding::ok(Check::Version, format!("Claude Code {found}, `{shown}`")),
        Err(error) => Finding::warning(Check::Version, format!("{error:#}"), "start it by hand to see what is wrong"),
    }
}

/// Asks the client which of our hooks it loaded. It is started in `folder`, and then runs the hooks that
/// hold there.
pub fn listing(client: &Path, folder: &Path, handlers: &[Handler]) -> Vec<Finding> {
    let listing = match listing::ask(client, folder) {
        Ok(listing) => listing,
        Err(error) => return vec![Finding::warning(Check::Listing, format!("{error:#}"), "start it by hand to see what is wrong")],
    };
    let mut findings: Vec<Finding> = listing
        .errors
        .iter()
        .map(|problem| {
            let what = format!("the client cannot use `{}` in `{}`: {}", problem.path, problem.file, problem.message);
            Finding::problem(Check::Listing, what, "mend it: the client drops the whole file")
        })
        .collect();
    let mut scopes: Vec<Scope> = Vec::new();
    for handler in handlers.iter().filter(|handler| !handler.off) {
        if scopes.contains(&handler.scope) {
            continue;
        }
        scopes.push(handler.scope);
        let of_scope: Vec<&Handler> = handlers.iter().filter(|other| other.scope == handler.scope).collect();
        findings.extend(compare(&listing, handler, &of_scope));
    }
    super::finding::or_ok(findings, Check::Listing, "the client says that it loads our hooks")
}

/// What stands in the file as the client should load it, and what it says to have loaded.
fn compare(listing: &listing::Listing, first: &Handler, of_scope: &[&Handler]) -> Option<Finding> {
    let pins = first.pins().ok()?;
    let pinned = pins.and_then(|pins| Some((pins.config?, pins.state?)));
    let wanted = Invocation { program: PathBuf::from(&first.registered.program), pinned };
    let off = listing.off(first.scope, &wanted)?;
    let off = match off {
        Off::NotLoaded(events) => {
            // What the file does not hold as it should is told by the look at the file.
            let whole = |event: &&str| of_scope.iter().any(|handler| handler.registered.event == *event && stands(handler, &wanted));
            let events: Vec<&str> = events.into_iter().filter(whole).collect();
            if events.is_empty() {
                return None;
            }
            Off::NotLoaded(events)
        }
        other => other,
    };
    let what = format!("the client does not run the hooks of `{}`: {off}", first.file.display());
    Some(Finding::problem(Check::Listing, what, "restart the client; if it stays so, run `portcullis install claude`"))
}

fn stands(handler: &Handler, wanted: &Invocation) -> bool {
    let mut hooks = serde_json::Map::new();
    hooks.insert(handler.registered.event.clone(), serde_json::json!([{ "hooks": [handler.value] }]));
    let settings = Value::Object([("hooks".to_owned(), Value::Object(hooks))].into_iter().collect());
    registered::find(&settings, wanted).iter().any(|found| found.deviations.is_empty())
}

/// Where the client can be asked without running what others wrote: in the project only if its own
/// settings hold nothing but what we wrote.
pub fn safe_folder<'a>(project: &'a Path, scratch: &'a Path, files: &[File], handlers: &[Handler], ours: &Invocation) -> &'a Path {
    let of_project = |file: &&File| matches!(file.scope, Scope::Project | Scope::Local);
    let foreign = |file: &File| match file.settings() {
        Some(settings) => !only_ours(settings, ours),
        None => !matches!(file.content, super::settings::Content::Missing),
    };
    let has_ours = files.iter().filter(of_project).any(|file| file.settings().is_some());
    let started = handlers.iter().any(|handler| handler.stranger(project).is_some());
    let strangers = started || files.iter().filter(of_project).any(foreign) || project.join(".mcp.json").exists();
    if has_ours && !strangers { project } else { scratch }
}

fn only_ours(settings: &Value, ours: &Invocation) -> bool {
    let keys = settings.as_object().is_some_and(|keys| keys.keys().all(|key| key == "hooks" || key == "$schema"));
    let events = settings.get("hooks").and_then(Value::as_object);
    keys && events.into_iter().flatten().all(|(event, _)| registered::others(settings, event, ours).is_empty())
}
