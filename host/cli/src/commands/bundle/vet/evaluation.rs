//! Runs the bundle's plugins alongside the builtin ones over all of the material. Nothing of the
//! material is executed.

use super::material::Material;
use super::observer::BundleObserver;
use super::results::{Results, Sessions};
use super::subjects::Subjects;
use crate::commands::eval::{self, rows::EvalRow};
use crate::commands::replay::Pair;
use crate::error::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_author::cases::{self, Case, CaseRunner};
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_review::recording::{RecordedEvent, Recording};
use portcullis_review::reviewer::Reviewer;
use portcullis_review::session::ReviewSession;
use portcullis_review::timeline::{ActiveInterventions, Timeline};

/// The two setups, the observations of the plugins, and the progress.
pub struct Evaluation<'a> {
    subjects: &'a Subjects,
    without: Reviewer,
    with: Reviewer,
    observer: BundleObserver,
    progress: ProgressBar,
}

impl<'a> Evaluation<'a> {
    /// Sets up the builtin plugins, and the same with the bundle's.
    ///
    /// # Errors
    /// Fails if the sandbox cannot be set up.
    pub fn new(subjects: &'a Subjects, material: &Material) -> Result<Self> {
        let (without, mut with) = (subjects.new_reviewer(false)?, subjects.new_reviewer(true)?);
        with.plugins.watch_calls();
        let observer = BundleObserver::for_subjects(&subjects.all, with.config().policy.decision);
        Ok(Self { subjects, without, with, observer, progress: progress(material) })
    }

    /// Runs all of the material.
    ///
    /// # Errors
    /// Fails if a case cannot be played.
    pub fn run_material(mut self, material: &Material, results: &mut Results) -> Result<()> {
        for row in &material.rows {
            self.action(row, results);
            self.progress.inc(1);
        }
        if !material.sessions.is_empty() {
            let mut pair = Pair::default();
            for recording in &material.sessions {
                self.session(recording, &mut pair, results);
            }
            results.sessions = Some(Sessions {
                sessions: pair.other.sessions,
                steps: pair.other.steps,
                differing: pair.differing,
                stricter: pair.matrix.stricter(),
                milder: pair.matrix.milder(),
            });
        }
        for (plugin, cases) in &material.cases {
            self.cases(plugin, cases, results)?;
        }
        self.progress.finish_and_clear();
        for row in &mut results.plugins {
            if let Some(observations) = self.observer.observations_of(&row.name) {
                row.add_observations(observations);
            }
        }
        Ok(())
    }

    /// Reviews a single labelled action.
    fn action(&mut self, row: &EvalRow, results: &mut Results) {
        let label = results.count_label(&row.label);
        let counts = results.corpus.entry(label.clone()).or_default();
        let Ok(event) = &row.event else {
            counts.unreadable += 1;
            return;
        };
        let without = eval::review_event(event, &row.project, &mut self.without, None);
        let with =
            eval::review_event(event, &row.project, &mut self.with, Some(&mut self.observer));
        counts.actions += 1;
        counts.without += u64::from(objected(&without));
        counts.with += u64::from(objected(&with));
        self.observer.add_records(&with);
        self.observer.add_calls(self.with.plugins.take_observed_calls());
        for name in self.observer.take_objecting() {
            if let Some(plugin) = results.find_plugin(&name) {
                *plugin.objected.entry(label.clone()).or_default() += 1;
            }
        }
    }

    /// Replays a session from its beginning, in both setups.
    fn session(&mut self, recording: &Recording, pair: &mut Pair, results: &mut Results) {
        let Self { without, with, observer, progress, .. } = self;
        let before = played(recording, |session, item| {
            progress.inc(1);
            let records = session.review_step(item, without);
            records.iter().for_each(|record| pair.yours.add_record(record));
            (records, session.active_interventions(&without.config().policy.limits))
        });
        let after = played(recording, |session, item| {
            progress.inc(1);
            let records = session.step_observed(item, with, Some(&mut *observer));
            records.iter().for_each(|record| pair.other.add_record(record));
            observer.add_records(&records);
            observer.add_calls(with.plugins.take_observed_calls());
            for name in observer.take_objecting() {
                if let Some(plugin) = results.find_plugin(&name) {
                    *plugin.objected_in_sessions.get_or_insert_default() += 1;
                }
            }
            (records, session.active_interventions(&with.config().policy.limits))
        });
        pair.add_session(&before, &after);
    }

    /// Plays the cases of one plugin, as its author does.
    fn cases(&mut self, plugin: &str, cases: &[Case], results: &mut Results) -> Result<()> {
        let subject = self.subjects.find_subject(plugin)?;
        let cache = || self.subjects.cache();
        let mut stage =
            CaseRunner::of_bundle(&subject.pinned, subject.kind, self.subjects.config(), &cache);
        let mut sum =
            results.find_plugin(plugin).and_then(|row| row.cases.take()).unwrap_or_default();
        for case in cases {
            let title = one_line(&case.name, 100);
            let played = stage
                .play_case(case)
                .with_context(|| format!("the case `{title}` of `{plugin}`"))?;
            let expected = case
                .steps
                .iter()
                .map(|step| &step.expected)
                .chain(played.export.as_ref().map(|_| &case.expected));
            let said = played.steps.iter().chain(&played.export);
            let failed = expected.zip(said).any(|(expected, said)| {
                said.odd.is_some()
                    || cases::compare_findings(&expected.findings, &said.findings, false).is_some()
            });
            sum.add_case(&title, failed);
            self.observer.add_calls(played.observed_calls().filter(|call| call.plugin == plugin));
            self.progress.inc(1);
        }
        if let Some(row) = results.find_plugin(plugin) {
            row.cases = Some(sum);
        }
        Ok(())
    }
}

/// Replays a session into a timeline; `step` reviews one event of it.
fn played(
    recording: &Recording,
    mut step: impl FnMut(&mut ReviewSession, &RecordedEvent) -> (Vec<Record>, ActiveInterventions),
) -> Timeline {
    let (mut session, mut timeline) = (ReviewSession::default(), Timeline::new(&recording.name));
    for (index, item) in recording.items.iter().enumerate() {
        let (records, standing) = step(&mut session, item);
        timeline.add_event(index, &records, &standing);
    }
    timeline
}

/// Returns true if the verdict is anything but allow.
fn objected(records: &[Record]) -> bool {
    records.iter().filter_map(Record::verdict).any(|verdict| verdict > Verdict::Allow)
}

/// Creates a progress bar on a terminal, a hidden one elsewhere.
fn progress(material: &Material) -> ProgressBar {
    let events: usize = material.sessions.iter().map(|session| 2 * session.items.len()).sum();
    let cases: usize = material.cases.iter().map(|(_, cases)| cases.len()).sum();
    let bar =
        ProgressBar::new(u64::try_from(material.rows.len() + events + cases).unwrap_or(u64::MAX));
    match ProgressStyle::with_template("{bar:40} {pos}/{len} events, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
