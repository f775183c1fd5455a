//! The circuit breaker between the journal, the rules and the plugins: reads what is known of plugins that
//! failed, says which are held, and takes down what a review adds to it.
//!
//! Only hooks do this. Replays and trials run every plugin, and hold nobody's failure against it.

use portcullis_core::action::Timestamp;
use portcullis_core::breaker::{Breaker, BreakerPolicy, Change, Waits};
use portcullis_core::event::Event;
use portcullis_core::record::{Record, RecordKind};
use portcullis_engine::{Asked, Description, Hold};
use portcullis_store::{BreakerChange, Breakers};

/// The subject of records that tell of a plugin that is held, and of its release.
pub const SUBJECT: &str = "breaker";

/// What one review learned.
#[derive(Debug, Default)]
pub struct Learned {
    /// For the commit.
    pub changes: Vec<BreakerChange>,
    /// For the journal, one for each plugin that is held from now on, or no longer.
    pub records: Vec<Record>,
}

/// A plugin that is held.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub breaker: Breaker,
    /// What it waits for.
    pub waits: Waits,
}

impl Held {
    /// The plugin is there, and its file is still the one that failed.
    pub fn is_of(&self, description: &Description) -> bool {
        let digest = description.inspection.as_ref().ok().map(|inspection| inspection.digest.as_str());
        self.name == description.name && digest == Some(self.breaker.digest.as_str())
    }
}

/// The plugins that are held at `now`, whatever their files are by now.
pub fn held(known: &Breakers, now: Timestamp) -> Vec<Held> {
    let one = |(name, document): (&String, &String)| {
        let breaker = read(document)?;
        let waits = breaker.holds(&breaker.digest, now)?;
        Some(Held { name: name.clone(), breaker, waits })
    };
    known.iter().filter_map(one).collect()
}

/// The same for the engine.
pub fn holds(known: &Breakers, now: Timestamp) -> Vec<Hold> {
    let hold = |held: Held| Hold { why: held.breaker.why(&held.name, held.waits), digest: held.breaker.digest, name: held.name };
    held(known, now).into_iter().map(hold).collect()
}

/// What the plugins that a review ran add to what is known.
pub fn learn(known: &Breakers, asked: &[Asked], event: &Event, now: Timestamp, policy: &BreakerPolicy) -> Learned {
    let mut learned = Learned::default();
    // A file that could not be read failed before it ran.
    for asked in asked.iter().filter(|asked| !asked.digest.is_empty()) {
        let before = known.get(&asked.name);
        let (after, change) = Breaker::after(before.and_then(|text| read(text)).as_ref(), &asked.digest, asked.fault.as_ref(), now, policy);
        let document = after.as_ref().and_then(|breaker| serde_json::to_string(breaker).ok());
        if let Some(change) = change {
            learned.records.push(record(asked, after.as_ref(), change, event, now));
        }
        if before != document.as_ref() {
            learned.changes.push(BreakerChange { plugin: asked.name.clone(), before: before.cloned(), after: document });
        }
    }
    learned
}

/// Of another version's layout nothing is known: the plugin runs.
fn read(document: &str) -> Option<Breaker> {
    serde_json::from_str(document).ok()
}

fn record(asked: &Asked, after: Option<&Breaker>, change: Change, event: &Event, now: Timestamp) -> Record {
    let name = &asked.name;
    let told = after.map(Breaker::told).unwrap_or_default();
    let summary = match (change, after.and_then(|breaker| breaker.waits)) {
        (Change::Held, Some(Waits::Until(time))) => format!("`{name}` is not run for {} s, since {told}", time.saturating_sub(now) / 1000),
        (Change::Held | Change::Quarantined, _) => format!("`{name}` is in quarantine, since {told}"),
        (Change::Resumed, _) => format!("`{name}` was tried once more, and answered"),
    };
    let seed = format!("{}\0{}\0{name}", event.client, event.session);
    let mut record = Record { session: event.session.clone(), ..Record::apart(RecordKind::Fault, SUBJECT, &summary, now, &seed) };
    record.faults.extend(asked.fault.clone());
    record.details.insert("plugin".into(), name.as_str().into());
    record.details.insert("digest".into(), asked.digest.as_str().into());
    record.details.insert("change".into(), change.as_str().into());
    if let Some(Waits::Until(time)) = after.and_then(|breaker| breaker.waits) {
        record.details.insert("until".into(), time.into());
    }
    record
}
