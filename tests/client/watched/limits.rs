//! Tests of limits that are reached while the real client works: the ended processes, the summary,
//! the exit code.

use anyhow::{Result, ensure};

use super::{bash, document, play, text};
use crate::run::Programs;
use crate::scratch::Scratch;

/// A limit and the agent's command that reaches it, which would never end by itself.
struct Row {
    limit: &'static str,
    options: &'static [&'static str],
    command: &'static str,
    /// The warning of the live view at four fifths; empty if a limit is reached in one leap.
    warned: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        limit: "time",
        options: &["--time", "6s"],
        command: "tail -f /dev/null",
        warned: " of 6.0 s",
    },
    Row {
        limit: "tokens",
        options: &["--tokens", "100"],
        command: "tail -f /dev/null",
        warned: "limit tokens: 120 of 100",
    },
    // One endless line of zeros, which `tail` has to keep whole.
    Row {
        limit: "memory",
        options: &["--memory", "1500MiB"],
        command: "{ head -c 1500M /dev/zero; tail -f /dev/null; } | tail -n 1",
        warned: " of 1.4 GiB",
    },
    Row {
        limit: "processes",
        options: &["--processes", "60"],
        command: "for n in $(seq 60); do tail -f /dev/null & done; wait",
        warned: " of 60",
    },
    Row {
        limit: "output",
        options: &["--output-bytes", "40KB"],
        command: "seq 6000",
        warned: " of 39.0 KiB",
    },
];

pub(super) fn reached(scratch: &Scratch, programs: &Programs) -> Result<()> {
    for Row { limit, options, command, warned } in ROWS {
        let turns = [
            bash(&format!("toolu_{limit}"), command),
            bash("toolu_wait", "tail -f /dev/null"),
            text("Done."),
        ];
        let (ended, conversation) =
            play(scratch, programs, &[options, &["--json"][..]].concat(), &turns)?;
        let document = document(&ended)?;
        ensure!(
            ended.code == Some(11) && document["outcome"] == "limit" && document["limit"] == *limit,
            "{limit}: {ended:?}"
        );
        ensure!(
            document["warnings"][0]["limit"] == *limit,
            "{limit} was not warned of: {document}"
        );
        ensure!(
            document["stopped"]["survivors"].as_array().is_some_and(Vec::is_empty),
            "{limit}: {document}"
        );
        ensure!(
            conversation.unplayed >= 1,
            "{limit}: the agent went on to its end: {conversation:?}"
        );
        for part in [
            &format!("stopped: it used up its {limit}"),
            "its processes were stopped within",
            &format!("limit {limit}: "),
            warned,
        ] {
            ensure!(ended.stderr.contains(part), "{limit}: `{part}` is missing: {}", ended.stderr);
        }
    }
    Ok(())
}
