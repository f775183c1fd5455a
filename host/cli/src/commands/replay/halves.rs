//! A session whose state goes through the journal's database between its events, and that other processes
//! take up in its midst, is reviewed as one run reviews it: every record has the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use super::Session;
use crate::config::Config;
use crate::past;
use crate::places::Places;
use crate::recording::{self, EPOCH, Item, Recording};
use crate::runtime::{Circumstances, REPLAY_KEY, Reviewer, Setup, code_cache, to_store};
use portcullis_core::session::State;
use portcullis_core::undo::KeptThen;
use portcullis_engine::ReviewClock;
use portcullis_store::{Commit, Durability, Home, Store};
use std::path::{Path, PathBuf};

/// Sessions of our own: a hook session with nearly everything in it, and two short trajectories.
const OWN: [(&str, &str); 2] = [
    ("till", include_str!("../../../../../tests/cli/sessions/till.jsonl")),
    ("trajectories", include_str!("../../../../../tests/cli/sessions/trajectories.jsonl")),
];
/// Sessions of each of the corpora's files, spread over the file.
const OF_EACH: usize = 3;
/// Events of a session that are played.
const MOST: usize = 250;

fn sessions() -> Vec<Recording> {
    let mut sessions: Vec<Recording> = OWN.iter().flat_map(|(name, text)| recording::parse(text, name).unwrap()).collect();
    // Recordings that are not ours to publish.
    if let Some(corpora) = std::env::var_os("PORTCULLIS_CORPORA") {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(Path::new(&corpora).join("trajectories")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for file in files {
            let all = recording::read(&file).unwrap();
            let apart = all.len().div_ceil(OF_EACH).max(1);
            sessions.extend(all.into_iter().step_by(apart));
        }
    }
    sessions.iter_mut().for_each(|session| session.items.truncate(MOST));
    sessions
}

/// What a process begins with; compiled code is kept in one home for all of them.
fn reviewer(cache: &Home, folder: &Path) -> Reviewer {
    let places = Places {
        person: "/home/user".into(),
        config: folder.to_owned(),
        state: cache.path().to_owned(),
        managed: folder.join("managed.toml"),
        project: None,
    };
    Reviewer::new(Setup {
        config: Config::load(&places, None).unwrap(),
        extra: &[],
        bundled: &[],
        clock: ReviewClock { now_ms: EPOCH, backstop: None },
        observes: false,
        mask_key: REPLAY_KEY,
        cache: Some(code_cache(cache)),
        person: places.person,
        project: None,
    })
    .unwrap()
}

/// In one run: the state never leaves the process.
fn whole(session: &Recording, reviewer: &mut Reviewer) -> Vec<String> {
    let mut state = Session::default();
    session.items.iter().flat_map(|item| state.step(item, reviewer)).map(|record| record.document()).collect()
}

/// In parts: before each cut the process ends.
fn parted(session: &Recording, cuts: &[usize], home: &Home, mut begins: impl FnMut() -> Reviewer) -> Vec<String> {
    let mut documents = Vec::new();
    let mut begin = 0;
    for end in cuts.iter().copied().chain([session.items.len()]) {
        let (mut reviewer, mut store) = (begins(), Store::open(home, Durability::Process).unwrap());
        for item in &session.items[begin..end] {
            documents.extend(stored(item, &mut reviewer, &mut store));
        }
        begin = end;
    }
    documents
}

/// One event on the hook's way: state and past steps come out of the database, records and state go in.
fn stored(item: &Item, reviewer: &mut Reviewer, store: &mut Store) -> Vec<String> {
    let (session, agent) = (&item.event.session, item.event.agent.as_deref());
    let snapshot = store.snapshot(session, agent).unwrap();
    let state = State::decode(snapshot.session.as_deref(), snapshot.agent.as_deref()).unwrap();
    let seen = item.seen.as_ref();
    let kept = KeptThen(seen.and_then(|seen| seen.kept.as_ref()));
    let around = Circumstances {
        seen: seen.map(|seen| &seen.observed),
        home: seen.and_then(|seen| seen.home.as_deref()),
        undo: Some(&kept),
        ..Circumstances::default()
    };
    let steps = store.past(session, agent);
    let details = |step: u64| past::detail(&steps.documents(step).unwrap());
    let reviewed = reviewer.review(&item.event, state, item.at, &around, &details);
    drop(steps);
    let (session_state, agent_state) = reviewed.state.encode().unwrap();
    let (session_state, agent_state) = (Some(session_state), Some(agent_state));
    let records = reviewed.records.iter().map(to_store).collect();
    let written = store.commit(&snapshot, Commit { session_state, agent_state, records, ..Commit::default() }).unwrap();
    written.into_iter().map(|stored| stored.record.document).collect()
}

#[test]
fn a_session_in_parts_is_the_session_in_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Home::open(folder.path().join("one")).unwrap();
    let mut one = reviewer(&cache, folder.path());
    let (mut answered, mut noticed) = (0, 0);
    for (number, session) in sessions().iter().enumerate() {
        // Somewhere, another place for each session; one cut and many.
        let length = session.items.len();
        let at = |turn: usize| (turn.wrapping_mul(0x9e37_79b9) + number.wrapping_mul(0x85eb_ca6b)) % length.max(1);
        let mut cuts: Vec<usize> = (0..3).map(at).collect();
        cuts.sort_unstable();
        let expected = whole(session, &mut one);
        let home = Home::open(folder.path().join(number.to_string())).unwrap();
        let found = parted(session, &cuts, &home, || reviewer(&cache, folder.path()));
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{}, cut at {cuts:?}: record {index}", session.name);
        }
        assert_eq!(found.len(), expected.len(), "{}, cut at {cuts:?}", session.name);
        answered += expected.iter().filter(|document| document.contains("\"intervention\":{")).count();
        noticed += expected.iter().filter(|document| document.contains("\"detections\":[")).count();
    }
    assert!(answered > 1 && noticed > 1, "these sessions show nothing: {answered} answers, {noticed} detections");
}
