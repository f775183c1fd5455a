//! Checks that a session whose state passes through the journal's database between its events, and
//! is continued by other processes, is reviewed exactly like in one run: every record has the same
//! bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::session::State;
use portcullis_core::undo::RecordedUndo;
use portcullis_engine::ReviewClock;
use portcullis_review::installed::open_engine;
use portcullis_review::recording::{self, EPOCH, RecordedEvent, Recording};
use portcullis_review::reviewer::{Disk, REPLAY_KEY, ReviewContext, Reviewer, Setup};
use portcullis_review::session::ReviewSession;
use portcullis_review::step_detail;
use portcullis_review::stored_records::to_store;
use portcullis_review::workspace::reported::ReportedDisk;
use portcullis_store::{Commit, Durability, Home, Store};
use std::path::{Path, PathBuf};

/// Our own sessions, which show every pattern and intervention.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sessions");
/// The number of sessions from each corpus file, spread over the file.
const OF_EACH: usize = 3;
/// The most events of a session that are played.
const MOST: usize = 250;

fn sessions() -> Vec<Recording> {
    let mut sessions: Vec<Recording> = files(Path::new(OWN))
        .iter()
        .flat_map(|file| recording::read_recordings(file).unwrap())
        .collect();
    // Recordings that we may not publish come in addition.
    if let Some(corpora) = std::env::var_os("PORTCULLIS_CORPORA") {
        for file in files(&Path::new(&corpora).join("trajectories")) {
            let all = recording::read_recordings(&file).unwrap();
            let apart = all.len().div_ceil(OF_EACH).max(1);
            sessions.extend(all.into_iter().step_by(apart));
        }
    }
    sessions.iter_mut().for_each(|session| session.items.truncate(MOST));
    sessions
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

/// Creates the reviewer that a new process starts with; compiled code is kept in one home for all
/// of them.
fn reviewer(cache: &Home, folder: &Path) -> Reviewer {
    let places = Paths {
        person: "/home/user".into(),
        config: folder.to_owned(),
        state: cache.path().to_owned(),
        managed: folder.join("managed.toml"),
        project: None,
        environment: portcullis_agents::HookEnvironment::of_process(),
        handed: None,
    };
    Reviewer::new(Setup {
        config: Config::load(&places, None).unwrap().into(),
        extra: &[],
        bundled: &[],
        clock: ReviewClock { now_ms: EPOCH, time_budget: None },
        observes: false,
        mask_key: REPLAY_KEY,
        engine: open_engine(cache).unwrap(),
        person: places.person,
        project: None,
        places: None,
    })
    .unwrap()
}

/// Reviews a session in one run: the state never leaves the process.
fn review_whole(session: &Recording, reviewer: &mut Reviewer) -> Vec<String> {
    let mut state = ReviewSession::default();
    session
        .items
        .iter()
        .flat_map(|item| state.review_step(item, reviewer))
        .map(|record| record.document())
        .collect()
}

/// Reviews a session in parts: the process ends before each cut.
fn parted(
    session: &Recording,
    cuts: &[usize],
    home: &Home,
    mut begins: impl FnMut() -> Reviewer,
) -> Vec<String> {
    let mut documents = Vec::new();
    let mut begin = 0;
    let mut reported = ReportedDisk::default();
    for end in cuts.iter().copied().chain([session.items.len()]) {
        let (mut reviewer, mut store) =
            (begins(), Store::open_database(home, Durability::Process).unwrap());
        for item in &session.items[begin..end] {
            reported.follow(item.makes.as_deref());
            documents.extend(stored(item, &reported, &mut reviewer, &mut store));
        }
        begin = end;
    }
    documents
}

/// Reviews one event the way a hook does: state and past steps are read from the database, records
/// and state are written to it.
fn stored(
    item: &RecordedEvent,
    reported: &ReportedDisk,
    reviewer: &mut Reviewer,
    store: &mut Store,
) -> Vec<String> {
    let (session, agent) = (&item.event.session, item.event.agent.as_deref());
    let snapshot = store.take_snapshot(session, agent).unwrap();
    let state =
        State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref()).unwrap();
    let seen = item.seen.as_ref();
    let kept = RecordedUndo(seen.and_then(|seen| seen.kept.as_ref()));
    let around = ReviewContext {
        disk: seen.map_or(Disk::Reported(reported), |seen| Disk::Recorded(&seen.observed)),
        home: seen.and_then(|seen| seen.home.as_deref()),
        undo: Some(&kept),
        ..ReviewContext::default()
    };
    let steps = store.session_history(session, agent);
    let details = |step: u64| {
        let records = steps.step_records(step).unwrap();
        step_detail::parse_step(records.iter().map(|record| record.document.as_str()))
    };
    let reviewed = reviewer.review_event(&item.event, state, item.at, &around, &details);
    let (session_state, agent_state) = reviewed.state.encode().unwrap();
    let (session_state, agent_state) = (Some(session_state), Some(agent_state));
    let records = reviewed.records.iter().map(to_store).collect();
    let written = store
        .commit_review(
            &snapshot,
            Commit { session_state, agent_state, records, ..Commit::default() },
        )
        .unwrap();
    written.into_iter().map(|stored| stored.record.document).collect()
}

#[test]
fn a_session_in_parts_is_the_session_in_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Home::open_root(folder.path().join("one")).unwrap();
    let mut one = reviewer(&cache, folder.path());
    let (mut answered, mut noticed) = (0, 0);
    for (number, session) in sessions().iter().enumerate() {
        // The cuts are at different places in each session; one cut and many.
        let length = session.items.len();
        let at = |round: usize| {
            (round.wrapping_mul(0x9e37_79b9) + number.wrapping_mul(0x85eb_ca6b)) % length.max(1)
        };
        let mut cuts: Vec<usize> = (0..3).map(at).collect();
        cuts.sort_unstable();
        let expected = review_whole(session, &mut one);
        let home = Home::open_root(folder.path().join(number.to_string())).unwrap();
        let found = parted(session, &cuts, &home, || reviewer(&cache, folder.path()));
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{}, cut at {cuts:?}: record {index}", session.name);
        }
        assert_eq!(found.len(), expected.len(), "{}, cut at {cuts:?}", session.name);
        answered +=
            expected.iter().filter(|document| document.contains("\"intervention\":{")).count();
        noticed += expected.iter().filter(|document| document.contains("\"detections\":[")).count();
    }
    assert!(
        answered > 10 && noticed > 20,
        "these sessions show nothing: {answered} answers, {noticed} detections"
    );
}
