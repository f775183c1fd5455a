//! Settings with comments, of clients that read them: they are edited as others are, and no comment
//! is lost.

use super::{done, uninstall, write};
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::PathBuf;

/// The clients that read comments, each with its folder.
const CLIENTS: &[(&str, &str)] = &[("gemini", ".gemini"), ("qwen", ".qwen")];

pub fn tests() -> Vec<Trial> {
    vec![
        trial("install: comments stay, and come back byte for byte", there_and_back),
        trial("install: comments stay when the file changed since", changed_since),
        trial("install refused: what no comment excuses", refused),
    ]
}

/// Settings with comments before, between and after values.
const COMMENTED: &[(&str, &str)] = &[
    ("before", "// mine, of 2026\n/* and\n   more */\n{\n  \"model\": {}\n}\n"),
    ("between", "{\n  \"model\": {}, // \"x\": 1,\n  /* a */ \"ui\": /* b */ {} /* c */\n}\n"),
    ("at the end of the object", "{\n  \"model\": {} // the last\n  // and nothing else\n}\n"),
    ("after", "{\n  \"model\": {}\n}\n// \"hooks\": {}\n"),
    ("alone in it", "{\n  // \"hooks\": {}\n}\n"),
    ("in one line", "{\"model\": {} /* } */}"),
    ("in hooks", "{\r\n\t\"hooks\": { // none yet\r\n\t}\r\n}\r\n"),
    ("in strings too", "{\n  \"a\": \"// /* \\\" \", // \"\n  \"b\": \"*/\"\n}\n"),
];

fn settings(site: &Site, folder: &str) -> PathBuf {
    site.person().join(folder).join("settings.json")
}

fn there_and_back() -> Result<()> {
    for (client, folder) in CLIENTS {
        for (name, before) in COMMENTED {
            let site = Site::new(&format!("{client} comments {name}"))?;
            let path = settings(&site, folder);
            write(&path, before.as_bytes())?;
            let install = ["install", client, "--yes"];
            done(&site.run(&install)?, "installed in")?;
            let installed = fs::read_to_string(&path)?;
            for line in before.lines().map(str::trim).filter(|line| line.starts_with("//")) {
                ensure!(installed.contains(line), "{client}, {name}: {installed}");
            }
            done(&site.run(&install)?, "already installed")?;
            let handlers = installed.matches(" hook ").count();
            ensure!(handlers >= 6, "{client}, {name}: {handlers} handlers in {installed}");
            uninstall(&site, &["uninstall", client])?;
            let after = fs::read_to_string(&path)?;
            ensure!(after == *before, "{client}, {name}: left {after:?}");
        }
    }
    Ok(())
}

fn changed_since() -> Result<()> {
    for (client, folder) in CLIENTS {
        for (name, before) in COMMENTED {
            let site = Site::new(&format!("{client} changed comments {name}"))?;
            let path = settings(&site, folder);
            write(&path, before.as_bytes())?;
            done(&site.run(&["install", client, "--yes"])?, "installed in")?;
            // A new comment at either end: the kept copy is not the original any more.
            let installed = fs::read_to_string(&path)?;
            write(&path, format!("/* new */ {installed}// new").as_bytes())?;
            uninstall(&site, &["uninstall", client])?;
            let after = fs::read_to_string(&path)?;
            ensure!(after == format!("/* new */ {before}// new"), "{client}, {name}: {after:?}");
        }
    }
    Ok(())
}

fn refused() -> Result<()> {
    for (client, folder) in CLIENTS {
        for before in
            ["{\"a\": 1, /* b */}", "{\"a\": 1,}", "{'a': 1}", "# a\n{}", "{\"a\": 1 / 2}"]
        {
            let site = Site::new(&format!("{client} refused comments"))?;
            let path = settings(&site, folder);
            write(&path, before.as_bytes())?;
            let ended = site.run(&["install", client, "--yes"])?;
            let reason = "with comments but without trailing commas";
            let said = ended.text() + &ended.stderr;
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            ensure!(ended.code == Some(1) && said.contains(reason), "{client}: {said}");
            ensure!(fs::read_to_string(&path)? == before, "the file was changed");
        }
    }
    Ok(())
}
