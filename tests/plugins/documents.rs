//! Runs the commands of the guide for authors in its order, and checks that they print the output
//! that the guide shows.

use crate::common::documents::{Shown, commands, settled, words};
use crate::common::process;
use crate::common::site::Site;
use crate::{LIMIT, tools};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

pub fn guide() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/first-plugin.md");
    let shown = commands(&fs::read_to_string(page)?);
    ensure!(shown.len() >= 5, "the guide shows only {} commands", shown.len());
    let site = Site::new("guide")?;
    let mut folder = site.root().to_owned();
    for Shown { command, output } in &shown {
        let words = words(command);
        let Some((program, arguments)) = words.split_first() else { continue };
        if program == "cd" {
            folder.push(arguments.first().context("`cd` without a folder")?);
            // Replaces the command that installs the language's tools.
            tools::lend("rust", &folder)?;
            continue;
        }
        ensure!(program == "portcullis", "the guide runs `{program}`");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut run = site.command(&arguments);
        run.current_dir(&folder).envs(tools::environment());
        let ended = process::run(run, b"", LIMIT)?;
        ensure!(ended.stderr.is_empty() || ended.code == Some(0), "`{command}`: {}", ended.all());
        let now = ended.text().replace(&site.root().display().to_string(), "/work");
        ensure!(
            settled(&now).contains(&settled(output.trim())),
            "`{command}` prints\n{now}\nand the guide shows\n{output}"
        );
    }
    Ok(())
}
