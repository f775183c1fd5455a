//! One incident: its cause and impact, and the ways on as a form.

use super::parts::{add_hidden, add_notice, add_proof_fields, begin_form};
use super::{Frame, Place, encode_value};
use crate::access::Visitor;
use crate::people::Approvers;
use crate::site::Reading;
use anyhow::Result;
use portcullis_core::incident::Incident;
use portcullis_core::record_commands::RecordCommands;
use portcullis_core::session::ResumeConditions;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_page::incident::{add_report, summarize_incident};
use portcullis_review::decisions::list_leftovers;
use portcullis_review::incidents::{
    IncidentStatus, find_incident, incident_status, list_decisions,
};
use portcullis_served::Role;
use portcullis_store::Home;
use serde::Deserialize;

/// The ways on that a form decides: the value, the name, the meaning.
const WAYS: [(&str, &str, &str); 3] = [
    (
        "resume",
        "Resume with limits",
        "half of each limit, and reading and writing in the project only",
    ),
    (
        "supervise",
        "Resume under supervision",
        "the client asks a person about each write, deletion and command",
    ),
    ("abort", "Abort", "the session stays stopped for good; needs no proof"),
];
/// The most paths that are listed.
const MOST_PATHS: usize = 50;

#[derive(Deserialize)]
pub(crate) struct IncidentQuery {
    pub(crate) id: String,
    #[serde(default)]
    said: String,
}

/// Composes the page.
///
/// # Errors
/// Fails if there is no such incident, or if the journal cannot be read.
pub(crate) fn compose(
    reading: &Reading,
    visitor: &Visitor,
    approvers: &Approvers,
    query: &IncidentQuery,
) -> Result<Frame> {
    let mut incident = find_incident(&reading.store, &reading.home, &query.id)?;
    let advice = &mut incident.report.recommendations;
    let texts = advice.immediate.iter_mut().chain(&mut advice.preventive);
    for text in texts.chain(&mut advice.configuration) {
        *text = reading.commands.spell_in(text, |_| false);
    }
    let status = incident_status(&reading.store, &reading.home, &incident)?;
    let decisions = list_decisions(&reading.store, &incident)?;
    let mut main = Html::new();
    add_result(&mut main, &query.said);
    main.add_piece(&summarize_incident(&incident, status));
    add_ways(&mut main, &reading.commands, &incident, status, visitor, approvers);
    if status == IncidentStatus::Decided(ResumeConditions::Aborted) {
        add_leftovers(&mut main, &reading.home, &incident);
    }
    add_report(&mut main, &incident, &decisions);
    let title = format!("Incident {}", one_line(&incident.id, 64));
    Ok(Frame { title, place: Place::Incidents, is_live: false, main })
}

/// Says what became of the last decision.
fn add_result(main: &mut Html, said: &str) {
    let (is_good, text) = match said {
        "resumed" => (true, "The session goes on with half of each limit."),
        "supervised" => (true, "The session goes on; each change is asked about."),
        "rolled-back" => (true, "The files were put back, and the session goes on."),
        "lifted" => (true, "Limits and actions are as configured."),
        "aborted" => (true, "The session stays stopped for good."),
        _ => return add_refusal(main, said),
    };
    add_notice(main, is_good, text);
}

/// Says why nothing was done.
pub(super) fn add_refusal(main: &mut Html, said: &str) {
    let text = match said {
        "unproved" => "Nothing was done: the code or the password is wrong, or was used.",
        "closed" => "Nothing was done: too many were wrong. Wait a minute.",
        "changed" => "Nothing was done: files have changed since you looked. Look again.",
        "conflict" => {
            "Nothing was done: somebody changed files since, which a terminal can overwrite with \
             `--force`."
        }
        _ => return,
    };
    add_notice(main, false, text);
}

fn add_ways(
    main: &mut Html,
    commands: &RecordCommands,
    incident: &Incident,
    status: IncidentStatus,
    visitor: &Visitor,
    approvers: &Approvers,
) {
    main.put_template("<section><h2>Ways on</h2>", &[]);
    if status == IncidentStatus::Past {
        main.put_template(
            "<p>None: its session has a newer incident, or is no longer known.</p></section>",
            &[],
        );
        return;
    }
    if visitor.role < Role::Operator {
        add_commands(main, commands, incident);
        main.put_template("</section>", &[]);
        return;
    }
    if approvers.is_empty() {
        add_notice(
            main,
            false,
            &format!(
                "This page can abort, and lets nothing go on yet: set up the proof that a person \
                 answers with `{}` in a terminal.",
                commands.spell("approvals proof")
            ),
        );
    }
    begin_form(main, "/incident/decide", visitor);
    add_hidden(main, "id", &incident.id);
    main.put_template("<fieldset class=\"ways\"><legend>What is to happen</legend>", &[]);
    for (value, name, meaning) in WAYS {
        add_way(main, value, name, meaning);
    }
    if matches!(status, IncidentStatus::Decided(terms) if terms.is_held()) {
        add_way(main, "lift", "Lift", "the limits or the supervision end: all is as configured");
    }
    main.put_template("</fieldset>", &[]);
    main.put_template(
        "<label>Reason, for the journal (optional)<input name=\"words\" maxlength=\"500\" \
         autocomplete=\"off\"></label>",
        &[],
    );
    add_proof_fields(main, approvers, "/incident/passkey");
    main.put_template("<button class=\"main\">Decide</button></form>", &[]);
    if incident.recovery.iter().any(|way| way.checkpoint.is_some()) {
        main.put_template(
            "<p>Or put the files back as they were, and then go on: <a \
             href=\"/incident/rollback?id={}\">look at what a rollback would change</a>.</p>",
            &[&encode_value(&incident.id)],
        );
    }
    main.put_template("</section>", &[]);
}

fn add_way(main: &mut Html, value: &str, name: &str, meaning: &str) {
    main.put_template(
        "<label><input type=\"radio\" name=\"option\" value=\"{}\" required><span><b>{}</b> {}</span>\
         </label>",
        &[&value, &name, &meaning],
    );
}

/// Lists the ways on for somebody who may not decide here.
fn add_commands(main: &mut Html, commands: &RecordCommands, incident: &Incident) {
    main.put_template(
        "<p>An operator decides on this page, and a person in a terminal:</p><dl>",
        &[],
    );
    for way in &incident.recovery {
        main.put_template(
            "<dt>{}</dt><dd><code>{}</code></dd>",
            &[&one_line(&way.option, 64), &one_line(&commands.spell_line(&way.command), 200)],
        );
    }
    main.put_template("</dl>", &[]);
}

fn add_leftovers(main: &mut Html, home: &Home, incident: &Incident) {
    let left = list_leftovers(home, incident);
    let lists = [
        ("Files that it made", &left.made),
        ("Commands that it started in the background: end what still runs", &left.background),
    ];
    for (heading, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        main.put_template("<section><h2>{} ({})</h2><ul>", &[&heading, &lines.len()]);
        for line in lines.iter().take(MOST_PATHS) {
            main.put_template("<li><code>{}</code></li>", &[&one_line(line, 240)]);
        }
        main.put_template("</ul></section>", &[]);
    }
}
