//! Tests of an organisation's policy and lock, in addition to its configuration: no person's own
//! ones can weaken them.

use crate::common::reply::{self, Reply};
use crate::common::{in_ci, tell, trial};
use crate::machine::{ASKS, Machine, NOTICES};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("organisation: its policy has to be met beside the person's", policy),
        trial("organisation: its bundles run in every project", lock),
        trial("organisation: nobody else disables its bundles", unswitched),
        trial("organisation: a key that one policy revokes counts in none", keys),
        trial("organisation: files that others could have written count for nothing", foreign),
    ]
}

/// A machine with an organisation's folder.
struct Managed {
    machine: Machine,
    folder: PathBuf,
}

impl Managed {
    /// Creates it; `None` for users other than root, who owns an organisation's files.
    fn new(name: &str) -> Result<Option<Self>> {
        let machine = Machine::new(name)?;
        // A folder that nobody else can write to.
        let folder = machine.site.root().join("etc/portcullis");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("config.toml"), "")?;
        if fs::metadata(&folder)?.uid() != 0 {
            ensure!(!in_ci(), "only root can have an organisation's files");
            tell("what an organisation's files do is not tested: only root can have them");
            return Ok(None);
        }
        Ok(Some(Self { machine, folder }))
    }

    fn run(&self, words: &[&str]) -> Result<crate::common::process::Ended> {
        let config = self.folder.join("config.toml").display().to_string();
        let mut all = words.to_vec();
        all.extend(["--managed-config", &config]);
        self.machine.site.run(&all)
    }

    fn hook(&self, event: &serde_json::Value) -> Result<Reply> {
        let config = self.folder.join("config.toml").display().to_string();
        let ended = self
            .machine
            .site
            .feed(&["hook", "claude", "--managed-config", &config], event.to_string().as_bytes())?;
        reply::read("PreToolUse", &ended)
    }

    fn stops(&self, why: &str) -> Result<()> {
        let reply = self.hook(&self.machine.site.calls("s").bash("b1", "ls"))?;
        ensure!(reply.answer == reply::Answer::Refused, "{:?}: {:?}", reply.answer, reply.said);
        reply.says(&[why])
    }

    fn runs(&self) -> Result<()> {
        let reply = self.hook(&self.machine.change())?;
        ensure!(
            reply.answer == reply::Answer::Asked && reply.said.contains("migration"),
            "it does not run: {:?}",
            reply.said
        );
        Ok(())
    }
}

fn policy() -> Result<()> {
    let Some(managed) = Managed::new("organisation policy")? else { return Ok(()) };
    let machine = &managed.machine;
    machine.key("security")?;
    let archive = machine.publish("1.0.0", ASKS)?;
    let theirs = managed.folder.join("trust.toml");
    for (name, organisation, person, missed) in [
        ("both alike", machine.rule("release", "")?, machine.rule("release", "")?, None),
        (
            "the organisation alone",
            machine.rule("release", "")?,
            String::new(),
            Some("(person's policy)"),
        ),
        (
            "another key for the organisation",
            machine.rule("security", "")?,
            machine.rule("release", "")?,
            Some("(organisation's policy): none of them made a statement"),
        ),
        (
            "another key for the person",
            machine.rule("release", "")?,
            machine.rule("security", "")?,
            Some("(person's policy): none of them made a statement"),
        ),
    ] {
        fs::write(&theirs, organisation)?;
        match person.as_str() {
            "" => fs::remove_file(machine.policy())?,
            person => fs::write(machine.policy(), person)?,
        }
        let ended = managed.run(&["bundle", "verify", &archive])?;
        match missed {
            // Without a policy of their own, a person trusts whom the organisation does.
            Some("(person's policy)") | None => {
                ensure!(ended.code == Some(0), "{name}: {}", ended.all())
            }
            Some(missed) => ensure!(
                ended.code == Some(1) && ended.text().contains(missed),
                "{name}: {}",
                ended.all()
            ),
        }
    }
    // A policy that only revokes needs no rule of its own.
    fs::write(&theirs, machine.rule("release", "")?)?;
    fs::remove_file(machine.policy())?;
    ensure!(managed.run(&["bundle", "install", &archive])?.code == Some(0), "it is trusted");
    managed.runs()?;
    let digest =
        machine.list()?["locked"][0]["locked"]["digest"].as_str().context("no digest")?.to_owned();
    ensure!(
        managed.run(&["bundle", "revoke", &format!("sha256:{}", "0".repeat(64))])?.code == Some(0),
        "it revokes"
    );
    managed.runs()?;
    ensure!(managed.run(&["bundle", "revoke", &digest])?.code == Some(0), "it revokes");
    managed.stops("is revoked")
}

fn lock() -> Result<()> {
    let Some(managed) = Managed::new("organisation lock")? else { return Ok(()) };
    let machine = &managed.machine;
    fs::write(managed.folder.join("trust.toml"), machine.rule("release", "")?)?;
    let archive = machine.publish("1.0.0", ASKS)?;
    // The organisation locks it elsewhere and installs the files.
    ensure!(managed.run(&["bundle", "install", &archive])?.code == Some(0), "it is trusted");
    let theirs = managed.folder.join("portcullis.lock");
    fs::rename(machine.lock(), &theirs)?;
    managed.runs()?;
    // A project that locks another version of it is not reviewed with that: the conflict must be
    // resolved.
    let other = machine.publish("2.0.0", NOTICES)?;
    let ended = managed.run(&["bundle", "install", &other])?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("both must lock the same bundle"),
        "{}",
        ended.all()
    );
    let text = fs::read_to_string(&theirs)?.replace("\"1.0.0\"", "\"2.0.0\"").replacen(
        "digest = \"sha256:",
        "digest = \"sha256:0",
        1,
    );
    let at = text.find("digest = \"").context("no digest")? + "digest = \"sha256:".len();
    let text = format!("{}{}", &text[..at + 64], &text[at + 65..]);
    fs::write(machine.lock(), text)?;
    managed.stops("both must lock the same bundle")?;
    // Its own lock may be empty, or the same.
    fs::write(machine.lock(), "format = 1\n")?;
    managed.runs()?;
    fs::copy(&theirs, machine.lock())?;
    managed.runs()?;
    fs::remove_file(machine.lock())?;
    managed.runs()?;
    fs::remove_file(&theirs)?;
    managed.stops("ran here")
}

fn foreign() -> Result<()> {
    let Some(managed) = Managed::new("organisation foreign")? else { return Ok(()) };
    let machine = &managed.machine;
    for name in ["trust.toml", "portcullis.lock"] {
        let path = managed.folder.join(name);
        fs::write(
            &path,
            if name == "trust.toml" {
                machine.rule("release", "")?
            } else {
                "format = 1\n".to_owned()
            },
        )?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        if name == "trust.toml" {
            let ended = managed.run(&["bundle", "verify", &machine.publish("1.0.0", ASKS)?])?;
            ensure!(
                ended.code == Some(1) && ended.stderr.contains("must belong to root"),
                "{}",
                ended.all()
            );
        } else {
            managed.stops("must belong to root")?;
        }
        fs::remove_file(&path)?;
    }
    Ok(())
}

fn unswitched() -> Result<()> {
    let Some(managed) = Managed::new("organisation unswitched")? else { return Ok(()) };
    let machine = &managed.machine;
    let archive = machine.publish("1.0.0", ASKS)?;
    ensure!(managed.run(&["bundle", "install", &archive])?.code == Some(0), "it is trusted");
    fs::rename(machine.lock(), managed.folder.join("portcullis.lock"))?;
    for said in ["enabled = false", "shadow = true", "on_fault = \"warn\""] {
        fs::write(
            machine.site.state().join("config.toml"),
            format!("[plugins.released]\n{said}\n"),
        )?;
        managed.runs().with_context(|| said)?;
    }
    Ok(())
}

fn keys() -> Result<()> {
    let Some(managed) = Managed::new("organisation keys")? else { return Ok(()) };
    let machine = &managed.machine;
    let archive = machine.publish("1.0.0", ASKS)?;
    fs::write(managed.folder.join("trust.toml"), machine.rule("release", "")?)?;
    // The person has the key under another name, and no rule.
    let own = machine.rule("release", "")?.replace("\"release\"", "\"mine\"");
    let key = own.split_once("[[rule]]").context("no rule")?.0.to_owned();
    fs::write(machine.policy(), key)?;
    ensure!(managed.run(&["bundle", "install", &archive])?.code == Some(0), "it is trusted");
    managed.runs()?;
    let ended = managed.run(&["bundle", "revoke", "--key", "mine"])?;
    ensure!(
        ended.code == Some(0) && ended.text().contains("none of them made a statement"),
        "{}",
        ended.all()
    );
    managed.stops("none of them made a statement about this bundle")
}
