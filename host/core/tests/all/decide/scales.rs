//! The scales: scores that stay in range, names that stay the same, levels that begin where the
//! policy says.

use portcullis_core::fault::OnFault;
use portcullis_core::policy::{DecisionPolicy, Detail, Mode, RiskThresholds};
use portcullis_core::score::{RationalityLevel, RiskLevel, Score, Severity, Verdict};
use serde::Serialize;
use std::fmt;

#[test]
fn scores_stay_in_range() {
    for (given, cut, checked) in [
        (0, 0, Some(0)),
        (999, 999, Some(999)),
        (1000, 1000, Some(1000)),
        (1001, 1000, None),
        (u16::MAX, 1000, None),
    ] {
        assert_eq!(Score::new(given).get(), cut, "{given}");
        assert_eq!(Score::from_thousandths(given).map(Score::get), checked, "{given}");
    }
    assert_eq!((Score::ZERO.get(), Score::MAX.get()), (0, 1000));
}

#[test]
fn means_are_rounded_down_and_scores_shown_to_two_places() {
    for (scores, mean) in [
        (&[][..], None),
        (&[0], Some(0)),
        (&[1, 2], Some(1)),
        (&[500, 1000, 1000], Some(833)),
        (&[1000; 70], Some(1000)),
    ] {
        let scores: Vec<Score> = scores.iter().copied().map(Score::new).collect();
        assert_eq!(Score::mean_of(&scores).map(Score::get), mean, "{scores:?}");
    }
    for (score, shown) in [
        (0, "0.00"),
        (4, "0.00"),
        (5, "0.01"),
        (94, "0.09"),
        (100, "0.10"),
        (555, "0.56"),
        (994, "0.99"),
        (995, "1.00"),
        (1000, "1.00"),
    ] {
        assert_eq!(Score::new(score).to_string(), shown, "{score}");
    }
}

/// Records, settings and messages contain them.
#[test]
fn every_name_stays_as_it_is() {
    assert_eq!(names(Severity::ALL, Severity::as_str), ["low", "medium", "high", "critical"]);
    assert_eq!(names(Verdict::ALL, Verdict::as_str), ["allow", "warn", "modify", "ask", "block"]);
    assert_eq!(names(RiskLevel::ALL, RiskLevel::as_str), ["low", "medium", "high", "critical"]);
    assert_eq!(names(RationalityLevel::ALL, RationalityLevel::as_str), ["low", "medium", "high"]);
    assert_eq!(names(Mode::ALL, Mode::as_str), ["blocking", "async", "observe", "off"]);
    assert_eq!(names(Detail::ALL, Detail::as_str), ["debug", "info", "warn", "error"]);
    assert_eq!(names(OnFault::ALL, OnFault::as_str), ["warn", "ask", "block"]);
    assert_eq!(format!("[{:>6}]", Verdict::Ask), "[   ask]", "a column is a column");
}

fn names<T: Copy + fmt::Display + Serialize>(
    all: &[T],
    name: fn(T) -> &'static str,
) -> Vec<&'static str> {
    for value in all {
        let (shown, recorded) = (value.to_string(), serde_json::json!(value));
        assert!(
            shown == name(*value) && recorded == shown.as_str(),
            "{shown} is recorded as {recorded}"
        );
    }
    all.iter().copied().map(name).collect()
}

#[test]
fn levels_begin_where_the_policy_says() {
    let policy = DecisionPolicy::default();
    for (score, level, negligible) in [
        (0, RiskLevel::Low, true),
        (299, RiskLevel::Low, true),
        (300, RiskLevel::Low, false),
        (599, RiskLevel::Low, false),
        (600, RiskLevel::Medium, false),
        (800, RiskLevel::High, false),
        (950, RiskLevel::Critical, false),
    ] {
        let score = Score::new(score);
        assert_eq!(
            (policy.risk.level_of(score), policy.risk.is_negligible(score)),
            (level, negligible),
            "{score}"
        );
    }
    let odd = RiskThresholds {
        negligible: Score::new(700),
        critical: Score::new(500),
        ..RiskThresholds::default()
    };
    assert_eq!(
        odd.level_of(Score::new(500)),
        RiskLevel::Critical,
        "out of order they only make it stricter"
    );
    assert!(
        !odd.is_negligible(Score::new(650)) && odd.is_negligible(Score::new(499)),
        "what has a level is not negligible"
    );
    for (score, level) in [
        (None, RationalityLevel::High),
        (Some(800), RationalityLevel::High),
        (Some(799), RationalityLevel::Medium),
        (Some(500), RationalityLevel::Medium),
        (Some(499), RationalityLevel::Low),
    ] {
        assert_eq!(policy.rationality.level_of(score.map(Score::new)), level, "{score:?}");
    }
}
