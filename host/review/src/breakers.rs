//! Connects the circuit breakers with the journal, the rules and the plugins: reads the state of
//! plugins that failed, reports which are held, and collects the changes that a review makes to
//! that state.
//!
//! Only hooks do this. Replays and trials run every plugin and hold no failure against it.

use portcullis_core::action::Timestamp;
use portcullis_core::breaker::{Breaker, BreakerPolicy, BreakerTransition, ReleaseCondition};
use portcullis_core::event::Event;
use portcullis_core::record::{Record, RecordKind};
use portcullis_engine::{Description, FileOutcome, Hold};
use portcullis_store::{BreakerChange, Breakers};

/// The subject of the records that report that a plugin was held or released.
pub const SUBJECT: &str = "breaker";

/// The breaker changes that one review caused.
#[derive(Debug, Default)]
pub struct BreakerUpdate {
    /// The changes to commit.
    pub changes: Vec<BreakerChange>,
    /// The records for the journal: one for each plugin that is now held, or no longer held.
    pub records: Vec<Record>,
}

/// A plugin that is held.
#[derive(Clone, Debug)]
pub struct HeldPlugin {
    /// Its name.
    pub name: String,
    /// Its breaker's state.
    pub breaker: Breaker,
    /// The condition for its release.
    pub waits: ReleaseCondition,
}

impl HeldPlugin {
    /// Returns true if the plugin is loaded and its file is still the one that failed.
    pub fn is_of(&self, description: &Description) -> bool {
        let digest =
            description.inspection.as_ref().ok().map(|inspection| inspection.digest.as_str());
        self.name == description.name && digest == Some(self.breaker.digest.as_str())
    }
}

/// Returns the plugins that are held at `now`, even if their files have changed since.
pub fn held_plugins(known: &Breakers, now: Timestamp) -> Vec<HeldPlugin> {
    let one = |(name, document): (&String, &String)| {
        let breaker = read(document)?;
        let waits = breaker.held_until(&breaker.digest, now)?;
        Some(HeldPlugin { name: name.clone(), breaker, waits })
    };
    known.iter().filter_map(one).collect()
}

/// Returns the held plugins in the form that the engine takes.
pub fn engine_holds(known: &Breakers, now: Timestamp) -> Vec<Hold> {
    let hold = |held: HeldPlugin| Hold {
        why: held.breaker.explain_hold(&held.name, held.waits),
        digest: held.breaker.digest,
        name: held.name,
    };
    held_plugins(known, now).into_iter().map(hold).collect()
}

/// Returns the changes that one review's plugin runs make to the known state.
pub fn learn_outcomes(
    known: &Breakers,
    asked: &[FileOutcome],
    event: &Event,
    now: Timestamp,
    policy: &BreakerPolicy,
) -> BreakerUpdate {
    let mut learned = BreakerUpdate::default();
    // A file that could not be read failed before it ran.
    for asked in asked.iter().filter(|asked| !asked.digest.is_empty()) {
        let before = known.get(&asked.name);
        let (after, change) = Breaker::after_call(
            before.and_then(|text| read(text)).as_ref(),
            &asked.digest,
            asked.fault.as_ref(),
            now,
            policy,
        );
        let document = after.as_ref().and_then(|breaker| serde_json::to_string(breaker).ok());
        if let Some(change) = change {
            learned.records.push(record(asked, after.as_ref(), change, event, now));
        }
        if before != document.as_ref() {
            learned.changes.push(BreakerChange {
                plugin: asked.name.clone(),
                before: before.cloned(),
                after: document,
            });
        }
    }
    learned
}

/// Reads a breaker. Another version's layout is treated as unknown, so the plugin runs.
fn read(document: &str) -> Option<Breaker> {
    serde_json::from_str(document).ok()
}

fn record(
    asked: &FileOutcome,
    after: Option<&Breaker>,
    change: BreakerTransition,
    event: &Event,
    now: Timestamp,
) -> Record {
    let name = &asked.name;
    let failures = after.map(Breaker::describe_failures).unwrap_or_default();
    let summary = match (change, after.and_then(|breaker| breaker.waits)) {
        (BreakerTransition::Held, Some(ReleaseCondition::Until(time))) => {
            format!(
                "`{name}` is not run for {} s, since {failures}",
                time.saturating_sub(now) / 1000
            )
        }
        (BreakerTransition::Held | BreakerTransition::Quarantined, _) => {
            format!("`{name}` is in quarantine, since {failures}")
        }
        (BreakerTransition::Resumed, _) => format!("`{name}` was tried once more, and answered"),
    };
    let seed = format!("{}\0{}\0{name}", event.client, event.session);
    let mut record = Record {
        session: event.session.clone(),
        ..Record::outside_session(RecordKind::Fault, SUBJECT, &summary, now, &seed)
    };
    record.faults.extend(asked.fault.clone());
    record.details.insert("plugin".into(), name.as_str().into());
    record.details.insert("digest".into(), asked.digest.as_str().into());
    record.details.insert("change".into(), change.as_str().into());
    if let Some(ReleaseCondition::Until(time)) = after.and_then(|breaker| breaker.waits) {
        record.details.insert("until".into(), time.into());
    }
    record
}
