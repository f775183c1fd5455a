//! Carries out what an operator asks for: decisions about incidents, and restores of files.
//!
//! What lets a session go on, or changes files, needs the proof that a person asks, each time.

use crate::kept::KeptState;
use crate::pages::encode_value;
use crate::site::{GivenProof, ProofCheck, ProvedForm, Reading, Site};
use anyhow::{Result, bail};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_core::incident::Incident;
use portcullis_core::session::ResumeConditions;
use portcullis_core::text::one_line;
use portcullis_review::checkpoints::restoring::{RestoreOutcome, digest_plan, restore_record};
use portcullis_review::decisions::{
    IncidentDecision, check_decision, commit_decision, find_restore_point, list_leftovers,
    quarantine_leftovers,
};
use portcullis_review::incidents::find_incident;
use portcullis_review::stored_records::to_store;
use portcullis_served::Role;
use serde::Deserialize;

/// The most bytes of a person's words.
const MOST_WORDS: usize = 512;
/// Names a person who gave no proof.
const UNPROVED: &str = "a person on the page";

/// The form of a decision about an incident.
#[derive(Debug, Deserialize)]
pub(crate) struct DecisionForm {
    pub(crate) token: String,
    /// The incident.
    pub(crate) id: String,
    /// The way on.
    pub(crate) option: String,
    /// For a rollback: the digest of the plan that was shown.
    #[serde(default)]
    pub(crate) plan: String,
    #[serde(default)]
    pub(crate) words: String,
    #[serde(flatten)]
    pub(crate) proof: GivenProof,
}

/// The form of a restore.
#[derive(Debug, Deserialize)]
pub(crate) struct RestoreForm {
    pub(crate) token: String,
    /// The checkpoint.
    pub(crate) id: String,
    /// The digest of the plan that was shown.
    pub(crate) plan: String,
    #[serde(flatten)]
    pub(crate) proof: GivenProof,
}

impl ProvedForm for DecisionForm {
    const LEAST: Role = Role::Operator;

    fn token(&self) -> &str {
        &self.token
    }

    fn purpose(&self) -> String {
        format!("decide {} {} {}", self.option, self.id, self.plan)
    }

    fn proof(&self) -> &GivenProof {
        &self.proof
    }
}

impl ProvedForm for RestoreForm {
    const LEAST: Role = Role::Operator;

    fn token(&self) -> &str {
        &self.token
    }

    fn purpose(&self) -> String {
        format!("restore {} {}", self.id, self.plan)
    }

    fn proof(&self) -> &GivenProof {
        &self.proof
    }
}

/// Returns the terms that a form names.
fn find_terms(option: &str) -> Option<ResumeConditions> {
    Some(match option {
        "resume" => ResumeConditions::Limited,
        "supervise" => ResumeConditions::Supervised,
        "rollback" => ResumeConditions::RolledBack,
        "lift" => ResumeConditions::Lifted,
        "abort" => ResumeConditions::Aborted,
        _ => return None,
    })
}

/// Decides about an incident; returns the address of the page that says what became of it. Aborting
/// needs no proof: it lets nothing run.
///
/// # Errors
/// Fails if the decision is not possible, or if something cannot be read or written.
pub(crate) fn decide_incident(site: &Site, form: &DecisionForm) -> Result<String> {
    let Some(terms) = find_terms(&form.option) else {
        bail!("there is no way on named `{}`", one_line(&form.option, 64));
    };
    let mut reading = site.open()?;
    let config = Config::load(&site.places, Some(&reading.home))?;
    let incident = find_incident(&reading.store, &reading.home, &form.id)?;
    // A form names one whole id; `last` could be another one by now.
    if incident.id != form.id {
        bail!("there is no incident `{}`", one_line(&form.id, 64));
    }
    check_decision(&reading.store, &reading.home, &incident, terms)?;
    let id = encode_value(&incident.id);
    let report = |said: &str| Ok(format!("/incident?id={id}&said={said}"));
    let mut by = UNPROVED.to_owned();
    if terms != ResumeConditions::Aborted {
        match name_person(site, &reading, form)? {
            Ok(person) => by = person,
            Err(said) => return report(said),
        }
    }
    let by = by.as_str();
    let mut checkpoint = String::new();
    if terms == ResumeConditions::RolledBack {
        checkpoint = find_restore_point(&incident, None)?.checkpoint;
        let kept = KeptState::open(&reading.home, &config, &checkpoint)?;
        if let Some(said) = put_back(&mut reading, &kept, &form.plan, by)? {
            return report(said);
        }
    }
    let words = one_line(&form.words, MOST_WORDS);
    let decision = IncidentDecision { terms, reason: &words, by, checkpoint: &checkpoint };
    let limits = &config.policy.limits;
    commit_decision(&mut reading.store, &reading.home, limits, &incident, &decision, now_ms())?;
    if terms == ResumeConditions::Aborted && config.incidents.auto_cleanup {
        clean_up(&reading, &incident)?;
    }
    report(match terms {
        ResumeConditions::Limited => "resumed",
        ResumeConditions::Supervised => "supervised",
        ResumeConditions::RolledBack => "rolled-back",
        ResumeConditions::Lifted => "lifted",
        ResumeConditions::Aborted => "aborted",
    })
}

/// Restores the files of a checkpoint; returns the address of the page that says what became of it.
///
/// # Errors
/// Fails if the checkpoint does not exist, or if something cannot be read or written.
pub(crate) fn restore_checkpoint(site: &Site, form: &RestoreForm) -> Result<String> {
    let mut reading = site.open()?;
    let config = Config::load(&site.places, Some(&reading.home))?;
    let kept = KeptState::open(&reading.home, &config, &form.id)?;
    let id = encode_value(kept.undone.first.id.as_str());
    let report = |said: &str| Ok(format!("/checkpoint?id={id}&said={said}"));
    let by = match name_person(site, &reading, form)? {
        Ok(person) => person,
        Err(said) => return report(said),
    };
    let refused = put_back(&mut reading, &kept, &form.plan, &by)?;
    report(refused.unwrap_or("restored"))
}

/// Returns the words for the person whose proof it is, or the word for a proof that does not count.
fn name_person(
    site: &Site,
    reading: &Reading,
    form: &impl ProvedForm,
) -> Result<Result<String, &'static str>> {
    Ok(match site.check_proof(&reading.home, form)? {
        ProofCheck::Right(person) => Ok(person.described),
        ProofCheck::Wrong => Err("unproved"),
        ProofCheck::Closed => Err("closed"),
    })
}

/// Puts files back if that changes exactly what the person was shown; else returns the word for why
/// not. Behind a boundary the files are out of reach, and it fails.
fn put_back(
    reading: &mut Reading,
    kept: &KeptState,
    plan: &str,
    by: &str,
) -> Result<Option<&'static str>> {
    let restore = kept.restore()?;
    let planned = match restore.plan()? {
        RestoreOutcome::Refused(_) => return Ok(Some("conflict")),
        RestoreOutcome::PutBack(planned) => planned,
    };
    if digest_plan(&planned) != plan {
        return Ok(Some("changed"));
    }
    // What changes between these two lines is refused by the restore itself.
    let restored = match restore.carry_out()? {
        RestoreOutcome::Refused(_) => return Ok(Some("conflict")),
        RestoreOutcome::PutBack(restored) => restored,
    };
    if restored.undo.is_some() {
        let record = restore_record(&kept.undone.first, &restored, by, now_ms());
        reading.store.append_records(vec![to_store(&record)])?;
    }
    Ok(None)
}

fn clean_up(reading: &Reading, incident: &Incident) -> Result<()> {
    let left = list_leftovers(&reading.home, incident);
    quarantine_leftovers(&reading.home, incident, &left, now_ms())?;
    Ok(())
}
