//! What people change on the hub's pages: each other, marks of reviews and findings, proposals. And the
//! messages to webhooks, which the pages count.

use super::approvals::{Desk, rules};
use super::fleets::{PageLines, machine_of, send_all};
use super::intruders::encode;
use super::pages::send_reviews;
use super::visits::{Visited, cookie_of, field};
use crate::common::site::LIMIT;
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_fleet::approvals::FleetQuestion;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A signed-in visitor.
struct Guest<'a> {
    hub: &'a Visited,
    cookie: String,
    token: String,
}

impl<'a> Guest<'a> {
    fn of_cookie(hub: &'a Visited, cookie: String) -> Result<Self> {
        let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
        Ok(Self { hub, cookie, token })
    }

    fn sign_in(hub: &'a Visited, name: &str, role: &str) -> Result<Self> {
        Self::of_cookie(hub, hub.sign_in(name, role, 0)?)
    }

    /// Posts a form; returns its status, and where it leads or what it says.
    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Result<(u16, String)> {
        let mut form = format!("token={}", self.token);
        for (name, value) in fields {
            form.push_str(&format!("&{name}={}", encode(value)));
        }
        let answer = self.hub.post(1, path, &[&self.cookie], &form)?;
        let said = answer.header("location").map_or_else(|| answer.body.clone(), str::to_owned);
        Ok((answer.status, said))
    }

    fn page(&self, path: &str) -> Result<String> {
        self.hub.page(path, &self.cookie)
    }
}

/// Rows: changes of people, those that would leave the pages without an operator among them.
pub fn people() -> Result<()> {
    let hub = Visited::start("managed_people")?;
    let olga = Guest::sign_in(&hub, "olga", "operator")?;
    let change = |name: &str, change: &str, role: &str| {
        olga.post("/people", &[("name", name), ("change", change), ("role", role)])
    };
    let invited = change("ben", "invite", "viewer")?;
    ensure!(invited.0 == 200, "{invited:?}");
    let code = invited.1.split("/sign-in#").nth(1).and_then(|rest| rest.split('<').next());
    let code = code.context("no link")?.to_owned();
    let answer = hub.post(0, "/sign-in", &[], &format!("code={code}"))?;
    let ben = Guest::of_cookie(&hub, cookie_of(&answer)?)?;
    ensure!(hub.get(0, "/people", &[&ben.cookie])?.status == 403);
    let nobody = "would have no operator";
    for (name, what, role, status, said) in [
        ("ben", "invite", "viewer", 403, "no such person, or nothing"),
        ("b n", "invite", "viewer", 400, "a name has"),
        ("zoe", "invite", "boss", 400, "no such role"),
        ("zoe", "link", "", 403, "no such person"),
        ("olga", "remove", "", 403, nobody),
        ("olga", "disable", "", 403, nobody),
        ("olga", "role", "approver", 403, nobody),
        ("olga", "role", "", 403, nobody),
        ("ben", "role", "approver", 303, "done"),
        ("ben", "enable", "", 403, "nothing to change"),
        ("ben", "sign-out", "", 303, "done"),
    ] {
        let found = change(name, what, role)?;
        ensure!(found.0 == status && found.1.contains(said), "{name} {what} {role}: {found:?}");
    }
    ensure!(hub.get(0, "/", &[&ben.cookie])?.status == 303, "ben is still signed in");
    let linked = change("ben", "link", "")?;
    let code = linked.1.split("/sign-in#").nth(1).and_then(|rest| rest.split('<').next());
    let code = code.context("no link")?.to_owned();
    // Who is disabled has no link and no cookie that counts, at any replica.
    ensure!(change("ben", "disable", "")?.0 == 303);
    let refused = hub.post(1, "/sign-in", &[], &format!("code={code}"))?;
    ensure!(refused.header("location") == Some("/sign-in?said=unknown"), "{}", refused.head);
    ensure!(change("ben", "link", "")?.0 == 403);
    let command = hub.fleet.run(&["hub", "user", "link", "ben"])?;
    ensure!(command.code == Some(1), "{}", command.all());
    ensure!(change("ben", "enable", "")?.0 == 303);
    ensure!(change("ben", "role", "operator")?.0 == 303);
    // Another operator is there now; one who was disabled is none.
    ensure!(change("ben", "disable", "")?.0 == 303);
    ensure!(change("olga", "remove", "")?.1.contains(nobody));
    ensure!(change("ben", "enable", "")?.0 == 303);
    ensure!(change("olga", "role", "viewer")?.0 == 303);
    ensure!(change("ben", "remove", "")?.0 == 403, "a viewer changes people");
    let acts = hub.acts()?;
    let said: Vec<&str> = acts
        .iter()
        .filter(|act| act["by"] == "olga" && act["channel"] == "page")
        .filter_map(|act| act["act"].as_str())
        .filter(|act| !["sign-in", "refuse-form"].contains(act))
        .collect();
    let expected = [
        "add-user",
        "change-role",
        "end-sessions",
        "make-link",
        "disable-user",
        "enable-user",
        "change-role",
        "disable-user",
        "enable-user",
        "change-role",
    ];
    ensure!(said == expected, "{said:?}");
    Ok(())
}

/// By a real machine: a review is judged, and what a person proposes is tried on the stored ones;
/// nothing of it changes a verdict. A finding that is harmless stands behind the others.
pub fn feedback() -> Result<()> {
    let hub = Visited::start("managed_feedback")?;
    let abe = Guest::sign_in(&hub, "abe", "approver")?;
    let vic = Guest::sign_in(&hub, "vic", "viewer")?;
    let site = hub.fleet.machine("judged")?;
    site.write("config.toml", "rules.warn_external_network.fetching = true\n")?;
    let fetch = "curl -o a.json https://files.example.org/a.json";
    for (session, command) in [("s", fetch), ("s", "ls"), ("t", fetch), ("t", "rm -rf /")] {
        let id = format!("{session}-{}", command.len());
        site.hook(&site.calls(session).bash(&id, command))?;
    }
    send_all(&site, LIMIT)?;
    let machine = machine_of(&site)?;
    let session = abe.page(&format!("/session?machine={machine}&id=s"))?;
    let place = session.split("/record?place=").nth(1).and_then(|rest| rest.split('"').next());
    let place = place.with_context(|| session.clone())?.to_owned();
    let path = format!("/record?place={place}");
    let page = abe.page(&path)?;
    ensure!(page.contains("files.example.org") && page.contains("Was it right?"), "{page}");
    ensure!(!vic.page(&path)?.contains("name=\"word\""), "a viewer gets a form");
    let proposal = page.split("/proposal?kind=disable-rule&amp;value=").nth(1);
    let rule = proposal.and_then(|rest| rest.split('"').next());
    let rule = rule.with_context(|| page.clone())?.to_owned();
    for (name, place, word, reason, status, said) in [
        ("no reason", place.as_str(), "right", " ", 303, "said=reason"),
        ("no word", &place, "wrong", "x", 400, "nothing to mark"),
        ("no place", "x", "right", "x", 404, "no such review"),
        ("right", &place, "right", "it was", 303, "said=marked"),
        ("another opinion", &place, "false-positive", "our own branch", 303, "said=marked"),
    ] {
        let found = abe.post("/record", &[("place", place), ("word", word), ("reason", reason)])?;
        ensure!(found.0 == status && found.1.contains(said), "{name}: {found:?}");
    }
    // Without the rule, both reviews would have passed, or been milder; the grave one stays.
    let tried = abe.page(&format!("/proposal?kind=disable-rule&value={rule}"))?;
    ensure!(tried.matches("/record?place=").count() == 2, "{tried}");
    ensure!(tried.contains("files.example.org") && !tried.contains("rm -rf /"), "{tried}");
    ensure!(
        tried.contains(&format!("rules.disabled = [&quot;{rule}&quot;]"))
            || tried.contains(&format!("rules.disabled = [\"{rule}\"]")),
        "{tried}"
    );
    for (kind, value, count) in [
        ("trust-host", "files.example.org", 2),
        ("trust-host", "example.org", 2),
        ("trust-host", "les.example.org", 0),
        ("trust-host", "a.files.example.org", 0),
        ("disable-rule", "no_such_rule", 0),
    ] {
        let tried = abe.page(&format!("/proposal?kind={kind}&value={value}"))?;
        ensure!(tried.matches("/record?place=").count() == count, "{kind} {value}: {tried}");
    }
    for (name, fields, status, said) in [
        ("no reason", vec![("kind", "disable-rule"), ("value", rule.as_str())], 303, "said=reason"),
        (
            "markup",
            vec![("kind", "disable-rule"), ("value", "x\"]\nmode"), ("reason", "x")],
            400,
            "cannot be proposed",
        ),
        (
            "it is proposed",
            vec![("kind", "disable-rule"), ("value", rule.as_str()), ("reason", "noise")],
            303,
            "said=proposed",
        ),
        (
            "once",
            vec![("kind", "disable-rule"), ("value", rule.as_str()), ("reason", "noise")],
            303,
            "said=known",
        ),
    ] {
        let found = abe.post("/proposal", &fields)?;
        ensure!(found.0 == status && found.1.contains(said), "{name}: {found:?}");
    }
    let listed = hub.fleet.output(&["hub", "feedback", "--json"])?;
    let listed: Value = serde_json::from_str(&listed)?;
    let kept = &listed["proposals"][0];
    ensure!(kept["kind"] == "disable-rule" && kept["value"] == rule, "{listed}");
    let changed = kept["passing"].as_i64().unwrap_or(0) + kept["milder"].as_i64().unwrap_or(0);
    ensure!(changed == 2 && kept["unknown"] == 0, "{listed}");
    ensure!(listed["marks"].as_array().is_some_and(|marks| marks.len() == 1), "{listed}");
    ensure!(listed["marks"][0]["word"] == "false-positive", "{listed}");
    let counted = listed["rules"].as_array().context("no rules")?;
    ensure!(
        counted.iter().any(|one| one["rule"] == rule && one["false_positive"] == 1),
        "{listed}"
    );
    let page = abe.page("/plugins")?;
    ensure!(page.contains("In the newest 4 reviews of the last day, of 1 machine"), "{page}");
    // Nothing takes effect: the machine judges as before.
    site.hook(&site.calls("u").bash("u1", fetch))?;
    let records = site.records()?;
    let of = |session: &str| {
        let found = records.iter().filter(|one| one["session"] == session);
        let mut reviews = found.filter(|one| one["kind"] == "review");
        reviews.next().map(|one| one["decision"]["verdict"].clone()).unwrap_or_default()
    };
    ensure!(of("u") == of("s") && of("u").is_string(), "{} {}", of("s"), of("u"));
    let number = kept["proposal"].to_string();
    ensure!(abe.post("/proposal", &[("withdraw", &number)])?.1.contains("withdrawn"));
    ensure!(abe.post("/proposal", &[("withdraw", &number)])?.0 == 404);
    harmless(&hub, &abe)?;
    let acts = hub.acts()?;
    let count = |act: &str| acts.iter().filter(|one| one["act"] == act).count();
    for (act, times) in [
        ("mark-review", 2),
        ("propose-rule", 1),
        ("withdraw-proposal", 1),
        ("mark-finding", 1),
        ("unmark-finding", 1),
    ] {
        ensure!(count(act) == times, "{act}: {acts:?}");
    }
    Ok(())
}

fn harmless(hub: &Visited, abe: &Guest<'_>) -> Result<()> {
    let sites: Vec<_> = (0..3).map(|number| hub.fleet.machine(&format!("met {number}"))).collect();
    for site in sites {
        let site = site?;
        send_reviews(&hub.fleet, &site, &[("s", "Bash", "allow", "x")])?;
        let machine = machine_of(&site)?;
        hub.fleet.query(&format!(
            "INSERT INTO traits (kind, value, machine, record, times) VALUES \
             ('destination', 'a.example', '{machine}', 'r1', 9), \
             ('destination', 'b.example', '{machine}', 'r1', 1)"
        ))?;
    }
    let order = || -> Result<Vec<String>> {
        let shown = hub.fleet.output(&["hub", "findings", "--json"])?;
        let shown: Value = serde_json::from_str(&shown)?;
        let all = shown["findings"].as_array().context("no findings")?;
        Ok(all.iter().map(|one| one["value"].as_str().unwrap_or("").to_owned()).collect())
    };
    let before = order()?;
    let mut behind: Vec<String> = before.clone();
    let place = behind.iter().position(|value| value == "a.example").context("no finding")?;
    let moved = behind.remove(place);
    behind.push(moved);
    let finding = [("kind", "destination"), ("value", "a.example")];
    let with = |more: (&'static str, &'static str)| [finding[0], finding[1], more];
    ensure!(abe.post("/findings", &with(("reason", " ")))?.1.contains("said=reason"));
    ensure!(order()? == before);
    ensure!(abe.post("/findings", &with(("reason", "our mirror")))?.1.contains("said=marked"));
    ensure!(order()? == behind, "{:?}", order()?);
    ensure!(abe.page("/findings")?.contains("abe called it harmless"));
    ensure!(abe.post("/findings", &with(("again", "true")))?.1.contains("said=marked"));
    ensure!(order()? == before, "{:?}", order()?);
    Ok(())
}

/// Takes one request, and answers it with this status; without one, holds it until the other side
/// gives up.
fn take_request(listener: &TcpListener, status: Option<u16>) -> Result<Value> {
    let begun = Instant::now();
    listener.set_nonblocking(true)?;
    let stream: TcpStream = loop {
        match listener.accept() {
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
    let Some(status) = status else {
        // Kept open: the replica is killed while it waits.
        std::mem::forget(stream);
        return Ok(serde_json::from_slice(&body)?);
    };
    let mut stream = stream;
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
    stream.write_all(head.as_bytes())?;
    Ok(serde_json::from_slice(&body)?)
}

/// A replica dies while it sends, a webhook refuses, and takes the message at last: it is the same one
/// each time, and the page counts it.
pub fn webhooks() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // A table comes behind the keys of the page.
    let lines =
        PageLines::plain()?.and(&format!("[[webhook]]\nurl = \"http://{address}/secret\"\n"));
    let hub = Visited::with("managed_webhooks", lines)?;
    let cookie = hub.sign_in("ann", "viewer", 0)?;
    let host = hub.host.clone();
    let config = "approvals.wait_seconds = 200\n";
    let approvals = rules(&[("ann", 21, "oncall")])?;
    let Visited { fleet, .. } = hub;
    let mut desk = Desk::with_fleet(fleet, "managed_webhooks", config, &approvals)?;
    let hook = desk.hold_for("300", "webhook");
    let text = desk.await_question("webhook")?;
    let question = FleetQuestion::parse_text(&text).map_err(|why| anyhow!(why))?;
    let first = take_request(&listener, None)?;
    // Whichever replica sends it dies, and its hold on the message ends.
    let fleet = Arc::get_mut(&mut desk.fleet).context("the fleet is shared")?;
    fleet.replace_replica(0)?;
    fleet.replace_replica(1)?;
    desk.fleet.query("UPDATE webhook_messages SET due_at = now()")?;
    let second = take_request(&listener, Some(503))?;
    let third = take_request(&listener, Some(200))?;
    ensure!(first.to_string().contains(&question.question), "{first}");
    ensure!(first.to_string().contains("/approvals"), "no link to the page: {first}");
    ensure!(first == second && second == third, "{first} {second} {third}");
    let sent = "SELECT count(sent_at) || ' ' || sum(attempts) FROM webhook_messages";
    let begun = Instant::now();
    while desk.fleet.query(sent)? != "1 3" {
        ensure!(begun.elapsed() < LIMIT, "{}", desk.fleet.query(sent)?);
        thread::sleep(Duration::from_millis(50));
    }
    let hub = Visited { fleet: Arc::clone(&desk.fleet), host };
    let page = hub.page("/approvals", &cookie)?;
    ensure!(page.contains(&address.to_string()) && !page.contains("secret"), "{page}");
    let of = |row: &&str| row.contains(&address.to_string());
    let row = page.split("<tr>").find(of).context("no row")?;
    let numbers: Vec<&str> = row
        .split("<td class=\"number")
        .skip(1)
        .filter_map(|cell| cell.split('>').nth(1)?.split('<').next())
        .collect();
    ensure!(numbers == ["1", "0", "0", "2"], "{row}");
    // What nobody waits for any more is not sent.
    let waits = "UPDATE webhook_messages SET sent_at = NULL, due_at = now() + interval '1 hour'";
    desk.fleet.query(waits)?;
    desk.site.output(&["approvals", "deny", &question.question])?;
    hook.reply()?;
    let begun = Instant::now();
    while desk.fleet.query("SELECT count(ended_at) FROM approval_questions")? != "1" {
        ensure!(begun.elapsed() < LIMIT, "the hub was not told of the answer");
        thread::sleep(Duration::from_millis(50));
    }
    desk.fleet.query("UPDATE webhook_messages SET due_at = now()")?;
    let ended = "SELECT count(given_up_at) || ' ' || sum(attempts) FROM webhook_messages";
    let begun = Instant::now();
    while desk.fleet.query(ended)? != "1 3" {
        ensure!(begun.elapsed() < LIMIT, "{}", desk.fleet.query(ended)?);
        thread::sleep(Duration::from_millis(50));
    }
    listener.set_nonblocking(true)?;
    ensure!(listener.accept().is_err(), "it was sent once more");
    Ok(())
}
