//! A session that a person resumed after a stop: the verdicts on its next actions, in any process.

use crate::harness::{World, detection, detects};
use portcullis_core::action::{Coverage, Effect, EffectKind, Facts};
use portcullis_core::policy::LimitPolicy;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::session::{ResumeConditions, State};
use portcullis_core::terms::{find_demand, is_read_only};

fn facts(kinds: &[EffectKind], coverage: Coverage) -> Facts {
    let effect = |kind: &EffectKind| Effect {
        kind: kind.clone(),
        target: "x".into(),
        path: None,
        command: None,
        recursive: false,
        certain: true,
    };
    Facts { effects: kinds.iter().map(effect).collect(), coverage, ..Facts::nothing() }
}

#[test]
fn each_terms_demand_by_effect() {
    use EffectKind as E;
    for (kinds, coverage, limited, supervised) in [
        (&[][..], Coverage::Full, false, false),
        (&[E::FileRead], Coverage::Full, false, false),
        (&[E::FileRead], Coverage::Partial, true, true),
        (&[E::FileRead, E::FileCreate], Coverage::Full, false, true),
        (&[E::FileModify], Coverage::Full, false, true),
        (&[E::FileDelete], Coverage::Full, true, true),
        (&[E::Discard], Coverage::Full, true, true),
        (&[E::Network], Coverage::Full, true, true),
        (&[E::FileRead, E::Send], Coverage::Full, true, true),
        (&[E::ProcessStart], Coverage::Full, true, true),
        (&[E::ProcessStop], Coverage::Full, true, true),
        (&[E::SecretRead], Coverage::Full, true, true),
        (&[E::Privilege], Coverage::Full, true, true),
        (&[E::Other("new".into())], Coverage::Full, true, true),
    ] {
        let facts = facts(kinds, coverage);
        let verdict = |terms| find_demand(terms, &facts).map(|demand| demand.verdict);
        assert_eq!(
            verdict(ResumeConditions::Limited),
            limited.then_some(Verdict::Block),
            "{kinds:?}"
        );
        assert_eq!(
            verdict(ResumeConditions::Supervised),
            supervised.then_some(Verdict::Ask),
            "{kinds:?}"
        );
        assert_eq!(is_read_only(&facts), !supervised, "{kinds:?}");
        for terms in
            [ResumeConditions::RolledBack, ResumeConditions::Aborted, ResumeConditions::Lifted]
        {
            assert_eq!(verdict(terms), None, "{kinds:?}");
        }
    }
}

/// Stops a session by a pattern that keeps detecting the same thing.
fn stopped() -> World {
    let mut world = World::default();
    world.plugins.detect =
        detects("make it", vec![detection("secret_egress", Severity::Critical, 1000, 1000)]);
    assert_eq!(world.bash("make it", "t1").effect(), "stop");
    world
}

fn decide(world: &mut World, terms: ResumeConditions) -> Result<(), String> {
    let mut state: State = world.state();
    let incident = state.session.stop.as_ref().unwrap().incident.clone();
    let decided =
        state.session.decide_incident(&incident, terms, "a note", &LimitPolicy::default());
    world.session = Some(state.encode().unwrap().0);
    decided
}

#[test]
fn uncertain_writes_are_refused() {
    use EffectKind as E;
    for (kind, certain, refused) in [
        (E::FileRead, false, false),
        (E::FileModify, true, false),
        (E::FileModify, false, true),
        (E::FileCreate, false, true),
    ] {
        let mut facts = facts(std::slice::from_ref(&kind), Coverage::Full);
        facts.effects[0].certain = certain;
        let demand = find_demand(ResumeConditions::Limited, &facts);
        assert_eq!(demand.is_some(), refused, "{kind:?}, certain: {certain}");
        let named = demand.is_none_or(|demand| demand.reason.contains("is not fully known"));
        assert!(named, "{kind:?}, certain: {certain}");
    }
}

#[test]
fn decided_issues_do_not_stop_it_again() {
    for (terms, stops) in [
        (ResumeConditions::Limited, false),
        (ResumeConditions::Supervised, false),
        (ResumeConditions::RolledBack, true),
        (ResumeConditions::Aborted, true),
    ] {
        let mut world = stopped();
        decide(&mut world, terms).unwrap();
        assert_eq!(world.bash("make it", "t2").effect() == "stop", stops, "{terms}");
    }
}

#[test]
fn decisions_follow_from_one_another() {
    use ResumeConditions::{Aborted, Lifted, Limited, RolledBack, Supervised};
    for (steps, stopped_after) in [
        (&[(Limited, true), (Lifted, true), (Lifted, false)][..], false),
        (&[(Lifted, false)], true),
        (&[(Supervised, true), (Limited, true), (Lifted, true)], false),
        (&[(Aborted, true), (Lifted, false)], true),
        (&[(Aborted, true), (RolledBack, true)], false),
        (&[(RolledBack, true), (Lifted, false), (Aborted, true)], true),
    ] {
        let mut world = stopped();
        for (terms, goes) in steps {
            assert_eq!(decide(&mut world, *terms).is_ok(), *goes, "{steps:?} at {terms}");
        }
        assert_eq!(world.state().session.stopped.is_some(), stopped_after, "{steps:?}");
    }
    let mut session = stopped().state().session;
    let other =
        session.decide_incident("another", Limited, "", &LimitPolicy::default()).unwrap_err();
    assert!(other.contains("its newest incident is"), "{other}");
    session.stop = None;
    assert!(
        session
            .decide_incident("any", Limited, "", &LimitPolicy::default())
            .unwrap_err()
            .contains("not known")
    );
}

#[test]
fn limits_are_halved_and_given_back_and_the_note_is_shown_once() {
    let mut world = stopped();
    let before: Vec<u64> = world.state().session.limits.iter().map(|limit| limit.maximum).collect();
    decide(&mut world, ResumeConditions::Limited).unwrap();
    let limits = world.state().session.limits;
    assert!(
        limits
            .iter()
            .zip(&before)
            .all(|(limit, before)| limit.maximum == before / 2 && limit.used == 0),
        "{limits:?}"
    );
    let notes: Vec<usize> = (0..2)
        .map(|n| {
            world
                .bash("ls", &format!("n{n}"))
                .reply
                .agent
                .iter()
                .filter(|text| *text == "a note")
                .count()
        })
        .collect();
    assert_eq!(notes, [1, 0]);
    decide(&mut world, ResumeConditions::Lifted).unwrap();
    assert!(world.state().session.limits.iter().map(|limit| limit.maximum).eq(before));
}
