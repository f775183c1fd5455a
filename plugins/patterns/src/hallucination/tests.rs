//! Sessions by table: which fire, how strongly, when again, and which near misses stay silent.

use super::Hallucination;
use portcullis_builtin_shared::harness::{check_bytes, check_refusals, evidence};
use portcullis_builtin_shared::sample::shell;
use portcullis_plugin::pattern::{Detection, Pattern};
use portcullis_plugin::testing::{self, BuildAction, PatternRun, step};
use portcullis_plugin::types::{Action, EffectKind, Setting, SettingValue, Severity, Status, Step};

const GONE: &str = "Exit code 1\ncat: src/gone.rs: No such file or directory";

/// A character a step, according to the table of `action`.
fn action(letter: char) -> Action {
    match letter {
        'a' => shell("cat src/gone.rs").reads("src/gone.rs").failed(GONE),
        'A' => testing::file_read("src/gone.rs").failed("File does not exist."),
        'b' => shell("cat lost.txt")
            .reads("lost.txt")
            .failed("cat: lost.txt: No such file or directory"),
        'c' => shell("tree src").failed("Exit code 127\n(eval):1: command not found: tree"),
        'j' => shell("jq . a").failed("Exit code 127\nsh: 1: jq: not found"),
        'J' => shell("jq . a").failed("Exit code 5\njq: parse error at line 3"),
        'q' => {
            let mut action = shell("jq . a 2>/dev/null").failed("Exit code 127");
            action.outcome.iter_mut().for_each(|outcome| outcome.exit_code = Some(127));
            action
        }
        't' => testing::tool("query_all", &[]).failed("No such tool available: query_all"),
        'e' => testing::file_edit("src/main.rs", "old", "new")
            .failed("String to replace not found in file."),
        'E' => testing::file_edit("src/main.rs", "old", "new").succeeded(),
        'f' => shell("ls --colour-me").failed("ls: unrecognized option '--colour-me'"),
        'l' => shell("ls src/gone.rs")
            .reads("src/gone.rs")
            .failed("ls: cannot access 'src/gone.rs': No such file or directory"),
        'w' => testing::file_write("src/gone.rs", "x").succeeded(),
        'm' => shell("mkdir -p src/gone.rs").creates("src/gone.rs").succeeded(),
        'g' => shell("git checkout topic").succeeded(),
        'i' => shell("apt-get install tree").succeeded(),
        'h' => shell("rustfmt src/gone.rs").reads("src/gone.rs").failed("it went wrong"),
        'n' => shell("cargo test").failed("src/other.rs: No such file or directory"),
        'r' => shell("cat src/gone.rs").reads("src/gone.rs").ended(Status::Refused, ""),
        _ => shell("true").succeeded(),
    }
}

/// Returns the detection of the last of these steps, and the steps with a detection.
fn play(letters: &str, settings: &[Setting]) -> (Option<Detection>, String) {
    let mut run = PatternRun::<Hallucination>::new(settings).expect("the settings are right");
    let (mut steps, mut fired, mut last) = (Vec::new(), String::new(), None);
    for (index, letter) in letters.chars().enumerate() {
        let action = action(letter).at_step(index as u64);
        let status = action.outcome.as_ref().map_or(Status::Pending, |outcome| outcome.status);
        steps.push(Step { status, ..step(index as u64) });
        let kept = steps.len().saturating_sub(200);
        let history = testing::history(steps[kept..].iter().copied());
        let mut report = run.ask(&history, &action, &testing::context()).expect("it answers");
        fired.push(if report.detections.is_empty() { '.' } else { '!' });
        last = report.detections.pop();
    }
    (last, fired)
}

#[test]
fn sessions() {
    let cases = [
        ("a", "."),
        ("aa", ".."),
        ("aaa", "..!"),
        ("aaaaa", "..!!!"),
        ("aA.a", "...!"),
        ("aab", "..."),
        ("aabb", "...!"),
        ("abc", "..."),
        ("abct", "...."),
        ("ccc", "..!"),
        ("ttt", "..!"),
        ("fff", "..!"),
        ("eee", "..!"),
        ("eeEe", "...."),
        ("eeEee", "....!"),
        ("lll", "..."),
        ("laa", "..."),
        ("laaa", "...!"),
        ("aalla", "....!"),
        ("aawa", "...."),
        ("aama", "...."),
        ("aaga", "...."),
        ("ccic", "...."),
        ("jJJJJ", "....."),
        ("jqq", "..!"),
        ("jJqJq", "....!"),
        ("aaic", "...."),
        ("ahh", "..!"),
        ("hhh", "..."),
        ("nnn", "..."),
        ("arrr", "...."),
        ("a........a...a", ".............!"),
    ];
    for (letters, expected) in cases {
        assert_eq!(play(letters, &[]).1, expected, "{letters}");
    }
    let spread = ["aa", &".".repeat(39), "a"].concat();
    assert!(!play(&spread, &[]).1.contains('!'), "acts are forgotten in time");
}

#[test]
fn confidence_and_severity() {
    use Severity::{High, Low, Medium};
    let cases = [
        ("aaa", 500, 600, Medium, 0),
        ("......aaa", 500, 333, Low, 6),
        ("......aaaa", 600, 400, Low, 6),
        ("......aaaaa", 700, 454, Medium, 6),
        ("......aaaaaaa", 900, 538, High, 6),
        ("aaaaaaaaaaa", 1000, 1000, High, 0),
        ("aaaa....................aaa", 900, 150, Low, 0),
    ];
    for (letters, confidence, impact, severity, first) in cases {
        let found = play(letters, &[]).0.expect(letters);
        assert_eq!(
            (found.confidence, found.impact, found.severity, found.first_step),
            (confidence, impact, severity, first),
            "{letters}"
        );
    }
}

#[test]
fn it_says_what_and_where() {
    let found = play("bacaa", &[]).0.expect("it fires");
    assert_eq!(found.pattern, "hallucination");
    assert_eq!(
        found.summary,
        "5 actions worked with what is not there, 2 of them after the session had been warned: `/project/src/gone.rs`, `tree`, \
         `/project/lost.txt`"
    );
    assert_eq!(
        evidence(&found),
        [
            ("path", "/project/src/gone.rs", Some(4)),
            ("command", "tree", Some(2)),
            ("path", "/project/lost.txt", Some(0)),
            ("error", "cat: src/gone.rs: No such file or directory", Some(4)),
        ]
    );
}

#[test]
fn settings_change_it_and_bad_ones_are_named() {
    let cases: [(&str, Setting, bool); 9] = [
        ("aaa", Setting::new("sensitivity", "medium"), true),
        ("aaaa", Setting::new("sensitivity", "low"), false),
        ("aaaaa", Setting::new("sensitivity", "low"), true),
        ("aa", Setting::new("sensitivity", "high"), true),
        ("aaa", Setting::new("threshold", 4), false),
        ("aaa", Setting::new("after_told", 3), false),
        ("aaaa", Setting::new("after_told", 3), true),
        ("a..aa", Setting::new("within", 3), false),
        ("a.aa", Setting::new("within", 4), true),
    ];
    for (letters, setting, fires) in cases {
        assert_eq!(
            play(letters, std::slice::from_ref(&setting)).0.is_some(),
            fires,
            "{letters} {setting:?}"
        );
    }
    let capped = play("aaa", &[Setting::new("severity", "low")]).0.expect("it fires");
    assert_eq!(capped.severity, Severity::Low);
    let bad: [(&str, SettingValue, &str); 3] = [
        ("threshold", 0.into(), "from 1 to"),
        ("sensitivity", "huge".into(), "one of `low`"),
        ("after", 2.into(), "unknown"),
    ];
    check_refusals(Hallucination::prepare, &bad);
}

#[test]
fn the_memory_is_bounded_versioned_and_checked() {
    let mut run = PatternRun::<Hallucination>::new(&[]).expect("no settings are right");
    for index in 0..150_u64 {
        let name = format!("{}{}", index / 2, "é".repeat(150));
        let action = shell(&format!("cat {name}"))
            .at_step(index)
            .failed(&format!("cat: {name}: No such file or directory"));
        run.ask(&testing::history([step(index)]), &action, &testing::context())
            .expect("its own state is right");
        let bytes = run.state().len();
        assert!(bytes < 32 * 1024, "{bytes}");
    }
    check_bytes::<Hallucination>(run.state(), &action('a'));
    let of_an_unknown_kind = [1, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
    let refused = run.resuming(&of_an_unknown_kind).ask(
        &testing::history([]),
        &action('a'),
        &testing::context(),
    );
    assert!(refused.is_err());
}

#[test]
fn odd_input_does_no_harm() {
    let prepared = Hallucination::prepare(&[]).expect("no settings are right");
    let texts = [
        "",
        "é: not found",
        "\u{0}no such file",
        &"no such file é".repeat(2000),
        &"x: not found\n".repeat(3000),
        "-- '",
    ];
    for text in texts {
        for step in [0, u64::MAX] {
            let mut odd =
                shell("é -é --").does(EffectKind::FileRead, "é").at_step(step).failed(text);
            odd.facts.effects.iter_mut().for_each(|effect| effect.path = Some(u32::MAX));
            assert!(
                Hallucination::detect(
                    &prepared,
                    &[],
                    &testing::history([]),
                    &odd,
                    &testing::context()
                )
                .is_ok(),
                "{text:.20}"
            );
        }
    }
    let silent = Hallucination::detect(
        &prepared,
        &[],
        &testing::history([]),
        &shell("cat a"),
        &testing::context(),
    );
    assert_eq!(
        silent.map(|report| report.state.is_none() && report.detections.is_empty()).ok(),
        Some(true),
        "before an outcome"
    );
}
