//! Tests that installed bundles run; missing or removed ones do not, and are reported.

use crate::common::reply::Answer;
use crate::common::terminal;
use crate::common::trial;
use crate::machine::{ASKS, Machine, NAME, NOTICES};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("locked: installed bundles are asked in every review", installed),
        trial("locked: untrusted bundles are not installed, and nothing changes", untrusted),
        trial("locked: another version is a person's to agree to, an older one nobody's", versions),
        trial("locked: two projects run two versions side by side", side_by_side),
        trial("locked: for all projects of a person", global),
        trial(
            "locked: the operator's settings go before the bundle's, and grants are both's",
            settings,
        ),
        trial("locked: a file in the plugins folder has the plugin's name", beside_a_file),
        trial("locked: taking one out is for a person at a terminal", removed),
        trial("locked: revoking stops it at once", revoked),
        trial("locked: doctor says what does not run, and what will not for long", doctored),
        trial("locked: an agent does none of it", agents),
        trial("locked: two that are installed at once are both there", at_once),
        trial("locked: a file of a reference's or a bundle's name is not what is meant", shadowed),
    ]
}

fn installed() -> Result<()> {
    let machine = Machine::new("installed")?;
    ensure!(machine.migration()?.answer != Answer::Asked, "something else asks");
    let archive = machine.publish("1.0.0", ASKS)?;
    let text = machine.done(&["bundle", "install", &archive, "--dry-run"])?;
    ensure!(text.contains("acme/checks 1.0.0") && !machine.lock().exists(), "{text}");
    let text = machine.done(&["bundle", "install", &archive])?;
    for part in [
        "acme/checks 1.0.0",
        "released  risk-calculator",
        "asks for no grant",
        "trusted",
        "portcullis.lock",
    ] {
        ensure!(text.contains(part), "{part:?} is missing: {text}");
    }
    // The first verifies, the others use the receipt.
    for _ in 0..3 {
        machine.runs()?;
    }
    let listed = machine.list()?;
    ensure!(
        listed["locked"][0]["holds"] == true
            && listed["locked"].as_array().map(Vec::len) == Some(1),
        "{listed}"
    );
    let plugins = machine.done(&["plugin", "list"])?;
    ensure!(plugins.contains("released") && plugins.contains("of a bundle"), "{plugins}");
    // Again, and from the lock: there is nothing left to do.
    machine.done(&["bundle", "install", &archive])?;
    let text = machine.done(&["bundle", "install"])?;
    ensure!(text.contains("1 locked, all verified"), "{text}");
    let records = serde_json::to_string(&machine.site.records()?)?;
    ensure!(
        records.contains("a person installed the bundle `acme/checks 1.0.0`, sha256:"),
        "{records}"
    );
    machine.runs()
}

fn untrusted() -> Result<()> {
    let machine = Machine::new("untrusted")?;
    machine.key("stranger")?;
    for (name, archive, why) in [
        (
            "another key",
            machine.published(NAME, "1.0.0", ASKS, "stranger")?,
            "signed by `release`: none of them made a statement",
        ),
        (
            "another name",
            machine.published("evil/checks", "1.0.0", ASKS, "release")?,
            "a rule for `evil/checks`: there is none",
        ),
        (
            "a prefix",
            machine.published("acme-evil/checks", "1.0.0", ASKS, "release")?,
            "a rule for `acme-evil/checks`: there is none",
        ),
    ] {
        machine
            .refused(&["bundle", "install", &archive], why)
            .map_err(|error| error.context(name))?;
        ensure!(
            !machine.lock().exists() && !machine.bundles_folder().join("installed.json").exists(),
            "{name}: something was installed"
        );
    }
    fs::remove_file(machine.policy())?;
    let archive = machine.publish("1.0.0", ASKS)?;
    machine.refused(&["bundle", "install", &archive], "a trust policy: there is none: write `")?;
    ensure!(machine.migration()?.answer != Answer::Asked, "it runs");
    Ok(())
}

fn versions() -> Result<()> {
    let machine = Machine::new("versions")?;
    let [old, new, older] = [("1.0.0", NOTICES), ("1.1.0", ASKS), ("0.9.0", ASKS)]
        .map(|(version, plugin)| machine.publish(version, plugin));
    let (old, new, older) = (old?, new?, older?);
    machine.done(&["bundle", "install", &old])?;
    ensure!(machine.migration()?.answer != Answer::Asked, "the old one does not ask");
    // Without a terminal nobody can confirm.
    let before = fs::read(machine.lock())?;
    machine.refused(&["bundle", "install", &new], "there is no terminal")?;
    ensure!(fs::read(machine.lock())? == before, "the lock changed");
    let shown = machine.site.at_a_terminal(
        &["bundle", "install", &new],
        terminal::Answer::Text("no"),
        &[],
    )?;
    ensure!(
        shown.code == Some(1)
            && shown.text.contains("not confirmed")
            && fs::read(machine.lock())? == before,
        "{}",
        shown.text
    );
    let shown =
        machine.site.at_a_terminal(&["bundle", "install", &new], terminal::Answer::Word, &[])?;
    for part in ["what changes from 1.0.0", "goes from 1.0.0 to 1.1.0", "released", "locked in"] {
        ensure!(shown.text.contains(part), "{part:?} is missing: {}", shown.text);
    }
    machine.runs()?;
    machine.refused(
        &["bundle", "install", &older, "--yes"],
        "no version before the installed 1.1.0: it is 0.9.0",
    )?;
    machine.refused(
        &["bundle", "install", &old, "--yes"],
        "no version before the installed 1.1.0: it is 1.0.0",
    )?;
    machine.runs()?;
    // The old one is no longer used.
    let installed = fs::read_to_string(machine.bundles_folder().join("installed.json"))?;
    ensure!(!installed.contains("\"1.0.0\""), "{installed}");
    Ok(())
}

fn side_by_side() -> Result<()> {
    let machine = Machine::new("side by side")?;
    let other = machine.site.root().join("other");
    fs::create_dir_all(other.join(".git"))?;
    let (old, new) = (machine.publish("1.0.0", ASKS)?, machine.publish("1.1.0", NOTICES)?);
    machine.done(&["bundle", "install", &old])?;
    let mut elsewhere = machine.site.command(&["bundle", "install", &new]);
    elsewhere.current_dir(&other).env("CLAUDE_PROJECT_DIR", &other);
    let ended = elsewhere.output()?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    machine.runs()?;
    let installed = fs::read_to_string(machine.bundles_folder().join("installed.json"))?;
    ensure!(installed.contains("\"1.0.0\"") && installed.contains("\"1.1.0\""), "{installed}");
    Ok(())
}

fn global() -> Result<()> {
    let machine = Machine::new("global")?;
    let archive = machine.publish("1.0.0", ASKS)?;
    machine.done(&["bundle", "install", &archive, "--global"])?;
    ensure!(
        !machine.lock().exists() && machine.site.state().join("portcullis.lock").exists(),
        "it was locked elsewhere"
    );
    machine.runs()?;
    // A project that locks another version of it would need another set: both must name the same.
    let other = machine.publish("2.0.0", ASKS)?;
    machine.refused(&["bundle", "install", &other], "both must lock the same bundle")?;
    ensure!(!machine.lock().exists(), "it was locked");
    machine.done(&["bundle", "install", &archive])?;
    machine.runs()
}

/// `released` has no settings: an unknown one is its fault, from any source.
fn settings() -> Result<()> {
    let machine = Machine::new("settings")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.runs()?;
    let off = "[plugins.released]\nenabled = false\n";
    fs::write(machine.site.state().join("config.toml"), off)?;
    ensure!(machine.migration()?.answer != Answer::Asked, "it was switched off by the operator");
    fs::write(machine.site.state().join("config.toml"), "[plugins.released]\nshadow = true\n")?;
    ensure!(machine.migration()?.answer != Answer::Asked, "it looks on, by the operator");
    fs::write(machine.site.state().join("config.toml"), "[plugins.releasd]\nshadow = true\n")?;
    machine.stops("no locked bundle holds it")?;
    ensure!(machine.site.run(&["config", "check"])?.code == Some(1), "config check did not notice");
    fs::remove_file(machine.site.state().join("config.toml"))?;
    machine.runs()
}

/// The configured folder has a file of that name: two plugins of one name would stop every review.
fn beside_a_file() -> Result<()> {
    let machine = Machine::new("beside a file")?;
    let archive = machine.publish("1.0.0", ASKS)?;
    for folder in ["plugins", "elsewhere"] {
        let folder = machine.site.state().join(folder);
        fs::create_dir_all(&folder)?;
        fs::write(
            machine.site.state().join("config.toml"),
            format!("plugins_dir = \"{}\"\n", folder.display()),
        )?;
        fs::copy(crate::machine::released(NOTICES)?, folder.join("released.wasm"))?;
        machine.refused(&["bundle", "install", &archive], "but there is a `released.wasm` in `")?;
        ensure!(!machine.lock().exists(), "it was locked");
        fs::remove_file(folder.join("released.wasm"))?;
    }
    machine.done(&["bundle", "install", &archive])?;
    machine.runs()
}

fn removed() -> Result<()> {
    let machine = Machine::new("removed")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.refused(&["bundle", "remove", NAME], "there is no terminal")?;
    machine.runs()?;
    machine.refused(&["bundle", "remove", "acme/other"], "locks no `acme/other`")?;
    let shown =
        machine.site.at_a_terminal(&["bundle", "remove", NAME], terminal::Answer::Word, &[])?;
    ensure!(shown.code == Some(0) && shown.text.contains("was removed from"), "{}", shown.text);
    ensure!(machine.migration()?.answer != Answer::Asked, "it still runs");
    let blobs = fs::read_dir(machine.bundles_folder().join("blobs"))?.count();
    ensure!(blobs == 0, "{blobs} blobs are left");
    Ok(())
}

fn revoked() -> Result<()> {
    let machine = Machine::new("revoked")?;
    machine.done(&["bundle", "install", &machine.publish("1.0.0", ASKS)?])?;
    machine.runs()?;
    fs::write(machine.policy(), format!("# Ours.\n{}", fs::read_to_string(machine.policy())?))?;
    let policy = fs::read_to_string(machine.policy())?;
    let said = machine.done(&["bundle", "revoke", NAME])?;
    ensure!(said.contains("revoked in `") && said.contains("is not trusted: revocation"), "{said}");
    let now = fs::read_to_string(machine.policy())?;
    ensure!(now.starts_with(&policy) && now.contains("[revoked]"), "it was written again: {now}");
    machine.stops("is revoked")?;
    let again = machine.done(&["bundle", "revoke", NAME, "--json"])?;
    ensure!(again.contains("\"revoked\":[]"), "{again}");
    for (what, why) in [
        ("acme/none", "no bundle `acme/none` is installed"),
        ("no such thing", "is not a digest, an archive or the name"),
    ] {
        machine.refused(&["bundle", "revoke", what], why)?;
    }
    let before = fs::read(machine.policy())?;
    machine.refused(
        &["bundle", "revoke", "--key", "nobody"],
        "has no key `nobody`\nhint: only its own keys can be revoked there",
    )?;
    ensure!(fs::read(machine.policy())? == before, "the policy was written");
    fs::write(machine.policy(), &policy)?;
    machine.runs()?;
    machine.done(&["bundle", "revoke", "--key", "release"])?;
    machine.stops("none of them made a statement about this bundle")
}

fn doctored() -> Result<()> {
    let machine = Machine::new("doctored")?;
    let finding = || -> Result<(String, String)> {
        let ended = machine.site.run(&["doctor", "--quick", "--json"])?;
        let found: serde_json::Value = serde_json::from_str(&ended.text())?;
        let all = found["findings"].as_array().cloned().unwrap_or_default();
        let one = all.into_iter().find(|finding| finding["check"] == "bundles").unwrap_or_default();
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        Ok((text("level"), format!("{} {}", text("what"), text("fix"))))
    };
    ensure!(finding()?.0.is_empty(), "nothing is locked, and nothing is said");
    let archive = machine.publish("1.0.0", ASKS)?;
    machine.done(&["bundle", "install", &archive])?;
    ensure!(finding()? == ("ok".into(), "1 locked, all verified ".into()), "{:?}", finding()?);
    let (key, passphrase) = (machine.made("release.key"), machine.made("passphrase"));
    let short = machine.publish("1.1.0", NOTICES)?;
    machine.done(&[
        "bundle",
        "build",
        &short.replace("/bundle.tar", ""),
        "--output",
        &machine.made("short.tar"),
    ])?;
    let short = machine.made("short.tar");
    machine.done(&[
        "bundle",
        "sign",
        &short,
        "--key",
        &key,
        "--passphrase-file",
        &passphrase,
        "--expires",
        "3",
    ])?;
    machine.done(&["bundle", "install", &short, "--yes"])?;
    let (level, what) = finding()?;
    ensure!(
        level == "warning" && what.contains("is trusted until") && what.contains("bundle update"),
        "{level}: {what}"
    );
    machine.done(&["bundle", "revoke", NAME])?;
    let (level, what) = finding()?;
    ensure!(
        level == "problem"
            && what.contains("each action is refused")
            && what.contains("bundle verify acme/checks"),
        "{level}: {what}"
    );
    Ok(())
}

fn agents() -> Result<()> {
    let machine = Machine::new("agents")?;
    let archive = machine.publish("1.0.0", ASKS)?;
    machine.done(&["bundle", "install", &archive])?;
    for words in [
        ["bundle", "install", &archive],
        ["bundle", "remove", NAME],
        ["bundle", "revoke", NAME],
        ["bundle", "update", NAME],
    ] {
        let ended = machine.site.command(&words).env("CLAUDECODE", "1").output()?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(
            ended.status.code() == Some(1) && said.contains("an agent runs this command"),
            "{words:?}: {said}"
        );
        let reply = machine
            .site
            .hook(&machine.site.calls("s").bash("b", &format!("portcullis {}", words.join(" "))))?;
        ensure!(reply.answer == Answer::Refused, "{words:?}: {:?}", reply.said);
    }
    let reply = machine.site.hook(
        &machine.site.calls("s").bash("b", "portcullis bundle install --yes old.tar -- --help"),
    )?;
    ensure!(
        reply.answer == Answer::Refused,
        "what stands behind `--` is not an option: {:?}",
        reply.said
    );
    let lock = machine.lock().display().to_string();
    for command in [
        format!("rm {lock}"),
        format!("echo > {lock}"),
        "sed -i /checks/d portcullis.lock".to_owned(),
        format!("mv {lock} /tmp/x"),
    ] {
        let reply = machine.site.hook(&machine.site.calls(&command).bash("b", &command))?;
        ensure!(
            reply.answer == Answer::Refused && reply.said.contains("lock"),
            "{command}: {:?}: {}",
            reply.answer,
            reply.said
        );
    }
    Ok(())
}

fn at_once() -> Result<()> {
    let machine = Machine::new("at once")?;
    let (one, two) =
        (machine.publish("1.0.0", ASKS)?, machine.published_as("acme/other", "1.0.0", NOTICES)?);
    for round in 0..5 {
        let both = [&one, &two].map(|archive| {
            machine
                .site
                .command(&["bundle", "install", archive])
                .stdout(std::process::Stdio::null())
                .spawn()
        });
        for child in both {
            ensure!(child?.wait()?.success(), "round {round}: one failed");
        }
        let listed = machine.list()?;
        let all = listed["locked"].as_array().map(Vec::len);
        ensure!(
            all == Some(2)
                && listed["locked"]
                    .as_array()
                    .is_some_and(|all| all.iter().all(|one| one["holds"] == true)),
            "{listed}"
        );
        machine.runs()?;
        for name in [NAME, "acme/other"] {
            let shown = machine.site.at_a_terminal(
                &["bundle", "remove", name],
                terminal::Answer::Word,
                &[],
            )?;
            ensure!(shown.code == Some(0), "round {round}: {}", shown.text);
        }
    }
    Ok(())
}

/// A cloned repository can contain any file.
fn shadowed() -> Result<()> {
    let machine = Machine::new("shadowed")?;
    let archive = machine.publish("1.0.0", ASKS)?;
    let reference = "registry.invalid/acme/checks:1.0.0";
    let project = machine.site.project();
    fs::create_dir_all(project.join("registry.invalid/acme"))?;
    fs::create_dir_all(project.join("acme"))?;
    fs::copy(&archive, project.join(reference))?;
    machine.refused(&["bundle", "install", reference], "registry.invalid")?;
    ensure!(!machine.lock().exists(), "the file was installed");
    machine.done(&["bundle", "install", &archive])?;
    // Another bundle under the name of the installed one.
    fs::copy(
        machine.published("acme/checks", "3.0.0", NOTICES, "release")?,
        project.join("acme/checks"),
    )?;
    let text = machine.done(&["bundle", "verify", NAME])?;
    ensure!(text.contains("acme/checks 1.0.0"), "{text}");
    machine.done(&["bundle", "revoke", NAME])?;
    machine.stops("is revoked")
}
