//! The intervention `checkpoint-rollback`: restores the files as they were before the issue.
//!
//! It names the newest safe checkpoint from before the issue began, and gives the problem, a
//! suggestion, and the context of the work, which the agent begins again from there; if none is
//! safe, it makes a plan for a person. `choice` defines a safe checkpoint. The host decides if
//! files are restored at once or by a person, restores them, and says so.

mod choice;
mod config;
mod plan;
mod wording;

use crate::context_reinforcement::background;
use choice::Choice;
use portcullis_plugin::host;
use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Guidance, Intervention, Issue, Reads, Response, Rollback, Setting,
    Settings, Situation,
};
use portcullis_plugin::template::{Values, earlier};

/// The intervention.
#[derive(Debug)]
pub struct CheckpointRollback;

impl Intervention for CheckpointRollback {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "checkpoint-rollback",
        env!("CARGO_PKG_VERSION"),
        "Goes back to the files as they were before it went wrong, or plans how a person can.",
    )
    .reads(&[Reads::Issue, Reads::Context, Reads::History])
    .settings(config::SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        wording::ROLLBACK.prepare(config::SPECS, settings)
    }

    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        let config = config::Config::read(&settings)?;
        let mut values = Values::of(issue, situation, context);
        let given = situation.past_of("checkpoint-rollback", &issue.name).count();
        values.set("earlier", earlier(given, "answer").as_deref());
        let message = |names: &[&str], values| {
            let text = wording::ROLLBACK.parts(&settings, names, situation, values)?;
            Ok::<_, Error>(wording::ROLLBACK.headed(issue, context, &text))
        };
        match choice::of(&config, issue, situation, context, &host::detail) {
            Choice::Safe(checkpoint) => {
                wording::describe(&mut values, checkpoint, situation);
                let background = background::of_restart(issue, context, &values)?;
                let mut guidance =
                    Guidance::saying(message(&["rollback", &issue.name, "conversation"], values)?);
                guidance.background = background;
                Ok(Response::Rollback(Rollback { checkpoint: checkpoint.id.clone(), guidance }))
            }
            Choice::None(refused) => {
                let steps = plan::steps(issue, &refused, &values)?;
                values.set("none_safe", Some(&plan::none_safe(&refused)));
                Ok(portcullis_plugin::intervention::Plan {
                    reason: message(&["plan"], values)?,
                    steps,
                }
                .into())
            }
        }
    }
}

#[cfg(test)]
mod tests;
