//! A real client, a real server and the protocol's own suite, with the gateway and without it.

use crate::Test;
use crate::packages::node;
use crate::site::Site;
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) const TESTS: &[Test] = &[
    ("real: a client and a server agree as without the gateway", client_and_server),
    ("real: the conformance suite finds the same as without the gateway", conformance),
    ("real: a server behind an address agrees with the same one on a pipe", by_address),
    ("real: the suite of the newest version finds the same behind an address", newest_conformance),
];

/// The least number of checks of the suite: fewer mean that it did not run.
const LEAST_CHECKS: usize = 30;
/// The same for the newest version.
const LEAST_NEWEST: usize = 70;
/// The program of a server with everything.
const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/// Scenarios about the headers and addresses of a server for HTTP: here they see the bridge.
const LEFT_OUT: &[&str] = &[
    "dns-rebinding-protection",
    "http-custom-header-server-validation",
    "http-header-validation",
    "server-stateless",
    // An extension of the protocol, which the server does not have.
    "tasks-",
];

/// Copies a script beside the packages that it imports.
fn beside_packages(site: &Site, name: &str) -> Result<PathBuf> {
    let folder = site.home().join("scripts");
    fs::create_dir_all(&folder)?;
    let modules = folder.join("node_modules");
    if !modules.exists() {
        std::os::unix::fs::symlink(site.packages()?.join("node_modules"), modules)?;
    }
    let script = folder.join(name);
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp").join(name), &script)?;
    Ok(script)
}

fn words(command: &Command) -> Vec<String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn run_node(site: &Site, script: &Path, server: &[String]) -> Result<Value> {
    let mut command = Command::new(node(site.packages()?));
    site.surround(&mut command);
    command.arg(script).args(server).stdin(Stdio::null());
    let ended = command.output().context("cannot start Node")?;
    let problem = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "the client failed: {problem}");
    Ok(serde_json::from_slice(&ended.stdout)?)
}

fn client_and_server(site: &Site) -> Result<()> {
    let script = beside_packages(site, "client.mjs")?;
    let packages = site.packages()?;
    let server = [node(packages), packages.join(EVERYTHING), "stdio".into()]
        .map(|word| word.display().to_string());
    let direct = run_node(site, &script, &server)?;
    let reviewed = run_node(site, &script, &words(&site.gateway(&server)))?;
    compare_results(site, &direct, &reviewed)
}

fn by_address(site: &Site) -> Result<()> {
    let script = beside_packages(site, "client.mjs")?;
    let packages = site.packages()?;
    let server = [node(packages), packages.join(EVERYTHING), "stdio".into()]
        .map(|word| word.display().to_string());
    let direct = run_node(site, &script, &server)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(node(packages));
    site.surround(&mut command);
    command.arg(packages.join(EVERYTHING)).arg("streamableHttp").env("PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start Node")?;
    let errors = child.stderr.take().ok_or_else(|| anyhow!("no errors"))?;
    let server = Bridge { child, url: format!("http://127.0.0.1:{port}/mcp") };
    let mut errors = BufReader::new(errors).lines();
    let listens = errors.any(|line| line.is_ok_and(|line| line.contains("listening on port")));
    ensure!(listens, "the server does not listen");
    // Its words have no other reader.
    std::thread::spawn(move || errors.for_each(drop));
    let reviewed = run_node(site, &script, &words(&site.gateway_at(&server.url)))?;
    compare_results(site, &direct, &reviewed)
}

/// Compares what a client got directly and through the gateway.
fn compare_results(site: &Site, direct: &Value, reviewed: &Value) -> Result<()> {
    let (direct, reviewed) = (
        direct.as_object().ok_or_else(|| anyhow!("no results"))?,
        reviewed.as_object().ok_or_else(|| anyhow!("no results"))?,
    );
    ensure!(direct.len() >= 12, "the client did little: {direct:?}");
    for (name, result) in direct {
        let other = reviewed.get(name).unwrap_or(&Value::Null);
        ensure!(result == other, "`{name}` differs:\n{result}\n{other}");
    }
    let journal = site.journal()?;
    let reviews = journal.iter().filter(|record| record["kind"] == "review").count();
    ensure!(reviews >= 5, "{reviews} calls were reviewed");
    Ok(())
}

/// A bridge from HTTP to a server on standard input and output. It is killed with this value.
struct Bridge {
    child: Child,
    url: String,
}

impl Bridge {
    fn start(site: &Site, script: &Path, server: &[String]) -> Result<Self> {
        let mut command = Command::new(node(site.packages()?));
        site.surround(&mut command);
        command.arg(script).args(server).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start Node")?;
        let output = child.stdout.take().ok_or_else(|| anyhow!("no output"))?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It runs until then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the state of every check of the suite, by scenario and check, in order.
fn run_suite(site: &Site, server: &[String]) -> Result<Vec<String>> {
    let bridge = Bridge::start(site, &beside_packages(site, "bridge.mjs")?, server)?;
    list_checks(site, "@modelcontextprotocol/conformance", &bridge.url, &[])
}

/// Runs a version of the suite against an address.
fn list_checks(site: &Site, suite: &str, url: &str, words: &[&str]) -> Result<Vec<String>> {
    let results = site.home().join(format!("results-{}", url.replace([':', '/'], "-")));
    let mut command = Command::new(node(site.packages()?));
    site.surround(&mut command);
    let program = format!("node_modules/{suite}/dist/index.js");
    command.arg(site.packages()?.join(program)).args(["server", "--url", url]).args(words);
    command.arg("--output-dir").arg(&results).stdin(Stdio::null());
    // It fails if one check does, and the server is not a complete one.
    let ended = command.output().context("cannot start the suite")?;
    let mut states = Vec::new();
    let entries = fs::read_dir(&results).with_context(|| {
        format!("the suite wrote no results: {}", String::from_utf8_lossy(&ended.stdout))
    })?;
    for entry in entries {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The name ends with the time.
        let scenario = name.split("-202").next().unwrap_or_default().to_owned();
        let checks: Value = serde_json::from_slice(&fs::read(folder.join("checks.json"))?)?;
        for check in checks.as_array().into_iter().flatten() {
            states.push(format!("{scenario}: {} {}", check["id"], check["status"]));
        }
    }
    states.sort();
    Ok(states)
}

fn newest_conformance(site: &Site) -> Result<()> {
    let script = beside_packages(site, "conformance-server-2026.mjs")?;
    let server = Bridge::start(site, &script, &["http".to_owned()])?;
    let bridge = beside_packages(site, "bridge-2026.mjs")?;
    let bridge = Bridge::start(site, &bridge, &words(&site.gateway_at(&server.url)))?;
    let checks = |url: &str| -> Result<Vec<String>> {
        let wanted = ["--requirements", "2026-07-28"];
        let mut states = list_checks(site, "conformance-2026", url, &wanted)?;
        states.retain(|state| !LEFT_OUT.iter().any(|name| state.contains(name)));
        Ok(states)
    };
    compare_checks(&checks(&server.url)?, &checks(&bridge.url)?, LEAST_NEWEST)
}

fn conformance(site: &Site) -> Result<()> {
    let script = beside_packages(site, "conformance-server.mjs")?;
    let server = [node(site.packages()?), script].map(|word| word.display().to_string());
    let direct = run_suite(site, &server)?;
    let reviewed = run_suite(site, &words(&site.gateway(&server)))?;
    compare_checks(&direct, &reviewed, LEAST_CHECKS)
}

/// Compares the states of all checks; at least `least` of them pass.
fn compare_checks(direct: &[String], reviewed: &[String], least: usize) -> Result<()> {
    let passed = direct.iter().filter(|state| state.contains("SUCCESS")).count();
    ensure!(passed >= least, "only {passed} checks passed: {direct:#?}");
    let differing: Vec<_> = direct
        .iter()
        .filter(|state| !reviewed.contains(state))
        .chain(reviewed.iter().filter(|state| !direct.contains(state)))
        .collect();
    ensure!(differing.is_empty() && direct.len() == reviewed.len(), "{differing:#?}");
    Ok(())
}
