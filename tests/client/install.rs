//! Finds the pinned client, or installs it from the npm registry. An existing client is never
//! updated.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

use portcullis_tests::programs::{CLAUDE_VERSION, find_installed};

/// Returns the client's program, from `PORTCULLIS_TEST_CLAUDE`, from the folder of clients
/// (`AGENT_CLIENTS`, by default `~/.cache/agent-clients`), or newly installed there.
pub(crate) fn client() -> Result<PathBuf> {
    if let Some(path) = env::var_os("PORTCULLIS_TEST_CLAUDE").map(PathBuf::from) {
        ensure!(
            path.is_file(),
            "there is no file `{}`: set PORTCULLIS_TEST_CLAUDE to the client's native program",
            path.display()
        );
        return Ok(path);
    }
    let package = format!("@anthropic-ai/claude-code@{CLAUDE_VERSION}");
    let program = find_installed(&format!("claude-{CLAUDE_VERSION}"), &program()?, &[&package])?;
    let version = version(&program)?;
    ensure!(
        version.starts_with(CLAUDE_VERSION),
        "`{}` is version `{version}`, not {CLAUDE_VERSION}: remove its folder of packages",
        program.display()
    );
    Ok(program)
}

fn program() -> Result<String> {
    let system = match env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => {
            return Err(anyhow!(
                "the client is not packaged for `{other}` in a way this test knows"
            ));
        }
    };
    let processor = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(anyhow!("the client is not packaged for `{other}`")),
    };
    Ok(format!("node_modules/@anthropic-ai/claude-code-{system}-{processor}/claude"))
}

fn version(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
