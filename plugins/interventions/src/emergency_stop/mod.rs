//! The intervention `emergency-stop`: ends the session and gives the reason.
//!
//! The message is for the person and the agent; the report is for a person afterwards: root cause,
//! contributing factors, immediate steps, prevention, and changes to the configuration. All of it
//! is made from the issue, the session's totals and its newest actions; unknown details are left
//! out, never invented. The host saves the incident, notifies people and offers ways to resume.
//!
//! An operator's template replaces the message: `templates.ISSUE` among the settings, or
//! `emergency_stop.ISSUE` among the host's templates.

mod advice;
mod cause;

use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Intervention, Issue, Reads, Response, Setting, Settings, Situation,
    Spec, Stop, StopReport,
};
use portcullis_plugin::template::{Values, Wording, fill};
use portcullis_plugin::text::cut;

/// The host's limit for one text, in bytes.
const TEXT: usize = 4096;

/// The message's wording; a line that names something absent is left out.
const MESSAGE: &str = "\
This session was stopped, and nothing more will run in it.
Why: {summary}
Severity {severity}, confidence {confidence}; it began at step {first_step} and was stopped at step {step}.
About: {evidence.path}
Contacted: {evidence.host}
The command: `{command}`
So far: {so_far}.
The newest actions: {recent}
Agent: do not try to go on in another way. Tell the person what you were doing and what is unfinished.";

const WORDING: Wording = Wording {
    kind: "emergency_stop",
    prefix: "emergency_stop.",
    texts: &[],
    default: MESSAGE,
    extra: &["so_far"],
};

const SPECS: &[Spec] = &[Wording::SETTING];

/// The intervention.
#[derive(Debug)]
pub struct EmergencyStop;

impl Intervention for EmergencyStop {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "emergency-stop",
        env!("CARGO_PKG_VERSION"),
        "Ends the session with a report for the person.",
    )
    .reads(&[Reads::Issue, Reads::Context])
    .settings(SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        WORDING.prepare(SPECS, settings)
    }

    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        let mut values = Values::of(issue, situation, context);
        values.set("so_far", so_far(situation).as_deref());
        let report = StopReport {
            root_cause: cut(&cause::root(issue, &values)?, TEXT),
            contributing_factors: cause::contributing(issue, situation, context),
            immediate: advice::immediate(issue, situation, &values)?,
            preventive: advice::preventive(issue, &values)?,
            configuration: advice::configuration(issue, &values)?,
        };
        Ok(Stop { message: WORDING.message(&settings, issue, situation, context, values)?, report }
            .into())
    }
}

/// Returns the actions and the use of the session so far.
fn so_far(situation: &Situation) -> Option<String> {
    let totals = &situation.totals;
    let seconds = totals.duration_ms / 1000;
    let parts: Vec<String> = [
        (totals.steps, "steps"),
        (totals.files, "files written or deleted"),
        (totals.failed, "failed"),
        (totals.blocked, "blocked"),
        (totals.tokens, "tokens"),
        (totals.bytes, "bytes"),
        (seconds, "seconds"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Fills a template of which each line is one item.
fn items(name: &str, template: &str, values: &Values) -> Result<Vec<String>, Error> {
    Ok(fill(name, template, values)?.lines().map(|line| cut(line, TEXT)).collect())
}

#[cfg(test)]
mod tests;
