//! Tests of a plugin whose file changes while the service reviews with it.

use crate::common::guests;
use crate::common::reply::{Answer, Reply};
use crate::common::site::{LIMIT, Site};
use crate::running::{Running, reviewed, small_hook};
use crate::{built, install};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The name of the plugin that changes.
const NAME: &str = "changing";
/// Its two forms, with the bodies of their `assess`.
pub(crate) const FORMS: &[(&str, &str)] = &[
    (
        "asks-for-commands",
        "Ok(if action.tool == \"Bash\" { Ruling::ask(\"careful\", \"a command\").into() } else { Assessment::nothing() })",
    ),
    (
        "asks-for-reads",
        "Ok(if action.tool == \"Read\" { Ruling::ask(\"careful\", \"a file\").into() } else { Assessment::nothing() })",
    ),
];

/// The name of a guest that asks for commands, whatever the setting `asks` of the guest that sends
/// requests is.
pub(crate) const PATIENT: &str = "patient";
pub(crate) const PATIENT_SOURCE: &str = "use portcullis_plugin::risk_calculator::*;\nstruct Guest;\n\
    impl RiskCalculator for Guest {\n    \
    const DESCRIPTOR: Descriptor = Descriptor::new(\"patient\", \"0.1.0\", \"A guest of the tests.\")\n        \
    .settings(&[Spec::text(\"asks\", \"\", \"not used\")]);\n    \
    fn assess(_: &[u8], _: &Action, _: &Context) -> Result<Assessment, Error> {\n        \
    Ok(Ruling::ask(\"careful\", \"a command\").into())\n    }\n}\n\
    portcullis_plugin::export!(risk-calculator: Guest);\n";

/// A form, the answers to a command without and with the service, that to a read with it, and what
/// is held back.
type Row = (&'static str, Answer, Answer, Answer, &'static [&'static str]);

const ROWS: &[Row] = &[
    ("asks-for-commands", Answer::Asked, Answer::Asked, Answer::Quiet, &[]),
    (
        "asks-for-reads",
        Answer::Quiet,
        Answer::Asked,
        Answer::Asked,
        &["`ls`: allow instead of ask", "`cargo test`: allow instead of ask"],
    ),
    ("asks-for-commands", Answer::Asked, Answer::Asked, Answer::Quiet, &[]),
];

/// A change that is milder is held back: the stricter of both forms counts, until the first one is
/// back.
pub(crate) fn milder() -> Result<()> {
    let site = Site::new("changing")?;
    let _running = Running::start(&site)?;
    for (row, (form, alone, command, read, held_back)) in ROWS.iter().enumerate() {
        install(&site, &built(form)?, NAME)?;
        // The first hook compiles it: hooks do not wait for the service as long as that may take.
        let calls = |session: &str| site.calls(&format!("{session}-{row}"));
        let reply = site.hook(&calls("alone").bash("c1", "ls"))?;
        ensure!(reply.answer == *alone, "{form} alone: {reply:?}");
        let before = reviewed(&site)?;
        let reply = ask_service(&site, &calls("command").bash("c1", "ls"))?;
        ensure!(reply.answer == *command, "{form}, a command: {reply:?}");
        let input = json!({ "file_path": site.project().join("a.txt") });
        let reply = ask_service(&site, &calls("read").before("c1", "Read", input))?;
        ensure!(reply.answer == *read, "{form}, a read: {reply:?}");
        ensure!(reviewed(&site)? == before + 2, "{form}: the service did not review");
        let reported = held_back_changes(&site)?;
        ensure!(held_back.iter().all(|part| reported.contains(part)), "{form}: {reported}");
        ensure!(held_back.is_empty() == (reported == "[]"), "{form}: {reported}");
        let doctor = site.run(&["doctor", "--json"])?.text();
        ensure!(doctor.contains("are milder") != held_back.is_empty(), "{form}: {doctor}");
    }
    site.verify()
}

/// A change whose trial takes too long is held back for the commands that were not judged: the
/// plugin that sends requests, which are not answered at first, is milder about all of them.
pub(crate) fn slow() -> Result<()> {
    let site = Site::new("slow")?;
    let (port, stalls) = server()?;
    let host = format!("http://127.0.0.1:{port}");
    let config =
        format!("[plugins.{NAME}]\ngrants.hosts = [\"{host}\"]\nsettings.asks = \"GET {host}/\"\n");
    site.write("config.toml", config)?;
    let _running = Running::start(&site)?;
    install(&site, &built(PATIENT)?, NAME)?;
    let call = |session: &str| site.calls(session).bash("c1", "ls");
    site.hook(&call("compiled"))?.says(&["a command"])?;
    ask_service(&site, &call("before"))?.says(&["a command"])?;
    ensure!(held_back_changes(&site)? == "[]", "{}", held_back_changes(&site)?);

    install(&site, &guests::web()?, NAME)?;
    let alone = site.hook(&call("compiled-again"))?;
    ensure!(!alone.said.contains("a command"), "the changed plugin asks: {alone:?}");
    stalls.store(true, Ordering::SeqCst);
    // Its hook may run out of patience, and review by itself.
    ask_service(&site, &call("tried"))?;
    let deadline = Instant::now() + LIMIT;
    while held_back_changes(&site)? == "[]" {
        ensure!(Instant::now() < deadline, "the change is not held back");
        thread::sleep(Duration::from_millis(20));
    }
    stalls.store(false, Ordering::SeqCst);
    let reported = held_back_changes(&site)?;
    for part in ["were not tried in time: ", "`cargo test`", "`ls`"] {
        ensure!(reported.contains(part), "no {part:?}: {reported}");
    }
    let doctor = site.run(&["doctor", "--json"])?.text();
    ensure!(doctor.contains("were not tried in time"), "{doctor}");
    let after = ask_service(&site, &call("after"))?;
    ensure!(after.answer == Answer::Asked, "{after:?}");
    after.says(&["a command"])?;
    site.verify()
}

fn ask_service(site: &Site, event: &Value) -> Result<Reply> {
    let hook = small_hook(site, &["hook", "claude"]);
    site.ask(hook, "PreToolUse", event.to_string().as_bytes())
}

/// Returns the changes that the service holds back, as JSON.
fn held_back_changes(site: &Site) -> Result<String> {
    let status: Value = serde_json::from_str(&site.output(&["serve", "--status", "--json"])?)?;
    Ok(status["held_back"].to_string())
}

/// Starts a server that lives as long as the tests run; returns its port, and the switch with which it
/// keeps connections without an answer.
fn server() -> Result<(u16, Arc<AtomicBool>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, stalls) = (listener.local_addr()?.port(), Arc::new(AtomicBool::new(false)));
    let is_stalled = Arc::clone(&stalls);
    thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if is_stalled.load(Ordering::SeqCst) {
                kept.push(stream);
                continue;
            }
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
        }
    });
    Ok((port, stalls))
}
