//! Tests of the way of a plugin to others: `plugin publish` says what is missing, and then takes
//! the project that `plugin new` makes to an archive that can be signed.

use crate::common::site::Site;
use crate::{made, run, tools};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;

const BUNDLE: &str = "name = \"acme/my-risk-calculator\"\nversion = \"0.1.0\"\ndescription = \"A check.\"\n\
                      licence = \"Apache-2.0\"\nsource = \"https://git.example.com/acme/check\"\n\n[[plugin]]\nfile = \".\"\n";

/// Runs it, and returns what it says.
fn published(site: &Site, arguments: &[&str], code: i32) -> Result<Value> {
    let ended = run(site, &[&["plugin", "publish", "--json"], arguments].concat())?;
    ensure!(ended.code == Some(code), "{}", ended.all());
    serde_json::from_str(&ended.text()).with_context(|| ended.all())
}

/// A new project in C lacks what strangers need; with it, each step is done.
pub fn whole_way() -> Result<()> {
    if tools::missing("c")?.is_some() {
        return Ok(());
    }
    let site = Site::new("plugin publish")?;
    let project = made(&site, "risk-calculator", "c")?;
    tools::lend("c", &project)?;
    let folder = project.display().to_string();
    let dry = [folder.as_str(), "--dry-run"];
    let said = published(&site, &dry, 1)?;
    let missing: Vec<&str> = said["missing"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["what"].as_str())
        .collect();
    ensure!(missing == ["a bundle"], "{said}");
    ensure!(!project.join("build").exists(), "something was built");

    fs::write(project.join("bundle.toml"), BUNDLE.replace("licence = \"Apache-2.0\"\n", ""))?;
    let said = published(&site, &dry, 1)?;
    ensure!(said["missing"][0]["what"] == "`licence` of the bundle", "{said}");

    fs::write(project.join("bundle.toml"), BUNDLE)?;
    let page = fs::read_to_string(project.join("README.md"))?;
    fs::write(project.join("README.md"), page.replace("folders", "places"))?;
    let said = published(&site, &dry, 1)?;
    ensure!(said["missing"][0]["what"] == "the setting `folders` on the plugin's page", "{said}");
    fs::write(project.join("README.md"), page)?;
    // Twice: a second run replaces what the first one left.
    for _ in 0..2 {
        let said = published(&site, &dry, 0)?;
        let steps: Vec<(&str, bool)> = said["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|step| Some((step["step"].as_str()?, step["ok"].as_bool()?)))
            .collect();
        ensure!(
            steps == [("build", true), ("test", true), ("bundle", true), ("vet", true)],
            "{said}"
        );
    }
    // A version that says less than what changed ends it before the bundle.
    let built = project.join("build/my-risk-calculator.wasm");
    let previous = site.root().join("previous").join("my-risk-calculator.wasm");
    fs::create_dir_all(site.root().join("previous"))?;
    fs::copy(&built, &previous)?;
    let manifest = project.join("plugin.toml");
    let text = fs::read_to_string(&manifest)?;
    let (start, rest) = text.split_once("version = \"").context("no version")?;
    let (_, end) = rest.split_once('"').context("no version")?;
    fs::write(&manifest, format!("{start}version = \"0.0.1\"{end}"))?;
    let previous = previous.display().to_string();
    let said = published(&site, &[&folder, "--dry-run", "--previous", &previous], 1)?;
    let last = said["steps"].as_array().and_then(|steps| steps.last()).context("no steps")?;
    ensure!(last["step"] == "diff" && last["ok"] == false, "{said}");
    Ok(())
}
