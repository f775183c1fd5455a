//! Commands about exports, and what doctor and the metrics say of them.

use crate::common::site::Site;
use crate::journal::{append, beside, check_complete, open, record};
use crate::receiver::{LONG, Protocol, Receiver, Step};
use anyhow::{Context, Result, ensure};
use portcullis_store::NewRecord;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;

fn webhook(receiver: &Receiver, more: &str) -> String {
    format!(
        "[exports.out]\nformat = \"jsonl\"\nsink = \"webhook\"\n\
         url = \"http://127.0.0.1:{}/in\"\n{more}",
        receiver.port
    )
}

/// Returns what the list says of an export.
fn listed(site: &Site, name: &str) -> Result<Value> {
    let list: Value = serde_json::from_str(&site.output(&["exports", "list", "--json"])?)?;
    let all = list["exports"].as_array().context("no list")?;
    let found = all.iter().find(|export| export["name"] == name);
    found.cloned().with_context(|| format!("no `{name}` in {list}"))
}

fn doctor(site: &Site) -> Result<String> {
    let found: Value = serde_json::from_slice(&site.run(&["doctor", "--quick", "--json"])?.stdout)?;
    let findings = found["findings"].as_array().context("no findings")?;
    let ours = findings.iter().filter(|finding| finding["check"] == "exports");
    Ok(ours.map(Value::to_string).collect::<Vec<_>>().join("\n"))
}

/// By default an export stays at a record that is refused; it may pass over such records, but not
/// over all of them.
pub fn refused() -> Result<()> {
    let bad = |body: &[u8], word: &str| String::from_utf8_lossy(body).contains(word);
    for (policy, everything, delivered, skipped) in
        [("stop", false, 41, 0), ("skip", false, 99, 1), ("skip", true, 0, 10)]
    {
        let site = Site::new(&format!("refused {policy} {everything}"))?;
        append(&site, 1..=100)?;
        let script = move |_: usize, body: &[u8]| {
            if everything || bad(body, "record 42:") { Step::Reject } else { Step::Take }
        };
        let receiver = Receiver::start(Protocol::Webhook, None, script)?;
        site.write(
            "config.toml",
            webhook(&receiver, &format!("retry.on_refusal = \"{policy}\"\n")),
        )?;
        let ended = site.run(&["exports", "run"])?;
        let succeeds = policy == "skip" && !everything;
        ensure!(ended.code == Some(i32::from(!succeeds)), "{}", ended.all());
        let export = listed(&site, "out")?;
        ensure!(export["delivered"] == delivered && export["skipped"] == skipped, "{export}");
        let taken: Vec<u64> = receiver.sequences()?.concat();
        let expected: Vec<u64> = (1..=100)
            .filter(|position| !everything && *position != 42 && (succeeds || *position < 42))
            .collect();
        ensure!(taken == expected, "{taken:?}");
        if !succeeds {
            let failure = export["failure"].as_str().unwrap_or_default();
            ensure!(
                failure.contains("is refused: ") && failure.contains("no such thing"),
                "{export}"
            );
        }
        let said = doctor(&site)?;
        ensure!(said.contains("warning"), "{said}");
        ensure!(skipped == 0 || said.contains("passed over"), "{said}");
    }
    Ok(())
}

/// Records that retention removes before they are delivered are counted, and the rest arrives.
pub fn lost() -> Result<()> {
    let site = Site::new("lost")?;
    append(&site, 1..=100)?;
    let receiver = Receiver::start(Protocol::Webhook, None, |number, _| {
        if number == 1 { Step::Refuse } else { Step::Take }
    })?;
    site.write("config.toml", webhook(&receiver, "batch.records = 10\n"))?;
    ensure!(site.run(&["exports", "run"])?.code == Some(1), "nothing was refused");
    open(&site)?.prune_before(record(61).at, record(100).at + 1)?;
    let ended = site.run(&["exports", "run"])?;
    ensure!(ended.text().contains("50 lost to retention"), "{}", ended.all());
    let taken: Vec<u64> = receiver.sequences()?.concat();
    ensure!(taken == (1..=10).chain(61..=100).collect::<Vec<_>>(), "{taken:?}");
    ensure!(listed(&site, "out")?["lost"] == 50, "{}", listed(&site, "out")?);
    let said = doctor(&site)?;
    ensure!(said.contains("50 records were removed by retention"), "{said}");
    let metrics = site.output(&["metrics"])?;
    ensure!(
        metrics.contains("portcullis_export_lost_records_total{export=\"out\"} 50"),
        "{metrics}"
    );
    Ok(())
}

/// A dead sink is in the list, in doctor and in the metrics, with the records that wait for it.
pub fn reported() -> Result<()> {
    let site = Site::new("reported")?;
    append(&site, 1..=30)?;
    let receiver = Receiver::start(Protocol::Webhook, None, |_, _| Step::Refuse)?;
    ensure!(doctor(&site)?.is_empty(), "doctor speaks of exports without one");
    site.write("config.toml", webhook(&receiver, ""))?;
    ensure!(doctor(&site)?.contains("is late: 30 records wait"), "{}", doctor(&site)?);
    for failures in 1..=2 {
        let ended = site.run(&["exports", "run"])?;
        ensure!(ended.code == Some(1), "{}", ended.all());
        let export = listed(&site, "out")?;
        ensure!(export["failures"] == failures && export["waiting"] == 30, "{export}");
        ensure!(export["next_at"].as_u64() > Some(0), "{export}");
    }
    let text = site.output(&["exports", "list"])?;
    for part in ["out: jsonl to webhook: fails: 2 failures", "answered 503", "30 records wait"] {
        ensure!(text.contains(part), "no `{part}` in {text}");
    }
    let said = doctor(&site)?;
    ensure!(said.contains("failed 2 times in a row") && said.contains("exports run out"), "{said}");
    let metrics = site.output(&["metrics"])?;
    for part in [
        "portcullis_export_waiting_records{export=\"out\"} 30",
        "portcullis_export_failures{export=\"out\"} 2",
        "portcullis_export_delivered_records_total{export=\"out\"} 0",
    ] {
        ensure!(metrics.contains(part), "no `{part}` in {metrics}");
    }
    let json: Value = serde_json::from_str(&site.output(&["metrics", "--json"])?)?;
    ensure!(json["exports"][0]["waiting"] == 30, "{}", json["exports"]);
    Ok(())
}

/// Only a person moves a cursor, a record tells of it, and a forged cursor is refused until then.
pub fn moved() -> Result<()> {
    use crate::common::terminal::Answer;
    let site = Site::new("moved")?;
    append(&site, 1..=30)?;
    let receiver = Receiver::start(Protocol::Webhook, None, |_, _| Step::Take)?;
    site.write("config.toml", webhook(&receiver, ""))?;
    site.output(&["exports", "run"])?;
    let refused = site.run(&["exports", "reset", "out", "--to", "now"])?;
    ensure!(refused.code == Some(1) && refused.all().contains("no terminal"), "{}", refused.all());
    for (to, again) in [("20", 11), ("beginning", 32), ("now", 0)] {
        let before: usize = receiver.sequences()?.iter().map(Vec::len).sum();
        let shown =
            site.at_a_terminal(&["exports", "reset", "out", "--to", to], Answer::Word, &[])?;
        ensure!(shown.code == Some(0) && shown.text.contains("goes on after record"), "{shown:?}");
        site.output(&["exports", "run"])?;
        let after: usize = receiver.sequences()?.iter().map(Vec::len).sum();
        // Each move is a record, and `now` is before its own.
        let own = usize::from(to == "now");
        ensure!(after - before == again + own, "{to}: {} came again", after - before);
    }
    let kinds = site.output(&["audit", "show", "--kind", "configuration"])?;
    ensure!(kinds.contains("a person moved the export `out` to after record 20"), "{kinds}");
    let connection = rusqlite::Connection::open(site.state().join("journal.db"))?;
    connection.execute("UPDATE exports SET sequence = sequence + 5", [])?;
    drop(connection);
    let forged = site.run(&["exports", "run"])?;
    ensure!(forged.all().contains("was changed from outside"), "{}", forged.all());
    let shown = site.at_a_terminal(&["exports", "reset", "out"], Answer::Word, &[])?;
    ensure!(shown.code == Some(0), "{shown:?}");
    site.output(&["exports", "run"])?;
    check_complete(&receiver.sequences()?[receiver.taken().len() - 1..], 34)?;
    Ok(())
}

/// A trial reaches the sink, also a file, and leaves the cursor where it is.
pub fn tried() -> Result<()> {
    let site = Site::new("tried")?;
    append(&site, 1..=3)?;
    let receiver = Receiver::start(Protocol::Webhook, None, |_, _| Step::Take)?;
    let path = beside(&site, "out.jsonl");
    let file = format!(
        "[exports.file]\nformat = \"jsonl\"\nsink = \"file\"\npath = \"{}\"\n",
        path.display()
    );
    site.write("config.toml", webhook(&receiver, "") + &file)?;
    for name in ["out", "file"] {
        let said = site.output(&["exports", "test", name])?;
        ensure!(said.contains("delivered"), "{said}");
        ensure!(listed(&site, name)?["sequence"] == 0, "{}", listed(&site, name)?);
        site.output(&["exports", "run", name])?;
    }
    ensure!(receiver.sequences()? == [vec![0], vec![1, 2, 3]], "{:?}", receiver.sequences()?);
    let lines = std::fs::read_to_string(&path)?;
    ensure!(lines.lines().count() == 4 && lines.contains("a person tried the export"), "{lines}");
    Ok(())
}

/// `audit export --follow` writes what is there and then what comes, until it is ended.
pub fn followed() -> Result<()> {
    let site = Site::new("followed")?;
    append(&site, 1..=3)?;
    let mut command = site.command(&["audit", "export", "--exporter", "jsonl", "--follow"]);
    let mut follower = command.stdout(Stdio::piped()).spawn()?;
    let (sender, lines) = channel();
    let stdout = follower.stdout.take().context("no output")?;
    let reader = thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _sent = sender.send(line);
        }
    });
    let next = || -> Result<u64> {
        let line: Value = serde_json::from_str(&lines.recv_timeout(LONG)?)?;
        line["sequence"].as_u64().context("no position")
    };
    for position in 1..=3 {
        ensure!(next()? == position, "not {position}");
    }
    append(&site, 4..=5)?;
    for position in 4..=5 {
        ensure!(next()? == position, "not {position}");
    }
    follower.kill()?;
    follower.wait()?;
    ensure!(reader.join().is_ok(), "the reader failed");
    Ok(())
}

/// Settings without which nothing can be sent are mistakes of the configuration, with their place;
/// none of them shows a secret.
pub fn unusable() -> Result<()> {
    const SECRET: &str = "hunter2-0123456789";
    for (table, holds) in [
        ("sink = \"file\"", "`exports.a.format` is missing"),
        ("format = \"jsonl\"", "`exports.a.sink` is missing"),
        ("format = \"jsonl\"\nsink = \"file\"", "`exports.a.path` is missing"),
        ("format = \"jsonl\"\nsink = \"webhook\"", "`exports.a.url` is missing"),
        ("format = \"jsonl\"\nsink = \"syslog\"", "`exports.a.host` is missing"),
        (
            "format = \"jsonl\"\nsink = \"file\"\npath = \"/nowhere/x\"",
            "there is no folder `/nowhere`",
        ),
        ("format = \"jsonl\"\nsink = \"webhook\"\nurl = \"http://example.com/\"", "not encrypted"),
        (
            "format = \"jsonl\"\nsink = \"webhook\"\nurl = \"https://x/\"\ntoken = \"hunter2-0123456789\"",
            "a credential has no place in the configuration",
        ),
        (
            "format = \"jsonl\"\nsink = \"webhook\"\nurl = \"https://me:hunter2-0123456789@x/\"",
            "holds a user name",
        ),
        ("format = \"splunk\"\nsink = \"splunk\"\nurl = \"https://x/\"", "has no `token`"),
        (
            "format = \"cef\"\nsink = \"syslog\"\nhost = \"example.com\"\nencryption = \"none\"",
            "is not on this machine",
        ),
    ] {
        let site = Site::new(&format!("unusable {holds}"))?;
        site.write("config.toml", format!("[exports.a]\n{table}\n"))?;
        for command in [&["config", "check"][..], &["exports", "list"], &["doctor", "--quick"]] {
            let ended = site.run(command)?;
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_there = words(&ended.all()).contains(&words(holds));
            ensure!(
                is_there || command[0] == "doctor",
                "{command:?}: no `{holds}`: {}",
                ended.all()
            );
            ensure!(!ended.all().contains(SECRET), "{command:?}: {}", ended.all());
        }
    }
    let site = Site::new("unknown format")?;
    append(&site, 1..=1)?;
    let path = beside(&site, "out");
    site.write(
        "config.toml",
        format!("[exports.a]\nformat = \"xml\"\nsink = \"file\"\npath = \"{}\"\n", path.display()),
    )?;
    for command in [["exports", "run"], ["config", "check"]] {
        let ended = site.run(&command)?;
        ensure!(
            ended.code == Some(1) && ended.text().contains("there is no exporter `xml`"),
            "{command:?}: {}",
            ended.all()
        );
    }
    Ok(())
}

/// A project's file can neither add an export nor change one.
pub fn of_a_project() -> Result<()> {
    let site = Site::new("of a project")?;
    let mut store = open(&site)?;
    store.append_records(vec![NewRecord { ..record(1) }])?;
    drop(store);
    let receiver = Receiver::start(Protocol::Webhook, None, |_, _| Step::Take)?;
    std::fs::create_dir_all(site.project().join(".portcullis"))?;
    let file = site.project().join(".portcullis/config.toml");
    std::fs::write(file, webhook(&receiver, ""))?;
    let listed = site.output(&["exports", "list"])?;
    ensure!(listed.contains("no exports"), "{listed}");
    site.output(&["exports", "run"])?;
    ensure!(receiver.taken().is_empty(), "a project sent records");
    Ok(())
}
