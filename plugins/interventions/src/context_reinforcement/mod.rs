//! The intervention `context-reinforcement`: reminds the agent of the request, its constraints and
//! its boundaries.
//!
//! The answer is a message in words for the issue, and facts as items of their own: the original
//! request, the constraints that the issue touches (stated first) and the others, the goals, the
//! boundaries, examples. Its strength determines how many of these are given, and follows the
//! issue's severity and the host's escalation. Everything comes from the host's input; unknown
//! details are left out. It sets no limits and stops nothing.

pub(crate) mod background;
mod constraints;
mod strength;
mod wording;

use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Guidance, Intervention, Issue, Reads, Response, Setting, Settings,
    Situation, Spec,
};
use portcullis_plugin::template::{Values, Wording, earlier};
use strength::Strength;

const SPECS: &[Spec] = &[
    Spec::text(
        "strength",
        "auto",
        "how much is said: light, medium, strong, or auto by severity and escalation",
    ),
    Spec::text(
        "include_examples",
        "auto",
        "whether examples of right and wrong are given: yes, no, or auto with strong alone",
    ),
    Spec::texts(
        "constraints",
        &[],
        "your own constraints; one that begins with an issue's name and a colon is for that issue alone",
    ),
    Wording::SETTING,
];

/// The intervention.
#[derive(Debug)]
pub struct ContextReinforcement;

impl Intervention for ContextReinforcement {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "context-reinforcement",
        env!("CARGO_PKG_VERSION"),
        "Puts the request, its constraints and its boundaries before the agent once more.",
    )
    .reads(&[Reads::Issue, Reads::Context])
    .settings(SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let prepared = wording::REMINDER.prepare(SPECS, settings)?;
        let settings = Settings::read(&prepared)?;
        strength::fixed(&settings)?;
        strength::gives_examples(&settings, Strength::Light)?;
        Ok(prepared)
    }

    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        let strength =
            strength::fixed(&settings)?.unwrap_or_else(|| strength::of(issue, situation));
        let mut values = Values::of(issue, situation, context);
        let given = situation.past_of("context-reinforcement", &issue.name).count();
        values.set("earlier", earlier(given, "reminder").as_deref());
        values.set("strength", Some(strength.as_str()));
        values.set("closing", Some(strength.closing()));
        let facts = background::of(strength, &settings, issue, context, &values)?;
        let mut guidance = Guidance::saying(
            wording::REMINDER.message(&settings, issue, situation, context, values)?,
        );
        guidance.background = facts;
        Ok(guidance.into())
    }
}

#[cfg(test)]
mod tests;
