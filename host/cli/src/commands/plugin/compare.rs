//! `portcullis plugin compare`: shows what plugins in shadow mode would have made of past actions,
//! compared with the actual decisions. It reads the journal and reviews nothing;
//! `replay --plugin FILE --shadow` does.

use crate::commands::audit;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use crate::verdict_matrix::VerdictMatrix;
use portcullis_core::record::{Record, RecordedShadow};
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_store::Filter;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;

/// The most examples of actions on which it would have been stricter.
const EXAMPLES: usize = 5;

#[derive(clap::Args)]
pub struct Arguments {
    /// Show this plugin only
    name: Option<String>,
    /// Look back this far, for example 30d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = portcullis_config::duration::parse_milliseconds)]
    since: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_compare(arguments: &Arguments) -> Result<CommandExit> {
    let mut comparison = Comparison::default();
    let mut problem = None;
    let filter = Filter {
        since: Some(portcullis_config::clock::now_ms().saturating_sub(arguments.since)),
        newest_first: true,
        ..Filter::default()
    };
    audit::open_store()?.query_records(&filter, |stored| {
        match serde_json::from_str::<Record>(&stored.record.document) {
            Ok(record) if record.session.starts_with(CANARY_SESSION) => {}
            Ok(record) => comparison.add_record(&record, arguments.name.as_deref()),
            Err(error) => {
                problem =
                    Some(Error::from(error).with_context(format!("record {}", stored.sequence)));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    problem.map_or(Ok(()), Err)?;
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            serde_json::to_string(&comparison).context("cannot write the comparison")?
        ));
    } else if comparison.is_empty() {
        let who = arguments.name.as_deref().map_or_else(
            || "no plugin".to_owned(),
            |name| format!("`{}` never", one_line(name, 64)),
        );
        paint::print_text(&format!(
            "{who} ran in shadow mode in that time; `[plugins.NAME]` with `shadow = true` turns it on\n"
        ));
    } else {
        paint::print_text(&comparison.text());
    }
    Ok(CommandExit::Success)
}

/// The verdicts that each plugin in shadow mode would have led to. A plugin whose bytes changed is
/// a different one.
#[derive(Debug, Default, Serialize)]
pub struct Comparison {
    plugins: Vec<ShadowCounts>,
}

#[derive(Debug, Default, Serialize)]
struct ShadowCounts {
    name: String,
    digest: String,
    /// Actions that were decided while it was in shadow mode.
    actions: u64,
    /// The number of these on which it would have been stricter.
    stricter: u64,
    /// Counts of the verdicts it would have changed.
    verdicts: VerdictMatrix,
    detections: BTreeMap<String, u64>,
    faults: BTreeMap<String, u64>,
    fuel: Fuel,
    examples: Vec<Example>,
}

/// The number of calls, by the fuel they used.
#[derive(Debug, Default)]
struct Fuel(BTreeMap<u64, u64>);

#[derive(Debug, Serialize)]
struct Example {
    review: String,
    at: u64,
    actual: Verdict,
    would: Verdict,
    summary: String,
    reason: String,
}

impl Comparison {
    /// Adds the shadow results of a record, or those of the plugin of that name.
    pub fn add_record(&mut self, record: &Record, name: Option<&str>) {
        for shadow in
            record.shadow.iter().filter(|shadow| name.is_none_or(|name| shadow.plugin.name == name))
        {
            let (name, digest) = (&shadow.plugin.name, &shadow.plugin.digest);
            let known = self
                .plugins
                .iter()
                .position(|known| (&known.name, &known.digest) == (name, digest));
            let at = known.unwrap_or_else(|| {
                self.plugins.push(ShadowCounts {
                    name: name.clone(),
                    digest: digest.clone(),
                    ..ShadowCounts::default()
                });
                self.plugins.len() - 1
            });
            if let Some(onlooker) = self.plugins.get_mut(at) {
                onlooker.add(record, shadow);
            }
        }
    }

    /// Returns true if no plugin was in shadow mode.
    pub fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// Formats the comparison for people.
    pub fn text(&self) -> String {
        self.plugins.iter().map(ShadowCounts::text).collect::<Vec<_>>().join("\n")
    }
}

impl ShadowCounts {
    fn add(&mut self, record: &Record, shadow: &RecordedShadow) {
        shadow
            .detections
            .iter()
            .for_each(|pattern| *self.detections.entry(pattern.clone()).or_default() += 1);
        shadow
            .faults
            .iter()
            .for_each(|fault| *self.faults.entry(fault.kind.as_str().to_owned()).or_default() += 1);
        *self.fuel.0.entry(shadow.plugin.fuel).or_default() += 1;
        let (Some(actual), Some(would)) = (shadow.actual, shadow.would) else { return };
        self.actions += 1;
        self.verdicts.add_pair(actual, would);
        if would <= actual {
            return;
        }
        self.stricter += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(Example {
                review: record.id.clone(),
                at: record.at,
                actual,
                would,
                summary: record.summary.clone(),
                reason: shadow.reason.clone().unwrap_or_default(),
            });
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} {}\n",
            paint::bold(one_line(&self.name, 64)),
            paint::dim(one_line(&self.digest, 16))
        );
        let same = self.actions.saturating_sub(self.stricter);
        let _ = writeln!(
            text,
            "  {}: it would have been stricter on {}, and changed nothing on {same}",
            count_noun(self.actions, "action"),
            self.stricter
        );
        text.push_str(&self.verdicts.to_text("was"));
        for (what, counts) in [("detected", &self.detections), ("faults", &self.faults)] {
            let parts: Vec<String> = counts
                .iter()
                .map(|(name, count)| format!("{} {count}", one_line(name, 64)))
                .collect();
            if !parts.is_empty() {
                let _ = writeln!(text, "  {what}: {}", parts.join(", "));
            }
        }
        let _ = writeln!(
            text,
            "  fuel of a call: median {}, most {}",
            self.fuel.median(),
            self.fuel.most()
        );
        for example in &self.examples {
            let (when, summary) =
                (paint::dim(paint::time(example.at)), one_line(&example.summary, 96));
            let _ = writeln!(
                text,
                "  {when} {}  {} -> {}  {summary}",
                paint::dim(&example.review),
                example.actual,
                example.would
            );
            let _ = writeln!(text, "      {}", paint::dim(one_line(&example.reason, 160)));
        }
        let _ = writeln!(
            text,
            "  to let it count: `shadow = false` in `[plugins.{}]`",
            one_line(&self.name, 64)
        );
        text
    }
}

impl Fuel {
    fn median(&self) -> u64 {
        let calls: u64 = self.0.values().sum();
        let mut before = 0;
        let reached = self.0.iter().find(|(_, count)| {
            before += **count;
            before * 2 >= calls
        });
        reached.map(|(fuel, _)| *fuel).unwrap_or_default()
    }

    fn most(&self) -> u64 {
        self.0.keys().next_back().copied().unwrap_or_default()
    }
}

impl Serialize for Fuel {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        BTreeMap::from([("median", self.median()), ("most", self.most())]).serialize(serializer)
    }
}
