//! The four signs that an agent is stuck, and how they are told to a person.

use crate::config::Config;
use crate::edits::{list_returns, note_changes};
use crate::looks::{note_change, note_look};
use crate::memory::{Failure, FileMemory, Memory};
use crate::runs::note_run;
use crate::texts::{MOST_NAME, count, line, list, place, unique};
use portcullis_plugin::pattern::{
    Action, Context, Detection, Evidence, History, Score, Severity, Status, Step,
};
use portcullis_plugin::types::Outcome;

/// The longest cycle that the builtin pattern `loop` sees, and how often it has to come.
const LOOP: usize = 4;
/// The most characters of a file's name that stands beside others.
const MOST_FILE: usize = 40;
/// The most errors, and the most looks, in the evidence.
const MOST_EVIDENCE: usize = 4;

/// A step that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// What was done.
    pub action: &'a Action,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// What surrounds it.
    pub context: &'a Context,
    /// The steps before it, and itself.
    pub history: &'a History,
    /// The fingerprint of its error as the host's; 0 for none.
    pub error: u64,
}

/// A sign that the agent is stuck.
#[derive(Debug)]
struct Sign {
    /// What was tried how often, and what did not change.
    says: String,
    /// The step at which it began.
    first: u64,
    /// How often it was, and how often is too often.
    times: u32,
    most: u32,
    confidence: Score,
    evidence: Vec<Evidence>,
}

/// Notes a step in the memory, and returns what there is to say about it.
pub fn list_detections(config: &Config, memory: &mut Memory, ended: &Ended<'_>) -> Vec<Detection> {
    let edits = memory.edits;
    let Ended { action, outcome, context, .. } = *ended;
    // A change that failed changed nothing.
    let is_ok = outcome.status == Status::Ok;
    let came_back = if is_ok { note_changes(memory, action, &context.cwd) } else { None };
    let lasting = note_run(memory, action, outcome, ended.error, config.failures);
    let file = memory.files.iter().find(|file| came_back.as_ref() == Some(&file.path));
    let mut signs: Vec<Sign> = Vec::new();
    signs.extend(file.and_then(|file| find_returns(file, config.returns, memory, context)));
    signs.extend(find_failures(&lasting, config.failures, memory, context));
    if memory.edits > edits || came_back.is_some() {
        note_change(memory);
    } else {
        find_looks(config, memory, ended, &mut signs);
    }
    let several = signs.len() > 1;
    signs.into_iter().map(|sign| word(sign, several, config.worst, action, memory)).collect()
}

fn find_returns(file: &FileMemory, least: u32, memory: &Memory, context: &Context) -> Option<Sign> {
    // To and fro is one thing; from one state to different others and back may be trying things out.
    let found = list_returns(file)
        .into_iter()
        .find(|returns| (returns.states > 1 && returns.total >= least) || returns.most > least)?;
    let name = line(place(&file.path, &context.roots), MOST_NAME);
    let edits = count(file.edits, "edit");
    Some(Sign {
        says: format!(
            "{name} goes to and fro: {edits}, of which {} brought back a state that it had",
            found.total
        ),
        first: file.first,
        times: found.total,
        most: least,
        confidence: if memory.failures.is_empty() { 700 } else { 850 },
        evidence: vec![Evidence::path(&file.path)],
    })
}

fn find_failures(
    failures: &[Failure],
    least: u32,
    memory: &Memory,
    context: &Context,
) -> Option<Sign> {
    let (first, more) = failures.split_first()?;
    let edits = memory.edits.saturating_sub(first.edits);
    let files = memory.files.iter().rev();
    let files = files.map(|file| line(place(&file.path, &context.roots), MOST_FILE));
    let work = match edits {
        0 => "with no edit between".to_owned(),
        _ => format!("after {} ({})", count(edits, "edit"), list(files, 2)),
    };
    let others = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let errors = failures.iter().take(MOST_EVIDENCE).map(|failure| Evidence::error(&failure.id));
    Some(Sign {
        says: format!(
            "{}{others} failed in {} runs ({}) {work}",
            line(&first.id, 80),
            first.runs,
            list(first.programs.iter().rev(), 2)
        ),
        first: first.first,
        times: first.runs.max(first.same.saturating_mul(2)),
        most: 2 * least,
        confidence: 700,
        evidence: errors.chain(first.programs.iter().map(Evidence::command)).collect(),
    })
}

fn find_looks(config: &Config, memory: &mut Memory, ended: &Ended<'_>, signs: &mut Vec<Sign>) {
    let look = note_look(memory, ended.action, ended.outcome, &ended.context.roots);
    let idle = config.idle;
    let size = memory.idle_count;
    let is_due = look.is_idle
        && size >= idle
        && (size - idle).is_multiple_of(idle.div_ceil(2))
        && !is_loop(memory, ended.history);
    if is_due {
        let labels = unique(memory.idle.iter()).into_iter().take(MOST_EVIDENCE);
        let looks = list(count_labels(&memory.idle).into_iter(), 3);
        signs.push(Sign {
            says: format!("the last {size} steps told nothing new and changed no file: {looks}"),
            first: memory.idle_since,
            times: size,
            most: idle,
            confidence: 750,
            evidence: labels.map(Evidence::command).collect(),
        });
    }
    let minutes = memory.waited / 60_000;
    let most = u64::from(config.minutes);
    if look.waits && minutes >= most && minutes >= memory.wait_reported.saturating_add(most) {
        memory.wait_reported = minutes;
        let steps = count(memory.waits, "step");
        signs.push(Sign {
            says: format!("{minutes} minutes were waited in {steps} without a change of any file"),
            first: memory.wait_since,
            times: u32::try_from(minutes).unwrap_or(u32::MAX),
            most: config.minutes,
            confidence: 600,
            evidence: vec![Evidence::new("growth", format!("{minutes} minutes"))],
        });
    }
}

/// Returns true for the same few steps with the same results in a row, which the builtin pattern
/// `loop` reports.
fn is_loop(memory: &Memory, history: &History) -> bool {
    let steps = history.newest(LOOP * LOOP);
    let is_same = |(one, other): (&Step, &Step)| {
        one.identity == other.identity
            && one.output == other.output
            && one.error == other.error
            && one.prompt == memory.prompt
    };
    (1..=LOOP).any(|length| {
        let from = steps.len().checked_sub(length * LOOP);
        from.and_then(|from| steps.get(from..))
            .is_some_and(|run| run.iter().skip(length).zip(run).all(is_same))
    })
}

/// Returns `reading a.py (3 times)`, the most frequent first.
fn count_labels(labels: &[String]) -> Vec<String> {
    let times = |label: &String| labels.iter().filter(|other| *other == label).count();
    let mut counted: Vec<(usize, &String)> =
        unique(labels.iter()).into_iter().map(|label| (times(label), label)).collect();
    counted.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    let word = |(times, label): (usize, &String)| match times {
        1 => label.clone(),
        _ => format!("{label} ({times} times)"),
    };
    counted.into_iter().map(word).collect()
}

fn word(sign: Sign, several: bool, worst: Severity, action: &Action, memory: &Memory) -> Detection {
    let open = memory.failures.last();
    let open = open.filter(|open| sign.evidence.iter().all(|evidence| evidence.value != open.id));
    let still = open
        .map_or_else(String::new, |open| format!("; still failing: {}", line(&open.id, MOST_NAME)));
    let is_grave = several || sign.times >= sign.most.saturating_mul(2);
    let severity = if is_grave { Severity::High } else { Severity::Medium };
    let (times, most) = (u64::from(sign.times), u64::from(sign.most));
    // Rounded: 300 for each time that is too often.
    let impact = (600 * times + most) / (2 * most);
    let summary = format!("{}{still}; say what is known, and try another way or ask", sign.says);
    let detection = Detection::new("stuck_agent", severity.min(worst), &summary)
        .sure(sign.confidence, Score::try_from(impact).unwrap_or(Score::MAX))
        .since(sign.first);
    let evidence = sign.evidence.into_iter().map(|evidence| evidence.at_step(action.step));
    evidence.fold(detection, Detection::because)
}
