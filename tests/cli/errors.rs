//! Tests of errors: for every command at least one that fails, as text and as JSON.
//!
//! Verdicts and checks that find something are outcomes; they are tested with their commands.

use crate::common::process::Ended;
use crate::common::site::Site;
use crate::common::trial;
use crate::replays::is_one_error;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;

/// A command line that fails. A command without `--json` reports with it that it has none.
struct Failing {
    words: &'static str,
    kind: &'static str,
    /// Parts of the error's line, in this order.
    says: &'static [&'static str],
    /// A part of a hint; empty if none is expected.
    hint: &'static str,
}

const fn row(
    words: &'static str,
    kind: &'static str,
    says: &'static [&'static str],
    hint: &'static str,
) -> Failing {
    Failing { words, kind, says, hint }
}

/// Stands for the address of a registry without TLS.
const REGISTRY: &str = "REGISTRY";
/// The option of a command that prints JSON.
const JSON: &str = "--json";

const ROWS: &[Failing] = &[
    row("demo --frob", "usage", &["unexpected argument '--frob'"], "Usage: portcullis demo"),
    row("hook nobody", "usage", &["invalid value 'nobody'", "claude"], "--help"),
    row("install claude --program relative", "invalid", &["must be an absolute path"], ""),
    row("serve --status", "not-found", &["no service runs for this home"], "`portcullis serve`"),
    row("uninstall nobody", "usage", &["invalid value 'nobody'"], "--help"),
    row("review nowhere.json", "not-found", &["cannot read `nowhere.json`", "No such file"], ""),
    row("review broken.txt", "invalid", &["is not valid JSON"], ""),
    row("replay nowhere.jsonl", "not-found", &["cannot read the recording `nowhere.jsonl`"], ""),
    row("replay --session 0123", "not-found", &["has no session `0123`"], "audit show --json"),
    row("eval nowhere.jsonl", "not-found", &["cannot read the corpus `nowhere.jsonl`"], ""),
    row("explain 0123", "not-found", &["has no record `0123`"], "`portcullis audit show`"),
    row("feedback 0123 --right", "not-found", &["has no record `0123`"], "`portcullis audit show`"),
    row("metrics nowhere.jsonl", "not-found", &["cannot read", "`nowhere.jsonl`"], ""),
    row("audit show --limit x", "usage", &["invalid value 'x' for '--limit <LIMIT>'"], "--help"),
    row("audit verify --heads nowhere", "not-found", &["the heads in `nowhere`"], ""),
    row("audit verify --heads broken.txt", "invalid", &["`broken.txt`", "line 1", "anchor"], ""),
    row("audit export --exporter xml", "not-found", &["no exporter `xml`"], "csv, ecs, jsonl"),
    row("audit export --output folder", "invalid", &["cannot create `folder`", "File exists"], ""),
    row("plugin new Bad! --kind pattern --lang rust", "invalid", &["`Bad!` cannot be"], ""),
    row("plugin build nowhere", "not-found", &["there is no folder `nowhere`"], ""),
    row("plugin list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("plugin compare --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("plugin release nobody", "not-found", &["plugin `nobody`"], "`portcullis plugin list`"),
    row(
        "plugin test nowhere.wasm",
        "not-found",
        &["there is no `nowhere.wasm`"],
        "name a component",
    ),
    row("plugin bench nowhere.wasm", "not-found", &["no `nowhere.wasm`"], "name a component"),
    row(
        "plugin publish nowhere --dry-run",
        "not-found",
        &["`nowhere` holds no plugin project"],
        "make one",
    ),
    row(
        "plugin diff old.wasm nowhere.wasm",
        "not-found",
        &["no `nowhere.wasm`"],
        "name a component",
    ),
    row("plugin record 0123", "not-found", &["has no record `0123`"], "`portcullis audit show`"),
    row(
        "plugin inspect broken.txt",
        "invalid",
        &["`broken.txt` is not a plugin", "WebAssembly"],
        "",
    ),
    row(
        "bundle build",
        "not-found",
        &["there is no `bundle.toml`"],
        "portcullis bundle build --help",
    ),
    row("bundle key new --out broken.txt", "invalid", &["no key is overwritten"], "another file"),
    row(
        "bundle key new --out fresh.key",
        "refused",
        &["there is no terminal"],
        "--passphrase-file",
    ),
    row("bundle key show nowhere", "not-found", &["no key `nowhere`"], "portcullis bundle key new"),
    row("bundle sign nowhere.tar --key k", "not-found", &["no `nowhere.tar`"], "bundle build"),
    row("bundle sign broken.txt --key k", "invalid", &["`broken.txt` is not an archive"], ""),
    row("bundle verify nowhere.tar", "not-found", &["no `nowhere.tar`"], "name an archive"),
    row("bundle vet nowhere.tar --dry-run", "not-found", &["no `nowhere.tar`"], "bundle build"),
    row("bundle list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row(
        "bundle update",
        "invalid",
        &["portcullis.lock` locks nothing"],
        "portcullis bundle install",
    ),
    row("bundle remove acme/x", "not-found", &["locks no `acme/x`"], "portcullis bundle list"),
    row("bundle diff a.tar b.tar", "not-found", &["there is no `a.tar`"], "bundle build"),
    row("bundle search x", "not-found", &["no trust policy names an index"], "`[[index]]`"),
    row("bundle info acme/x", "not-found", &["no trust policy names an index"], ""),
    row("bundle index update", "not-found", &["no trust policy names an index"], "`[[index]]`"),
    row("bundle index list", "not-found", &["no trust policy names an index"], "`[[index]]`"),
    row(
        "bundle index build nowhere.tar --name a/b --serial 1",
        "not-found",
        &["no `nowhere.tar`"],
        "bundle build",
    ),
    row("bundle index sign a.tar --key k", "not-found", &["no `a.tar`"], "bundle index build"),
    row("bundle index push a.tar ghcr.io/a", "not-found", &["no `a.tar`"], "bundle index build"),
    row(
        "bundle index mirror acme/x -o out",
        "not-found",
        &["no trust policy names an index `acme/x`"],
        "bundle index list",
    ),
    row("bundle install nowhere.tar", "not-found", &["no `nowhere.tar`"], "bundle build"),
    row("bundle pull localhost:1/acme/x:1", "io", &["`localhost:1`", "cannot be reached"], ""),
    row("bundle pull REGISTRY/acme/x:1", "invalid", &["without TLS"], "`--plain-http REGISTRY`"),
    row("bundle push a.tar REGISTRY/acme/x:1", "not-found", &["no `a.tar`"], "bundle build"),
    row("bundle revoke broken.txt", "not-found", &["no bundle `broken.txt`"], "`sha256:...`"),
    row("allow 0123", "not-found", &["has no record `0123`"], "`portcullis audit show`"),
    row("allow --revoke 0123", "not-found", &["no exception `0123`"], "`portcullis allow --list`"),
    row("recover --force", "refused", &["there is no terminal"], "run it in your own terminal"),
    row("undo --yes", "not-found", &["nothing to undo"], "`checkpoints.enabled"),
    row("undo --last", "usage", &["unexpected argument '--last'"], "--help"),
    row("checkpoint list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row(
        "checkpoint show 0123",
        "not-found",
        &["no checkpoint `0123`"],
        "`checkpoints.enabled = false`",
    ),
    row("checkpoint diff 0123", "not-found", &["no checkpoint `0123`"], "`checkpoints.enabled"),
    row("checkpoint restore 0123", "not-found", &["no checkpoint `0123`"], "`checkpoints.enabled"),
    row("incident list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("incident show 0123", "not-found", &["no incident `0123`", "incident list`"], ""),
    row("incident export 0123", "not-found", &["no incident `0123`", "incident list`"], ""),
    row("incident resume 0123", "not-found", &["no incident `0123`"], ""),
    row("incident supervise 0123", "not-found", &["no incident `0123`"], ""),
    row("incident lift 0123", "not-found", &["no incident `0123`"], ""),
    row("incident rollback 0123", "not-found", &["no incident `0123`"], ""),
    row("incident abort 0123", "not-found", &["no incident `0123`"], ""),
    row("quarantine list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("quarantine show 0123", "not-found", &["no quarantine `0123`", "quarantine list`"], ""),
    row("quarantine restore 0123", "not-found", &["no quarantine `0123`"], ""),
    row("quarantine purge 0123", "not-found", &["no quarantine `0123`"], ""),
    row("rules check --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("rules list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("rules fields --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("catalogue check nowhere", "not-found", &["no file or folder `nowhere`"], ""),
    row("catalogue check folder", "invalid", &["`folder` has no file of a catalogue"], ".toml"),
    row("man frob", "not-found", &["no command `frob`"], ""),
    row("run -- sh", "invalid", &["unsupported agent `sh`"], "portcullis run -- claude"),
    row("run -- claude", "invalid", &["would wait for a person"], "add `-p`"),
    row("run --writable /x -- /x/claude -p hi", "invalid", &["`--writable` is for"], "`--confine`"),
    row("config show --pipeline x", "not-found", &["no pipeline `x`"], "`portcullis config show`"),
    row("config check --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("config schema --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("mcp -- no-such-server", "not-found", &["cannot start the server `no-such-server`"], ""),
    row("approvals list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("approvals show 0123", "not-found", &["no approval `0123`"], "`portcullis approvals list`"),
    row(
        "approvals allow 0123",
        "not-found",
        &["no approval `0123`"],
        "`portcullis approvals list`",
    ),
    row("approvals deny 0123", "not-found", &["no approval `0123`"], "`portcullis approvals list`"),
    row(
        "approvals proof click",
        "refused",
        &["there is no terminal"],
        "run it in your own terminal",
    ),
    row(
        "fleet join https://hub.example --token-file nowhere",
        "not-found",
        &["cannot read `nowhere`"],
        "",
    ),
    row(
        "fleet join https://hub.example --token-file broken.txt",
        "invalid",
        &["`broken.txt`", "is not a join token"],
        "",
    ),
    row("fleet leave", "not-found", &["is in no fleet"], "`portcullis fleet join"),
    row("fleet status --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("hub init --url x --database y", "invalid", &["begins with `https://`"], ""),
    row("hub serve --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub dev --port 99999", "usage", &["invalid value '99999'"], "--help"),
    row("hub token create --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub machines --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub incidents --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row(
        "hub incidents settle 7 --reason x --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row("hub orders list --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub orders show g --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row(
        "hub orders share g 1 5 --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row(
        "hub orders pause g 1 --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row(
        "hub orders resume g 1 --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row(
        "hub orders publish nowhere --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row(
        "fleet sign --group web --version 1 --expires 1 --key nowhere -o out --lock broken.txt",
        "invalid",
        &["would be refused by each machine", "the lock"],
        "fleet-orders.md",
    ),
    row(
        "fleet approvals list --key nowhere",
        "not-found",
        &["this machine is in no fleet"],
        "`--hub URL --authority FILE`",
    ),
    row(
        "fleet approvals show x --key nowhere",
        "not-found",
        &["this machine is in no fleet"],
        "`--hub URL --authority FILE`",
    ),
    row(
        "fleet approvals allow x --key nowhere",
        "not-found",
        &["this machine is in no fleet"],
        "`--hub URL --authority FILE`",
    ),
    row(
        "fleet approvals deny x --key nowhere",
        "not-found",
        &["this machine is in no fleet"],
        "`--hub URL --authority FILE`",
    ),
    row("hub findings --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row(
        "hub export --folder nowhere --output .",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row("hub feedback --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub user add ann --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub user link ann --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub user list --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub user role ann boss", "usage", &["invalid value 'boss'"], "--help"),
    row(
        "hub user sign-out a --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row(
        "hub user remove ann --folder nowhere",
        "not-found",
        &["no `nowhere/hub.toml`"],
        "hub init`",
    ),
    row("hub user passkeys --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub audit show --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("hub audit verify --head 7", "usage", &["ENTRY:HASH"], "--help"),
    row("hub revoke m-0 --folder nowhere", "not-found", &["no `nowhere/hub.toml`"], "hub init`"),
    row("open --print", "not-found", &["no service runs"], "`portcullis serve`"),
    row("approvals watch", "refused", &["there is no terminal"], "run it in your own terminal"),
    row("mcp pins list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("mcp pins diff 0123", "not-found", &["the id `0123`"], "`portcullis mcp pins list`"),
    row("mcp pins accept 0123", "not-found", &["the id `0123`"], "`portcullis mcp pins list`"),
    row("mcp pins forget 0123", "not-found", &["the id `0123`"], "`portcullis mcp pins list`"),
    row("mcp wrap --file nowhere.json", "not-found", &["there is no `", "nowhere.json`"], ""),
    row("mcp unwrap nobody", "usage", &["invalid value 'nobody'"], "--help"),
    row("notifications list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("notifications test x", "not-found", &["no channel `x`"], "none is configured"),
    row("notifications retry --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("exports list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("exports test x", "not-found", &["no export `x`"], "none is configured"),
    row("exports run x", "not-found", &["no export `x`"], "none is configured"),
    row("exports reset x", "not-found", &["no export `x`"], "none is configured"),
    row("credential list --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("credential set A --stdin", "invalid", &["not the name of a credential"], "`a-z`"),
    row("credential rotate x --stdin", "not-found", &["no credential `x`"], "credential list"),
    row("credential check x", "not-found", &["no credential `x`"], "credential list"),
    row("credential remove x", "not-found", &["no credential `x`"], "credential list"),
    row("release sign nowhere --key k", "not-found", &["there is no `nowhere`"], ""),
    row("release verify nowhere --key k", "not-found", &["there is no `nowhere`"], ""),
    row("upgrade --check", "not-found", &["where new versions are announced"], "`upgrade.source`"),
    row("upgrade --check --from folder", "not-found", &["whose signature counts"], "`--key`"),
    row("upgrade --check --from http://example.org/ --key k", "invalid", &["has no TLS"], ""),
    row("trust nowhere", "not-found", &["cannot find `nowhere`", "No such file"], ""),
    row("trust --remove folder", "not-found", &["is trusted"], "`portcullis trust --list`"),
    row("pause", "refused", &["there is no terminal"], "run it in your own terminal"),
    row("pause --for 2d", "invalid", &["a day at most"], "`mode = \"observe\"`"),
    row("resume now", "usage", &["unexpected argument 'now'"], "--help"),
    row("doctor --project nowhere", "not-found", &["cannot find the project's folder"], ""),
    row("encryption status --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("encryption rotate --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("encryption move --in nowhere", "usage", &["invalid value 'nowhere'", "keyring"], "--help"),
    row("encryption unlock", "not-found", &["no master key in the keyring"], "encryption status"),
    row("encryption backup broken.txt", "refused", &["`broken.txt` exists"], "a new file"),
    row("encryption restore none", "not-found", &["there is no file `none`"], ""),
    row("encryption reset --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("encryption off --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("encryption on --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("privacy export --person ab", "invalid", &["at least 4 characters"], "whole name"),
    row("privacy erase --session s --person Zelda", "usage", &["cannot be used with"], "--help"),
    row("status --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("maintain --frob", "usage", &["unexpected argument '--frob'"], "--help"),
    row("completions none", "usage", &["invalid value 'none'", "zsh"], "--help"),
];

/// Fails with a journal that is none.
const DAMAGED: &[Failing] = &[
    row("audit show", "integrity", &["the journal", "is damaged", "portcullis recover"], ""),
    row("explain last", "integrity", &["is damaged"], ""),
    row("incident list", "integrity", &["is damaged"], ""),
];

/// Fails where somebody else may write to the state.
const OPEN: &[Failing] = &[row("audit show", "invalid", &["is open to other users", "chmod"], "")];

pub fn tests() -> Vec<Trial> {
    vec![
        trial("errors: each command has one with its kind and hint, as text and as JSON", each),
        trial("errors: problems of the state have a kind", of_the_state),
        trial("errors: the book has every kind", documented),
        trial("errors: no command without its help is an error in JSON", help_instead),
    ]
}

fn each() -> Result<()> {
    let site = Site::new("errors")?;
    fs::write(site.project().join("broken.txt"), "no document\n")?;
    fs::create_dir(site.project().join("folder"))?;
    let registry = plain_registry()?.to_string();
    let mut commands = Commands::read(&site)?;
    let wrong: Vec<String> = ROWS
        .iter()
        .filter_map(|row| commands.check(&site, row, &registry).err().map(|error| (row, error)))
        .map(|(row, error)| format!("`portcullis {}`: {error:#}", row.words))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    commands.0.retain(|(command, _)| !ROWS.iter().any(|row| is_of(row.words, command)));
    ensure!(commands.0.is_empty(), "no row has an error of these commands: {:?}", commands.0);
    Ok(())
}

fn of_the_state() -> Result<()> {
    let damaged = Site::new("errors-damaged")?;
    damaged.ordinary("s")?;
    damaged.forget_journal()?;
    damaged.write("journal.db", "no database ".repeat(1000))?;
    let commands = Commands::read(&damaged)?;
    for row in DAMAGED {
        commands.check(&damaged, row, "").with_context(|| format!("`portcullis {}`", row.words))?;
    }
    let open = Site::new("errors-open")?;
    let wide = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(open.state(), wide)?;
    for row in OPEN {
        commands.check(&open, row, "").with_context(|| format!("`portcullis {}`", row.words))?;
    }
    Ok(())
}

/// The kinds in the book are those of the rows, and the one for defects, which no command has.
fn documented() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/errors.md");
    let text = fs::read_to_string(&page)?;
    let (_, section) = text.split_once("\n## Kinds\n").context("there is no section on kinds")?;
    let listed: BTreeSet<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(kind, _)| kind)
        .collect();
    let mut known: BTreeSet<&str> = ROWS.iter().chain(DAMAGED).map(|row| row.kind).collect();
    known.insert("internal");
    ensure!(listed == known, "the book has {listed:?}, the commands have {known:?}");
    Ok(())
}

fn help_instead() -> Result<()> {
    let site = Site::new("errors-help")?;
    let ended = site.run(&["audit"])?;
    ensure!(ended.code == Some(2) && ended.stdout.is_empty(), "{}", ended.all());
    ensure!(ended.stderr.contains("Usage: portcullis audit"), "{}", ended.all());
    let ended = site.run(&["audit", JSON])?;
    ensure!(parsed(&ended)?["error"]["kind"] == "usage", "{}", ended.all());
    let ended = site.run(&["audit", "show", JSON, "--help"])?;
    ensure!(ended.code == Some(0) && ended.stderr.is_empty(), "{}", ended.all());
    Ok(())
}

/// The commands without subcommands, and whether they have `--json`.
struct Commands(Vec<(String, bool)>);

impl Commands {
    fn read(site: &Site) -> Result<Self> {
        let mut all = Vec::new();
        leaves(site, &[], &mut all)?;
        Ok(Self(all))
    }

    fn takes_json(&self, words: &[&str]) -> Result<bool> {
        let line = words.join(" ");
        let found = self.0.iter().find(|(command, _)| is_of(&line, command));
        Ok(found.with_context(|| format!("`{line}` is not a command"))?.1)
    }

    fn check(&self, site: &Site, row: &Failing, registry: &str) -> Result<()> {
        let words = row.words.replace(REGISTRY, registry);
        let words: Vec<&str> = words.split_whitespace().collect();
        let hint = row.hint.replace(REGISTRY, registry);
        let code = if row.kind == "usage" { 2 } else { 1 };
        let ended = site.run(&words)?;
        ensure!(ended.code == Some(code) && ended.stdout.is_empty(), "{}", ended.all());
        ensure!(ended.stderr.starts_with("error: "), "{}", ended.all());
        ensure!(code == 2 || is_one_error(ended.stderr.trim_end()), "{}", ended.all());
        for debug in ["Error(", "Error {", "Error:", "panicked", "Caused by"] {
            ensure!(!ended.stderr.contains(debug), "{}", ended.all());
        }
        says(&ended.stderr, row.says)?;
        ensure!(ended.stderr.contains(&hint), "no hint {hint:?}: {}", ended.all());
        ensure!(
            code == 2 || hint.is_empty() != ended.stderr.contains("\nhint: "),
            "{}",
            ended.all()
        );

        let knows_json = self.takes_json(&words)?;
        let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let ended = site.run(&[&words[..at], &[JSON], &words[at..]].concat())?;
        let error = &parsed(&ended)?["error"];
        let kind = if knows_json { row.kind } else { "usage" };
        let exit = if kind == "usage" { 2 } else { 1 };
        ensure!(ended.stdout.is_empty() && ended.code == Some(exit), "{}", ended.all());
        ensure!(error["kind"] == kind && error["exit"] == exit, "{}", ended.all());
        ensure!(error["causes"].is_array() && error["hints"].is_array(), "{}", ended.all());
        if knows_json {
            let line = std::iter::once(&error["message"])
                .chain(error["causes"].as_array().into_iter().flatten())
                .filter_map(Value::as_str);
            says(&line.collect::<Vec<_>>().join(": "), row.says)?;
            let hints: Vec<&str> =
                error["hints"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            ensure!(hints.join("\n").contains(&hint), "no hint {hint:?}: {}", ended.all());
            ensure!(hint.is_empty() == hints.is_empty(), "{}", ended.all());
        }
        Ok(())
    }
}

fn says(text: &str, parts: &[&str]) -> Result<()> {
    let mut rest = text;
    for part in parts {
        let (_, after) = rest.split_once(part).with_context(|| format!("no {part:?} in {text}"))?;
        rest = after;
    }
    Ok(())
}

/// The error of a command that was asked for JSON: the only line of its standard error.
fn parsed(ended: &Ended) -> Result<Value> {
    ensure!(ended.stderr.lines().count() == 1, "{}", ended.all());
    serde_json::from_str(&ended.stderr).with_context(|| ended.all())
}

fn is_of(words: &str, command: &str) -> bool {
    words.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn leaves(site: &Site, group: &[&str], all: &mut Vec<(String, bool)>) -> Result<()> {
    let help = site.output(&[group, &["--help"]].concat())?;
    let usage = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let usage: Vec<&str> = usage.take_while(|line| !line.is_empty()).collect();
    let is_group = |line: &&str| line.ends_with("<COMMAND>");
    let own = || (group.join(" "), help.split_whitespace().any(|word| word == JSON));
    if !usage.iter().any(is_group) {
        all.push(own());
        return Ok(());
    }
    let listed = help.lines().filter_map(|line| line.strip_prefix("  "));
    listed
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter_map(|line| line.split_whitespace().next())
        // Examples in the help begin with the program's name.
        .filter(|name| !["help", "portcullis"].contains(name))
        .try_for_each(|name| leaves(site, &[group, &[name]].concat(), all))?;
    // Some are a command of their own too. A line belongs to the longest command that it begins
    // with, so those below come first.
    all.extend(usage.first().filter(|line| !is_group(line)).map(|_| own()));
    Ok(())
}

/// Starts a server that answers every connection in plain HTTP.
fn plain_registry() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The client may have gone already.
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    Ok(address)
}
