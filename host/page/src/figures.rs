//! A session's title and figures, and the legend of the marks.

use crate::Html;
use crate::chart::{dot_class, kind_letter, severity_letter};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::Timeline;
use portcullis_review::timeline::words;
use portcullis_terminal::paint;
use std::collections::BTreeMap;

/// Returns the time of a session's first event.
pub fn start_time(timeline: &Timeline) -> u64 {
    timeline.entries.first().map_or(0, |entry| entry.at)
}

/// Returns a session's title, which is the person's first request, and a line with its name and its
/// beginning.
pub fn session_title(timeline: &Timeline, most: usize) -> (String, String) {
    let name = one_line(&timeline.name, 200);
    let time = format!("{} UTC", paint::time(start_time(timeline)));
    match timeline.goal().map(|goal| one_line(&words::on_one_line(goal), most)) {
        Some(goal) if !goal.is_empty() => (goal, format!("{name}, {time}")),
        _ => (name, time),
    }
}

/// Adds a session's figures.
pub fn add_figures(html: &mut Html, timeline: &Timeline, differing: Option<usize>) {
    let steps = timeline.steps().count() as u64;
    html.put_template("<ul class=\"figures\"><li>{}</li>", &[&count_noun(steps, "step")]);
    for verdict in Verdict::ALL.iter().rev() {
        let count = timeline.steps().filter(|step| step.verdict == Some(*verdict)).count();
        if count > 0 {
            mark(html, *verdict, &format!("{count} {verdict}"));
        }
    }
    let mut patterns: BTreeMap<&str, u64> = BTreeMap::new();
    timeline
        .entries
        .iter()
        .flat_map(|entry| &entry.detections)
        .for_each(|found| *patterns.entry(&found.pattern).or_default() += 1);
    for (pattern, count) in patterns {
        html.put_template("<li>{} {}</li>", &[&count, &one_line(pattern, 64)]);
    }
    let mut kinds: BTreeMap<InterventionKind, u64> = BTreeMap::new();
    timeline
        .entries
        .iter()
        .flat_map(portcullis_review::timeline::TimelineEntry::kinds)
        .for_each(|kind| *kinds.entry(kind).or_default() += 1);
    for (kind, count) in kinds {
        html.put_template("<li>{} {}</li>", &[&count, &kind]);
    }
    if let Some(differing) = differing {
        html.put_template(
            "<li><b>{} would change</b></li>",
            &[&count_noun(differing as u64, "step")],
        );
    }
    html.put_template("</ul>", &[]);
}

/// Explains the marks.
pub fn add_legend(html: &mut Html) {
    html.put_template("<div class=\"legend\"><div><b>verdicts</b><ul>", &[]);
    Verdict::ALL.iter().for_each(|verdict| mark(html, *verdict, verdict.as_str()));
    html.put_template("</ul></div><div><b>patterns</b><ul>", &[]);
    for severity in Severity::ALL {
        html.put_template(
            "<li class=\"chip s-{}\"><b>{}</b> {}</li>",
            &[severity, &severity_letter(*severity), severity],
        );
    }
    html.put_template("</ul></div><div><b>interventions</b><ul>", &[]);
    for kind in InterventionKind::ALL {
        html.put_template("<li class=\"chip k\"><b>{}</b> {}</li>", &[&kind_letter(*kind), kind]);
    }
    html.put_template("</ul></div></div>", &[]);
}

fn mark(html: &mut Html, verdict: Verdict, text: &str) {
    html.put_template(
        "<li class=\"badge v-{}\"><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path d=\"{}\"/></svg>{}</li>",
        &[&verdict, &dot_class(Some(verdict)), &text],
    );
}
