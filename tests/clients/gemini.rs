//! Gemini CLI under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::generate::GENERATE;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const GEMINI: ClientKind = ClientKind {
    name: "gemini",
    display_name: "Gemini CLI",
    package: "@google/gemini-cli",
    version: "0.61.0",
    companions: &[],
    install_command: "npm install --global @google/gemini-cli",
    start_command: "gemini",
    trust: "whether you trust the folder, once for each: without it, no hook is loaded",
    program: "node_modules/.bin/gemini",
    folder: ".gemini",
    managed: Some("gemini-cli"),
    exports: false,
    same_plugin: None,
    wire: &GENERATE,
    furnish,
    command,
};

/// Writes settings with the person's own and their comments, which have to survive.
fn furnish(site: &Site, _url: &str) -> Result<()> {
    let folder = site.home().join(".gemini");
    fs::create_dir_all(&folder)?;
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false}
    });
    let commented = format!("// The person's own words.\n{settings:#} // \"hooks\": {{}}\n");
    fs::write(folder.join("settings.json"), commented)?;
    Ok(())
}

fn command(_site: &Site, program: &Path, prompt: &str, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-p", prompt, "-o", "stream-json", "-m", "gemini-2.5-pro"])
        .args(["--skip-trust", "--approval-mode", "yolo"])
        .env("GEMINI_API_KEY", "none")
        .env("GOOGLE_GEMINI_BASE_URL", url)
        .env("GEMINI_CLI_NO_RELAUNCH", "true");
    command
}
