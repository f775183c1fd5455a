//! OpenCode and Kilo CLI under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::chat::BASH_AND_PATCH;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const OPENCODE: ClientKind = ClientKind {
    name: "opencode",
    display_name: "OpenCode",
    package: "opencode-ai",
    version: "1.18.33",
    companions: &[],
    install_command: "npm install --global opencode-ai",
    start_command: "opencode",
    trust: "nothing",
    program: "node_modules/opencode-linux-x64/bin/opencode",
    managed: None,
    exports: true,
    same_plugin: None,
    wire: &BASH_AND_PATCH,
    folder: ".config/opencode",
    furnish: |site, url| furnish(site, url, "opencode", OPENCODE_FORMS),
    command: |_, program, prompt, _| command(program, prompt, "OPENCODE"),
};

/// The package is the one with the program itself: the registry may have no package of that version
/// that names it.
pub(crate) const KILO: ClientKind = ClientKind {
    name: "kilo",
    display_name: "Kilo CLI",
    package: "@kilocode/cli-linux-x64",
    version: "7.7.9",
    companions: &[],
    install_command: "npm install --global @kilocode/cli",
    start_command: "kilo",
    trust: "nothing",
    program: "node_modules/@kilocode/cli-linux-x64/bin/kilo",
    managed: None,
    exports: true,
    same_plugin: Some(&OPENCODE),
    wire: &BASH_AND_PATCH,
    folder: ".config/kilo",
    furnish: |site, url| furnish(site, url, "kilo", KILO_FORMS),
    command: |_, program, prompt, _| command(program, prompt, "KILO"),
};

/// A model whose name makes the client offer a tool for patches, in place of those that edit.
const PATCHING: &str = "gpt-5-scripted";

/// The schema that the client adds to its settings, and its package of types.
const OPENCODE_FORMS: [&str; 2] = ["https://opencode.ai/config.json", "@opencode-ai/plugin"];
const KILO_FORMS: [&str; 2] = ["https://app.kilo.ai/config.json", "@kilocode/plugin"];

/// Writes a configuration with all that Kilo CLI would add to it, and the marks of an installed
/// package of types: where there is no network, the client tries for a minute to install it.
fn furnish(site: &Site, url: &str, name: &str, [schema, types]: [&str; 2]) -> Result<()> {
    let folder = site.home().join(".config").join(name);
    fs::create_dir_all(folder.join("node_modules"))?;
    let settings = json!({"$schema": schema, "model": "scripted/scripted", "autoupdate": false,
        "share": "disabled", "permission": {"bash": "allow"},
        "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
            "models": {"scripted": {"name": "scripted"}, PATCHING: {"name": "patching"}}}}});
    fs::write(folder.join(format!("{name}.json")), settings.to_string())?;
    let lock = json!({"packages": {"": {"dependencies": {types: "*"}}}});
    fs::write(folder.join("package-lock.json"), lock.to_string())?;
    Ok(())
}

fn command(program: &Path, prompt: &str, variables: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["run", prompt, "--format", "json"])
        .env(format!("{variables}_DISABLE_AUTOUPDATE"), "1")
        .env(format!("{variables}_DISABLE_MODELS_FETCH"), "1");
    command
}
