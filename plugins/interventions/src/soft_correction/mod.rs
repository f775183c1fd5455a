//! The intervention `soft-correction`: a message to the agent that fits the issue.
//!
//! The wording comes from the operator's templates if there is one for the issue, else from
//! [`wording`], and is filled with the details of the issue (`portcullis_plugin::template`
//! documents the placeholders).
//!
//! An issue gets at most `max_attempts` corrections in a session, counted over the earlier
//! interventions that the host passes along. After that more of the same would not help: the answer
//! instructs the agent to stop and leave the matter to the person. It remains guidance, since the
//! host's controller decides if a stricter intervention is due.

pub mod wording;

use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Guidance, Intervention, Issue, Reads, Response, Setting, Settings,
    Situation, Spec,
};
use portcullis_plugin::template::{Values, Wording, earlier};

const SPECS: &[Spec] = &[
    Spec::integer("max_attempts", 3, "corrections for one issue in a session").between(1, 10),
    Wording::SETTING,
];

/// The intervention.
#[derive(Debug)]
pub struct SoftCorrection;

impl Intervention for SoftCorrection {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "soft-correction",
        env!("CARGO_PKG_VERSION"),
        "Tells the agent what goes wrong and what to try instead.",
    )
    .reads(&[Reads::Issue, Reads::Context])
    .settings(SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        wording::CORRECTION.prepare(SPECS, settings)
    }

    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        let most = settings.integer("max_attempts")?.unsigned_abs();
        let given = situation.past_of("soft-correction", &issue.name).count();
        let mut values = Values::of(issue, situation, context);
        values.set("attempt", Some(&(given + 1).to_string()));
        values.set("earlier", earlier(given, "correction").as_deref());
        let left = u64::try_from(given).is_ok_and(|given| given < most);
        let name = if left { issue.name.as_str() } else { wording::LAST_WORD };
        let text = wording::CORRECTION.text(&settings, name, situation, values)?;
        Ok(Guidance::saying(wording::CORRECTION.headed(issue, context, &text)).into())
    }
}

#[cfg(test)]
mod tests;
