//! `portcullis audit verify`: checks that the journal is unchanged, against its own chain and the
//! heads kept elsewhere.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::count_noun;
use portcullis_store::{Anchor, AnchorStatus, Durability, Home, Store, Verification, to_hex};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Compare with the heads in this file, in addition to those of `audit.anchors`
    #[arg(long, value_name = "FILE")]
    heads: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The most bytes of a file with heads.
const MOST_HEADS: u64 = 64 << 20;

pub fn run_verify(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    // A mistake in the configuration must not prevent anyone from verifying the journal.
    let anchors = Config::load(&places, Some(&home))
        .map(|config| config.audit.anchors)
        .unwrap_or_else(|error| {
            anstream::eprintln!(
                "{}: {error:#}; heads that it names are not compared",
                paint::warn("warning")
            );
            Vec::new()
        });
    let mut store = Store::open_database(&home, Durability::Process)?;
    let verification = store.verify_chain(progress())?;
    // Maintenance makes the configured files; one that is named here has to exist.
    let (kept, missing): (Vec<_>, Vec<_>) = anchors.iter().partition(|path| path.exists());
    for path in &missing {
        anstream::eprintln!(
            "{}: `{}` is missing, so nothing is compared with it: `portcullis maintain` writes it each hour; if it was there before, somebody removed it",
            paint::warn("warning"),
            path.display()
        );
    }
    let kept = kept.into_iter().chain(&arguments.heads);
    let anchors = kept.map(|path| read(path)).collect::<Result<Vec<_>>>()?.concat();
    let standings = store.check_anchors(&anchors)?;
    let contradicted = standings.iter().find(|(_, standing)| standing.contradicts_journal());
    if arguments.json {
        paint::print_text(&format!("{}\n", json(&verification, &standings, &missing)));
    } else {
        print_result(&verification);
        tell_heads(&standings, contradicted);
    }
    Ok(if verification.is_intact() && contradicted.is_none() {
        CommandExit::Success
    } else {
        CommandExit::JournalChanged
    })
}

fn progress() -> impl FnMut(portcullis_store::CheckProgress) {
    let terminal = std::io::stderr().is_terminal();
    move |progress| {
        if terminal && progress.total > 10_000 {
            let end = if progress.checked == progress.total { "\r" } else { " " };
            anstream::eprint!("\r{}/{}{end}", progress.checked, progress.total);
        }
    }
}

fn read(path: &Path) -> Result<Vec<Anchor>> {
    let reading = || format!("cannot read the heads in `{}`", path.display());
    if !std::fs::metadata(path).with_context(reading)?.is_file() {
        return Err(Error::invalid(format!("`{}` is not a file", path.display())));
    }
    let lines =
        BufReader::new(std::fs::File::open(path).with_context(reading)?.take(MOST_HEADS)).lines();
    let anchor = |(index, line): (usize, std::io::Result<String>)| -> Result<Anchor> {
        line?.parse().with_context(|| format!("line {}", index + 1))
    };
    lines.enumerate().map(|line| anchor(line).with_context(reading)).collect()
}

fn print_result(verification: &Verification) {
    if let Some((at, flaw)) = verification.first_bad {
        paint::print_text(&format!(
            "{} at record {at}: {flaw}; {} before it: unchanged\n",
            paint::bad("changed"),
            count_noun(verification.records, "record")
        ));
    } else {
        let pruned = verification
            .pruned
            .map_or(String::new(), |start| format!(" after {} that were pruned", start.sequence));
        let (good, head) = (paint::good("the chain holds"), to_hex(&verification.head.1));
        let records = count_noun(verification.records, "record");
        paint::print_text(&format!("{good}: {records}{pruned}, head {head}\n"));
    }
    for beside in verification.states.iter().chain(&verification.beside) {
        paint::print_text(&format!("{}: {beside}\n", paint::bad("changed")));
    }
    if let Some(reason) = &verification.unchecked {
        let what = "exceptions and waiting work were not checked";
        paint::print_text(&format!("{}: {what}: {reason}\n", paint::warn("incomplete")));
    }
    if let Some(replaced) = &verification.replaced {
        let fix = "put the newest one back, or have a person run `portcullis recover`";
        paint::print_text(&format!(
            "{}: this is not the journal that this home knows: {replaced}; {fix}\n",
            paint::bad("replaced")
        ));
    }
}

fn tell_heads(standings: &[(Anchor, AnchorStatus)], contradicted: Option<&(Anchor, AnchorStatus)>) {
    if let Some((anchor, standing)) = contradicted {
        let at = paint::time(anchor.at);
        paint::print_text(&format!(
            "{}: of the head kept at {at} UTC, record {}, {standing}\n",
            paint::bad("replaced"),
            anchor.sequence
        ));
    } else if !standings.is_empty() {
        let future = standings.iter().filter(|(anchor, _)| anchor.at > now_ms()).count();
        let note = if future > 0 {
            format!("; {future} are dated in the future: was the clock set back?")
        } else {
            String::new()
        };
        paint::print_text(&format!(
            "{}: {} were compared{note}\n",
            paint::good("the kept heads hold"),
            standings.len()
        ));
    }
}

fn json(
    verification: &Verification,
    standings: &[(Anchor, AnchorStatus)],
    missing: &[&PathBuf],
) -> serde_json::Value {
    let flaw = verification
        .first_bad
        .map(|(at, flaw)| serde_json::json!({ "sequence": at, "flaw": flaw.to_string() }));
    let pruned = verification.pruned.map(|start| {
        serde_json::json!({
            "sequence": start.sequence,
            "hash": to_hex(&start.hash),
            "at": start.at,
            "pruned_at": start.pruned_at,
        })
    });
    let (sequence, hash) = verification.head;
    let contradicted: Vec<_> = standings
        .iter()
        .filter(|(_, standing)| standing.contradicts_journal())
        .map(|(anchor, standing)| {
            serde_json::json!({
                "sequence": anchor.sequence,
                "at": anchor.at,
                "standing": standing.to_string(),
            })
        })
        .collect();
    serde_json::json!({
        "records": verification.records,
        "first_bad": flaw,
        "unchecked": verification.unchecked, "beside": verification.beside,
        "states": verification.states,
        "replaced": verification.replaced,
        "pruned": pruned,
        "head": { "sequence": sequence, "hash": to_hex(&hash) },
        "kept_heads": {
            "compared": standings.len(),
            "contradicted": contradicted,
            "missing": missing,
        },
    })
}
