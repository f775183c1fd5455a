//! From an empty machine to the first refused command: what a person types, and how long it takes.
//!
//! The commands stand in `host/docs/agents.md`, as this bench runs them. The seconds are those of
//! this machine: they are printed and not judged.

use crate::Programs;
use crate::case::Case;
use crate::client::ClientKind;
use crate::model::Model;
use crate::play::{LIMIT, Site, write};
use anyhow::{Context, Result, ensure};
use portcullis_tests::process;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Our command, without the question that a person answers.
const YES: &str = "--yes";

/// Checks that the page has the client's commands, in the order of its table.
pub(crate) fn check_row(client: &ClientKind) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/agents.md");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let commands = [client.install_command, &own_command(client), client.start_command];
    let shown: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    let row = format!("| {} | {} | {} |", client.display_name, shown.join(" | "), client.trust);
    ensure!(text.contains(&row), "`{}` has no row that begins with `{row}`", file.display());
    let package = client.install_command.split(' ').next_back().unwrap_or_default();
    ensure!(
        client.package.contains(package),
        "`{}` is not the package of these tests, `{}`",
        client.install_command,
        client.package
    );
    Ok(())
}

fn own_command(client: &ClientKind) -> String {
    format!("portcullis install {}", client.name)
}

/// Installs the hooks on a machine that has never had them, lets the client play the case of a
/// refused command, and returns the seconds from the first to the refusal.
pub(crate) fn measure(
    client: &ClientKind,
    root: &Path,
    file: &Path,
    programs: &Programs,
) -> Result<Duration> {
    let site = Site::create_without_state(root)?;
    let case = Case::read(file, &site)?;
    for (path, text) in &case.files {
        write(path, text)?;
    }
    let model = Model::start(client.wire, &case)?;
    let url = model.url();
    (client.furnish)(&site, &url)?;
    let began = SystemTime::now();
    let own = own_command(client);
    let words: Vec<&str> = own.split(' ').skip(1).chain([YES]).collect();
    site.own(programs, &words)?;
    let mut command = (client.command)(&site, &programs.client, &case.prompt, &url);
    site.surround_client(&mut command, programs);
    let ended = process::run(command, &root.join("client"), LIMIT);
    process::end_marked(&format!("HOME={}", site.home().display()));
    drop(model.finish()?);
    ended?;
    let refused = find_refusal(&site.own(programs, &["audit", "show", "--json"])?)?;
    let took = refused.duration_since(began).context("the refusal is older than the hooks")?;
    fs::remove_dir_all(root).with_context(|| format!("cannot remove `{}`", root.display()))?;
    Ok(took)
}

/// Returns the time of the first refusal in a journal.
fn find_refusal(journal: &str) -> Result<SystemTime> {
    let records = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let refused = records
        .into_iter()
        .find(|record| record.get("verdict").and_then(Value::as_str) == Some("block"));
    let at = refused.as_ref().and_then(|record| record.get("at")?.as_u64());
    let at = at.with_context(|| format!("the journal has no refusal: {journal}"))?;
    Ok(UNIX_EPOCH + Duration::from_millis(at))
}
