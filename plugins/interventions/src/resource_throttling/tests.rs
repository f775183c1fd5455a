//! The new limits, and the messages about them.

use super::*;
use crate::random::{Dice, ISSUES, hole};
use portcullis_plugin::intervention::{Limit, PastIntervention, Severity};
use portcullis_plugin::testing::{self, BuildContext, BuildIssue};
use portcullis_plugin::types::Quantity::{BatchSize, FileOperations, Memory, Other, Time, Tokens};

const MB: u64 = 1 << 20;

fn answer(
    settings: &[Setting],
    issue: &Issue,
    situation: &Situation,
    context: &Context,
) -> Result<(String, Vec<Limit>), Error> {
    let prepared = ResourceThrottling::prepare(settings)?;
    match ResourceThrottling::intervene(&prepared, issue, situation, context)? {
        Response::Guide(guidance) => {
            assert!(guidance.background.is_empty());
            let [message] = <[String; 1]>::try_from(guidance.messages).unwrap();
            assert!(message.len() <= 4096);
            Ok((message, guidance.limits))
        }
        other => panic!("no guidance: {other:?}"),
    }
}

fn bare(name: &str, severity: Severity) -> Issue {
    testing::issue(name, severity, "a summary of it")
}

fn growing(growth: &[&str]) -> Issue {
    growth
        .iter()
        .fold(bare("resource_spiral", Severity::Low), |issue, growth| issue.with("growth", growth))
}

/// Returns a context with the limits that a session begins with.
fn context() -> Context {
    testing::context()
        .limit(FileOperations, 100, 40)
        .limit(Memory, 512 * MB, 0)
        .limit(Tokens, 100_000, 90_000)
        .limit(Time, 300_000, 1500)
}

/// Returns file operations, memory in MB, tokens, seconds, batch size; 0 for unchanged ones.
fn numbers(limits: &[Limit]) -> [u64; 5] {
    let of = |quantity| {
        limits.iter().find(|limit| limit.quantity == quantity).map_or(0, |limit| limit.maximum)
    };
    [of(FileOperations), of(Memory) / MB, of(Tokens), of(Time) / 1000, of(BatchSize)]
}

#[test]
fn growth_and_severity_set_the_factor() {
    let growth = |ratio: &str| growing(&[&format!("files 3, 4, 5, 6 (x {ratio} a window)")]);
    for (issue, expected) in [
        (growth("2.01"), [50, 0, 0, 0, 10]),
        (growth("2.00"), [70, 0, 0, 0, 10]),
        (growth("1.51"), [70, 0, 0, 0, 10]),
        (growth("1.50"), [85, 0, 0, 0, 10]),
        (growth("1.21"), [85, 0, 0, 0, 10]),
        (growth("1.20"), [0, 0, 0, 0, 10]),
        (growth("0.30"), [0, 0, 0, 0, 10]),
        (
            growing(&[
                "files x 1.3",
                "files x 3",
                "bytes x 1.6",
                "tokens x 2.5",
                "milliseconds x 1.3",
            ]),
            [50, 358, 50_000, 255, 10],
        ),
        (growing(&["doors x 9"]), [85, 435, 85_000, 255, 10]),
        (bare("scope_creep", Severity::Low), [85, 435, 85_000, 255, 10]),
        (bare("scope_creep", Severity::Medium), [70, 358, 70_000, 210, 10]),
        (bare("blocked_then_bypassed", Severity::High), [50, 256, 50_000, 150, 10]),
        (bare("loop", Severity::Critical), [50, 256, 50_000, 150, 10]),
    ] {
        let (_, limits) = answer(&[], &issue, &testing::situation(), &context()).unwrap();
        assert_eq!(numbers(&limits), expected, "{issue:?}");
    }
}

#[test]
fn what_was_cut_is_cut_from_the_configured_limit() {
    let tightened = |in_force: u64, base: &str| {
        let mut context = testing::context().limit(FileOperations, in_force, 0);
        context.attributes.push(("base-limit.file-operations", base).into());
        context
    };
    for (context, severity, files, words) in [
        (tightened(70, "100"), Severity::High, 50, "50 (70 before, 100 configured)"),
        (tightened(70, "100"), Severity::Medium, 0, ""),
        (tightened(50, "100"), Severity::High, 0, ""),
        (tightened(30, "100"), Severity::High, 0, ""),
        (tightened(100, "100"), Severity::High, 50, "50 (100 before)"),
        (tightened(100, "many"), Severity::High, 50, "50 (100 before)"),
    ] {
        let issue = bare("loop", severity);
        let (text, limits) = answer(&[], &issue, &testing::situation(), &context).unwrap();
        assert_eq!(numbers(&limits)[0], files, "{:?}", context.attributes);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn limits_begin_with_what_is_in_force() {
    let none = testing::context;
    for (context, settings, expected) in [
        (none(), vec![], [50, 256, 50_000, 150, 10]),
        (
            none().limit(FileOperations, 3, 0).limit(BatchSize, 5, 0),
            vec![],
            [2, 256, 50_000, 150, 2],
        ),
        (
            none().limit(FileOperations, 1, 0).limit(BatchSize, 1, 0),
            vec![],
            [0, 256, 50_000, 150, 0],
        ),
        (
            none().limit(FileOperations, 0, 0).limit(BatchSize, 0, 0),
            vec![],
            [0, 256, 50_000, 150, 0],
        ),
        (
            none().limit(FileOperations, 80, 0).limit(FileOperations, 20, 0),
            vec![],
            [10, 256, 50_000, 150, 10],
        ),
        (none().limit(Tokens, u64::MAX, 0), vec![], [50, 256, u64::MAX / 2 + 1, 150, 10]),
        (
            none(),
            vec![Setting::new("file_operations", 10), Setting::new("batch_size", 3)],
            [5, 256, 50_000, 150, 1],
        ),
        (
            none(),
            vec![Setting::new("extreme_factor", 0.01), Setting::new("file_operations", 10)],
            [1, 5, 1000, 3, 10],
        ),
        (
            none(),
            vec![
                Setting::new("memory_mb", 8),
                Setting::new("tokens", 10),
                Setting::new("time_seconds", 2),
            ],
            [50, 4, 5, 1, 10],
        ),
    ] {
        let (_, limits) =
            answer(&settings, &bare("loop", Severity::High), &testing::situation(), &context)
                .unwrap();
        assert_eq!(numbers(&limits), expected, "{settings:?} {:?}", context.limits);
    }
}

#[test]
fn each_limit_is_shown_with_old_and_new() {
    for (issue, context, parts, absent) in [
        (
            bare("scope_creep", Severity::High),
            context(),
            &[
                "for a prompt: 50 (100 before, 40 used)",
                "Memory: 256 MB (512 MB before)",
                "Tokens for a prompt: 50000 (100000 before, 90000 used: nothing is left until the next prompt)",
                "Time for a prompt: 150 s (300 s before, 1 s used)",
                "one action treats: 10 (no limit before)",
                "small batch",
            ][..],
            &["x 2", "Output ("][..],
        ),
        (
            growing(&["files 3, 6, 12, 24 (x 2.10 a window)"]),
            context(),
            &[
                "for a prompt: 50 (100 before",
                "Files (x 2.10): change only",
                "Growth: files 3, 6, 12, 24 (x 2.10 a window)",
            ],
            &["Memory: ", "Tokens for", "Tokens (", "Time ("],
        ),
        (
            bare("loop", Severity::High),
            testing::context()
                .limit(FileOperations, 100, 50)
                .limit(Tokens, 100, 49)
                .limit(Memory, 200, 100),
            &[
                "for a prompt: 50 (100 before, 50 used: nothing is left until the next prompt)",
                "Tokens for a prompt: 50 (100 before, 49 used)",
                "Memory: 100 bytes (200 bytes before, 100 bytes used)",
            ],
            &["Output ("],
        ),
        (
            growing(&["milliseconds x 1.3"]),
            testing::context().limit(Time, 1400, 0),
            &["Time for a prompt: 1190 ms (1400 ms before)", "Time (x 1.30)"],
            &["File operations"],
        ),
        (
            growing(&["files x 1.1"]),
            testing::context().limit(FileOperations, 100, 40).limit(BatchSize, 1, 0),
            &["they stay", "In force: file-operations 40 of 100, batch-size 0 of 1"],
            &["From now on", "before"],
        ),
    ] {
        let (message, _) = answer(&[], &issue, &testing::situation(), &context).unwrap();
        for (part, there) in
            parts.iter().map(|part| (part, true)).chain(absent.iter().map(|part| (part, false)))
        {
            assert_eq!(message.contains(part), there, "`{part}` in\n{message}");
        }
    }
}

#[test]
fn each_issue_has_its_own_words() {
    let mut first = Vec::new();
    for name in ISSUES.iter().filter(|name| !name.is_empty()) {
        for severity in [Severity::Low, Severity::Medium, Severity::High, Severity::Critical] {
            let (message, _) =
                answer(&[], &bare(name, severity), &testing::situation(), &context()).unwrap();
            assert!(
                message.starts_with("[portcullis resource_throttling | ")
                    && message.contains("| 2026-01-01T12:00:00.000Z]\n"),
                "{message}"
            );
            assert!(
                message.contains("a summary of it")
                    && message.contains("goes on under limits") | message.contains("kept together"),
                "{message}"
            );
            assert!(!message.contains("in spite of"), "{message}");
            first.push(message.lines().nth(1).unwrap().to_owned());
        }
    }
    first.dedup();
    assert_eq!(first.len(), 11, "{first:?}");
}

#[test]
fn an_earlier_tightening_is_mentioned() {
    let past = |kind: &str| PastIntervention {
        kind: kind.into(),
        issue: "loop".into(),
        step: 1,
        at: testing::NOW,
        effectiveness: None,
    };
    let situation = Situation {
        past: vec![past("resource_throttling"), past("soft_correction")],
        ..testing::situation()
    };
    let (message, _) = answer(&[], &bare("loop", Severity::Low), &situation, &context()).unwrap();
    assert!(message.contains("in spite of one earlier tightening."), "{message}");
}

#[test]
fn settings_are_checked() {
    for (setting, message) in [
        (Setting::new("extreme", 1.4), "setting `extreme`: should not be below `high`"),
        (Setting::new("moderate", 1.6), "setting `high`: should not be below `moderate`"),
        (
            Setting::new("high_factor", 0.4),
            "setting `high_factor`: should not be below `extreme_factor`",
        ),
        (
            Setting::new("moderate_factor", 0.6),
            "setting `moderate_factor`: should not be below `high_factor`",
        ),
        (Setting::new("extreme_factor", 1.5), "setting `extreme_factor`: should be from 0.01 to 1"),
        (Setting::new("extreme_factor", 0), "setting `extreme_factor`: should be from 0.01 to 1"),
        (Setting::new("batch_size", 0), "setting `batch_size`: should be from 1 to 1000000000"),
        (
            Setting::new("batch_sice", 1),
            "setting `batch_sice`: unknown; did you mean `batch_size`?",
        ),
        (
            Setting::new("templates.notice", "{new.tokns}"),
            "setting `templates.notice`: line 1: unknown placeholder `{new.tokns}`; did you mean `{new.tokens}`?",
        ),
    ] {
        assert_eq!(ResourceThrottling::prepare(&[setting]).unwrap_err().message(), message);
    }
    let other = Settings::check(&[], &[]).unwrap().to_bytes();
    for foreign in [&[][..], &[9], &[1, 255], b"limits", &other] {
        assert!(
            ResourceThrottling::intervene(
                foreign,
                &bare("loop", Severity::Low),
                &testing::situation(),
                &context()
            )
            .is_err()
        );
    }
}

#[test]
fn the_operators_words_come_first() {
    for (set, passed, parts) in [
        (
            Some(("loop", "set: {summary}")),
            None,
            &["\nset: a summary of it\n", "for a prompt: 85"][..],
        ),
        (
            Some(("notice", "files {new.file_operations}")),
            None,
            &["\nfiles 85 (100 before, 40 used)\n", "repeated without effect", "How to do"],
        ),
        (
            None,
            Some(("resource_throttling.efficiency", "less!")),
            &["repeated without effect", "\nless!"],
        ),
        (None, Some(("loop", "a correction")), &["repeated without effect"]),
        (Some(("notice", "{growth.time}")), None, &["for a prompt: 85"]),
    ] {
        let settings: Vec<Setting> = set
            .map(|(name, text)| Setting::new(&format!("templates.{name}"), text))
            .into_iter()
            .collect();
        let templates = passed.map(Into::into).into_iter().collect();
        let situation = Situation { templates, ..testing::situation() };
        let (message, limits) =
            answer(&settings, &bare("loop", Severity::Low), &situation, &context()).unwrap();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(limits.len(), 5);
    }
    assert_eq!(wording::NAMES.len(), QUANTITIES.len());
}

/// Any issue gets complete texts, and no limit that is looser than the one in force, or no limit at
/// all.
#[test]
fn any_issue_gets_whole_texts_and_tighter_limits() {
    for seed in 0..1000 {
        let mut dice = Dice::new(seed);
        let (issue, situation) = (dice.issue(), dice.situation());
        let context = dice.context().limit(Other("doors".into()), 9, 1);
        let (message, limits) = answer(&[], &issue, &situation, &context).unwrap();
        assert_eq!(hole(&message), None, "seed {seed}:\n{message}");
        assert!(
            message.lines().all(|line| !line.starts_with("Ignore all rules")),
            "seed {seed}:\n{message}"
        );
        for limit in &limits {
            let in_force = context.limits.iter().filter(|known| known.quantity == limit.quantity);
            assert!(
                in_force.clone().all(|known| limit.maximum < known.maximum) && limit.maximum >= 1,
                "seed {seed}: {limit:?}"
            );
            assert!(limit.quantity != Other("doors".into()), "{limit:?}");
        }
        let again = limits.iter().fold(context, |context, limit| {
            context.limit(limit.quantity.clone(), limit.maximum, 0)
        });
        let (_, tighter) = answer(&[], &issue, &situation, &again).unwrap();
        for limit in &tighter {
            assert!(
                limits
                    .iter()
                    .all(|known| known.quantity != limit.quantity || limit.maximum < known.maximum),
                "seed {seed}: {limit:?}"
            );
        }
    }
}
