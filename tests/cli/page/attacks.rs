//! Attacks on the page's door: DNS rebinding, forms of other sites, other users of this machine,
//! stolen and used links, answers without the proof.

use super::http::send;
use super::served::{PASSWORD, Served, field};
use crate::common::reply::Answer as Reply;
use crate::common::terminal::Answer;
use crate::held::{DOUBTFUL, await_waiting};
use anyhow::{Result, ensure};

/// The pages about sessions, and about what waits for a person.
pub const SESSIONS: &[&str] =
    &["/", "/session?id=s", "/approvals", "/incidents", "/plugins", "/search?text=a"];
/// The other pages that show something.
pub const ROOMS: &[&str] = &[
    "/incident?id=last",
    "/incident/rollback?id=last",
    "/checkpoints",
    "/checkpoint?id=c1",
    "/rules",
    "/charts",
    "/configuration",
];

/// Returns all pages that show something.
fn pages() -> impl Iterator<Item = &'static str> {
    SESSIONS.iter().chain(ROOMS).copied()
}

pub fn doors() -> Result<()> {
    let served = Served::start("page-doors")?;
    let cookie = served.sign_in("approver")?;
    let (host, port) = (served.host.as_str(), served.port);
    let shouted = host.to_uppercase();
    let others = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        "portcullis.localhost".to_owned(),
        format!("evil.example:{port}"),
        format!("{host}.evil.example"),
        format!("x.{host}"),
        shouted,
    ];
    for other in &others {
        let headers = [format!("Host: {other}"), cookie.clone()];
        for path in pages().chain(["/style.css", "/health", "/live", "/sign-in"]) {
            let answer = send(port, &format!("GET {path}"), &headers, "")?;
            ensure!(answer.status == 421, "{other} {path}: {}", answer.head);
        }
    }
    let twice = [format!("Host: {host}"), "Host: evil.example".to_owned()];
    ensure!(matches!(send(port, "GET /", &twice, "")?.status, 400 | 421));
    ensure!(matches!(send(port, "GET /", &[], "")?.status, 400 | 421));
    let host = format!("Host: {host}");
    let ours = format!("Origin: http://{}", served.host);
    let form = "Content-Type: application/x-www-form-urlencoded".to_owned();
    for (origin, from, status) in [
        (ours.clone(), "Sec-Fetch-Site: same-origin", 403),
        (ours.clone(), "Sec-Fetch-Site: cross-site", 403),
        (ours.clone(), "Sec-Fetch-Site: same-site", 403),
        ("Origin: null".to_owned(), "X: y", 403),
        ("X: y".to_owned(), "X: y", 403),
        (format!("Origin: https://{}", served.host), "X: y", 403),
        (format!("Origin: http://localhost:{port}"), "X: y", 403),
        ("Origin: http://evil.example".to_owned(), "X: y", 403),
    ] {
        let headers = [host.clone(), origin.clone(), from.to_owned(), form.clone(), cookie.clone()];
        let body = "token=x&id=y&digest=z&answer=allow&proof=1";
        let answer = send(port, "POST /approvals/answer", &headers, body)?;
        ensure!(answer.status == status, "{origin} {from}: {}", answer.head);
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = send(port, &format!("{method} /"), &[host.clone(), ours.clone()], "")?;
        ensure!(answer.status == 405, "{method}: {}", answer.head);
        ensure!(answer.header("access-control-allow-origin").is_none(), "{}", answer.head);
    }
    for path in pages().chain(["/style.css", "/page.js", "/nothing", "/sign-in"]) {
        let answer = served.get(path, &[&cookie, "Origin: http://evil.example"])?;
        let policy = answer.header("content-security-policy").unwrap_or_default();
        ensure!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        ensure!(!policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            ensure!(answer.header(name) == Some(value), "{path} {name}: {}", answer.head);
        }
        ensure!(answer.header("access-control-allow-origin").is_none(), "{}", answer.head);
    }
    let long = format!("code={}", "x".repeat(100_000));
    let refused = served.post("/sign-in", &[], &long);
    ensure!(refused.is_err() || refused?.status == 413, "a form of 100 kB");
    Ok(())
}

pub fn links() -> Result<()> {
    let served = Served::start("page-links")?;
    let link = served.link("approver")?;
    ensure!(link.starts_with(&format!("http://{}/sign-in#", served.host)), "{link}");
    let code = link.split_once('#').map(|(_, code)| code.to_owned()).unwrap_or_default();
    ensure!(code.len() >= 43, "256 bits: {code}");
    // In an address, a code would end in histories and logs.
    let shown = served.get(&format!("/sign-in?code={code}"), &[])?;
    ensure!(shown.header("set-cookie").is_none(), "{}", shown.head);
    let first = served.post("/sign-in", &[], &format!("code={code}"))?;
    ensure!(first.header("set-cookie").is_some(), "{}", first.head);
    let second = served.post("/sign-in", &[], &format!("code={code}"))?;
    ensure!(second.header("set-cookie").is_none(), "a second use: {}", second.head);
    ensure!(second.header("location") == Some("/sign-in?said=unknown"), "{}", second.head);
    let mut statuses = Vec::new();
    for guess in 0..12 {
        statuses.push(served.post("/sign-in", &[], &format!("code=guess{guess}"))?.status);
    }
    ensure!(statuses.last() == Some(&429), "{statuses:?}");
    let unknown = served.site().run(&["open", "--role", "owner", "--json"])?;
    ensure!(unknown.code == Some(2), "{}", unknown.all());
    let mut by_agent = served.site().command(&["open", "--json"]);
    by_agent.env("CLAUDECODE", "1");
    let refused = crate::common::process::run(by_agent, b"", crate::common::site::LIMIT)?;
    ensure!(refused.code != Some(0) && refused.all().contains("only a person"), "{refused:?}");
    Ok(())
}

pub fn enrollments() -> Result<()> {
    let served = Served::start("page-enrollments")?;
    let link = served.link_for_passkey("zoe")?;
    let code = link.split_once('#').map(|(_, code)| code.to_owned()).unwrap_or_default();
    let begun = served.post("/enroll/begin", &[], &format!("code={code}"))?;
    ensure!(begun.status == 200 && begun.body.contains("\"challenge\""), "{begun:?}");
    ensure!(begun.header("set-cookie").is_none(), "it signs nobody in: {}", begun.head);
    for again in [&code[..], "", "guess"] {
        let refused = served.post("/enroll/begin", &[], &format!("code={again}"))?;
        ensure!(refused.status == 403, "{again}: {}", refused.head);
    }
    // The code of one kind of link is none of the other.
    let sign_in = served.link("approver")?;
    let code = sign_in.split_once('#').map(|(_, code)| code.to_owned()).unwrap_or_default();
    ensure!(served.post("/enroll/begin", &[], &format!("code={code}"))?.status == 403);
    for created in ["", "%7B%7D", "x"] {
        let kept = served.post("/enroll/finish", &[], &format!("created={created}"))?;
        ensure!(kept.status == 409, "{created}: {}", kept.head);
    }
    let shown = served.site().output(&["approvals", "proof", "--json"])?;
    let expected = r#"{"click":false,"people":[{"name":"ann","proofs":["password"]}]}"#;
    ensure!(shown.trim() == expected, "{shown}");
    let mut by_agent = served.site().command(&["approvals", "proof", "passkey"]);
    by_agent.env("CLAUDECODE", "1");
    let refused = crate::common::process::run(by_agent, b"", crate::common::site::LIMIT)?;
    ensure!(refused.code != Some(0) && refused.all().contains("only a person"), "{refused:?}");
    let bad = ["approvals", "proof", "passkey", "--person", "a b"];
    served.site().at_a_terminal(&bad, Answer::Word, &[])?.ended(1, &["no spaces"])
}

pub fn strangers() -> Result<()> {
    let served = Served::start("page-strangers")?;
    served.site().ordinary("s")?;
    let cookie = served.sign_in("viewer")?;
    let known = served.get("/", &[&cookie])?;
    ensure!(known.status == 200 && known.body.contains("/session?id=s"), "{known:?}");
    let token = field(&known.body, "token")?;
    let value = cookie.trim_start_matches("Cookie: ");
    let (name, rest) = value.split_once('=').unwrap_or_default();
    let cut = &rest[..rest.len() - 1];
    let wrong = [
        String::new(),
        "Cookie: portcullis=".to_owned(),
        format!("Cookie: portcullis={token}"),
        format!("Cookie: {name}={cut}"),
        format!("Cookie: {name}={rest}; {name}=x"),
        format!("Cookie: x{name}={rest}"),
        format!("Cookie: {name}={}", rest.to_lowercase()),
    ];
    for other in wrong {
        let headers: Vec<&str> = if other.is_empty() { Vec::new() } else { vec![&other] };
        for path in pages() {
            let answer = served.get(path, &headers)?;
            ensure!(answer.status == 303, "{other} {path}: {}", answer.head);
            ensure!(answer.header("location") == Some("/sign-in"), "{}", answer.head);
            ensure!(!answer.body.contains("session"), "{}", answer.body);
        }
        ensure!(served.get("/live", &headers)?.status == 401, "{other}");
        let form = format!("token={token}&id=x&digest=y&answer=deny");
        let answer = served.post("/approvals/answer", &headers, &form)?;
        ensure!(answer.header("location") == Some("/sign-in"), "{}", answer.head);
    }
    for path in ["/../../etc/passwd", "/journal.db", "/key", "/approvers.json", "//etc/passwd"] {
        ensure!(served.get(path, &[&cookie])?.status == 404, "{path}");
    }
    let out = served.post("/sign-out", &[&cookie], &format!("token={token}"))?;
    ensure!(out.header("location") == Some("/sign-in?said=out"), "{}", out.head);
    ensure!(served.get("/", &[&cookie])?.status == 303, "the cookie still counts");
    Ok(())
}

pub fn answers() -> Result<()> {
    let served = Served::start("page-answers")?;
    let approver = served.sign_in("approver")?;
    let viewer = served.sign_in("viewer")?;
    // A person at a terminal, so that the hook waits.
    let _watch = served.place.watch()?;
    let hook = served.place.hold("s", "c1", DOUBTFUL)?;
    await_waiting(served.site(), 1)?;
    let page = served.get("/approvals", &[&approver])?.body;
    let (token, id) = (field(&page, "token")?, field(&page, "id")?);
    let digest = field(&page, "digest")?;
    let shown = served.get("/approvals", &[&viewer])?.body;
    ensure!(shown.contains(DOUBTFUL) && !shown.contains("name=\"digest\""), "a viewer's: {shown}");
    let viewers = field(&shown, "token")?;
    let answer = |token: &str, digest: &str, proof: &str, cookie: &str| {
        let form = format!("token={token}&id={id}&digest={digest}&answer=allow&proof={proof}");
        served.post("/approvals/answer", &[cookie], &form)
    };
    let right = PASSWORD.replace(' ', "+");
    for (token, digest, proof, cookie, expected) in [
        ("x", digest, right.as_str(), &approver, "403"),
        (viewers, digest, &right, &approver, "403"),
        (viewers, digest, &right, &viewer, "403"),
        (token, digest, &right, &viewer, "403"),
        (token, digest, "", &approver, "/approvals?said=unproved"),
        (token, digest, "wrong+password", &approver, "/approvals?said=unproved"),
        (token, digest, "%7B%22id%22%3A%22x%22%7D", &approver, "/approvals?said=unproved"),
        (token, "another", &right, &approver, "409"),
    ] {
        let got = answer(token, digest, proof, cookie)?;
        let result = got.header("location").map_or_else(|| got.status.to_string(), str::to_owned);
        ensure!(result == expected, "{token} {digest} {proof}: {result}, not {expected}");
    }
    ensure!(await_waiting(served.site(), 1)?[0]["id"] == id, "it still waits");
    let given = answer(token, digest, &right, &approver)?;
    ensure!(given.header("location") == Some("/approvals?said=allowed"), "{}", given.head);
    let reply = hook.reply()?;
    ensure!(!matches!(reply.answer, Reply::Refused | Reply::Asked), "{reply:?}");
    let again = answer(token, digest, &right, &approver)?;
    ensure!(again.header("location") == Some("/approvals?said=late"), "{}", again.head);
    let records = served.site().shown(&["--session", "s", "--kind", "exception"])?;
    let by = &records[1]["details"]["by"];
    ensure!(by == "ann on the page, with their password", "{by}");
    // Too many wrong passwords close the door to right ones, too.
    let hook = served.place.hold("s", "c2", DOUBTFUL)?;
    await_waiting(served.site(), 1)?;
    let page = served.get("/approvals", &[&approver])?.body;
    let (id, digest) = (field(&page, "id")?, field(&page, "digest")?);
    let mut last = String::new();
    for guess in 0..12 {
        let proof = if guess < 11 { format!("guess{guess}") } else { right.clone() };
        let form = format!("token={token}&id={id}&digest={digest}&answer=allow&proof={proof}");
        let got = served.post("/approvals/answer", &[&approver], &form)?;
        last = got.header("location").unwrap_or_default().to_owned();
    }
    ensure!(last == "/approvals?said=closed", "{last}");
    let form = format!("token={token}&id={id}&digest={digest}&answer=deny&words=no");
    let denied = served.post("/approvals/answer", &[&approver], &form)?;
    ensure!(denied.header("location") == Some("/approvals?said=denied"), "{}", denied.head);
    ensure!(hook.reply()?.answer == Reply::Refused);
    served.site().verify()
}

/// What an agent writes comes to the page in commands, prompts, folders and sessions.
pub fn texts() -> Result<()> {
    let served = Served::start("page-texts")?;
    let cookie = served.sign_in("approver")?;
    let _watch = served.place.watch()?;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'\u{202e}&lt;";
    let command = format!("crontab -r # {hostile}");
    let hook = served.place.hold(hostile, "c1", &command)?;
    let waiting = await_waiting(served.site(), 1)?;
    let encoded: String = hostile.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for path in [
        "/".to_owned(),
        "/approvals".to_owned(),
        format!("/session?id={encoded}"),
        format!("/search?text={encoded}"),
    ] {
        let page = served.get(&path, &[&cookie])?;
        ensure!(page.status == 200, "{path}: {}", page.head);
        for part in ["<script>alert", "<img", "\u{202e}"] {
            ensure!(!page.body.contains(part), "{path} has `{part}`: {}", page.body);
        }
        ensure!(page.body.contains("alert(1)"), "{path} does not show it: {}", page.body);
    }
    let id = waiting[0]["id"].as_str().unwrap_or_default();
    served.site().output(&["approvals", "deny", id])?;
    ensure!(hook.reply()?.answer == Reply::Refused);
    Ok(())
}
