//! Runs the commands of the guide about bundles in its order, at a terminal, and checks that they
//! print the output that the guide shows.

use crate::common::documents::{Shown, commands, settled, words};
use crate::common::terminal::Answer;
use crate::common::trial;
use crate::stall::{ARCHIVE, HTTP, PASSPHRASE, Stall, descriptor, exporting, policy_key, rule};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("bundle: the guide's commands do what it shows", guide),
        trial(
            "bundle: openssl checks a signature as the guide has it, and refuses a changed byte",
            independent,
        ),
        trial("bundle: the guide's files are what the program reads", files),
    ]
}

/// The interface that risk-calculators export.
const ASSESSOR: &str = "portcullis:plugin/assessor@0.1.0";
/// The prompts, in the guide's order.
const QUESTIONS: [&[&str]; 2] =
    [&["Passphrase for the new key: ", "The same again: "], &["release.key`: "]];

fn page() -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/bundles.md"))?)
}

/// Returns the guide's files: each block of `toml` whose first line names it.
fn named(page: &str) -> Vec<(String, String)> {
    let blocks = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block));
    blocks
        .filter_map(|block| {
            Some((block.lines().next()?.strip_prefix("# ")?.to_owned(), format!("{block}\n")))
        })
        .collect()
}

fn guide() -> Result<()> {
    let page = page()?;
    let shown =
        commands(page.split_once("\n## Publish\n").context("the guide has no `Publish`")?.0);
    ensure!(shown.len() >= 6, "the guide shows only {} commands", shown.len());
    let stall = Stall::new("bundle guide")?;
    // The plugin from the guide for authors, under its name.
    fs::create_dir_all(stall.path("no-old-migrations/build"))?;
    stall.put(
        "no-old-migrations/plugin.toml",
        "name = \"no-old-migrations\"\nkind = \"risk-calculator\"\nlanguage = \"rust\"\n",
    )?;
    let mut said = descriptor("no-old-migrations");
    said["kind"] = "risk-calculator".into();
    said["settings"] = serde_json::json!([{ "key": "folders", "type": "texts", "default": ["migrations"], "description": "guarded folders" }]);
    stall.put(
        "no-old-migrations/build/no-old-migrations.wasm",
        exporting(ASSESSOR, &[], &[said.clone()])?,
    )?;
    let files = named(&page);
    let manifest = files
        .iter()
        .find(|(name, _)| name == "bundle.toml")
        .context("the guide shows no `bundle.toml`")?;
    stall.put("bundle.toml", &manifest.1)?;
    for Shown { command, output } in &shown {
        let words = words(command);
        let Some((program, arguments)) = words.split_first() else { continue };
        ensure!(program == "portcullis", "the guide runs `{program}`");
        if command.contains(" diff ") {
            // The next version, which requests more.
            stall.put(
                "no-old-migrations/build/no-old-migrations.wasm",
                exporting(ASSESSOR, &[HTTP], &[said.clone()])?,
            )?;
            stall.put("bundle.toml", manifest.1.replace("1.0.0", "1.1.0"))?;
            stall.done("build")?;
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let [twice, once] = QUESTIONS
            .map(|all| all.iter().map(|question| (*question, PASSPHRASE)).collect::<Vec<_>>());
        let lines = if command.contains(" key new ") { twice } else { once };
        let ended = stall.site.at_a_terminal(&arguments, Answer::Lines(&lines), &[])?;
        let untrusted = output.contains("not trusted");
        ensure!(
            ended.code == Some(if untrusted { 1 } else { 0 }),
            "`{command}` ended with {:?}: {}",
            ended.code,
            ended.text
        );
        let now = ended
            .text
            .replace(&stall.site.project().display().to_string(), "/work")
            .replace(&stall.site.state().display().to_string(), "~/.config/portcullis");
        ensure!(
            dated(&now).contains(&dated(output.trim())),
            "`{command}` prints\n{now}\nand the guide shows\n{output}"
        );
        if untrusted {
            let public = String::from_utf8(stall.get("release.key.pub")?)?;
            stall.trust(&(policy_key("release", &public)? + &rule("release")))?;
        }
    }
    Ok(())
}

/// Covers both kinds of keys.
fn independent() -> Result<()> {
    let page = page()?;
    let script = page
        .split_once("```bash\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .context("the guide shows no check")?
        .0;
    for (algorithm, check) in [
        ("ed25519", None),
        ("p256", Some("openssl dgst -sha256 -verify release.key.pub -signature signature signed")),
    ] {
        let stall = Stall::new(&format!("independent {algorithm}"))?;
        stall.done("build")?;
        stall.done(&format!(
            "key new --output release.key --algorithm {algorithm} --passphrase-file passphrase"
        ))?;
        stall.done(&format!("sign {ARCHIVE} --key release.key --output checks.sigstore.json --passphrase-file passphrase"))?;
        let last = script.trim().lines().next_back().context("an empty check")?;
        ensure!(check.is_none_or(|check| page.contains(check)), "the guide lacks `{check:?}`");
        let script = script.replace(last, check.unwrap_or(last));
        let sh = |script: &str| {
            Command::new("sh").args(["-euc", script]).current_dir(stall.site.project()).output()
        };
        let checked = sh(&script)?;
        ensure!(checked.status.success(), "{algorithm}: {checked:?}");
        let payload = String::from_utf8(stall.get("signed")?)?;
        let (_, document) = stall.verified(ARCHIVE)?;
        let digest = document["bundles"][0]["digest"]
            .as_str()
            .and_then(|digest| digest.strip_prefix("sha256:"))
            .context("no digest")?;
        ensure!(payload.contains(digest) && payload.contains("acme/checks"), "{payload}");
        let last = check.unwrap_or(last);
        for (file, at) in [("signed", 60), ("signed", payload.len() - 3), ("signature", 40)] {
            let whole = stall.get(file)?;
            let mut changed = whole.clone();
            changed[at] ^= 1;
            stall.put(file, changed)?;
            ensure!(!sh(last)?.status.success(), "{algorithm}: byte {at} of `{file}` was changed");
            stall.put(file, whole)?;
            ensure!(sh(last)?.status.success(), "{algorithm}: as it was, it is refused");
        }
    }
    Ok(())
}

/// Removes text that differs from day to day, too.
fn dated(text: &str) -> String {
    let is_date = |word: &str| {
        word.len() >= 8
            && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':'))
    };
    // A size may be given in either unit.
    settled(text)
        .replace(" bytes", " KiB")
        .split(' ')
        .map(|word| if is_date(word) { "<time>" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The program reads the reference page unchanged, except that its keys are replaced by real ones.
fn files() -> Result<()> {
    let page = page()?;
    let stall = Stall::new("bundle files")?;
    stall.done("key new --output one.key --passphrase-file passphrase")?;
    stall.done("key new --output two.key --passphrase-file passphrase")?;
    stall.done("build")?;
    let files = named(&page);
    let policy = files
        .iter()
        .find(|(name, _)| name == "trust.toml")
        .context("the guide shows no `trust.toml`")?;
    let mut text = policy.1.replace("sha256:...", &format!("sha256:{}", "0".repeat(64)));
    for key in ["one.key.pub", "two.key.pub", "one.key.pub"] {
        let public = String::from_utf8(stall.get(key)?)?;
        text = text.replacen(
            "-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n",
            &public,
            1,
        );
    }
    stall.put("trust.toml", text)?;
    let (trusted, document) = stall.verified("acme-checks-1.0.0.tar --trust trust.toml")?;
    let what: Vec<&str> = document["bundles"][0]["requirements"]
        .as_array()
        .context("no requirements")?
        .iter()
        .filter_map(|one| one["what"].as_str())
        .collect();
    ensure!(!trusted && what.iter().any(|what| what.starts_with("vetted by")), "{document}");
    for (name, known) in [
        (
            "bundle.toml",
            [
                "`name`",
                "`version`",
                "`description`",
                "`licence`",
                "`source`",
                "`plugin.file`",
                "`plugin.name`",
                "`plugin.settings`",
            ],
        ),
        (
            "trust.toml",
            [
                "`key.name`",
                "`key.public`",
                "`rule.names`",
                "`rule.publishers`",
                "`rule.vetters`",
                "`rule.vetting_days`",
                "`rule.grants`",
                "`revoked.digests`",
            ],
        ),
    ] {
        for key in known {
            ensure!(page.contains(&format!("| {key} |")), "the reference of `{name}` lacks {key}");
        }
    }
    Ok(())
}
