//! A session's timeline for a terminal: one line per action, with findings and interventions below
//! it.
//!
//! Unremarkable steps are folded into one line, unless all are requested. No line is wider than the
//! terminal.

use super::lines::{INDENT, TextLines};
use crate::paint;
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::text::{counted, one_line};
use portcullis_review::timeline::words;
use portcullis_review::timeline::{ActiveInterventions, Timeline, TimelineEntry};

/// Formats a whole session.
pub fn session(timeline: &Timeline, all: bool) -> String {
    let mut output = TextOutput {
        timeline,
        lines: TextLines::new(heading(timeline)),
        waiting: PendingLines::default(),
        why: None,
        standing: ActiveInterventions::default(),
    };
    let mut any = false;
    for (index, entry) in timeline.entries.iter().enumerate() {
        // The heading already shows the first thing that the person asked for.
        let goal =
            entry.prompt && timeline.entries.iter().position(|entry| entry.prompt) == Some(index);
        if all || !entry.is_quiet() {
            any = true;
            output.catch_up();
            output.entry(entry);
        } else if entry.prompt && !goal {
            output.waiting.prompt(entry);
        } else {
            output.waiting.after += u64::from(entry.step.is_some());
        }
    }
    // A session without notable steps is covered by its heading.
    if any {
        output.waiting.prompt = None;
        output.catch_up();
    }
    output.lines.into_text()
}

/// Formats name, totals, goal and folder.
pub fn heading(timeline: &Timeline) -> String {
    let steps = timeline.steps().count() as u64;
    let objected =
        |verdict: Verdict| timeline.steps().filter(|entry| entry.verdict == Some(verdict)).count();
    let verdicts = Verdict::ALL
        .iter()
        .rev()
        .filter(|verdict| **verdict > Verdict::Allow && objected(**verdict) > 0);
    let mut sums: Vec<String> = verdicts
        .map(|verdict| format!("{} {}", objected(*verdict), paint::verdict(*verdict, 0)))
        .collect();
    if sums.is_empty() && steps > 0 {
        sums.push(paint::good("no objection"));
    }
    let name = paint::bold(one_line(&timeline.name, 120));
    let mut lines =
        TextLines::new(format!("\n{name}  {}: {}\n", counted(steps, "step"), sums.join(", ")));
    if let Some(goal) = timeline.goal() {
        lines.dim(&words::on_one_line(goal));
    }
    lines.into_text()
}

/// The state of the output so far.
struct TextOutput<'a> {
    timeline: &'a Timeline,
    lines: TextLines,
    waiting: PendingLines<'a>,
    /// The last reason that was shown, which is not repeated right after it.
    why: Option<&'a str>,
    /// The restraints that were last shown as in force.
    standing: ActiveInterventions,
}

/// Entries that are shown only if a notable one follows.
#[derive(Default)]
struct PendingLines<'a> {
    /// The number of quiet steps before the prompt.
    before: u64,
    prompt: Option<&'a TimelineEntry>,
    /// The number of quiet steps after it.
    after: u64,
}

impl<'a> PendingLines<'a> {
    fn prompt(&mut self, prompt: &'a TimelineEntry) {
        self.before += std::mem::take(&mut self.after);
        self.prompt = Some(prompt);
    }
}

impl<'a> TextOutput<'a> {
    fn catch_up(&mut self) {
        let PendingLines { before, prompt, after } = std::mem::take(&mut self.waiting);
        if let Some(prompt) = prompt {
            self.fold(before);
            self.lines.row(
                "",
                "",
                "",
                &format!("{} {}", paint::bold("person:"), words::on_one_line(&prompt.summary)),
            );
            self.fold(after);
        } else {
            self.fold(before + after);
        }
    }

    fn fold(&mut self, steps: u64) {
        if steps > 0 {
            self.why = None;
            self.lines.dim(&format!("       … {} allowed", counted(steps, "step")));
        }
    }

    fn entry(&mut self, entry: &'a TimelineEntry) {
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        let risk = entry.risk.map(|risk| risk.to_string()).unwrap_or_default();
        let quiet = entry.is_quiet();
        let what = self.lines.fit(&action(self.timeline, entry), INDENT);
        self.lines.row(&step, &word(entry), &risk, &if quiet { paint::dim(what) } else { what });
        let why = entry.decision.as_ref().map(|decision| decision.primary_reason.as_str());
        if let Some(why) = why.filter(|_| why != self.why) {
            self.lines.why(&self.timeline.near(&words::on_one_line(why)));
        }
        self.why = why;
        if let Some(error) = entry.failed.as_ref().filter(|_| !quiet) {
            self.lines.mark("failed", paint::warn, &self.timeline.near(&words::on_one_line(error)));
        }
        found(&mut self.lines, self.timeline, entry);
        self.standing(&entry.standing);
    }

    /// Shows limits, a hold or a stop that are new; the use of a limit alone is not shown.
    fn standing(&mut self, now: &ActiveInterventions) {
        let before = std::mem::replace(&mut self.standing, now.clone());
        let most = |standing: &ActiveInterventions| {
            standing
                .limits
                .iter()
                .map(|limit| (limit.quantity.clone(), limit.maximum))
                .collect::<Vec<_>>()
        };
        if most(now) != most(&before) {
            self.lines.mark("limits", paint::bold, &words::limits(&now.limits));
        }
        for (word, why, was) in
            [("held", &now.held, &before.held), ("stopped", &now.stopped, &before.stopped)]
        {
            if let Some(why) = why.as_ref().filter(|_| was.is_none()) {
                self.lines.mark(word, paint::bad, &words::on_one_line(why));
            }
        }
    }
}

/// Adds the findings about an entry and the interventions.
pub fn found(lines: &mut TextLines, timeline: &Timeline, entry: &TimelineEntry) {
    entry.detections.iter().for_each(|found| {
        lines.mark("pattern", paint::warn, &timeline.near(&words::detection(found)))
    });
    entry
        .interventions
        .iter()
        .for_each(|done| lines.mark("answer", paint::bold, &words::intervention(done)));
    entry.faults.iter().for_each(|fault| lines.mark("fault", paint::bad, &fault.to_string()));
}

/// Formats the agent and its action.
pub fn action(timeline: &Timeline, entry: &TimelineEntry) -> String {
    let who = entry
        .agent
        .as_deref()
        .map(|agent| format!("[{}] ", one_line(agent, 16)))
        .unwrap_or_default();
    format!("{who}{}", timeline.near(&entry.summary))
}

/// Formats the outcome, as a column of its own.
pub fn word(entry: &TimelineEntry) -> String {
    match (entry.kind, entry.verdict) {
        (_, Some(verdict)) => paint::verdict(verdict, 10),
        (RecordKind::Unreviewed, None) => paint::bad(format!("{:<10}", "unreviewed")),
        (kind, None) => paint::dim(format!("{kind:<10}")),
    }
}
