//! Tests of indexes of bundles: from a publisher's archives to the bundle that a name leads to.

use crate::common::trial;
use crate::market::{INDEX, Market};
use crate::stall::{Stall, rule};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("index: found by a word, shown, installed by its name, and updated", whole_way),
        trial("index: what a publisher writes is built and signed the same twice", published),
        trial("index: a mirror serves a machine without a network", mirrored),
    ]
}

/// Writes a key file and its line of a policy.
fn make_key(stall: &Stall, name: &str) -> Result<()> {
    stall.done(&format!("key new --output {name} --passphrase-file passphrase")).map(drop)
}

fn whole_way() -> Result<()> {
    let Some(market) = Market::open("index whole way")? else { return Ok(()) };
    let stall = &market.stall;
    let first = market.publish("1.0.0")?;
    make_key(stall, "index.key")?;
    let key = stall.trusted_key("index.key")?;
    let entry = market.entry(INDEX, "index.key", &format!("{}/{INDEX}", market.host()));
    stall.trust(&format!("{}{key}{}{entry}", market.keys()?, rule("release")))?;
    let publish = |serial: u64, archives: &str| -> Result<()> {
        let host = market.host();
        stall.done(&format!(
            "index build {archives} --name {INDEX} --serial {serial} --registry {host} --notes notes.toml --output index-{serial}.tar"
        ))?;
        stall.done(&format!(
            "index sign index-{serial}.tar --key index.key --passphrase-file passphrase"
        ))?;
        market.done(&format!("index push index-{serial}.tar {host}/{INDEX}")).map(drop)
    };
    stall.put("notes.toml", "")?;
    publish(1, &first)?;
    market.refused("search loops", "no index is here yet")?;
    let text = market.done("index update")?;
    ensure!(text.contains("updated acme/index to the serial 1, 1 bundle"), "{text}");
    let found = market.stall.json("search LOOPS pattern")?;
    ensure!(found["bundles"][0]["name"] == "acme/checks", "{found}");
    ensure!(found["bundles"][0]["plugins"][0]["reads"] == json!(["history"]), "{found}");
    let text = stall.done("search what")?;
    ensure!(text.contains("acme/checks 1.0.0") && text.contains("minute old"), "{text}");
    ensure!(stall.done("search what nonsense")?.contains("no bundle matches"));
    ensure!(stall.json("search --kind intervention")?["bundles"] == json!([]));
    let info = stall.json("info acme/checks")?;
    ensure!(info["would_be_trusted"] == true && info["installed"] == json!([]), "{info}");
    ensure!(info["install"] == "portcullis bundle install acme/checks@1.0.0", "{info}");
    let text = stall.done("info acme/checks@1.0.0")?;
    for part in
        ["listed by the index `acme/index`", "reads history", "asks for hosts", "nobody vetted"]
    {
        ensure!(text.contains(part), "{part:?} is missing: {text}");
    }
    // The index alone makes nothing trusted.
    let rules = rule("release").replace("acme/", "else/");
    stall.trust(&format!("{}{key}{rules}{entry}", market.keys()?))?;
    ensure!(stall.json("info acme/checks")?["would_be_trusted"] == false);
    market.refused("install acme/checks", "a rule for `acme/checks`: there is none")?;
    stall.trust(&format!("{}{key}{}{entry}", market.keys()?, rule("release")))?;
    market.done("install acme/checks")?;
    let lock = String::from_utf8(stall.get("portcullis.lock")?)?;
    ensure!(
        lock.contains(&format!("from = \"{}/acme/checks\"", market.host()))
            && lock.contains("index = \"acme/index\""),
        "{lock}"
    );
    ensure!(market.done("update --check")?.contains("acme/checks 1.0.0 is the newest"));
    // A tag alone is no update: the index lists what there is.
    let second = market.publish("1.1.0")?;
    ensure!(market.done("update --check")?.contains("acme/checks 1.0.0 is the newest"));
    stall.put(
        "notes.toml",
        "[[version]]\nname = \"acme/checks\"\nversion = \"1.1.0\"\nchange = \"Reads more.\"\n",
    )?;
    publish(2, &format!("{first} {second}"))?;
    let text = market.done("update --yes")?;
    ensure!(text.contains("acme/checks 1.1.0 is locked in"), "{text}");
    ensure!(text.contains("  changes: Reads more.\n"), "{text}");
    ensure!(stall.json("info acme/checks")?["locked"] == "1.1.0");
    market.refused("install acme/checks@1.0.0 --yes", "no version before the installed 1.1.0")?;
    market.refused("install acme/checks@7.0.0", "lists no `acme/checks 7.0.0`")?;
    for (words, why) in [
        ("install acme/checks@latest", "is not a version of `acme/checks`"),
        ("install acme/checks:1.0.0", "names no registry"),
        ("install acme/nothing", "no index lists `acme/nothing`"),
        ("install else/checks", "no index may list `else/checks`"),
    ] {
        market.refused(words, why)?;
    }
    // A revoked bundle is gone from the next review on, whatever the index lists.
    stall.done("revoke acme/checks")?;
    ensure!(stall.json("info acme/checks")?["would_be_trusted"] == false);
    market.refused("install acme/checks --yes", "is revoked")?;
    market.refused("install", "is revoked")?;
    Ok(())
}

fn published() -> Result<()> {
    let stall = Stall::new("index published")?;
    stall.signed("release.key")?;
    let archive = crate::stall::ARCHIVE;
    stall.put(
        "notes.toml",
        "[[version]]\nname = \"acme/checks\"\nversion = \"1.0.0\"\nchange = \"The first.\"\nyanked = \"It is slow.\"\n\n[[bundle]]\nname = \"acme/checks\"\nreference = \"quay.io/acme/tools\"\n",
    )?;
    let build = |out: &str| {
        stall.json(&format!(
            "index build . --name {INDEX} --serial 4 --notes notes.toml --days 7 --made 2026-11-23T04:51:08Z --output {out}"
        ))
    };
    fs::create_dir(stall.path("kept"))?;
    let built = build("kept/one.index")?;
    build("kept/two.index")?;
    ensure!(stall.get("kept/one.index")? == stall.get("kept/two.index")?, "other bytes");
    let version = &built["index"]["bundles"][0]["versions"][0];
    ensure!(version["change"] == "The first." && version["yanked"] == "It is slow.", "{version}");
    ensure!(version["reference"] == "quay.io/acme/tools", "{version}");
    ensure!(version["plugins"][0]["reads"] == json!(["history"]), "{version}");
    ensure!(version["signatures"].as_array().is_some_and(|all| all.len() == 1), "{version}");
    ensure!(built["index"]["expires"].as_u64() > built["index"]["made"].as_u64(), "{built}");
    let sign = "index sign kept/one.index --key release.key --passphrase-file passphrase";
    ensure!(stall.done(sign)?.starts_with("signed with the key sha256:"));
    ensure!(stall.done(sign)?.starts_with("signed already"));
    stall.put("unsigned.toml", crate::stall::MANIFEST.replace("acme/checks", "acme/more"))?;
    stall.done("build unsigned.toml --output unsigned.tar")?;
    stall.put(
        "wrong.toml",
        "[[version]]\nname = \"acme/check\"\nversion = \"1.0.0\"\nyanked = \"x\"\n",
    )?;
    let one = format!("index build {archive} --name {INDEX} --serial 4 --output out.index");
    for (words, why) in [
        (one.clone(), "it is unknown where `acme/checks` is"),
        (format!("{one} --registry ghcr.io/x:1"), "is not a tag"),
        (
            format!("{one} --notes wrong.toml --registry ghcr.io"),
            "no archive holds `acme/check 1.0.0`",
        ),
        (format!("{one} --notes bundle.toml --registry ghcr.io"), "the index cannot be built"),
        (format!("{} {archive} --registry ghcr.io", one), "and so does another archive"),
        (
            format!("index build unsigned.tar --name {INDEX} --serial 4 --registry ghcr.io"),
            "nobody signed it",
        ),
        ("index build kept --name a/b --serial 4 --registry ghcr.io".into(), "holds no archive"),
        ("index push kept/two.index ghcr.io/acme/index".into(), "nobody signed `kept/two.index`"),
        (
            format!("index sign {archive} --key release.key --passphrase-file passphrase"),
            "is not an archive of an index",
        ),
        ("verify kept/one.index".into(), "is not an archive of a bundle"),
        (one.replace("out.index", "notes.toml") + " --registry ghcr.io", "is not overwritten"),
    ] {
        let ended = stall.run(&words)?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(why), "{words}: {}", ended.all());
    }
    Ok(())
}

fn mirrored() -> Result<()> {
    let Some(market) = Market::open("index mirrored")? else { return Ok(()) };
    let first = market.publish("1.0.0")?;
    let index = market.index(1, vec![market.listed(&first)?])?;
    market.serve_signed(&index)?;
    let mirror = |market: &Market| market.json(&format!("index mirror {INDEX} --output mirror"));
    let made = mirror(&market)?;
    ensure!(made["bundles"] == 1 && made["fetched"] == 1 && made["serial"] == 1, "{made}");
    ensure!(mirror(&market)?["fetched"] == 0, "it was fetched again");
    let folder = made["folder"].as_str().context("no folder")?.to_owned();
    let entry = market.entry(INDEX, "index", &folder);
    let policy = format!("{}{}{entry}", market.keys()?, rule("release"));
    // Another machine, which reaches no registry.
    let other = Stall::new("index mirrored other")?;
    other.trust(&policy)?;
    other.done("index update")?;
    other.done("install acme/checks")?;
    let lock = other.get("portcullis.lock")?;
    fs::remove_dir_all(other.site.state().join("bundles/blobs"))?;
    let text = other.done("install")?;
    ensure!(text.contains("fetched acme/checks 1.0.0"), "{text}");
    ensure!(other.get("portcullis.lock")? == lock, "the lock was written");
    // The policy's registries count for the place that the index gives.
    let narrow = rule("release") + "registries = [\"ghcr.io/acme/\"]\n";
    other.trust(&format!("{}{narrow}{entry}", market.keys()?))?;
    let ended = other.run("install acme/checks")?;
    ensure!(ended.stderr.contains("it is from 127.0.0.1:"), "{}", ended.all());
    other.trust(&policy)?;
    // What is in the folder needs no trust, and gets none.
    let file = fs::read_dir(format!("{folder}/bundles"))?.next().context("no archive")??.path();
    let honest = fs::read(&file)?;
    let mut changed = honest.clone();
    let at = changed.len() / 2;
    changed[at] ^= 1;
    fs::write(&file, changed)?;
    fs::remove_dir_all(other.site.state().join("bundles/blobs"))?;
    for words in ["install", "install acme/checks"] {
        let ended = other.run(words)?;
        ensure!(ended.code == Some(1), "`{words}`: {}", ended.all());
    }
    let stranger = market.publish("1.0.1")?;
    fs::copy(market.stall.path(&stranger), &file)?;
    let ended = other.run("install acme/checks")?;
    ensure!(ended.stderr.contains("the index lists sha256:"), "{}", ended.all());
    fs::write(&file, honest)?;
    other.done("install")?;
    // An index that is older than the one seen, in the folder's place.
    let newer = market.index(2, vec![market.listed(&first)?])?;
    market.serve_signed(&newer)?;
    let kept = fs::read(format!("{folder}/index.tar"))?;
    mirror(&market)?;
    other.done("index update")?;
    fs::write(format!("{folder}/index.tar"), kept)?;
    let ended = other.run("index update")?;
    ensure!(ended.stderr.contains("this machine has seen 2"), "{}", ended.all());
    let list: Value = other.json("index list")?;
    ensure!(list["indexes"][0]["serial"] == 2, "{list}");
    Ok(())
}
