//! An incident, for readers who were not there: a complete page in a file, and the parts that the
//! service's page shows of it.

pub mod lines;

use crate::{Html, render_page};
use lines::{describe_status, list_actions, list_impact, list_moments, split_literal};
use portcullis_core::incident::{ActionProgress, Incident};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_review::incidents::IncidentStatus;
use portcullis_terminal::paint;

const BEGINNING: &str = "<!doctype html>\n<!-- a page of portcullis incident -->\n";
/// The most bytes of one line.
const MOST: usize = 2000;

/// Formats the whole page.
pub fn render_incident(
    incident: &Incident,
    standing: IncidentStatus,
    decisions: &[Record],
) -> String {
    let lead = summarize_incident(incident, standing);
    let mut main = Html::new();
    add_options(&mut main, incident, standing);
    add_report(&mut main, incident, decisions);
    render_page(BEGINNING, &format!("Incident {}", one_line(&incident.id, 64)), &lead, &main)
}

/// Returns the summary and the key facts.
pub fn summarize_incident(incident: &Incident, standing: IncidentStatus) -> Html {
    let mut lead = Html::from_template("<p class=\"lead\">", &[]);
    lead.put_prose(&one_line(&incident.report.summary, MOST));
    lead.put_template("</p>", &[]);
    figures(&mut lead, incident, standing);
    lead
}

/// Adds the cause, what it led to, and what was done about it.
pub fn add_report(main: &mut Html, incident: &Incident, decisions: &[Record]) {
    let report = &incident.report;
    section(main, "Root cause", report.root_cause.lines());
    section(main, "Contributing factors", &report.contributing_factors);
    section(main, "Impact", list_impact(incident));
    recommendations(main, incident);
    section(main, "Timeline", list_moments(incident));
    let detected = incident.detections.iter().map(|named| &named.finding);
    let detected = detected.map(|one| {
        format!(
            "{} ({}, confidence {}): {}",
            one.pattern, one.severity, one.confidence, one.summary
        )
    });
    section(main, "Detections", detected);
    section(main, "What the person asked for", incident.state.goals.iter().map(|goal| &goal.text));
    newest(main, incident);
    section(
        main,
        "What a person did",
        decisions
            .iter()
            .map(|record| format!("{} UTC  {}", paint::time(record.at), record.summary)),
    );
    if !incident.whole {
        main.put_template(
            "<p class=\"goal\">Not all of the session's records were there to look at.</p>",
            &[],
        );
    }
}

/// Adds the key facts.
fn figures(html: &mut Html, incident: &Incident, standing: IncidentStatus) {
    let (state, issue) = (&incident.state, &incident.state.issue);
    html.put_template(
        "<ul class=\"figures\"><li class=\"chip s-{}\">{}</li>",
        &[&issue.severity, &issue.severity],
    );
    let agent = incident
        .agent
        .as_deref()
        .map(|agent| format!(", subagent {}", one_line(agent, 64)))
        .unwrap_or_default();
    let facts = [
        one_line(&issue.name, 64),
        format!("confidence {}, impact {}", issue.confidence, issue.impact),
        format!("{} UTC", paint::time(incident.at)),
        format!(
            "session {} of {}{agent}",
            one_line(&incident.session, 80),
            one_line(&incident.client, 64)
        ),
        format!("begun {} UTC", paint::time(state.started)),
        format!("began at step {}", issue.first_step),
        describe_status(standing).to_owned(),
    ];
    facts.iter().for_each(|one| html.put_template("<li>{}</li>", &[one]));
    html.put_template("</ul>", &[]);
}

fn section(html: &mut Html, heading: &str, lines: impl IntoIterator<Item = impl AsRef<str>>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return;
    }
    html.put_template("<section><h2>{}</h2>", &[&heading]);
    list(html, lines);
    html.put_template("</section>", &[]);
}

fn list(html: &mut Html, lines: impl IntoIterator<Item = impl AsRef<str>>) {
    html.put_template("<ul>", &[]);
    for line in lines {
        let line = one_line(line.as_ref(), MOST);
        match split_literal(&line) {
            Some((label, names)) => {
                html.put_template("<li>{}: <code>{}</code></li>", &[&label, &names])
            }
            None => {
                html.put_template("<li>", &[]);
                html.put_prose(&line);
                html.put_template("</li>", &[]);
            }
        }
    }
    html.put_template("</ul>", &[]);
}

fn recommendations(html: &mut Html, incident: &Incident) {
    let all = &incident.report.recommendations;
    html.put_template("<section><h2>Recommended</h2><dl>", &[]);
    for (heading, lines) in [
        ("now", &all.immediate),
        ("to prevent a recurrence", &all.preventive),
        ("in the configuration", &all.configuration),
    ] {
        html.put_template("<dt>{}</dt><dd>", &[&heading]);
        list(html, lines);
        html.put_template("</dd>", &[]);
    }
    html.put_template("</dl></section>", &[]);
}

/// Adds the newest actions, each with its decision and its outcome.
fn newest(html: &mut Html, incident: &Incident) {
    html.put_template("<section><h2>The newest actions</h2><ol class=\"steps\">", &[]);
    for (action, line) in incident.actions.iter().zip(list_actions(incident)) {
        let verdict = action.verdict.map_or("unreviewed", |verdict| verdict.as_str());
        let mark = if action.progress == ActionProgress::Failed { "block" } else { verdict };
        let step = action.step.map(|step| step.to_string()).unwrap_or_default();
        html.put_template(
            "<li class=\"step\"><span class=\"n\">{}</span><span class=\"badge v-{}\">{}</span> ",
            &[&step, &mark, &verdict],
        );
        html.put_template("<code class=\"what\">{}</code></li>", &[&one_line(&line, MOST)]);
    }
    html.put_template("</ol></section>", &[]);
}

fn add_options(html: &mut Html, incident: &Incident, standing: IncidentStatus) {
    if standing == IncidentStatus::Past {
        return section(
            html,
            "Next steps",
            ["None: its session has a newer incident, or is no longer known."],
        );
    }
    html.put_template("<section><h2>Next steps, in a terminal of your own</h2><dl>", &[]);
    for way in &incident.recovery {
        let what = way
            .not_now
            .as_ref()
            .map_or_else(|| way.what.clone(), |why| format!("not possible: {why}"));
        html.put_template(
            "<dt>{}</dt><dd><code>{}</code>",
            &[&way.option, &one_line(&way.command, 200)],
        );
        html.put_template("<p>", &[]);
        html.put_prose(&one_line(&what, MOST));
        html.put_template("</p></dd>", &[]);
    }
    html.put_template("</dl></section>", &[]);
}
