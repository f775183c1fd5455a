//! Guidance that was silenced was not given: a session hears it before anything stricter follows.

use crate::harness::{World, detection, detects, rules, says_of};
use portcullis_core::policy::InterventionPolicy;
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Severity, Verdict};

const SOFT: &str = "soft_correction";
const CONTEXT: &str = "context_reinforcement";
const THROTTLE: &str = "resource_throttling";
const ROLLBACK: &str = "checkpoint_rollback";
const STOP: &str = "emergency_stop";
const MEDIUM: Severity = Severity::Medium;

/// Returns the answers in a session that fails at each of so many steps, a second apart, with the
/// number of the step. Each third step is found.
fn answers(
    steps: u64,
    patterns: &[(&str, Severity)],
    change: fn(&mut InterventionPolicy),
) -> Vec<(u64, String)> {
    let mut world = World::default();
    change(&mut world.policy.interventions);
    let found = patterns.iter().map(|(pattern, severity)| detection(pattern, *severity, 600, 150));
    world.plugins.detect = detects("noisy", found.collect());
    let mut given = Vec::new();
    for step in 1..=steps {
        let command = if step % 3 == 0 { "noisy" } else { "ls" };
        let sent = world.bash(command, &format!("t{step}"));
        let answers = sent.records.iter().filter(|record| record.kind == RecordKind::Intervention);
        given.extend(
            answers.map(|answer| (step, answer.intervention.as_ref().unwrap().kind.clone())),
        );
    }
    given
}

/// The steps, the patterns that are found, a change of the policy, and the answers by step.
type Case = (
    &'static str,
    u64,
    &'static [(&'static str, Severity)],
    fn(&mut InterventionPolicy),
    &'static [(u64, &'static str)],
);

#[test]
fn what_the_agent_did_not_hear_is_said_later() {
    let usual: fn(&mut InterventionPolicy) = |_| {};
    let cases: &[Case] = &[
        ("nine quick failures", 9, &[("loop", MEDIUM)], usual, &[(3, SOFT)]),
        (
            "forty quick failures",
            40,
            &[("loop", MEDIUM)],
            usual,
            &[(3, SOFT), (33, CONTEXT), (36, ROLLBACK), (39, ROLLBACK)],
        ),
        (
            "without a cooldown",
            9,
            &[("loop", MEDIUM)],
            |policy| policy.cooldown_ms = 0,
            &[(3, SOFT), (6, CONTEXT), (9, ROLLBACK)],
        ),
        (
            "more than the most",
            40,
            &[("loop", MEDIUM)],
            |policy| (policy.cooldown_ms, policy.most) = (0, 1),
            &[(3, SOFT)],
        ),
        (
            "more than the most, and the next answer is not guidance",
            9,
            &[("scope_creep", Severity::High)],
            |policy| (policy.cooldown_ms, policy.most) = (0, 1),
            &[(3, CONTEXT), (6, THROTTLE), (9, STOP)],
        ),
        (
            "more than the most, of what it never heard",
            40,
            &[("loop", Severity::High)],
            |policy| policy.most = 0,
            &[],
        ),
        (
            "more than the most, of what is critical",
            3,
            &[("loop", Severity::Critical)],
            |policy| policy.most = 0,
            &[(3, ROLLBACK)],
        ),
        (
            "guidance that is switched off is passed",
            9,
            &[("loop", MEDIUM)],
            |policy| {
                policy.cooldown_ms = 0;
                policy.disabled = vec![SOFT.into(), CONTEXT.into()];
            },
            &[(9, ROLLBACK)],
        ),
        (
            "a stricter answer to another issue",
            12,
            &[("loop", MEDIUM), ("resource_spiral", Severity::High)],
            |policy| policy.cooldown_ms = 0,
            &[(3, THROTTLE), (6, ROLLBACK), (9, STOP)],
        ),
    ];
    for (name, steps, patterns, change, expected) in cases {
        let given = answers(*steps, patterns, *change);
        let given: Vec<(u64, &str)> =
            given.iter().map(|(step, kind)| (*step, kind.as_str())).collect();
        assert_eq!(given, *expected, "{name}");
    }
}

#[test]
fn what_goes_against_a_block_does_not_wait() {
    for (verdict, expected) in [
        (Verdict::Block, &[(1, CONTEXT), (2, STOP)][..]),
        (Verdict::Ask, &[(1, CONTEXT), (4, STOP)]),
    ] {
        let mut world = World::default();
        world.plugins.assess = says_of("first", rules(verdict, Severity::High));
        world.bash("make first", "t0");
        world.plugins.detect =
            detects("again", vec![detection("blocked_then_bypassed", Severity::High, 800, 500)]);
        let mut given = Vec::new();
        for step in 1..6 {
            let sent = world.bash(&format!("make again {step}"), &format!("t{step}"));
            let done = sent.records.iter().find_map(|record| record.intervention.clone());
            given.extend(done.map(|done| (step, done.kind)));
        }
        let given: Vec<(u64, &str)> =
            given.iter().map(|(step, kind)| (*step, kind.as_str())).collect();
        assert_eq!(given, expected, "{verdict}");
    }
}
