//! Tests of a publisher's ordinary work.

use crate::common::terminal::Answer;
use crate::common::trial;
use crate::stall::{ARCHIVE, MANIFEST, PASSPHRASE, Stall, component, descriptor, rule};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial(
            "bundle: a key is made at a terminal, which shows nothing of its passphrase",
            at_a_terminal,
        ),
        trial("bundle: the same inputs give the same bytes", reproducible),
        trial("bundle: a component of several plugins, and one without a name", several),
        trial("bundle: a signature that is made elsewhere is put in", elsewhere),
        trial("bundle: an unpacked archive is verified as the archive is", unpacked),
        trial("bundle: existing files are not overwritten", kept),
        trial("bundle: a publisher who signs twice", twice),
        trial(
            "bundle: installed bundles are verified by name, and nothing older is trusted",
            installed,
        ),
    ];
    trials.extend(["ed25519", "p256"].map(|algorithm| {
        trial(
            format!("bundle: from a key to what is trusted, {algorithm}, which openssl reads"),
            move || whole_way(algorithm),
        )
    }));
    trials
}

fn whole_way(algorithm: &str) -> Result<()> {
    let stall = Stall::new(&format!("whole way {algorithm}"))?;
    let made = stall.json(&format!(
        "key new --output release.key --algorithm {algorithm} --passphrase-file passphrase"
    ))?;
    for (file, mode) in [("release.key", 0o600), ("release.key.pub", 0o644)] {
        let found = fs::metadata(stall.path(file))?.permissions().mode() & 0o777;
        ensure!(found & !mode == 0 && found & 0o600 == 0o600, "`{file}` has mode {found:o}");
    }
    let public = String::from_utf8(stall.get("release.key.pub")?)?;
    for file in ["release.key", "release.key.pub"] {
        let shown = stall.json(&format!("key show {file} --passphrase-file passphrase"))?;
        ensure!(shown["id"] == made["id"] && shown["public"] == public.as_str(), "{shown}\n{made}");
    }
    let mut openssl = Command::new("openssl");
    openssl
        .args(["pkey", "-pubout", "-passin", &format!("pass:{PASSPHRASE}"), "-in"])
        .arg(stall.path("release.key"));
    let openssl = openssl.output().context("cannot start `openssl`")?;
    ensure!(openssl.stdout == public.as_bytes(), "openssl: {openssl:?}");
    stall.done(&format!("build --output {ARCHIVE}"))?;
    let text = stall.done(&format!(
        "sign {ARCHIVE} --key release.key --expires 30 --passphrase-file passphrase"
    ))?;
    for wanted in [
        "signed with the key sha256:",
        ", until 20",
        "acme/checks 1.0.0  sha256:",
        "as its first signature",
    ] {
        ensure!(text.contains(wanted), "`{wanted}` is not in {text}");
    }
    stall.misses(ARCHIVE, &["a trust policy: there is none: write `"])?;
    stall.trust(&(stall.trusted_key("release.key")? + &rule("release.key")))?;
    stall.misses(ARCHIVE, &[])?;
    let (_, document) = stall.verified(ARCHIVE)?;
    let signature = &document["bundles"][0]["signatures"][0];
    ensure!(
        signature["keys"][0]["name"] == "release.key" && signature["calls_itself"] == made["id"],
        "{signature}"
    );
    ensure!(
        signature["of_this_bundle"] == true
            && signature["expires"].as_u64() == document["bundles"][0]["until"].as_u64(),
        "{document}"
    );
    let text = stall.done(&format!("verify {ARCHIVE}"))?;
    for wanted in [
        "acme/checks 1.0.0  sha256:",
        "asks for hosts = [\"https://HOST\"]",
        "asks for no grant\n",
        "settings most = 5",
        "ok      revocation: none of its digests is revoked",
        "ok      signed by `release.key`: release.key",
        "of `acme-checks-1.0.0.tar`, as read just now, until 20",
        "  `release.key`, until 20",
    ] {
        ensure!(text.contains(wanted), "`{wanted}` is not in {text}");
    }
    Ok(())
}

fn at_a_terminal() -> Result<()> {
    let stall = Stall::new("at a terminal")?;
    let (new, again, of) = ("Passphrase for the new key: ", "The same again: ", "release.key`: ");
    let make = ["bundle", "key", "new", "--output", "release.key"];
    for (lines, message) in [
        ([(new, PASSPHRASE), (again, "another passphrase")], "the passphrases differ"),
        ([(new, "short"), (again, "short")], "a passphrase has at least 12 characters"),
        ([(new, "never \u{3}"), (again, "")], "interrupted: nothing was done"),
    ] {
        let shown = stall.site.at_a_terminal(&make, Answer::Lines(&lines), &[])?;
        shown.ended(1, &[message])?;
        ensure!(
            !stall.path("release.key").exists() && !stall.path("release.key.pub").exists(),
            "a key was made all the same"
        );
    }
    let shown = stall.site.at_a_terminal(
        &make,
        Answer::Lines(&[(new, PASSPHRASE), (again, PASSPHRASE)]),
        &[],
    )?;
    shown.ended(
        0,
        &["made `release.key`", "[[key]]\nname = \"release\"", "-----BEGIN PUBLIC KEY-----"],
    )?;
    ensure!(!shown.seen.contains("heron"), "it was shown: {}", shown.seen);
    stall.done("build")?;
    let sign = ["bundle", "sign", ARCHIVE, "--key", "release.key"];
    let unsigned = stall.get(ARCHIVE)?;
    stall
        .site
        .at_a_terminal(&sign, Answer::Lines(&[(of, "eleven blue heron")]), &[])?
        .ended(1, &["wrong passphrase for this key"])?;
    ensure!(stall.get(ARCHIVE)? == unsigned, "the archive was changed");
    // Typing errors are corrected with the usual keys.
    let fixed = format!("wrong\u{15}{PASSPHRASE}x\u{7f}");
    let shown = stall.site.at_a_terminal(&sign, Answer::Lines(&[(of, &fixed)]), &[])?;
    shown.ended(0, &["signed with the key", "without end"])?;
    ensure!(!shown.seen.contains("heron"), "it was shown: {}", shown.seen);
    let ended = stall.run("key new --output other.key")?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("there is no terminal to ask"),
        "{}",
        ended.all()
    );
    Ok(())
}

/// The result does not depend on the manifest's order, its location or the person who builds.
fn reproducible() -> Result<()> {
    let (one, other) =
        (Stall::new("reproducible one")?, Stall::new("reproducible other, elsewhere")?);
    let (head, plugins) = MANIFEST.split_once("[[plugin]]").context("no plugins")?;
    let (first, second) = plugins.split_once("[[plugin]]").context("one plugin")?;
    other.put(
        "bundle.toml",
        format!("[[plugin]]{second}\n[[plugin]]{first}").replacen(
            "[[plugin]]",
            &format!("{head}[[plugin]]"),
            1,
        ),
    )?;
    let [built, again] = [&one, &other].map(|stall| stall.json("build"));
    let (built, again) = (built?, again?);
    ensure!(
        built["digest"] == again["digest"] && built["about"] == again["about"],
        "{built}\n{again}"
    );
    ensure!(one.get(ARCHIVE)? == other.get(ARCHIVE)?, "the bytes differ");
    let names: Vec<_> = built["about"]["components"]
        .as_array()
        .context("no components")?
        .iter()
        .map(|one| &one["plugins"][0]["name"])
        .collect();
    ensure!(names == ["asks", "loops"], "{names:?}");
    // Signed with one key, the archives are identical again.
    for stall in [&one, &other] {
        stall.put("release.key.pub", "")?;
        fs::remove_file(stall.path("release.key.pub"))?;
    }
    one.done("key new --output release.key --passphrase-file passphrase")?;
    fs::copy(one.path("release.key"), other.path("release.key"))?;
    for stall in [&one, &other] {
        stall.done(&format!("sign {ARCHIVE} --key release.key --passphrase-file passphrase"))?;
    }
    ensure!(one.get(ARCHIVE)? == other.get(ARCHIVE)?, "the signed bytes differ");
    other.put("bundle.toml", MANIFEST.replace("most = 5", "most = 6"))?;
    ensure!(
        other.json("build --output other.tar")?["digest"] != built["digest"],
        "another setting is another bundle"
    );
    Ok(())
}

fn several() -> Result<()> {
    let stall = Stall::new("several")?;
    stall.put("both.wasm", component(&[], &[descriptor("first"), descriptor("second")])?)?;
    stall.put("silent.wasm", component(&["wasi:clocks/wall-clock@0.2.3"], &[])?)?;
    let head = "name = \"acme/several\"\nversion = \"1.0.0\"\n";
    let both = "[[plugin]]\nfile = \"both.wasm\"\n";
    let silent =
        "[[plugin]]\nfile = \"silent.wasm\"\nname = \"silent\"\nsettings = { anything = true }\n";
    stall.put(
        "bundle.toml",
        format!(
            "{head}{both}settings = {{ second.most = 4, second.words.of = [\"a\"] }}\n{silent}"
        ),
    )?;
    let built = stall.json("build")?;
    let components = built["about"]["components"].as_array().context("no components")?;
    let plugins = components[0]["plugins"].as_array().context("no plugins")?;
    ensure!(plugins[0]["name"] == "first" && plugins[0]["settings"].is_null(), "{built}");
    ensure!(
        plugins[1]["settings"] == serde_json::json!({ "most": 4, "words.of": ["a"] }),
        "{built}"
    );
    ensure!(
        components[1]["plugins"][0]["name"] == "silent"
            && components[1]["wants"]["grants"][0] == "clocks = true",
        "{built}"
    );
    stall.done("verify acme-several-1.0.0.tar").err().context("nobody signed it")?;
    // The bundle's description of a component without a descriptor is compared with its bytes all
    // the same.
    stall.misses("acme-several-1.0.0.tar", &["a trust policy"])
}

fn elsewhere() -> Result<()> {
    let stall = Stall::new("elsewhere")?;
    stall.done("build")?;
    let unsigned = stall.get(ARCHIVE)?;
    stall.done("key new --output release.key --passphrase-file passphrase")?;
    stall.done(&format!(
        "sign {ARCHIVE} --key release.key --passphrase-file passphrase --output checks.sigstore.json"
    ))?;
    ensure!(stall.get(ARCHIVE)? == unsigned, "the archive was changed");
    let text = stall.done(&format!("sign {ARCHIVE} --attach checks.sigstore.json"))?;
    ensure!(
        text.contains("attached, without end; `portcullis bundle verify` checks who made it"),
        "{text}"
    );
    ensure!(
        stall
            .done(&format!("sign {ARCHIVE} --attach checks.sigstore.json"))?
            .contains("there already")
    );
    stall.trust(&(stall.trusted_key("release.key")? + &rule("release.key")))?;
    stall.misses(ARCHIVE, &[])?;
    // Without a policy of its own, with a proposed one.
    let policy = fs::read(stall.site.state().join("trust.toml"))?;
    fs::remove_file(stall.site.state().join("trust.toml"))?;
    stall.put("candidate.toml", policy)?;
    stall.misses(ARCHIVE, &["a trust policy"])?;
    stall.misses(&format!("{ARCHIVE} --trust candidate.toml"), &[])
}

fn unpacked() -> Result<()> {
    let stall = Stall::new("unpacked")?;
    stall.signed("release.key")?;
    stall.trust(&(stall.trusted_key("release.key")? + &rule("release.key")))?;
    fs::create_dir(stall.path("layout"))?;
    let tar = Command::new("tar")
        .arg("-xf")
        .arg(stall.path(ARCHIVE))
        .arg("-C")
        .arg(stall.path("layout"))
        .output()?;
    ensure!(tar.status.success(), "{tar:?}");
    stall.misses("layout", &[])?;
    let blobs = stall.path("layout/blobs/sha256");
    let some = fs::read_dir(&blobs)?.next().context("no blobs")??.path();
    let bytes = fs::read(&some)?;
    let refused = |message: &str| -> Result<()> {
        let ended = stall.run("verify layout")?;
        ensure!(
            ended.code == Some(1) && ended.stdout.is_empty() && ended.stderr.contains(message),
            "{}",
            ended.all()
        );
        Ok(())
    };
    fs::write(&some, [bytes.as_slice(), b" "].concat())?;
    refused("the bytes were changed or swapped")?;
    fs::remove_file(&some)?;
    refused("the archive lacks it")?;
    std::os::unix::fs::symlink("/etc/passwd", &some)?;
    refused("is not a file")?;
    fs::remove_file(&some)?;
    fs::write(&some, bytes)?;
    stall.misses("layout", &[])?;
    stall.put("layout/blobs/sha256/install.sh", "rm -rf /")?;
    refused("`blobs/sha256/install.sh` does not belong in an archive")
}

fn kept() -> Result<()> {
    let stall = Stall::new("kept")?;
    stall.signed("release.key")?;
    let signed = stall.get(ARCHIVE)?;
    ensure!(stall.done("build")?.starts_with("exists already"));
    ensure!(stall.get(ARCHIVE)? == signed, "the signature was lost");
    stall.put("asks.wasm", component(&[], &[descriptor("asks")])?)?;
    let ended = stall.run("build")?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("holds another bundle, `acme/checks 1.0.0`"),
        "{}",
        ended.all()
    );
    ensure!(stall.get(ARCHIVE)? == signed, "it was overwritten");
    stall.put("notes.txt", "mine")?;
    for words in [
        "build --output notes.txt",
        &format!(
            "sign {ARCHIVE} --key release.key --passphrase-file passphrase --output notes.txt"
        ),
    ] {
        let ended = stall.run(words)?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains("is not overwritten"),
            "{}",
            ended.all()
        );
    }
    for words in [
        "key new --output release.key --passphrase-file passphrase",
        "key new --output notes.txt --passphrase-file passphrase",
    ] {
        let ended = stall.run(words)?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains("no key is overwritten"),
            "{}",
            ended.all()
        );
    }
    ensure!(stall.get("notes.txt")? == b"mine");
    let drafts: Vec<_> = fs::read_dir(stall.site.project())?
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "draft"))
        .collect();
    ensure!(drafts.is_empty(), "left behind: {drafts:?}");
    Ok(())
}

fn twice() -> Result<()> {
    let stall = Stall::new("twice")?;
    stall.signed("release.key")?;
    let once = stall.get(ARCHIVE)?;
    let again =
        stall.done(&format!("sign {ARCHIVE} --key release.key --passphrase-file passphrase"))?;
    ensure!(again.starts_with("there already") && stall.get(ARCHIVE)? == once, "{again}");
    stall.done("key new --output other.key --passphrase-file passphrase")?;
    let other = stall.done(&format!(
        "sign {ARCHIVE} --key other.key --expires 1 --passphrase-file passphrase"
    ))?;
    ensure!(other.contains("next to 1 other\n") && stall.read(ARCHIVE)?.1.len() == 2, "{other}");
    stall.trust(&(stall.trusted_key("other.key")? + &rule("other.key")))?;
    stall.misses(ARCHIVE, &[])?;
    let text = stall.done(&format!("verify {ARCHIVE}"))?;
    ensure!(
        text.contains("a key that no policy has, which calls itself sha256:")
            && text.contains("`other.key`, until 20"),
        "{text}"
    );
    Ok(())
}

fn installed() -> Result<()> {
    let stall = Stall::new("installed")?;
    stall.signed("release.key")?;
    stall.put("bundle.toml", MANIFEST.replace("1.0.0", "1.1.0"))?;
    stall.done("build --output newer.tar")?;
    stall.done("sign newer.tar --key release.key --passphrase-file passphrase")?;
    stall.trust(&(stall.trusted_key("release.key")? + &rule("release.key")))?;
    let ended = stall.run("verify acme/checks")?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("no bundle of that name is installed"),
        "{}",
        ended.all()
    );
    ensure!(!stall.site.state().join("bundles").exists(), "to look makes no folder");
    stall.done("install newer.tar")?;
    stall.misses("acme/checks", &[])?;
    let (_, document) = stall.verified("acme/checks newer.tar")?;
    ensure!(document["bundles"].as_array().is_some_and(|all| all.len() == 2), "{document}");
    ensure!(document["bundles"][0]["digest"] == document["bundles"][1]["digest"], "{document}");
    stall.misses(ARCHIVE, &["no version before the installed 1.1.0: it is 1.0.0"])?;
    // A policy that is only tried says nothing about what this machine has.
    fs::copy(stall.site.state().join("trust.toml"), stall.path("candidate.toml"))?;
    stall.misses(&format!("{ARCHIVE} --trust candidate.toml"), &[])
}
