//! Copilot CLI under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::chat::BASH;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const COPILOT: ClientKind = ClientKind {
    name: "copilot",
    display_name: "Copilot CLI",
    package: "@github/copilot",
    version: "1.0.102",
    companions: &[],
    install_command: "npm install --global @github/copilot",
    start_command: "copilot",
    trust: "nothing: it runs your own hooks in every folder",
    program: "node_modules/.bin/copilot",
    folder: ".copilot",
    managed: Some("github-copilot"),
    exports: false,
    same_plugin: None,
    wire: &BASH,
    furnish,
    command,
};

/// Writes a file of hooks of the person's own, which has to survive.
fn furnish(site: &Site, _url: &str) -> Result<()> {
    let folder = site.home().join(".copilot/hooks");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("own.json"), "{\"version\": 1, \"hooks\": {}}\n")?;
    Ok(())
}

fn command(_site: &Site, program: &Path, prompt: &str, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-p", prompt, "--output-format", "json", "--no-auto-update", "--allow-all"])
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
        .env("COPILOT_PROVIDER_API_KEY", "none")
        .env("COPILOT_MODEL", "scripted")
        .env("COPILOT_AUTO_UPDATE", "false");
    command
}
