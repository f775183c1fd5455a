//! Beginning and end: exit codes, signals, what the server leaves behind, large messages.

use crate::Test;
use crate::gateway::Connection;
use crate::site::Site;
use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("lifetime: the server's exit code is the gateway's", exit_code),
    ("lifetime: a signal that ends the server ends the gateway", ended_by_signal),
    ("lifetime: a signal reaches the server and its children", signal),
    ("lifetime: a server that does not listen to signals is killed", deaf_server),
    ("lifetime: a server that cannot be started is an error", missing_server),
    ("lifetime: large messages pass in both directions at once", large_messages),
    ("lifetime: a message that is too long is an error of its request", too_long),
];

fn shell(site: &Site, script: &str) -> Result<Connection> {
    Connection::start(site.gateway(&["sh", "-c", script].map(str::to_owned)))
}

fn exit_code(site: &Site) -> Result<()> {
    site.direct(&json!({ "exit": 7 }))?;
    let mut connection = Connection::open(site)?;
    connection.request(1, "ping", json!({}))?;
    let (_, errors, status) = connection.close()?;
    ensure!(status.code() == Some(7), "{status}: {errors}");
    let (_, errors, _) = shell(site, "echo to the person >&2")?.wait()?;
    ensure!(errors.contains("to the person"), "standard error does not pass: {errors}");
    Ok(())
}

fn ended_by_signal(site: &Site) -> Result<()> {
    let (_, errors, status) = shell(site, "kill -9 $$")?.wait()?;
    ensure!(status.code() == Some(128 + 9), "{status}: {errors}");
    Ok(())
}

fn signal(site: &Site) -> Result<()> {
    let script = "sleep 1000 & echo $! > child; trap 'exit 3' TERM; echo '{\"method\":\"ready\"}'; while :; do sleep 0.05; done";
    let mut connection = shell(site, script)?;
    connection.receive()?;
    kill_process(pid(connection.id())?, Signal::TERM)?;
    let (_, errors, status) = connection.wait()?;
    ensure!(status.code() == Some(3), "{status}: {errors}");
    await_end(&site.project().join("child"))
}

fn deaf_server(site: &Site) -> Result<()> {
    let script = "echo $$ > child; trap '' TERM; echo '{\"method\":\"ready\"}'; while :; do sleep 0.05; done";
    let mut connection = shell(site, script)?;
    connection.receive()?;
    let begun = Instant::now();
    kill_process(pid(connection.id())?, Signal::TERM)?;
    let (_, errors, status) = connection.wait()?;
    ensure!(status.code() == Some(128 + 9), "{status}: {errors}");
    ensure!(begun.elapsed() < Duration::from_secs(8), "it took {:?}", begun.elapsed());
    await_end(&site.project().join("child"))
}

fn missing_server(site: &Site) -> Result<()> {
    let mut connection = Connection::start(site.gateway(&["no-such-server".to_owned()]))?;
    let (rest, errors, status) = connection.wait()?;
    ensure!(status.code() == Some(1) && rest.is_empty(), "{status}");
    ensure!(errors.contains("cannot start the server `no-such-server`"), "{errors}");
    Ok(())
}

fn large_messages(site: &Site) -> Result<()> {
    const COUNT: usize = 24;
    let text = "x".repeat(1 << 20);
    let large =
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": text } });
    site.direct(&json!({ "before": { "big": vec![&large; COUNT] } }))?;
    let mut connection = Connection::open(site)?;
    let call = json!({ "name": "big", "arguments": {} });
    connection
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }))?;
    // Nobody reads meanwhile.
    for _ in 0..COUNT {
        connection.send(&large)?;
    }
    for _ in 0..COUNT {
        ensure!(connection.receive()? == large, "a large message changed");
    }
    let answer = connection.receive()?;
    ensure!(answer["id"] == 1 && answer["result"]["content"].is_array(), "{answer}");
    connection.request(2, "ping", json!({}))?;
    ensure!(site.take_received()?.len() == COUNT + 2, "the server did not get everything");
    Ok(())
}

fn too_long(site: &Site) -> Result<()> {
    let long = format!("{{\"raw\":\"{}\",\"id\":@id@,\"result\":{{}}}}", "x".repeat(17 << 20));
    site.direct(&json!({ "answers": { "long": { "raw": long } } }))?;
    let mut connection = Connection::open(site)?;
    let request = json!({ "method": "ping", "params": { "x": "x".repeat(17 << 20) }, "id": "a" });
    connection.send(&request)?;
    let answer = connection.receive()?;
    ensure!(answer["id"] == "a" && answer["error"]["code"] == -32600, "{answer}");
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    ensure!(text.contains("more than the limit of 16 MiB"), "{text}");
    let answer = connection.call(1, "long", json!({}))?;
    ensure!(answer["error"]["code"] == -32603, "{answer}");
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    ensure!(text.contains("more than the limit of 16 MiB"), "{text}");
    connection.request(2, "ping", json!({}))?;
    Ok(())
}

fn pid(id: u32) -> Result<Pid> {
    Pid::from_raw(i32::try_from(id)?).ok_or_else(|| anyhow!("no process id"))
}

/// Waits until the process whose id a file holds has ended.
fn await_end(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file).context("the server did not start")?;
    let process = pid(text.trim().parse()?)?;
    let end = Instant::now() + Duration::from_secs(5);
    while test_kill_process(process).is_ok() {
        ensure!(Instant::now() < end, "a process of the server is left");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
