//! The lanes under the bars: restraints in force, when each pattern was seen and since when, and
//! interventions.

use super::{Chart, LANE, LEFT, RIGHT, number, tenths};
use crate::Html;
use portcullis_core::finding::Detection;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::score::Severity;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::TimelineEntry;
use portcullis_review::timeline::words;

/// The least distance between marks, so that no mark hides another.
const APART: f64 = 12.0;

impl Chart<'_> {
    /// Draws the periods in which something limits or ends the session.
    pub(super) fn restraints(&self, html: &mut Html, lane: f64) -> f64 {
        name(html, lane, "in force");
        let mut index = 0;
        for run in self.steps.chunk_by(|one, two| restraint(one) == restraint(two)) {
            if let Some((class, word)) = run.first().and_then(|step| restraint(step)) {
                let half = (RIGHT - LEFT) / self.steps.len() as f64 / 2.0;
                let (from, to) = (self.x(index) - half, self.x(index + run.len() - 1) + half);
                let limits = run
                    .last()
                    .map(|step| words::describe_limits(&step.standing.limits))
                    .unwrap_or_default();
                let about =
                    if limits.is_empty() { word.to_owned() } else { format!("{word}: {limits}") };
                html.put_template(
                    "<g><title>{}, {}</title><rect class=\"shade\" x=\"{}\" y=\"18\" width=\"{}\" height=\"140\"/>",
                    &[&about, &count_noun(run.len() as u64, "step"), &tenths(from), &tenths(to - from)],
                );
                html.put_template(
                    "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\" rx=\"3\"/>",
                    &[&class, &tenths(from), &tenths(lane + 5.0), &tenths(to - from)],
                );
                let room = to - from;
                let short = if room > 56.0 {
                    word
                } else {
                    word.get(..1).filter(|_| room > 9.0).unwrap_or_default()
                };
                html.put_template(
                    "<text class=\"in\" x=\"{}\" y=\"{}\">{}</text></g>",
                    &[&tenths((from + to) / 2.0), &tenths(lane + 15.5), &short],
                );
            }
            index += run.len();
        }
        lane + LANE
    }

    /// Draws when a pattern was seen, and since when.
    pub(super) fn pattern(&self, html: &mut Html, lane: f64, pattern: &str) -> f64 {
        name(html, lane, &one_line(pattern, 24));
        let seen = self.steps.iter().enumerate().flat_map(|(index, step)| {
            let of_it = step.detections.iter().filter(|found| found.pattern == pattern);
            of_it.map(move |found| (index, *step, found))
        });
        let seen: Vec<(usize, &TimelineEntry, &Detection)> = seen.collect();
        let middle = lane + LANE / 2.0;
        for (index, step, found) in &seen {
            let since = self
                .places
                .get(&(step.agent.as_deref(), found.first_step))
                .copied()
                .unwrap_or(*index);
            html.put_template(
                "<path class=\"since\" d=\"M{} {}H{}\"/>",
                &[&tenths(self.x(since)), &tenths(middle), &tenths(self.x(*index))],
            );
        }
        let marks = seen.iter().map(|(index, step, found)| (self.x(*index), (*step, *found)));
        for (x, (step, found)) in
            spread_marks(marks, |(_, found)| (found.severity, found.confidence))
        {
            let title = format!("step {}: {}", number(step), words::describe_detection(found));
            self.linked(html, step, |html| {
                html.put_template(
                    "<circle class=\"s-{}\" cx=\"{}\" cy=\"{}\" r=\"6.5\"><title>{}</title></circle>",
                    &[&found.severity, &tenths(x), &tenths(middle), &title],
                );
                letter(html, x, middle, severity_letter(found.severity));
            });
        }
        lane + LANE
    }

    /// Draws the interventions.
    pub(super) fn answers(&self, html: &mut Html, lane: f64) -> f64 {
        name(html, lane, "interventions");
        let middle = lane + LANE / 2.0;
        let done = self
            .steps
            .iter()
            .enumerate()
            .filter_map(|(index, step)| Some((self.x(index), (*step, step.kinds().max()?))));
        for (x, (step, kind)) in spread_marks(done, |(_, kind)| kind) {
            let done: Vec<String> =
                step.interventions.iter().map(words::describe_intervention).collect();
            self.linked(html, step, |html| {
                html.put_template(
                    "<rect class=\"k\" x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" \
                     rx=\"3\"><title>step {}: {}</title></rect>",
                    &[&tenths(x - 7.0), &tenths(middle - 7.0), &number(step), &done.join("\n")],
                );
                letter(html, x, middle, kind_letter(kind));
            });
        }
        lane + LANE
    }
}

fn name(html: &mut Html, lane: f64, name: &str) {
    html.put_template("<path class=\"lane\" d=\"M148 {}H948\"/>", &[&tenths(lane + LANE / 2.0)]);
    html.put_template(
        "<text class=\"name\" x=\"140\" y=\"{}\">{}</text>",
        &[&tenths(lane + LANE / 2.0 + 3.5), &name],
    );
}

fn letter(html: &mut Html, x: f64, y: f64, letter: char) {
    html.put_template(
        "<text class=\"in\" x=\"{}\" y=\"{}\">{}</text>",
        &[&tenths(x), &tenths(y + 3.5), &letter],
    );
}

/// Keeps only the mark with the greatest weight of those that would overlap.
pub(super) fn spread_marks<T: Copy, W: Ord>(
    marks: impl Iterator<Item = (f64, T)>,
    weight: impl Fn(T) -> W,
) -> Vec<(f64, T)> {
    let mut kept: Vec<(f64, T)> = Vec::new();
    for (x, mark) in marks {
        match kept.last_mut().filter(|(last, _)| x - last < APART) {
            Some(last) if weight(mark) > weight(last.1) => *last = (last.0, mark),
            Some(_) => {}
            None => kept.push((x, mark)),
        }
    }
    kept
}

/// Returns the class and word of the restraint in force after a step.
pub(super) fn restraint(step: &TimelineEntry) -> Option<(&'static str, &'static str)> {
    let now = &step.standing;
    match (&now.stopped, &now.held, now.limits.is_empty()) {
        (Some(_), _, _) => Some(("f-stopped", "stopped")),
        (None, Some(_), _) => Some(("f-held", "held")),
        (None, None, false) => Some(("f-limits", "limited")),
        (None, None, true) => None,
    }
}

/// Returns the letter of a severity.
pub const fn severity_letter(severity: Severity) -> char {
    match severity {
        Severity::Low => 'L',
        Severity::Medium => 'M',
        Severity::High => 'H',
        Severity::Critical => 'C',
    }
}

/// Returns the letter of an intervention.
pub const fn kind_letter(kind: InterventionKind) -> char {
    match kind {
        InterventionKind::SoftCorrection => 'S',
        // `C` is the severity `critical`.
        InterventionKind::ContextReinforcement => 'X',
        InterventionKind::ResourceThrottling => 'T',
        InterventionKind::CheckpointRollback => 'R',
        InterventionKind::EmergencyStop => 'E',
    }
}
