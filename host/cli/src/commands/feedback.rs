//! `portcullis feedback`: a person says whether a review was right. It stands in the journal, `explain`
//! shows it, and `metrics` makes the rate of false positives of it. It changes no verdict: what is wrong for
//! good belongs into the configuration, what is wrong once is for `allow`.

use super::hook::now;
use crate::config::Config;
use crate::places::Places;
use crate::runtime::to_store;
use crate::{human, paint};
use anyhow::{Result, bail};
use portcullis_core::mask::Masker;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_store::{Filter, Home, Store};
use std::ops::ControlFlow;

#[derive(clap::Args)]
pub struct Arguments {
    /// The review's id or the beginning of one; `last` for the newest objection
    review: String,
    #[command(flatten)]
    word: Word,
    /// Why, for the journal
    #[arg(long, default_value = "")]
    note: String,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Word {
    /// It objected to what was fine
    #[arg(long)]
    false_positive: bool,
    /// It let run what it should have objected to
    #[arg(long)]
    false_negative: bool,
    /// It was right
    #[arg(long)]
    right: bool,
}

/// The kinds of feedback, as records name them.
pub const WORDS: [&str; 3] = ["false-positive", "false-negative", "right"];

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let mut store = super::audit::open()?;
    let review = super::explain::find(&store, &arguments.review)?;
    let word = arguments.word.as_str();
    fits(&review, word)?;
    let note = masked(&arguments.note)?;
    let at = now();
    let said = if note.is_empty() { String::new() } else { format!(" ({note})") };
    let summary = format!("a person calls the review {} {}{said}: {}", review.id, word.replace('-', " "), review.summary);
    let seed = format!("{}\0{}", review.id, std::process::id());
    let mut record = Record::apart(RecordKind::Feedback, "feedback", &summary, at, &seed);
    record.session.clone_from(&review.session);
    for (name, value) in [("review", &review.id), ("word", &word.to_owned()), ("note", &note)] {
        record.details.insert(name.into(), value.clone().into());
    }
    store.append(vec![to_store(&record)])?;
    paint::print(&format!("recorded: {} is {}\n", review.id, word.replace('-', " ")));
    Ok(0)
}

impl Word {
    const fn as_str(&self) -> &'static str {
        let [false_positive, false_negative, right] = WORDS;
        match (self.false_positive, self.false_negative) {
            (true, _) => false_positive,
            (_, true) => false_negative,
            _ => right,
        }
    }
}

/// Only an objection can be a false positive, only what ran a false negative.
fn fits(review: &Record, word: &str) -> Result<()> {
    let Some(verdict) = review.verdict() else {
        bail!("the record {} is no review but `{}`: `portcullis audit show --kind review` lists reviews", review.id, review.kind)
    };
    match word {
        "false-positive" if verdict == Verdict::Allow => {
            bail!("the review {} objected to nothing, so it is no false positive; did you mean `--false-negative`?", review.id)
        }
        "false-negative" if verdict >= Verdict::Ask => {
            bail!("the review {} came to `{verdict}`, so it is no false negative; did you mean `--false-positive`?", review.id)
        }
        _ => Ok(()),
    }
}

/// The note in one line, without secrets.
fn masked(note: &str) -> Result<String> {
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let personal = Config::load(&places, Some(&home))?.policy.personal_data;
    let mask = Masker::new(home.derive_key("portcullis 2026 masking"), &personal).mask(&[note]);
    Ok(one_line(&mask.apply(note), 512))
}

/// What people said of a review, oldest first.
///
/// # Errors
/// The journal cannot be read.
pub fn of(store: &Store, review: &str) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    store.query(&Filter { kind: Some(RecordKind::Feedback.as_str().into()), ..Filter::default() }, |stored| {
        found.extend(serde_json::from_str::<Record>(&stored.record.document));
        ControlFlow::Continue(())
    })?;
    found.retain(|record| record.details.get("review").is_some_and(|of| of == review));
    Ok(found)
}
