//! `portcullis bundle search`: finds bundles in the indexes that this machine keeps.

use crate::bundles::index_search::{
    IndexStates, OfferedBundle, find_lookalikes, rank_bundles, shown_version,
};
use crate::bundles::indexes::format_age;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::BundleName;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_engine::Kind;
use portcullis_review::bundles::Policies;
use portcullis_store::Home;
use serde_json::{Value, json};
use std::fmt::Write;

/// The most results that are compared with all names.
const MOST_COMPARED: usize = 200;

#[derive(clap::Args)]
pub struct Arguments {
    /// Words that a bundle has to match, all of them: in its name, its description, its plugins,
    /// their kinds or what they read; without any, all bundles
    words: Vec<String>,
    /// Only bundles with a plugin of this kind
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn kind(text: &str) -> Result<String, String> {
    let all = || Kind::ALL.iter().map(|kind| kind.as_str()).filter(|kind| *kind != "shell-reader");
    if all().any(|kind| kind == text) {
        return Ok(text.to_owned());
    }
    Err(format!("a kind is {}", all().collect::<Vec<_>>().join(", ")))
}

/// A warning about a name that looks like another one.
struct Lookalike<'a> {
    text: String,
    name: &'a BundleName,
}

pub fn run_search(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let now = now_ms();
    let states = IndexStates::read_states(&home, &policies, now)?;
    if !states.iter().any(|(_, state)| matches!(state, Ok(Some(_)))) {
        return Err(nothing_usable(&states));
    }
    let offered = states.offered_bundles();
    let found = rank_bundles(&offered, &arguments.words, arguments.kind.as_deref());
    let lookalikes = lookalikes(&offered, &found, &arguments.words);
    if arguments.json {
        paint::print_text(&format!("{}\n", document(&states, &found, &lookalikes, now)));
    } else {
        paint::print_wrapped(&page(&states, &found, &lookalikes, now), 4);
    }
    Ok(CommandExit::Success)
}

fn nothing_usable(states: &IndexStates) -> Error {
    let problem = states.iter().find_map(|(_, state)| state.err().map(Error::in_line));
    match problem {
        Some(problem) => Error::refused(problem),
        None => Error::not_found("no index is here yet"),
    }
    .with_hint("`portcullis bundle index update` fetches them")
}

/// Returns the words, and the names that were found, that are one edit from another name.
fn lookalikes<'a>(
    offered: &[OfferedBundle<'a>],
    found: &[OfferedBundle<'a>],
    words: &[String],
) -> Vec<Lookalike<'a>> {
    let names = found.iter().take(MOST_COMPARED).map(|one| one.bundle.name.to_string());
    let mut texts: Vec<String> =
        words.iter().map(|word| word.to_lowercase()).chain(names).collect();
    texts.sort();
    texts.dedup();
    let of_text = |text: String| {
        let similar = find_lookalikes(offered, &text).into_iter();
        similar.map(move |name| Lookalike { text: text.clone(), name }).collect::<Vec<_>>()
    };
    texts.into_iter().flat_map(of_text).collect()
}

fn page(
    states: &IndexStates,
    found: &[OfferedBundle<'_>],
    lookalikes: &[Lookalike<'_>],
    now: u64,
) -> String {
    let mut text = String::new();
    for OfferedBundle { index, bundle } in found {
        let listed = shown_version(bundle);
        let state = match (&listed.yanked, listed.version.pre.is_empty()) {
            (Some(_), _) => format!("  {}", paint::bad("withdrawn")),
            (None, false) => format!("  {}", paint::warn("pre-release")),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "{} {}{state}  {}",
            paint::bold(&bundle.name),
            listed.version,
            paint::dim(index)
        );
        if !listed.description.is_empty() {
            let _ = writeln!(text, "  {}", one_line(&listed.description, 400));
        }
        let plugins: Vec<String> = listed
            .plugins
            .iter()
            .map(|plugin| {
                format!("{} ({})", one_line(&plugin.name, 64), one_line(&plugin.kind, 32))
            })
            .collect();
        let _ = writeln!(text, "  {}", plugins.join(", "));
    }
    if found.is_empty() {
        text.push_str("no bundle matches\n");
    }
    for Lookalike { text: given, name } in lookalikes {
        let _ = writeln!(
            text,
            "{}: `{}` is one edit from `{name}`: check which one you mean before you install it",
            paint::warn("warning"),
            one_line(given, 128)
        );
    }
    for (index, state) in states.iter() {
        let _ = match state {
            Ok(Some(kept)) => writeln!(
                text,
                "{}",
                paint::dim(format!(
                    "the index `{}` is {} old",
                    index.name,
                    format_age(kept.fetched, now)
                ))
            ),
            Ok(None) => writeln!(
                text,
                "{}: the index `{}` is not here yet: run `portcullis bundle index update`",
                paint::warn("warning"),
                index.name
            ),
            Err(error) => {
                writeln!(text, "{}: {}", paint::warn("warning"), one_line(&error.in_line(), 1000))
            }
        };
    }
    text
}

fn document(
    states: &IndexStates,
    found: &[OfferedBundle<'_>],
    lookalikes: &[Lookalike<'_>],
    now: u64,
) -> Value {
    let bundle = |one: &OfferedBundle<'_>| {
        let listed = shown_version(one.bundle);
        let plugins = listed.plugins.iter().map(
            |plugin| json!({ "name": plugin.name, "kind": plugin.kind, "reads": plugin.reads }),
        );
        json!({
            "name": one.bundle.name,
            "version": listed.version,
            "index": one.index,
            "description": listed.description,
            "plugins": plugins.collect::<Vec<_>>(),
            "yanked": listed.yanked,
        })
    };
    let mut indexes = Vec::new();
    for (index, state) in states.iter() {
        let kept = state.ok().flatten();
        indexes.push(json!({
            "name": index.name,
            "serial": kept.map(|kept| kept.document().serial),
            "fetched": kept.map(|kept| kept.fetched),
            "age_ms": kept.map(|kept| now.saturating_sub(kept.fetched)),
            "problem": state.err().map(Error::in_line),
        }));
    }
    json!({
        "bundles": found.iter().map(bundle).collect::<Vec<_>>(),
        "lookalikes": lookalikes
            .iter()
            .map(|one| json!({ "text": one.text, "name": one.name }))
            .collect::<Vec<_>>(),
        "indexes": indexes,
    })
}
