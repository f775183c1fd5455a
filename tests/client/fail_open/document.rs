//! The table in readable form: `host/docs/fail-open.md`, generated from the data.

use std::fmt::Write;

use anyhow::Result;
use portcullis_tests::pages;

use super::data::{self, Happens, Part, Row};
use crate::scratch::Installed;
use portcullis_tests::programs::CLAUDE_VERSION;

/// Checks that the file matches the data.
pub(crate) fn check() -> Result<()> {
    pages::check_page("fail-open.md", "tests/client/fail_open", &text(&data::parts()?)?)
}

/// Returns a line for each row.
pub(crate) fn summary() -> Result<String> {
    let mut text = String::new();
    for row in data::parts()?.iter().flat_map(|part| &part.sessions).flat_map(|play| &play.rows) {
        let (verdict, why) = verdict(row);
        writeln!(text, "{verdict:6} {:28} {why}", row.id)?;
    }
    Ok(text)
}

fn text(parts: &[Part]) -> Result<String> {
    let mut text = format!(
        "# How the client can run a call without a review, and what prevents it\n\n\
         Written from the data in `tests/client/fail_open` by `PORTCULLIS_BLESS=1 cargo test --release --workspace --test client -- fail-open`; do not edit it here.\n\
         Each row was produced with Claude Code {CLAUDE_VERSION} in `bypassPermissions` mode, where only a hook checks a call, and is produced again in each test run.\n\n\
         - **closed**: the call does not run, or runs only after our review.\n\
         - **found**: it runs without a review, and a record of kind `unreviewed` says so afterwards.\n\
         - **open**: it runs, and no record says that nobody reviewed what it did.\n\n\
         Unless a row says otherwise the call is `rm -rf` of a folder in the person's home. Our handlers are programs that the client \
         starts itself and waits for, for every tool; what it does with other kinds (HTTP, MCP, prompts, agents, asynchronous ones) \
         does not concern us, and a test holds that we install none.\n"
    );
    for part in parts {
        write!(text, "\n## {}\n\n{}\n\n", part.title, part.about)?;
        text.push_str("| condition | produced by | installed in | the call | verdict |\n|---|---|---|---|---|\n");
        for play in &part.sessions {
            for row in &play.rows {
                text.push_str(&line(row, play.installed));
            }
        }
    }
    Ok(text)
}

fn line(row: &Row, installed: Installed) -> String {
    let (verdict, why) = verdict(row);
    let managed =
        row.managed.as_ref().map(|managed| format!(" Managed: {managed}.")).unwrap_or_default();
    let happens = match row.happens {
        Happens::Runs => "runs",
        Happens::Refused => "is refused",
        Happens::Ended => "does not run, and the session ends",
        Happens::Unstarted => "is never made: nothing begins",
    };
    let place = match installed {
        Installed::Nowhere => "nothing",
        Installed::Project => "project settings",
        Installed::User => "user settings",
        Installed::Managed => "managed settings",
    };
    format!(
        "| {} | {} | {place} | {happens} | **{verdict}**: {why}.{managed} |\n",
        cell(&row.condition),
        cell(&row.how)
    )
}

fn verdict(row: &Row) -> (&'static str, &str) {
    match (&row.closed, &row.found, &row.open) {
        (Some(by), ..) => ("closed", by),
        (_, Some(why), _) => ("found", why),
        (.., why) => ("open", why.as_deref().unwrap_or_default()),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
