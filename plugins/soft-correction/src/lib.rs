//! The intervention `soft-correction`: a word to the agent, fit for what went wrong.
//!
//! The wording comes from the operator's templates where there is one for the issue, else from
//! [`wording`], and is filled with what the issue really holds (`portcullis_plugin::template` says how
//! and with what). Every message begins with its type, issue and time.
//!
//! An issue gets at most `max_attempts` corrections in a session, counted over the earlier
//! interventions that the host passes along. After that more of the same would not help: the answer
//! tells the agent to stop and leave the matter to the person. It stays guidance, since whether a
//! stricter intervention is due is for the host's controller to decide.

pub mod wording;

use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Guidance, Intervention, Issue, Reads, Response, Settings, Situation, Spec,
};
use portcullis_plugin::template::{Values, fill};
use portcullis_plugin::text::{cut, rfc3339};

/// The host's limit for one message, in bytes.
const MESSAGE: usize = 4096;

/// The intervention.
#[derive(Debug)]
pub struct SoftCorrection;

impl Intervention for SoftCorrection {
    const DESCRIPTOR: Descriptor =
        Descriptor::new("soft-correction", env!("CARGO_PKG_VERSION"), "Tells the agent what goes wrong and what to try instead.")
            .reads(&[Reads::Issue, Reads::Context])
            .settings(&[Spec::integer("max_attempts", 3, "corrections for one issue in a session").between(1, 10)]);

    fn intervene(prepared: &[u8], issue: &Issue, situation: &Situation, context: &Context) -> Result<Response, Error> {
        let most = Settings::read(prepared)?.integer("max_attempts")?.unsigned_abs();
        let given = attempts(issue, situation);
        let text = if given < most { correction(issue, situation, context, given)? } else { last_word(issue, situation, context, given)? };
        let head = format!("[portcullis soft_correction | {} | {}]", one_word(&issue.name), rfc3339(context.now));
        Ok(Guidance::saying(cut(&format!("{head}\n{text}"), MESSAGE)).into())
    }
}

portcullis_plugin::export!(intervention: SoftCorrection);

/// How many corrections this issue had. The host names interventions with hyphens or underscores,
/// by plugin or by type.
fn attempts(issue: &Issue, situation: &Situation) -> u64 {
    let ours = situation.past.iter().filter(|past| past.issue == issue.name && past.kind.replace('_', "-") == "soft-correction");
    u64::try_from(ours.count()).unwrap_or(u64::MAX)
}

fn correction(issue: &Issue, situation: &Situation, context: &Context, given: u64) -> Result<String, Error> {
    let mut values = Values::of(issue, situation, context);
    values.set("attempt", Some(&(given + 1).to_string()));
    values.set("earlier", earlier(given).as_deref());
    let (name, template) = template(issue, situation);
    let text = fill(name, template, &values)?;
    if text.is_empty() { fill("default", wording::DEFAULT, &values) } else { Ok(text) }
}

fn last_word(issue: &Issue, situation: &Situation, context: &Context, given: u64) -> Result<String, Error> {
    let mut values = Values::of(issue, situation, context);
    values.set("earlier", earlier(given).as_deref());
    fill("last word", wording::LAST_WORD, &values)
}

/// Absent for the first correction.
fn earlier(given: u64) -> Option<String> {
    match given {
        0 => None,
        1 => Some("one earlier correction".into()),
        more => Some(format!("{more} earlier corrections")),
    }
}

/// The operator's words for this very issue, ours for it, the operator's for any issue, ours for any.
fn template<'a>(issue: &'a Issue, situation: &'a Situation) -> (&'a str, &'a str) {
    let theirs =
        |wanted: &str| situation.templates.iter().find(|(name, _)| name == wanted).map(|(name, text)| (name.as_str(), text.as_str()));
    let rules = || issue.rule().and_then(|_| theirs("rule:*"));
    let ours = || wording::of(&issue.name).map(|text| (issue.name.as_str(), text));
    theirs(&issue.name).or_else(rules).or_else(ours).or_else(|| theirs("default")).unwrap_or(("default", wording::DEFAULT))
}

/// A pattern's name comes from a plugin: it must not break the message's head.
fn one_word(name: &str) -> String {
    let word: String =
        name.chars().map(|character| if character.is_alphanumeric() || "_-:.".contains(character) { character } else { '_' }).collect();
    cut(&word, 80)
}

#[cfg(test)]
mod tests;
