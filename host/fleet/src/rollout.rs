//! The plan of a rollout: the stages in which a version of orders reaches the machines of a group.
//!
//! ```text
//! shadow:1h,10:1h,50:2h,100
//! ```
//!
//! A stage is a share in percent and the time that it lasts at least. The first one may be a shadow
//! stage, in which machines only report how their verdicts would differ; `shadow/25` limits it to a
//! share. The last one needs no time: with one, its machines are watched for so long.

use crate::hub_command::parse_time;
use std::fmt;
use std::time::Duration;

/// The most stages of a plan.
const MOST_STAGES: usize = 10;
/// The word of a shadow stage.
const SHADOW: &str = "shadow";

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutStage {
    /// True if the orders do not count on its machines, which review beside them.
    pub is_shadow: bool,
    /// The part of the group's machines, in percent.
    pub percent: u8,
    /// The least time that it lasts; none for a last stage that nobody watches.
    pub time: Option<Duration>,
}

/// The stages in their order; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutPlan(Vec<RolloutStage>);

impl RolloutPlan {
    /// Parses a plan.
    ///
    /// # Errors
    /// Fails with the reason in one line.
    pub fn parse_plan(text: &str) -> Result<Self, String> {
        let stages: Vec<RolloutStage> =
            text.split(',').map(parse_stage).collect::<Result<_, _>>()?;
        if stages.len() > MOST_STAGES {
            return Err(format!("a rollout has at most {MOST_STAGES} stages"));
        }
        if stages.iter().skip(1).any(|stage| stage.is_shadow) {
            return Err("only the first stage can be `shadow`".into());
        }
        let (last, others) = stages.split_last().ok_or("a rollout has at least one stage")?;
        if last.is_shadow {
            return Err("a share has to follow after `shadow`".into());
        }
        if others.iter().any(|stage| stage.time.is_none()) {
            return Err("each stage but the last needs a time, as in `10:1h`".into());
        }
        let shares: Vec<u8> =
            stages.iter().filter(|stage| !stage.is_shadow).map(|stage| stage.percent).collect();
        if !shares.is_sorted_by(|one, next| one < next) {
            return Err("each share has to be greater than the one before it".into());
        }
        Ok(Self(stages))
    }

    /// Returns the stages.
    #[must_use]
    pub fn stages(&self) -> &[RolloutStage] {
        &self.0
    }
}

impl fmt::Display for RolloutPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&stages.join(","))
    }
}

impl fmt::Display for RolloutStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_shadow, percent, time } = self;
        match (is_shadow, percent) {
            (true, 100) => f.write_str(SHADOW)?,
            (true, percent) => write!(f, "{SHADOW}/{percent}")?,
            (false, percent) => write!(f, "{percent}")?,
        }
        let Some(seconds) = time.map(|time| time.as_secs()) else { return Ok(()) };
        let units = [(24 * 60 * 60, 'd'), (60 * 60, 'h'), (60, 'm')];
        match units.into_iter().find(|(unit, _)| seconds % unit == 0) {
            Some((unit, letter)) => write!(f, ":{}{letter}", seconds / unit),
            None => write!(f, ":{seconds}s"),
        }
    }
}

fn parse_stage(text: &str) -> Result<RolloutStage, String> {
    let (share, time) = match text.split_once(':') {
        Some((share, time)) => (share, Some(parse_time(time)?)),
        None => (text, None),
    };
    let (is_shadow, percent) = match share.strip_prefix(SHADOW) {
        Some("") => (true, "100"),
        Some(rest) => (true, rest.strip_prefix('/').unwrap_or_default()),
        None => (false, share),
    };
    let percent = percent.parse().ok().filter(|percent| (1..=100).contains(percent));
    let wrong = || "a stage is `shadow` or a share from 1 to 100, as in `shadow:1h,10:1h,100`";
    let percent: u8 = percent.ok_or_else(wrong)?;
    Ok(RolloutStage { is_shadow, percent, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_growing_shares() {
        for (text, shown) in [
            ("shadow:1h,10:1h,50:2h,100", Ok("shadow:1h,10:1h,50:2h,100")),
            ("shadow/25:90m,100:1d", Ok("shadow/25:90m,100:1d")),
            ("shadow/100:60s,5:61s,6", Ok("shadow:1m,5:61s,6")),
            ("100", Ok("100")),
            ("", Err("a stage is")),
            ("0:1h,100", Err("a stage is")),
            ("101", Err("a stage is")),
            ("shadows:1h,100", Err("a stage is")),
            ("shadow/0:1h,100", Err("a stage is")),
            ("10:1h,shadow:1h,100", Err("only the first")),
            ("shadow:1h", Err("has to follow")),
            ("shadow,10:1h,100", Err("needs a time")),
            ("10,100", Err("needs a time")),
            ("10:1h,10", Err("greater")),
            ("50:1h,10:1h", Err("greater")),
            ("10:1", Err("a time is")),
            ("1:1s,2:1s,3:1s,4:1s,5:1s,6:1s,7:1s,8:1s,9:1s,10:1s,11", Err("at most 10")),
        ] {
            let found = RolloutPlan::parse_plan(text);
            match (found, shown) {
                (Ok(plan), Ok(shown)) => assert_eq!(plan.to_string(), shown),
                (Err(error), Err(said)) => assert!(error.contains(said), "{text}: {error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
