//! The coverage of subagents and commands in the background, by client:
//! `host/docs/subagents.md`, generated from the cases.

use crate::client::CLIENTS;
use anyhow::{Context, Result, ensure};
use portcullis_tests::coverage::{Coverage, Work, read_coverage};
use portcullis_tests::pages;
use portcullis_tests::programs::{CLAUDE_VERSION, list_cases};
use std::fmt::Write;

/// Checks that each client has a case for every kind of work, and that the page matches the cases.
pub(crate) fn check_page() -> Result<()> {
    let claude = (format!("Claude Code {CLAUDE_VERSION}"), "client/cases".to_owned());
    let others = CLIENTS.iter().map(|client| {
        let name = format!("{} {}", client.display_name, client.version);
        (name, format!("clients/cases/{}", client.name))
    });
    let mut text = String::from(HEAD);
    for (name, cases) in std::iter::once(claude).chain(others) {
        let cells: Vec<&str> = read_row(&cases)?.iter().map(|coverage| cell(*coverage)).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | "))?;
    }
    pages::check_page("subagents.md", "tests/clients/cases or tests/client/cases", &text)
}

/// Returns what the cases of a client show, in the order of the columns.
fn read_row(cases: &str) -> Result<Vec<Coverage>> {
    let mut found = Vec::new();
    for (_, file) in list_cases(cases)? {
        found.extend(read_coverage(&file)?);
    }
    Work::ALL
        .iter()
        .map(|work| {
            let mut shown = found.iter().filter(|(of, _)| of == work).map(|(_, shown)| *shown);
            let first = shown.next();
            ensure!(shown.all(|other| Some(other) == first), "{cases} disagree on {work:?}");
            first.with_context(|| format!("{cases} has no case of {work:?}"))
        })
        .collect()
}

const fn cell(coverage: Coverage) -> &'static str {
    match coverage {
        Coverage::Reviewed => "reviewed",
        Coverage::Unattributed => "reviewed as the main agent's",
        Coverage::Recorded => "**recorded**",
        Coverage::Missed => "**not covered**",
        Coverage::Absent => "has none",
    }
}

const HEAD: &str = "# Subagents and commands in the background

Written from the cases in `tests/clients/cases` and `tests/client/cases` by `PORTCULLIS_BLESS=1 cargo test --release --workspace --test clients -- page`; do not edit it here.
Each cell was produced with the real client and a scripted model, and is produced again in each test run.

A subagent is an agent that the main one starts. A command in the background is reviewed once, when it starts: no client calls a hook for what the
command does later.

- **reviewed**: a dangerous command is refused. The record of a subagent's call names the subagent.
- **reviewed as the main agent's**: it is refused too, but the client does not tell a hook which agent acts.
- **recorded**: it happens without a review, and a record of kind `unreviewed` says so when the turn ends.
- **not covered**: it happens without a review, and no record says so.
- **has none**: the client has no tool for it. The test compares all tools that the client offers the model.

| client | the calls of a subagent | a command in the background | input for a running command |
|---|---|---|---|
";
