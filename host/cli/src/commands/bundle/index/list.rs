//! `portcullis bundle index list`: the indexes that the trust policy names, in the order of
//! precedence, and the copies that this machine keeps.

use crate::bundles::index_search::IndexStates;
use crate::bundles::indexes::format_age;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::IndexSource;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::bundles::Policies;
use portcullis_review::bundles::indexes::find_seen;
use portcullis_review::bundles::policies::NamedIndex;
use portcullis_store::Home;
use serde_json::json;
use std::fmt::Write;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_index_list(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let now = now_ms();
    let states = IndexStates::read_states(&home, &policies, now)?;
    let (mut text, mut documents) = (String::new(), Vec::new());
    for (index, state) in states.iter() {
        let scopes: Vec<String> = index.scopes.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "{}  {}",
            paint::bold(&index.name),
            paint::dim(format!("{}'s policy", index.owner.as_str()))
        );
        let _ = writeln!(text, "  from {}, may list {}", source_text(index), scopes.join(", "));
        let _ = match state {
            Ok(Some(kept)) => writeln!(
                text,
                "  serial {}, {}, {} old, until {} UTC",
                kept.document().serial,
                count_noun(kept.document().bundles.len() as u64, "bundle"),
                format_age(kept.fetched, now),
                paint::time(kept.document().expires)
            ),
            Ok(None) => writeln!(text, "  not here yet: run `portcullis bundle index update`"),
            Err(error) => writeln!(
                text,
                "  {}: {}",
                paint::bad("cannot be used"),
                one_line(&error.in_line(), 1000)
            ),
        };
        let kept = state.ok().flatten();
        documents.push(json!({
            "name": index.name,
            "owner": index.owner.as_str(),
            "source": source_text(index),
            "names": scopes,
            // What was seen is remembered even where the copy is gone or has expired.
            "seen": find_seen(&home, &index.name).ok().flatten().map(|seen| seen.serial),
            "serial": kept.map(|kept| kept.document().serial),
            "digest": kept.map(|kept| kept.artifact.digest()),
            "fetched": kept.map(|kept| kept.fetched),
            "made": kept.map(|kept| kept.document().made),
            "expires": kept.map(|kept| kept.document().expires),
            "bundles": kept.map(|kept| kept.document().bundles.len()),
            "problem": state.err().map(Error::in_line),
        }));
    }
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "indexes": documents })));
    } else {
        paint::print_wrapped(&text, 4);
    }
    Ok(CommandExit::Success)
}

fn source_text(index: &NamedIndex) -> String {
    match &index.source {
        IndexSource::Path(path) => one_line(&path.to_string_lossy(), 400),
        IndexSource::Registry(text) => one_line(text, 400),
    }
}
