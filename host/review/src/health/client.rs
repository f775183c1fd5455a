//! The installed client: its version, and its own report of which of our hooks it loaded.

use super::finding::{Check, HealthFinding};
use super::handlers::Handler;
use super::settings::ClientFile;
use portcullis_agents::listing::{DisabledReason, HookListing};
use portcullis_agents::settings::SettingsScope;
use portcullis_agents::{Agent, Invocation};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Asks the client for its version.
pub(super) fn version(agent: &dyn Agent, client: Option<&Path>) -> HealthFinding {
    let name = agent.name();
    let untested =
        if agent.is_untested() { "; Portcullis was never run with this client" } else { "" };
    let Some(client) = client else {
        let what = format!(
            "no `{name}` in PATH or where its installers put it: its version and its loaded hooks were not checked{untested}"
        );
        return HealthFinding::note(Check::Version, what, "");
    };
    let shown = client.display();
    let oldest = agent.oldest_version();
    match agent.query_version(client) {
        Ok(found) if found < oldest => {
            let what = format!(
                "`{shown}` is {found}, which is too old: {}",
                agent.oldest_version_reason()
            );
            HealthFinding::problem(
                Check::Version,
                what,
                format!("update it to {oldest} or later: `{name} update`"),
            )
        }
        Ok(found) if agent.is_untested() => HealthFinding::note(
            Check::Version,
            format!("{} {found}, `{shown}`{untested}", agent.display_name()),
            "",
        ),
        Ok(found) => HealthFinding::ok(
            Check::Version,
            format!("{} {found}, `{shown}`", agent.display_name()),
        ),
        Err(error) => HealthFinding::warning(
            Check::Version,
            format!("{error:#}"),
            "start it yourself to see what is wrong",
        ),
    }
}

/// Asks the client which of our hooks it loaded. It is started in `folder`, and runs the hooks that
/// apply there.
pub(super) fn listing(
    agent: &dyn Agent,
    client: &Path,
    folder: &Path,
    handlers: &[Handler],
) -> Vec<HealthFinding> {
    let listing = match agent.query_listing(client, folder) {
        Ok(Some(listing)) => listing,
        Ok(None) => {
            let what = format!(
                "{} does not tell which hooks it loads: only its files were checked",
                agent.display_name()
            );
            return vec![HealthFinding::note(Check::Listing, what, "")];
        }
        Err(error) => {
            return vec![HealthFinding::warning(
                Check::Listing,
                format!("{error:#}"),
                "start it yourself to see what is wrong",
            )];
        }
    };
    let mut findings: Vec<HealthFinding> = listing
        .problems()
        .iter()
        .map(|problem| {
            let what = format!(
                "the client cannot use `{}` in `{}`: {}",
                problem.path, problem.file, problem.message
            );
            HealthFinding::problem(
                Check::Listing,
                what,
                "fix it: the client ignores the whole file",
            )
        })
        .collect();
    let mut scopes: Vec<SettingsScope> = Vec::new();
    for handler in handlers.iter().filter(|handler| !handler.off) {
        if scopes.contains(&handler.scope) {
            continue;
        }
        scopes.push(handler.scope);
        let of_scope: Vec<&Handler> =
            handlers.iter().filter(|other| other.scope == handler.scope).collect();
        findings.extend(compare(listing.as_ref(), handler, &of_scope));
    }
    super::finding::or_ok(findings, Check::Listing, "the client confirmed that it loads our hooks")
}

/// Compares the handlers in the file with the handlers that the client reports as loaded.
fn compare(
    listing: &dyn HookListing,
    first: &Handler,
    of_scope: &[&Handler],
) -> Option<HealthFinding> {
    let pins = first.pins().ok()?;
    let pinned = pins.and_then(|pins| Some((pins.config?, pins.state?)));
    let wanted = Invocation {
        agent: first.agent.name(),
        program: PathBuf::from(&first.registered.program),
        pinned,
    };
    let off = listing.disabled_reason(first.scope, &wanted)?;
    let off = match off {
        DisabledReason::NotLoaded(events) => {
            // Handlers that are wrong in the file are reported by the check of the file.
            let whole = |event: &&str| {
                of_scope
                    .iter()
                    .any(|handler| handler.registered.event == *event && stands(handler, &wanted))
            };
            let events: Vec<&str> = events.into_iter().filter(whole).collect();
            if events.is_empty() {
                return None;
            }
            DisabledReason::NotLoaded(events)
        }
        other => other,
    };
    let what = format!("the client does not run the hooks of `{}`: {off}", first.file.display());
    Some(HealthFinding::problem(
        Check::Listing,
        what,
        format!("restart the client; if it stays so, run `{}`", first.agent.install_command()),
    ))
}

fn stands(handler: &Handler, wanted: &Invocation) -> bool {
    let mut hooks = serde_json::Map::new();
    hooks.insert(
        handler.registered.event.clone(),
        serde_json::json!([{ "hooks": [handler.value] }]),
    );
    let settings =
        Value::Object([("hooks".to_owned(), Value::Object(hooks))].into_iter().collect());
    let found = handler.agent.hook_settings().find_handlers(&settings, wanted);
    found.iter().any(|found| found.deviations.is_empty())
}

/// Returns the folder in which the client can be started without running foreign programs: the
/// project only if its own settings contain nothing but our entries.
pub(super) fn safe_folder<'a>(
    agent: &dyn Agent,
    project: &'a Path,
    scratch: &'a Path,
    files: &[ClientFile],
    handlers: &[Handler],
    ours: &Invocation,
) -> &'a Path {
    let of_project =
        |file: &&ClientFile| matches!(file.scope, SettingsScope::Project | SettingsScope::Local);
    let foreign = |file: &ClientFile| match file.settings() {
        Some(settings) => !only_ours(agent, settings, ours),
        None => !matches!(file.content, super::settings::SettingsContent::Missing),
    };
    let has_ours = files.iter().filter(of_project).any(|file| file.settings().is_some());
    let started = handlers.iter().any(|handler| handler.stranger(project).is_some());
    let strangers = started
        || files.iter().filter(of_project).any(foreign)
        || project.join(".mcp.json").exists();
    if has_ours && !strangers { project } else { scratch }
}

fn only_ours(agent: &dyn Agent, settings: &Value, ours: &Invocation) -> bool {
    let keys = settings
        .as_object()
        .is_some_and(|keys| keys.keys().all(|key| key == "hooks" || key == "$schema"));
    let events = settings.get("hooks").and_then(Value::as_object);
    keys && events
        .into_iter()
        .flatten()
        .all(|(event, _)| agent.hook_settings().foreign_commands(settings, event, ours).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_no_test_runs_is_named_as_such() {
        for agent in portcullis_agents::ALL {
            let said = version(*agent, None).what.contains("never run with this client");
            assert_eq!(said, agent.is_untested(), "{}", agent.name());
        }
    }
}
