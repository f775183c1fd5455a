//! Credentials from the store: set, used by an export, refused, rotated and removed.

use crate::common::process::Ended;
use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::journal::{append, beside};
use crate::receiver::{Authority, Protocol, Receiver, Step};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;

const FIRST: &str = "first-token-0123456789";
const SECOND: &str = "second-token-9876543210";

/// A credential that a receiver refuses is in the records and in doctor until another one is taken.
pub fn rotated() -> Result<()> {
    let site = Site::new("credential rotated")?;
    append(&site, 1..=5)?;
    let authority = Authority::make(&beside(&site, "tls"))?;
    let receiver = Receiver::start(Protocol::Webhook, Some(&authority), |number, _| {
        if number == 0 { Step::Deny } else { Step::Take }
    })?;
    site.write(
        "config.toml",
        format!(
            "[exports.out]\nformat = \"jsonl\"\nsink = \"webhook\"\n\
             url = \"https://127.0.0.1:{}/in\"\ntoken = \"credential:siem\"\nauthorities = \"{}\"\n",
            receiver.port,
            authority.path.display()
        ),
    )?;
    let absent = site.run(&["exports", "run"])?;
    ensure!(absent.all().contains("there is no credential `siem`"), "{}", absent.all());
    succeed(&site, &["credential", "set", "siem", "--stdin"], FIRST)?;
    let refused = site.run(&["exports", "run"])?;
    ensure!(refused.code == Some(1) && refused.all().contains("401"), "{}", refused.all());
    let said = doctor(&site)?;
    ensure!(said.contains("`siem` was refused for `exports.out`"), "{said}");

    succeed(&site, &["credential", "rotate", "siem", "--expires", "10d", "--stdin"], SECOND)?;
    site.output(&["exports", "run"])?;
    let taken = receiver.taken();
    ensure!(taken[0].head.contains(&format!("Bearer {SECOND}")), "{}", taken[0].head);
    let said = doctor(&site)?;
    ensure!(said.contains("`siem` expires in") && !said.contains("refused"), "{said}");

    // The record of a use is exported like any other, and leads to no further one.
    for _ in 0..3 {
        site.output(&["exports", "run"])?;
    }
    let records = site.shown(&["--kind", "authentication"])?;
    let outcomes: Vec<_> =
        records.iter().map(|record| record["details"]["outcome"].as_str()).collect();
    let expected = [Some("unreadable"), Some("refused"), Some("used")];
    ensure!(outcomes == expected, "{outcomes:?}");
    let listed: Value = serde_json::from_str(&site.output(&["credential", "list", "--json"])?)?;
    let entry = &listed["credentials"][0];
    ensure!(
        entry["used_by"][0] == "exports.out.token"
            && entry["last_uses"][0]["outcome"] == "used"
            && entry["expired"] == false,
        "{entry}"
    );

    let kept = site.run(&["credential", "remove", "siem"])?;
    ensure!(kept.code == Some(1) && kept.all().contains("exports.out.token"), "{}", kept.all());
    check_secrecy(&site, &[refused])?;
    site.output(&["credential", "remove", "siem", "--force"])?;
    ensure!(files_with(&site.state(), SECOND)?.is_empty(), "the value is still there");
    let changes = site.output(&["audit", "show", "--kind", "configuration"])?;
    for change in ["set the credential `siem`", "rotated the credential", "removed the credential"]
    {
        ensure!(changes.contains(change), "{changes}");
    }
    site.verify()
}

/// Each mistake has an error with its fix, and changes nothing.
pub fn mistaken() -> Result<()> {
    let site = Site::new("credential mistaken")?;
    succeed(&site, &["credential", "set", "known", "--stdin"], FIRST)?;
    succeed(&site, &["credential", "set", "ci", "--env", "CI_TOKEN"], "")
        .err()
        .context("a variable that is not set was no problem")?;
    let rows: &[(&[&str], &str, &str)] = &[
        (&["set", "../key", "--stdin"], SECOND, "is not the name of a credential"),
        (&["set", "Known", "--stdin"], SECOND, "is not the name of a credential"),
        (&["set", "known", "--stdin"], SECOND, "there is a credential `known` already"),
        (&["set", "new", "--stdin"], "", "the value is empty"),
        (&["set", "new", "--stdin"], "two\nlines", "the value is more than one line"),
        (&["set", "new"], "", "there is no terminal"),
        (&["set", "new", "--stdin", "--expires", "2020-01-01"], SECOND, "is over"),
        (&["set", "new", "--stdin", "--expires", "soon"], SECOND, "is not a date"),
        (&["set", "new", "--stdin", "--user", "me"], SECOND, "--registry"),
        (&["set", "new", "--env", "A", "--stdin"], SECOND, "cannot be used with"),
        (&["set", "new", "--", "/nowhere/pass"], "", "cannot be started"),
        (&["rotate", "unknown", "--stdin"], SECOND, "there is no credential `unknown`"),
        (&["rotate", "ci", "--stdin"], SECOND, "kept in the variable `CI_TOKEN`"),
        (&["check", "unknown"], "", "there is no credential `unknown`"),
        (&["remove", "unknown"], "", "there is no credential `unknown`"),
    ];
    for (arguments, input, expected) in rows {
        let arguments = [&["credential"], *arguments].concat();
        let ended = site.feed(&arguments, input.as_bytes())?;
        ensure!(ended.code != Some(0), "{arguments:?} succeeded: {}", ended.all());
        ensure!(ended.all().contains(expected), "{arguments:?}: {}", ended.all());
        ensure!(!ended.all().contains(SECOND), "{arguments:?} shows the value");
    }
    let known = fs::read_to_string(site.state().join("credentials/values/known"))?;
    ensure!(known == FIRST, "the known value is `{known}`");
    let checked: Value =
        serde_json::from_slice(&site.run(&["credential", "check", "--json"])?.stdout)?;
    let problems: Vec<_> = checked["credentials"]
        .as_array()
        .context("no list")?
        .iter()
        .map(|checked| (checked["name"].as_str(), checked["problem"].is_null()))
        .collect();
    // A command that cannot be started is kept all the same: it may be installed tomorrow.
    let expected = [(Some("ci"), false), (Some("known"), true), (Some("new"), false)];
    ensure!(problems == expected, "{checked}");
    Ok(())
}

/// An agent can neither change credentials nor read their values.
pub fn guarded() -> Result<()> {
    let site = Site::new("credential guarded")?;
    succeed(&site, &["credential", "set", "siem", "--stdin"], FIRST)?;
    for verb in
        [&["set", "other", "--stdin"][..], &["rotate", "siem", "--stdin"], &["remove", "siem"]]
    {
        let arguments = [&["credential"], verb].concat();
        let mut command = site.command(&arguments);
        command.env("CLAUDECODE", "1");
        let ended =
            crate::common::process::run(command, SECOND.as_bytes(), crate::common::site::LIMIT)?;
        ensure!(ended.all().contains("an agent runs this command"), "{}", ended.all());
    }
    let value = site.state().join("credentials/values/siem");
    let value = value.display();
    let folder = site.state().join("credentials");
    let folder = folder.display();
    let calls = site.calls("guarded");
    for (number, command) in [
        format!("cat {value}"),
        format!("tar cf - {folder} | base64"),
        format!("python3 -c \"print(open('{value}').read())\""),
        format!("rm -rf {folder}"),
        format!("cp {value} ./here"),
        "portcullis credential set other --stdin < token".to_owned(),
        "portcullis credential rotate siem --stdin < token".to_owned(),
        "portcullis credential remove siem --force".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let reply = site.hook(&calls.bash(&format!("c{number}"), command))?;
        ensure!(reply.answer == Answer::Refused, "{command}: {reply:?}");
    }
    for (number, command) in
        ["portcullis credential list", "portcullis credential set --help"].iter().enumerate()
    {
        let reply = site.hook(&calls.bash(&format!("h{number}"), command))?;
        ensure!(reply.answer == Answer::Quiet, "{command}: {reply:?}");
    }
    Ok(())
}

fn succeed(site: &Site, arguments: &[&str], input: &str) -> Result<()> {
    let ended = site.feed(arguments, input.as_bytes())?;
    ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.all());
    ensure!(input.is_empty() || !ended.all().contains(input), "{arguments:?} shows the value");
    Ok(())
}

fn doctor(site: &Site) -> Result<String> {
    let found: Value = serde_json::from_slice(&site.run(&["doctor", "--quick", "--json"])?.stdout)?;
    let findings = found["findings"].as_array().context("no findings")?;
    let ours = findings.iter().filter(|finding| finding["check"] == "credentials");
    Ok(ours.map(Value::to_string).collect::<Vec<_>>().join("\n"))
}

/// Checks that values are nowhere but in the file that keeps the newest.
fn check_secrecy(site: &Site, outputs: &[Ended]) -> Result<()> {
    ensure!(files_with(&site.state(), FIRST)?.is_empty(), "the old value is still there");
    let found = files_with(&site.state(), SECOND)?;
    ensure!(found == ["siem"], "the value is in {found:?}");
    let mut texts: Vec<String> = outputs.iter().map(Ended::all).collect();
    for arguments in [
        &["audit", "show", "--json"][..],
        &["credential", "list"],
        &["credential", "list", "--json"],
        &["credential", "check"],
        &["exports", "list"],
        &["config", "show"],
        &["doctor", "--quick"],
    ] {
        texts.push(site.run(arguments)?.all());
    }
    for text in texts {
        ensure!(!text.contains(FIRST) && !text.contains(SECOND), "a value is shown: {text}");
    }
    Ok(())
}

/// Returns the names of the files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files_with(&entry.path(), text)?);
        } else if entry.file_type()?.is_file() {
            let bytes = fs::read(entry.path())?;
            if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}
