//! Steps that only look, or wait: whether they tell anything new, and how long was waited.

use crate::memory::{Memory, Range};
use crate::ranges::{add_range, covers, is_look, list_ranges};
use crate::texts::{Fingerprint, MOST_NAME, hash_answer, line, line_of, place};
use portcullis_plugin::pattern::Status;
use portcullis_plugin::types::{Action, Command, Coverage, Operation, Outcome, Shell};

/// Tools that ask whether something has ended.
const POLLS: &[&str] =
    &["BashOutput", "TaskOutput", "read_bash", "AgentOutputTool", "wait", "write_stdin"];
/// The shortest `sleep` that is waiting, in milliseconds: after a start, a moment is usual.
const LEAST_SLEEP: u64 = 5000;

/// What a step is to the steps in a row that told nothing new.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// It is a further one.
    pub is_idle: bool,
    /// It waits or polls.
    pub waits: bool,
}

/// Notes a step that has ended, where it changed no file that the plugin knows of.
pub fn note_look(
    memory: &mut Memory,
    action: &Action,
    outcome: &Outcome,
    roots: &[String],
) -> Look {
    let waits = is_waiting(action);
    if waits {
        note_wait(memory, action, outcome);
    }
    let is_known = action.facts.coverage == Coverage::Full && outcome.status == Status::Ok;
    let ranges = if is_known { list_ranges(action) } else { None }.unwrap_or_default();
    let answer = hash_answer(fingerprint_question(action, waits), outcome);
    let is_read = !ranges.is_empty() && ranges.iter().all(|range| covers(&memory.read, range));
    let is_idle = is_read || memory.seen.contains(&answer);
    if is_idle {
        if memory.idle.is_empty() {
            memory.idle_since = action.step;
        }
        memory.idle.push(describe(action, &ranges, roots));
        memory.idle_count = memory.idle_count.saturating_add(1);
    } else {
        // A program may have changed anything; what it told is known all the same.
        if !is_look(action) {
            memory.read.clear();
        }
        memory.seen.push(answer);
        memory.forget_idle();
    }
    for range in ranges {
        add_range(memory, range);
    }
    Look { is_idle, waits }
}

/// Notes that something was changed: what was seen before is no longer what is there.
pub fn note_change(memory: &mut Memory) {
    memory.seen.clear();
    memory.read.clear();
    memory.forget_idle();
    (memory.waited, memory.waits, memory.wait_reported) = (0, 0, 0);
}

fn note_wait(memory: &mut Memory, action: &Action, outcome: &Outcome) {
    if memory.waits == 0 {
        memory.wait_since = action.step;
    }
    memory.waits = memory.waits.saturating_add(1);
    let slept = action.shell().map_or(0, sum_sleeps);
    let took = u64::from(outcome.duration_ms.unwrap_or_default());
    memory.waited = memory.waited.saturating_add(took.max(slept));
}

/// Returns the fingerprint of what is asked for, whatever is waited before.
fn fingerprint_question(action: &Action, waits: bool) -> Fingerprint {
    let print = Fingerprint::new();
    let Some(shell) = action.shell().filter(|_| waits) else {
        return print.add(&action.facts.identity.to_le_bytes());
    };
    let asking = shell.commands.iter().filter(|command| command.program != "sleep");
    asking.fold(print, |print, command| {
        let print = print.add(command.program.as_bytes());
        let add = |print: Fingerprint, word: &str| print.add(b" ").add(word.as_bytes());
        command.words.iter().fold(print, |print, word| add(print, &word.text)).add(b"\n")
    })
}

/// Returns true if a step waits for something.
fn is_waiting(action: &Action) -> bool {
    match &action.operation {
        Operation::Shell(shell) => {
            sum_sleeps(shell) >= LEAST_SLEEP || shell.commands.iter().any(waits)
        }
        _ => POLLS.contains(&action.tool.as_str()),
    }
}

/// Returns true for a program that waits by itself.
fn waits(command: &Command) -> bool {
    let has = |marks: &[&str]| command.words.iter().any(|word| marks.contains(&&*word.text));
    match command.program.as_str() {
        "gh" => has(&["watch"]),
        "kubectl" => has(&["wait"]),
        "tail" => has(&["-f", "-F"]),
        "watch" | "wait" | "inotifywait" => true,
        _ => false,
    }
}

/// Returns the milliseconds that a command line sleeps, each `sleep` once.
fn sum_sleeps(shell: &Shell) -> u64 {
    let sleeps = shell.commands.iter().filter(|command| command.program == "sleep");
    let times = sleeps.filter_map(|command| read_time(&command.words.first()?.text));
    times.fold(0, u64::saturating_add)
}

/// Reads `30`, `0.5` or `15m` as milliseconds.
fn read_time(word: &str) -> Option<u64> {
    let (number, unit) = match word.chars().next_back()? {
        's' => (word.strip_suffix('s')?, 1000),
        'm' => (word.strip_suffix('m')?, 60_000),
        'h' => (word.strip_suffix('h')?, 3_600_000),
        'd' => (word.strip_suffix('d')?, 86_400_000),
        _ => (word, 1000),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().unwrap_or(u64::MAX);
    // Thousandths are enough.
    let thousandths = fraction.bytes().chain(*b"000").take(3);
    let thousandths = thousandths.fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    Some(whole.saturating_mul(unit).saturating_add(thousandths * unit / 1000))
}

/// Returns what a step is, for a person.
fn describe(action: &Action, ranges: &[Range], roots: &[String]) -> String {
    if let Some(range) = ranges.first() {
        return format!("reading {}", line(place(&range.path, roots), MOST_NAME));
    }
    let argument = match &action.operation {
        Operation::Shell(shell) => return line(&shell.text, MOST_NAME),
        Operation::Tool(call) => call.arguments.first().map(|argument| argument.value.as_str()),
        _ => None,
    };
    let words = [action.tool.as_str(), " ", argument.unwrap_or_default()];
    line_of(words.into_iter().flat_map(str::chars), MOST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (word, time) in [
            ("30", Some(30_000)),
            ("0.5", Some(500)),
            ("1.25m", Some(75_000)),
            ("2d", Some(172_800_000)),
            ("infinity", None),
            ("1.", None),
            (".5", None),
            ("m", None),
            ("", None),
            ("99999999999999999999d", Some(u64::MAX)),
        ] {
            assert_eq!(read_time(word), time, "{word}");
        }
    }
}
