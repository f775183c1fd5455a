//! Judges a rollout by counts: pure, and the only place that says what stops one.
//!
//! A rise counts if it is larger than the tolerated points, at least half again as much as before,
//! and beyond chance: the difference of the two shares is at least [`SCORE`] standard errors (the
//! test of two proportions with a pooled estimate). That is far stricter than one look would need,
//! since a replica looks again and again, and since the actions of one session resemble each other.

use crate::activity::ActivityCounts;

/// The least actions that are judged, on each side.
pub const LEAST_ACTIONS: i64 = 50;
/// The least standard errors between two shares.
const SCORE: f64 = 4.0;
/// The least factor between two shares.
const FACTOR: f64 = 1.5;
/// The least events that make a rise.
const LEAST_EVENTS: i64 = 5;
/// The rise of faults that is tolerated, in percent of the actions.
const FAULT_POINTS: u8 = 1;
/// The least faults of tried orders that stop a rollout.
const LEAST_FAULTS: i64 = 3;

/// The judgement of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Too few actions on one side.
    TooFew,
    /// Nothing speaks against going on.
    Fine,
    /// Something has risen, as the text says.
    Worse(String),
}

/// The results of the machines that only try a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TrialCounts {
    /// The actions that were reviewed under it too.
    pub actions: i64,
    /// Those with a stricter verdict.
    pub stricter: i64,
    /// Those with a milder one.
    pub milder: i64,
    /// Those whose second review had a fault.
    pub faults: i64,
}

/// Judges the machines that have a version: `own` under it, against the other machines and against
/// their own past. Where both have enough actions, both have to show the rise.
pub fn judge_share(
    own: ActivityCounts,
    others: ActivityCounts,
    past: ActivityCounts,
    tolerance: u8,
) -> Judgement {
    let references: Vec<(&str, ActivityCounts)> =
        [("on other machines", others), ("on these machines before", past)]
            .into_iter()
            .filter(|(_, counts)| counts.actions >= LEAST_ACTIONS)
            .collect();
    if own.actions < LEAST_ACTIONS || references.is_empty() {
        return Judgement::TooFew;
    }
    type Measure = (&'static str, fn(&ActivityCounts) -> i64, u8);
    let measures: [Measure; 2] = [
        ("faults", |counts| counts.faults, FAULT_POINTS),
        ("warnings, questions and refusals", |counts| counts.disturbed, tolerance),
    ];
    for (name, events, points) in measures {
        let has_risen = |reference: &ActivityCounts| {
            is_rise((events(&own), own.actions), (events(reference), reference.actions), points)
        };
        if references.iter().all(|(_, counts)| has_risen(counts)) {
            let compared: Vec<String> = references
                .iter()
                .map(|(where_, counts)| {
                    format!("{} {where_}", percent(events(counts), counts.actions))
                })
                .collect();
            return Judgement::Worse(format!(
                "{name} rose to {} of {} actions, from {}",
                percent(events(&own), own.actions),
                own.actions,
                compared.join(" and ")
            ));
        }
    }
    Judgement::Fine
}

/// Judges the machines that only try a version. Each action is compared with itself, so no chance
/// is between the two.
pub fn judge_trial(counts: TrialCounts, tolerance: u8) -> Judgement {
    let TrialCounts { actions, stricter, faults, .. } = counts;
    if actions < LEAST_ACTIONS {
        return Judgement::TooFew;
    }
    let exceeds = |events: i64, points: u8| share(events, actions) * 100.0 > f64::from(points);
    if faults >= LEAST_FAULTS && exceeds(faults, FAULT_POINTS) {
        return Judgement::Worse(format!(
            "{} of {actions} actions had a fault under the tried orders",
            percent(faults, actions)
        ));
    }
    if stricter >= LEAST_EVENTS && exceeds(stricter, tolerance) {
        return Judgement::Worse(format!(
            "{} of {actions} actions would have a stricter verdict",
            percent(stricter, actions)
        ));
    }
    Judgement::Fine
}

/// Returns true if events, of actions, have risen beyond chance and tolerance.
fn is_rise((events, actions): (i64, i64), (before, of): (i64, i64), points: u8) -> bool {
    let (own, reference) = (share(events, actions), share(before, of));
    let pooled = share(events + before, actions + of);
    // Several faults an action make a share beyond 1, which chance does not explain.
    let spread = (pooled * (1.0 - pooled)).max(0.0);
    let error = (spread * (1.0 / number(actions) + 1.0 / number(of))).sqrt();
    events >= LEAST_EVENTS
        && (own - reference) * 100.0 > f64::from(points)
        && own >= reference * FACTOR
        && own - reference >= SCORE * error
}

fn share(events: i64, actions: i64) -> f64 {
    number(events) / number(actions.max(1))
}

/// Converts a count; those that a float cannot hold exactly are beyond any journal.
fn number(count: i64) -> f64 {
    f64::from(i32::try_from(count).unwrap_or(i32::MAX))
}

fn percent(events: i64, actions: i64) -> String {
    format!("{:.1} %", share(events, actions) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(actions: i64, disturbed: i64, faults: i64) -> ActivityCounts {
        ActivityCounts { actions, disturbed, faults }
    }

    #[test]
    fn only_a_rise_beyond_chance_stops_a_share() {
        let none = ActivityCounts::default();
        // Own, others, past, tolerance, and the words of the reason; `-` for too few.
        let rows: &[(ActivityCounts, ActivityCounts, ActivityCounts, u8, &str)] = &[
            (counts(49, 49, 49), counts(500, 0, 0), counts(500, 0, 0), 2, "-"),
            (counts(500, 400, 0), counts(49, 0, 0), none, 2, "-"),
            (counts(500, 20, 0), counts(500, 20, 0), counts(500, 20, 0), 2, ""),
            (counts(100, 40, 0), counts(500, 20, 0), counts(500, 20, 0), 2, "rose to 40.0 %"),
            // One of two references rose as well: it is not the orders.
            (counts(100, 40, 0), counts(500, 200, 0), counts(500, 20, 0), 2, ""),
            (counts(100, 40, 0), counts(500, 20, 0), counts(500, 200, 0), 2, ""),
            (counts(100, 40, 0), counts(500, 20, 0), none, 2, "on other machines"),
            (counts(100, 40, 0), none, counts(500, 20, 0), 2, "on these machines before"),
            // Tolerated, less than half again as much, and within chance.
            (counts(100, 40, 0), counts(500, 20, 0), none, 40, ""),
            (counts(10_000, 4000, 0), counts(10_000, 3000, 0), none, 2, ""),
            (counts(60, 6, 0), counts(60, 2, 0), none, 2, ""),
            (counts(60, 4, 0), counts(100_000, 0, 0), none, 2, ""),
            (counts(100, 0, 20), counts(500, 0, 1), none, 2, "faults rose to 20.0 %"),
            (counts(1000, 0, 9), counts(100_000, 0, 0), none, 2, ""),
            (counts(50, 0, 500), counts(50, 0, 0), none, 2, "faults rose"),
        ];
        for (own, others, past, tolerance, expected) in rows {
            let found = judge_share(*own, *others, *past, *tolerance);
            let fits = match &found {
                Judgement::TooFew => *expected == "-",
                Judgement::Fine => expected.is_empty(),
                Judgement::Worse(why) => !expected.is_empty() && why.contains(expected),
            };
            assert!(fits, "{own:?} {others:?} {past:?}: {found:?}");
        }
    }

    #[test]
    fn a_trial_stops_for_faults_and_for_stricter_verdicts() {
        for (actions, stricter, milder, faults, tolerance, expected) in [
            (49, 49, 0, 49, 2, "-"),
            (50, 0, 50, 0, 2, ""),
            (50, 5, 0, 0, 2, "stricter"),
            (50, 4, 0, 0, 2, ""),
            (50, 5, 0, 0, 10, ""),
            (50, 0, 0, 3, 100, "fault"),
            (50, 0, 0, 2, 2, ""),
            (1000, 0, 0, 10, 2, ""),
        ] {
            let found = judge_trial(TrialCounts { actions, stricter, milder, faults }, tolerance);
            let fits = match &found {
                Judgement::TooFew => expected == "-",
                Judgement::Fine => expected.is_empty(),
                Judgement::Worse(why) => !expected.is_empty() && why.contains(expected),
            };
            assert!(fits, "{actions} {stricter} {faults}: {found:?}");
        }
    }
}
