//! A session's timeline for a terminal: a line an action, under it what was found and done about it.
//!
//! Steps that nobody has to look at are folded into one line, unless all are asked for. No line is longer than
//! the terminal is wide.

use super::lines::{INDENT, Lines};
use crate::paint;
use crate::timeline::words::{self, counted};
use crate::timeline::{Entry, Standing, Timeline};
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;

/// The whole of a session.
pub fn session(timeline: &Timeline, all: bool) -> String {
    let mut told =
        Told { timeline, lines: Lines::new(heading(timeline)), waiting: Waiting::default(), why: None, standing: Standing::default() };
    let mut any = false;
    for (index, entry) in timeline.entries.iter().enumerate() {
        // The heading has the first thing that the person asked for.
        let goal = entry.prompt && timeline.entries.iter().position(|entry| entry.prompt) == Some(index);
        if all || !entry.is_quiet() {
            any = true;
            told.catch_up();
            told.entry(entry);
        } else if entry.prompt && !goal {
            told.waiting.prompt(entry);
        } else {
            told.waiting.after += u64::from(entry.step.is_some());
        }
    }
    // A session in which there is nothing to tell is told in its heading.
    if any {
        told.waiting.prompt = None;
        told.catch_up();
    }
    told.lines.into_text()
}

/// Name, sums, goal and folder.
pub fn heading(timeline: &Timeline) -> String {
    let steps = timeline.steps().count() as u64;
    let objected = |verdict: Verdict| timeline.steps().filter(|entry| entry.verdict == Some(verdict)).count();
    let verdicts = Verdict::ALL.iter().rev().filter(|verdict| **verdict > Verdict::Allow && objected(**verdict) > 0);
    let mut sums: Vec<String> = verdicts.map(|verdict| format!("{} {}", objected(*verdict), paint::verdict(*verdict, 0))).collect();
    if sums.is_empty() && steps > 0 {
        sums.push(paint::good("no objection"));
    }
    let name = paint::bold(one_line(&timeline.name, 120));
    let mut lines = Lines::new(format!("\n{name}  {}: {}\n", counted(steps, "step"), sums.join(", ")));
    if let Some(goal) = timeline.goal() {
        lines.dim(&words::flat(goal));
    }
    lines.into_text()
}

/// What is told so far.
struct Told<'a> {
    timeline: &'a Timeline,
    lines: Lines,
    waiting: Waiting<'a>,
    /// The reason that was told last: the same one right after it is not told again.
    why: Option<&'a str>,
    /// What was last said to be in force.
    standing: Standing,
}

/// What is told when something follows that has to be.
#[derive(Default)]
struct Waiting<'a> {
    /// Quiet steps before the prompt.
    before: u64,
    prompt: Option<&'a Entry>,
    /// Quiet steps after it.
    after: u64,
}

impl<'a> Waiting<'a> {
    fn prompt(&mut self, prompt: &'a Entry) {
        self.before += std::mem::take(&mut self.after);
        self.prompt = Some(prompt);
    }
}

impl<'a> Told<'a> {
    fn catch_up(&mut self) {
        let Waiting { before, prompt, after } = std::mem::take(&mut self.waiting);
        if let Some(prompt) = prompt {
            self.fold(before);
            self.lines.row("", "", "", &format!("{} {}", paint::bold("person:"), words::flat(&prompt.summary)));
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

    fn entry(&mut self, entry: &'a Entry) {
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        let risk = entry.risk.map(|risk| risk.to_string()).unwrap_or_default();
        let quiet = entry.is_quiet();
        let what = self.lines.fit(&action(self.timeline, entry), INDENT);
        self.lines.row(&step, &word(entry), &risk, &if quiet { paint::dim(what) } else { what });
        let why = entry.decision.as_ref().map(|decision| decision.primary_reason.as_str());
        if let Some(why) = why.filter(|_| why != self.why) {
            self.lines.why(&self.timeline.near(&words::flat(why)));
        }
        self.why = why;
        if let Some(error) = entry.failed.as_ref().filter(|_| !quiet) {
            self.lines.mark("failed", paint::warn, &self.timeline.near(&words::flat(error)));
        }
        found(&mut self.lines, self.timeline, entry);
        self.standing(&entry.standing);
    }

    /// Limits, a hold or a stop that were not there before; the use of a limit alone is no news.
    fn standing(&mut self, now: &Standing) {
        let before = std::mem::replace(&mut self.standing, now.clone());
        let most = |standing: &Standing| standing.limits.iter().map(|limit| (limit.quantity.clone(), limit.maximum)).collect::<Vec<_>>();
        if most(now) != most(&before) {
            self.lines.mark("limits", paint::bold, &words::limits(&now.limits));
        }
        for (word, why, was) in [("held", &now.held, &before.held), ("stopped", &now.stopped, &before.stopped)] {
            if let Some(why) = why.as_ref().filter(|_| was.is_none()) {
                self.lines.mark(word, paint::bad, &words::flat(why));
            }
        }
    }
}

/// What was found about an entry, and what was done.
pub fn found(lines: &mut Lines, timeline: &Timeline, entry: &Entry) {
    entry.detections.iter().for_each(|found| lines.mark("pattern", paint::warn, &timeline.near(&words::detection(found))));
    entry.interventions.iter().for_each(|done| lines.mark("answer", paint::bold, &words::intervention(done)));
    entry.faults.iter().for_each(|fault| lines.mark("fault", paint::bad, &fault.to_string()));
}

/// Who did what.
pub fn action(timeline: &Timeline, entry: &Entry) -> String {
    let who = entry.agent.as_deref().map(|agent| format!("[{}] ", one_line(agent, 16))).unwrap_or_default();
    format!("{who}{}", timeline.near(&entry.summary))
}

/// What became of it, in a column of its own.
pub fn word(entry: &Entry) -> String {
    match (entry.kind, entry.verdict) {
        (_, Some(verdict)) => paint::verdict(verdict, 10),
        (RecordKind::Unreviewed, None) => paint::bad(format!("{:<10}", "unreviewed")),
        (kind, None) => paint::dim(format!("{kind:<10}")),
    }
}
