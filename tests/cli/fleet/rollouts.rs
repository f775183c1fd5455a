//! Rollouts: machines that only try orders, stages that go on by themselves, and what stops them.
//!
//! One test has real machines. The others have machines of a few bytes, so that fifty actions cost
//! nothing.

use super::fleets::{Fleet, machine_of};
use super::orders::{
    BLOCKING, Service, await_version, fetch, machine, operator, orders, orders_of, refuses,
    write_signed,
};
use super::wire::{Certificate, HubAnswer, batch, certificate_of, post, request};
use crate::common::process;
use crate::common::reply::{self, Answer};
use crate::common::site::{LIMIT, Site};
use anyhow::{Context, Result, ensure};
use portcullis_fleet::orders::{Orders, SignedOrders};
use portcullis_store::{Hash, hash_record, to_hex};
use serde_json::{Value, json};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Publishes orders with further options.
fn publish(fleet: &Fleet, orders: &Orders, options: &[&str]) -> Result<()> {
    let file = write_signed(fleet, &format!("rollout-{}.json", orders.version), orders)?;
    fleet.output(&[&["hub", "orders", "publish", &file][..], options].concat()).map(drop)
}

/// Returns what the hub lists of a version for the group `web`.
fn listed(fleet: &Fleet, version: u64) -> Result<Value> {
    let shown = fleet.output(&["hub", "orders", "list", "--json"])?;
    let shown: Value = serde_json::from_str(&shown)?;
    let mut all = shown["orders"].as_array().context("no list")?.iter();
    let found = all.find(|one| one["version"] == version && one["group"] == "web");
    found.cloned().with_context(|| format!("no version {version}: {shown}"))
}

/// Waits until a rollout is in a state and at a stage.
fn await_stage(fleet: &Fleet, version: u64, state: &str, stage: u64) -> Result<Value> {
    let start = Instant::now();
    loop {
        let found = listed(fleet, version)?;
        if found["rollout"]["state"] == state && found["rollout"]["stage"] == stage {
            return Ok(found);
        }
        ensure!(start.elapsed() < LIMIT, "not {state} at {stage}: {found}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Lets a home's own client ask its service to review a command.
fn by_service(site: &Site, session: &str, command: &str) -> Result<Answer> {
    let mut hook = Command::new(site.binary().with_file_name("portcullis-hook"));
    hook.args(["hook", "claude"]).current_dir(site.project()).env_clear();
    hook.env("HOME", site.person()).env("PORTCULLIS_HOME", site.state());
    let event = site.calls(session).bash("b", command);
    let ended = process::run(hook, event.to_string().as_bytes(), LIMIT)?;
    Ok(reply::read("PreToolUse", &ended)?.answer)
}

/// Real machines try orders: verdicts stay, the hub learns how they would differ, and orders that a
/// machine cannot use are faults.
pub fn tried() -> Result<()> {
    let fleet = Fleet::start("orders_tried")?;
    let site = machine(&fleet, "orders tried")?;
    publish(&fleet, &orders(1), &["--rollout", "shadow:1h,100"])?;
    fetch(&site)?;
    let shown = orders_of(&site)?;
    ensure!(shown["version"].is_null() && shown["trial"]["version"] == 1, "{shown}");
    ensure!(!refuses(&site)?, "orders that are only tried count");
    site.hook(&site.calls("plain").bash("b", "ls"))?;
    let trial = |actions: u64, stricter: u64, faults: u64| -> Result<()> {
        fetch(&site)?;
        fetch(&site)?;
        let found = listed(&fleet, orders_of(&site)?["trial"]["version"].as_u64().unwrap_or(0))?;
        let expected = json!({
            "actions": actions, "stricter": stricter, "milder": 0, "faults": faults,
        });
        ensure!(found["rollout"]["trial"] == expected, "{found}");
        Ok(())
    };
    trial(2, 1, 0)?;
    let noted: Vec<Value> = site
        .records()?
        .iter()
        .filter_map(|record| record["details"].get("fleet_trial").cloned())
        .collect();
    ensure!(noted[0] == json!({ "version": 1, "was": "allow", "would": "block" }), "{noted:?}");
    ensure!(noted[1] == json!({ "version": 1, "was": "allow", "would": "allow" }), "{noted:?}");
    // The resident service keeps the plugins of both, and what comes through it counts as well.
    let service = Service::start(&site)?;
    for index in 0..2 {
        let answer = by_service(&site, &format!("kept-{index}"), "rm -rf / --no-preserve-root")?;
        ensure!(!matches!(answer, Answer::Refused | Answer::Stopped), "{answer:?}");
    }
    drop(service);
    trial(4, 3, 0)?;
    // What this machine cannot use changes nothing, and each action has a fault.
    let unusable = Orders { configuration: "modes = 1\n".into(), ..orders(2) };
    publish(&fleet, &unusable, &["--rollout", "shadow:1h,100"])?;
    fetch(&site)?;
    ensure!(!refuses(&site)?);
    trial(1, 0, 1)?;
    ensure!(listed(&fleet, 1)?["rollout"]["state"] == "replaced");
    // The trial ends with the rollout, and with orders that count.
    fleet.output(&["hub", "orders", "share", "web", "2", "0"])?;
    fetch(&site)?;
    ensure!(orders_of(&site)?["trial"].is_null(), "{}", orders_of(&site)?);
    publish(&fleet, &orders(3), &["--rollout", "100"])?;
    fetch(&site)?;
    await_version(&site, 3)?;
    ensure!(refuses(&site)? && listed(&fleet, 3)?["rollout"]["state"] == "done");
    site.verify()
}

/// A machine of a few bytes: an identity, and a journal that it makes up.
struct LightMachine {
    id: String,
    own: Certificate,
    records: Vec<Value>,
    sent: usize,
    head: Hash,
}

impl LightMachine {
    fn join(fleet: &Fleet, name: &str) -> Result<Self> {
        let site = machine(fleet, name)?;
        let (id, own) = (machine_of(&site)?, certificate_of(&site)?);
        Ok(Self { id, own, records: Vec::new(), sent: 0, head: [0; 32] })
    }

    /// Returns its place in every rollout.
    fn place(&self, fleet: &Fleet) -> Result<u64> {
        let sql = format!(
            "SELECT ('x' || encode(substr(sha256('{}'), 1, 4), 'hex'))::bit(32)::bigint % 100",
            self.id
        );
        Ok(fleet.query(&sql)?.parse()?)
    }

    fn add(&mut self, kind: &str, subject: &str, verdict: Option<&str>, faults: usize) {
        let sequence = self.records.len() as u64 + 1;
        let id = format!("r{sequence}");
        let mut document = json!({ "id": id, "at": sequence, "kind": kind, "mode": "blocking" });
        if let Some(verdict) = verdict {
            document["decision"] = json!({ "verdict": verdict });
        }
        if faults > 0 {
            document["faults"] = json!(vec![json!({ "kind": "trap" }); faults]);
        }
        let document = document.to_string();
        let hash = hash_record(&self.head, sequence, document.as_bytes(), None);
        self.records.push(json!({
            "sequence": sequence, "previous": to_hex(&self.head), "hash": to_hex(&hash), "id": id,
            "at": sequence, "kind": kind, "subject": subject, "verdict": verdict,
            "document": document, "exact": true,
        }));
        self.head = hash;
    }

    /// Sends reviews, of which some disturb.
    fn review(&mut self, fleet: &Fleet, actions: usize, disturbed: usize) -> Result<()> {
        for index in 0..actions {
            let verdict = if index < disturbed { "block" } else { "allow" };
            self.add("review", "Bash", Some(verdict), 0);
        }
        self.send(fleet)
    }

    /// Sends what is new, twice: what comes again counts once.
    fn send(&mut self, fleet: &Fleet) -> Result<()> {
        let new = self.records.get(self.sent..).unwrap_or_default().to_vec();
        for _ in 0..2 {
            let answer = post(fleet, &self.own, &batch(&self.id, new.clone()))?;
            ensure!(answer.status == 200, "{answer:?}");
        }
        self.sent = self.records.len();
        Ok(())
    }

    fn take(&mut self, fleet: &Fleet, version: u64) -> Result<()> {
        self.add("configuration", &format!("fleet-orders {version}"), None, 0);
        self.send(fleet)
    }

    fn ask(&self, fleet: &Fleet, seen: u64, trial: Option<Value>) -> Result<HubAnswer> {
        let mut body = json!({ "version": 1, "seen": seen, "wait_seconds": 0 });
        if let Some(trial) = trial {
            body["trial"] = trial;
        }
        let body = body.to_string();
        request(fleet, Some(&self.own), "POST /v1/orders", "", body.as_bytes())
    }

    /// Returns the version that it is given.
    fn given(&self, fleet: &Fleet, seen: u64) -> Result<Option<u64>> {
        let answer = self.ask(fleet, seen, None)?;
        ensure!(answer.status == 200, "{answer:?}");
        let text = answer.body["orders"]["orders"].as_str().unwrap_or("null");
        Ok(serde_json::from_str::<Value>(text)?["version"].as_u64())
    }
}

fn report(version: u64, actions: u64, stricter: u64, faults: u64) -> Option<Value> {
    Some(json!({
        "version": version, "actions": actions, "stricter": stricter, "milder": 0, "faults": faults,
    }))
}

/// Returns two machines, with a share that has only the first.
fn pair(fleet: &Fleet) -> Result<([LightMachine; 2], u64)> {
    let mut machines = vec![LightMachine::join(fleet, "light 0")?];
    loop {
        machines.push(LightMachine::join(fleet, &format!("light {}", machines.len()))?);
        let mut placed = Vec::new();
        for (index, machine) in machines.iter().enumerate() {
            placed.push((machine.place(fleet)?, index));
        }
        placed.sort_unstable();
        let (first, last) = (placed[0], placed[placed.len() - 1]);
        if first.0 < last.0 {
            let mut take = |index: usize| machines.swap_remove(index);
            let (one, two) = if first.1 > last.1 {
                let one = take(first.1);
                (one, take(last.1))
            } else {
                let two = take(last.1);
                (take(first.1), two)
            };
            return Ok(([one, two], first.0 + 1));
        }
    }
}

/// A rollout goes on by itself while nothing speaks against it, and stops when the machines of its
/// share fare worse than others and than before: the fallback is published then. A replica that dies
/// keeps nothing from happening.
pub fn stopped() -> Result<()> {
    let mut fleet = Fleet::start("orders_rolled")?;
    let ([mut first, mut second], share) = pair(&fleet)?;
    let plan = format!("shadow:1s,{share}:1s,100:1s");
    for machine in [&mut first, &mut second] {
        machine.review(&fleet, 100, 4)?;
    }
    let later = Orders { expires_at: orders(2).expires_at + 600_000, ..orders(2) };
    let fallback = write_signed(&fleet, "fallback.json", &later)?;
    publish(&fleet, &orders(1), &["--rollout", &plan, "--fallback", &fallback])?;
    for machine in [&first, &second] {
        ensure!(machine.given(&fleet, 0)?.is_none(), "a shadow stage gives orders");
        let offered = machine.ask(&fleet, 0, None)?.body;
        ensure!(offered["trial"] == 1 && offered["trial_orders"].is_object(), "{offered}");
        // The same again, with its results: nothing is sent twice.
        let offered = machine.ask(&fleet, 0, report(1, 30, 0, 0))?.body;
        ensure!(offered["trial"] == 1 && offered["trial_orders"].is_null(), "{offered}");
    }
    fleet.replace_replica(0)?;
    let found = await_stage(&fleet, 1, "running", 2)?;
    ensure!(found["share"] == share, "{found}");
    ensure!(found["rollout"]["trial"]["actions"] == 60, "{found}");
    ensure!(first.given(&fleet, 0)? == Some(1) && second.given(&fleet, 0)?.is_none());
    first.take(&fleet, 1)?;
    // Too few actions say nothing, whatever they are; the stage waits for more.
    first.review(&fleet, 40, 40)?;
    second.review(&fleet, 60, 2)?;
    fleet.replace_replica(1)?;
    thread::sleep(Duration::from_millis(2500));
    let found = listed(&fleet, 1)?;
    ensure!(found["rollout"]["state"] == "running" && found["rollout"]["stage"] == 2, "{found}");
    first.review(&fleet, 20, 0)?;
    let found = await_stage(&fleet, 1, "held", 2)?;
    let reason = found["rollout"]["reason"].as_str().unwrap_or("");
    ensure!(reason.contains("refusals rose to 66.7 % of 60 actions"), "{reason}");
    let counts = [("own", 60, 40), ("others", 160, 6), ("past", 100, 4)];
    for (side, actions, disturbed) in counts {
        let expected = json!({ "actions": actions, "disturbed": disturbed, "faults": 0 });
        ensure!(found["rollout"][side] == expected, "{side}: {found}");
    }
    ensure!(found["share"] == 0 && listed(&fleet, 2)?["share"] == 100, "{found}");
    ensure!(first.given(&fleet, 1)? == Some(2) && second.given(&fleet, 0)? == Some(2));
    let text = fleet.output(&["hub", "orders", "list"])?;
    ensure!(text.contains("held at stage 2") && text.contains("the fallback of"), "{text}");
    let text = fleet.output(&["hub", "orders", "show", "web", "--version", "1"])?;
    ensure!(text.contains("its fallback, version 2, was published"), "{text}");
    let resumed = fleet.run(&["hub", "orders", "resume", "web", "1"])?;
    ensure!(resumed.stderr.contains("its fallback is published"), "{}", resumed.all());
    let unknown = fleet.run(&["hub", "orders", "pause", "web", "2"])?;
    ensure!(unknown.stderr.contains("has no rollout"), "{}", unknown.all());
    // A person pauses and lets it go on; then it ends where the plan ends.
    publish(&fleet, &orders(3), &["--rollout", &format!("{share}:1s,100")])?;
    fleet.output(&["hub", "orders", "pause", "web", "3"])?;
    first.take(&fleet, 3)?;
    first.review(&fleet, 60, 2)?;
    second.review(&fleet, 60, 2)?;
    thread::sleep(Duration::from_millis(2500));
    ensure!(listed(&fleet, 3)?["rollout"]["state"] == "paused");
    fleet.output(&["hub", "orders", "resume", "web", "3"])?;
    first.review(&fleet, 60, 2)?;
    let done = await_stage(&fleet, 3, "done", 2)?;
    ensure!(done["share"] == 100, "{done}");
    // Faults stop one as well.
    publish(&fleet, &orders(4), &["--rollout", &format!("{share}:1h,100")])?;
    first.take(&fleet, 4)?;
    for index in 0..60 {
        first.add("review", "Bash", Some("allow"), usize::from(index < 20));
    }
    first.send(&fleet)?;
    second.review(&fleet, 60, 0)?;
    let found = await_stage(&fleet, 4, "held", 1)?;
    ensure!(found["rollout"]["reason"].as_str().unwrap_or("").contains("faults rose"), "{found}");
    Ok(())
}

/// Rows: what a shadow stage makes of reports, and what a machine cannot report.
pub fn reports() -> Result<()> {
    let fleet = Fleet::start("orders_reported")?;
    let machine = LightMachine::join(&fleet, "light reports")?;
    publish(&fleet, &orders(1), &["--rollout", "shadow:1h,100", "--tolerance", "10"])?;
    for (trial, status) in [
        (report(1, 10, 11, 0), 400),
        (report(1, 10, 0, 11), 400),
        (Some(json!({ "version": 1 })), 400),
        (report(9, 1000, 1000, 0), 200),
        (report(1, u64::MAX, 0, 0), 400),
    ] {
        let answer = machine.ask(&fleet, 0, trial.clone())?;
        ensure!(answer.status == status, "{trial:?}: {answer:?}");
    }
    fleet.query("DELETE FROM rollout_trials")?;
    ensure!(listed(&fleet, 1)?["rollout"]["state"] == "running");
    machine.ask(&fleet, 0, report(1, 60, 30, 0))?;
    let found = await_stage(&fleet, 1, "held", 1)?;
    let reason = found["rollout"]["reason"].as_str().unwrap_or("");
    ensure!(reason.contains("50.0 % of 60 actions would have a stricter verdict"), "{reason}");
    ensure!(found["share"] == 0);
    // The group has an incident, which a person need not settle who lets the rollout go on.
    let incident = || -> Result<Value> {
        let mut all = fleet.list("incidents")?;
        ensure!(all.len() == 1 && all[0]["kind"] == "held-rollout", "{all:?}");
        ensure!(all[0]["group"] == "web" && all[0]["sequence"] == 1, "{all:?}");
        all.pop().context("no incident")
    };
    ensure!(incident()?["settled_at"].is_null());
    let shown = fleet.output(&["hub", "incidents"])?;
    ensure!(shown.contains("group web") && shown.contains("version 1 of its orders"), "{shown}");
    ensure!(machine.ask(&fleet, 0, report(1, 60, 30, 0))?.body["trial"].is_null());
    // Only what comes after a person let it go on is judged.
    fleet.output(&["hub", "orders", "resume", "web", "1", "--tolerance", "20"])?;
    ensure!(incident()?["settle_reason"] == "the rollout goes on", "{}", incident()?);
    ensure!(machine.ask(&fleet, 0, None)?.body["trial"] == 1);
    machine.ask(&fleet, 0, report(1, 160, 45, 0))?;
    thread::sleep(Duration::from_millis(2500));
    ensure!(listed(&fleet, 1)?["rollout"]["state"] == "running", "{}", listed(&fleet, 1)?);
    machine.ask(&fleet, 0, report(1, 260, 45, 50))?;
    let found = await_stage(&fleet, 1, "held", 1)?;
    ensure!(found["rollout"]["reason"].as_str().unwrap_or("").contains("had a fault"), "{found}");
    let again = incident()?;
    ensure!(again["settled_at"].is_null() && again["times"] == 2, "{again}");
    // Each mistake of a plan or a fallback is named, and nothing is published.
    let file = write_signed(&fleet, "next.json", &orders(2))?;
    let same = write_signed(&fleet, "same.json", &orders(2))?;
    let other = Orders { group: "db".into(), ..orders(3) };
    let other = write_signed(&fleet, "other.json", &other)?;
    let short = Orders { expires_at: orders(3).not_before + 60_000, ..orders(3) };
    let short = write_signed(&fleet, "short.json", &short)?;
    for (options, said) in [
        (vec!["--rollout", "100:1h,10"], "has to be greater"),
        (vec!["--rollout", "100", "--share", "5"], "cannot be used with"),
        (vec!["--tolerance", "5"], "--rollout"),
        (vec!["--fallback", &same], "--rollout"),
        (vec!["--rollout", "100", "--fallback", &same], "does not have a later version"),
        (vec!["--rollout", "100", "--fallback", &other], "another group"),
        (vec!["--rollout", "100", "--fallback", &short], "expires earlier"),
    ] {
        let refused = fleet.run(&[&["hub", "orders", "publish", &file][..], &options].concat())?;
        ensure!(refused.code != Some(0), "{options:?}");
        ensure!(refused.stderr.contains(said), "{options:?}: {}", refused.all());
    }
    ensure!(fleet.query("SELECT max(version) FROM orders")? == "1");
    // A hub that was taken over lets a machine try only what the operator signed for it.
    let site = super::orders::machine(&fleet, "orders tried falsely")?;
    let foreign =
        SignedOrders::sign_orders(&orders(5), &portcullis_bundle::SecretKey::of_seed(&[8; 32]));
    let others = Orders { group: "db".into(), ..orders(5) };
    let others = SignedOrders::sign_orders(&others, &operator());
    let tampered =
        SignedOrders { orders: foreign.orders.replace(BLOCKING.trim(), "x"), ..others.clone() };
    for signed in [foreign, others, tampered] {
        fleet.query("DELETE FROM rollouts; DELETE FROM orders")?;
        let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
        fleet.cluster.feed(
            &fleet.database,
            &format!(
                "INSERT INTO orders (group_name, version, document, signature, share, expires_at, \
                 published_by) VALUES ('web', 5, {}, {}, 0, 'infinity', 'nobody'); \
                 INSERT INTO rollouts (group_name, version, plan, tolerance, state, trial_share) \
                 VALUES ('web', 5, 'shadow:1h,100', 2, 'paused', 100);",
                quote(&signed.orders),
                quote(&signed.signature)
            ),
        )?;
        fetch(&site)?;
        ensure!(orders_of(&site)?["trial"].is_null(), "{}", orders_of(&site)?);
    }
    Ok(())
}
