//! The steps of a session as a list: each with its result, and everything else one click away.

use crate::Html;
use crate::chart::{dot_class, kind_letter, severity_letter, verdict_name};
use portcullis_core::finding::{Detection, Response};
use portcullis_core::record::{RecordKind, RecordedIntervention};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::words;
use portcullis_review::timeline::{ActiveInterventions, Timeline, TimelineEntry};

/// The most unremarkable steps that expand together.
const FOLD: usize = 500;
/// The most bytes of an untrusted text.
const TEXT: usize = 4000;

/// Formats all steps of a session.
pub fn list_steps(timeline: &Timeline, anchor: &str) -> Html {
    let mut html = Html::from_template("<ol class=\"steps\">", &[]);
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
    html.put_template("</ol>", &[]);
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
        format!("{} allowed", count_noun(steps, "step"))
    };
    html.put_template("<li class=\"fold\"><details><summary>{}</summary><ol>", &[&summary]);
    for entry in quiet {
        if entry.prompt {
            asked_for(html, entry, anchor);
        } else if let Some(step) = entry.step {
            html.put_template(
                "<li id=\"{}-{}\"><span class=\"n\">{}</span>",
                &[&anchor, &entry.place, &step],
            );
            html.put_template(
                "<span class=\"risk\">{}</span><span>",
                &[&entry.risk.unwrap_or_default()],
            );
            what(html, timeline, entry);
            html.put_template("</span></li>", &[]);
        }
    }
    html.put_template("</ol></details></li>", &[]);
}

fn asked_for(html: &mut Html, entry: &TimelineEntry, anchor: &str) {
    let prompt = one_line(&words::on_one_line(&entry.summary), TEXT);
    html.put_template(
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
    html.put_template(
        "<li class=\"step\" id=\"{}-{}\"><details><summary><span class=\"n\">{}</span>",
        &[&anchor, &entry.place, &number],
    );
    add_badge(html, entry);
    html.put_template(
        "<span class=\"risk\">{}</span><span class=\"text\">",
        &[&entry.risk.map(|risk| risk.to_string()).unwrap_or_default()],
    );
    what(html, timeline, entry);
    if let Some(decision) = &entry.decision {
        html.put_template("<span class=\"why\">", &[]);
        html.put_prose(&one_line(
            &words::on_one_line(&timeline.shorten_paths(&decision.primary_reason)),
            400,
        ));
        html.put_template("</span>", &[]);
    }
    add_chips(html, entry, before);
    html.put_template("</span></summary><div class=\"more\">", &[]);
    add_details(html, timeline, entry);
    html.put_template("</div></details></li>", &[]);
}

/// Adds the verdict or the kind of entry, as a shape and a word.
pub fn add_badge(html: &mut Html, entry: &TimelineEntry) {
    let (class, word) = match (entry.verdict, entry.kind) {
        (Some(_), _) | (None, RecordKind::Unreviewed) => (verdict_name(entry), verdict_name(entry)),
        (None, kind) => ("other", kind.as_str()),
    };
    html.put_template(
        "<span class=\"badge v-{}\"><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\"><path d=\"{}\"/></svg>{}</span>",
        &[&class, &dot_class(entry.verdict), &word],
    );
}

fn what(html: &mut Html, timeline: &Timeline, entry: &TimelineEntry) {
    if let Some(agent) = &entry.agent {
        html.put_template("<span class=\"agent\">{}</span> ", &[&one_line(agent, 32)]);
    }
    html.put_template(
        "<code class=\"what\">{}</code>",
        &[&one_line(&timeline.shorten_paths(&entry.summary), 400)],
    );
}

/// Adds the findings, interventions and faults, one word each.
pub fn add_chips(html: &mut Html, entry: &TimelineEntry, before: &ActiveInterventions) {
    html.put_template("<span class=\"chips\">", &[]);
    for found in &entry.detections {
        let letter = severity_letter(found.severity);
        html.put_template(
            "<span class=\"chip s-{}\"><b>{}</b> {}</span>",
            &[&found.severity, &letter, &one_line(&found.pattern, 64)],
        );
    }
    for (kind, done) in entry.kinds().zip(&entry.interventions) {
        html.put_template(
            "<span class=\"chip k\"><b>{}</b> {}</span>",
            &[&kind_letter(kind), &done.kind],
        );
    }
    for fault in &entry.faults {
        html.put_template("<span class=\"chip fault\">fault: {}</span>", &[&fault.kind]);
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
        html.put_template("<span class=\"chip force\">{}</span>", &[word]);
    }
    if entry.failed.is_some() {
        html.put_template("<span class=\"chip\">failed</span>", &[]);
    }
    html.put_template("</span>", &[]);
}

/// Adds all details of a step.
pub fn add_details(html: &mut Html, timeline: &Timeline, entry: &TimelineEntry) {
    html.put_template("<dl>", &[]);
    if let Some(decision) = &entry.decision {
        texts(html, "why", decision.reasons.iter().map(|reason| timeline.shorten_paths(reason)));
        texts(html, "instead", decision.alternatives.iter().cloned());
    }
    texts(html, "runs as", entry.run_as.iter().cloned());
    texts(html, "failed with", entry.failed.iter().filter(|error| !error.is_empty()).cloned());
    entry.detections.iter().for_each(|found| detection(html, timeline, found));
    entry.interventions.iter().for_each(|done| intervention(html, done));
    texts(html, "fault", entry.faults.iter().map(ToString::to_string));
    let limits = words::describe_limits(&entry.standing.limits);
    texts(html, "limits in force", Some(limits).filter(|limits| !limits.is_empty()).into_iter());
    texts(html, "held", entry.standing.held.iter().cloned());
    texts(html, "stopped", entry.standing.stopped.iter().cloned());
    html.put_template("</dl>", &[]);
}

fn detection(html: &mut Html, timeline: &Timeline, found: &Detection) {
    html.put_template(
        "<dt>pattern</dt><dd><p><b>{}</b>, {}, confidence {}, impact {}, since step {}</p><p>",
        &[
            &one_line(&found.pattern, 64),
            &found.severity,
            &found.confidence,
            &found.impact,
            &found.first_step,
        ],
    );
    html.put_prose(&one_line(&timeline.shorten_paths(&found.summary), TEXT));
    html.put_template("</p><ul>", &[]);
    for evidence in &found.evidence {
        let step = evidence.step.map(|step| format!(" (step {step})")).unwrap_or_default();
        let value = one_line(&timeline.shorten_paths(&evidence.value), TEXT);
        html.put_template(
            "<li>{}: <code>{}</code>{}</li>",
            &[&one_line(&evidence.kind, 64), &value, &step],
        );
    }
    html.put_template("</ul></dd>", &[]);
}

fn intervention(html: &mut Html, done: &RecordedIntervention) {
    html.put_template("<dt>intervention</dt><dd><p>{}</p>", &[&words::describe_intervention(done)]);
    for message in words::intervention_text(done) {
        html.put_template("<blockquote>", &[]);
        html.put_prose(&portcullis_core::text::list_lines(&message, TEXT));
        html.put_template("</blockquote>", &[]);
    }
    if let Response::Stop { report, .. } = &done.response {
        let parts = [
            ("immediate", &report.immediate),
            ("preventive", &report.preventive),
            ("configuration", &report.configuration),
        ];
        html.put_template("<ul>", &[]);
        for (name, steps) in parts {
            for step in steps {
                html.put_template("<li>{}: ", &[&name]);
                html.put_prose(&one_line(step, TEXT));
                html.put_template("</li>", &[]);
            }
        }
        html.put_template("</ul>", &[]);
    }
    html.put_template("</dd>", &[]);
}

/// Adds a term with its texts; nothing without any.
fn texts(html: &mut Html, term: &'static str, texts: impl Iterator<Item = String>) {
    let mut texts = texts.peekable();
    if texts.peek().is_some() {
        html.put_template("<dt>{}</dt>", &[&term]);
    }
    texts.for_each(|text| {
        html.put_template("<dd class=\"said\">", &[]);
        html.put_prose(&portcullis_core::text::list_lines(&text, TEXT));
        html.put_template("</dd>", &[]);
    });
}
