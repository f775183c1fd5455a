//! Tests of tampering with each file that decides which plugins run: the review refuses, and says
//! why.

use crate::common::reply::Answer;
use crate::common::{terminal, trial};
use crate::machine::{ASKS, Machine, NAME, NOTICES, copied};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::PathBuf;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("tampering: a lock that was edited", edited),
        trial("tampering: a lock that names less than ran here", lost),
        trial("tampering: other files that decide", beside),
        trial("tampering: a component that was replaced after it was verified", replaced),
        trial("tampering: a receipt from elsewhere stands for nothing", receipts),
        trial("tampering: removed entries are remembered after another install", laundered),
        trial("tampering: another bundle of the same version", same_version),
        trial("tampering: a project within the project", within),
        trial("tampering: reading commands change nothing that must run", looking),
    ]
}

fn edited() -> Result<()> {
    let machine = Machine::new("edited")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    let other = machine.published("acme/other", "1.0.0", NOTICES, "release")?;
    let whole = fs::read_to_string(machine.lock())?;
    let digest = |key: &str| {
        let line = whole
            .lines()
            .filter(|line| line.starts_with(&format!("{key} = ")))
            .map(str::to_owned)
            .collect::<Vec<_>>();
        line.first().cloned().context("it has no such line")
    };
    let foreign = format!("sha256:{}", "0".repeat(64));
    let component = whole
        .lines()
        .filter(|line| line.starts_with("digest = "))
        .nth(1)
        .context("it has no component")?
        .to_owned();
    type Row = (&'static str, String, &'static str);
    let rows: Vec<Row> = vec![
        ("no lock", "what\n".into(), "is not a lock file: line 1"),
        ("a later form", whole.replace("format = 1", "format = 9"), "it has format 9"),
        (
            "an unknown field",
            whole.replace("version = ", "weak = true\nversion = "),
            "unknown field `weak`",
        ),
        (
            "another bundle's digest",
            whole.replace(&digest("digest")?, &format!("digest = \"{foreign}\"")),
            "locks another `acme/checks 1.0.0` than ran here",
        ),
        (
            "another component's digest",
            whole.replace(&component, &format!("digest = \"{foreign}\"")),
            "cannot be enforced",
        ),
        (
            "another version of the same bytes",
            whole.replace("\"1.0.0\"", "\"2.0.0\""),
            "cannot be enforced",
        ),
        ("another plugin", whole.replace("\"released\"", "\"harmless\""), "cannot be enforced"),
        (
            "wider grants",
            whole.replace("plugins = [", "grants = [\"clocks = true\"]\nplugins = ["),
            "cannot be enforced",
        ),
        (
            "another signer",
            whole.replace(&digest("signers")?, &format!("signers = [\"{foreign}\"]")),
            "which no key of the trust policy did",
        ),
        (
            "the same name twice",
            format!(
                "{whole}\n{}",
                whole.split_once("[[bundle]]").map_or("", |(_, rest)| rest).replacen(
                    "",
                    "[[bundle]]",
                    1
                )
            ),
            "is locked twice",
        ),
        (
            "another one beside it that is not installed",
            format!(
                "{whole}\n{}",
                whole
                    .split_once("[[bundle]]")
                    .map_or("", |(_, rest)| rest)
                    .replacen("", "[[bundle]]", 1)
                    .replace(NAME, "acme/more")
                    .replace("\"released\"", "\"more\"")
                    .replace(&digest("digest")?, &format!("digest = \"{foreign}\""))
            ),
            "is not installed",
        ),
    ];
    for (name, text, why) in rows {
        ensure!(text != whole, "{name}: nothing was changed");
        fs::write(machine.lock(), text)?;
        machine.stops(why).with_context(|| name)?;
        let ended = machine.site.run(&["bundle", "install"])?;
        ensure!(ended.code == Some(1), "{name}: `bundle install` accepted it: {}", ended.all());
        fs::write(machine.lock(), &whole)?;
        machine.runs().with_context(|| format!("{name}, put back"))?;
    }
    // Two plugins of one name would stop every review: the second is not installed.
    machine.refused(
        &["bundle", "install", &other],
        "but `acme/checks`, which is locked here, does too",
    )?;
    ensure!(fs::read_to_string(machine.lock())? == whole, "the lock was written");
    machine.runs()
}

fn lost() -> Result<()> {
    let machine = Machine::new("lost")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    let whole = fs::read_to_string(machine.lock())?;
    let older = whole.replace("\"1.0.0\"", "\"0.1.0\"");
    for (name, text) in
        [("emptied", Some("format = 1\n".to_owned())), ("older", Some(older)), ("gone", None)]
    {
        match &text {
            Some(text) => fs::write(machine.lock(), text)?,
            None => fs::remove_file(machine.lock())?,
        }
        let fix = "ran here: put it back, or, if that is meant, run `portcullis bundle install` at a terminal";
        machine
            .stops(if name == "older" { "cannot be enforced" } else { fix })
            .with_context(|| name)?;
        if name != "older" {
            machine.refused(&["bundle", "install"], "there is no terminal")?;
        }
        fs::write(machine.lock(), &whole)?;
        machine.runs().with_context(|| format!("{name}, put back"))?;
    }
    // It may be a person's intention.
    fs::remove_file(machine.lock())?;
    let shown = machine.site.at_a_terminal(&["bundle", "install"], terminal::Answer::Word, &[])?;
    ensure!(
        shown.code == Some(0)
            && shown.text.contains("acme/checks 1.0.0")
            && shown.text.contains("and nothing else"),
        "{}",
        shown.text
    );
    ensure!(machine.migration()?.answer != Answer::Asked, "it still runs");
    Ok(())
}

fn beside() -> Result<()> {
    let machine = Machine::new("beside")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.runs()?;
    machine.key("stranger")?;
    let list = machine.bundles_folder().join("installed.json");
    let (policy, installed) = (fs::read(machine.policy())?, fs::read_to_string(&list)?);
    let stranger = machine.rule("stranger", "")?;
    type Row = (&'static str, PathBuf, Option<String>, &'static str);
    let rows: Vec<Row> = vec![
        ("no policy", machine.policy(), None, "a trust policy: there is none"),
        (
            "a policy of nobody",
            machine.policy(),
            Some(String::new()),
            "a rule for `acme/checks`: there is none",
        ),
        (
            "a policy that is none",
            machine.policy(),
            Some("[[rul]]\n".into()),
            "is not a trust policy; nothing is trusted until it is fixed",
        ),
        (
            "another key",
            machine.policy(),
            Some(stranger),
            "signed by `stranger`: none of them made a statement",
        ),
        ("nothing is installed", list.clone(), None, "is not installed"),
        ("a list that is none", list.clone(), Some("{".into()), "is damaged"),
        (
            "a list that names other bytes",
            list.clone(),
            Some(installed.replace("sha256:", "sha256:0").replacen('0', "", 0)),
            "installed.json",
        ),
        (
            "a list as large as memory",
            list.clone(),
            Some(installed.replacen("\"size\": ", "\"size\": 9", 1)),
            "has to be installed again",
        ),
        (
            "a list without signatures",
            list.clone(),
            Some(without_signatures(&installed)?),
            "none of them made a statement",
        ),
    ];
    for (name, path, text, why) in rows {
        match text {
            Some(text) => fs::write(&path, text)?,
            None => fs::remove_file(&path)?,
        }
        machine.stops(why).with_context(|| name)?;
        fs::write(machine.policy(), &policy)?;
        fs::write(&list, &installed)?;
        machine.runs().with_context(|| format!("{name}, put back"))?;
    }
    Ok(())
}

fn without_signatures(installed: &str) -> Result<String> {
    let mut document: serde_json::Value = serde_json::from_str(installed)?;
    document["bundles"][0]["signatures"] = serde_json::json!([]);
    Ok(document.to_string())
}

/// With a receipt nothing is verified again, but the bytes have to be the verified ones: another
/// file leads to a question, like a plugin that cannot be loaded, with the reason.
fn replaced() -> Result<()> {
    let machine = Machine::new("replaced")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    let saved = machine.site.root().join("saved");
    for warm in [false, true] {
        if warm {
            machine.runs()?;
            std::thread::sleep(std::time::Duration::from_millis(100));
            machine.runs()?;
        }
        copied(&machine.bundles_folder(), &saved)?;
        let listed: Vec<PathBuf> = fs::read_dir(machine.bundles_folder().join("blobs"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        let component = listed
            .into_iter()
            .find(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\0asm")))
            .context("no component")?;
        let whole = fs::read(&component)?;
        let mut flipped = whole.clone();
        *flipped.last_mut().context("it is empty")? ^= 1;
        let other = fs::read(crate::machine::released(NOTICES)?)?;
        for (name, bytes, why) in [
            ("a flipped bit", Some(flipped), "was changed after it was verified"),
            ("another plugin", Some(other), "was changed after it was verified"),
            ("cut", Some(whole[..whole.len() / 2].to_vec()), "released"),
            ("gone", None, "cannot read"),
        ] {
            match bytes {
                Some(bytes) => fs::write(&component, bytes)?,
                None => fs::remove_file(&component)?,
            }
            let reply = machine.site.hook(&machine.site.calls("s").bash("b1", "ls"))?;
            ensure!(
                reply.answer == Answer::Asked && reply.said.contains(why),
                "{name}, warm {warm}: {:?} {:?}",
                reply.answer,
                reply.said
            );
            // A hook of this home loads the rest, and so `doctor` does not say that all is refused.
            let doctor = machine.site.run(&["doctor", "--quick", "--json"])?;
            let found: serde_json::Value = serde_json::from_str(&doctor.text())?;
            let bundles = found["findings"].as_array().into_iter().flatten();
            let problems: Vec<&serde_json::Value> = bundles
                .filter(|finding| finding["check"] == "bundles" && finding["level"] == "problem")
                .collect();
            ensure!(
                problems.len() == 1
                    && problems[0].to_string().contains("a person is asked about each action"),
                "{name}, warm {warm}: {problems:?}"
            );
            // Reinstalling repairs it, from the lock if a registry has it, else from the archive.
            copied(&saved, &machine.bundles_folder())?;
            machine.runs().with_context(|| format!("{name}, put back"))?;
        }
    }
    Ok(())
}

fn receipts() -> Result<()> {
    let [here, there] = ["receipts here", "receipts there"].map(Machine::new);
    let (here, there) = (here?, there?);
    let receipt = |machine: &Machine| -> Result<PathBuf> {
        let first = fs::read_dir(machine.bundles_folder().join("receipts"))?
            .next()
            .context("there is no receipt")?;
        Ok(first?.path())
    };
    for machine in [&here, &there] {
        machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
        machine.runs()?;
    }
    let own = fs::read_to_string(receipt(&here)?)?;
    let foreign = fs::read_to_string(receipt(&there)?)?;
    let place = |machine: &Machine| {
        machine.site.project().canonicalize().map(|path| path.display().to_string())
    };
    for (name, text) in [
        ("of another machine", foreign.clone()),
        (
            "of another machine, with this place in it",
            foreign.replace(&place(&there)?, &place(&here)?),
        ),
        ("with another digest", own.replacen("\"digest\":\"", "\"digest\":\"0", 1)),
        ("that never ends", own.replace("\"until\":null", "\"until\":99999999999999")),
        ("without bundles", own.replace("\"bundles\":[{", "\"bundles\":[],\"x\":[{")),
        ("no receipt", "{}".into()),
    ] {
        ensure!(text != own, "{name}: nothing was changed");
        fs::write(receipt(&here)?, &text)?;
        here.stops("was not written by this home for this project").with_context(|| name)?;
        // The earlier state is not known, so a person has to confirm; everything is verified again.
        here.refused(
            &["bundle", "install"],
            "What ran here before is not known: the receipt is not one of this installation.",
        )?;
        let shown = here.site.at_a_terminal(&["bundle", "install"], terminal::Answer::Word, &[])?;
        ensure!(
            shown.code == Some(0) && shown.text.contains("What ran here before is not known"),
            "{name}: {}",
            shown.text
        );
        here.runs().with_context(|| format!("{name}, verified again"))?;
    }
    // A missing one only costs the time to verify.
    fs::remove_file(receipt(&here)?)?;
    here.runs()?;
    ensure!(receipt(&here).is_ok(), "no receipt was written");
    Ok(())
}

/// Without its line in the lock, a bundle still counts as having run here: neither another bundle
/// nor an older version of it hides that.
fn laundered() -> Result<()> {
    let machine = Machine::new("laundered")?;
    let (old, new) = (machine.publish("1.0.0", ASKS)?, machine.publish("2.0.0", ASKS)?);
    let other = machine.published_as("acme/other", "1.0.0", NOTICES)?;
    machine.done(&["bundle", "install", &new])?;
    machine.runs()?;
    let whole = fs::read(machine.lock())?;
    fs::write(machine.lock(), "format = 1\n")?;
    machine.refused(
        &["bundle", "install", &other],
        "no longer locks `acme/checks 2.0.0`, which ran here",
    )?;
    ensure!(!fs::read_to_string(machine.lock())?.contains("acme/other"), "it was locked");
    machine.refused(
        &["bundle", "install", &old, "--yes"],
        "no version before the installed 2.0.0: it is 1.0.0",
    )?;
    machine.stops("no longer locks `acme/checks 2.0.0`")?;
    fs::write(machine.lock(), &whole)?;
    machine.runs()?;
    // Making its receipt's folder unreadable does not help either.
    fs::remove_file(machine.lock())?;
    let receipts = machine.bundles_folder().join("receipts");
    fs::remove_dir_all(&receipts)?;
    fs::write(&receipts, "no folder")?;
    machine.stops("receipts")
}

fn same_version() -> Result<()> {
    let machine = Machine::new("same version")?;
    let (one, two) = (machine.publish("1.0.0", ASKS)?, machine.publish("1.0.0", NOTICES)?);
    machine.done(&["bundle", "install", &two, "--global"])?;
    let other = fs::read(machine.site.state().join("portcullis.lock"))?;
    fs::remove_file(machine.site.state().join("portcullis.lock"))?;
    let shown = machine.site.at_a_terminal(&["bundle", "install"], terminal::Answer::Word, &[])?;
    ensure!(shown.code == Some(0), "{}", shown.text);
    machine.done(&["bundle", "install", &one])?;
    machine.runs()?;
    fs::write(machine.lock(), other)?;
    let reply = machine.site.hook(&machine.site.calls("s").bash("b1", "ls"))?;
    ensure!(reply.answer == Answer::Refused, "{:?}", reply.said);
    ensure!(
        reply.said.contains("locks another `acme/checks 1.0.0` than ran here")
            || reply.said.contains("is not installed"),
        "{}",
        reply.said
    );
    Ok(())
}

/// A lock around a project applies there, regardless of what an agent puts into the project.
fn within() -> Result<()> {
    let machine = Machine::new("within")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.runs()?;
    let part = machine.site.project().join("part");
    fs::create_dir_all(part.join("migrations"))?;
    fs::write(part.join("migrations/0001.sql"), "create table part (id int);\n")?;
    let change = |session: &str| {
        let calls = crate::common::calls::Calls::new(session, &part);
        let input = serde_json::json!({ "file_path": part.join("migrations/0001.sql"), "content": "drop table part;" });
        machine.site.hook(&calls.before("m1", "Write", input))
    };
    for mark in [None, Some(".git"), Some(".portcullis")] {
        if let Some(mark) = mark {
            fs::create_dir_all(part.join(mark))?;
        }
        let reply = change(mark.unwrap_or("none"))?;
        ensure!(
            reply.answer == Answer::Asked && reply.said.contains("migration"),
            "{mark:?}: {:?}: {}",
            reply.answer,
            reply.said
        );
    }
    // Removing it in the parent does not help either.
    let whole = fs::read(machine.lock())?;
    fs::remove_file(machine.lock())?;
    let reply = change("taken out")?;
    ensure!(
        reply.answer == Answer::Refused && reply.said.contains("ran here"),
        "{:?}: {}",
        reply.answer,
        reply.said
    );
    fs::write(machine.lock(), whole)?;
    ensure!(change("back")?.answer == Answer::Asked, "it does not run");
    Ok(())
}

fn looking() -> Result<()> {
    let machine = Machine::new("looking")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.runs()?;
    let receipts = machine.bundles_folder().join("receipts");
    let before = portcullis_tests::tree(&receipts)?;
    fs::write(machine.policy(), format!("{}\n# changed\n", fs::read_to_string(machine.policy())?))?;
    for words in [
        &["review", "-c", "ls"][..],
        &["plugin", "list"],
        &["config", "check"],
        &["doctor", "--quick"],
        &["bundle", "list"],
    ] {
        let _looked = machine.site.run(words)?;
        ensure!(
            portcullis_tests::tree(&receipts)? == before,
            "`{}` wrote a receipt",
            words.join(" ")
        );
    }
    machine.runs()?;
    ensure!(portcullis_tests::tree(&receipts)? != before, "the hook remembers");
    Ok(())
}
