//! Tests of a plugin whose file changes while the service reviews with it.

use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::running::{Running, reviewed, small_hook};
use crate::{built, install};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

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
        let ask = |event: &Value| {
            let hook = small_hook(&site, &["hook", "claude"]);
            site.ask(hook, "PreToolUse", event.to_string().as_bytes())
        };
        let reply = ask(&calls("command").bash("c1", "ls"))?;
        ensure!(reply.answer == *command, "{form}, a command: {reply:?}");
        let input = json!({ "file_path": site.project().join("a.txt") });
        let reply = ask(&calls("read").before("c1", "Read", input))?;
        ensure!(reply.answer == *read, "{form}, a read: {reply:?}");
        ensure!(reviewed(&site)? == before + 2, "{form}: the service did not review");
        let status: Value = serde_json::from_str(&site.output(&["serve", "--status", "--json"])?)?;
        let reported = status["held_back"].to_string();
        ensure!(held_back.iter().all(|part| reported.contains(part)), "{form}: {reported}");
        ensure!(held_back.is_empty() == (reported == "[]"), "{form}: {reported}");
        let doctor = site.run(&["doctor", "--json"])?.text();
        ensure!(doctor.contains("are milder") != held_back.is_empty(), "{form}: {doctor}");
    }
    site.verify()
}
