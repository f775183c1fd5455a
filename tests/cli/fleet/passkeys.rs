//! Passkeys of approvers: a real browser makes one and answers a real machine with it, and everything
//! that others could make of that: a hub that was taken over, other people, other pages.

use super::approvals::{Desk, key, now};
use super::browsers;
use super::intruders::encode;
use super::visits::{Visited, field};
use crate::common::reply::Answer;
use crate::common::site::LIMIT;
use anyhow::{Context, Result, anyhow, ensure};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use portcullis_fleet::approvals::{
    ApproverSigned, FleetAnswer, FleetQuestion, PasskeyAssertion, challenge_of, digest_question,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::thread;
use std::time::{Duration, Instant};

/// What the challenge of an enrolment begins with.
const ENROLMENT: &[u8] = b"portcullis hub passkey v1\n";
/// The flags of a device whose user is there and verified.
const VERIFIED: u8 = 0x05;

/// A device that signs whatever it is asked: the test plays it.
struct Device {
    seed: u8,
    origin: String,
    name: String,
    flags: u8,
}

impl Device {
    fn new(seed: u8, host: &str) -> Self {
        let name = host.split(':').next().unwrap_or_default().to_owned();
        Self { seed, origin: format!("http://{host}"), name, flags: VERIFIED }
    }

    fn credential(&self) -> String {
        BASE64URL_NOPAD.encode(&[self.seed; 16])
    }

    fn data(&self) -> Vec<u8> {
        [&Sha256::digest(self.name.as_bytes())[..], &[self.flags, 0, 0, 0, 0]].concat()
    }

    /// Returns what a browser says of a key that the device made.
    fn create(&self) -> Result<String> {
        let pem = key(self.seed).public().to_pem()?;
        let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = BASE64URL_NOPAD.encode(&BASE64.decode(text.as_bytes())?);
        let data = BASE64URL_NOPAD.encode(&self.data());
        let response = json!({ "publicKey": der, "authenticatorData": data });
        Ok(json!({ "id": self.credential(), "response": response }).to_string())
    }

    /// Returns what browser and device make of a challenge: the browser's JSON, the device's data,
    /// and the signature.
    fn sign(&self, challenge: &str) -> [Vec<u8>; 3] {
        let client_data =
            json!({ "type": "webauthn.get", "challenge": challenge, "origin": self.origin });
        let client_data = client_data.to_string().into_bytes();
        let data = self.data();
        let signed = [data.as_slice(), &Sha256::digest(&client_data)].concat();
        let signature = key(self.seed).sign_bytes(&signed);
        [client_data, data, signature]
    }

    /// Returns the same as a browser's form has it.
    fn assert(&self, challenge: &str) -> String {
        let [client_data, data, signature] =
            self.sign(challenge).map(|bytes| BASE64URL_NOPAD.encode(&bytes));
        let response = json!({
            "clientDataJSON": client_data, "authenticatorData": data, "signature": signature,
        });
        json!({ "id": self.credential(), "response": response }).to_string()
    }

    /// Returns an answer as a machine gets it.
    fn answer(&self, answer: &FleetAnswer) -> Result<ApproverSigned> {
        let text = answer.to_text();
        let [client_data, authenticator_data, signature] =
            self.sign(&FleetAnswer::challenge_of_text(&text)).map(|bytes| BASE64.encode(&bytes));
        let passkey = Some(PasskeyAssertion { client_data, authenticator_data });
        Ok(ApproverSigned { text, key: key(self.seed).public().id()?, signature, passkey })
    }
}

/// Returns rules with these passkeys: name, seed of the key, role.
fn rules(origin: &str, approvers: &[(&str, u8, &str)]) -> Result<String> {
    let mut text = format!("role = \"oncall\"\npage = \"{origin}\"\n");
    for (name, seed, role) in approvers {
        let pem = key(*seed).public().to_pem()?;
        let credential = BASE64URL_NOPAD.encode(&[*seed; 16]);
        text.push_str(&format!(
            "[[approver]]\nname = \"{name}\"\nroles = [\"{role}\"]\n[[approver.passkey]]\n\
             credential = \"{credential}\"\nsynced = false\nkey = \"\"\"\n{pem}\"\"\"\n"
        ));
    }
    Ok(text)
}

/// By a real browser and by the commands of the page: a passkey is made, signed into orders, and
/// answers; the machine's journal says with which key.
pub fn answered() -> Result<()> {
    let hub = Visited::start("passkeys_answered")?;
    let link = browsers::link(&hub, "approver")?;
    let started = browsers::start("hubPasskey", "hub-passkey", &link, &json!({}))?;
    let Some(mut browser) = started else { return Ok(()) };
    browser.await_point("enrolled")?;
    let listed = hub.fleet.output(&["hub", "user", "passkeys", "ann", "--json"])?;
    let listed: Value = serde_json::from_str(&listed)?;
    let fingerprint = listed["passkeys"][0]["key"].as_str().context("no passkey")?.to_owned();
    ensure!(listed["passkeys"][0]["groups"] == json!([]), "{listed}");
    // The operator copies what the command prints into the file that they sign.
    let printed = hub.fleet.output(&["hub", "user", "passkeys", "ann"])?;
    ensure!(printed.contains(&format!("fingerprint {fingerprint}")), "{printed}");
    let origin = format!("http://{}", hub.host);
    let approvals = format!(
        "role = \"oncall\"\npage = \"{origin}\"\n[[approver]]\nname = \"ann\"\nroles = \
         [\"oncall\"]\n{printed}"
    );
    let config = "approvals.wait_seconds = 60\n";
    let desk = Desk::with_fleet(hub.fleet.clone(), "passkeys_answered", config, &approvals)?;
    let hook = desk.hold("passkey");
    desk.await_question("passkey")?;
    browser.go_on()?;
    browser.await_point("allow")?;
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Asked), "{reply:?}");
    let hook = desk.hold("denied");
    desk.await_question("denied")?;
    browser.go_on()?;
    browser.await_point("deny")?;
    let reply = hook.reply()?;
    ensure!(reply.answer == Answer::Refused, "{reply:?}");
    ensure!(reply.said.contains("use the staging host"), "{reply:?}");
    browser.go_on()?;
    browser.end()?;
    let records = desk.site.records()?;
    let by = records.iter().filter_map(|record| record["details"]["by"].as_str());
    let expected =
        format!("ann, with the passkey {fingerprint}, over the hub {}", desk.fleet.url());
    let by: Vec<&str> = by.collect();
    ensure!(by == [&expected, &expected], "{by:?}");
    desk.site.verify()
}

/// A visitor of the page.
struct Guest<'a> {
    hub: &'a Visited,
    cookie: String,
    token: String,
}

impl<'a> Guest<'a> {
    fn sign_in(hub: &'a Visited, name: &str, role: &str) -> Result<Self> {
        let cookie = hub.sign_in(name, role, 0)?;
        let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
        Ok(Self { hub, cookie, token })
    }

    /// Posts a form of these fields; returns its status, and where it leads or what it says.
    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Result<(u16, String)> {
        let mut form = format!("token={}", self.token);
        for (name, value) in fields {
            form.push_str(&format!("&{name}={}", encode(value)));
        }
        let answer = self.hub.post(1, path, &[&self.cookie], &form)?;
        let said = answer.header("location").map_or_else(|| answer.body.clone(), str::to_owned);
        Ok((answer.status, said))
    }

    /// Gets the options with which this device proves itself: the text, and the challenge.
    fn prove(&self, device: &Device) -> Result<[String; 2]> {
        let (status, said) = self.post("/passkeys/prove", &[("created", &device.create()?)])?;
        ensure!(status == 200, "{status} {said}");
        read_options(&said)
    }

    fn enrol(&self, device: &Device) -> Result<(u16, String)> {
        let [text, challenge] = self.prove(device)?;
        self.post("/passkeys", &[("text", &text), ("signed", &device.assert(&challenge))])
    }
}

fn read_options(said: &str) -> Result<[String; 2]> {
    let options: Value = serde_json::from_str(said)?;
    ensure!(options["userVerification"] == "required", "{options}");
    let text = |name: &str| options[name].as_str().map(str::to_owned).context("no text");
    Ok([text("text")?, text("challenge")?])
}

/// Rows: enrolments, honest ones and those of somebody else, of another page, or without a user.
pub fn enrolled() -> Result<()> {
    let hub = Visited::start("passkeys_enrolled")?;
    let ann = Guest::sign_in(&hub, "ann", "approver")?;
    let ben = Guest::sign_in(&hub, "ben", "approver")?;
    let vic = Guest::sign_in(&hub, "vic", "viewer")?;
    let device = Device::new(60, &hub.host);
    let added = (303, "/passkeys?said=added".to_owned());
    ensure!(ann.enrol(&device)? == added);
    for (name, found, status, said) in [
        ("again", ann.enrol(&device)?, 303, "/passkeys?said=known"),
        ("the same key of another person", ben.enrol(&device)?, 303, "/passkeys?said=known"),
        ("a viewer begins", vic.post("/passkeys/begin", &[])?, 403, "only an approver may do this"),
        (
            "a viewer adds",
            vic.post("/passkeys", &[("text", "{}"), ("signed", "{}")])?,
            403,
            "only an approver may do this",
        ),
        (
            "nothing signed",
            ann.post("/passkeys", &[("text", ""), ("signed", "none")])?,
            303,
            "unsigned",
        ),
        ("no passkey", ann.post("/passkeys/prove", &[("created", "{}")])?, 400, "did not make"),
        (
            "no enrolment",
            ann.post("/passkeys", &[("text", "{}"), ("signed", "{}")])?,
            400,
            "signed",
        ),
        (
            "somebody else's removal",
            ben.post("/passkeys/remove", &[("key", &key(60).public().id()?.to_string())])?,
            303,
            "removed",
        ),
    ] {
        ensure!(found.0 == status && found.1.contains(said), "{name}: {found:?}");
    }
    let new = |seed: u8| Device::new(seed, &hub.host);
    let [text, challenge] = ann.prove(&new(61))?;
    let rows: [(&str, Device, &str); 4] = [
        ("another key", new(62), "somebody else"),
        ("no user", Device { flags: 0x01, ..new(61) }, "did not verify its user"),
        (
            "another origin",
            Device { origin: "http://evil.localhost".into(), ..new(61) },
            "another page",
        ),
        ("another name", Device { name: "localhost".into(), ..new(61) }, "another page"),
    ];
    for (name, device, said) in rows {
        let signed = device.assert(&challenge);
        let found = ann.post("/passkeys", &[("text", &text), ("signed", &signed)])?;
        ensure!(found.0 == 403 && found.1.contains(said), "{name}: {found:?}");
    }
    let signed = new(61).assert(&challenge);
    let others = ben.post("/passkeys", &[("text", &text), ("signed", &signed)])?;
    ensure!(others.0 == 403 && others.1.contains("somebody else"), "{others:?}");
    let synced = text.replace("\"synced\":false", "\"synced\":true");
    let altered = ann.post("/passkeys", &[("text", &synced), ("signed", &signed)])?;
    ensure!(altered.0 == 403 && altered.1.contains("another answer"), "{altered:?}");
    // What stands around a key would come into the file that an operator signs.
    let around = text.replace("-----BEGIN", "\\\"\\\"\\\"\\n[[escalation]]\\n-----BEGIN");
    let signed = new(61).assert(&challenge_of(ENROLMENT, &around));
    let found = ann.post("/passkeys", &[("text", &around), ("signed", &signed)])?;
    ensure!(found.0 == 400 && found.1.contains("PEM alone"), "{found:?}");
    // Eight of one person are enough.
    for seed in 61..=67 {
        ensure!(ann.enrol(&new(seed))? == added, "{seed}");
    }
    ensure!(ann.enrol(&new(68))?.1.contains("known"));
    let kept = "SELECT string_agg(person || ' ' || number, ',' ORDER BY person) FROM \
                (SELECT person, count(*) AS number FROM passkeys GROUP BY person) counted";
    ensure!(hub.fleet.query(kept)? == "ann 8", "{}", hub.fleet.query(kept)?);
    let page = hub.page("/passkeys", &ann.cookie)?;
    ensure!(page.contains(&key(61).public().id()?.to_string()), "{page}");
    let removed = key(61).public().id()?.to_string();
    ensure!(ann.post("/passkeys/remove", &[("key", &removed)])?.1.contains("removed"));
    ensure!(!hub.page("/passkeys", &ann.cookie)?.contains(&removed));
    let acts = hub.acts()?;
    let count = |act: &str| acts.iter().filter(|one| one["act"] == act).count();
    ensure!(count("add-passkey") == 8 && count("remove-passkey") == 1, "{acts:?}");
    hub.fleet.output(&["hub", "user", "remove", "ann"])?;
    ensure!(hub.fleet.query("SELECT count(*) FROM passkeys")? == "0");
    Ok(())
}

/// A row of what a hub hands to a machine: its name, the seed of the key, the way in which it is made
/// of an honest answer, and the reason for the refusal.
type Forgery =
    (&'static str, u8, fn(&Device, &FleetAnswer) -> Result<ApproverSigned>, &'static str);

const FORGERIES: &[Forgery] = &[
    (
        "without the key",
        50,
        |device, answer| {
            let forged = Device { seed: 90, ..device.copy() }.answer(answer)?;
            Ok(ApproverSigned { key: key(device.seed).public().id()?, ..forged })
        },
        "not signed with the passkey",
    ),
    (
        "a denial made a consent",
        51,
        |device, answer| {
            let signed = device.answer(&FleetAnswer { allows: false, ..answer.clone() })?;
            Ok(ApproverSigned { text: signed.text.replace("false", "true"), ..signed })
        },
        "signed another answer",
    ),
    (
        "altered words",
        52,
        |device, answer| {
            let signed = device.answer(answer)?;
            Ok(ApproverSigned { text: signed.text.replace("fine", "rush"), ..signed })
        },
        "signed another answer",
    ),
    (
        "of another page",
        53,
        |device, answer| {
            let other = Device { origin: "https://evil.example".into(), ..device.copy() };
            other.answer(answer)
        },
        "another page asked for it",
    ),
    (
        "for another name",
        54,
        |device, answer| Device { name: "evil.example".into(), ..device.copy() }.answer(answer),
        "another page asked for it",
    ),
    (
        "without its user",
        55,
        |device, answer| Device { flags: 0x01, ..device.copy() }.answer(answer),
        "did not verify its user",
    ),
    (
        "synced by now",
        56,
        |device, answer| Device { flags: 0x0d, ..device.copy() }.answer(answer),
        "synced otherwise",
    ),
    (
        "for another action",
        57,
        |device, answer| {
            device.answer(&FleetAnswer { digest: digest_question("{}"), ..answer.clone() })
        },
        "another action",
    ),
    (
        "for another machine",
        58,
        |device, answer| device.answer(&FleetAnswer { machine: "m-0".into(), ..answer.clone() }),
        "another machine",
    ),
    ("in no orders", 70, |device, answer| device.answer(answer), "none of the approvers"),
    ("in older orders", 59, |device, answer| device.answer(answer), "none of the approvers"),
    ("of another role", 49, |device, answer| device.answer(answer), "none of the roles"),
    (
        "as if it were a key",
        48,
        |_, answer| Ok(ApproverSigned::sign_answer(answer, &key(48))?),
        "not signed with the key",
    ),
];

impl Device {
    fn copy(&self) -> Self {
        let (origin, name) = (self.origin.clone(), self.name.clone());
        Self { seed: self.seed, origin, name, flags: self.flags }
    }
}

/// Rows: what a hub that was taken over hands to a machine, and what comes to an honest hub's page.
/// Nothing runs; an honest answer still counts, and once.
pub fn attacks() -> Result<()> {
    let hub = Visited::start("passkeys_attacked")?;
    let (host, origin) = (hub.host.clone(), format!("http://{}", hub.host));
    let device = |seed: u8| Device::new(seed, &host);
    let mut approvers = vec![("ann", 41, "oncall"), ("ben", 42, "oncall"), ("eve", 49, "viewer")];
    let names: Vec<String> = (48..=58).map(|seed| format!("a{seed}")).collect();
    let more = names.iter().zip(48_u8..).filter(|(_, seed)| *seed != 49);
    approvers.extend(more.map(|(name, seed)| (name.as_str(), seed, "oncall")));
    let mut first = approvers.clone();
    first.push(("zoe", 59, "oncall"));
    let config = "approvals.wait_seconds = 60\n";
    let rules_before = rules(&origin, &first)?;
    let desk = Desk::with_fleet(hub.fleet.clone(), "passkeys_attacked", config, &rules_before)?;
    desk.order(2, &rules(&origin, &approvers)?)?;
    let hook = desk.hold("attacked");
    let text = desk.await_question("attacked")?;
    let question = FleetQuestion::parse_text(&text).map_err(|why| anyhow!(why))?;
    let honest = FleetAnswer {
        machine: question.machine.clone(),
        question: question.question.clone(),
        digest: digest_question(&text),
        allows: true,
        words: "fine".into(),
        at: now(),
    };
    for (name, seed, forge, _) in FORGERIES {
        let signed = forge(&device(*seed), &honest).with_context(|| (*name).to_owned())?;
        desk.plant(&question, &signed.key.to_string(), &signed)?;
    }
    await_refusals(&desk, FORGERIES.len())?;
    let refusals = desk.refusals()?;
    for (name, _, _, said) in FORGERIES {
        ensure!(refusals.iter().any(|line| line.contains(said)), "{name}: {refusals:?}");
    }
    at_the_page(&hub, &desk, &question, &honest)?;
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Answer::Refused | Answer::Asked), "{reply:?}");
    // What ann signed lets nothing else run.
    let again = desk.hold("replayed");
    let next = desk.await_question("replayed")?;
    let next = FleetQuestion::parse_text(&next).map_err(|why| anyhow!(why))?;
    let signed = device(41).answer(&honest)?;
    let moved = signed.text.replace(&question.question, &next.question);
    let counted = desk.refusals()?.len();
    desk.plant(&next, &signed.key.to_string(), &ApproverSigned { text: moved, ..signed })?;
    await_refusals(&desk, counted + 1)?;
    let waiting = desk.site.output(&["approvals", "list", "--json"])?;
    let waiting: Value = serde_json::from_str(waiting.lines().next().context("nothing waits")?)?;
    desk.site.output(&["approvals", "deny", waiting["id"].as_str().context("no id")?])?;
    ensure!(again.reply()?.answer == Answer::Refused);
    Ok(())
}

fn await_refusals(desk: &Desk, count: usize) -> Result<()> {
    let begun = Instant::now();
    while desk.refusals()?.len() < count {
        ensure!(begun.elapsed() < LIMIT, "{:?}", desk.refusals()?);
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Rows of an honest hub's page; the last one is ann's answer, which counts.
fn at_the_page(
    hub: &Visited,
    desk: &Desk,
    question: &FleetQuestion,
    honest: &FleetAnswer,
) -> Result<()> {
    let ann = Guest::sign_in(hub, "ann", "approver")?;
    let ben = Guest::sign_in(hub, "ben", "approver")?;
    let olga = Guest::sign_in(hub, "olga", "operator")?;
    let vic = Guest::sign_in(hub, "vic", "viewer")?;
    let eve = Guest::sign_in(hub, "eve", "approver")?;
    let device = |seed: u8| Device::new(seed, &hub.host);
    for (guest, seed) in [(&ann, 41), (&ben, 42), (&olga, 71), (&eve, 49)] {
        ensure!(guest.enrol(&device(seed))?.1.contains("added"), "{seed}");
    }
    let asked = [
        ("machine", question.machine.as_str()),
        ("question", question.question.as_str()),
        ("digest", honest.digest.as_str()),
        ("answer", "allow"),
        ("words", "fine"),
    ];
    let with = |name: &str, value: &'static str| {
        asked.map(|(field, old)| if field == name { (field, value) } else { (field, old) })
    };
    let none = "the orders name none of your passkeys";
    for (name, found, status, said) in [
        ("a viewer", vic.post("/approvals/passkey", &asked)?, 403, "only an approver"),
        ("an operator", olga.post("/approvals/passkey", &asked)?, 403, none),
        ("another role", eve.post("/approvals/passkey", &asked)?, 403, none),
        (
            "another machine",
            ann.post("/approvals/passkey", &with("machine", "m-0"))?,
            404,
            "no action",
        ),
        (
            "another question",
            ann.post("/approvals/passkey", &with("question", "x"))?,
            404,
            "no action",
        ),
        (
            "another text",
            ann.post("/approvals/passkey", &with("digest", "x"))?,
            403,
            "another action",
        ),
        ("no answer", ann.post("/approvals/passkey", &with("answer", "maybe"))?, 422, ""),
    ] {
        ensure!(found.0 == status && found.1.contains(said), "{name}: {found:?}");
    }
    // Whoever writes the database alone can show another text, and gets no signature for the machine's.
    let write = |from: &str, to: &str| {
        let text = format!("replace(document, '{from}', '{to}')");
        hub.fleet.query(&format!("UPDATE approval_questions SET document = {text}"))
    };
    write("crontab -r", "crontab -l")?;
    let shown = hub.page("/approvals", &ann.cookie)?;
    ensure!(shown.contains("crontab -l") && field(&shown, "digest")? != honest.digest, "{shown}");
    let found = ann.post("/approvals/passkey", &asked)?;
    ensure!(found.0 == 403 && found.1.contains("another action"), "{found:?}");
    write("crontab -l", "crontab -r")?;
    write(&question.machine, "m-0")?;
    let shown = hub.page("/approvals", &ann.cookie)?;
    ensure!(!shown.contains("crontab -r"), "{shown}");
    ensure!(ann.post("/approvals/passkey", &asked)?.0 == 404);
    write("m-0", &question.machine)?;
    let page = hub.page("/approvals", &olga.cookie)?;
    ensure!(
        page.contains("crontab -r") && !page.contains("action=\"/approvals/answer\""),
        "{page}"
    );
    let (status, options) = ann.post("/approvals/passkey", &asked)?;
    ensure!(status == 200, "{options}");
    let [text, challenge] = read_options(&options)?;
    let give = |guest: &Guest<'_>, answer: &str, text: &str, signed: &str| {
        let (machine, id) = (question.machine.as_str(), question.question.as_str());
        let fields = [("machine", machine), ("question", id), ("answer", answer)];
        let fields = [&fields[..], &[("text", text), ("signed", signed)]].concat();
        guest.post("/approvals/answer", &fields)
    };
    let good = device(41).assert(&challenge);
    let others = Device { origin: "https://evil.example".into(), ..device(41) };
    let absent = Device { flags: 0x01, ..device(41) };
    let forged = Device { seed: 90, ..device(41) }.assert(&challenge);
    let forged = forged.replace(&BASE64URL_NOPAD.encode(&[90; 16]), &device(41).credential());
    let denial = text.replace("true", "false");
    for (name, found, status, said) in [
        ("nobody's", give(&ann, "allow", &text, "none")?, 303, "unsigned"),
        ("of another person", give(&ben, "allow", &text, &good)?, 403, "none of yours"),
        ("of an operator", give(&olga, "allow", &text, &good)?, 403, "none of yours"),
        (
            "an operator's own",
            give(&olga, "allow", &text, &device(71).assert(&challenge))?,
            403,
            "none of the approvers",
        ),
        (
            "of another role",
            give(&eve, "allow", &text, &device(49).assert(&challenge))?,
            403,
            "may not answer",
        ),
        ("a viewer's", give(&vic, "allow", &text, &good)?, 403, "only an approver"),
        (
            "of another page",
            give(&ann, "allow", &text, &others.assert(&challenge))?,
            403,
            "another page",
        ),
        (
            "without a user",
            give(&ann, "allow", &text, &absent.assert(&challenge))?,
            403,
            "verify its user",
        ),
        ("a stranger's signature", give(&ann, "allow", &text, &forged)?, 403, "not signed with"),
        ("another verdict", give(&ann, "deny", &denial, &good)?, 403, "another answer"),
        ("another button", give(&ann, "deny", &text, &good)?, 403, "another answer"),
        ("no text", give(&ann, "allow", "{}", &good)?, 403, "another answer"),
    ] {
        ensure!(found.0 == status && found.1.contains(said), "{name}: {found:?}");
    }
    // The door of those who answer from a terminal takes no passkey.
    let signed = device(42).answer(honest)?;
    ensure!(desk.post("answers", &signed)?.refused() == (403, "foreign"));
    ensure!(
        hub.fleet.query(
            "SELECT count(*) FROM approval_answers WHERE passkey IS NOT NULL AND approver <> 'x'"
        )? == "0"
    );
    let taken = give(&ann, "allow", &text, &good)?;
    ensure!(taken == (303, "/approvals?said=allowed".into()), "{taken:?}");
    let again = give(&ann, "allow", &text, &good)?;
    ensure!(matches!(again.0, 403 | 404), "{again:?}");
    let acts = hub.acts()?;
    let of = |act: &str| acts.iter().filter(|one| one["act"] == act).count();
    ensure!(of("answer-question") == 1 && of("refuse-answer") >= 14, "{acts:?}");
    Ok(())
}
