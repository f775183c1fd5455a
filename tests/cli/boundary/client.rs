//! A real client that runs as a user, with the machine's hooks, behind the boundary: Codex CLI, between
//! them and a scripted model on loopback.

use super::machine::{Machine, Test, User, write_root_file};
use crate::common::site::LIMIT;
use crate::common::{in_ci, process, tell};
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_tests::programs::find_installed;
use portcullis_tests::terminal::Answer;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use tiny_http::{Header, Method, Request, Response, Server};

pub const ROWS: &[(&str, Test)] =
    &[("a real client is reviewed, refused and held across the boundary", real_client)];

/// The version with which the cases of `tests/clients` were measured.
const VERSION: &str = "0.169.0";
const PROGRAM: &str = "node_modules/.bin/codex";
/// Where users of the machine find the client: its folder may be in somebody's closed home.
const PLACE: &str = "/run/client";
/// What the model lets the client run: allowed, refused, asked about.
const COMMANDS: [&str; 3] =
    ["echo one > one.txt", "find ~/elsewhere -delete", "crontab -r; echo three > three.txt"];

fn real_client(machine: &mut Machine) -> Result<()> {
    let package = format!("@openai/codex@{VERSION}");
    let found = find_installed(&format!("codex-{VERSION}"), PROGRAM, &[&package]);
    let program = match found {
        Ok(program) => program,
        Err(error) if in_ci() => return Err(error),
        Err(error) => {
            tell(&format!("the real client was not run behind the boundary: {error:#}"));
            return Ok(());
        }
    };
    let client = give_to_all(&program)?;
    let played = play(machine, &client);
    let _unmounted = Command::new("umount").args(["--lazy", PLACE]).status();
    played
}

/// Shows the client's folder at a place that every user can open; returns its program there.
fn give_to_all(program: &Path) -> Result<PathBuf> {
    let folder = program.ancestors().nth(3).context("no folder of the installation")?;
    fs::create_dir_all(PLACE)?;
    let mounted = Command::new("mount").arg("--bind").arg(folder).arg(PLACE).status()?;
    ensure!(mounted.success(), "`{}` cannot be shown at {PLACE}", folder.display());
    Ok(Path::new(PLACE).join(PROGRAM))
}

fn play(machine: &Machine, client: &Path) -> Result<()> {
    let agent = machine.agent.clone();
    write_root_file("/etc/portcullis/config.toml", "approvals.wait_seconds = 120\n")?;
    install_hooks(machine)?;
    let letter = agent.home().join("elsewhere/letter.txt");
    agent.write(&letter, "dear friend\n")?;
    let model = Model::start()?;
    agent.write(&agent.home().join(".codex/config.toml"), &settings(&model.url()))?;
    let mut watch = machine.open_roots_terminal(&agent, &["approvals", "watch"])?;
    watch.await_text("Watching")?;
    let running = run_client(&agent, client);
    let waiting = machine.await_waiting(&agent, 1);
    // The client may have ended without asking.
    let id = match &waiting {
        Ok(waiting) => waiting[0]["id"].as_str().context("no id")?.to_owned(),
        Err(error) => {
            let ended = running.join().map_err(|_| anyhow!("a thread panicked"))??;
            return Err(anyhow!("{error:#}; the client: {}", ended.all()));
        }
    };
    let three = agent.project().join("three.txt");
    ensure!(!three.exists(), "it ran before somebody answered");
    let allowed = machine.at_roots_terminal(&agent, &["approvals", "allow", &id], Answer::Word)?;
    allowed.ended(0, &["Let exactly this run, once?", "allowed: it runs now"])?;
    let ended = running.join().map_err(|_| anyhow!("a thread panicked"))??;
    ensure!(ended.code == Some(0), "the client ended so: {}", ended.all());
    let outputs = model.finish()?;
    ensure!(
        outputs.len() == 3 && outputs[1].contains("elsewhere"),
        "the model was told {outputs:?}"
    );
    for (name, text) in [("one.txt", "one\n"), ("three.txt", "three\n")] {
        let path = agent.project().join(name);
        ensure!(fs::read_to_string(&path)? == text, "`{name}` was not written: {outputs:?}");
    }
    ensure!(letter.exists(), "what was refused has run");
    check_journal(machine, &agent)
}

/// Installs the machine's hooks as root does, from a folder that is root's alone.
fn install_hooks(machine: &Machine) -> Result<()> {
    let mut command = Command::new(machine.programs.join("portcullis"));
    command.args(["install", "codex", "--managed", "--yes"]).current_dir("/").env_clear();
    command.env("HOME", "/root").env("PATH", "/usr/bin:/bin");
    let ended = process::run(command, b"", LIMIT)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}

fn settings(url: &str) -> String {
    format!(
        "model = \"codex-auto-review\"\nmodel_provider = \"scripted\"\n\
         check_for_update_on_startup = false\n\n[analytics]\nenabled = false\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\n\
         env_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\n\
         stream_max_retries = 0\n"
    )
}

/// Runs the client as a user, with everything permitted that it would ask about by itself.
fn run_client(user: &User, client: &Path) -> JoinHandle<Result<process::Ended>> {
    let mut command = user.command(client);
    command.args(["exec", "--json", "--skip-git-repo-check"]);
    command.args(["--dangerously-bypass-approvals-and-sandbox", "Tidy up."]);
    let nowhere = "http://127.0.0.1:9";
    command.env("PATH", env::var("PATH").unwrap_or_default()).env("SCRIPTED_KEY", "none");
    command.env("LANG", "C.UTF-8").env("SHELL", "/bin/bash").env("TERM", "dumb");
    command.envs([("http_proxy", nowhere), ("https_proxy", nowhere)]);
    command.env("no_proxy", "127.0.0.1,localhost");
    thread::spawn(move || process::run(command, b"", LIMIT * 3))
}

/// Checks that all three actions are in the journal that the service keeps.
fn check_journal(machine: &Machine, user: &User) -> Result<()> {
    let records = machine.records(user)?;
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let of_actions = records.iter().filter(|record| {
        ["review", "outcome"].contains(&&*text(record, "kind")) && record["subject"] == "Bash"
    });
    let found: Vec<(String, String)> =
        of_actions.map(|record| (text(record, "kind"), text(record, "verdict"))).collect();
    let expected = [
        ("review", "allow"),
        ("outcome", ""),
        ("review", "block"),
        ("review", "ask"),
        ("review", "allow"),
        ("outcome", ""),
    ];
    let expected = expected.map(|(kind, verdict)| (kind.to_owned(), verdict.to_owned()));
    ensure!(found == expected, "the journal has {found:?}");
    let clients: Vec<&Value> = records.iter().map(|record| &record["client"]).collect();
    ensure!(clients.contains(&&Value::from("codex")), "the records are of {clients:?}");
    let own = user.home().join(".local/state/portcullis");
    ensure!(!own.exists(), "a hook has begun a journal of its own");
    machine.verify(user)
}

/// A model that has the client run the commands, one after the other.
struct Model {
    server: Arc<Server>,
    thread: JoinHandle<()>,
    /// The results of the commands, as the newest request has them.
    outputs: Arc<Mutex<Vec<String>>>,
}

impl Model {
    fn start() -> Result<Self> {
        let server = Server::http("127.0.0.1:0").map_err(|error| anyhow!("no port: {error}"))?;
        let (server, outputs) = (Arc::new(server), Arc::new(Mutex::default()));
        let thread = thread::spawn({
            let (server, outputs) = (Arc::clone(&server), Arc::clone(&outputs));
            move || server.incoming_requests().for_each(|request| serve(request, &outputs))
        });
        Ok(Self { server, thread, outputs })
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.server_addr())
    }

    /// Ends; returns what the model was told of each command.
    fn finish(self) -> Result<Vec<String>> {
        self.server.unblock();
        self.thread.join().map_err(|_| anyhow!("the model panicked"))?;
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *outputs))
    }
}

fn serve(mut request: Request, outputs: &Mutex<Vec<String>>) {
    let mut text = String::new();
    let read = request.as_reader().read_to_string(&mut text);
    let body: Option<Value> = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    let is_turn = *request.method() == Method::Post && request.url().starts_with("/v1/responses");
    let (kind, answer) = match body.filter(|_| is_turn) {
        Some(body) => {
            let results = list_results(&body);
            let answer = next_turn(results.len());
            *outputs.lock().unwrap_or_else(PoisonError::into_inner) = results;
            ("text/event-stream", answer)
        }
        None => ("application/json", json!({ "data": [], "models": [] }).to_string()),
    };
    let mut response = Response::from_string(answer);
    if let Ok(header) = Header::from_bytes("content-type", kind) {
        response.add_header(header);
    }
    // A client that has hung up does not matter.
    drop(request.respond(response));
}

fn list_results(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().into_iter().flatten();
    let results = items.filter(|item| item["type"] == "function_call_output");
    results.map(|item| item["output"].to_string()).collect()
}

/// Returns the model's turn after so many results, as a stream of events.
fn next_turn(results: usize) -> String {
    let item = match COMMANDS.get(results) {
        Some(command) => json!({
            "type": "function_call", "id": format!("fc_{results}"),
            "call_id": format!("call_{results}"), "name": "exec_command",
            "arguments": json!({ "cmd": command }).to_string(),
        }),
        None => json!({
            "type": "message", "role": "assistant", "id": "msg_last",
            "content": [{ "type": "output_text", "text": "It is tidy." }],
        }),
    };
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 120,
    });
    let response = json!({ "id": "resp_scripted", "output": [item], "usage": usage });
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_scripted" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response }),
    ];
    let shown = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    shown.collect()
}
