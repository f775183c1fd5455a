//! One recorded session, played again from its beginning.

use crate::paint;
use crate::past;
use crate::recording::{Item, Recording};
use crate::runtime::{Circumstances, Ear, Reviewer};
use crate::timeline::{Standing, Timeline};
use portcullis_core::policy::LimitPolicy;
use portcullis_core::record::Record;
use portcullis_core::session::State;
use portcullis_core::throttle::is_tightened;
use portcullis_core::undo::KeptThen;
use std::collections::BTreeMap;
use std::io::IsTerminal;

/// A plugin asks for steps of the history that it was given, which are fewer.
const KEPT_STEPS: u64 = 256;

/// A session's state while it is replayed: what the store would hold.
#[derive(Default)]
pub struct Session {
    shared: portcullis_core::session::Session,
    agents: BTreeMap<Option<String>, portcullis_core::session::Agent>,
    documents: BTreeMap<(Option<String>, u64), Vec<String>>,
}

/// Reviews a whole session; `each` gets what every event of it came to. Ends early when nobody reads what is
/// printed.
pub fn play(recording: &Recording, reviewer: &mut Reviewer, mut each: impl FnMut(&[Record])) -> Timeline {
    let progress = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
    let mut timeline = Timeline::new(&recording.name);
    let mut session = Session::default();
    for (index, item) in recording.items.iter().enumerate() {
        if paint::closed() {
            break;
        }
        if progress && index % 50 == 0 {
            anstream::eprint!("\r{}/{} ", index, recording.items.len());
        }
        let records = session.step(item, reviewer);
        each(&records);
        timeline.add(index, &records, &session.standing(&reviewer.config().policy.limits));
    }
    if progress {
        anstream::eprint!("\r");
    }
    timeline.folder = session.shared.roots.into_iter().next();
    timeline
}

impl Session {
    /// Reviews the next event.
    pub fn step(&mut self, item: &Item, reviewer: &mut Reviewer) -> Vec<Record> {
        self.step_overheard(item, reviewer, None)
    }

    /// Reviews the next event while somebody listens to what the plugins answer.
    pub fn step_overheard(&mut self, item: &Item, reviewer: &mut Reviewer, ear: Option<&mut dyn Ear>) -> Vec<Record> {
        let agent = item.event.agent.clone();
        let state = State { session: std::mem::take(&mut self.shared), agent: self.agents.remove(&agent).unwrap_or_default() };
        let documents = &self.documents;
        let details = |step: u64| past::detail(documents.get(&(agent.clone(), step))?);
        let seen = item.seen.as_ref();
        let kept = KeptThen(seen.and_then(|seen| seen.kept.as_ref()));
        let around = Circumstances {
            seen: seen.map(|seen| &seen.observed),
            home: seen.and_then(|seen| seen.home.as_deref()),
            undo: Some(&kept),
            ..Circumstances::default()
        };
        let reviewed = reviewer.review_overheard(&item.event, state, item.at, &around, &details, ear);
        self.shared = reviewed.state.session;
        for record in &reviewed.records {
            if let Some(step) = record.step {
                self.documents.entry((agent.clone(), step)).or_default().push(record.document());
                self.documents.retain(|(who, known), _| *who != agent || known.saturating_add(KEPT_STEPS) > step);
            }
        }
        self.agents.insert(agent, reviewed.state.agent);
        reviewed.records
    }

    /// What its agents share.
    pub const fn shared(&mut self) -> &mut portcullis_core::session::Session {
        &mut self.shared
    }

    /// The newest actions of an agent in a line each.
    pub fn recent(&self, agent: Option<&str>) -> Vec<String> {
        let agent = self.agents.get(&agent.map(str::to_owned));
        agent.map(|agent| agent.recent.iter().cloned().collect()).unwrap_or_default()
    }

    /// What interventions have left in force so far.
    pub fn standing(&self, policy: &LimitPolicy) -> Standing {
        let tightened = self.shared.limits.iter().filter(|limit| is_tightened(limit, policy));
        Standing { limits: tightened.cloned().collect(), held: self.shared.held.clone(), stopped: self.shared.stopped.clone() }
    }
}
