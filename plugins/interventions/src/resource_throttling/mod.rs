//! The intervention `resource-throttling`: the session continues under tighter limits.
//!
//! Each configured limit is multiplied by a factor: for an issue whose evidence reports growth, the
//! factor for the growth of that very resource; for any other issue the factor for its severity,
//! for all of them. The batch size is halved. No limit is ever looser than the limit in force, and
//! none falls below 1. The message gives each limit with its old and its new value, and advice on
//! using less. Counting, warning and refusing are the host's part.

mod config;
mod growth;
mod limits;
mod wording;

use portcullis_plugin::intervention::{
    Context, Descriptor, Error, Guidance, Intervention, Issue, Reads, Response, Setting, Settings,
    Situation,
};
use portcullis_plugin::template::{Values, earlier};
use portcullis_plugin::types::Quantity;

/// The intervention.
#[derive(Debug)]
pub struct ResourceThrottling;

impl Intervention for ResourceThrottling {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "resource-throttling",
        env!("CARGO_PKG_VERSION"),
        "Lets the session go on under tighter limits.",
    )
    .reads(&[Reads::Issue, Reads::Context])
    .settings(config::SPECS);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let prepared = wording::THROTTLING.prepare(config::SPECS, settings)?;
        config::Config::read(&Settings::read(&prepared)?)?;
        Ok(prepared)
    }

    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error> {
        let settings = Settings::read(prepared)?;
        let config = config::Config::read(&settings)?;
        let grown = growth::of(issue);
        let changes = limits::of(&config, issue, context, &grown);
        let mut values = Values::of(issue, situation, context);
        let given = situation.past_of("resource-throttling", &issue.name).count();
        values.set("earlier", earlier(given, "tightening").as_deref());
        for (quantity, name) in wording::NAMES {
            let change = changes.iter().find(|change| change.limit.quantity == *quantity);
            values
                .set(&format!("new.{name}"), change.map(limits::Change::format_change).as_deref());
            let ratio = grown.iter().find(|growth| growth.quantity == *quantity);
            values
                .set(&format!("growth.{name}"), ratio.map(growth::Growth::format_ratio).as_deref());
        }
        let notice = if changes.is_empty() { "unchanged" } else { "notice" };
        let text = wording::THROTTLING.parts(
            &settings,
            &[&issue.name, notice, "efficiency"],
            situation,
            values,
        )?;
        let mut guidance = Guidance::saying(wording::THROTTLING.headed(issue, context, &text));
        guidance.limits = changes.into_iter().map(|change| change.limit).collect();
        Ok(guidance.into())
    }
}

/// The limited quantities, in the order in which they are reported.
const QUANTITIES: [Quantity; 5] = [
    Quantity::FileOperations,
    Quantity::Memory,
    Quantity::Tokens,
    Quantity::Time,
    Quantity::BatchSize,
];

#[cfg(test)]
mod tests;
