//! Tests of the documented release process, with temporary keys.

use crate::common::documents::words;
use crate::common::site::Site;
use crate::vetting_site::PASSPHRASE;
use anyhow::{Context, Result, ensure};
use portcullis_bundle::Digest;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The material for vetting a release, as the page names it.
const MATERIAL: &[(&str, &str)] = &[
    ("corpora/actions.jsonl", crate::vetting_site::CORPUS),
    ("sessions/session.jsonl", crate::vetting_site::SESSION),
];

/// Follows the page up to a heading; returns the resulting site.
fn follow(name: &str, until: &str) -> Result<(Site, usize)> {
    let page = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/releasing.md"),
    )?;
    let (page, _) = page.split_once(until).with_context(|| format!("the page has no `{until}`"))?;
    let site = Site::new(name)?;
    lay(&site)?;
    let commands = blocks(page, "sh");
    for command in &commands {
        let words = words(&command.replace("VERSION", env!("CARGO_PKG_VERSION")));
        let (program, arguments) = words.split_first().context("an empty command")?;
        ensure!(program == "portcullis", "the page runs `{program}` in a block of `sh`");
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let needs_secret = |word: &&str| *word == "--key" || *word == "new";
        if arguments.iter().any(needs_secret) && !arguments.starts_with(&["release", "verify"]) {
            arguments.extend(["--passphrase-file", "passphrase"]);
        }
        let ended = site.run(&arguments)?;
        ensure!(ended.code == Some(0), "`{command}`: {}", ended.all());
        publish(&site, page)?;
    }
    Ok((site, commands.len()))
}

/// Creates the initial files of the folder.
fn lay(site: &Site) -> Result<()> {
    let passphrase = site.project().join("passphrase");
    fs::write(&passphrase, PASSPHRASE)?;
    fs::set_permissions(&passphrase, Permissions::from_mode(0o600))?;
    for (file, text) in MATERIAL {
        let path = site.project().join(file);
        fs::create_dir_all(path.parent().context("it is in no folder")?)?;
        fs::write(path, text)?;
    }
    build(site)
}

/// Writes a file of the version, and the statement about it that `release/build` writes.
fn build(site: &Site) -> Result<()> {
    const SUMS: &str = "no other files\n";
    let version = env!("CARGO_PKG_VERSION");
    let digest = Digest::of_bytes(SUMS.as_bytes()).hex();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "SHA256SUMS", "digest": { "sha256": digest } }],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": { "buildDefinition": {
            "externalParameters": { "version": version },
            "resolvedDependencies": [{ "digest": { "gitCommit": "c0ffee" } }],
        } },
    });
    fs::write(site.project().join("SHA256SUMS"), SUMS)?;
    let path = site.project().join(format!("portcullis-{version}.provenance.json"));
    Ok(fs::write(path, statement.to_string())?)
}

/// Writes the policy that the page shows, with the keys that its commands created, once all exist.
fn publish(site: &Site, page: &str) -> Result<()> {
    let keys: Vec<PathBuf> = ["release.key.pub", "vetting.key.pub", "index.key.pub"]
        .map(|name| site.project().join(name))
        .into();
    if keys.iter().any(|key| !key.exists()) || site.project().join("trust.toml").exists() {
        return Ok(());
    }
    let mut policy = blocks(page, "toml").join("\n");
    for key in keys {
        policy = policy.replacen("...", fs::read_to_string(key)?.trim(), 1);
    }
    Ok(fs::write(site.project().join("trust.toml"), policy)?)
}

pub fn followed() -> Result<()> {
    let (site, commands) = follow("releasing followed", "## When a key leaks")?;
    ensure!(commands >= 6, "the page has only {commands} commands");
    let archive = format!("portcullis-builtin-{}.tar", env!("CARGO_PKG_VERSION"));
    let text = site.output(&["bundle", "verify", &archive, "--trust", "trust.toml"])?;
    ensure!(text.contains("portcullis/builtin"), "{text}");
    // The policy requires both keys: without one of them nothing is trusted.
    site.output(&["bundle", "build", "--builtin", "--output", "bare.tar"])?;
    site.output(&[
        "bundle",
        "sign",
        "bare.tar",
        "--key",
        "release.key",
        "--passphrase-file",
        "passphrase",
    ])?;
    let ended = site.run(&["bundle", "verify", "bare.tar", "--trust", "trust.toml"])?;
    ensure!(ended.code == Some(1) && ended.text().contains("vetted by"), "{}", ended.all());
    indexed(&site, &archive)
}

/// The page's policy leads from a bundle's name to the bundle, through an index that the index's key signed.
fn indexed(site: &Site, archive: &str) -> Result<()> {
    const SOURCE: &str = "REGISTRY/portcullis/index";
    let policy = fs::read_to_string(site.project().join("trust.toml"))?;
    ensure!(policy.contains(SOURCE), "the page's policy has no `{SOURCE}`: {policy}");
    let index = site.project().join("index.tar").display().to_string();
    site.write("trust.toml", policy.replace(SOURCE, &index))?;
    let offer = |serial: &str, key: &str| {
        let name = ["--name", "portcullis/index", "--registry", "registry.example.com"];
        let build = ["bundle", "index", "build", archive, "--serial", serial, "--output", &index];
        site.output(&[build.as_slice(), &name].concat())?;
        let sign = ["bundle", "index", "sign", &index, "--passphrase-file", "passphrase"];
        site.output(&[sign.as_slice(), &["--key", key]].concat())?;
        site.run(&["bundle", "index", "update"])
    };
    let ended = offer("1", "index.key")?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    let info = site.output(&["bundle", "info", "portcullis/builtin", "--json"])?;
    ensure!(info.contains("\"would_be_trusted\":true"), "{info}");
    fs::remove_file(&index)?;
    let ended = offer("2", "release.key")?;
    let refused = ended.stderr.contains("none of them signed it as an index");
    ensure!(ended.code == Some(1) && refused, "{}", ended.all());
    Ok(())
}

/// The page's addition to the policy after a leak withdraws the trust.
pub fn revoked() -> Result<()> {
    let (site, _) = follow("releasing revoked", "## When a key leaks")?;
    let page = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/releasing.md"),
    )?;
    let (_, after) =
        page.split_once("## When a key leaks").context("the page has no such heading")?;
    let lines = blocks(after, "toml").join("\n");
    let policy = site.project().join("trust.toml");
    fs::write(&policy, format!("{}\n{lines}\n", fs::read_to_string(&policy)?))?;
    let archive = format!("portcullis-builtin-{}.tar", env!("CARGO_PKG_VERSION"));
    let ended = site.run(&["bundle", "verify", &archive, "--trust", "trust.toml"])?;
    ensure!(
        ended.code == Some(1)
            && ended.text().contains("none of them made a statement about this bundle"),
        "{}",
        ended.all()
    );
    Ok(())
}

/// Returns the lines of the blocks in a language; a trailing backslash continues a line.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let (mut found, mut inside, mut open): (Vec<String>, Option<String>, String) =
        (Vec::new(), None, String::new());
    for line in page.lines() {
        match (&inside, line.strip_prefix("```")) {
            (None, Some(named)) => inside = Some(named.to_owned()),
            (Some(_), Some(_)) => inside = None,
            (Some(named), None) if named == language => {
                let rest = line.strip_suffix('\\').unwrap_or(line);
                open.push_str(rest);
                if rest.len() == line.len() {
                    found.push(std::mem::take(&mut open));
                }
            }
            _ => {}
        }
    }
    found
}
