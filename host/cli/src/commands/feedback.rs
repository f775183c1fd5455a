//! `portcullis feedback`: a person records whether a review was right. The journal keeps it,
//! `explain` shows it, and `metrics` computes the rate of false positives from it. It changes no
//! verdict: a permanent correction belongs in the configuration, a single one is made by `allow`.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::mask::Masker;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_review::installed::derive_mask_key;
use portcullis_review::metrics::FEEDBACK_WORDS;
use portcullis_review::stored_records::to_store;
use portcullis_store::Home;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The review's id or a prefix of it; `last` for the newest objection
    review: String,
    #[command(flatten)]
    word: Word,
    /// Give the reason, for the journal
    #[arg(long, alias = "note", default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Word {
    /// Report that it objected to a harmless action
    #[arg(long)]
    false_positive: bool,
    /// Report that it allowed an action it should have objected to
    #[arg(long)]
    false_negative: bool,
    /// Report that it was right
    #[arg(long)]
    right: bool,
}

pub fn run_feedback(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut store = super::audit::open_store()?;
    let review = super::explain::find_record(&store, &arguments.review)?;
    let word = arguments.word.as_str();
    fits(&review, word)?;
    let note = masked(&arguments.reason)?;
    let at = now_ms();
    let said = if note.is_empty() { String::new() } else { format!(" ({note})") };
    let summary = format!(
        "a person calls the review {} {}{said}: {}",
        review.id,
        word.replace('-', " "),
        review.summary
    );
    let seed = format!("{}\0{}", review.id, std::process::id());
    let mut record = Record::outside_session(RecordKind::Feedback, "feedback", &summary, at, &seed);
    record.session.clone_from(&review.session);
    for (name, value) in [("review", &review.id), ("word", &word.to_owned()), ("note", &note)] {
        record.details.insert(name.into(), value.clone().into());
    }
    store.append_records(vec![to_store(&record)])?;
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "id": record.id, "review": review.id, "word": word, "reason": note })
        ));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!("recorded: {} is {}\n", review.id, word.replace('-', " ")));
    Ok(CommandExit::Success)
}

impl Word {
    const fn as_str(&self) -> &'static str {
        let [false_positive, false_negative, right] = FEEDBACK_WORDS;
        match (self.false_positive, self.false_negative) {
            (true, _) => false_positive,
            (_, true) => false_negative,
            _ => right,
        }
    }
}

/// Checks that the feedback fits the review: only an objection can be a false positive, and only an
/// action that ran a false negative.
fn fits(review: &Record, word: &str) -> Result<()> {
    let Some(verdict) = review.verdict() else {
        return Err(Error::invalid(format!(
            "the record {} is not a review but `{}`",
            review.id, review.kind
        ))
        .with_hint("`portcullis audit show --kind review` lists reviews"));
    };
    match word {
        "false-positive" if verdict == Verdict::Allow => Err(Error::invalid(format!(
            "the review {} had no objections, so it is not a false positive",
            review.id
        ))
        .with_hint("did you mean `--false-negative`?")),
        "false-negative" if verdict >= Verdict::Ask => Err(Error::invalid(format!(
            "the review {} returned `{verdict}`, so it is not a false negative",
            review.id
        ))
        .with_hint("did you mean `--false-positive`?")),
        _ => Ok(()),
    }
}

/// Returns the note in one line, with secrets masked.
fn masked(note: &str) -> Result<String> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let personal = Config::load(&places, Some(&home))?.policy.mask;
    let mask = Masker::new(derive_mask_key(&home), &personal).build_mask(&[note]);
    Ok(one_line(&mask.apply_to(note), 512))
}
