//! Tests of a plugin that sends requests (`tests/hostile/web`): to the hosts that the person
//! granted, to no others, and to none in a replay.

use crate::common::guests;
use crate::common::reply::Answer;
use crate::common::site::{Site, name_of};
use crate::install;
use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NAME: &str = "caller";

pub(crate) fn asks() -> Result<()> {
    let site = Site::new(NAME)?;
    let plugin = guests::web()?;
    install(&site, &plugin, NAME)?;
    let (port, seen) = server()?;
    let host = format!("http://127.0.0.1:{port}");
    let grants = format!("[plugins.{NAME}.grants]\nhosts = [\"{host}\"]\n");
    // No request uses a proxy, even if the environment names one.
    let ask = |id: &str| {
        let mut hook = site.command(&["hook", "claude"]);
        for name in
            ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        {
            hook.env(name, "http://127.0.0.1:9");
        }
        let event = site.calls(NAME).bash(id, "ls");
        site.ask(hook, name_of(&event), event.to_string().as_bytes())
    };
    let newest = || site.records()?.pop().ok_or_else(|| anyhow!("there is no record"));

    let refused = ask("1")?;
    ensure!(refused.answer == Answer::Asked, "without a grant: {refused:?}");
    refused.says(&["missing-grant", "hosts = ["])?;
    check_inspection(&site, &plugin)?;
    // A project grants nothing, even a trusted one.
    fs::create_dir_all(site.project().join(".portcullis"))?;
    fs::write(site.project().join(".portcullis/config.toml"), &grants)?;
    ask("2")?.says(&["missing-grant"])?;
    fs::remove_dir_all(site.project().join(".portcullis"))?;
    ensure!(seen.load(Ordering::Relaxed) == 0, "it was sent before anybody granted it");

    let settings = |url: &str| {
        site.write(
            "config.toml",
            format!("{grants}[plugins.{NAME}.settings]\nasks = \"GET {url}\"\n"),
        )
    };
    settings(&format!("{host}/plain?token=s3cr3t"))?;
    ask("3")?;
    let record = newest()?;
    ensure!(seen.load(Ordering::Relaxed) == 1, "it was not sent: {record}");
    ensure!(
        uses(&record)
            == json!([{ "grant": "hosts", "what": format!("GET {host}"), "count": 1, "bytes": 5 }]),
        "{record}"
    );
    let explained = site.output(&["explain", record["id"].as_str().unwrap_or_default()])?;
    ensure!(
        explained.contains(&format!("hosts: `GET {host}`")) && !explained.contains("s3cr3t"),
        "{explained}"
    );
    replayed(&site)?;
    ensure!(seen.load(Ordering::Relaxed) == 1, "a replay sent something");

    // A name is looked up as this machine does it.
    let named = format!("http://localhost:{port}");
    let by_name = format!(
        "[plugins.{NAME}]\ngrants.hosts = [\"{named}=127.0.0.0/8\"]\nsettings.asks = \"GET {named}/\"\n"
    );
    site.write("config.toml", by_name)?;
    ask("4")?;
    let record = newest()?;
    ensure!(seen.load(Ordering::Relaxed) == 2, "it was not sent to a name: {record}");

    settings("http://127.0.0.2/plain")?;
    ask("5")?;
    let record = newest()?;
    let denied = json!([{ "grant": "hosts", "what": "GET http://127.0.0.2", "count": 1, "refused": "this host is not granted" }]);
    ensure!(uses(&record) == denied, "{record}");
    site.verify()
}

/// Checks the information for a person before it runs.
fn check_inspection(site: &Site, plugin: &Path) -> Result<()> {
    let path = plugin.to_string_lossy();
    let shown = site.output(&["plugin", "inspect", &path])?;
    for part in [
        "wants to send web requests",
        "it would be refused",
        "_guest.grants]\n",
        "  hosts = [\"https://HOST\"]\n",
    ] {
        ensure!(shown.contains(part), "`plugin inspect` does not say {part:?}: {shown}");
    }
    let inspection: Value =
        serde_json::from_str(&site.output(&["plugin", "inspect", "--json", &path])?)?;
    ensure!(
        inspection["grants"].to_string().contains("hosts = ") && inspection["refused"].is_string(),
        "{inspection}"
    );
    Ok(())
}

/// It is loaded as if its hosts could be reached, so that a replay judges like the review except
/// for their answers.
fn replayed(site: &Site) -> Result<()> {
    let session = site.root().join("session.jsonl");
    fs::write(&session, format!("{}\n", site.calls(NAME).bash("1", "ls")))?;
    let replay = site.output(&["replay", "--json", &session.to_string_lossy()])?;
    ensure!(
        !replay.contains("missing-grant") && replay.contains("nothing is sent in a replay"),
        "{replay}"
    );
    Ok(())
}

fn uses(record: &Value) -> Value {
    let plugin = record["plugins"]
        .as_array()
        .and_then(|plugins| plugins.iter().find(|plugin| plugin["name"] == NAME));
    plugin.map(|plugin| plugin["uses"].clone()).unwrap_or_default()
}

/// Starts a server that answers `hello` as long as the tests run; returns its port and the number
/// of its answers.
fn server() -> Result<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, seen) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
        }
    });
    Ok((port, seen))
}
