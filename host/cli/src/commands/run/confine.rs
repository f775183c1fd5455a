//! `--confine`: restricts the agent's writes to the places it works in.

use crate::error::{Context, Error, Result};
use portcullis_agents::Agent;
use portcullis_agents::request::AgentRequest;
use portcullis_config::paths::Paths;
use portcullis_run::{Confinement, ConfinementReport, Enforced, Kernel};
use serde_json::{Value, json};
use std::env;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Returns the confinement of an agent that works in the current folder.
///
/// # Errors
/// Fails if this kernel cannot restrict writes, or if a named folder does not exist.
pub fn plan_confinement(
    agent: &dyn Agent,
    places: &Paths,
    asked: &AgentRequest,
    further: &[(PathBuf, &str)],
) -> Result<Confinement> {
    if !Kernel::ask_kernel().write {
        return Err(Error::invalid(
            "this kernel cannot confine an agent (Landlock is missing or switched off)",
        )
        .with_hint("leave `--confine` out, or write `--confine=false`"));
    }
    let current = env::current_dir().context("cannot determine the current folder")?;
    let home = Path::new(&places.person);
    let layout = agent.hook_settings().layout();
    let own = layout.folders_in_environment(&places.environment, home, &current).person;
    // A client that runs for the first time would create it.
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&own)
        .with_context(|| format!("cannot make `{}`", own.display()))?;
    let added = asked.folders.iter().map(|folder| (folder, "leave `--add-dir` out"));
    let further: Vec<(&PathBuf, &str)> =
        added.chain(further.iter().map(|(path, fix)| (path, *fix))).collect();
    if let Some((missing, fix)) = further.iter().find(|(path, _)| !path.exists()) {
        return Err(Error::not_found(format!(
            "there is no `{}` for the agent to write to",
            missing.display()
        ))
        .with_hint(format!("make it, or {fix}")));
    }
    let project = places.project.clone().unwrap_or_else(|| current.clone());
    let mut write = vec![current, project, env::temp_dir(), own, places.state.clone()];
    write.extend(further.into_iter().map(|(path, _)| path.clone()));
    // It works without those that are missing.
    write.extend(layout.writes.iter().map(|path| home.join(path)).filter(|path| path.exists()));
    write.sort();
    write.dedup();
    Ok(Confinement { write: Some(write), signals: true, ..Confinement::default() })
}

/// Describes what is enforced and what is not, one line each.
pub fn confinement_lines(confinement: &Confinement) -> Vec<String> {
    let report = ConfinementReport::of_confinement(confinement);
    let those = |which: Enforced| {
        report
            .rows
            .iter()
            .filter(move |row| row.1 == which)
            .map(|row| row.0)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let named = [
        ("blocked", those(Enforced::Yes)),
        ("not blocked, this kernel cannot", those(Enforced::Missing)),
        ("open to it", those(Enforced::NotAsked)),
        ("not blocked, no kernel can", those(Enforced::Never)),
    ];
    let folders = confinement
        .write
        .iter()
        .flatten()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(" ");
    let rows = named
        .into_iter()
        .filter(|(_, what)| !what.is_empty())
        .map(|(name, what)| format!("{name}: {what}"));
    std::iter::once(format!("it may write in: {folders}")).chain(rows).collect()
}

/// Describes the same for a script.
pub fn confinement_json(confinement: &Confinement) -> Value {
    let name = |enforced: &Enforced| match enforced {
        Enforced::Yes => "yes",
        Enforced::Missing => "missing",
        Enforced::NotAsked => "not_asked",
        Enforced::Never => "never",
    };
    let rows: Vec<Value> = ConfinementReport::of_confinement(confinement)
        .rows
        .iter()
        .map(|(what, enforced)| json!({"what": what, "enforced": name(enforced)}))
        .collect();
    json!({"write": confinement.write, "enforced": rows})
}
