//! Approvals over a hub: a real machine asks, approvers answer with their keys, and everything that a
//! hub could make of that instead.

use super::fleets::Fleet;
use super::orders::{BLOCKING, Service, await_version, fetch, machine, orders, write_signed};
use super::wire::{HubAnswer, certificate_of, request};
use crate::common::process;
use crate::common::reply::{self, Answer, Reply};
use crate::common::site::{LIMIT, Site, name_of};
use crate::common::terminal;
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_bundle::SecretKey;
use portcullis_fleet::approvals::{
    ApprovalRules, ApproverRequest, ApproverSigned, FleetAnswer, FleetQuestion, digest_question,
};
use portcullis_fleet::orders::Orders;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A command that is asked about, and is not critical.
const DOUBTFUL: &str = "crontab -r";
const PASSPHRASE: &str = "seven quiet otters";

pub fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

pub fn key(seed: u8) -> SecretKey {
    SecretKey::of_seed(&[seed; 32])
}

/// Returns the rules of approvals with these approvers: name, seed of the key, role.
pub fn rules(approvers: &[(&str, u8, &str)]) -> Result<String> {
    let mut text = "role = \"oncall\"\n".to_owned();
    for (name, seed, role) in approvers {
        let pem = key(*seed).public().to_pem()?;
        text.push_str(&format!(
            "[[approver]]\nname = \"{name}\"\nroles = [\"{role}\"]\nkey = \"\"\"\n{pem}\"\"\"\n"
        ));
    }
    Ok(text)
}

/// A machine whose service relays questions.
pub struct Desk {
    pub fleet: Arc<Fleet>,
    pub site: Site,
    _service: Service,
}

/// A hook that waits.
pub struct WaitingHook(JoinHandle<Result<Reply>>);

impl Desk {
    /// Starts a fleet with one machine that opted in by its orders, with these approvers.
    fn start(name: &str, config: &str, approvals: &str) -> Result<Self> {
        let fleet = Fleet::start(name)?;
        Self::with_fleet(fleet, name, config, approvals)
    }

    pub fn with_fleet(
        fleet: impl Into<Arc<Fleet>>,
        name: &str,
        config: &str,
        approvals: &str,
    ) -> Result<Self> {
        let fleet = fleet.into();
        let site = machine(&fleet, &name.replace('_', " "))?;
        site.write("config.toml", config)?;
        let desk = Self { _service: Service::start(&site)?, fleet, site };
        desk.order(1, approvals)?;
        desk.await_presence()?;
        Ok(desk)
    }

    /// Gives the machine orders with these approvers.
    pub fn order(&self, version: u64, approvals: &str) -> Result<()> {
        let configuration = format!("{BLOCKING}fleet.approvals = true\n");
        let orders = Orders { configuration, approvals: approvals.to_owned(), ..orders(version) };
        let file = write_signed(&self.fleet, &format!("approvals-{version}.json"), &orders)?;
        self.fleet.output(&["hub", "orders", "publish", &file])?;
        fetch(&self.site)?;
        await_version(&self.site, version)
    }

    /// Waits until the service has found the hub and says that somebody is there.
    fn await_presence(&self) -> Result<()> {
        let file = self.site.state().join("approvals.relayed");
        let begun = Instant::now();
        while !file.exists() {
            ensure!(begun.elapsed() < LIMIT, "nobody is there");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Starts a hook of a client that does not ask.
    pub fn hold(&self, session: &str) -> WaitingHook {
        self.hold_for("300", session)
    }

    /// Starts the hook of a client that waits that many seconds for it: an action waits 30 s less.
    pub fn hold_for(&self, timeout: &str, session: &str) -> WaitingHook {
        let event = self.site.calls(session).bash("c1", DOUBTFUL);
        let hook = self.site.command(&["hook", "codex", "--timeout", timeout]);
        WaitingHook(thread::spawn(move || {
            let ended = process::run(hook, event.to_string().as_bytes(), LIMIT * 2)?;
            reply::read(name_of(&event), &ended)
        }))
    }

    /// Waits for the question at the hub, and returns its text.
    pub fn await_question(&self, session: &str) -> Result<String> {
        let begun = Instant::now();
        loop {
            let sql = "SELECT document FROM approval_questions WHERE ended_at IS NULL";
            let all = self.fleet.query(sql)?;
            let of = |text: &&str| text.contains(&format!("\"session\":\"{session}\""));
            if let Some(text) = all.lines().find(of) {
                return Ok(text.to_owned());
            }
            ensure!(begun.elapsed() < LIMIT, "no question of {session}: {all}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the words of the records about answers that do not count.
    pub fn refusals(&self) -> Result<Vec<String>> {
        let records = self.site.records()?;
        let of = |record: &&Value| record["subject"] == "fleet-approval";
        let words = |record: &Value| record["summary"].as_str().unwrap_or("").to_owned();
        Ok(records.iter().filter(of).map(words).collect())
    }

    /// Puts a signed answer into the hub's database, as whoever has taken it over could.
    pub fn plant(
        &self,
        question: &FleetQuestion,
        row_key: &str,
        signed: &ApproverSigned,
    ) -> Result<()> {
        let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let (machine, id) = (&question.machine, &question.question);
        let passkey = signed.passkey.as_ref().map(serde_json::to_string).transpose()?;
        self.fleet.cluster.feed(
            &self.fleet.database,
            &format!(
                "INSERT INTO approval_answers (machine, question, key, approver, answer, \
                 signature, allows, passkey) \
                 VALUES ('{machine}', '{id}', '{row_key}', 'x', {}, {}, true, {}) \
                 ON CONFLICT (machine, question, key) DO UPDATE SET answer = excluded.answer, \
                 signature = excluded.signature, passkey = excluded.passkey; \
                 SELECT pg_notify('portcullis_orders', 'answers:{machine}');",
                quote(&signed.text),
                quote(&signed.signature),
                passkey.map_or("NULL".to_owned(), |text| quote(&text)),
            ),
        )
    }

    pub fn post(&self, path: &str, body: &impl serde::Serialize) -> Result<HubAnswer> {
        let body = serde_json::to_vec(body)?;
        request(&self.fleet, None, &format!("POST /v1/approver/{path}"), "", &body)
    }
}

impl WaitingHook {
    pub fn reply(self) -> Result<Reply> {
        self.0.join().map_err(|_| anyhow!("the hook's thread panicked"))?
    }
}

/// Writes an approver's key with its passphrase; returns both files.
fn write_key(site: &Site, name: &str, seed: u8) -> Result<[String; 2]> {
    let (path, secret) = (site.root().join(name), site.root().join(format!("{name}.word")));
    let salt = [seed; 16];
    fs::write(&path, key(seed).to_pem(PASSPHRASE, &salt, salt)?)?;
    fs::write(&secret, format!("{PASSPHRASE}\n"))?;
    for file in [&path, &secret] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    let text = |path: PathBuf| path.display().to_string();
    Ok([text(path), text(secret)])
}

/// By the commands of the page: two approvers allow, one denies, nobody answers. The journal says who
/// it was, by which key and over which hub.
pub fn answered() -> Result<()> {
    let approvals = rules(&[("ann", 21, "oncall"), ("bob", 22, "oncall"), ("eve", 23, "viewer")])?;
    let config = "approvals.wait_seconds = 60\napprovals.two_people = \"low\"\n";
    let desk = Desk::start("approvals_answered", config, &approvals)?;
    let away = Site::new("an approver")?;
    let authority = desk.fleet.folder.join("authority.pem").display().to_string();
    let url = desk.fleet.url();
    let keys = [write_key(&away, "ann", 21)?, write_key(&away, "bob", 22)?];
    let eve = write_key(&away, "eve", 23)?;
    let door = |[file, secret]: &[String; 2]| -> Vec<String> {
        let words =
            ["--key", file, "--passphrase-file", secret, "--hub", &url, "--authority", &authority];
        words.map(str::to_owned).to_vec()
    };
    let run = |words: &[&str], who: &[String; 2]| {
        let door = door(who);
        let door: Vec<&str> = door.iter().map(String::as_str).collect();
        away.run(&[&["fleet", "approvals"][..], words, &door].concat())
    };
    let allow = |id: &str, who: &[String; 2]| {
        let door = door(who);
        let door: Vec<&str> = door.iter().map(String::as_str).collect();
        let words = ["fleet", "approvals", "allow", id, "--reason", "the jobs are old"];
        away.at_a_terminal(&[&words[..], &door].concat(), terminal::Answer::Word, &[])
    };
    ensure!(run(&["list"], &keys[0])?.text().contains("nothing waits for you"));
    let hook = desk.hold("two");
    let question =
        FleetQuestion::parse_text(&desk.await_question("two")?).map_err(|why| anyhow!(why))?;
    let id = format!("{}/{}", question.machine, question.question);
    let listed = run(&["list", "--json"], &keys[0])?;
    let shown: Value = serde_json::from_str(listed.text().trim())?;
    ensure!(shown["id"] == id && shown["people"] == 2 && shown["group"] == "web", "{shown}");
    ensure!(shown["summary"].as_str().unwrap_or("").contains(DOUBTFUL), "{shown}");
    // Another role sees nothing.
    ensure!(run(&["list"], &eve)?.text().contains("nothing waits for you"));
    let page = run(&["show", &question.question], &keys[0])?;
    ensure!(page.text().contains("  | crontab -r\n"), "{}", page.all());
    allow(&id, &keys[0])?.ended(0, &["Let exactly this run, once?", "allowed"])?;
    allow(&id, &keys[0])?.ended(1, &["has answered already"])?;
    // The first consent comes back to the hub, and the second lets it run.
    let begun = Instant::now();
    loop {
        let listed = run(&["list", "--json"], &keys[1])?.text();
        let shown: Value = serde_json::from_str(listed.trim()).unwrap_or_default();
        if shown["allowed_by"] == json!(["ann"]) {
            break;
        }
        ensure!(begun.elapsed() < LIMIT, "{listed}");
        thread::sleep(Duration::from_millis(100));
    }
    allow(&question.question, &keys[1])?.ended(0, &["allowed"])?;
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Asked), "{reply:?}");
    let said: Vec<String> = desk
        .site
        .records()?
        .iter()
        .filter_map(|record| Some(record["details"].get("by")?.as_str()?.to_owned()))
        .collect();
    ensure!(said.len() == 2, "{said:?}");
    for (said, (name, seed)) in said.iter().zip([("ann", 21), ("bob", 22)]) {
        let expected =
            format!("{name}, with the key {}, over the hub {url}", key(seed).public().id()?);
        ensure!(*said == expected, "{said}");
    }
    // One person is enough to deny.
    let hook = desk.hold("denied");
    let question =
        FleetQuestion::parse_text(&desk.await_question("denied")?).map_err(|why| anyhow!(why))?;
    let denied = run(&["deny", &question.question, "--reason", "use the staging host"], &keys[1])?;
    ensure!(denied.code == Some(0), "{}", denied.all());
    let reply = hook.reply()?;
    ensure!(
        reply.answer == Answer::Refused && reply.said.contains("use the staging host"),
        "{reply:?}"
    );
    // The hub learns after the hook that nobody waits any more.
    let begun = Instant::now();
    while !run(&["list"], &keys[0])?.text().contains("nothing waits for you") {
        ensure!(begun.elapsed() < LIMIT, "it still waits for ann");
        thread::sleep(Duration::from_millis(100));
    }
    let gone = run(&["deny", &question.question], &keys[0])?;
    ensure!(gone.stderr.contains("nothing waits for you as"), "{}", gone.all());
    desk.site.verify()
}

/// The example of the page is one that `fleet sign` takes.
pub fn example() -> Result<()> {
    let page = include_str!("../../../host/docs/approvals.md");
    let example = page.split("```toml\n").find(|block| block.starts_with("role = "));
    let example = example.and_then(|block| block.split("```").next()).context("no example")?;
    let rules = ApprovalRules::parse_rules(example)?;
    ensure!(rules.approvers.len() == 2 && rules.escalations.len() == 1, "{rules:?}");
    Ok(())
}

/// A row of the attacks: its name, the seed of the key that signs, a change of an honest answer, and
/// the reason for the refusal.
type Attack = (&'static str, u8, fn(&mut FleetAnswer), &'static str);

const ATTACKS: &[Attack] = &[
    ("an unlisted key", 40, |_| {}, "none of the approvers"),
    ("the operator's key", 7, |_| {}, "none of the approvers"),
    ("an approver of another group", 24, |_| {}, "none of the approvers"),
    ("an approver who was revoked", 25, |_| {}, "none of the approvers"),
    ("an approver of another role", 23, |_| {}, "none of the roles"),
    ("another machine", 26, |answer| answer.machine = "m-0".into(), "another machine"),
    (
        "another question's digest",
        27,
        |answer| answer.digest = digest_question("{}"),
        "another action",
    ),
    ("of yesterday", 28, |answer| answer.at -= 86_400_000, "another time"),
    ("of tomorrow", 29, |answer| answer.at += 86_400_000, "another time"),
    ("long words", 30, |answer| answer.words = "x".repeat(600), "not understood"),
];

/// Rows: what a hub that was taken over hands to a machine, and what comes to an honest hub's door.
/// Nothing runs; an honest answer still counts, and once.
pub fn attacks() -> Result<()> {
    let honest = [
        ("ann", 21, "oncall"),
        ("eve", 23, "viewer"),
        ("o1", 26, "oncall"),
        ("o2", 27, "oncall"),
        ("o3", 28, "oncall"),
        ("o4", 29, "oncall"),
        ("o5", 30, "oncall"),
        ("o6", 31, "oncall"),
        ("o7", 32, "oncall"),
        ("o8", 33, "oncall"),
    ];
    let mut first = honest.to_vec();
    first.push(("zoe", 25, "oncall"));
    let config = "approvals.wait_seconds = 60\n";
    let desk = Desk::start("approvals_attacked", config, &rules(&first)?)?;
    let others =
        Orders { group: "db".into(), approvals: rules(&[("dan", 24, "oncall")])?, ..orders(1) };
    let file = write_signed(&desk.fleet, "approvals-db.json", &others)?;
    desk.fleet.output(&["hub", "orders", "publish", &file])?;
    // The newer orders are without one of them.
    desk.order(2, &rules(&honest)?)?;
    let hook = desk.hold("attacked");
    let text = desk.await_question("attacked")?;
    let question = FleetQuestion::parse_text(&text).map_err(|why| anyhow!(why))?;
    let honest_answer = FleetAnswer {
        machine: question.machine.clone(),
        question: question.question.clone(),
        digest: digest_question(&text),
        allows: true,
        words: "fine".into(),
        at: now(),
    };
    let mut planted: Vec<(&str, ApproverSigned, &str)> = Vec::new();
    for (name, seed, change, said) in ATTACKS {
        let mut answer = honest_answer.clone();
        change(&mut answer);
        planted.push((name, ApproverSigned::sign_answer(&answer, &key(*seed))?, said));
    }
    let altered = ApproverSigned::sign_answer(&honest_answer, &key(31))?;
    let altered = ApproverSigned { text: altered.text.replace("fine", "rush"), ..altered };
    planted.push(("altered words", altered, "not signed with the key"));
    let denial = FleetAnswer { allows: false, ..honest_answer.clone() };
    let denial = ApproverSigned::sign_answer(&denial, &key(32))?;
    let denial = ApproverSigned { text: denial.text.replace("false", "true"), ..denial };
    planted.push(("a denial made a consent", denial, "not signed with the key"));
    let borrowed = ApproverSigned::sign_answer(&honest_answer, &key(40))?;
    let borrowed = ApproverSigned { key: key(33).public().id()?, ..borrowed };
    planted.push(("a stranger's signature", borrowed, "not signed with the key"));
    for (name, signed, _) in &planted {
        desk.plant(&question, &signed.key.to_string(), signed)
            .with_context(|| (*name).to_owned())?;
    }
    // Nobody of the list may answer at the hub's door either, and the honest one may, once.
    let id = |seed: u8| -> Result<String> { Ok(key(seed).public().id()?.to_string()) };
    for (name, seed, refused) in [
        ("unlisted", 40, (401, "unidentified")),
        ("the operator", 7, (401, "unidentified")),
        ("another group", 24, (403, "foreign")),
        ("another role", 23, (403, "foreign")),
        ("revoked", 25, (401, "unidentified")),
    ] {
        let signed = ApproverSigned::sign_answer(&honest_answer, &key(seed))?;
        let answer = desk.post("answers", &signed)?;
        ensure!(answer.refused() == refused, "{name} ({}): {answer:?}", id(seed)?);
    }
    let door = |hub: &str, at: u64, seed: u8| {
        ApproverSigned::sign_request(&ApproverRequest { hub: hub.to_owned(), at }, &key(seed))
    };
    let url = desk.fleet.url();
    let honest_request = door(&url, now(), 21)?;
    let forged = ApproverSigned { key: key(21).public().id()?, ..door(&url, now(), 40)? };
    for (name, signed, refused) in [
        ("unlisted", door(&url, now(), 40)?, (401, "unidentified")),
        ("forged", forged, (401, "unidentified")),
        ("old", door(&url, now() - 600_000, 21)?, (400, "malformed")),
        ("for another hub", door("https://other.example", now(), 21)?, (403, "foreign")),
        (
            "an answer",
            ApproverSigned::sign_answer(&honest_answer, &key(21))?,
            (401, "unidentified"),
        ),
    ] {
        let answer = desk.post("questions", &signed)?;
        ensure!(answer.refused() == refused, "{name}: {answer:?}");
    }
    let answer = desk.post("questions", &honest_request)?;
    ensure!(answer.body["questions"].as_array().is_some_and(|all| all.len() == 1), "{answer:?}");
    ensure!(desk.post("answers", &honest_request)?.refused() == (401, "unidentified"));
    // A machine asks for itself alone.
    let own = certificate_of(&desk.site)?;
    let foreign = FleetQuestion { machine: "m-0".into(), ..question.clone() };
    let body = json!({ "version": 1, "wait_seconds": 0, "waiting": [
        { "question": question.question, "left_seconds": 9, "text": foreign.to_text() },
    ]});
    let body = body.to_string();
    let answer = request(&desk.fleet, Some(&own), "POST /v1/approvals", "", body.as_bytes())?;
    ensure!(answer.refused() == (403, "foreign"), "{answer:?}");
    let answer = request(&desk.fleet, None, "POST /v1/approvals", "", body.as_bytes())?;
    ensure!(answer.refused() == (401, "unidentified"), "{answer:?}");
    // The machine has dealt with each of them, and the action still waits.
    let counted = planted.len();
    let begun = Instant::now();
    while desk.refusals()?.len() < counted {
        ensure!(begun.elapsed() < LIMIT, "{:?}", desk.refusals()?);
        thread::sleep(Duration::from_millis(100));
    }
    let refusals = desk.refusals()?;
    for (name, _, said) in &planted {
        ensure!(refusals.iter().any(|line| line.contains(said)), "{name}: {refusals:?}");
    }
    let waiting = desk.site.output(&["approvals", "list", "--json"])?;
    ensure!(waiting.lines().count() == 1, "{waiting}");
    let honest_signed = ApproverSigned::sign_answer(&honest_answer, &key(21))?;
    let taken = desk.post("answers", &honest_signed)?;
    ensure!(taken.status == 200, "{taken:?}");
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Asked), "{reply:?}");
    // The same answer, to the same question and to the next one.
    let again = desk.post("answers", &honest_signed)?;
    ensure!(matches!(again.status, 403 | 404), "{again:?}");
    let hook = desk.hold("replayed");
    let next = desk.await_question("replayed")?;
    let next = FleetQuestion::parse_text(&next).map_err(|why| anyhow!(why))?;
    desk.plant(&next, &id(21)?, &honest_signed)?;
    let moved = honest_signed.text.replace(&question.question, &next.question);
    let moved = ApproverSigned { text: moved, ..honest_signed };
    desk.plant(&next, &id(31)?, &ApproverSigned { key: key(31).public().id()?, ..moved })?;
    let begun = Instant::now();
    while desk.refusals()?.len() == refusals.len() {
        ensure!(begun.elapsed() < LIMIT, "{:?}", desk.refusals()?);
        thread::sleep(Duration::from_millis(100));
    }
    let signed = ApproverSigned::sign_answer(
        &FleetAnswer {
            question: next.question.clone(),
            digest: digest_question(&next.to_text()),
            allows: false,
            at: now(),
            ..honest_answer
        },
        &key(26),
    )?;
    ensure!(desk.post("answers", &signed)?.status == 200);
    ensure!(hook.reply()?.answer == Answer::Refused);
    Ok(())
}

/// A hub that withholds answers means what nobody there means; without a hub nobody is asked. A
/// question goes on to the next role, and a webhook is told of each step.
pub fn escalated() -> Result<()> {
    let hook = TcpListener::bind("127.0.0.1:0")?;
    let address = hook.local_addr()?;
    let fleet = Fleet::configured("approvals_escalated", |text| {
        format!("{text}\n[[webhook]]\nurl = \"http://{address}/\"\nroles = [\"lead\"]\n")
    })?;
    let notified = thread::spawn(move || -> Result<String> {
        let begun = Instant::now();
        hook.set_nonblocking(true)?;
        let mut stream = loop {
            match hook.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if begun.elapsed() > LIMIT * 2 => return Err(error.into()),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        stream.set_nonblocking(false)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line)? > 0 && !line.trim().is_empty() {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    });
    let mut approvals = rules(&[("ann", 21, "oncall"), ("bob", 22, "lead")])?;
    approvals.push_str("[[escalation]]\nafter_seconds = 2\nrole = \"lead\"\n");
    let config = "approvals.wait_seconds = 60\n";
    let desk = Desk::with_fleet(fleet, "approvals_escalated", config, &approvals)?;
    let hook = desk.hold("escalated");
    let text = desk.await_question("escalated")?;
    let question = FleetQuestion::parse_text(&text).map_err(|why| anyhow!(why))?;
    let notified = notified.join().map_err(|_| anyhow!("the webhook panicked"))??;
    ensure!(notified.contains("lead") && notified.contains(&question.question), "{notified}");
    let request = ApproverRequest { hub: desk.fleet.url(), at: now() };
    let listed = desk.post("questions", &ApproverSigned::sign_request(&request, &key(22))?)?;
    ensure!(listed.body["questions"][0]["roles"] == json!(["oncall", "lead"]), "{listed:?}");
    let answer = FleetAnswer {
        machine: question.machine.clone(),
        question: question.question.clone(),
        digest: digest_question(&text),
        allows: true,
        words: String::new(),
        at: now(),
    };
    ensure!(desk.post("answers", &ApproverSigned::sign_answer(&answer, &key(22))?)?.status == 200);
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Asked), "{reply:?}");
    // Withheld: the time is up, and the action does not run.
    let hook = desk.hold_for("38", "withheld");
    desk.await_question("withheld")?;
    let reply = hook.reply()?;
    ensure!(reply.answer == Answer::Refused && reply.said.contains("did not answer"), "{reply:?}");
    // Cut off: nobody is asked, once the service has noticed it.
    desk.fleet.balancer.set_targets(Vec::new());
    let begun = Instant::now();
    loop {
        let reply = desk.hold_for("32", "cut").reply()?;
        ensure!(reply.answer == Answer::Refused, "{reply:?}");
        if reply.said.contains("nobody watches") {
            return Ok(());
        }
        ensure!(begun.elapsed() < LIMIT * 2, "{reply:?}");
    }
}
