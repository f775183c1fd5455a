//! The files that a rollback of an incident would put back, and the form that does it.

use super::incident::IncidentQuery;
use super::parts::{add_hidden, add_proof_fields, begin_form};
use super::plan::add_plan;
use super::{Frame, Place, encode_value};
use crate::access::Visitor;
use crate::kept::KeptState;
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_config::Config;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::checkpoints::restoring::{RestoreOutcome, digest_plan};
use portcullis_review::decisions::find_restore_point;
use portcullis_review::incidents::find_incident;
use portcullis_served::Role;

/// Composes the page.
///
/// # Errors
/// Fails if there is no such incident or checkpoint, or if something cannot be read.
pub(crate) fn compose(
    site: &Site,
    reading: &Reading,
    visitor: &Visitor,
    query: &IncidentQuery,
) -> Result<Frame> {
    let incident = find_incident(&reading.store, &reading.home, &query.id)?;
    let point = find_restore_point(&incident, None)?;
    if !site.sees_files() {
        let command = reading.commands.spell(&format!("incident rollback {}", incident.id));
        let main = Html::from_template(
            "<p class=\"lead\">The files are their user's alone. An administrator restores them and lets \
             the session go on: <code>{}</code></p><p><a href=\"/incident?id={}\">Back to the \
             incident</a></p>",
            &[&command, &encode_value(&incident.id)],
        );
        return Ok(Frame {
            title: "Rollback".into(),
            place: Place::Incidents,
            is_live: false,
            main,
        });
    }
    let config = Config::load(&site.places, Some(&reading.home))?;
    let kept = KeptState::open(&reading.home, &config, &point.checkpoint)?;
    let outcome = kept.restore()?.plan()?;
    let mut main = Html::new();
    main.put_template(
        "<p class=\"lead\">Back to the checkpoint <a href=\"/checkpoint?id={}\">{}</a>: {}.</p>\
         <section><h2>What would be put back</h2>",
        &[
            &encode_value(&point.checkpoint),
            &one_line(&point.checkpoint, 64),
            &one_line(&point.because, 240),
        ],
    );
    add_plan(&mut main, &outcome);
    let approvers = site.approvers()?;
    if let RestoreOutcome::PutBack(planned) = &outcome
        && visitor.role >= Role::Operator
        && !approvers.is_empty()
    {
        begin_form(&mut main, "/incident/decide", visitor);
        add_hidden(&mut main, "id", &incident.id);
        add_hidden(&mut main, "option", "rollback");
        add_hidden(&mut main, "plan", &digest_plan(planned));
        main.put_template(
            "<label>Reason, for the journal (optional)<input name=\"words\" maxlength=\"500\" \
             autocomplete=\"off\"></label>",
            &[],
        );
        add_proof_fields(&mut main, &approvers, "/incident/passkey");
        main.put_template("<button class=\"main\">Put these back and go on</button></form>", &[]);
    }
    main.put_template(
        "<p><a href=\"/incident?id={}\">Back to the incident</a></p></section>",
        &[&encode_value(&incident.id)],
    );
    Ok(Frame { title: "Rollback".into(), place: Place::Incidents, is_live: false, main })
}
