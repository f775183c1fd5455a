//! What an agent tries on the socket, in the place of the hook: every byte of such a connection is
//! its own, but for the user, whom the system names.

use super::machine::{BOUNDARY_FILE, Machine, Test, User, write_root_file};
use super::wire::{Relay, across, request};
use anyhow::{Result, ensure};
use portcullis_protocol::{Reply, Request};
use serde_json::{Value, json};

pub const ROWS: &[(&str, Test)] = &[
    ("a hook cannot be another user's", other_user),
    ("findings that answer nothing refuse the action", wrong_findings),
    ("a lie about a file reaches no other action", lie),
    ("other requests get nothing", other_requests),
    ("an earlier answer is of no use", earlier_answer),
    ("one user's connections leave room for the others'", many_connections),
    ("no number and no length ends the service", odd_numbers),
    ("a user whom the boundary does not name is not served", unnamed_user),
];

/// The names that the service's last word uses for a refusal.
fn refused(reply: &Reply) -> bool {
    matches!(reply, Reply::Answer(answer) if answer.exit == 2)
}

fn other_user(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.other)?;
    let before = machine.records(&machine.other)?;
    let (agent, other) = (&machine.agent, &machine.other);
    let state = other.state().into_os_string();
    let mut forged = request(other, &other.calls("forged").bash("f1", "ls"));
    forged.process = std::process::id();
    forged.parent = machine.service_id()?;
    forged.arguments = ["--state".into(), state.clone()].into();
    for name in ["PORTCULLIS_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        forged.variables.insert(name.into(), state.clone());
    }
    forged.variables.insert("LD_PRELOAD".into(), "/home/agent/own.so".into());
    forged.variables.insert("USER".into(), other.name.into());
    let mut relay = Relay::connect(agent)?;
    relay.send(&across(forged))?;
    // Whatever it finds there, the event is the agent's own.
    let located = json!({ "located": [] });
    let _answer = relay.answer_all(located.to_string().as_bytes())?;
    ensure!(machine.records(other)? == before, "the other user's journal has changed");
    let own = machine.records(agent)?;
    ensure!(!own.is_empty(), "nothing was recorded for the one who asked");
    machine.reviews(other)
}

fn wrong_findings(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let observed = |paths: &[&str]| {
        let seen = json!({
            "entry": "file", "real": null, "git": "clean", "restorable": true,
            "contents": { "text": "echo harmless" },
        });
        let entries = paths.iter().map(|path| ((*path).to_owned(), seen.clone()));
        json!({ "observed": entries.collect::<serde_json::Map<String, Value>>() }).to_string()
    };
    let rows = [
        ("nothing", String::new()),
        ("no JSON", "yes".to_owned()),
        ("another kind", json!({ "shown-calls": [] }).to_string()),
        ("an unknown kind", json!({ "allowed": true }).to_string()),
        ("a verdict", json!({ "verdict": "allow", "exit": 0 }).to_string()),
        ("no path", observed(&[])),
        ("another path", observed(&["/etc/passwd"])),
        ("deep", "[".repeat(1 << 20)),
        ("long", " ".repeat(8 << 20)),
    ];
    for (index, (name, findings)) in rows.iter().enumerate() {
        let event = agent.calls("wrong").bash(&format!("w{index}"), "bash ./run.sh");
        let mut relay = Relay::connect(&agent)?;
        relay.send(&across(request(&agent, &event)))?;
        let last = relay.answer_all(findings.as_bytes())?;
        ensure!(refused(&last), "{name}: {last:?}");
    }
    // One that answers nothing at all.
    let mut silent = Relay::connect(&agent)?;
    silent.send(&across(request(&agent, &agent.calls("wrong").bash("s1", "bash ./run.sh"))))?;
    silent.receive()?;
    silent.close();
    let last = silent.answer_all(b"");
    ensure!(last.as_ref().map_or(true, refused), "{last:?}");
    let faults = machine.records(&agent)?;
    let faults = faults.iter().filter(|record| record["kind"] == "fault").count();
    ensure!(faults >= rows.len(), "only {faults} faults are recorded");
    machine.reviews(&agent)
}

/// A hook that says that every file is harmless has only its own action let through.
fn lie(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    agent.write(&agent.project().join("run.sh"), "rm -rf /\n")?;
    let honest = machine.ask(&agent, &agent.calls("lie").bash("h1", "bash ./run.sh"))?;
    ensure!(honest.code == Some(2), "the file was not read: {}", honest.all());
    let mut relay = Relay::connect(&agent)?;
    relay.send(&across(request(&agent, &agent.calls("lie").bash("l1", "bash ./run.sh"))))?;
    loop {
        match relay.receive()? {
            Reply::Question(question) => {
                relay.send(&Request::Findings(harmless(&question)?))?;
            }
            Reply::Files(request) => relay.hand_files(&request)?,
            Reply::Waiting(_) => {}
            _ => break,
        }
    }
    let records = machine.records(&agent)?;
    let named = records.iter().find(|record| record["call"] == "l1");
    let named = named.is_some_and(|record| record.to_string().contains("facts_of_user"));
    ensure!(named, "no record says whose facts these are: {records:?}");
    let again = machine.ask(&agent, &agent.calls("lie").bash("h2", "bash ./run.sh"))?;
    ensure!(again.code == Some(2), "the lie was remembered: {}", again.all());
    machine.refuses(&machine.other)
}

/// Sends an event in the place of a user's hook, with these files of the project, and says that
/// nothing exists; returns the service's last word.
pub fn deny_existence(user: &User, event: &Value, files: &str) -> Result<Reply> {
    let review = Box::new(request(user, event));
    let mut relay = Relay::connect(user)?;
    relay.send(&Request::ReviewAcross(review, files.as_bytes().to_vec()))?;
    loop {
        match relay.receive()? {
            Reply::Question(question) => {
                let findings = String::from_utf8(harmless(&question)?)?;
                let findings = findings.replace("\"entry\":\"file\"", "\"entry\":\"absent\"");
                relay.send(&Request::Findings(findings.into_bytes()))?;
            }
            Reply::Files(request) => relay.hand_files(&request)?,
            Reply::Waiting(_) => {}
            last => return Ok(last),
        }
    }
}

/// Returns findings that fit a question, and in which everything is harmless.
pub fn harmless(question: &[u8]) -> Result<Vec<u8>> {
    let question: Value = serde_json::from_slice(question)?;
    let finding = if let Some(paths) = question.pointer("/locate/paths").and_then(Value::as_array) {
        let nowhere = json!({ "elsewhere": null, "exists": false });
        json!({ "located": vec![nowhere; paths.len()] })
    } else if let Some(queries) = question.pointer("/observe/queries").and_then(Value::as_array) {
        let seen = |query: &Value| {
            let path = query["path"].as_str().unwrap_or_default().to_owned();
            let text = query["text"] == true;
            let contents = if text { json!({ "text": "echo harmless" }) } else { Value::Null };
            (
                path,
                json!({
                    "entry": "file", "real": null, "git": "clean", "restorable": true,
                    "contents": contents,
                }),
            )
        };
        json!({ "observed": queries.iter().map(seen).collect::<serde_json::Map<_, _>>() })
    } else if question.get("shown-calls").is_some() {
        json!({ "shown-calls": [] })
    } else {
        json!({ "tokens": null })
    };
    Ok(finding.to_string().into_bytes())
}

fn other_requests(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let review = Box::new(request(&agent, &agent.calls("plain").bash("p1", "ls")));
    for (name, sent) in [
        ("a link", Request::Link("approver".to_owned())),
        ("a link of another role", Request::Link("operator".to_owned())),
        ("a link to its own records", Request::LinkOf(agent.id, "approver".to_owned())),
        ("findings", Request::Findings(b"{}".to_vec())),
        ("files", Request::Files(b"{}".to_vec())),
        ("a review without a boundary", Request::Review(review)),
    ] {
        let mut relay = Relay::connect(&agent)?;
        relay.send(&sent)?;
        let reply = relay.receive()?;
        ensure!(matches!(reply, Reply::Unable(_)), "{name}: {reply:?}");
    }
    for (name, bytes) in [
        ("an unknown request", &b"PCH\x01\x01\0\0\0A"[..]),
        ("an answer", b"PCH\x01\x19\0\0\0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n"),
        ("nothing", b""),
    ] {
        let mut relay = Relay::connect(&agent)?;
        relay.send_bytes(bytes)?;
        relay.close();
        let reply = relay.receive();
        ensure!(!matches!(reply, Ok(Reply::Answer(_) | Reply::Link(_))), "{name}: {reply:?}");
    }
    ensure!(machine.records(&agent)?.is_empty(), "something was recorded");
    machine.reviews(&agent)
}

/// Findings of an earlier event are sent with a new one before it is asked about.
fn earlier_answer(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let ask = |id: &str, command: &str| {
        across(request(&agent, &agent.calls("earlier").bash(id, command)))
    };
    let mut kept = Vec::new();
    let mut first = Relay::connect(&agent)?;
    first.send(&ask("e1", "cat notes.txt"))?;
    loop {
        match first.receive()? {
            Reply::Question(question) => {
                kept.push(harmless(&question)?);
                first.send(&Request::Findings(kept[kept.len() - 1].clone()))?;
            }
            Reply::Files(request) => first.hand_files(&request)?,
            Reply::Answer(answer) => {
                ensure!(answer.exit == 0, "the harmless one was refused: {answer:?}");
                break;
            }
            other => ensure!(matches!(other, Reply::Waiting(_)), "{other:?}"),
        }
    }
    let mut second = Relay::connect(&agent)?;
    second.send(&ask("e2", "bash ./run.sh"))?;
    for findings in kept.iter().chain(&kept) {
        second.send(&Request::Findings(findings.clone()))?;
    }
    let last = loop {
        match second.receive()? {
            Reply::Question(_) | Reply::Waiting(_) => {}
            Reply::Files(request) => second.hand_files(&request)?,
            last => break last,
        }
    };
    ensure!(refused(&last), "{last:?}");
    machine.reviews(&agent)
}

fn many_connections(machine: &mut Machine) -> Result<()> {
    let hold = "
import socket, sys, time
links = []
for _ in range(200):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(2)
    link.connect(sys.argv[1])
    link.send(b'PCH')
    links.append(link)
print('held', flush=True)
while sys.stdin.read(1):
    pass
";
    let mut command = machine.agent.command("python3");
    command.args(["-c", hold, super::machine::SOCKET]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line)?;
    }
    let held = line.contains("held");
    let mine = machine.ask(&machine.agent, &machine.agent.calls("many").bash("m1", "ls"));
    let others = machine.reviews(&machine.other);
    drop(child.stdin.take());
    child.wait()?;
    ensure!(held, "the connections were not made: {line:?}");
    others?;
    // Its own events wait for its own connections: they are reviewed or refused.
    let mine = mine?;
    let recorded = machine.records(&machine.agent)?.iter().any(|record| record["call"] == "m1");
    ensure!(mine.code == Some(2) || recorded, "{}", mine.all());
    super::machine::wait_for("the agent stays locked out", || {
        let ended = machine.ask(&machine.agent, &machine.agent.calls("many").bash("m2", "ls"))?;
        Ok(ended.code == Some(0))
    })?;
    ensure!(machine.serves()?, "the service has ended");
    machine.reviews(&machine.agent)
}

fn odd_numbers(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    // More than there are threads.
    for index in 0..80 {
        let mut odd = request(&agent, &agent.calls("odd").bash(&format!("o{index}"), "ls"));
        odd.timeout = u64::MAX - index;
        odd.process = u32::MAX;
        odd.parent = u32::MAX;
        odd.folder = "../..".into();
        let mut relay = Relay::connect(&agent)?;
        relay.send(&across(odd))?;
        let _last = relay.answer_all(b"{}")?;
    }
    for bytes in [
        &b"PCH\x01\xff\xff\xff\xff"[..],
        b"PCH\x01\0\0\x80\x01b",
        b"PCH\x01\x09\0\0\0f\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let mut relay = Relay::connect(&agent)?;
        relay.send_bytes(bytes)?;
        relay.close();
        let reply = relay.receive();
        ensure!(matches!(reply, Ok(Reply::Unable(_)) | Err(_)), "{reply:?}");
    }
    let files = [
        "",
        "[]",
        "{\"project\":\"relative\",\"real_project\":null,\"files\":{}}",
        "{\"project\":\"/\",\"real_project\":\"/\",\"files\":{\"/x\":{\"text\":3}}}",
        "{\"project\":null,\"real_project\":null,\"files\":{},\"mode\":\"off\"}",
    ];
    for files in files {
        let review = request(&agent, &agent.calls("odd").bash("files", "ls"));
        let mut relay = Relay::connect(&agent)?;
        relay.send(&Request::ReviewAcross(Box::new(review), files.as_bytes().to_vec()))?;
        let reply = relay.receive()?;
        ensure!(matches!(reply, Reply::Unable(_)), "{files}: {reply:?}");
    }
    ensure!(machine.serves()?, "the service has ended");
    machine.reviews(&agent)?;
    machine.refuses(&machine.other)
}

fn unnamed_user(machine: &mut Machine) -> Result<()> {
    machine.reviews(&machine.other)?;
    write_root_file(BOUNDARY_FILE, "user = \"portcullis\"\nusers = [\"agent\"]\n")?;
    machine.kill_service()?;
    machine.start_service()?;
    let before = machine.records(&machine.other)?.len();
    let refused = machine.ask(&machine.other, &machine.other.calls("unnamed").bash("u1", "ls"))?;
    ensure!(refused.code == Some(2), "{}", refused.all());
    ensure!(refused.stderr.contains("none of those"), "{}", refused.all());
    ensure!(machine.records(&machine.other)?.len() == before, "it was recorded");
    machine.reviews(&machine.agent)
}
