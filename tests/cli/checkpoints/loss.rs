//! Irreversible destruction raises an action's risk, and deleted files that git ignores are saved.

use super::{ON, act, each, explained, restored, shell, site};
use crate::common::reply::Answer;
use anyhow::{Context, Result, ensure};
use portcullis_tests::{differing, tree};
use std::fs;

/// A configuration under which nothing else objects to a deletion.
const MILD: &str = "[risk]\nmedium = 0.95\nhigh = 0.95\n";

/// The obstacle, the command, whether a person is asked, and the message for the agent; empty if
/// the command runs silently.
type Loss = (&'static str, &'static str, &'static str, bool, &'static [&'static str]);

pub fn irreversible() -> Result<()> {
    const LARGE: &str = "max_file_mb = 1\n";
    const ASK: &str = "max_file_mb = 1\non_failure = \"ask\"\n";
    const IGNORE: &str = "max_file_mb = 1\non_failure = \"ignore\"\n";
    let rows: &[Loss] = &[
        (
            "large",
            LARGE,
            "rm big",
            false,
            &["this cannot be undone", "/big", "too large", "checkpoints.max_file_mb"],
        ),
        ("large-overwritten", LARGE, "echo small > big", false, &["this cannot be undone", "/big"]),
        ("large-glob", LARGE, "rm b*", false, &["this cannot be undone", "/big"]),
        ("large-moved-over", LARGE, "mv rewrite.sh big", false, &["this cannot be undone", "/big"]),
        ("large-asked", ASK, "rm big", true, &["this cannot be undone", "/big", "too large"]),
        ("large-ignored", IGNORE, "rm big", false, &[]),
        ("large-beside", LARGE, "rm src/main.rs", false, &[]),
        ("large-beside-glob", LARGE, "rm many/*.txt", false, &[]),
        ("large-opaque", LARGE, "sh rewrite.sh", false, &[]),
        ("whole", "", "rm big", false, &[]),
        (
            "no-time",
            "budget_ms = 1\n",
            "rm many/*.txt",
            false,
            &["this cannot be undone", "not reached in time", "checkpoints.budget_ms"],
        ),
        (
            "full",
            "max_total_mb = 1\n",
            "rm big",
            false,
            &["this cannot be undone", "the vault is full", "checkpoints.max_total_mb"],
        ),
        (
            "in-the-way",
            "",
            "rm src/main.rs",
            false,
            &["this cannot be undone", "none of them could be saved", "portcullis doctor"],
        ),
        ("in-the-way-made", "", "touch new", false, &[]),
    ];
    each(rows, |(name, configuration, command, asked, words)| {
        let site =
            site(&format!("checkpoints-lost-{name}"), &format!("{ON}{configuration}{MILD}"))?;
        fs::write(site.project().join("big"), vec![b'x'; 3 << 20])?;
        if name.starts_with("in-the-way") {
            fs::write(site.state().join("checkpoints"), "in the way")?;
        }
        let reply = site.hook(&site.calls("s").bash("c", command))?;
        let mentioned = !words.is_empty();
        ensure!((reply.answer == Answer::Asked) == *asked, "{name}: {reply:?}");
        ensure!(words.iter().all(|word| reply.said.contains(word)), "{name}: {reply:?}");
        ensure!(mentioned || !reply.said.contains("this cannot be undone"), "{name}: {reply:?}");
        let records = site.shown(&["--kind", "review"])?;
        let record = records.first().context("no record")?;
        let expected = if *asked { "ask" } else { "warn" };
        ensure!(!mentioned || record["verdict"] == expected, "{name}: {record}");
        ensure!(mentioned || record["verdict"] == "allow", "{name}: {record}");
        let noted = record["checkpoint"]["irreversible"].is_string();
        ensure!(noted == (mentioned || *name == "large-ignored"), "{name}: {record}");
        let page = explained(&site, record)?;
        ensure!(page.contains("this cannot be undone") == noted, "{name}: {page}");
        // A replay has no disk, so it uses the record.
        let export = site.root().join("export.jsonl");
        site.output(&["audit", "export", "--output", &export.to_string_lossy()])?;
        let replayed = site.output(&["replay", "--json", &export.to_string_lossy()])?;
        ensure!(!mentioned || replayed.contains("this cannot be undone"), "{name}: {replayed}");
        site.verify()
    })
}

pub fn ignored_and_deleted() -> Result<()> {
    let rows = [
        ("clean", "", "git clean -fdxq", true),
        ("beside", "", "rm -rf cache && sh rewrite.sh", true),
        ("opaque", "", "sh rewrite.sh && python3 wipe.py", false),
        ("opaque-kept", "ignored = \"keep\"\n", "sh rewrite.sh && python3 wipe.py", true),
    ];
    each(&rows, |(name, configuration, command, back)| {
        let site = site(
            &format!("checkpoints-deleted-{name}"),
            &format!("{ON}{configuration}{MILD}[rules]\nbuiltin = \"none\"\n"),
        )?;
        shell(
            &site,
            "git init -q . && mkdir -p cache/a node_modules/b && echo big > cache/a/x && echo module > node_modules/b/y",
        )?;
        fs::write(site.project().join(".gitignore"), "cache/\nnode_modules/\n.env\n")?;
        fs::write(site.project().join(".env"), "A=1\n")?;
        fs::write(
            site.project().join("wipe.py"),
            "import shutil\nshutil.rmtree(open('target').read())\n",
        )?;
        fs::write(site.project().join("target"), "cache")?;
        let before = tree(&site.project())?;
        act(&site, "s", "c", command)?;
        ensure!(!site.project().join("cache").exists(), "{name}: nothing was deleted");
        restored(&site, "c", &[])?;
        let now = tree(&site.project())?;
        let lost = differing(&before, &now);
        ensure!(
            lost.is_empty() == *back && lost.iter().all(|path| path.starts_with("cache")),
            "{name}: {lost:?}"
        );
        Ok(())
    })
}
