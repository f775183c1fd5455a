//! `portcullis undo`: the last action that changed files, and everything since a request.

use super::shapes::undo;
use super::{act, listed, restored, same, shell, site};
use crate::common::reply::Answer;
use anyhow::{Context, Result, ensure};
use portcullis_tests::tree;
use serde_json::json;
use std::fs;

/// Each undo goes one action further back, and skips those that changed nothing.
pub fn last() -> Result<()> {
    let site = site("checkpoints-undo-last", "")?;
    let start = tree(&site.project())?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    let middle = tree(&site.project())?;
    act(&site, "s", "c2", "sh rewrite.sh")?;
    let end = tree(&site.project())?;
    act(&site, "s", "c3", "sh -c ./nothing || true")?;
    act(&site, "s", "c4", "cat rewrite.sh")?;
    ensure!(listed(&site)?.iter().any(|one| one["id"] == "c3" && one["changes"] == 0));
    let planned = site.output(&["undo", "--dry-run", "--json"])?;
    ensure!(planned.contains("\"checkpoint\":\"c2\"") && tree(&site.project())? == end);
    let first = undo(&site, &[])?;
    ensure!(first["checkpoint"] == "c2" && first["whole_folders"] == true, "{first}");
    same(&site, &middle)?;
    let second = undo(&site, &[])?;
    ensure!(second["checkpoint"] == "c1", "{second}");
    same(&site, &start)?;
    let third = site.run(&["undo", "--yes"])?;
    ensure!(
        third.code == Some(1) && third.all().contains("there is nothing to undo"),
        "{}",
        third.all()
    );
    restored(&site, second["undo"].as_str().context("no undo")?, &[])?;
    same(&site, &middle)?;
    undo(&site, &[])?;
    same(&site, &start)?;
    // A later edit by the person is not the agent's, and stays.
    fs::write(site.project().join("src/main.rs"), "a person's words\n")?;
    ensure!(site.run(&["undo", "--yes"])?.code == Some(1));
    ensure!(fs::read_to_string(site.project().join("src/main.rs"))? == "a person's words\n");
    site.verify()
}

/// Everything since the newest request comes back at once, with one id that undoes it.
pub fn since_request() -> Result<()> {
    let site = site("checkpoints-undo-prompt", "")?;
    let outside = site.person().join("notes.txt");
    fs::write(&outside, "mine\n")?;
    site.hook(&site.calls("s").prompt("Rename it."))?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    let before = tree(&site.project())?;
    site.hook(&site.calls("s").prompt("Rewrite all files, and note it."))?;
    act(&site, "s", "c2", "sed -i s/other/third/ src/main.rs")?;
    act(&site, "s", "c3", "sh rewrite.sh")?;
    let write = json!({ "file_path": outside, "content": "its\n" });
    site.hook(&site.calls("s").before("c4", "Write", write.clone()))?;
    fs::write(&outside, "its\n")?;
    let done = json!({ "tool_name": "Write", "tool_input": write, "tool_response": {}, "tool_use_id": "c4" });
    site.hook(&site.calls("s").event("PostToolUse", done))?;
    let after = tree(&site.project())?;
    let shown = site.output(&["undo", "--prompt", "--dry-run"])?;
    ensure!(shown.contains("3 actions since your request") && shown.contains("Rewrite all files"));
    let undone = undo(&site, &["--prompt"])?;
    same(&site, &before)?;
    ensure!(fs::read_to_string(&outside)? == "mine\n", "{undone}");
    ensure!(undone["checkpoint"] == "c2" && undone["not_restored"] == json!([]), "{undone}");
    restored(&site, undone["undo"].as_str().context("no undo")?, &[])?;
    same(&site, &after)?;
    undo(&site, &["--prompt", "--only", "many"])?;
    ensure!(
        fs::read_to_string(site.project().join("many/1.txt"))? == "number 1\n"
            && site.project().join("new/er/x").exists()
    );
    site.verify()
}

/// A restore names what it could not bring back, and what nobody looked at.
pub fn named_losses() -> Result<()> {
    let site = site("checkpoints-undo-losses", "[checkpoints]\nmax_file_mb = 1\n")?;
    shell(&site, "git init -q . && mkdir cache && echo cache/ > .gitignore && echo big > cache/x")?;
    fs::write(site.project().join("big"), vec![b'x'; 3 << 20])?;
    act(&site, "s", "c1", "sh rewrite.sh && echo small > big && echo other > cache/x")?;
    let planned = site.output(&["undo", "--dry-run"])?;
    ensure!(planned.contains("not restored: 1 path") && planned.contains("too large"), "{planned}");
    let text = site.output(&["undo", "--yes"])?;
    for words in ["not restored: 1 path", "/big: ", "too large", "not covered", "/cache: "] {
        ensure!(text.contains(words), "no `{words}`: {text}");
    }
    ensure!(fs::read_to_string(site.project().join("many/1.txt"))? == "number 1\n");
    // Nothing else is to be undone, so the loss is named once more.
    let again = undo(&site, &[])?;
    ensure!(again["not_restored"].to_string().contains("/big"), "{again}");
    ensure!(again["not_covered"].to_string().contains("/cache"), "{again}");
    Ok(())
}

/// An agent may not undo, and another project has nothing to undo.
pub fn for_a_person() -> Result<()> {
    let site = site("checkpoints-undo-person", "")?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    let after = tree(&site.project())?;
    let reply = site.hook(&site.calls("s").bash("c2", "portcullis undo --yes"))?;
    ensure!(matches!(reply.answer, Answer::Refused | Answer::Stopped), "{reply:?}");
    let mut command = site.command(&["undo", "--yes"]);
    let output = command.env("CLAUDECODE", "1").output()?;
    ensure!(
        output.status.code() == Some(1)
            && String::from_utf8_lossy(&output.stderr).contains("only a person may")
    );
    let elsewhere = site.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".git"))?;
    let mut command = site.command(&["undo", "--yes"]);
    let output = command.current_dir(&elsewhere).output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1) && text.contains("nothing to undo"), "{text}");
    same(&site, &after)
}
