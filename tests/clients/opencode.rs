//! OpenCode under test.

use crate::client::ClientKind;
use crate::play::Scene;
use crate::wire::chat::BASH_AND_PATCH;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const OPENCODE: ClientKind = ClientKind {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    companions: &[],
    program: "node_modules/opencode-linux-x64/bin/opencode",
    wire: &BASH_AND_PATCH,
    folder: ".config/opencode",
    furnish,
    command,
};

/// Writes a configuration, and the mark of an installed package of types: the client waits for a
/// minute to install it where there is no network.
fn furnish(scene: &Scene, url: &str) -> Result<()> {
    let folder = scene.home().join(".config/opencode");
    fs::create_dir_all(folder.join("node_modules"))?;
    let settings = json!({"$schema": "https://opencode.ai/config.json",
        "model": "scripted/scripted", "autoupdate": false, "share": "disabled",
        "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
            "models": {"scripted": {"name": "scripted"}}}}});
    fs::write(folder.join("opencode.json"), settings.to_string())?;
    let types = json!({"@opencode-ai/plugin": OPENCODE.version});
    fs::write(folder.join("package.json"), json!({ "dependencies": types }).to_string())?;
    let lock = json!({"name": "own", "lockfileVersion": 3,
        "packages": {"": {"dependencies": types}}});
    fs::write(folder.join("package-lock.json"), lock.to_string())?;
    Ok(())
}

fn command(_scene: &Scene, program: &Path, prompt: &str, _url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["run", prompt, "--format", "json"])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command
}
