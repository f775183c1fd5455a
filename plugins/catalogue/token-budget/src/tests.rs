//! Native tests of what cases cannot set: tokens and times that the host measures.

use super::*;
use crate::amounts::{format_money, group_digits};
use crate::config::Money;
use crate::passed::find_cost;
use crate::usage::{Amounts, Span};
use portcullis_plugin::testing::{self, BuildAction, BuildContext, PatternRun};
use portcullis_plugin::types::Quantity;

fn settings() -> Vec<Setting> {
    let numbers = [
        ("prompt_tokens", 1000),
        ("session_tokens", 1500),
        ("prompt_minutes", 10),
        ("session_minutes", 0),
        ("price", 300),
    ];
    let mut settings: Vec<Setting> =
        numbers.iter().map(|(key, number)| Setting::new(key, *number)).collect();
    settings.push(Setting::new("currency", "USD"));
    settings
}

fn limits(tokens: u64, ms: u64) -> Context {
    let context = testing::context().limit(Quantity::FileOperations, 100, 7);
    context.limit(Quantity::Tokens, 5_000_000, tokens).limit(Quantity::Time, 5_000_000, ms)
}

fn action(step: u64) -> Action {
    testing::shell("ls").succeeded().at_step(step)
}

/// What was reported at a step: its severity, its confidence and its evidence.
type Reported = (u64, Severity, Score, Vec<String>);

/// Plays prompts, each a list of the tokens and milliseconds that the host has measured at its
/// steps.
fn play(prompts: &[&[(u64, u64)]]) -> Vec<Reported> {
    let mut run = PatternRun::<TokenBudget>::new(&settings()).unwrap();
    let (mut reported, mut at) = (Vec::new(), 0);
    for (prompt, uses) in (0..).zip(prompts) {
        let mut history = testing::history([]);
        history.totals.prompts = prompt;
        for (tokens, ms) in *uses {
            let report = run.ask(&history, &action(at), &limits(*tokens, *ms)).unwrap();
            reported.extend(report.detections.into_iter().map(|one| {
                let evidence = one.evidence.into_iter().map(|evidence| evidence.value).collect();
                (at, one.severity, one.confidence, evidence)
            }));
            at += 1;
        }
    }
    reported
}

fn reported(step: u64, severity: Severity, evidence: &[&str]) -> Reported {
    (step, severity, 950, evidence.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn tokens_that_a_client_reports_are_not_an_estimate() {
    let prompt = [100, 799, 800, 990, 1000, 1100].map(|tokens| (tokens, 0));
    let expected = [
        reported(2, Severity::Medium, &["tokens of this prompt: 800 of 1,000"]),
        reported(4, Severity::High, &["tokens of this prompt: 1,000 of 1,000"]),
    ];
    assert_eq!(play(&[&prompt]), expected);
}

#[test]
fn the_session_has_the_tokens_of_all_prompts() {
    let expected = [
        reported(2, Severity::Medium, &["tokens of the session: 1,200 of 1,500"]),
        reported(3, Severity::High, &["tokens of the session: 1,500 of 1,500"]),
    ];
    assert_eq!(play(&[&[(700, 0)], &[(10, 0), (500, 0)], &[(300, 0)]]), expected);
}

#[test]
fn a_count_that_begins_again_does_not_make_a_prompt_cheaper() {
    assert_eq!(play(&[&[(700, 0), (0, 0), (100, 0)], &[(450, 0)]]), []);
}

#[test]
fn minutes_are_in_one_report_with_tokens() {
    let evidence = ["tokens of this prompt: 900 of 1,000", "minutes of this prompt: 10 of 10"];
    assert_eq!(play(&[&[(900, 600_000)]]), [reported(0, Severity::High, &evidence)]);
}

fn span((measured, bytes, ms): (u64, u64, u64), tools: &[(&str, u64)]) -> Span {
    let tools = tools.iter().map(|(tool, bytes)| ((*tool).to_owned(), *bytes)).collect();
    Span { amounts: Amounts { measured, bytes, ms }, tools }
}

#[test]
fn what_is_longer_than_what_is_measured_is_an_estimate() {
    let before = span((100, 800, 0), &[("Bash", 600), ("Read", 200)]);
    assert_eq!(before.amounts.count_tokens(4), (200, true));
    assert_eq!(Amounts { measured: 200, ..before.amounts }.count_tokens(4), (200, false));
    assert_eq!(before.find_greediest(), Some(("Bash", 75)));
    let usage = Usage { now: span((1, 2, 3), &[("Read", 2)]), before, ..Usage::new(0, 0) };
    assert_eq!(usage.sum_spans(), span((101, 802, 3), &[("Bash", 600), ("Read", 202)]));
    assert_eq!(Span::default().find_greediest(), None);
    assert_eq!(span((0, 2, 0), &[("Read", 1), ("Bash", 1)]).find_greediest(), Some(("Read", 50)));
}

#[test]
fn money_is_whole_numbers_rounded_up() {
    for (tokens, price, cost) in [
        (0, 300, 0),
        (1, 300, 1),
        (1_000_000, 300, 300),
        (1_000_001, 300, 301),
        // Past what a floating-point number holds exactly, and past 64 bits.
        (999_999_999_999, 1_000_000_000, 999_999_999_999_000),
        (u64::MAX, 1_000_000_000, 18_446_744_073_709_551_615_000),
    ] {
        assert_eq!(find_cost(tokens, price), cost, "{tokens} {price}");
    }
    let show = |amount, digits| format_money(amount, &Money { currency: "USD".to_owned(), digits });
    let texts = [show(0, 2), show(5, 2), show(123_456, 2), show(1234, 0), show(7, 4)];
    assert_eq!(texts, ["0.00 USD", "0.05 USD", "1,234.56 USD", "1,234 USD", "0.0007 USD"]);
    assert_eq!(
        ["1", "100", "1000", "1000000"].map(group_digits),
        ["1", "100", "1,000", "1,000,000"]
    );
}

#[test]
fn the_largest_numbers_are_counted() {
    let mut usage = Usage::new(0, 0);
    usage.before = span((u64::MAX, u64::MAX, u64::MAX), &[("Bash", u64::MAX)]);
    let most = Setting::new("session_tokens", 1_000_000_000_000_i64);
    let run = PatternRun::<TokenBudget>::new(&[most, Setting::new("bytes_per_token", 1)]).unwrap();
    let mut run = run.resuming(&usage.write_state());
    let history = testing::history([]);
    let report = run.ask(&history, &action(1), &limits(u64::MAX, u64::MAX)).unwrap();
    let found = &report.detections[0];
    assert_eq!((found.severity, found.impact, found.evidence.len()), (Severity::High, 1000, 4));
}

#[test]
fn what_is_written_is_read() {
    let mut usage = Usage::new(3, 12);
    usage.now = span((5, 6, 7), &[("Bash", 4), ("Read", 2)]);
    usage.before = span((1, 2, 3), &[("mcp__a__ü", 2)]);
    usage.reported = [80, 0, 100, 0, 0, 1000];
    let bytes = usage.write_state();
    assert_eq!(Usage::read(&bytes).unwrap(), Some(usage));
    for other in [&b""[..], b"\x09", b"{\"layout\":1}"] {
        assert_eq!(Usage::read(other).unwrap(), None);
    }
    for end in 1..bytes.len() {
        let message = Usage::read(&bytes[..end]).unwrap_err().message();
        assert_eq!(message, "`state` is damaged: start a new session");
    }
}

#[test]
fn a_state_of_another_layout_begins_again() {
    let mut run = PatternRun::<TokenBudget>::new(&[]).unwrap().resuming(b"{\"layout\":1}");
    let mut history = testing::history([]);
    history.totals.prompts = 3;
    run.ask(&history, &action(12), &limits(5, 0)).unwrap();
    let usage = Usage::read(run.state()).unwrap().unwrap();
    assert_eq!((usage.prompt, usage.first, usage.now.amounts.measured), (3, 12, 5));
}

#[test]
fn tools_past_a_number_are_one() {
    let mut usage = Usage::new(0, 0);
    let context = testing::context();
    for at in 0..30 {
        let name = format!("{at:02}{}", "ü".repeat(60));
        let action = testing::tool(&name, &[("a", "ü")]).succeeded();
        usage.add_step(0, &action, action.outcome.as_ref().unwrap(), &context);
    }
    let tools = &usage.now.tools;
    assert_eq!((tools.len(), tools[0].0.chars().count()), (25, 48));
    // `{"a":"ü"}`, in bytes.
    assert_eq!((tools[0].1, &tools[24]), (10, &("other tools".to_owned(), 60)));
}

#[test]
fn settings_are_checked_together() {
    for (key, value, is_right) in [
        ("currency", "€", true),
        ("currency", "kr", true),
        ("currency", "", false),
        ("currency", "US D", false),
        ("currency", "abcdefghi", false),
        ("thresholds", "1", true),
        ("thresholds", "1000", true),
        ("thresholds", "1001", false),
        ("thresholds", "0", false),
        ("thresholds", "+5", false),
        ("thresholds", "05", false),
        ("thresholds", "", false),
    ] {
        let setting = match key {
            "thresholds" => Setting::new(key, [value]),
            _ => Setting::new(key, value),
        };
        let mut given = vec![Setting::new("price", 1), setting];
        if key != "currency" {
            given.push(Setting::new("currency", "EUR"));
        }
        assert_eq!(TokenBudget::prepare(&given).is_ok(), is_right, "{key} {value}");
    }
}
