//! Codex CLI under test.

use crate::client::ClientKind;
use crate::play::Site;
use crate::wire::responses::RESPONSES;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const CODEX: ClientKind = ClientKind {
    name: "codex",
    display_name: "Codex CLI",
    package: "@openai/codex",
    version: "0.169.0",
    companions: &[],
    install_command: "npm install --global @openai/codex",
    start_command: "codex",
    trust: "nothing: `install` records that you trust these hooks",
    program: "node_modules/.bin/codex",
    folder: ".codex",
    managed: Some("codex"),
    exports: false,
    same_plugin: None,
    wire: &RESPONSES,
    furnish,
    command,
};

/// A model of the client's own catalogue: one that it does not know gets no tool for patches.
const MODEL: &str = "codex-auto-review";

/// Writes a configuration with a comment and a table of the person's own, which have to survive.
fn furnish(site: &Site, url: &str) -> Result<()> {
    let folder = site.home().join(".codex");
    fs::create_dir_all(&folder)?;
    let text = format!(
        "# The person's own words.\n\
         model = \"{MODEL}\"\n\
         model_provider = \"scripted\"\n\
         check_for_update_on_startup = false\n\
         \n\
         [analytics]\n\
         enabled = false\n\
         \n\
         [model_providers.scripted]\n\
         name = \"scripted\"\n\
         base_url = \"{url}/v1\"\n\
         env_key = \"SCRIPTED_KEY\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 0\n\
         stream_max_retries = 0\n"
    );
    fs::write(folder.join("config.toml"), text)?;
    Ok(())
}

fn command(site: &Site, program: &Path, prompt: &str, _url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["exec", "--json", "--skip-git-repo-check"])
        .arg("--dangerously-bypass-approvals-and-sandbox")
        .arg(prompt)
        .env("CODEX_HOME", site.home().join(".codex"))
        .env("SCRIPTED_KEY", "none");
    command
}
