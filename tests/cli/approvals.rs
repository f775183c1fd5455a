//! Tests of actions that wait for a person: the answers, their ends, and rows that nobody of us
//! wrote. The hook is that of a client that does not ask; the person is at a terminal.

mod held;

use crate::common::reply::Answer as Reply;
use crate::common::terminal::Answer;
use crate::common::trial;
use anyhow::{Result, ensure};
use held::{DOUBTFUL, Place, await_waiting};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("approvals: a person allows, and exactly this action runs once", allowed),
        trial("approvals: allowed for a session, it is asked about in others only", in_session),
        trial("approvals: a person sees what would change", shows_changes),
        trial("approvals: two people are not one at a terminal", two_people),
        trial("approvals: a person denies, and the agent is told why", denied),
        trial("approvals: nobody answers in time, and the action does not run", expired),
        trial("approvals: nobody is there, and nobody waits", unasked),
        trial("approvals: a row that was changed or removed allows nothing", tampered),
        trial("approvals: two wait at once, and each gets its own answer", two_at_once),
        trial("approvals: an action that has changed is not the one that was allowed", changed),
        trial("approvals: a stopped session stays stopped", stopped),
        trial("approvals: what a supervised session does waits, too", supervised),
        trial("approvals: answers at the watching terminal", watched),
        trial("approvals: an agent can neither answer nor watch", by_agents),
        trial("approvals: a channel sends the question, and its reader is there", by_channel),
        trial("approvals: an agent's own loop waits too", own_loop),
    ]
}

fn allowed() -> Result<()> {
    let place = Place::new("approvals-allowed", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let waiting = await_waiting(site, 1)?;
    let id = waiting[0]["id"].as_str().unwrap_or_default().to_owned();
    ensure!(waiting[0]["client"] == "codex" && waiting[0]["session"] == "s", "{waiting:?}");
    let shown = site.output(&["approvals", "show", &id])?;
    ensure!(shown.contains("  | command:\n  | crontab -r\n") && shown.contains("why: "), "{shown}");
    // Nobody else waits meanwhile.
    site.ordinary("other")?;
    let said = ["approvals", "allow", &id, "--reason", "the jobs are old"];
    site.at_a_terminal(&said, Answer::Word, &[])?
        .ended(0, &["  | crontab -r", "Let exactly this run, once?", "allowed: it runs now"])?;
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Reply::Refused | Reply::Asked), "{reply:?}");
    let decided = reply.body.pointer("/hookSpecificOutput/permissionDecision");
    ensure!(decided.is_none(), "never a consent in the client: {reply:?}");
    place.send(&site.calls("s").bash_done("c1", DOUBTFUL, ""))?;
    let records = site.shown(&["--session", "s"])?;
    let kinds: Vec<&str> = records.iter().filter_map(|record| record["kind"].as_str()).collect();
    ensure!(kinds == ["review", "exception", "exception", "review", "outcome"], "{kinds:?}");
    let verdicts: Vec<&Value> = [0, 3].iter().map(|at| &records[*at]["verdict"]).collect();
    ensure!(verdicts == ["ask", "allow"], "{verdicts:?}");
    let (asked, said) = (&records[1]["details"], &records[2]["details"]);
    ensure!(asked["answer"] == "waiting" && asked["approval"] == id.as_str(), "{asked}");
    ensure!(said["answer"] == "allowed" && said["by"] == "a person at a terminal", "{said}");
    ensure!(said["reason"] == "the jobs are old" && said["review"] == records[0]["id"], "{said}");
    ensure!(records[3]["decision"]["adjustments"].to_string().contains(&id), "{}", records[3]);
    let detected: Vec<&Value> =
        records.iter().filter_map(|record| record["detections"].get(0)).collect();
    ensure!(detected.is_empty(), "{detected:?}");
    let story = site.output(&["explain", "last"])?;
    ensure!(story.contains("approval") && story.contains("a person allowed this once"), "{story}");
    let again = site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?;
    again.ended(1, &["was allowed at", "nothing waits for it", "portcullis allow"])?;
    ensure!(site.output(&["approvals", "list"])?.contains("nothing waits"));
    ensure!(site.output(&["approvals", "list", "--all"])?.contains("used"));
    let next = place.hold("s", "c2", DOUBTFUL)?;
    let waiting = await_waiting(site, 1)?;
    ensure!(waiting[0]["id"] != id.as_str(), "once is once");
    site.output(&["approvals", "deny", waiting[0]["id"].as_str().unwrap_or_default()])?;
    ensure!(next.reply()?.answer == Reply::Refused);
    site.verify()
}

fn in_session() -> Result<()> {
    let place = Place::new("approvals-session", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    let said = ["approvals", "allow", &id, "--session"];
    site.at_a_terminal(&said, Answer::Word, &[])?
        .ended(0, &["in the rest of its session?", "without a question in the rest"])?;
    ensure!(hook.reply()?.answer != Reply::Refused);
    place.send(&site.calls("s").bash_done("c1", DOUBTFUL, ""))?;
    let again = place.hold("s", "c2", DOUBTFUL)?.reply()?;
    ensure!(!matches!(again.answer, Reply::Refused | Reply::Asked), "{again:?}");
    let decided = again.body.pointer("/hookSpecificOutput/permissionDecision");
    ensure!(decided.is_none(), "never a consent in the client: {again:?}");
    // The same in another session, and another command in this one, are asked about.
    for (session, command) in [("other", DOUBTFUL), ("s", "crontab -r -u dev")] {
        let asked = place.hold(session, "c3", command)?;
        let next = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
        site.output(&["approvals", "deny", &next])?;
        ensure!(asked.reply()?.answer == Reply::Refused, "{session}: {command}");
    }
    let listed: Value = serde_json::from_str(site.output(&["allow", "--list", "--json"])?.trim())?;
    let exception = listed["id"].as_str().unwrap_or_default();
    ensure!(listed["session"] == "s" && exception.starts_with(&id), "{listed}");
    site.output(&["allow", "--revoke", exception])?;
    let revoked = place.hold("s", "c4", DOUBTFUL)?;
    let next = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    site.output(&["approvals", "deny", &next])?;
    ensure!(revoked.reply()?.answer == Reply::Refused);
    site.verify()
}

fn shows_changes() -> Result<()> {
    let place = Place::new("approvals-changes", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let folder = site.project().join("photos");
    fs::create_dir_all(folder.join("2024"))?;
    fs::write(folder.join("2024/one.jpg"), "x")?;
    let hook = place.hold("s", "c1", "rm -r photos && crontab -r")?;
    let waiting = await_waiting(site, 1)?;
    let changes = &waiting[0]["changes"];
    let whats: Vec<&str> =
        changes.as_array().into_iter().flatten().filter_map(|one| one["what"].as_str()).collect();
    let folder = folder.display().to_string();
    ensure!(whats.iter().any(|what| what.contains(&format!("deletes {folder}"))), "{whats:?}");
    let id = waiting[0]["id"].as_str().unwrap_or_default();
    let shown = site.output(&["approvals", "show", id])?;
    ensure!(shown.contains("  it deletes ") && shown.contains("2024/one.jpg"), "{shown}");
    site.output(&["approvals", "deny", id])?;
    ensure!(hook.reply()?.answer == Reply::Refused);
    site.verify()
}

fn two_people() -> Result<()> {
    let config = "approvals.wait_seconds = 60\napprovals.two_people = \"low\"\n";
    let place = Place::new("approvals-two", config)?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let waiting = await_waiting(site, 1)?;
    let id = waiting[0]["id"].as_str().unwrap_or_default().to_owned();
    ensure!(waiting[0]["people"] == 2, "{waiting:?}");
    for options in [&[][..], &["--session"]] {
        let said = [&["approvals", "allow", &id], options].concat();
        site.at_a_terminal(&said, Answer::Word, &[])?
            .ended(1, &["2 people have to allow this", "portcullis open"])?;
    }
    ensure!(await_waiting(site, 1)?[0]["id"] == id.as_str(), "it goes on waiting");
    // One person is enough to refuse.
    site.output(&["approvals", "deny", &id])?;
    ensure!(hook.reply()?.answer == Reply::Refused);
    ensure!(place.answers("s")? == ["waiting", "denied"]);
    site.verify()
}

fn denied() -> Result<()> {
    let place = Place::new("approvals-denied", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    let said =
        site.output(&["approvals", "deny", &id, "--reason", "use the staging host", "--json"])?;
    let said: Value = serde_json::from_str(&said)?;
    ensure!(said["state"] == "denied" && said["id"] == id.as_str(), "{said}");
    let reply = hook.reply()?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["denied it", &id, "use the staging host"])?;
    let twice = site.run(&["approvals", "deny", &id])?;
    ensure!(twice.code == Some(1) && twice.all().contains("was denied at"), "{}", twice.all());
    ensure!(place.answers("s")? == ["waiting", "denied"]);
    site.verify()
}

fn expired() -> Result<()> {
    let place = Place::new("approvals-expired", "approvals.wait_seconds = 1\n")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let reply = place.hold("s", "c1", DOUBTFUL)?.reply()?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["did not answer within 1 s", "portcullis allow"])?;
    // The client's timeout bounds the wait: the last 30 s of it belong to the review.
    site.write("config.toml", "approvals.wait_seconds = 60\n")?;
    let reply = place.hold_for(35, "t", "c1", DOUBTFUL)?.reply()?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["did not answer within"])?;
    ensure!(place.answers("s")? == ["waiting", "expired"]);
    let listed = site.output(&["approvals", "list", "--all", "--json"])?;
    let listed = crate::common::site::lines(&listed)?;
    ensure!(listed.len() == 2 && listed[0]["state"] == "expired", "{listed:?}");
    let id = listed[0]["id"].as_str().unwrap_or_default();
    site.at_a_terminal(&["approvals", "allow", id], Answer::Word, &[])?
        .ended(1, &["expired at"])?;
    site.verify()
}

fn unasked() -> Result<()> {
    let place = Place::new("approvals-unasked", "")?;
    let reply = place.hold("s", "c1", DOUBTFUL)?.reply()?;
    reply.says(&["nobody watches", "portcullis approvals watch", "portcullis allow"])?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    let watch = place.watch()?;
    // The hooks of an older installation: their client's timeout leaves no time.
    let reply = place.send(&place.site.calls("s").bash("c2", DOUBTFUL))?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["these hooks leave no time", "portcullis install"])?;
    place.site.write("config.toml", "approvals.wait_seconds = 0\n")?;
    place.hold("s", "c3", DOUBTFUL)?.reply()?.says(&["`approvals.wait_seconds` is 0"])?;
    // A client that asks by itself is left to it.
    ensure!(place.site.hook(&place.site.calls("t").bash("c4", DOUBTFUL))?.answer == Reply::Asked);
    drop(watch);
    ensure!(place.site.shown(&["--kind", "exception"])?.is_empty());
    place.site.verify()
}

fn tampered() -> Result<()> {
    // The row of another action, which a person allowed, with its seal.
    let other = "INSERT OR REPLACE INTO approvals SELECT (SELECT id FROM approvals WHERE state = 'waiting'), session, digest, asked_at, expires_at, document, state, ended_at, reason, seal FROM approvals WHERE state IN ('allowed', 'used')";
    let edited = "UPDATE approvals SET state = 'allowed' WHERE state = 'waiting'";
    let digest = "UPDATE approvals SET digest = 'x' WHERE state = 'waiting'";
    let removed = "DELETE FROM approvals WHERE state = 'waiting'";
    let place = Place::new("approvals-tampered", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("first", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?.ended(0, &["allowed"])?;
    ensure!(hook.reply()?.answer != Reply::Refused);
    for (at, (sql, says)) in [
        (other, "no answer can be read"),
        (edited, "no answer can be read"),
        (digest, "no answer can be read"),
        (removed, "is gone from the journal"),
    ]
    .into_iter()
    .enumerate()
    {
        let hook = place.hold("s", &format!("t{at}"), DOUBTFUL)?;
        await_waiting(site, 1)?;
        rusqlite::Connection::open(site.state().join("journal.db"))?.execute_batch(sql)?;
        let reply = hook.reply()?;
        ensure!(reply.answer == Reply::Refused, "{sql}: {reply:?}");
        reply.says(&[says])?;
    }
    let listed = site.run(&["approvals", "list"])?;
    ensure!(listed.stderr.contains("forged"), "{}", listed.all());
    site.ordinary("s")?;
    site.verify()
}

fn two_at_once() -> Result<()> {
    let place = Place::new("approvals-two", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let (one, two) = (place.hold("one", "c1", DOUBTFUL)?, place.hold("two", "c1", DOUBTFUL)?);
    for waits in await_waiting(site, 2)? {
        let id = waits["id"].as_str().unwrap_or_default();
        if waits["session"] == "one" {
            site.at_a_terminal(&["approvals", "allow", id], Answer::Word, &[])?
                .ended(0, &["allowed"])?;
        } else {
            site.output(&["approvals", "deny", id])?;
        }
    }
    ensure!(one.reply()?.answer != Reply::Refused);
    ensure!(two.reply()?.answer == Reply::Refused);
    site.verify()
}

fn changed() -> Result<()> {
    let place = Place::new("approvals-changed", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    // The second pair has the same facts: only the text tells one from the other.
    for (session, shown, run) in [
        ("s", "crontab -r\n", "crontab other.cron\n"),
        ("t", "kubectl delete pod web-1\n", "kubectl delete pod db-0\n"),
    ] {
        let script = site.project().join("jobs.sh");
        fs::write(&script, shown)?;
        let hook = place.hold(session, "c1", "bash jobs.sh")?;
        let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
        fs::write(&script, run)?;
        let said = site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?;
        said.ended(0, &["it has not run"])?;
        let reply = hook.reply()?;
        ensure!(reply.answer == Reply::Refused, "{run}: {reply:?}");
        reply.says(&["it would do something else than they were shown"])?;
        ensure!(place.answers(session)? == ["waiting", "allowed", "changed"], "{run}");
    }
    site.verify()
}

fn stopped() -> Result<()> {
    let place = Place::new("approvals-stopped", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    let stop = place.send(&site.calls("s").bash("c2", "rm -rf ~"))?;
    ensure!(stop.answer == Reply::Refused, "{stop:?}");
    ensure!(site.output(&["incident", "list"])?.contains("(session s)"));
    site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?
        .ended(0, &["it has not run"])?;
    let reply = hook.reply()?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["stopped"])?;
    ensure!(place.answers("s")? == ["waiting", "allowed", "changed"], "no permission is left");
    site.verify()
}

/// A person lets a stopped session go on under supervision (`manual_intervention`): its client cannot
/// ask, so each change waits, and reading does not.
fn supervised() -> Result<()> {
    let place = Place::new("approvals-supervised", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let stop = place.send(&site.calls("s").bash("c1", "rm -rf ~"))?;
    ensure!(stop.answer == Reply::Refused, "{stop:?}");
    site.at_a_terminal(&["incident", "supervise", "last"], Answer::Word, &[])?
        .ended(0, &["the session goes on"])?;
    let read = place.hold("s", "c2", "ls")?.reply()?;
    ensure!(!matches!(read.answer, Reply::Refused | Reply::Asked), "{read:?}");
    for (id, command, verb) in
        [("c3", "touch made.txt", "allow"), ("c4", "touch other.txt", "deny")]
    {
        let hook = place.hold("s", id, command)?;
        let waiting = await_waiting(site, 1)?;
        ensure!(waiting[0].to_string().contains("goes on under supervision"), "{waiting:?}");
        let question = waiting[0]["id"].as_str().unwrap_or_default();
        let said = site.at_a_terminal(&["approvals", verb, question], Answer::Word, &[])?;
        said.ended(0, &[])?;
        let reply = hook.reply()?;
        let is_refused = matches!(reply.answer, Reply::Refused | Reply::Asked);
        ensure!(is_refused == (verb == "deny"), "{command}: {reply:?}");
    }
    ensure!(place.answers("s")?[..4] == ["waiting", "allowed", "waiting", "denied"]);
    site.verify()
}

fn watched() -> Result<()> {
    let place = Place::new("approvals-watched", "")?;
    let (site, mut watch) = (&place.site, place.watch()?);
    site.at_a_terminal(&["approvals", "watch"], Answer::Word, &[])?
        .ended(1, &["another terminal watches already"])?;
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let shown = watch.await_text("Type `")?;
    ensure!(shown.contains("  | crontab -r\n") && shown.contains("session s"), "{shown}");
    let word = watch.await_text("`")?;
    watch.type_keys("yes\n")?;
    watch.await_text("none of the words above")?;
    watch.type_keys(&format!("{}\n", word.trim_end_matches('`')))?;
    watch.await_text("it runs now")?;
    ensure!(hook.reply()?.answer != Reply::Refused);
    let hook = place.hold("s", "c2", DOUBTFUL)?;
    watch.await_text("Type `")?;
    watch.type_keys("no not today\n")?;
    watch.await_text("denied")?;
    let reply = hook.reply()?;
    ensure!(reply.answer == Reply::Refused, "{reply:?}");
    reply.says(&["not today"])?;
    watch.type_keys("\u{3}")?;
    watch.await_text("no longer watching")?;
    ensure!(watch.await_end()? == Some(0));
    place.hold("s", "c3", DOUBTFUL)?.reply()?.says(&["nobody watches"])?;
    site.verify()
}

fn by_agents() -> Result<()> {
    let place = Place::new("approvals-agents", "")?;
    let (site, _watch) = (&place.site, place.watch()?);
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    for verb in [&["allow", &id][..], &["deny", &id], &["watch"]] {
        let arguments = [&["approvals"], verb].concat();
        site.at_a_terminal(&arguments, Answer::Word, &[("CLAUDECODE", "1")])?
            .ended(1, &["an agent runs this command"])?;
        let command = format!("portcullis {}", arguments.join(" "));
        let reply = site.hook(&site.calls("agent").bash("g1", &command))?;
        ensure!(reply.answer == Reply::Refused, "{command}: {reply:?}");
        reply.says(&["is for a person"])?;
    }
    let no_terminal = site.run(&["approvals", "allow", &id])?;
    ensure!(no_terminal.all().contains("there is no terminal"), "{}", no_terminal.all());
    site.at_a_terminal(&["approvals", "allow", &id], Answer::Text("yes"), &[])?
        .ended(1, &["not confirmed"])?;
    for command in ["portcullis approvals list", "portcullis approvals show k7m2x9qd"] {
        let reply = site.hook(&site.calls("other").bash("g2", command))?;
        ensure!(matches!(reply.answer, Reply::Quiet | Reply::Informed), "{command}: {reply:?}");
    }
    site.output(&["approvals", "deny", &id])?;
    ensure!(hook.reply()?.answer == Reply::Refused);
    site.verify()
}

fn by_channel() -> Result<()> {
    let place = Place::new("approvals-channel", "")?;
    let site = &place.site;
    let sent = site.root().join("sent");
    let program = site.root().join("tell");
    held::write_program(
        &program,
        &format!("cat > '{}.new' && mv '{0}.new' '{0}'", sent.display()),
    )?;
    let channel = format!(
        "approvals.wait_seconds = 60\n[notifications.channels.me]\nkind = \"program\"\nprogram = \"{}\"\nevents = [\"approval\"]\n",
        program.display()
    );
    site.write("config.toml", channel)?;
    let hook = place.hold("s", "c1", DOUBTFUL)?;
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    let message = held::await_file(&sent)?;
    ensure!(message.contains(&format!("portcullis approvals allow {id}")), "{message}");
    ensure!(message.contains("crontab -r"), "{message}");
    site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?.ended(0, &["allowed"])?;
    ensure!(hook.reply()?.answer != Reply::Refused);
    site.verify()
}

fn own_loop() -> Result<()> {
    let place = Place::new("approvals-loop", "")?;
    let site = &place.site;
    let ask = |id: &str| {
        json!({"version": 1, "event": "before", "session": "s", "folder": site.project(), "id": id,
            "tool": "shell", "input": {"command": DOUBTFUL}})
        .to_string()
            + "\n"
    };
    let alone = site.feed(&["review", "--stdin"], ask("c1").as_bytes())?;
    ensure!(alone.text().contains("\"ruling\":\"ask\""), "{}", alone.all());
    let watch = place.watch()?;
    let command = site.command(&["review", "--stdin"]);
    let event = ask("c2");
    let held = std::thread::spawn(move || {
        crate::common::process::run(command, event.as_bytes(), Duration::from_secs(60))
    });
    let id = await_waiting(site, 1)?[0]["id"].as_str().unwrap_or_default().to_owned();
    site.at_a_terminal(&["approvals", "allow", &id], Answer::Word, &[])?.ended(0, &["allowed"])?;
    let ended = held.join().map_err(|_| anyhow::anyhow!("the loop panicked"))??;
    ensure!(ended.text().contains("\"run\":true"), "{}", ended.all());
    drop(watch);
    site.verify()
}
