//! The summary of many replayed sessions: counts, reasons with examples, projects.
//!
//! All its text is masked, since it comes from records.

use crate::paint;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::recording::past::SkippedInput;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// The number of examples per reason.
const EXAMPLES: usize = 3;
/// The most reasons that are counted separately.
const MOST_REASONS: usize = 500;
/// The most reasons of a verdict that are shown to people.
const SHOWN_REASONS: usize = 12;
/// The verdicts that say something, the strictest first.
const OBJECTIONS: [Verdict; 4] = [Verdict::Block, Verdict::Ask, Verdict::Modify, Verdict::Warn];

/// All counts.
#[derive(Serialize)]
pub struct Tally {
    since: u64,
    first: u64,
    last: u64,
    sessions: u64,
    actions: u64,
    verdicts: BTreeMap<String, u64>,
    projects: BTreeMap<String, Project>,
    reasons: Vec<Reason>,
    patterns: BTreeMap<String, u64>,
    interventions: BTreeMap<String, u64>,
    faults: BTreeMap<String, u64>,
    /// Files that could not be read.
    pub unread: Vec<SkippedInput>,
    #[serde(skip)]
    names: HashSet<String>,
    #[serde(skip)]
    calls: HashSet<u64>,
    #[serde(skip)]
    person: String,
}

#[derive(Default, Serialize)]
struct Project {
    actions: u64,
    verdicts: BTreeMap<String, u64>,
}

/// Actions that were objected to for one reason.
#[derive(Serialize)]
struct Reason {
    verdict: Verdict,
    reason: String,
    count: u64,
    examples: Vec<Example>,
}

#[derive(Serialize)]
struct Example {
    project: String,
    session: String,
    at: u64,
    action: String,
}

impl Tally {
    /// Creates an empty tally of actions since `since`; `person` is the home folder, which is shown
    /// as `~`.
    pub fn new(since: u64, person: &str) -> Self {
        Self {
            since,
            first: u64::MAX,
            last: 0,
            sessions: 0,
            actions: 0,
            verdicts: BTreeMap::new(),
            projects: BTreeMap::new(),
            reasons: Vec::new(),
            patterns: BTreeMap::new(),
            interventions: BTreeMap::new(),
            faults: BTreeMap::new(),
            unread: Vec::new(),
            names: HashSet::new(),
            calls: HashSet::new(),
            person: person.to_owned(),
        }
    }

    /// Adds a record of a session in `place`. A call that a resumed session repeats counts once, with
    /// all records about it.
    pub fn count_record(&mut self, place: &str, session: &str, record: &Record) {
        let is_repeated = |call| !self.calls.insert(fingerprint(call, record));
        if record.call.as_deref().is_some_and(is_repeated) {
            return;
        }
        add(
            &mut self.faults,
            record.faults.iter().map(|fault| format!("{}: {}", fault.source, fault.kind)),
        );
        add(
            &mut self.patterns,
            record.detections.iter().map(|named| named.finding.pattern.clone()),
        );
        match record.kind {
            RecordKind::Review => self.review(place, session, record),
            RecordKind::Intervention => add(&mut self.interventions, [record.subject.clone()]),
            _ => {}
        }
    }

    fn review(&mut self, place: &str, session: &str, record: &Record) {
        let Some(decision) = &record.decision else { return };
        if self.names.insert(session.to_owned()) {
            self.sessions += 1;
        }
        self.actions += 1;
        self.first = self.first.min(record.at);
        self.last = self.last.max(record.at);
        let name = self.short(place);
        add(&mut self.verdicts, [decision.verdict.to_string()]);
        let project = self.projects.entry(name.clone()).or_default();
        project.actions += 1;
        add(&mut project.verdicts, [decision.verdict.to_string()]);
        if decision.verdict == Verdict::Allow {
            return;
        }
        let action = one_line(&record.summary, 140);
        let example = Example { project: name, session: session.to_owned(), at: record.at, action };
        self.reason(decision.verdict, &general(&decision.primary_reason), example);
    }

    fn reason(&mut self, verdict: Verdict, reason: &str, example: Example) {
        let at = self
            .reasons
            .iter()
            .position(|known| known.verdict == verdict && known.reason == reason);
        let at = at.unwrap_or_else(|| {
            let reason = if self.reasons.len() < MOST_REASONS { reason } else { "other reasons" };
            self.reasons
                .iter()
                .position(|known| known.verdict == verdict && known.reason == reason)
                .unwrap_or_else(|| {
                    self.reasons.push(Reason {
                        verdict,
                        reason: reason.to_owned(),
                        count: 0,
                        examples: Vec::new(),
                    });
                    self.reasons.len() - 1
                })
        });
        if let Some(known) = self.reasons.get_mut(at) {
            known.count += 1;
            if known.examples.len() < EXAMPLES
                && known.examples.iter().all(|other| other.action != example.action)
            {
                known.examples.push(example);
            }
        }
    }

    fn short(&self, place: &str) -> String {
        let below = place.strip_prefix(self.person.as_str()).filter(|_| self.person.len() > 1);
        one_line(
            &below
                .filter(|below| below.is_empty() || below.starts_with('/'))
                .map_or(place.to_owned(), |below| format!("~{below}")),
            120,
        )
    }

    fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(verdict.as_str()).copied().unwrap_or_default()
    }

    /// Formats the summary for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let since = paint::time(self.since);
        if self.actions == 0 {
            let _ = writeln!(text, "no action since {since} was found");
        } else {
            let (actions, sessions) =
                (count_noun(self.actions, "action"), count_noun(self.sessions, "session"));
            let heading =
                format!("{actions} in {sessions} from {} to {}", day(self.first), day(self.last));
            let _ = writeln!(
                text,
                "{}\nas the current configuration would have judged them:\n",
                paint::bold(heading)
            );
            for verdict in
                [Verdict::Allow, Verdict::Warn, Verdict::Modify, Verdict::Ask, Verdict::Block]
            {
                let count = self.of(verdict);
                let share = count as f64 * 100.0 / self.actions as f64;
                let _ = writeln!(
                    text,
                    "  {} {count:>8}  {share:5.1} %",
                    paint::paint_verdict(verdict, 6)
                );
            }
            OBJECTIONS.iter().for_each(|verdict| self.objections(&mut text, *verdict));
            self.by_project(&mut text);
        }
        for (name, counts) in [
            ("patterns", &self.patterns),
            ("interventions", &self.interventions),
            ("faults", &self.faults),
        ] {
            let parts: Vec<String> = counts
                .iter()
                .map(|(key, count)| format!("{} {count}", one_line(key, 80)))
                .collect();
            if !parts.is_empty() {
                let _ = writeln!(text, "\n{name}: {}", parts.join(", "));
            }
        }
        for unread in &self.unread {
            let _ = writeln!(
                text,
                "{}: `{}`: {}",
                paint::warn("not read"),
                unread.file.display(),
                one_line(&unread.why, 200)
            );
        }
        let note = "What git could have restored is not known for the past, so deletions look \
             worse here than they would have been judged.";
        let _ = writeln!(text, "\n{}", paint::dim(note));
        text
    }

    fn objections(&self, text: &mut String, verdict: Verdict) {
        let mut reasons: Vec<&Reason> =
            self.reasons.iter().filter(|reason| reason.verdict == verdict).collect();
        if reasons.is_empty() {
            return;
        }
        reasons.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
        let would = match verdict {
            Verdict::Block => "would have been blocked",
            Verdict::Ask => "would have been asked about",
            Verdict::Modify => "would have run in another form",
            Verdict::Warn | Verdict::Allow => "would have run with a warning",
        };
        let _ = writeln!(text, "\n{}", paint::bold(would));
        for reason in reasons.iter().take(SHOWN_REASONS) {
            let _ = writeln!(text, "{:>6}  {}", reason.count, one_line(&reason.reason, 160));
            for example in &reason.examples {
                let _ = writeln!(
                    text,
                    "        {}  {}",
                    example.action,
                    paint::dim(format!("{}, {}", example.project, paint::time(example.at)))
                );
            }
        }
        if reasons.len() > SHOWN_REASONS {
            let _ = writeln!(
                text,
                "        and {} reasons more, see --json",
                reasons.len() - SHOWN_REASONS
            );
        }
    }

    fn by_project(&self, text: &mut String) {
        let heading = format!(
            "\n{:>9} {:>7} {:>7} {:>7} {:>7}  project",
            "actions", "warn", "modify", "ask", "block"
        );
        let _ = writeln!(text, "{}", paint::bold(heading));
        for (name, project) in &self.projects {
            let of = |verdict: Verdict| {
                project.verdicts.get(verdict.as_str()).copied().unwrap_or_default()
            };
            let [warn, modify, ask, block] =
                [Verdict::Warn, Verdict::Modify, Verdict::Ask, Verdict::Block].map(of);
            let _ = writeln!(
                text,
                "{:>9} {warn:>7} {modify:>7} {ask:>7} {block:>7}  {name}",
                project.actions
            );
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, keys: impl IntoIterator<Item = String>) {
    keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
}

fn day(ms: u64) -> String {
    paint::time(ms).chars().take(10).collect()
}

/// Returns a number for a call: its id alone is not enough, since some models count their calls.
fn fingerprint(call: &str, record: &Record) -> u64 {
    // One call has several records: of its review, of what was answered, of its end.
    portcullis_core::text::hash_parts(&[
        call,
        record.kind.as_str(),
        &record.subject,
        &record.summary,
    ])
}

/// Removes the details in backticks, which are particular to one action, from a reason.
fn general(reason: &str) -> String {
    let mut parts = reason.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let Some(_particular) = parts.next() {
        let after = parts.next().unwrap_or_default();
        // Lists are merged into one placeholder.
        match text.strip_suffix(", ").filter(|before| before.ends_with("`…`")).map(str::len) {
            Some(before) => text.truncate(before),
            None => text.push_str("`…`"),
        }
        text.push_str(after);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use portcullis_core::record::{Record, RecordKind};

    #[test]
    fn a_call_that_a_resumed_session_repeats_counts_once() {
        let record = |kind, call: Option<&str>, subject: &str| {
            let mut record = Record::outside_session(kind, subject, "Bash: ls", 1, "seed");
            record.call = call.map(str::to_owned);
            record
        };
        let mut tally = Tally::new(0, "/home/me");
        for session in ["first", "resumed"] {
            for record in [
                record(RecordKind::Intervention, Some("c1"), "soft_correction"),
                record(RecordKind::Intervention, Some("c1"), "context_reinforcement"),
                record(RecordKind::Intervention, Some("c2"), "soft_correction"),
                // Without an id nothing tells a repeated call from another one.
                record(RecordKind::Intervention, None, "resource_throttling"),
            ] {
                tally.count_record("/srv/shop", session, &record);
            }
        }
        let counts: Vec<(&str, u64)> =
            tally.interventions.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let expected =
            [("context_reinforcement", 1), ("resource_throttling", 2), ("soft_correction", 2)];
        assert_eq!(counts, expected);
    }

    #[test]
    fn reasons_are_shown_without_what_is_particular() {
        for (reason, expected) in [
            ("this runs code that nobody has seen", "this runs code that nobody has seen"),
            ("this deletes `~/a`", "this deletes `…`"),
            ("this deletes `a`, `b`, `c`", "this deletes `…`"),
            ("`a` and `b` meet", "`…` and `…` meet"),
            ("", ""),
            ("an odd ` tick", "an odd `…`"),
        ] {
            assert_eq!(super::general(reason), expected, "{reason}");
        }
    }
}
