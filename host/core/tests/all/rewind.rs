//! A session after files went back to a checkpoint: its limits, and the effects that remain.

use portcullis_core::action::{Effect, EffectKind, Facts, Limit, Quantity};
use portcullis_core::policy::LimitPolicy;
use portcullis_core::record::RecordedRestore;
use portcullis_core::recover::{Recovery, RecoveryOutcome};
use portcullis_core::session::{ResumeConditions, Session};

/// Something that happens at a step, or to the session.
enum Event {
    /// An intervention tightens the writes and deletions to so many.
    Tighten(u64),
    /// Calm steps give the configured limits back.
    Calm,
    /// A person resumes the session after a stop, with halved limits.
    Resume,
}

fn session() -> Session {
    let mut session = Session::default();
    session.touch_at(1, "/home/me/shop", &LimitPolicy::default());
    session
}

fn files(maximum: u64) -> Limit {
    Limit { quantity: Quantity::FileOperations, maximum, used: 0 }
}

/// Returns the limit of writes and deletions after the events, and after going back to a step.
fn limits_after(events: &[(u64, Event)], back: u64) -> [Option<u64>; 2] {
    let mut session = session();
    for (step, event) in events {
        match event {
            Event::Tighten(maximum) => session.tighten_limits_at(*step, &[files(*maximum)]),
            Event::Calm => (0..20).for_each(|_| drop(session.note_calm_step(*step, false))),
            Event::Resume => {
                let issue = portcullis_core::finding::Issue {
                    name: "loop".into(),
                    severity: portcullis_core::score::Severity::High,
                    confidence: portcullis_core::score::Score::MAX,
                    impact: portcullis_core::score::Score::MAX,
                    first_step: 1,
                    summary: "so".into(),
                    evidence: Vec::new(),
                    recurrences: 0,
                };
                session.stop_for(&issue, "i");
                let terms = ResumeConditions::Limited;
                session.decide_incident("i", terms, "", &LimitPolicy::default()).unwrap();
            }
        }
    }
    session.use_files(7);
    let before = session.limit_for(&Quantity::FileOperations);
    session.return_to(back);
    assert!(session.limits.iter().all(|limit| limit.used == 0), "the count restarts");
    [before, session.limit_for(&Quantity::FileOperations)]
}

/// The events by step, the step of the checkpoint, the limit before and after.
type Case = (&'static [(u64, Event)], u64, u64, u64);

#[test]
fn limits_are_those_of_the_checkpoint() {
    use Event::{Calm, Resume, Tighten};
    let cases: &[Case] = &[
        (&[], 3, 100, 100),
        (&[(5, Tighten(70))], 3, 70, 100),
        (&[(5, Tighten(70))], 5, 70, 100),
        (&[(5, Tighten(70))], 6, 70, 70),
        (&[(5, Tighten(70)), (9, Tighten(35))], 7, 35, 70),
        (&[(5, Tighten(70)), (9, Tighten(35))], 2, 35, 100),
        (&[(5, Tighten(70)), (30, Calm)], 7, 100, 70),
        (&[(5, Tighten(70)), (30, Calm)], 31, 100, 100),
        // Nothing goes back behind a person's decision.
        (&[(5, Tighten(70)), (9, Resume)], 2, 35, 35),
        (&[(9, Resume), (12, Tighten(20))], 2, 20, 50),
    ];
    for (index, (events, back, before, after)) in cases.iter().enumerate() {
        assert_eq!(limits_after(events, *back), [Some(*before), Some(*after)], "case {index}");
    }
}

/// The agent and the person are told which steps went back, what is still done, and the limits.
#[test]
fn the_reply_says_what_went_back_and_what_did_not() {
    let recovery = Recovery {
        outcome: RecoveryOutcome::Restore,
        agent: Vec::new(),
        person: Vec::new(),
        stop: None,
        hold: Some("a person decides".into()),
    };
    let restored = RecordedRestore {
        paths: 1,
        first: vec!["/home/me/shop/a.txt".into()],
        steps: Some((3, 9)),
        still_done: (0..10).map(|step| format!("step {step}, `git push` (published)")).collect(),
        limits: vec!["100 writes and deletions (70 before)".into()],
        ..RecordedRestore::default()
    };
    let noted = recovery.note_restored(&restored);
    assert_eq!(noted.hold, None);
    let (agent, person) = (noted.agent.join("\n"), noted.person.join("\n"));
    for said in [
        "`/home/me/shop/a.txt`",
        "no file holds it: step 0, `git push` (published); step 1",
        "; and 2 more",
        "the limits are those of the checkpoint again: 100 writes and deletions (70 before)",
    ] {
        assert!(agent.contains(said) && person.contains(said), "{said}: {agent}\n{person}");
    }
    assert!(agent.contains("what the steps from 3 to 9 did to files is undone"), "{agent}");
    assert!(agent.contains("do not simply do it again") && !person.contains("do it again"));
}

#[test]
fn what_no_file_holds_is_still_done() {
    let effect = |kind: &EffectKind| Effect {
        kind: kind.clone(),
        target: String::new(),
        path: None,
        command: None,
        recursive: false,
        certain: true,
    };
    let mut session = session();
    for (step, action, kinds) in [
        (1, "curl https://example.org", &[EffectKind::Network][..]),
        (2, "sed -i s/a/b/ a.txt", &[EffectKind::FileModify]),
        (
            3,
            "npm install x",
            &[EffectKind::Network, EffectKind::FileCreate, EffectKind::UnseenCode],
        ),
        (4, "server &", &[EffectKind::ProcessStart]),
        (5, "git push", &[EffectKind::Network, EffectKind::Publish]),
    ] {
        let facts = Facts { effects: kinds.iter().map(effect).collect(), ..Facts::nothing() };
        session.note_lasting(step, action, &facts);
    }
    let listed = |since: u64| -> Vec<String> {
        session.list_lasting(since).iter().map(|one| one.describe_action()).collect()
    };
    assert_eq!(
        listed(2),
        [
            "step 5, `git push` (published, used the network)",
            "step 3, `npm install x` (ran code from elsewhere, used the network)",
            "step 4, `server &` (started a program)",
        ]
    );
    assert_eq!(listed(1).len(), 4);
    assert_eq!(listed(6), Vec::<String>::new());
}
