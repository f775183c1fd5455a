//! The page behind a boundary: what it shows to whom, and what a user's agent tries at its door.

use super::machine::{BOUNDARY_FILE, Machine, SOCKET, STATE, Test, User, write_root_file};
use super::people::DOUBTFUL;
use super::wire::Relay;
use crate::common::process;
use crate::common::site::LIMIT;
use crate::http::{HttpAnswer, send};
use anyhow::{Context, Result, ensure};
use portcullis_protocol::{Reply, Request};
use portcullis_tests::terminal::Answer;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const ROWS: &[(&str, Test)] = &[
    ("only an administrator gets a link to the page", links),
    ("the page shows a user's records to whoever has a link for them", shown),
    ("an operator sees the sessions of all users, and others those of one", all_users),
    ("a person answers on the page, with a proof", answers),
    ("whoever takes the page's port keeps the service from nothing", taken_port),
    ("one user's connections to the page leave room for the others'", many_connections),
    ("a port that systemd holds is nobody else's while the service restarts", held_port),
];

const PASSWORD: &str = "correct horse battery";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// The page of a service.
pub struct Page {
    port: u16,
    host: String,
}

impl Page {
    /// Gives the service of a machine a page.
    pub fn start(machine: &mut Machine) -> Result<Self> {
        let port = free_port()?;
        let said = machine.restart_with(&boundary_with(port))?;
        let host = format!("portcullis.localhost:{port}");
        ensure!(said["page"] == format!("http://{host}"), "it says {said}");
        Ok(Self { port, host })
    }

    pub fn get(&self, path: &str, cookie: &str) -> Result<HttpAnswer> {
        let headers = [format!("Host: {}", self.host), format!("Cookie: {cookie}")];
        send(self.port, &format!("GET {path}"), &headers, "")
    }

    pub fn post(&self, path: &str, cookie: &str, form: &str) -> Result<HttpAnswer> {
        let headers = [
            format!("Host: {}", self.host),
            format!("Origin: http://{}", self.host),
            FORM.to_owned(),
            format!("Cookie: {cookie}"),
        ];
        send(self.port, &format!("POST {path}"), &headers, form)
    }

    /// Redeems the code of a link; returns the cookie if it counts.
    fn redeem(&self, link: &str) -> Result<Option<String>> {
        let code = link.split_once('#').context("no code")?.1;
        let answer = self.post("/sign-in", "", &format!("code={code}"))?;
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        Ok(cookie.map(str::to_owned))
    }

    /// Signs in to a user's records, with a link of root.
    pub fn sign_in(&self, machine: &Machine, user: &User, role: &str) -> Result<String> {
        self.redeem(&link_of(machine, user, role)?)?.context("the link does not count")
    }
}

fn boundary_with(port: u16) -> String {
    format!("user = \"portcullis\"\npage = {port}\n")
}

/// Returns a port of loopback that nobody has.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Returns a link of root's to a user's records.
fn link_of(machine: &Machine, user: &User, role: &str) -> Result<String> {
    let ended = machine.as_root(user, &["open", "--role", role, "--json"])?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    let said: serde_json::Value = serde_json::from_str(&ended.text())?;
    Ok(said["link"].as_str().context("no link")?.to_owned())
}

/// Returns the value of a hidden field of a page.
pub fn field<'a>(page: &'a str, name: &str) -> Result<&'a str> {
    let begin = format!("name=\"{name}\" value=\"");
    let (_, rest) =
        page.split_once(&begin).with_context(|| format!("no field `{name}`: {page}"))?;
    Ok(rest.split('"').next().unwrap_or_default())
}

fn links(machine: &mut Machine) -> Result<()> {
    let page = Page::start(machine)?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    machine.reviews(&agent)?;
    let program = machine.programs.join("portcullis").display().to_string();
    let state = agent.state().display().to_string();
    for line in [
        format!("{program} open --json"),
        format!("{program} open --json --of-user agent"),
        format!("{program} open --json --of-user {}", other.id),
        format!("{program} open --json --of-user root"),
        format!("{program} open --json --role operator --state {state}"),
        format!("PORTCULLIS_HOME={state} {program} open --json"),
        format!("unshare --user --map-root-user {program} open --json --of-user agent"),
        format!("unshare --user --map-root-user {program} open --json --state {state}"),
        format!("{program} approvals proof passkey --json --state {state}"),
        format!("{program} approvals proof password --of-user agent"),
        format!("cat {state}/approvers.json"),
        format!("echo '{{\"click\":true}}' > {state}/approvers.json"),
    ] {
        let shown = machine.at_terminal_of(&agent, &line, Answer::Word)?;
        let has_link = shown.text.contains('#');
        ensure!(shown.code != Some(0) && !has_link, "`{line}`: {}", shown.text);
    }
    for user in [agent.id, other.id, 0, machine.service_user.id, u32::MAX] {
        for purpose in ["viewer", "approver", "operator", "passkey of agent", ""] {
            let sent = Request::LinkOf(user, purpose.to_owned());
            let mut relay = Relay::connect(&agent)?;
            relay.send(&sent)?;
            let reply = relay.receive()?;
            let is_refused = matches!(&reply, Reply::Unable(why) if why.contains("only root"));
            ensure!(is_refused, "{sent:?}: {reply:?}");
        }
    }
    // Root of a namespace of its own is the same user for the service.
    let mut relay = Relay::connect_as_own_root(&agent)?;
    let reply = relay.send(&Request::LinkOf(agent.id, "approver".into()));
    let reply = reply.and_then(|()| relay.receive());
    ensure!(!matches!(reply, Ok(Reply::Link(_))), "{reply:?}");
    // The same as root, and as the service's user.
    ensure!(page.redeem(&link_of(machine, &agent, "viewer")?)?.is_some(), "root's does not count");
    let own = machine.administer(&agent, &["open", "--json"])?;
    ensure!(own.code == Some(0) && own.text().contains("/sign-in#"), "{}", own.all());
    // A link that the agent saw after its use, guesses, and the flood of them, which keeps nobody out.
    let used = link_of(machine, &agent, "operator")?;
    ensure!(page.redeem(&used)?.is_some(), "the first use");
    ensure!(page.redeem(&used)?.is_none(), "a second use");
    for guess in 0..20 {
        ensure!(page.redeem(&format!("#guess{guess}"))?.is_none(), "a guess counts");
    }
    let last = page.post("/sign-in", "", "code=guess")?;
    ensure!(last.status == 429, "guesses are not limited: {}", last.head);
    ensure!(page.redeem(&link_of(machine, &agent, "viewer")?)?.is_some(), "root is locked out");
    // A link with which somebody sets up a passkey: once, and it signs nobody in.
    let set_up = ["approvals", "proof", "passkey", "--person", "zoe", "--json"];
    let made = machine.at_roots_terminal(&agent, &set_up, Answer::Word)?;
    let (_, code) = made.text.split_once("/enroll#").with_context(|| made.text.clone())?;
    let code = code.split('"').next().unwrap_or_default();
    ensure!(page.redeem(&format!("#{code}"))?.is_none(), "it signs somebody in");
    for (code, status) in [("guess", 429), (code, 200), (code, 429)] {
        let begun = page.post("/enroll/begin", "", &format!("code={code}"))?;
        ensure!(begun.status == status, "{code}: {}", begun.head);
    }
    ensure!(page.post("/enroll/finish", "", "created=%7B%7D")?.status == 409, "nothing was made");
    // What the service listens on is for this machine alone.
    let listens = machine.agent.shell("cat /proc/net/tcp /proc/net/tcp6")?.text();
    let shown = format!(":{:04X} ", page.port);
    let bound: Vec<&str> = listens.lines().filter(|line| line.contains(" 0A ")).collect();
    let ours: Vec<&&str> = bound.iter().filter(|line| line.contains(&shown)).collect();
    ensure!(ours.len() == 1 && ours[0].contains("0100007F"), "it listens on {ours:?}");
    machine.reviews(&agent)
}

fn shown(machine: &mut Machine) -> Result<()> {
    let page = Page::start(machine)?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    for (user, session) in [(&agent, "of-agent"), (&other, "of-other")] {
        let ended = machine.ask(user, &user.calls(session).bash("c1", "ls"))?;
        ensure!(ended.code == Some(0), "{}", ended.all());
    }
    let cookies =
        [page.sign_in(machine, &agent, "operator")?, page.sign_in(machine, &other, "viewer")?];
    let rows = [(&cookies[0], "of-agent", "of-other"), (&cookies[1], "of-other", "of-agent")];
    for (cookie, own, foreign) in rows {
        let found = page.get("/", cookie)?;
        ensure!(found.status == 200 && found.body.contains(own), "{}", found.body);
        for path in ["/", "/search?text=of", "/approvals", "/incidents", "/plugins", "/charts"] {
            let found = page.get(path, cookie)?;
            ensure!(found.status == 200, "{path}: {}", found.body);
            ensure!(!found.body.contains(foreign), "{path} shows another user's: {}", found.body);
        }
        let session = page.get(&format!("/session?id={foreign}"), cookie)?;
        let has_none = session.body.contains("has no record of this session");
        ensure!(has_none, "another user's session: {}", session.body);
    }
    let of_agent = page.get("/", &cookies[0])?.body;
    ensure!(of_agent.contains(&format!("of user {}", agent.id)), "{of_agent}");
    // Nothing is looked at that a visitor names.
    let rules = page.get("/rules", &cookies[0])?;
    ensure!(rules.status == 200 && !rules.body.contains("name=\"folder\""), "{}", rules.body);
    let token = field(&rules.body, "token")?;
    let key = format!("bash {}/key", other.state().display()).replace('/', "%2F");
    let form = format!("token={token}&tool=Bash&action={}&folder=%2F", key.replace(' ', "+"));
    let tried = page.post("/rules", &cookies[0], &form)?;
    ensure!(tried.body.contains("cannot be tried here"), "{}", tried.body);
    // The token of one cookie's forms is not another's, and no cookie is none.
    for (cookie, status) in [(cookies[1].as_str(), 403), ("", 303), ("portcullis=x", 303)] {
        let answer = page.post("/rules", cookie, &form)?;
        ensure!(answer.status == status, "{cookie}: {}", answer.head);
    }
    for path in ["/", "/approvals", "/session?id=of-agent", "/configuration", "/checkpoints"] {
        for cookie in ["", "portcullis=", "portcullis=x"] {
            let answer = page.get(path, cookie)?;
            let to = answer.header("location");
            ensure!(answer.status == 303 && to == Some("/sign-in"), "{path}: {}", answer.head);
        }
    }
    for path in ["/live", "/metrics"] {
        ensure!(page.get(path, "")?.status == 401, "{path} without a cookie");
    }
    // A cookie that the agent got somehow: it is that of a browser of another user.
    let stolen = cookies[0].clone();
    let steal = "import sys, urllib.request as u\n\
                 r = u.Request(sys.argv[1], headers={'Host': sys.argv[2], 'Cookie': sys.argv[3]})\n\
                 print(u.urlopen(r).geturl())";
    for (user, lands) in [(Some(&agent), "/sign-in"), (Some(&other), "/sign-in"), (None, "/search")]
    {
        let mut command =
            user.map_or_else(|| Command::new("python3"), |user| user.command("python3"));
        let address = format!("http://127.0.0.1:{}/search", page.port);
        command.args(["-c", steal, &address, &page.host, &stolen]);
        let ended = process::run(command, b"", LIMIT)?;
        let landed = ended.text().trim().ends_with(lands);
        ensure!(ended.code == Some(0) && landed, "{user:?}: {}", ended.all());
    }
    for host in ["localhost", "127.0.0.1", "evil.example"] {
        let headers = [format!("Host: {host}:{}", page.port), format!("Cookie: {}", cookies[0])];
        let answer = send(page.port, "GET /", &headers, "")?;
        ensure!(answer.status == 421, "{host}: {}", answer.head);
    }
    for origin in ["http://evil.example", "null", &format!("http://localhost:{}", page.port)] {
        let headers = [
            format!("Host: {}", page.host),
            format!("Origin: {origin}"),
            FORM.to_owned(),
            format!("Cookie: {}", cookies[0]),
        ];
        let answer = send(page.port, "POST /rules", &headers, &form)?;
        ensure!(answer.status == 403, "{origin}: {}", answer.head);
    }
    machine.verify(&agent)
}

fn all_users(machine: &mut Machine) -> Result<()> {
    let page = Page::start(machine)?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    for (user, session) in [(&agent, "of-agent"), (&other, "of-other")] {
        let ended = machine.ask(user, &user.calls(session).bash("c1", "ls"))?;
        ensure!(ended.code == Some(0), "{}", ended.all());
    }
    let operator = page.sign_in(machine, &agent, "operator")?;
    let shown = page.get("/users", &operator)?;
    for part in ["agent: of-agent", "other: of-other", "sudo portcullis open --of-user other"] {
        ensure!(shown.status == 200 && shown.body.contains(part), "{part}: {}", shown.body);
    }
    // It lists, and opens nothing of the other user's.
    ensure!(!shown.body.contains("session?id=of-other"), "{}", shown.body);
    let session = page.get("/session?id=of-other", &operator)?;
    ensure!(session.body.contains("has no record of this session"), "{}", session.body);
    for role in ["viewer", "approver"] {
        let cookie = page.sign_in(machine, &other, role)?;
        let refused = page.get("/users", &cookie)?;
        ensure!(refused.status == 403 && !refused.body.contains("of-"), "{role}: {}", refused.head);
        let own = page.get("/", &cookie)?;
        ensure!(own.body.contains("of-other") && !own.body.contains("of-agent"), "{}", own.body);
        ensure!(!own.body.contains("/users"), "{role}: {}", own.body);
    }
    let nobody = page.get("/users", "")?;
    ensure!(nobody.header("location") == Some("/sign-in"), "{}", nobody.head);
    // An open page of an operator follows all of them, and that of a viewer its own.
    let viewer = page.sign_in(machine, &agent, "viewer")?;
    for (cookie, follows) in [(&operator, true), (&viewer, false)] {
        let mut open = TcpStream::connect(("127.0.0.1", page.port))?;
        let ask = format!(
            "GET /live?users=all HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n",
            page.host
        );
        open.write_all(ask.as_bytes())?;
        // The first look tells the position of each journal; a later one, that it has changed.
        std::thread::sleep(Duration::from_secs(1));
        machine.reviews(&other)?;
        std::thread::sleep(Duration::from_secs(1));
        open.set_read_timeout(Some(Duration::from_millis(100)))?;
        let mut sent = Vec::new();
        let _until = open.read_to_end(&mut sent);
        let events = String::from_utf8_lossy(&sent).matches("event: changed").count();
        // Its own journal, and the other's at first and after the review.
        ensure!((events > 2) == follows, "{events} events: {}", String::from_utf8_lossy(&sent));
    }
    machine.verify(&agent)
}

/// Opens the stream of changes, as an open page does: then somebody is there.
fn keep_open(page: &Page, cookie: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", page.port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(stream, "GET /live HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", page.host)?;
    Ok(stream)
}

fn answers(machine: &mut Machine) -> Result<()> {
    write_root_file("/etc/portcullis/config.toml", "approvals.wait_seconds = 120\n")?;
    let page = Page::start(machine)?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    let lines = [("used for nothing else: ", PASSWORD), ("The same again: ", PASSWORD)];
    let set_up = ["approvals", "proof", "password", "--person", "ann"];
    machine
        .at_roots_terminal(&agent, &set_up, Answer::Lines(&lines))?
        .ended(0, &["ann: password"])?;
    let read = agent.shell(&format!("cat {}/approvers.json", agent.state().display()))?;
    ensure!(read.code != Some(0), "the proof is the agent's to read: {}", read.all());
    let cookie = page.sign_in(machine, &agent, "approver")?;
    let viewer = page.sign_in(machine, &agent, "viewer")?;
    let others = page.sign_in(machine, &other, "operator")?;
    // A page of the other user's records makes nobody wait here.
    let open = keep_open(&page, &others)?;
    std::thread::sleep(Duration::from_secs(1));
    machine.hold(&agent, "s", "c0", DOUBTFUL).ends_refused()?;
    drop(open);
    let _open = keep_open(&page, &cookie)?;
    std::thread::sleep(Duration::from_secs(1));
    let held = machine.hold(&agent, "s", "c1", DOUBTFUL);
    machine.await_waiting(&agent, 1)?;
    let asked = machine.records(&agent)?;
    let asked = asked.iter().find(|record| record["details"]["answer"] == "waiting");
    let named = asked.and_then(|record| record["details"]["page"].as_str());
    ensure!(named == Some(&*format!("http://{}", page.host)), "messages name {named:?}");
    let body = page.get("/approvals", &cookie)?.body;
    let (token, id) = (field(&body, "token")?, field(&body, "id")?);
    let digest = field(&body, "digest")?;
    let foreign = page.get("/approvals", &others)?.body;
    ensure!(!foreign.contains(DOUBTFUL), "another user's page shows it: {foreign}");
    let foreign_token = field(&foreign, "token")?;
    let viewers = page.get("/approvals", &viewer)?.body;
    let viewers_token = field(&viewers, "token")?;
    let right = PASSWORD.replace(' ', "+");
    let answer = |cookie: &str, token: &str, answer: &str, proof: &str| -> Result<String> {
        let form =
            format!("token={token}&id={id}&digest={digest}&answer={answer}&proof={proof}&words=");
        let got = page.post("/approvals/answer", cookie, &form)?;
        Ok(got.header("location").map_or_else(|| got.status.to_string(), str::to_owned))
    };
    for (cookie, token, word, proof, expected) in [
        ("", token, "allow", right.as_str(), "/sign-in"),
        ("portcullis=x", token, "allow", &right, "/sign-in"),
        (&others, token, "allow", &right, "403"),
        (&viewer, viewers_token, "allow", &right, "403"),
        // The other user's page knows neither this proof nor this action.
        (&others, foreign_token, "allow", &right, "/approvals?said=unproved"),
        (&others, foreign_token, "deny", "", "/approvals?said=late"),
        (&cookie, "x", "allow", &right, "403"),
        (&cookie, token, "allow", "", "/approvals?said=unproved"),
        (&cookie, token, "allow", "wrong", "/approvals?said=unproved"),
    ] {
        let got = answer(cookie, token, word, proof)?;
        ensure!(got == expected, "{cookie} {token} {word} {proof}: {got}, not {expected}");
    }
    // The agent's guesses at the door count against nobody's proof.
    for guess in 0..12 {
        page.post("/sign-in", "", &format!("code=guess{guess}"))?;
    }
    machine.await_waiting(&agent, 1)?;
    let got = answer(&cookie, token, "allow", &right)?;
    ensure!(got == "/approvals?said=allowed", "{got}");
    held.passes_through()?;
    let records = machine.records(&agent)?;
    let given = records.iter().find(|record| record["details"]["answer"] == "allowed");
    let by = given.map(|record| record["details"]["by"].as_str().unwrap_or_default());
    ensure!(by == Some("ann on the page, with their password"), "{by:?}");
    operate(machine, &page, &cookie)?;
    // That somebody signed in for the other user, and gave a wrong proof there.
    let of_other = machine.records(&other)?;
    let kinds: Vec<_> = of_other.iter().map(|record| record["kind"].as_str()).collect();
    ensure!(kinds == [Some("authentication"); 2], "recorded for the other user: {kinds:?}");
    machine.verify(&agent)
}

/// Decides about a stopped session on the page: an operator with the proof does, an approver and
/// somebody without the proof do not.
fn operate(machine: &Machine, page: &Page, approver: &str) -> Result<()> {
    let agent = &machine.agent;
    machine.refuses(agent)?;
    let shown = machine.as_root(agent, &["incident", "show", "last", "--json"])?;
    let shown: serde_json::Value = serde_json::from_str(&shown.text())?;
    let id = shown["id"].as_str().context("no incident")?;
    let operator = page.sign_in(machine, agent, "operator")?;
    let decide = |cookie: &str, proof: &str| -> Result<String> {
        let body = page.get(&format!("/incident?id={id}"), cookie)?.body;
        let token = field(&body, "token")?;
        let form = format!("token={token}&id={id}&option=resume&proof={proof}");
        let got = page.post("/incident/decide", cookie, &form)?;
        Ok(got.header("location").map_or_else(|| got.status.to_string(), str::to_owned))
    };
    let right = PASSWORD.replace(' ', "+");
    let said = |word: &str| format!("/incident?id={id}&said={word}");
    for (cookie, proof, expected) in [
        (approver, right.as_str(), "403".to_owned()),
        (&operator, "", said("unproved")),
        (&operator, &right, said("resumed")),
    ] {
        let got = decide(cookie, proof)?;
        ensure!(got == expected, "{proof}: {got}, not {expected}");
    }
    let again = machine.ask(agent, &agent.calls("grave").bash("after", "ls"))?;
    ensure!(again.code == Some(0), "the session is still stopped: {}", again.all());
    Ok(())
}

/// Takes a port and keeps it until its standard input ends.
const SQUATTER: &str = "
import socket, sys
door = socket.socket()
door.bind(('127.0.0.1', int(sys.argv[1])))
door.listen()
print('taken', flush=True)
sys.stdin.read()
";

fn taken_port(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    let port = free_port()?;
    let mut command = agent.command("python3");
    command.args(["-c", SQUATTER, &port.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut squatter = command.spawn().context("cannot start python3")?;
    let mut line = String::new();
    let stdout = squatter.stdout.take().context("no output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line)?;
    let started = machine.restart_with(&boundary_with(port));
    let reviewed = started.as_ref().ok().map(|_| machine.reviews(&agent));
    let link = machine.as_root(&agent, &["open", "--json"]);
    drop(squatter.stdin.take());
    squatter.wait()?;
    ensure!(line.contains("taken"), "the port was not taken: {line:?}");
    let said = started?;
    ensure!(said["page"].is_null() && said["socket"] == SOCKET, "it says {said}");
    reviewed.context("it did not start")??;
    let link = link?;
    let why = "could not listen on port";
    ensure!(link.code != Some(0) && link.stderr.contains(why), "{}", link.all());
    // The next start has it.
    machine.kill_service()?;
    let said = machine.start_service()?;
    ensure!(said["page"].is_string(), "it says {said}");
    machine.refuses(&agent)
}

/// Makes as many connections as the system allows, and keeps them until its standard input ends.
const CROWD: &str = "
import resource, socket, sys
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 4096), limit))
doors = []
for _ in range(600):
    door = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)
    door.send(b'GET /')
    doors.append(door)
print('held', flush=True)
sys.stdin.read()
";

fn many_connections(machine: &mut Machine) -> Result<()> {
    let page = Page::start(machine)?;
    let (agent, other) = (machine.agent.clone(), machine.other.clone());
    let cookie = page.sign_in(machine, &other, "viewer")?;
    let mut command = agent.command("python3");
    command.args(["-c", CROWD, &page.port.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut crowd = command.spawn().context("cannot start python3")?;
    let mut line = String::new();
    let stdout = crowd.stdout.take().context("no output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line)?;
    let shown = page.get("/", &cookie);
    let open = keep_open(&page, &cookie);
    let held = fs::read_dir(format!("/proc/{}/fd", machine.service_id()?))?.count();
    let reviewed = [machine.reviews(&agent), machine.reviews(&other)];
    drop(crowd.stdin.take());
    crowd.wait()?;
    ensure!(line.contains("held"), "the connections were not made: {line:?}");
    ensure!(shown?.status == 200 && open.is_ok(), "nobody else sees the page");
    ensure!(held < 200, "the service holds {held} descriptors");
    for reviewed in reviewed {
        reviewed?;
    }
    Ok(())
}

/// Passes its standard input and its standard error on as the two sockets of a manager.
const PASS: &str = "exec 3<&0 4<&2 </dev/null 2>/dev/null
export LISTEN_FDS=2 LISTEN_PID=$$
exec \"$@\"";

/// Returns a command that starts the service as systemd does, with both sockets bound.
fn activated(machine: &Machine, socket: UnixListener, door: TcpListener) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", PASS, "sh"]).arg(machine.programs.join("portcullis"));
    command.args(["serve", "--boundary", "--json"]).current_dir("/").env_clear();
    command.env("HOME", STATE).env("PATH", "/usr/bin:/bin");
    command.uid(machine.service_user.id).gid(machine.service_user.id);
    command.stdin(OwnedFd::from(socket)).stderr(OwnedFd::from(door));
    command
}

fn held_port(machine: &mut Machine) -> Result<()> {
    let agent = machine.agent.clone();
    machine.kill_service()?;
    let door = TcpListener::bind("127.0.0.1:0")?;
    let port = door.local_addr()?.port();
    let _absent = fs::remove_file(SOCKET);
    let socket = UnixListener::bind(SOCKET)?;
    fs::set_permissions(SOCKET, Permissions::from_mode(0o666))?;
    write_root_file(BOUNDARY_FILE, &boundary_with(port))?;
    let host = format!("portcullis.localhost:{port}");
    let page = Page { port, host: host.clone() };
    for _ in 0..2 {
        let command = activated(machine, socket.try_clone()?, door.try_clone()?);
        let said = machine.start_service_by(command)?;
        ensure!(said["page"] == format!("http://{host}"), "it says {said}");
        let cookie = page.sign_in(machine, &agent, "viewer")?;
        ensure!(page.get("/", &cookie)?.status == 200, "the page does not answer");
        machine.reviews(&agent)?;
        machine.kill_service()?;
        let mut squatter = agent.command("python3");
        squatter.args(["-c", SQUATTER, &port.to_string()]);
        let ended = process::run(squatter, b"", LIMIT)?;
        ensure!(ended.stderr.contains("in use"), "the port was free: {}", ended.all());
    }
    // Another port than root's file names is not served.
    write_root_file(BOUNDARY_FILE, &boundary_with(free_port()?))?;
    let command = activated(machine, socket, door);
    let said = machine.start_service_by(command)?;
    ensure!(said["page"].is_null(), "it serves another port: {said}");
    machine.reviews(&agent)
}
