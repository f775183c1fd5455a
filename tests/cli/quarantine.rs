//! Tests that quarantined files are restored to their original places, and nowhere else.

use crate::common::reply::Answer as Reply;
use crate::common::site::{Site, lines};
use crate::common::terminal::Answer;
use crate::common::trial;
use crate::incidents::maintain;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("quarantine: a deleted folder is moved, listed and put back", there_and_back),
        trial("quarantine: several folders, of one name too", several),
        trial("quarantine: obstacles are named, and kept with --force", in_the_way),
        trial("quarantine: a partial restore moves nothing", all_or_nothing),
        trial("quarantine: no link leads a restore or a purge elsewhere", links),
        trial("quarantine: it is emptied after its days, and by a person", emptied),
        trial("quarantine: its index outlives the journal", outlives),
        trial("quarantine: restoring and deleting for good are a person's", for_a_person),
    ]
}

fn site(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    for folder in ["data/deep", "a/x", "b/x"] {
        fs::create_dir_all(site.project().join(folder))?;
        fs::write(site.project().join(folder).join("file.txt"), format!("in {folder}\n"))?;
    }
    Ok(site)
}

/// Lets the agent delete: the hook's version of the command runs.
fn delete(site: &Site, id: &str, command: &str) -> Result<()> {
    let reply = site.hook(&site.calls("s").bash(id, command))?;
    ensure!(reply.answer == Reply::Rewritten, "`{command}`: {reply:?}");
    let run = reply
        .body
        .pointer("/hookSpecificOutput/updatedInput/command")
        .and_then(Value::as_str)
        .context("no command")?;
    let status = Command::new("/bin/sh").args(["-c", run]).current_dir(site.project()).status()?;
    ensure!(status.success(), "`{run}`");
    site.hook(&site.calls("s").bash_done(id, run, "")).map(drop)
}

fn listed(site: &Site) -> Result<Vec<Value>> {
    lines(&site.output(&["quarantine", "list", "--json"])?)
}

fn newest(site: &Site) -> Result<Value> {
    Ok(serde_json::from_str(&site.output(&["quarantine", "show", "last", "--json"])?)?)
}

fn holds(site: &Site, path: &str, text: &str) -> Result<()> {
    let found = fs::read_to_string(site.project().join(path)).unwrap_or_default();
    ensure!(found == text, "`{path}` holds {found:?}");
    Ok(())
}

fn there_and_back() -> Result<()> {
    let site = site("quarantine-back")?;
    ensure!(site.output(&["quarantine", "list"])?.contains("nothing was moved"));
    delete(&site, "c1", "rm -rf data")?;
    ensure!(!site.project().join("data").exists());
    let entry = newest(&site)?;
    ensure!(
        entry["standing"] == "kept" && entry["bytes"] == 13 && entry["session"] == "s",
        "{entry}"
    );
    ensure!(entry["moved"][0]["from"] == json!(site.project().join("data")), "{entry}");
    let record = site.shown(&["--verdict", "modify"])?;
    ensure!(
        record[0]["id"] == entry["id"] && record[0]["quarantined"] == entry["moved"],
        "{record:?}"
    );
    ensure!(site.output(&["quarantine", "list"])?.contains("kept"));
    ensure!(
        site.output(&["quarantine", "show", "last"])?.contains("portcullis quarantine restore")
    );
    site.output(&["quarantine", "restore", "last", "--yes"])?;
    holds(&site, "data/deep/file.txt", "in data/deep\n")?;
    ensure!(newest(&site)?["standing"] == "restored", "{}", newest(&site)?);
    let left: Vec<_> =
        fs::read_dir(site.project().join(".portcullis/quarantine"))?.collect::<Result<_, _>>()?;
    ensure!(left.iter().all(|entry| entry.file_name() == ".gitignore"), "{left:?}");
    let twice = site.run(&["quarantine", "restore", "last", "--yes"])?;
    ensure!(
        twice.code == Some(1) && twice.all().contains("nothing of the quarantine"),
        "{}",
        twice.all()
    );
    ensure!(
        site.shown(&["--kind", "configuration"])?
            .iter()
            .any(|record| record["subject"] == "quarantine-restore")
    );
    site.verify()
}

fn several() -> Result<()> {
    let site = site("quarantine-several")?;
    delete(&site, "c1", "rm -rf a/x b/x data")?;
    ensure!(!site.project().join("a/x").exists() && !site.project().join("b/x").exists());
    ensure!(
        newest(&site)?["moved"].as_array().is_some_and(|moved| moved.len() == 3),
        "{}",
        newest(&site)?
    );
    // A folder above one of them has been removed: it is created again.
    fs::remove_dir(site.project().join("b"))?;
    let done: Value = serde_json::from_str(&site.output(&[
        "quarantine",
        "restore",
        "last",
        "--yes",
        "--json",
    ])?)?;
    ensure!(done["restored"].as_array().is_some_and(|paths| paths.len() == 3), "{done}");
    for folder in ["a/x", "b/x", "data/deep"] {
        holds(&site, &format!("{folder}/file.txt"), &format!("in {folder}\n"))?;
    }
    Ok(())
}

fn in_the_way() -> Result<()> {
    let site = site("quarantine-in-the-way")?;
    delete(&site, "c1", "rm -rf data")?;
    fs::create_dir(site.project().join("data"))?;
    fs::write(site.project().join("data/newer.txt"), "newer\n")?;
    let id = newest(&site)?["id"].as_str().context("no id")?.to_owned();
    let refused = site.run(&["quarantine", "restore", &id, "--yes"])?;
    ensure!(
        refused.code == Some(1) && refused.all().contains("project/data: something is there now"),
        "{}",
        refused.all()
    );
    let refused: Value = serde_json::from_slice(
        &site.run(&["quarantine", "restore", &id, "--yes", "--json"])?.stdout,
    )?;
    ensure!(
        refused["outcome"] == "refused"
            && refused["refused"].as_array().is_some_and(|all| all.len() == 1),
        "{refused}"
    );
    holds(&site, "data/newer.txt", "newer\n")?;
    let forced: Value = serde_json::from_str(&site.output(&[
        "quarantine",
        "restore",
        &id,
        "--yes",
        "--force",
        "--json",
    ])?)?;
    holds(&site, "data/deep/file.txt", "in data/deep\n")?;
    ensure!(!site.project().join("data/newer.txt").exists());
    let replaced = forced["replaced"].as_str().context("nothing was kept")?;
    fs::remove_dir_all(site.project().join("data"))?;
    site.output(&["quarantine", "restore", replaced, "--yes"])?;
    holds(&site, "data/newer.txt", "newer\n")
}

fn all_or_nothing() -> Result<()> {
    let site = site("quarantine-all")?;
    delete(&site, "c1", "rm -rf a/x b/x")?;
    fs::remove_dir(site.project().join("b"))?;
    fs::write(site.project().join("b"), "a file now\n")?;
    let refused = site.run(&["quarantine", "restore", "last", "--yes", "--force"])?;
    ensure!(
        refused.code == Some(1) && refused.all().contains("b/x: a folder above it"),
        "{}",
        refused.all()
    );
    ensure!(!site.project().join("a/x").exists(), "a part was put back");
    ensure!(newest(&site)?["standing"] == "kept");
    fs::remove_file(site.project().join("b"))?;
    site.output(&["quarantine", "restore", "last", "--yes"])?;
    holds(&site, "a/x/file.txt", "in a/x\n")
}

fn links() -> Result<()> {
    let site = site("quarantine-links")?;
    let (project, outside) = (site.project(), site.root().join("outside"));
    fs::create_dir(&outside)?;
    delete(&site, "c1", "rm -rf a/x")?;
    fs::remove_dir(project.join("a"))?;
    symlink(&outside, project.join("a"))?;
    let refused = site.run(&["quarantine", "restore", "last", "--yes", "--force"])?;
    ensure!(
        refused.code == Some(1) && refused.all().contains("a/x: a folder above it is a link"),
        "{}",
        refused.all()
    );
    ensure!(fs::read_dir(&outside)?.next().is_none(), "it left the project");
    // The quarantine itself is replaced by a link to another folder of that name.
    let id = newest(&site)?["id"].as_str().context("no id")?.to_owned();
    let quarantine = project.join(".portcullis/quarantine");
    fs::create_dir_all(outside.join(&id).join("x"))?;
    fs::write(outside.join(&id).join("x/precious"), "precious\n")?;
    fs::rename(&quarantine, project.join(".portcullis/elsewhere"))?;
    symlink(&outside, &quarantine)?;
    for arguments in
        [&["quarantine", "purge", &id, "--yes"][..], &["quarantine", "restore", &id, "--yes"]]
    {
        site.run(arguments)?;
        ensure!(outside.join(&id).join("x/precious").exists(), "{arguments:?}");
    }
    Ok(())
}

fn emptied() -> Result<()> {
    let site = site("quarantine-emptied")?;
    // The test changes the entries as they are written.
    site.output(&["encryption", "off", "--yes"])?;
    symlink(site.person(), site.project().join("data/link"))?;
    fs::write(site.person().join("letter"), "dear\n")?;
    delete(&site, "c1", "rm -rf data")?;
    maintain(&site)?;
    ensure!(newest(&site)?["standing"] == "kept");
    let id = newest(&site)?["id"].as_str().context("no id")?.to_owned();
    age(&site, &id)?;
    site.write("config.toml", "[quarantine]\nkept_days = 0\n")?;
    maintain(&site)?;
    ensure!(newest(&site)?["standing"] == "kept", "0 days keep it");
    site.write("config.toml", "[quarantine]\nkept_days = 20000\n")?;
    maintain(&site)?;
    ensure!(newest(&site)?["standing"] == "purged", "{}", newest(&site)?);
    ensure!(site.person().join("letter").exists(), "a link was followed");
    for (arguments, purged) in [(vec!["--older", "1h"], 0), (vec!["last"], 1), (vec!["--all"], 2)] {
        (0..purged.min(1) + usize::from(purged == 2)).try_for_each(|index| {
            let folder = format!("more-{purged}-{index}");
            fs::create_dir(site.project().join(&folder))?;
            fs::write(site.project().join(&folder).join("x"), "x")?;
            delete(&site, &folder, &format!("rm -rf {folder}"))
        })?;
        let document: Value = serde_json::from_str(
            &site.output(&[&["quarantine", "purge", "--yes", "--json"], &*arguments].concat())?,
        )?;
        ensure!(
            document["purged"].as_array().is_some_and(|ids| ids.len() == purged),
            "{arguments:?}: {document}"
        );
    }
    site.verify()
}

/// Makes the metadata of a quarantine a lifetime old.
fn age(site: &Site, id: &str) -> Result<()> {
    let path = site.state().join(format!("quarantine/{id}.json"));
    let mut entry: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    entry["at"] = json!(1);
    Ok(fs::write(&path, entry.to_string())?)
}

fn outlives() -> Result<()> {
    let site = site("quarantine-outlives")?;
    delete(&site, "c1", "rm -rf data")?;
    maintain(&site)?;
    site.forget_journal()?;
    ensure!(listed(&site)?.len() == 1);
    let id = newest(&site)?["id"].as_str().context("no id")?.to_owned();
    fs::write(site.state().join("quarantine/0000.json"), "{")?;
    let listing = site.run(&["quarantine", "list"])?;
    ensure!(
        listing.code == Some(0)
            && listing.text().contains(&id)
            && listing.stderr.contains("0000.json"),
        "{}",
        listing.all()
    );
    site.output(&["quarantine", "restore", &id, "--yes"])?;
    holds(&site, "data/deep/file.txt", "in data/deep\n")
}

fn for_a_person() -> Result<()> {
    let site = site("quarantine-person")?;
    delete(&site, "c1", "rm -rf data")?;
    let kept = |site: &Site| {
        Ok::<_, anyhow::Error>(
            newest(site)?["standing"] == "kept"
                && !Path::new(&site.project()).join("data").exists(),
        )
    };
    for verb in ["restore", "purge"] {
        let asked = ["quarantine", verb, "last"];
        let ended = site.run(&asked)?;
        ensure!(
            ended.code == Some(1) && ended.all().contains("there is no terminal"),
            "{}",
            ended.all()
        );
        let yes = ["quarantine", verb, "last", "--yes"];
        site.at_a_terminal(&yes, Answer::Word, &[("CLAUDECODE", "1")])?
            .ended(1, &["only a person may"])?;
        site.at_a_terminal(&asked, Answer::Text("no"), &[])?.ended(1, &["not confirmed"])?;
        ensure!(kept(&site)?, "{verb}");
    }
    site.at_a_terminal(&["quarantine", "restore", "last"], Answer::Word, &[])?
        .ended(0, &["project/data", "put back"])
}
