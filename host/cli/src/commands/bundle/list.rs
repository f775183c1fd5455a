//! `portcullis bundle list`: shows the bundles that have to run here, their state, and what else is
//! installed.

use crate::error::Result;
use crate::exit::CommandExit;
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::{Bundle, InstalledBundle};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::bundles::locks::{LockTexts, RequiredBundle};
use portcullis_review::bundles::{Policies, open_store, verify};
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A bundle that has to run, and its state.
struct BundleLine {
    wanted: RequiredBundle,
    /// The bundle and when its trust ends, or why it does not run.
    state: Result<(Bundle, Option<u64>), String>,
}

pub fn run_list(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let policies = Policies::read_policies(&places)?;
    let store = open_store(&places)?;
    let line = |wanted: RequiredBundle| {
        let found = verify::verify_bundle(&store, &wanted, &policies, now_ms());
        BundleLine {
            state: found
                .map(|(bundle, _, judged)| (bundle, judged.until))
                .map_err(|error| format!("{error:#}")),
            wanted,
        }
    };
    let lines: Vec<BundleLine> =
        LockTexts::read_texts(&places)?.required_bundles()?.into_iter().map(line).collect();
    let mut others = store.installed()?;
    others.retain(|installed| {
        !lines.iter().any(|line| line.wanted.locked.digest == installed.index.digest)
    });
    if arguments.json {
        let locked: Vec<Value> = lines.iter().map(as_json).collect();
        paint::print_text(&format!("{}\n", json!({ "locked": locked, "not_locked_here": others })));
    } else {
        paint::print_wrapped(&as_text(&lines, &others), 4);
    }
    Ok(CommandExit::Success)
}

fn as_json(line: &BundleLine) -> Value {
    let RequiredBundle { locked, by } = &line.wanted;
    match &line.state {
        Ok((bundle, until)) => {
            json!({
                "locked": locked,
                "by": by,
                "holds": true,
                "until": until,
                "about": bundle.about(),
            })
        }
        Err(why) => json!({ "locked": locked, "by": by, "holds": false, "why": why }),
    }
}

fn as_text(lines: &[BundleLine], others: &[InstalledBundle]) -> String {
    let mut text = String::new();
    if lines.is_empty() {
        text.push_str("no bundle is locked here; `portcullis bundle install` locks one\n");
    }
    for BundleLine { wanted: RequiredBundle { locked, by }, state } in lines {
        let _ = writeln!(
            text,
            "{} {}  {}",
            paint::bold(locked.name.as_str()),
            locked.version,
            paint::dim(display_path(by))
        );
        let _ = writeln!(text, "  {}", paint::dim(locked.digest));
        match state {
            Ok((bundle, until)) => {
                let until = until
                    .map(|until| format!(", until {} UTC", paint::time(until)))
                    .unwrap_or_default();
                let _ = writeln!(text, "  {}{until}", paint::good("runs"));
                for (component, plugin) in bundle.about().plugins() {
                    let asks = match component.wants.grants.as_slice() {
                        [] => String::new(),
                        grants => format!("  may be granted {}", grants.join(", ")),
                    };
                    let _ = writeln!(
                        text,
                        "  {:<24} {:<16}{}",
                        one_line(&plugin.name, 64),
                        plugin.kind,
                        paint::dim(asks)
                    );
                }
            }
            Err(why) => {
                let _ = writeln!(
                    text,
                    "  {}: {}",
                    paint::bad("does not run, and no action does"),
                    one_line(why, 1000)
                );
            }
        }
    }
    if !others.is_empty() {
        text.push_str("installed, but not locked here:\n");
    }
    for other in others {
        let _ = writeln!(
            text,
            "  {} {}  {}",
            other.name,
            other.version,
            paint::dim(other.index.digest)
        );
    }
    text
}
