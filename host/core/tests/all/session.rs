//! A session's state: it survives restarts of the process, stays bounded, and a run can be resumed.

use crate::harness::{
    World, answer, by, detection, event, failed, fault, guidance, post, pre, prompt, rewrites,
    risk, rules, says_of,
};
use portcullis_agents::claude::wire as claude;
use portcullis_core::action::{Limit, Quantity, Status};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::finding::{Assessment, Change, Guidance, Report, Response};
use portcullis_core::own_files::OwnFiles;
use portcullis_core::record::RecordKind;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::seen_secrets::SeenSecrets;
use portcullis_core::session::{HISTORY, PromptClock, State, StateError};
use serde_json::{Value, json};

/// Returns a session in which everything happens once.
fn story() -> Vec<Value> {
    let bash = |command: &str| json!({ "command": command });
    let mut story = vec![
        event("SessionStart", json!({"source": "startup"})),
        prompt("fix the build, mail me@example.org"),
    ];
    for index in 0..30 {
        let (command, id) = (
            format!(
                "{} {index}",
                ["make", "touch", "warn", "block", "ask", "change", "broken"][index % 7]
            ),
            format!("t{index}"),
        );
        story.push(pre("Bash", bash(&command), &id));
        match index % 4 {
            0 => story.push(failed(
                "Bash",
                bash(&command),
                &id,
                "Exit code 2\nno rule to make target",
            )),
            1 => story.push(by(
                "a1",
                pre("Read", json!({"file_path": "/etc/passwd"}), &format!("s{index}")),
            )),
            _ => story.push(post(
                "Bash",
                bash(&command),
                &id,
                json!({"stdout": "done", "stderr": ""}),
            )),
        }
    }
    story.push(post("Bash", bash("never seen"), "u1", json!("x")));
    story.push(event(
        "PostToolBatch",
        json!({"tool_calls": [{"tool_name": "Teleport", "tool_input": {}, "tool_use_id": "u2"}]}),
    ));
    story.push(event("ConfigChange", json!({"source": "project_settings", "file_path": "/x"})));
    story.push(pre("Bash", bash("doom"), "t98"));
    story.push(pre("Bash", bash("ls"), "t99"));
    story.push(event("SessionEnd", json!({"reason": "other"})));
    story
}

fn world() -> World {
    let mut world = World::default();
    world.plugins.assess = Box::new(|action, _| {
        let said = |mark: &str| action.parameters.contains(mark);
        let result = match () {
            () if said("warn") => Ok(rules(Verdict::Warn, Severity::Low)),
            () if said("block") => Ok(rules(Verdict::Block, Severity::Low)),
            () if said("ask") => Ok(rules(Verdict::Ask, Severity::Low)),
            () if said("change") => Ok(rewrites(&[Change::SetText("make safe".into())])),
            () if said("broken") => Err(fault(FaultKind::Trap, OnFault::Ask)),
            () if said("doom") => Ok(rules(Verdict::Block, Severity::Critical)),
            () => Ok(risk(650)),
        };
        vec![answer("judge", result)]
    });
    world.plugins.detect = Box::new(|history, action, state| {
        let failures = history.steps.iter().filter(|step| step.status == Status::Failed).count();
        let due = action.outcome.is_some() && failures >= 3;
        let detections = if due {
            vec![detection("repetitive_errors", Severity::Medium, 700, 500)]
        } else {
            Vec::new()
        };
        vec![answer("pattern", Ok(Report { detections, state: Some([state, &[1]].concat()) }))]
    });
    world
}

/// Returns everything that leaves the host or outlives the event.
fn trace(world: &World) -> (Vec<String>, String, Option<Vec<u8>>, Vec<u8>) {
    (
        world.documents(),
        world.replies.clone(),
        world.session.clone(),
        world.agents.values().flatten().copied().collect(),
    )
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let run = || {
        let mut world = world();
        story().iter().for_each(|payload| drop(world.send(payload)));
        world
    };
    let first = run();
    assert_eq!(trace(&first), trace(&run()));
    let kinds: Vec<RecordKind> = first.journal.iter().map(|record| record.kind).collect();
    // The other kinds are created outside of a client's events.
    let apart = [
        RecordKind::Fault,
        RecordKind::Exception,
        RecordKind::Feedback,
        RecordKind::Authentication,
    ];
    for kind in RecordKind::ALL.iter().filter(|kind| !apart.contains(kind)) {
        assert!(kinds.contains(kind), "the story has a record of the kind {kind}");
    }
    assert!(first.state().session.stopped.is_some());
}

#[test]
fn a_run_in_two_halves_equals_one_run() {
    let story = story();
    let mut whole = world();
    story.iter().for_each(|payload| drop(whole.send(payload)));
    for cut in [1, 10, story.len() / 2, story.len() - 2] {
        let mut first = world();
        story[..cut].iter().for_each(|payload| drop(first.send(payload)));
        let mut second = World {
            session: first.session,
            agents: first.agents,
            journal: first.journal,
            replies: first.replies,
            now: first.now,
            ..world()
        };
        story[cut..].iter().for_each(|payload| drop(second.send(payload)));
        assert_eq!(trace(&second), trace(&whole), "cut after {cut}");
    }
}

#[test]
fn bytes_of_another_kind_are_refused() {
    let (session, agent) = State::default().encode().unwrap();
    assert_eq!(State::decode_state(Some(&session), Some(&agent)), Ok(State::default()));
    assert_eq!(State::decode_state(None, None), Ok(State::default()));
    assert_eq!(State::decode_state(Some(&[]), None), Ok(State::default()));
    assert_eq!(State::decode_state(Some(&[11, 9]), None), Err(StateError::Layout { found: 11 }));
    let mut world = world();
    story().iter().for_each(|payload| drop(world.send(payload)));
    let session = world.session.clone().unwrap();
    for length in [1, 2, 10, session.len() / 2, session.len() - 1] {
        let problem = State::decode_state(Some(&session[..length]), None).unwrap_err();
        assert!(
            problem.to_string().contains("start a new session"),
            "{length} of {} bytes: {problem}",
            session.len()
        );
    }
    let (steps, agent) = (world.state().agent.steps.len(), world.state().encode().unwrap().1);
    let rows = 1
        + agent[1..].iter().position(|byte| *byte < 0x80).unwrap()
        + 1
        + postcard::to_allocvec(&(steps * ROW)).unwrap().len();
    for (at, value) in [(ROW - 1, 200), (ROW - 3, 99), (69, 255)] {
        let mut changed = agent.clone();
        changed[rows + at] = value;
        let problem = State::decode_state(None, Some(&changed)).unwrap_err();
        assert!(problem.to_string().contains("damaged"), "byte {at} of a row: {problem}");
    }
}

/// The bytes of a row, as layout 4 has them.
const ROW: usize = 81;

/// Encodes the agent's part in the layouts before 4: its steps one field after the other.
fn before_rows(state: &State) -> Vec<u8> {
    let now = state.encode().unwrap().1;
    let number = |number: u64| postcard::to_allocvec(&number).unwrap();
    let rows = state.agent.steps.len() * ROW;
    let begin = 1 + number(state.agent.next_step).len();
    let rest = begin + number(rows as u64).len() + rows;
    [&now[..begin], &postcard::to_allocvec(&state.agent.steps).unwrap(), &now[rest..]].concat()
}

/// States written by an earlier version are read, with defaults for later additions.
#[test]
fn states_of_earlier_layouts_are_read() {
    let mut world = world();
    story().iter().for_each(|payload| drop(world.send(payload)));
    let mut state = world.state();
    let agent = before_rows(&state);
    state.session.configured = None;
    state.session.base = None;
    state.session.clock = PromptClock::default();
    state.session.announced.clear();
    (state.session.calm_steps, state.session.measured_at) = (0, None);
    (state.session.next_step, state.session.plugins, state.session.held, state.session.stop) =
        (0, Default::default(), None, None);
    state.session.raised = None;
    state.session.limit_changes.clear();
    state.session.lasting.clear();
    state.session.refused.clear();
    state.session.refused_steps.clear();
    state.session.own_files = OwnFiles::default();
    state.session.secrets = SeenSecrets::default();
    let (session, _) = state.encode().unwrap();
    for (layout, added) in [(3, 20), (2, 22), (1, 23)] {
        let earlier =
            |bytes: &[u8], added: usize| [&[layout], &bytes[1..bytes.len() - added]].concat();
        let read = State::decode_state(Some(&earlier(&session, added)), Some(&earlier(&agent, 1)));
        assert_eq!(
            read.as_ref().map(|read| (&read.session, &read.agent)),
            Ok((&state.session, &state.agent)),
            "layout {layout}"
        );
    }
    let now = state.encode().unwrap().1;
    for (layout, added) in [(7, 12), (6, 16), (5, 19), (4, 20)] {
        let shorter = [&[layout], &session[1..session.len() - added]].concat();
        let agent = [&[layout], &now[1..now.len() - usize::from(layout < 8)]].concat();
        let read = State::decode_state(Some(&shorter), Some(&agent));
        assert_eq!(read.as_ref(), Ok(&state), "layout {layout}");
    }
    for (layout, added) in [(9, 1), (8, 4)] {
        let [session, agent] =
            [&session[1..session.len() - added], &now[1..]].map(|body| [&[layout], body].concat());
        let read = State::decode_state(Some(&session), Some(&agent));
        assert_eq!(read.as_ref(), Ok(&state), "layout {layout}");
    }
}

/// A refused step of one agent is in the history of the others, until it ran after all.
#[test]
fn a_refused_step_is_known_to_every_agent() {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let keep = std::rc::Rc::clone(&seen);
    let mut world = World::default();
    world.plugins.assess =
        says_of("refused", rules(portcullis_core::score::Verdict::Ask, Severity::High));
    world.plugins.detect = Box::new(move |history, _, _| {
        *keep.borrow_mut() =
            history.steps.iter().map(|step| (step.index, step.status)).collect::<Vec<_>>();
        Vec::new()
    });
    let command = json!({"command": "make refused"});
    world.send(&by("a1", pre("Bash", json!({"command": "ls"}), "s0")));
    world.send(&by("a1", pre("Bash", command.clone(), "s1")));
    world.bash("ls", "t2");
    assert_eq!(*seen.borrow(), [(1, Status::Refused)], "but not what a subagent was allowed");
    world.bash("ls", "t3");
    assert_eq!(seen.borrow().len(), 2);
    world.send(&by("a1", post("Bash", command, "s1", json!("done"))));
    world.bash("ls", "t4");
    assert!(seen.borrow().iter().all(|(_, status)| *status != Status::Refused), "{seen:?}");
}

/// A plugin that observes the session as a whole has one state for all its agents; others have one
/// for each. Steps have one numbering, shared by all agents.
#[test]
fn agents_share_what_looks_at_the_whole_session() {
    for (shared, expected) in [(true, [1, 2, 3, 4]), (false, [1, 1, 2, 2])] {
        let mut world = World::default();
        world.plugins.detect = Box::new(move |_, _, state| {
            let mut response = answer(
                "pattern",
                Ok(Report { detections: Vec::new(), state: Some([state, &[1]].concat()) }),
            );
            response.plugin.session = shared;
            vec![response]
        });
        let mut sizes = Vec::new();
        for (index, agent) in [None, Some("a1"), None, Some("a1")].into_iter().enumerate() {
            let call =
                pre("Bash", json!({"command": format!("make {index}")}), &format!("t{index}"));
            let sent =
                world.send(&agent.map_or_else(|| call.clone(), |name| by(name, call.clone())));
            assert_eq!(sent.records[0].step, Some(index as u64), "one numbering");
            let state = world.state_of(agent.unwrap_or_default());
            let (kept, other) = if shared {
                (&state.session.plugins, &state.agent.plugins)
            } else {
                (&state.agent.plugins, &state.session.plugins)
            };
            sizes.push(kept["pattern"].len());
            assert_eq!(other.len(), 0);
        }
        assert_eq!(sizes, expected, "shared: {shared}");
    }
}

#[test]
fn ten_thousand_steps_are_remembered_as_two_hundred() {
    let mut world = World::default();
    world.plugins.assess = says_of("warn", rules(Verdict::Warn, Severity::Low));
    world.plugins.watched = false;
    let (mut state, mut early) = (State::default(), 0);
    for index in 0..10_000_u32 {
        let command =
            format!("{} {}", if index % 3 == 0 { "warn" } else { "make" }, "x".repeat(240));
        let (input, id) = (json!({ "command": command }), format!("toolu_{index}"));
        let mut payloads = vec![pre("Bash", input.clone(), &id)];
        payloads.extend((index % 2 == 0).then(|| post("Bash", input, &id, json!("done"))));
        for payload in payloads {
            let event = claude::parse_event(payload.to_string().as_bytes()).unwrap();
            state = world.review(&event, state).state;
        }
        if index == 1000 {
            early = bytes(&state);
        }
    }
    assert_eq!((state.agent.steps.len(), state.agent.next_step), (HISTORY, 10_000));
    assert_eq!((state.session.totals.steps, state.session.totals.warned), (10_000, 3334));
    assert_eq!(state.agent.steps.back().unwrap().index, 9999);
    let late = bytes(&state);
    assert!(
        late < early + 1024 && late < 64 * 1024,
        "{early} bytes after 1,000 steps, {late} after 10,000"
    );
}

fn bytes(state: &State) -> usize {
    let (session, agent) = state.encode().unwrap();
    session.len() + agent.len()
}

fn size(world: &World) -> usize {
    world.session.as_ref().map_or(0, Vec::len) + world.agents.values().map(Vec::len).sum::<usize>()
}

#[test]
fn of_three_hundred_open_calls_the_newest_are_joined() {
    let mut world = World::default();
    world.plugins.watched = false;
    (0..300).for_each(|index| drop(world.bash(&format!("make {index}"), &format!("t{index}"))));
    assert!(world.agent().pending.len() <= 64);
    let joined = |world: &mut World, index: usize| {
        let sent = world.send(&post(
            "Bash",
            json!({"command": format!("make {index}")}),
            &format!("t{index}"),
            json!("done"),
        ));
        (sent.records[0].kind, sent.records[0].details.contains_key("review"))
    };
    assert_eq!(joined(&mut world, 299), (RecordKind::Outcome, true));
    assert_eq!(joined(&mut world, 240), (RecordKind::Outcome, true));
    assert_eq!(
        joined(&mut world, 0),
        (RecordKind::Outcome, false),
        "reviewed, but too long ago to know its step"
    );
}

#[test]
fn of_a_thousand_shapes_the_newest_are_counted() {
    let mut world = World::default();
    world.plugins.watched = false;
    (0..1000)
        .for_each(|index| drop(world.bash(&format!("program{index} x"), &format!("t{index}"))));
    let seen = |world: &mut World, index: usize| {
        world.bash(&format!("program{index} x"), &format!("again{index}"));
        let agent = world.agent();
        let step = *agent.steps.back().unwrap();
        agent.find_repetition(step.shape, step.identity).seen
    };
    assert_eq!(seen(&mut world, 999), 2);
    assert_eq!(seen(&mut world, 0), 1, "forgotten, and so new again");
    assert!(size(&world) < 32 * 1024, "{} bytes", size(&world));
}

/// Plugins name issues, quantities and rules: the state stays small with any names.
#[test]
fn plugins_cannot_make_a_state_grow() {
    let mut world = World::default();
    world.policy.interventions.cooldown_ms = 0;
    world.plugins.watched = false;
    let mut count = 0_u32;
    world.plugins.detect = Box::new(move |_, _, _| {
        let names = (0..16).map(|index| format!("pattern {count} {index} {}", "x".repeat(90)));
        let detections = names.map(|name| detection(&name, Severity::Critical, 900, 500)).collect();
        count += 1;
        vec![answer("pattern", Ok(Report { detections, state: Some(vec![7; 1000]) }))]
    });
    let mut number = 0_u64;
    world.plugins.intervene = Box::new(move |name, issue, _| {
        number += 1;
        let limits = (0..64)
            .map(|index| Limit {
                quantity: Quantity::Other(format!("{number} {index} of {}", issue.name)),
                maximum: 1,
                used: 0,
            })
            .collect();
        Some(answer(
            name,
            Ok(Response::Guide(Guidance {
                limits,
                messages: vec!["x".repeat(4096); 8],
                ..Guidance::default()
            })),
        ))
    });
    for index in 0..100 {
        world.bash("make", &format!("t{index}"));
    }
    let session = world.state().session;
    assert!(
        session.issues.len() <= 64
            && session.limits.len() <= 16
            && session.interventions.len() <= 32
    );
    assert!(size(&world) < 64 * 1024, "{} bytes", size(&world));
    assert_eq!(session.totals.interventions, 1600, "all are counted");
}

#[test]
fn clients_cannot_make_a_state_grow() {
    let mut world = World::default();
    world.plugins.intervene = Box::new(|name, _, _| Some(answer(name, Ok(guidance("x")))));
    world.plugins.watched = false;
    for index in 0..200 {
        let wide: String = format!("{index} ") + &"é".repeat(120);
        world.send(&pre(&wide, json!({"x": "y".repeat(100_000)}), &wide));
        world.send(&prompt(&"goal ".repeat(10_000)));
    }
    assert!(size(&world) < 128 * 1024, "{} bytes", size(&world));
}

#[test]
fn the_first_event_sets_the_session_up_whatever_the_clock_says() {
    let mut world = World { now: 0, ..World::default() };
    world.bash("touch a", "t1");
    world.now = 0;
    world.bash("touch b", "t2");
    let session = world.state().session;
    assert_eq!((session.limits.len(), session.limits[0].used, session.started), (6, 2, 0));
    assert_eq!(session.roots, [crate::harness::CWD]);
    world.now = 0;
    let mut elsewhere = pre("Bash", json!({"command": "ls"}), "t3");
    elsewhere["cwd"] = "/srv".into();
    world.send(&elsewhere);
    assert_eq!(
        world.state().session.roots,
        [crate::harness::CWD],
        "the project is where the session began"
    );
}

#[test]
fn a_relative_working_folder_is_no_place() {
    let mut world = World::default();
    let mut odd = pre("Bash", json!({"command": "touch a"}), "t1");
    odd["cwd"] = "somewhere/else".into();
    let sent = world.send(&odd);
    assert_eq!(sent.records[0].action.as_ref().unwrap().cwd, "/");
    assert!(world.state().session.roots.is_empty());
    assert_eq!(sent.verdict(), Verdict::Allow);
    world.plugins.assess = Box::new(|_, _| vec![answer("judge", Ok(Assessment::default()))]);
    assert_eq!(world.bash("ls", "t2").records[0].action.as_ref().unwrap().cwd, crate::harness::CWD);
}
