//! Tests of interventions that go back to a checkpoint: the host restores files, or a person does.

use super::{ON, act, each, explained, restored as put_back, site};
use crate::common::reply::{Answer, Reply};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_tests::{differing, tree};
use serde_json::{Value, json};
use std::fs;

/// The name, whether files are restored automatically, whether a person edits one of them first,
/// whether they are restored in the end.
type Rollback = (&'static str, bool, bool, bool);

/// Tests the message and the effect of a rollback. The agent rewrites files, then insists on one
/// that does not exist.
pub fn rollback() -> Result<()> {
    let rows: &[Rollback] = &[
        ("by-a-person", false, false, false),
        ("by-itself", true, false, true),
        ("edited", true, true, false),
    ];
    each(rows, |(name, auto, edit, back)| {
        let configuration = format!(
            "{ON}[interventions]\nstrategy = \"pattern_specific\"\nemergency_stop = false\nauto_rollback = {auto}\n"
        );
        let site = site(&format!("checkpoints-rollback-{name}"), &configuration)?;
        act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
        let before = tree(&site.project())?;
        act(&site, "s", "c2", "sh rewrite.sh")?;
        // It reaches further than files; nothing has to run for that.
        let push = "git push origin main";
        site.hook(&site.calls("s").bash("c3", push))?;
        site.hook(&site.calls("s").bash_done("c3", push, ""))?;
        let after = tree(&site.project())?;
        if *edit {
            fs::write(site.project().join("many/7.txt"), "a person's words\n")?;
        }
        let answered =
            insist(&site)?.with_context(|| format!("{name}: no intervention goes back"))?;
        let now = tree(&site.project())?;
        let record = site
            .shown(&["--kind", "intervention"])?
            .into_iter()
            .rfind(|record| record["subject"] == "checkpoint_rollback");
        let record = record.context("no record")?;
        let intervention = &record["intervention"];
        ensure!(
            intervention["response"]["rollback"]["checkpoint"] == "c2"
                && intervention["outcome"] == "restore",
            "{name}: {record}"
        );
        let restored = &intervention["restored"];
        let page = explained(&site, &record)?;
        ensure!(page.contains("put back") == *auto, "{name}: {page}");
        let next = site.hook(&site.calls("s").bash("next", "touch new.txt"))?;
        ensure!((next.answer == Answer::Asked) != *back, "{name}: {next:?}");
        if *back {
            ensure!(differing(&before, &now).is_empty(), "{name}: {:?}", differing(&before, &now));
            ensure!(
                restored["paths"].as_u64().is_some_and(|paths| paths > 300)
                    && restored["problem"].is_null(),
                "{name}: {record}"
            );
            answered.says(&[
                "restored to the state before it: ",
                "what the steps from 1 to ",
                "not undone, since no file holds it: step 2, `git push origin main` (published",
                "The conversation was not rewound",
                "portcullis checkpoint restore undo-",
            ])?;
            put_back(&site, restored["undo"].as_str().context("no undo")?, &[])?;
            ensure!(tree(&site.project())? == after, "{name}: going back cannot be undone");
        } else {
            answered.says(&["`portcullis checkpoint restore c2`"])?;
            ensure!(
                fs::read_to_string(site.project().join("many/8.txt"))? == "rewritten\n",
                "{name}: something was put back"
            );
            ensure!(
                restored["problem"]
                    .as_str()
                    .is_some_and(|why| why.contains("many/7.txt") && why.contains("changed since"))
                    == *auto,
                "{name}: {record}"
            );
            put_back(&site, "c2", if *edit { &["--force"] } else { &[] })?;
            let now = tree(&site.project())?;
            ensure!(differing(&before, &now).is_empty(), "{name}: {:?}", differing(&before, &now));
        }
        site.verify()
    })
}

/// Requests a missing file until an intervention rolls back; returns the hook's last answer.
fn insist(site: &Site) -> Result<Option<Reply>> {
    for attempt in 0..8 {
        let (id, command) = (format!("missing-{attempt}"), "cat missing.txt");
        site.hook(&site.calls("s").bash(&id, command))?;
        let error = "Exit code 1\ncat: missing.txt: No such file or directory";
        let reply = site.hook(&site.calls("s").bash_failed(&id, command, error))?;
        if site
            .shown(&["--kind", "intervention"])?
            .iter()
            .any(|record| record["subject"] == "checkpoint_rollback")
        {
            return Ok(Some(reply));
        }
    }
    Ok(None)
}

/// Acts on a missing file first cut a hundred writes to seventy, and then go back.
const TIGHTENS: &str = "[interventions]
auto_rollback = true
escalation_delay_steps = 0
ladders.hallucination = [\"resource_throttling\", \"checkpoint_rollback\", \"checkpoint_rollback\", \"checkpoint_rollback\"]
";

/// A rollback restores the limits of the checkpoint, and their use begins again.
pub fn limits() -> Result<()> {
    let site = site("checkpoints-rollback-limits", &format!("{ON}{TIGHTENS}"))?;
    act(&site, "s", "c1", "sed -i s/main/other/ src/main.rs")?;
    act(&site, "s", "c2", "sh rewrite.sh")?;
    let answered = insist(&site)?.context("no intervention goes back")?;
    answered.says(&["the limits are those of the checkpoint again: "])?;
    let limits = |record: &Value| record["intervention"]["response"].to_string();
    let given = site.shown(&["--kind", "intervention"])?;
    let tightening = given.iter().position(|record| record["subject"] == "resource_throttling");
    let back = given.iter().position(|record| record["subject"] == "checkpoint_rollback");
    ensure!(tightening.is_some() && tightening < back, "{given:?}");
    let tightened = tightening.and_then(|index| given.get(index)).map(limits).unwrap_or_default();
    ensure!(tightened.contains("\"maximum\":70"), "{tightened}");
    let asked = json!({ "session_id": "s", "cwd": site.project() }).to_string();
    let status = site.feed(&["status", "--json"], asked.as_bytes())?;
    let status: Value = serde_json::from_slice(&status.stdout)?;
    let files = json!({ "quantity": "file-operations", "maximum": 100, "used": 0 });
    let shown = status["limits"].as_array().into_iter().flatten().next();
    ensure!(shown == Some(&files), "{shown:?}");
    site.verify()
}
