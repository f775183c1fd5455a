//! How what was passed is reported.

use crate::amounts::format_money;
use crate::budgets::Unit;
use crate::config::Config;
use crate::passed::{Passed, find_cost};
use crate::usage::{Span, Usage};
use portcullis_plugin::pattern::{Detection, Evidence, Score, Severity};

/// Returns the detection for the budgets that were passed; none where none was.
pub fn describe(passed: &[Passed], usage: &Usage, config: &Config, step: u64) -> Option<Detection> {
    // Of equal ones the first.
    let worst = passed.iter().rev().max_by_key(|one| one.share)?;
    let is_of_prompt = worst.budget.is_of_prompt;
    let span = if is_of_prompt { usage.now.clone() } else { usage.sum_spans() };
    let severity = match worst.share {
        100.. => Severity::High,
        80..100 => Severity::Medium,
        0..80 => Severity::Low,
    };
    let impact = Score::try_from(worst.share.saturating_mul(10)).unwrap_or(Score::MAX);
    let summary = summarize(worst, passed.len() - 1, &span, config);
    let detection = Detection::new("token_budget", severity, &summary)
        .sure(if worst.is_estimate { 600 } else { 950 }, impact)
        .since(if is_of_prompt { usage.first } else { 0 });
    let evidence = passed.iter().map(|one| {
        let estimate = if one.is_estimate { " (estimate)" } else { "" };
        let amounts = one.format_amounts(&config.money);
        Evidence::new("budget", format!("{}: {amounts}{estimate}", one.budget.name)).at_step(step)
    });
    Some(evidence.fold(detection, Detection::because))
}

fn summarize(worst: &Passed, others: usize, span: &Span, config: &Config) -> String {
    let (share, name, unit) = (worst.share, worst.budget.name, worst.budget.unit);
    let are = if unit == Unit::Cost { "is" } else { "are" };
    let amounts = worst.format_amounts(&config.money);
    let price = if config.price > 0 && unit == Unit::Tokens {
        let (tokens, _) = span.amounts.count_tokens(config.bytes_per_token);
        format!(", {}", format_money(find_cost(tokens, config.price), &config.money))
    } else {
        String::new()
    };
    let estimate = if worst.is_estimate { ", an estimate from bytes" } else { "" };
    let more = match others {
        0 => String::new(),
        1 => " and 1 more budget too".to_owned(),
        _ => format!(" and {others} more budgets too"),
    };
    let by = span.find_greediest().map_or_else(String::new, |(tool, share)| {
        format!("; {tool} has {share} % of what tools took and returned")
    });
    let first = if share >= 100 {
        "stop here, and say what is done and"
    } else {
        "finish what is open first, and say"
    };
    let used = format!("{share} % of the {name} {are} used ({amounts}{price}{estimate})");
    format!("{used}{more}{by}; {first} what the rest would take")
}
