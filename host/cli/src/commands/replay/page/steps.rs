//! The steps of a session as a list: each with its result, and everything else one click away.

use super::chart::{kind_letter, severity_letter, shape, verdict_name};
use crate::page::Html;
use portcullis_core::finding::{Detection, Response};
use portcullis_core::record::{RecordKind, RecordedIntervention};
use portcullis_core::text::{counted, one_line};
use portcullis_review::timeline::words;
use portcullis_review::timeline::{ActiveInterventions, Timeline, TimelineEntry};

/// The most unremarkable steps that expand together.
const FOLD: usize = 500;
/// The most bytes of an untrusted text.
const TEXT: usize = 4000;

/// Formats all steps of a session.
pub fn list(timeline: &Timeline, anchor: &str) -> Html {
    let mut html = Html::of("<ol class=\"steps\">", &[]);
    let mut before = ActiveInterventions::default();
    let mut runs =
        timeline.entries.chunk_by(|one, two| one.is_quiet() && two.is_quiet()).peekable();
    while let Some(run) = runs.next() {
        match run {
            [entry] if !entry.is_quiet() => {
                step(&mut html, timeline, entry, &before, anchor);
                before.clone_from(&entry.standing);
            }
            // The person's last request is shown before its results.
            _ => {
                let asked =
                    run.iter().rposition(|entry| entry.prompt).filter(|_| runs.peek().is_some());
                let (folded, rest) = run.split_at(asked.unwrap_or(run.len()));
                folded.chunks(FOLD).for_each(|quiet| fold(&mut html, timeline, quiet, anchor));
                if let [prompt, rest @ ..] = rest {
                    asked_for(&mut html, prompt, anchor);
                    rest.chunks(FOLD).for_each(|quiet| fold(&mut html, timeline, quiet, anchor));
                }
            }
        }
    }
    html.put("</ol>", &[]);
    html
}

fn fold(html: &mut Html, timeline: &Timeline, quiet: &[TimelineEntry], anchor: &str) {
    let steps = quiet.iter().filter(|entry| entry.step.is_some()).count() as u64;
    let asked = quiet.iter().any(|entry| entry.prompt);
    if steps == 0 && !asked {
        return;
    }
    let summary = if steps == 0 {
        "the person's words".to_owned()
    } else {
        format!("{} allowed", counted(steps, "step"))
    };
    html.put("<li class=\"fold\"><details><summary>{}</summary><ol>", &[&summary]);
    for entry in quiet {
        if entry.prompt {
            asked_for(html, entry, anchor);
        } else if let Some(step) = entry.step {
            html.put(
                "<li id=\"{}-{}\"><span class=\"n\">{}</span>",
                &[&anchor, &entry.place, &step],
            );
            html.put("<span class=\"risk\">{}</span><span>", &[&entry.risk.unwrap_or_default()]);
            what(html, timeline, entry);
            html.put("</span></li>", &[]);
        }
    }
    html.put("</ol></details></li>", &[]);
}

fn asked_for(html: &mut Html, entry: &TimelineEntry, anchor: &str) {
    let prompt = one_line(&words::on_one_line(&entry.summary), TEXT);
    html.put(
        "<li class=\"person\" id=\"{}-{}\"><b>person</b><q>{}</q></li>",
        &[&anchor, &entry.place, &prompt],
    );
}

fn step(
    html: &mut Html,
    timeline: &Timeline,
    entry: &TimelineEntry,
    before: &ActiveInterventions,
    anchor: &str,
) {
    let number = entry.step.map(|step| step.to_string()).unwrap_or_default();
    html.put(
        "<li class=\"step\" id=\"{}-{}\"><details><summary><span class=\"n\">{}</span>",
        &[&anchor, &entry.place, &number],
    );
    badge(html, entry);
    html.put(
        "<span class=\"risk\">{}</span><span class=\"text\">",
        &[&entry.risk.map(|risk| risk.to_string()).unwrap_or_default()],
    );
    what(html, timeline, entry);
    if let Some(decision) = &entry.decision {
        html.put("<span class=\"why\">", &[]);
        html.prose(&one_line(&words::on_one_line(&timeline.near(&decision.primary_reason)), 400));
        html.put("</span>", &[]);
    }
    chips(html, entry, before);
    html.put("</span></summary><div class=\"more\">", &[]);
    more(html, timeline, entry);
    html.put("</div></details></li>", &[]);
}

/// Adds the verdict or the kind of entry, as a shape and a word.
pub fn badge(html: &mut Html, entry: &TimelineEntry) {
    let (class, word) = match (entry.verdict, entry.kind) {
        (Some(_), _) | (None, RecordKind::Unreviewed) => (verdict_name(entry), verdict_name(entry)),
        (None, kind) => ("other", kind.as_str()),
    };
    html.put(
        "<span class=\"badge v-{}\"><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path d=\"{}\"/></svg>{}</span>",
        &[&class, &shape(entry.verdict), &word],
    );
}

fn what(html: &mut Html, timeline: &Timeline, entry: &TimelineEntry) {
    if let Some(agent) = &entry.agent {
        html.put("<span class=\"agent\">{}</span> ", &[&one_line(agent, 32)]);
    }
    html.put("<code class=\"what\">{}</code>", &[&one_line(&timeline.near(&entry.summary), 400)]);
}

/// Adds the findings, interventions and faults, one word each.
pub fn chips(html: &mut Html, entry: &TimelineEntry, before: &ActiveInterventions) {
    html.put("<span class=\"chips\">", &[]);
    for found in &entry.detections {
        let letter = severity_letter(found.severity);
        html.put(
            "<span class=\"chip s-{}\"><b>{}</b> {}</span>",
            &[&found.severity, &letter, &one_line(&found.pattern, 64)],
        );
    }
    for (kind, done) in entry.kinds().zip(&entry.interventions) {
        html.put("<span class=\"chip k\"><b>{}</b> {}</span>", &[&kind_letter(kind), &done.kind]);
    }
    for fault in &entry.faults {
        html.put("<span class=\"chip fault\">fault: {}</span>", &[&fault.kind]);
    }
    let most = |standing: &ActiveInterventions| {
        standing.limits.iter().map(|limit| limit.maximum).collect::<Vec<_>>()
    };
    let now = &entry.standing;
    let news = [
        ("limited", most(now) != most(before)),
        ("held", now.held.is_some() && before.held.is_none()),
        ("stopped", now.stopped.is_some() && before.stopped.is_none()),
    ];
    for (word, _) in news.iter().filter(|(_, new)| *new) {
        html.put("<span class=\"chip force\">{}</span>", &[word]);
    }
    if entry.failed.is_some() {
        html.put("<span class=\"chip\">failed</span>", &[]);
    }
    html.put("</span>", &[]);
}

/// Adds all details of a step.
pub fn more(html: &mut Html, timeline: &Timeline, entry: &TimelineEntry) {
    html.put("<dl>", &[]);
    if let Some(decision) = &entry.decision {
        texts(html, "why", decision.reasons.iter().map(|reason| timeline.near(reason)));
        texts(html, "instead", decision.alternatives.iter().cloned());
    }
    texts(html, "runs as", entry.run_as.iter().cloned());
    texts(html, "failed with", entry.failed.iter().filter(|error| !error.is_empty()).cloned());
    entry.detections.iter().for_each(|found| detection(html, timeline, found));
    entry.interventions.iter().for_each(|done| intervention(html, done));
    texts(html, "fault", entry.faults.iter().map(ToString::to_string));
    let limits = words::limits(&entry.standing.limits);
    texts(html, "limits in force", Some(limits).filter(|limits| !limits.is_empty()).into_iter());
    texts(html, "held", entry.standing.held.iter().cloned());
    texts(html, "stopped", entry.standing.stopped.iter().cloned());
    html.put("</dl>", &[]);
}

fn detection(html: &mut Html, timeline: &Timeline, found: &Detection) {
    html.put(
        "<dt>pattern</dt><dd><p><b>{}</b>, {}, confidence {}, impact {}, since step {}</p><p>",
        &[
            &one_line(&found.pattern, 64),
            &found.severity,
            &found.confidence,
            &found.impact,
            &found.first_step,
        ],
    );
    html.prose(&one_line(&timeline.near(&found.summary), TEXT));
    html.put("</p><ul>", &[]);
    for evidence in &found.evidence {
        let step = evidence.step.map(|step| format!(" (step {step})")).unwrap_or_default();
        let value = one_line(&timeline.near(&evidence.value), TEXT);
        html.put("<li>{}: <code>{}</code>{}</li>", &[&one_line(&evidence.kind, 64), &value, &step]);
    }
    html.put("</ul></dd>", &[]);
}

fn intervention(html: &mut Html, done: &RecordedIntervention) {
    html.put("<dt>intervention</dt><dd><p>{}</p>", &[&words::intervention(done)]);
    for message in words::intervention_text(done) {
        html.put("<blockquote>", &[]);
        html.prose(&portcullis_core::text::lines(&message, TEXT));
        html.put("</blockquote>", &[]);
    }
    if let Response::Stop { report, .. } = &done.response {
        let parts = [
            ("immediate", &report.immediate),
            ("preventive", &report.preventive),
            ("configuration", &report.configuration),
        ];
        html.put("<ul>", &[]);
        for (name, steps) in parts {
            for step in steps {
                html.put("<li>{}: ", &[&name]);
                html.prose(&one_line(step, TEXT));
                html.put("</li>", &[]);
            }
        }
        html.put("</ul>", &[]);
    }
    html.put("</dd>", &[]);
}

/// Adds a term with its texts; nothing without any.
fn texts(html: &mut Html, term: &'static str, texts: impl Iterator<Item = String>) {
    let mut texts = texts.peekable();
    if texts.peek().is_some() {
        html.put("<dt>{}</dt>", &[&term]);
    }
    texts.for_each(|text| {
        html.put("<dd class=\"said\">", &[]);
        html.prose(&portcullis_core::text::lines(&text, TEXT));
        html.put("</dd>", &[]);
    });
}
