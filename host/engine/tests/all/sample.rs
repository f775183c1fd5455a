//! An ordinary action in an ordinary session, for tests, benches and fuzzing that call plugins.

#![allow(unreachable_pub, reason = "other programs use it too")]

use portcullis_core::action::{
    Action, Context, Coverage, Facts, Intent, Operation, Repetition, Shell,
};

/// Returns `ls -l`, run by Claude Code.
pub fn action() -> Action {
    Action {
        id: "review-1".into(),
        step: 7,
        client: "claude".into(),
        agent: None,
        tool: "Bash".into(),
        intent: Intent::SystemCommand,
        operation: Operation::Shell(Shell { text: "ls -l".into(), ..Shell::default() }),
        facts: Facts {
            effects: vec![],
            paths: vec![],
            hosts: vec![],
            programs: vec!["ls".into()],
            forms: vec![],
            shape: 1,
            identity: 2,
            coverage: Coverage::Full,
            gaps: vec![],
            limits: vec![],
        },
        parameters: r#"{"command":"ls -l"}"#.into(),
        outcome: None,
        attributes: vec![],
    }
}

/// Returns a session that has just begun.
pub fn context() -> Context {
    Context {
        session: "session-1".into(),
        now: 1_700_000_000_000,
        cwd: "/work".into(),
        roots: vec!["/work".into()],
        goals: vec![],
        limits: vec![],
        repetition: Repetition::default(),
        assessments: vec![],
        attributes: vec![],
    }
}
