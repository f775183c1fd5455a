//! Tests of the findings, and that they are what is signed.

use crate::common::{guests, process};
use crate::vetting_site::{CASES, CORPUS, SESSION, VettingSite};
use anyhow::{Context, Result, ensure};
use data_encoding::BASE64;
use portcullis_bundle::Digest;
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

const ALL: &[&str] =
    &["--corpus", "corpus.jsonl", "--session", "session.jsonl", "--cases", "careful=cases.toml"];

pub fn signed() -> Result<()> {
    let stage = VettingSite::new("vet signed")?;
    let archive = stage.bundle(&[("careful", "")])?;
    let component = stage.read("checks.tar")?.0.about().components[0].clone();
    let document = stage.vetted(&[ALL, &["--days", "30"]].concat())?;
    let statement = stage.attestation("checks.tar")?;
    let vetting = statement.vetting.context("it is not a vetting")?;
    ensure!(
        (document["name"].as_str(), statement.name.as_str())
            == (Some("acme/checks"), "acme/checks"),
        "{document}"
    );
    ensure!(
        document["digest"] == statement.digest.to_string()
            && document["signed"]["expires"] == json!(statement.expires),
        "{document}"
    );
    ensure!(
        statement.expires == Some(vetting.at + 30 * 24 * 60 * 60 * 1000)
            && vetting.reviewer == "Ann",
        "{vetting:?}"
    );
    let found = &vetting.results;
    ensure!(document["results"] == *found, "what is shown is not what is signed: {document}");
    let file = |kind: &str, name: &str, text: &str, holds: u64| json!({ "kind": kind, "name": name, "digest": Digest::of_bytes(text.as_bytes()).to_string(), "holds": holds });
    let mut cases = file("cases", "cases.toml", CASES, 2);
    cases["plugin"] = json!("careful");
    let material = json!([
        file("corpus", "corpus.jsonl", CORPUS, 8),
        file("session", "session.jsonl", SESSION, 1),
        cases
    ]);
    let corpus = json!({
        "ask": { "actions": 1, "without": 0, "with": 1 },
        "benign": { "actions": 4, "without": 0, "with": 0, "unreadable": 1 },
        "dangerous": { "actions": 2, "without": 1, "with": 2 },
    });
    let sessions = json!({ "sessions": 1, "steps": 2, "differing": 1, "stricter": 1, "milder": 0 });
    let part = json!([{
        "digest": component.digest.to_string(), "size": component.size, "imports": component.wants.imports, "asks": component.wants.grants,
        "plugins": ["careful"],
    }]);
    for (key, wanted) in [
        ("format", json!(1)),
        ("program", json!(stage.site.output(&["--version"])?.trim())),
        ("granted", json!([])),
        ("most_flagged", json!(5.0)),
        ("material", material),
        ("components", part),
        ("corpus", corpus),
        ("sessions", sessions),
        ("problems", Value::Null),
        ("despite", Value::Null),
    ] {
        ensure!(found[key] == wanted, "`{key}` is {}, not {wanted}", found[key]);
    }
    let plugin = &found["plugins"][0];
    for (key, wanted) in [
        ("name", json!("careful")),
        ("kind", json!("risk-calculator")),
        ("faults", Value::Null),
        ("objected", json!({ "ask": 1, "dangerous": 1 })),
        ("objected_in_sessions", json!(1)),
        ("cases", json!({ "played": 2, "failed": 0 })),
    ] {
        ensure!(plugin[key] == wanted, "`{key}` of the plugin is {}, not {wanted}", plugin[key]);
    }
    // Seven actions, one of which is also assessed in a safer form, two calls of a session with an
    // outcome, two cases.
    let [calls, median, most, memory] = [
        &plugin["calls"],
        &plugin["fuel"]["median"],
        &plugin["fuel"]["most"],
        &plugin["memory_most"],
    ]
    .map(|value| value.as_u64().unwrap_or(0));
    ensure!(calls >= 11 && 0 < median && median <= most && memory > 0, "{plugin}");
    agreed(&stage)?;
    // A second vetting is added to the first, and the archive stays readable.
    stage.vetted(ALL)?;
    ensure!(stage.read("checks.tar")?.1.len() == 3, "the signatures of `{}`", archive.display());
    Ok(())
}

/// The same as a separate file, checked by openssl over DSSE's encoding; with a changed byte it is
/// refused.
fn agreed(stage: &VettingSite) -> Result<()> {
    let before = fs::read(stage.path("checks.tar"))?;
    stage.vetted(&[ALL, &["--output", "vetting.sigstore.json"]].concat())?;
    ensure!(fs::read(stage.path("checks.tar"))? == before, "with --output the archive was changed");
    let file: Value = serde_json::from_slice(&fs::read(stage.path("vetting.sigstore.json"))?)?;
    let envelope = &file["dsseEnvelope"];
    let decoded = |value: &Value| {
        BASE64.decode(value.as_str().unwrap_or_default().as_bytes()).context("no base64")
    };
    let (payload, signature) =
        (decoded(&envelope["payload"])?, decoded(&envelope["signatures"][0]["sig"])?);
    let kind = envelope["payloadType"].as_str().unwrap_or_default();
    let mut encoded = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    encoded.extend(&payload);
    fs::write(stage.path("signature"), signature)?;
    for (changed, accepted) in [(false, true), (true, false)] {
        if changed && let Some(last) = encoded.last_mut() {
            *last ^= 1;
        }
        fs::write(stage.path("encoded"), &encoded)?;
        let mut openssl = Command::new("openssl");
        openssl.args([
            "pkeyutl",
            "-verify",
            "-pubin",
            "-inkey",
            "security.key.pub",
            "-rawin",
            "-in",
            "encoded",
            "-sigfile",
            "signature",
        ]);
        openssl.current_dir(stage.path(""));
        let ended = process::run(openssl, b"", Duration::from_secs(30))?;
        ensure!((ended.code == Some(0)) == accepted, "changed {changed}: {}", ended.all());
    }
    Ok(())
}

pub fn printed() -> Result<()> {
    let stage = VettingSite::new("vet told")?;
    stage.bundle(&[("careful", "")])?;
    let before = fs::read(stage.path("checks.tar"))?;
    let material = [ALL, &["--dry-run"]].concat();
    let text =
        stage.site.output(&[&["bundle", "vet", "checks.tar"], material.as_slice()].concat())?;
    for part in [
        "acme/checks 1.0.0  sha256:",
        "corpus.jsonl: 8 actions  sha256:",
        "session.jsonl: 1 session  sha256:",
        "cases.toml: 2 cases of careful  sha256:",
        "no plugin was granted anything",
        "2 cases, 2 as expected",
        "without the bundle                 0 (0.0 %)         0 (0.0 %)        1 (50.0 %)",
        "with it                          1 (100.0 %)         0 (0.0 %)       2 (100.0 %)",
        "careful                          1 (100.0 %)         0 (0.0 %)        1 (50.0 %)",
        "1 row: no action that can be reviewed",
        "1 session, 2 steps: 1 would change with the bundle, 1 stricter, 0 milder",
        "nothing was signed: --dry-run",
    ] {
        ensure!(text.contains(part), "it does not say {part:?}: {text}");
    }
    ensure!(fs::read(stage.path("checks.tar"))? == before, "a dry run changed the archive");
    let ended = stage.vet(ALL)?;
    for part in ["signed that `Ann` vetted this digest", "until ", "in checks.tar"] {
        ensure!(ended.text().contains(part), "it does not say {part:?}: {}", ended.all());
    }
    // The files of a folder, in the order of their names.
    stage.write(
        "material/b.jsonl",
        "{\"id\":\"1\",\"tool\":\"Bash\",\"input\":{\"command\":\"pwd\"},\"label\":\"benign\"}\n",
    )?;
    stage.write("material/a.jsonl", CORPUS)?;
    let document = stage.vetted(&["--corpus", "material"])?;
    let names: Vec<&str> = document["results"]["material"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["name"].as_str())
        .collect();
    ensure!(names == ["a.jsonl", "b.jsonl"], "{document}");
    let left: Vec<_> = fs::read_dir(stage.site.state().join("cache"))?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("vet-"))
        .collect();
    ensure!(left.is_empty(), "it left {left:?}");
    Ok(())
}

pub fn set() -> Result<()> {
    let stage = VettingSite::new("vet set")?;
    stage.bundle(&[("careful", "word = \"git\""), ("pair", "")])?;
    let document = stage.vetted(&["--corpus", "corpus.jsonl", "--most-flagged", "50"])?;
    let objected = |name: &str| {
        let plugins = document["results"]["plugins"].as_array().into_iter().flatten();
        plugins
            .clone()
            .find(|plugin| plugin["name"] == name)
            .map(|plugin| plugin["objected"].clone())
    };
    for (name, wanted) in [
        ("careful", json!({ "benign": 2, "dangerous": 1 })),
        ("pair-frob", json!({ "ask": 1, "dangerous": 1 })),
        ("pair-push", json!({ "dangerous": 1 })),
    ] {
        ensure!(
            objected(name) == Some(wanted.clone()),
            "`{name}` objected to {:?}, not {wanted}: {document}",
            objected(name)
        );
    }
    // A case's settings take precedence over the bundle's, and one plugin of several is played by
    // itself.
    let ls = "[[case]]\nname = \"a case\"\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"git push\" }\n";
    let expect = |rule: &str| format!("[[case.step.expect]]\nrule = \"{rule}\"\n");
    stage
        .write("set.toml", &format!("{}{ls}", "[defaults]\nsettings = { word = \"nothing\" }\n"))?;
    stage.write("own.toml", &format!("{ls}{}", expect("no_frobbing")))?;
    stage.write("push.toml", &format!("{ls}{}", expect("said")))?;
    stage.write("frob.toml", ls)?;
    let cases = [
        "--cases",
        "careful=set.toml",
        "--cases",
        "careful=own.toml",
        "--cases",
        "pair-push=push.toml",
        "--cases",
        "pair-frob=frob.toml",
    ];
    let document = stage.vetted(&cases)?;
    let played: Vec<u64> = document["results"]["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|plugin| plugin["cases"]["played"].as_u64())
        .collect();
    ensure!(played == [2, 1, 1], "{document}");
    exported(&stage)
}

/// Cases also call an exporter, which nothing else here does.
fn exported(stage: &VettingSite) -> Result<()> {
    stage.bundle(&[("idle", "")])?;
    let head = "[[case]]\nname = \"records are counted\"\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"ls\" }\n";
    stage.write("idle.toml", &format!("{head}[[case.expect]]\ncontent_type = \"text/plain\"\n"))?;
    let document = stage.vetted(&["--cases", "idle=idle.toml"])?;
    let plugin = &document["results"]["plugins"][0];
    ensure!(
        (&plugin["cases"], &plugin["calls"]) == (&json!({ "played": 1, "failed": 0 }), &json!(1)),
        "{document}"
    );
    Ok(())
}

/// A plugin that requests a host is loaded, and nothing is sent.
pub fn granted_nothing() -> Result<()> {
    let stage = VettingSite::new("vet granted nothing")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let asks = format!("GET http://{}/", listener.local_addr()?);
    let plugin = guests::web()?;
    stage.built(&format!(
        "name = \"acme/checks\"\nversion = \"1.0.0\"\n[[plugin]]\nname = \"caller\"\nfile = {plugin:?}\nsettings = {{ asks = {asks:?} }}\n"
    ))?;
    let document = stage.vetted(&["--corpus", "corpus.jsonl"])?;
    let (plugin, part) =
        (&document["results"]["plugins"][0], &document["results"]["components"][0]);
    ensure!(plugin["calls"].as_u64() >= Some(7) && plugin["faults"].is_null(), "{document}");
    ensure!(
        part["asks"].to_string().contains("hosts = ")
            && document["results"]["granted"] == json!([]),
        "{document}"
    );
    listener.set_nonblocking(true)?;
    ensure!(listener.accept().is_err(), "a vetting sent a request");
    Ok(())
}
