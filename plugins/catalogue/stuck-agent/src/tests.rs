//! Native tests; `cases.toml` has whole sessions.

use super::*;
use crate::memory::{FileMemory, Range, Return, State};
use portcullis_plugin::testing::{self, BuildAction, PatternRun};

fn fill(files: u32, path: &str) -> Memory {
    let mut memory = Memory::new(3);
    for at in 0..files {
        let states: Vec<State> = (0..20).map(State::Lines).collect();
        let file = FileMemory {
            path: format!("/{at}/{path}"),
            edits: at,
            first: 7,
            whole: vec![State::Base, State::Gone, State::Unknown, State::Written(1)],
            parts: vec![states; 20],
            returns: vec![
                (Return::Whole(State::Printed(2)), 1),
                (Return::Part(State::Empty(3), State::Lines(4)), 2),
            ],
        };
        memory.files.push(file);
        memory.read.push(Range { path: path.to_owned(), from: 1, to: -1 });
    }
    memory
}

#[test]
fn what_is_written_is_read() {
    let mut memory = fill(30, "a.py");
    let bytes = memory.write_state();
    assert_eq!((memory.files.len(), bytes.len() < 40_000), (24, true), "{}", bytes.len());
    assert_eq!(Memory::read(&bytes, 3).unwrap(), memory);
    assert_eq!(Memory::read(&bytes, 4).unwrap(), Memory::new(4));
    assert_eq!(Memory::read(b"\x01{}", 3).unwrap(), Memory::new(3));
    let damaged = bytes.get(..50).map(|bytes| Memory::read(bytes, 3));
    let message = damaged.and_then(|memory| memory.err()).map(|error| error.message());
    assert_eq!(message.as_deref(), Some("`state` is damaged: start a new session"));
}

/// More steps than the memory has names of are counted all the same.
#[test]
fn idle_steps_are_counted() {
    let mut memory = Memory::new(3);
    let action = testing::shell("ls").succeeded();
    let outcome = action.outcome.as_ref().unwrap();
    for at in 0..100 {
        looks::note_look(&mut memory, &action, outcome, &[]);
        memory = Memory::read(&memory.write_state(), 3).unwrap();
        assert_eq!((memory.idle_count, memory.idle.len() <= 64), (at, true));
    }
    looks::note_change(&mut memory);
    assert_eq!((memory.idle_count, memory.idle.len()), (0, 0));
}

#[test]
fn failures_are_read_from_lines() {
    for (line, id, why) in [
        ("FAILED é.py::a - no", "é.py::a", Some("no")),
        ("tests/a.py::b FAILED [ 50%]", "tests/a.py::b", None),
        ("test a::b - should panic ... FAILED", "a::b", None),
        ("  FAIL [   0.004s] (1/9) a::b c::d", "a::b c::d", None),
        ("  FAIL [   0.004s] a::b c::d", "a::b c::d", None),
        ("  ✕ adds (2 of 3) (5 ms)", "adds (2 of 3)", None),
        ("FAIL  src/a.test.ts 0.3s", "src/a.test.ts", None),
        ("[ERROR]   A.b:12->c:9 expected 5", "A.b", Some("expected 5")),
    ] {
        let failure = forms::FailureLine { file: None, id, why };
        assert_eq!(forms::read_test(line), Some(failure), "{line}");
    }
    for line in
        ["FAILED .py", "● Console", "●  a", "FAIL", "a:: FAILED", "a > FAILED", "not ok 1 - "]
    {
        assert_eq!(forms::read_test(line), None, "{line}");
    }
}

#[test]
fn long_paths_are_forgotten_before_the_state_is_too_large() {
    let mut memory = fill(24, &"long/".repeat(800));
    assert!(memory.write_state().len() < 64 << 10);
    assert!(memory.files.iter().any(|file| file.path.starts_with("/23/")));
}

#[test]
fn only_what_ended_is_looked_at() {
    let mut run = PatternRun::<StuckAgent>::new(&[]).unwrap();
    let context = testing::context();
    let action = testing::shell("sleep 3600").at_step(0);
    run.ask(&testing::history([testing::step(0)]), &action, &context).unwrap();
    let action = action.succeeded();
    run.ask(&testing::history([testing::step(1)]), &action, &context).unwrap();
    assert!(run.state().is_empty());
    let report = run.ask(&testing::history([testing::step(0)]), &action, &context).unwrap();
    assert_eq!(report.detections.len(), 1);
    assert_eq!(run.state().first(), Some(&2));
}
