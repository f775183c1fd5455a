//! Any order of snapshots, commits, appends, prunings, reopenings and checkpoints against a model
//! in memory.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, record};
use portcullis_store::{Commit, CommitError, Filter, NewRecord, SessionSnapshot};
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;

#[derive(Clone, Debug)]
enum Act {
    Look(u8, u8),
    Commit { which: usize, session: Option<u8>, agent: Option<u8>, records: u8 },
    Append(u8),
    Prune(u64),
    Reopen,
    Checkpoint,
}

fn act() -> impl Strategy<Value = Act> {
    let state = || prop::option::of(any::<u8>());
    prop_oneof![
        4 => (0..2_u8, 0..3_u8).prop_map(|(session, agent)| Act::Look(session, agent)),
        6 => (any::<usize>(), state(), state(), 0..4_u8)
            .prop_map(|(which, session, agent, records)| Act::Commit { which, session, agent, records }),
        1 => (0..3_u8).prop_map(Act::Append),
        1 => (0..60_u64).prop_map(Act::Prune),
        1 => Just(Act::Reopen),
        1 => Just(Act::Checkpoint),
    ]
}

#[derive(Default)]
struct Model {
    heads: HashMap<String, u64>,
    sessions: HashMap<String, Vec<u8>>,
    agents: HashMap<(String, Option<String>), Vec<u8>>,
    /// The journal's records, and the number that it ever held.
    records: Vec<Kept>,
    total: u64,
}

struct Kept {
    id: String,
    at: u64,
    session: Option<String>,
}

impl Model {
    fn snapshot(&self, session: &str, agent: Option<&str>) -> SessionSnapshot {
        SessionSnapshot {
            session_id: session.into(),
            agent_id: agent.map(Into::into),
            head: self.heads.get(session).copied().unwrap_or(0),
            session: self.sessions.get(session).cloned(),
            agent: self.agents.get(&(session.into(), agent.map(Into::into))).cloned(),
            exceptions: Vec::new(),
            breakers: std::collections::BTreeMap::new(),
        }
    }

    fn commit(&mut self, snapshot: &SessionSnapshot, commit: &Commit) {
        let session = snapshot.session_id.clone();
        *self.heads.entry(session.clone()).or_default() += 1;
        if let Some(state) = &commit.session_state {
            self.sessions.insert(session.clone(), state.clone());
        }
        if let Some(state) = &commit.agent_state {
            self.agents.insert((session, snapshot.agent_id.clone()), state.clone());
        }
        self.append(Some(&snapshot.session_id), &commit.records);
    }

    fn append(&mut self, session: Option<&str>, records: &[NewRecord]) {
        self.total += records.len() as u64;
        let kept = |record: &NewRecord| Kept {
            id: record.id.clone(),
            at: record.at,
            session: session.map(Into::into),
        };
        self.records.extend(records.iter().map(kept));
    }

    /// Removes records older than `before`; in this model times only rise.
    fn prune(&mut self, before: u64) -> u64 {
        let old = self
            .records
            .iter()
            .filter(|kept| kept.at < before)
            .count()
            .min(self.records.len().saturating_sub(1));
        let gone: Vec<_> = self.records.drain(..old).collect();
        for session in gone.iter().filter_map(|kept| kept.session.as_ref()) {
            if self.records.iter().all(|kept| kept.session.as_ref() != Some(session)) {
                self.heads.remove(session);
                self.sessions.remove(session);
                self.agents.retain(|(of, _), _| of != session);
            }
        }
        gone.len() as u64
    }
}

fn run(acts: Vec<Act>) {
    let place = Place::new();
    let mut store = place.store();
    let mut model = Model::default();
    let mut snapshots = vec![store.take_snapshot("session0", None).unwrap()];
    let mut count = 0;
    let mut fresh = |n: u8| -> Vec<_> {
        (0..n)
            .map(|_| {
                count += 1;
                NewRecord { at: count, ..record(&format!("r{count}")) }
            })
            .collect()
    };
    for act in acts {
        match act {
            Act::Look(session, agent) => {
                let (session, agent) =
                    (format!("session{session}"), [None, Some("a"), Some("b")][usize::from(agent)]);
                let snapshot = store.take_snapshot(&session, agent).unwrap();
                assert_eq!(snapshot, model.snapshot(&session, agent));
                snapshots.push(snapshot);
            }
            Act::Commit { which, session, agent, records } => {
                let snapshot = &snapshots[which % snapshots.len()];
                let state = |byte: Option<u8>| byte.map(|byte| vec![byte; usize::from(byte) * 40]);
                let commit = Commit {
                    session_state: state(session),
                    agent_state: state(agent),
                    records: fresh(records),
                    ..Commit::default()
                };
                let current = model.snapshot(&snapshot.session_id, None).head;
                match store.commit_review(snapshot, commit.clone()) {
                    Ok(stored) => {
                        assert_eq!((current, stored.len()), (snapshot.head, commit.records.len()));
                        model.commit(snapshot, &commit);
                    }
                    Err(CommitError::Moved { expected, found, .. }) => {
                        assert_eq!((expected, found), (snapshot.head, current));
                        assert_ne!(expected, found);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Act::Append(n) => {
                let records = fresh(n);
                model.append(None, &records);
                store.append_records(records).unwrap();
            }
            Act::Prune(before) => {
                assert_eq!(store.prune_before(before, 1_000).unwrap().records, model.prune(before))
            }
            Act::Reopen => store = place.store(),
            Act::Checkpoint => store.checkpoint_log().unwrap(),
        }
    }
    let mut ids = Vec::new();
    let read = store.query_records(&Filter::default(), |stored| {
        ids.push(stored.record.id);
        ControlFlow::Continue(())
    });
    read.unwrap();
    assert!(ids.iter().eq(model.records.iter().map(|kept| &kept.id)));
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!(
        (found.records, found.head.0, found.first_bad),
        (ids.len() as u64, model.total, None)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(acts in prop::collection::vec(act(), 1..40)) {
        run(acts);
    }
}
