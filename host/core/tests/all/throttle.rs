//! Limits that an intervention has set are enforced against later actions, in any agent of the
//! session.

use crate::harness::{World, answer, by, detection, detects, post, pre, prompt};
use portcullis_core::action::{Effect, EffectKind, Facts, Limit, Quantity};
use portcullis_core::finding::{Guidance, Response};
use portcullis_core::limits::LimitUse;
use portcullis_core::policy::LimitPolicy;
use portcullis_core::review::Objection;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::throttle::{LimitState, is_tightened};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Starts a session in which an intervention sets these limits, once.
fn throttled(limits: &[(Quantity, u64)]) -> World {
    let mut world = World::default();
    world.plugins.detect =
        detects("noisy", vec![detection("resource_spiral", Severity::Medium, 900, 500)]);
    let limits: Vec<Limit> = limits
        .iter()
        .map(|(quantity, maximum)| Limit { quantity: quantity.clone(), maximum: *maximum, used: 0 })
        .collect();
    let response =
        Response::Guide(Guidance { messages: vec!["less".into()], limits, ..Guidance::default() });
    world.plugins.intervene = Box::new(move |name, _, _| Some(answer(name, Ok(response.clone()))));
    world.bash("noisy", "first");
    world
}

fn write(id: &str) -> Value {
    pre("Write", json!({ "file_path": format!("/home/me/shop/{id}.txt"), "content": "x" }), id)
}

/// Sends one call per letter: `w` writes a file, `W` does so in a subagent, `r` reads one, `b` runs
/// for 12 ms; `p` is a prompt.
fn verdicts(world: &mut World, letters: &str) -> String {
    let mut marks = String::new();
    for (index, letter) in letters.chars().enumerate() {
        let id = format!("c{index}");
        let sent = match letter {
            'w' => world.send(&write(&id)),
            'W' => world.send(&by("scout", write(&id))),
            'r' => world.send(&pre("Read", json!({ "file_path": "/home/me/shop/a.txt" }), &id)),
            'b' => world.bash("make", &id),
            _ => {
                world.send(&prompt("go on"));
                marks.push('|');
                continue;
            }
        };
        let verdict = sent.verdict();
        if letter == 'b' && verdict < Verdict::Ask {
            world.send(&post(
                "Bash",
                json!({ "command": "make" }),
                &id,
                json!({ "stdout": "done", "stderr": "" }),
            ));
        }
        marks.push(match verdict {
            Verdict::Allow => '.',
            Verdict::Warn => '!',
            Verdict::Block => 'X',
            other => panic!("{other}: {:?}", sent.decision()),
        });
        if verdict == Verdict::Block {
            let text = sent.out.to_string();
            assert!(
                text.contains("since limits were tightened") && text.contains("tell the person"),
                "{text}"
            );
        }
    }
    marks
}

/// A case: the limits that are set, the calls, and the verdict on each.
type Case = (&'static [(Quantity, u64)], &'static str, &'static str);

#[test]
fn later_actions_are_held_to_tightened_limits() {
    use Quantity::{FileOperations, Memory, Time};
    let cases: [Case; 8] = [
        (&[], "wwwwwwrb", "........"),
        (&[(FileOperations, 5)], "wwwwwwr", "...!!X."),
        (&[(FileOperations, 5)], "wwWWWWb", "...!!X."),
        (&[(FileOperations, 5)], "wwwwwwpwwwwww", "...!!X|...!!X"),
        (&[(FileOperations, 0)], "rwr", ".X."),
        (&[(FileOperations, 500)], "wwwwww", "......"),
        (&[(Time, 5000)], "bbbbrbpb", "...!!.|."),
        (&[(Memory, 1)], "wwb", "..."),
    ];
    for (limits, letters, expected) in cases {
        assert_eq!(verdicts(&mut throttled(limits), letters), expected, "{limits:?} {letters}");
    }
}

/// A case: the operator's later limit, an intervention's, the calls, and the verdict on each.
type ChangedKey = (u64, Option<u64>, &'static str, &'static str);

#[test]
fn a_key_that_changes_later_neither_tightens_nor_frees() {
    let cases: [ChangedKey; 5] = [
        (200, None, "wwww", "...."),
        (1, None, "wwww", "...."),
        (200, Some(2), "wwww", ".!XX"),
        (1, Some(2), "wwww", ".!XX"),
        (2, Some(2), "wwww", ".!XX"),
    ];
    for (later, tightened, letters, expected) in cases {
        let limits: Vec<_> =
            tightened.map(|most| (Quantity::FileOperations, most)).into_iter().collect();
        let mut world = throttled(&limits);
        world.policy.limits.file_operations = later;
        assert_eq!(verdicts(&mut world, letters), expected, "{later} {tightened:?}");
    }
}

#[test]
fn an_observer_refuses_nothing() {
    let mut world = throttled(&[(Quantity::FileOperations, 1)]);
    world.policy.mode = portcullis_core::policy::Mode::Observe;
    let sent = [world.send(&write("a")), world.send(&write("b"))];
    assert_eq!(
        sent.map(|sent| (sent.verdict(), sent.effect())),
        [(Verdict::Warn, "none"), (Verdict::Block, "none")]
    );
}

fn find_objections(limits: &[Limit], base: &LimitPolicy, facts: &Facts) -> Vec<Objection> {
    let announced = BTreeMap::new();
    let state = LimitState { limits, base, announced: &announced };
    portcullis_core::throttle::find_objections(&state, facts)
}

fn facts(files: usize) -> Facts {
    let effect = Effect {
        kind: EffectKind::FileModify,
        target: "a".into(),
        path: None,
        command: None,
        recursive: false,
        certain: true,
    };
    Facts { effects: vec![effect; files], shape: 1, identity: 1, ..Facts::nothing() }
}

/// A limit with its usage, the files of an action, and the rule, verdict and reason of an
/// objection.
type One = (Quantity, u64, u64, usize, Option<(&'static str, Verdict, &'static str)>);

#[test]
fn limits_one_by_one() {
    use Quantity::{BatchSize, FileOperations, Memory, Other, Time, Tokens};
    let cases: [One; 12] = [
        (
            FileOperations,
            10,
            9,
            1,
            Some((
                "limit_file_operations",
                Verdict::Warn,
                "with this, 10 of 10 writes and deletions",
            )),
        ),
        (
            FileOperations,
            10,
            9,
            2,
            Some((
                "limit_file_operations",
                Verdict::Block,
                "this would make 11 writes and deletions; 10 is the most",
            )),
        ),
        (FileOperations, 10, 6, 1, None),
        (FileOperations, 10, 99, 0, None),
        (FileOperations, 100, 99, 5, None),
        (
            Tokens,
            1000,
            1000,
            1,
            Some(("limit_tokens", Verdict::Block, "1000 tokens are used; 1000 is the most")),
        ),
        (Tokens, 1000, 700, 0, None),
        (
            Time,
            20_000,
            17_000,
            0,
            Some(("limit_time", Verdict::Warn, "with this, 17 s of 20 s of time are used")),
        ),
        (
            BatchSize,
            2,
            0,
            3,
            Some(("limit_batch_size", Verdict::Block, "it changes 3 files at once; 2 is the most")),
        ),
        (BatchSize, 2, 0, 2, None),
        (
            Memory,
            1,
            u64::MAX,
            9,
            Some(("limit_memory", Verdict::Block, "1 bytes is the most at once")),
        ),
        (Other("cups".into()), 1, 5, 9, None),
    ];
    for (quantity, maximum, used, files, expected) in cases {
        let limit = Limit { quantity, maximum, used };
        let found =
            find_objections(std::slice::from_ref(&limit), &LimitPolicy::default(), &facts(files));
        let brief = found.first().map(|one| (one.rule.as_str(), one.verdict));
        assert_eq!(brief, expected.map(|(rule, verdict, _)| (rule, verdict)), "{limit:?}");
        assert!(
            found.len() < 2 && found.iter().all(|one| one.reason.contains(expected.unwrap().2)),
            "{limit:?}: {found:?}"
        );
    }
}

proptest! {
    /// A tighter limit, or a higher usage, never objects less; the host leaves
    /// the configured number of files to a rule.
    #[test]
    fn tighter_is_never_milder(maximum in 0_u64..2000, less in 0_u64..2000, used in 0_u64..3000, more in 0_u64..3000, files in 0_usize..40, which in 0_usize..4) {
        use Quantity::{BatchSize, FileOperations, Time, Tokens};
        let quantity = [FileOperations, Tokens, Time, BatchSize][which].clone();
        let strictest = |maximum: u64, used: u64| {
            let limit = Limit { quantity: quantity.clone(), maximum, used };
            let found = find_objections(std::slice::from_ref(&limit), &LimitPolicy::default(), &facts(files));
            let ruled = limit.quantity == FileOperations || limit.quantity == BatchSize;
            assert!(!ruled || found.is_empty() || is_tightened(&limit, &LimitPolicy::default()));
            found.iter().map(|one| one.verdict).max()
        };
        prop_assert!(strictest(maximum.saturating_sub(less), used.saturating_add(more)) >= strictest(maximum, used));
    }
}

#[test]
fn the_use_of_each_measured_limit_is_listed_with_its_base() {
    let mut world = throttled(&[(Quantity::FileOperations, 5), (Quantity::Tokens, 1_000)]);
    let brief = |world: &World| {
        let listed = world.state().session.list_limit_use();
        listed.iter().map(LimitUse::describe_briefly).collect::<Vec<_>>()
    };
    verdicts(&mut world, "ww");
    let listed = brief(&world);
    assert_eq!(listed[0], "file operations 2/5 (base 100)");
    assert!(listed.iter().any(|one| one.starts_with("time ")), "{listed:?}");
    // Nobody has measured them.
    for unknown in ["tokens", "memory", "processes"] {
        assert!(!listed.iter().any(|one| one.starts_with(unknown)), "{listed:?}");
    }
}
