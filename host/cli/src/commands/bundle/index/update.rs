//! `portcullis bundle index update`: fetches indexes, verifies them and keeps them.

use crate::bundles::indexes::refresh_index;
use crate::bundles::install::InstallLock;
use crate::bundles::source::{self, RegistryOptions};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_bundle::BundleName;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::bundles::indexes::{KeptIndex, forget_index, read_index};
use portcullis_review::bundles::policies::{NamedIndex, Policies};
use portcullis_store::Home;
use serde_json::{Value, json};

#[derive(clap::Args)]
pub struct Arguments {
    /// The indexes; without any, all that the trust policy names
    names: Vec<BundleName>,
    /// Forget which serial was seen, after asking: for an index whose publisher began again
    /// (interactive)
    #[arg(long, requires = "names")]
    reset: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: RegistryOptions,
}

/// The outcome for one index.
struct Refreshed {
    index: NamedIndex,
    outcome: Result<(bool, KeptIndex)>,
}

pub fn run_index_update(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let wanted = named_indexes(&policies, &arguments.names)?;
    let _turn = InstallLock::take_lock(&places)?;
    if arguments.reset {
        let names: Vec<String> = wanted.iter().map(|index| format!("`{}`", index.name)).collect();
        interactive::confirm_action(&format!(
            "An older index than the one seen last will be accepted for {}.",
            names.join(", ")
        ))?;
        for index in &wanted {
            forget_index(&home, &index.name)?;
        }
    }
    let bar = source::new_bar();
    let mut all = Vec::new();
    for index in wanted {
        bar.set_message(index.name.to_string());
        bar.tick();
        let outcome = refresh_index(&home, &policies, &index, &arguments.reach).and_then(|new| {
            let kept = read_index(&home, &policies, &index.name, now_ms())?;
            let kept = kept.ok_or_else(|| Error::internal("a kept index is not there"))?;
            Ok((new, kept))
        });
        if let Ok((true, kept)) = &outcome {
            let what = format!(
                "a person updated the index of bundles `{}` to the serial {}, {}",
                index.name,
                kept.document().serial,
                kept.artifact.digest()
            );
            record_action(&places, &home, "bundle", &what, now_ms())?;
        }
        all.push(Refreshed { index, outcome });
    }
    bar.finish_and_clear();
    let is_complete = all.iter().all(|one| one.outcome.is_ok());
    if arguments.json {
        let indexes: Vec<Value> = all.iter().map(document).collect();
        paint::print_text(&format!("{}\n", json!({ "indexes": indexes })));
        return Ok(CommandExit::of_check(is_complete));
    }
    for one in &all {
        if let Ok((new, kept)) = &one.outcome {
            paint::print_text(&line(&one.index, *new, kept));
        }
    }
    // One index that fails is an error of its own, with its hints; of several, each is a line.
    let mut failed: Vec<_> = all.into_iter().filter(|one| one.outcome.is_err()).collect();
    match failed.pop() {
        Some(Refreshed { outcome: Err(error), .. }) if failed.is_empty() => Err(error),
        Some(last) => {
            failed.push(last);
            let lines = failed.iter().filter_map(|one| one.outcome.as_ref().err());
            let lines: Vec<String> = lines.map(|error| one_line(&error.in_line(), 1000)).collect();
            Err(Error::refused(lines.join("; ")))
        }
        None => Ok(CommandExit::Success),
    }
}

/// Returns the indexes of these names, or all.
fn named_indexes(policies: &Policies, names: &[BundleName]) -> Result<Vec<NamedIndex>> {
    if !names.is_empty() {
        return names.iter().map(|name| find_index(policies, name)).collect();
    }
    let all = policies.list_indexes();
    if all.is_empty() {
        return Err(Error::not_found("no trust policy names an index of bundles")
            .with_hint("add an `[[index]]` to `trust.toml`"));
    }
    Ok(all)
}

/// Returns the index of that name.
///
/// # Errors
/// Fails if the policies name none.
pub(super) fn find_index(policies: &Policies, name: &BundleName) -> Result<NamedIndex> {
    policies.list_indexes().into_iter().find(|index| index.name == *name).ok_or_else(|| {
        Error::not_found(format!("no trust policy names an index `{name}`"))
            .with_hint("`portcullis bundle index list` lists those that it names")
    })
}

fn line(index: &NamedIndex, new: bool, kept: &KeptIndex) -> String {
    let document = kept.document();
    let done = if new { paint::good("updated") } else { paint::dim("unchanged") };
    format!(
        "{done} {} to the serial {}, {}, until {} UTC\n",
        index.name,
        document.serial,
        count_noun(document.bundles.len() as u64, "bundle"),
        paint::time(document.expires)
    )
}

fn document(one: &Refreshed) -> Value {
    match &one.outcome {
        Ok((new, kept)) => json!({
            "name": one.index.name,
            "updated": new,
            "serial": kept.document().serial,
            "digest": kept.artifact.digest(),
            "made": kept.document().made,
            "expires": kept.document().expires,
            "bundles": kept.document().bundles.len(),
        }),
        Err(error) => json!({ "name": one.index.name, "problem": error.in_line() }),
    }
}
