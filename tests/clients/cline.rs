//! Cline CLI under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::chat::RUN_COMMANDS;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const CLINE: ClientKind = ClientKind {
    name: "cline",
    display_name: "Cline CLI",
    package: "@cline/cli-linux-x64",
    version: "3.0.65",
    companions: &[],
    install_command: "npm install --global cline",
    start_command: "cline",
    trust: "nothing",
    program: "node_modules/@cline/cli-linux-x64/bin/cline",
    // It writes the time into its other settings.
    folder: ".cline/hooks",
    managed: None,
    exports: false,
    same_plugin: None,
    wire: &RUN_COMMANDS,
    furnish,
    command,
};

/// Writes the provider, and a hook of the person's own, which has to survive.
fn furnish(site: &Site, url: &str) -> Result<()> {
    let folder = site.home().join(".cline");
    fs::create_dir_all(folder.join("hooks"))?;
    fs::write(folder.join("hooks/PreCompact"), "#!/bin/sh\necho '{}'\n")?;
    fs::create_dir_all(folder.join("data/settings"))?;
    let scripted = json!({"provider": "openai-compatible", "apiKey": "none", "model": "scripted",
        "baseUrl": format!("{url}/v1")});
    let settings = json!({"version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
        "providers": {"openai-compatible": {"settings": scripted, "tokenSource": "manual",
            "updatedAt": "2026-01-01T00:00:00.000Z"}}});
    fs::write(folder.join("data/settings/providers.json"), format!("{settings:#}\n"))?;
    Ok(())
}

fn command(_site: &Site, program: &Path, prompt: &str, _url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--json", prompt])
        .env("CLINE_NO_AUTO_UPDATE", "1")
        .env("CLINE_TELEMETRY_DISABLED", "1")
        .env("DO_NOT_TRACK", "1");
    command
}
