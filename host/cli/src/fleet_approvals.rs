//! Puts the actions that wait for a person to the approvers of the fleet, and takes their answers.
//!
//! Only the resident service does it, on a machine that opted in (`fleet.approvals`) and whose orders
//! name approvers. An answer counts as one at a terminal does: once, while the action waits, after
//! the approver's signature was checked against the newest orders.

use crate::error::Result;
use portcullis_bundle::KeyId;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_fleet::approvals::{
    ApprovalRules, ApproverSigned, FleetAnswer, FleetQuestion, VerifiedAnswer, verify_answer,
};
use portcullis_fleet::protocol::{ApprovalsRequest, MOST_QUESTIONS, VERSION, WaitingQuestion};
use portcullis_fleet::{FleetFiles, HeldOrders, HubClient};
use portcullis_review::answers::{Answerer, PersonAnswer, PersonDecision, give_answer, read_asked};
use portcullis_review::approvals::WatchLock;
use portcullis_review::stored_records::write_record;
use portcullis_store::{ApprovalRecord, Durability, Home, Store};
use std::collections::BTreeMap;
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// The time between two looks at the actions that wait.
const LOOK: Duration = Duration::from_millis(300);
/// The seconds for which the hub holds a request while something waits: a new question is not put
/// before that.
const WAIT_SECONDS: u32 = 2;
/// The time between two requests while nothing waits: they show that the hub can be reached.
const HEARTBEAT: Duration = Duration::from_secs(60);
/// The least time between two requests.
const LEAST: Duration = Duration::from_millis(100);
/// The most answers to one question that are dealt with: each that does not count leaves a record.
const MOST_ANSWERS: usize = 64;
/// The time between two looks at the machine's place in the fleet, and after a failure.
const PAUSE: Duration = Duration::from_secs(5);
/// The time between two looks of a machine in no fleet.
const LONG_PAUSE: Duration = Duration::from_secs(30);
/// The time for which a relay trusts what it has read of the configuration.
const FRESH: Duration = Duration::from_secs(10);
/// The bytes of questions in a request from which no further one is added.
const MOST_TEXTS: usize = 1 << 20;
/// The subject of the record of an answer that does not count.
const SUBJECT: &str = "fleet-approval";

/// Relays approvals in a thread of their own, as long as the process runs.
///
/// # Errors
/// Fails if the thread cannot be started.
pub fn follow_approvals(places: Paths) -> std::io::Result<()> {
    let follow = move || {
        let mut relay: Option<Relay> = None;
        loop {
            relay = Relay::renew(relay, &places);
            let Some(open) = &mut relay else {
                let is_member = Home::open_existing(&places.state).is_ok_and(|home| {
                    home.is_some_and(|home| FleetFiles::of_home(&home).is_member())
                });
                sleep(if is_member { PAUSE } else { LONG_PAUSE });
                continue;
            };
            let begun = Instant::now();
            while begun.elapsed() < FRESH {
                if open.relay_once().is_err() {
                    // Nobody can be asked as long as the hub does not answer.
                    open.presence = None;
                    sleep(PAUSE);
                }
            }
        }
    };
    Builder::new().name("portcullis-approvals".into()).spawn(follow).map(drop)
}

/// A machine's side of its questions.
struct Relay {
    home: Home,
    client: HubClient,
    hub: String,
    machine: String,
    /// Says that somebody is there, as long as the hub answers.
    presence: Option<WatchLock>,
    heard: Option<Instant>,
    questions: BTreeMap<String, AskedQuestion>,
}

/// A question as the hub knows it.
struct AskedQuestion {
    text: String,
    is_sent: bool,
    /// The keys whose answers were dealt with.
    answered: Vec<KeyId>,
}

impl AskedQuestion {
    /// Takes note of an answer by that key; returns false if nothing is to be done with it.
    fn note_answer(&mut self, key: KeyId) -> bool {
        if self.answered.contains(&key) || self.answered.len() >= MOST_ANSWERS {
            return false;
        }
        self.answered.push(key);
        true
    }
}

impl Relay {
    /// Returns the relay if the machine still has one; one that goes on keeps its questions.
    fn renew(before: Option<Self>, places: &Paths) -> Option<Self> {
        let home = Home::open_existing(&places.state).ok()??;
        let files = FleetFiles::of_home(&home);
        let membership = files.read_membership().ok()??;
        // Orders without approvers are the usual case, and cost one look at a file.
        read_rules(&files)?;
        if !Config::load(places, Some(&home)).is_ok_and(|config| config.fleet_approvals) {
            return None;
        }
        let client = HubClient::of_member(&membership).ok()?;
        let kept = before.filter(|kept| kept.machine == membership.machine);
        let (presence, heard, questions) =
            kept.map(|kept| (kept.presence, kept.heard, kept.questions)).unwrap_or_default();
        let (hub, machine) = (membership.hub, membership.machine);
        Some(Self { home, client, hub, machine, presence, heard, questions })
    }

    /// Talks to the hub once, if there is a reason to; else waits for a moment.
    fn relay_once(&mut self) -> Result<()> {
        let mut store = Store::open_existing(&self.home, Durability::Process)?;
        let mut waiting = store.list_waiting_approvals(now_ms())?;
        waiting.truncate(MOST_QUESTIONS);
        let is_known = |row: &ApprovalRecord| self.questions.contains_key(&row.asked.id);
        let is_news = waiting.len() != self.questions.len() || !waiting.iter().all(is_known);
        let is_heard = self.heard.is_some_and(|heard| heard.elapsed() < HEARTBEAT);
        if waiting.is_empty() && !is_news && is_heard {
            sleep(LOOK);
            return Ok(());
        }
        self.note_waiting(&waiting)?;
        if self.questions.is_empty() && !waiting.is_empty() {
            // The orders name no approvers any more.
            sleep(LOOK);
            return Ok(());
        }
        let request = self.make_request(&waiting, if is_news { 0 } else { WAIT_SECONDS });
        let answer = self.client.relay_approvals(&request)?;
        self.heard = Some(Instant::now());
        if self.presence.is_none() {
            self.presence = WatchLock::take_for_fleet(&self.home)?;
        }
        for sent in request.waiting.iter().filter(|waiting| waiting.text.is_some()) {
            if let Some(question) = self.questions.get_mut(&sent.question) {
                question.is_sent = true;
            }
        }
        for missing in &answer.missing {
            if let Some(question) = self.questions.get_mut(missing) {
                question.is_sent = false;
            }
        }
        answer.answers.iter().try_for_each(|signed| self.take_answer(&mut store, signed))?;
        // A hub that answers at once, whatever it is asked, gets no more than this.
        sleep(LEAST);
        Ok(())
    }

    /// Words the questions that are new, and forgets those that wait no longer.
    fn note_waiting(&mut self, waiting: &[ApprovalRecord]) -> Result<()> {
        self.questions.retain(|id, _| waiting.iter().any(|row| row.asked.id == *id));
        let rules = read_rules(&FleetFiles::of_home(&self.home));
        let Some(rules) = rules else { return Ok(()) };
        for row in waiting {
            if self.questions.contains_key(&row.asked.id) {
                continue;
            }
            let mut asked = read_asked(row)?;
            asked.consents.clear();
            let question = FleetQuestion {
                machine: self.machine.clone(),
                question: row.asked.id.clone(),
                digest: row.asked.digest.clone(),
                asked_at: row.asked.asked_at,
                expires_at: row.asked.expires_at,
                role: rules.role.clone(),
                asked: serde_json::to_value(asked)?,
            };
            let (text, answered) = (question.to_text(), Vec::new());
            let asked = AskedQuestion { text, is_sent: false, answered };
            self.questions.insert(row.asked.id.clone(), asked);
        }
        Ok(())
    }

    fn make_request(&self, waiting: &[ApprovalRecord], wait_seconds: u32) -> ApprovalsRequest {
        let (now, mut bytes) = (now_ms(), 0);
        // The rest is sent with the next request.
        let mut fits = |question: &AskedQuestion| {
            let fits = !question.is_sent && bytes < MOST_TEXTS;
            bytes += if fits { question.text.len() } else { 0 };
            fits
        };
        let describe = |row: &ApprovalRecord| {
            let question = self.questions.get(&row.asked.id)?;
            let left = row.asked.expires_at.saturating_sub(now) / 1000;
            let consents = read_asked(row).map(|asked| asked.consents).unwrap_or_default();
            Some(WaitingQuestion {
                question: row.asked.id.clone(),
                left_seconds: u32::try_from(left).unwrap_or(u32::MAX),
                text: fits(question).then(|| question.text.clone()),
                allowed_by: consents.into_iter().map(|consent| consent.name).collect(),
                answered: question.answered.clone(),
            })
        };
        ApprovalsRequest {
            version: VERSION,
            waiting: waiting.iter().filter_map(describe).collect(),
            wait_seconds,
        }
    }

    /// Writes an answer that counts, or the reason for which one does not.
    fn take_answer(&mut self, store: &mut Store, signed: &ApproverSigned) -> Result<()> {
        let now = now_ms();
        let named = signed.read_answer();
        let is_known = |answer: &FleetAnswer| self.questions.contains_key(&answer.question);
        let Some(named) = named.ok().filter(is_known) else {
            return self.refuse_stray(signed, now);
        };
        let Some(asked) = self.questions.get_mut(&named.question) else { return Ok(()) };
        if !asked.note_answer(signed.key) {
            return Ok(());
        }
        let rules = read_rules(&FleetFiles::of_home(&self.home));
        let verified = match rules {
            Some(rules) => {
                verify_answer(signed, &rules, &asked.text, now).map_err(|error| error.to_string())
            }
            None => Err("the orders name no approvers any more".to_owned()),
        };
        match verified {
            Ok(verified) => self.give(store, &verified, now),
            Err(why) => self.record_refusal(&named.question, &signed.key, &why, now),
        }
    }

    /// Refuses an answer that belongs to no question here, for whichever the hub gave it.
    fn refuse_stray(&mut self, signed: &ApproverSigned, now: u64) -> Result<()> {
        let key = signed.key;
        let mut is_new = false;
        for asked in self.questions.values_mut() {
            is_new |= asked.note_answer(key);
        }
        let why = "it is not understood, or for another question than any that waits";
        if is_new { self.record_refusal("none that waits", &key, why, now) } else { Ok(()) }
    }

    fn give(&self, store: &mut Store, verified: &VerifiedAnswer, now: u64) -> Result<()> {
        let VerifiedAnswer { name, key, key_sort, answer } = verified;
        let Some(row) = store.find_approval(&answer.question)? else { return Ok(()) };
        let described = format!("{name}, with the {key_sort} {key}, over the hub {}", self.hub);
        let decision = if answer.allows { PersonDecision::AllowOnce } else { PersonDecision::Deny };
        let by = Answerer { name: Some(name), described: &described };
        let given = PersonAnswer { decision, words: &answer.words, by, at: now };
        give_answer(store, &row, &given)?;
        Ok(())
    }

    /// Records that an answer to a question does not count.
    fn record_refusal(&self, question: &str, key: &KeyId, why: &str, now: u64) -> Result<()> {
        let question = one_line(question, 64);
        let summary = format!(
            "an answer from the hub to the approval {question} does not count: {why} (key {key})"
        );
        let seed = format!("{question}\0{key}\0{now}");
        let summary = one_line(&summary, 800);
        let record = Record::outside_session(RecordKind::Exception, SUBJECT, &summary, now, &seed);
        Ok(write_record(&self.home, Durability::Process, &record)?)
    }
}

/// Returns who may answer by the newest orders that are in force.
fn read_rules(files: &FleetFiles) -> Option<ApprovalRules> {
    let held = files.read_orders(now_ms()).ok().flatten().filter(HeldOrders::in_force)?;
    if held.orders.approvals.is_empty() {
        return None;
    }
    ApprovalRules::parse_rules(&held.orders.approvals).ok()
}
