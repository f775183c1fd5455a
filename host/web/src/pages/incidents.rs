//! Stopped sessions, each with its cause and its state.

use super::parts::format_time;
use super::{Frame, Place, encode_value};
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::incident::Incident;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::incidents::{IncidentStatus, incident_status, list_incidents};

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(reading: &Reading) -> Result<Frame> {
    let known = list_incidents(&reading.store, &reading.home, 0, now_ms())?;
    let mut main = Html::new();
    if known.incidents.is_empty() {
        main.put_template("<p class=\"lead\">No session was stopped.</p>", &[]);
    }
    for incident in &known.incidents {
        let status = incident_status(&reading.store, &reading.home, incident)?;
        add_incident(&mut main, incident, status);
    }
    for damaged in &known.damaged {
        main.put_template("<p class=\"notice bad\">{}</p>", &[&one_line(damaged, 512)]);
    }
    Ok(Frame { title: "Incidents".into(), place: Place::Incidents, is_live: true, main })
}

fn add_incident(main: &mut Html, incident: &Incident, status: IncidentStatus) {
    let id = one_line(&incident.id, 64);
    main.put_template(
        "<section><h2>{}</h2><p class=\"goal\">{}, session <a href=\"/session?id={}\">{}</a>: \
         <b>{}</b></p>",
        &[
            &one_line(&incident.report.summary, 300),
            &format_time(incident.at),
            &encode_value(&incident.session),
            &one_line(&incident.session, 40),
            &status.as_str(),
        ],
    );
    main.put_template(
        "<dl><dt>cause</dt><dd>{}</dd></dl><p><a href=\"/incident?id={}\">",
        &[&one_line(&incident.report.root_cause, 600), &encode_value(&incident.id)],
    );
    let words = match status {
        IncidentStatus::Stopped => "Decide how it goes on",
        _ => "The whole incident",
    };
    main.put_template("{} ({})</a></p></section>", &[&words, &id]);
}
