//! A session's timeline for a terminal: one line per action, with findings and interventions below
//! it.
//!
//! Unremarkable steps are folded into one line, unless all are requested. No line is wider than the
//! terminal.

use super::lines::{INDENT, TextLines};
use crate::paint;
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::words;
use portcullis_review::timeline::{ActiveInterventions, Timeline, TimelineEntry};

/// Formats a whole session.
pub fn render_session(timeline: &Timeline, all: bool) -> String {
    let mut output = TextOutput {
        timeline,
        lines: TextLines::new(render_heading(timeline)),
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
pub fn render_heading(timeline: &Timeline) -> String {
    let steps = timeline.steps().count() as u64;
    let objected =
        |verdict: Verdict| timeline.steps().filter(|entry| entry.verdict == Some(verdict)).count();
    let verdicts = Verdict::ALL
        .iter()
        .rev()
        .filter(|verdict| **verdict > Verdict::Allow && objected(**verdict) > 0);
    let mut sums: Vec<String> = verdicts
        .map(|verdict| format!("{} {}", objected(*verdict), paint::paint_verdict(*verdict, 0)))
        .collect();
    if sums.is_empty() && steps > 0 {
        sums.push(paint::good("no objection"));
    }
    let name = paint::bold(one_line(&timeline.name, 120));
    let mut lines =
        TextLines::new(format!("\n{name}  {}: {}\n", count_noun(steps, "step"), sums.join(", ")));
    if let Some(goal) = timeline.goal() {
        lines.add_dim(&words::on_one_line(goal));
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
            self.lines.add_row(
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
            self.lines.add_dim(&format!("       … {} allowed", count_noun(steps, "step")));
        }
    }

    fn entry(&mut self, entry: &'a TimelineEntry) {
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        let risk = entry.risk.map(|risk| risk.to_string()).unwrap_or_default();
        let quiet = entry.is_quiet();
        let what = self.lines.fit_text(&describe_action(self.timeline, entry), INDENT);
        self.lines.add_row(
            &step,
            &verdict_word(entry),
            &risk,
            &if quiet { paint::dim(what) } else { what },
        );
        let why = entry.decision.as_ref().map(|decision| decision.primary_reason.as_str());
        if let Some(why) = why.filter(|_| why != self.why) {
            self.lines.add_reason(&self.timeline.shorten_paths(&words::on_one_line(why)));
        }
        self.why = why;
        if let Some(error) = entry.failed.as_ref().filter(|_| !quiet) {
            self.lines.add_mark(
                "failed",
                paint::warn,
                &self.timeline.shorten_paths(&words::on_one_line(error)),
            );
        }
        add_findings(&mut self.lines, self.timeline, entry);
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
            self.lines.add_mark("limits", paint::bold, &words::describe_limits(&now.limits));
        }
        for (word, why, was) in
            [("held", &now.held, &before.held), ("stopped", &now.stopped, &before.stopped)]
        {
            if let Some(why) = why.as_ref().filter(|_| was.is_none()) {
                self.lines.add_mark(word, paint::bad, &words::on_one_line(why));
            }
        }
    }
}

/// Adds the findings about an entry and the interventions.
pub fn add_findings(lines: &mut TextLines, timeline: &Timeline, entry: &TimelineEntry) {
    entry.detections.iter().for_each(|found| {
        lines.add_mark(
            "pattern",
            paint::warn,
            &timeline.shorten_paths(&words::describe_detection(found)),
        )
    });
    entry.interventions.iter().for_each(|done| {
        lines.add_mark("answer", paint::bold, &words::describe_intervention(done))
    });
    entry.faults.iter().for_each(|fault| lines.add_mark("fault", paint::bad, &fault.to_string()));
}

/// Formats the agent and its action.
pub fn describe_action(timeline: &Timeline, entry: &TimelineEntry) -> String {
    let who = entry
        .agent
        .as_deref()
        .map(|agent| format!("[{}] ", one_line(agent, 16)))
        .unwrap_or_default();
    format!("{who}{}", timeline.shorten_paths(&entry.summary))
}

/// Formats the outcome, as a column of its own.
pub fn verdict_word(entry: &TimelineEntry) -> String {
    match (entry.kind, entry.verdict) {
        (_, Some(verdict)) => paint::paint_verdict(verdict, 10),
        (RecordKind::Unreviewed, None) => paint::bad(format!("{:<10}", "unreviewed")),
        (kind, None) => paint::dim(format!("{kind:<10}")),
    }
}
