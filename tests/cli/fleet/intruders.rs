//! Attacks on the hub's page: other names and origins, forms of others, guessed and stolen codes,
//! people who may do less, certificates of machines, and texts that are meant to be something else.

use super::fleets::{PageLines, join, machine_of};
use super::pages::send_reviews;
use super::visits::{Visited, field};
use super::wire::{certificate_of, request_to};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};

/// The pages that show something.
pub const PAGES: &[&str] = &[
    "/",
    "/machine?id=m-0",
    "/session?machine=m-0&id=s",
    "/search?text=a",
    "/approvals",
    "/passkeys",
    "/incidents",
    "/audit",
    "/findings",
    "/feedback",
    "/proposal?kind=disable-rule&value=no_force",
    "/plugins",
    "/people",
];

/// Rows: a form from somewhere, and its status.
pub fn doors() -> Result<()> {
    let hub = Visited::start("page_doors")?;
    let cookie = hub.sign_in("olga", "operator", 0)?;
    let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
    let port = hub.fleet.page(0)?.port();
    let others = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("evil.example:{port}"),
        format!("{}.evil.example", hub.host),
        hub.host.to_uppercase(),
        "hub.localhost".to_owned(),
    ];
    for other in &others {
        let host = [format!("Host: {other}"), cookie.clone()];
        for path in PAGES.iter().chain(&["/sign-in", "/style.css", "/health", "/oidc/begin"]) {
            let answer = super::http::send(port, &format!("GET {path}"), &host, "")?;
            ensure!(answer.status == 421, "{other} {path}: {}", answer.head);
        }
    }
    let (ours, form) =
        (format!("Origin: http://{}", hub.host), format!("token={token}&incident=1&reason=x"));
    for (name, headers, form, status) in [
        ("its own", vec![ours.clone()], form.as_str(), 404),
        ("no origin", vec![], &form, 403),
        ("origin null", vec!["Origin: null".into()], &form, 403),
        ("another origin", vec!["Origin: http://evil.example".into()], &form, 403),
        ("the origin with TLS", vec![format!("Origin: https://{}", hub.host)], &form, 403),
        ("another site", vec![ours.clone(), "Sec-Fetch-Site: cross-site".into()], &form, 403),
        ("the same site", vec![ours.clone(), "Sec-Fetch-Site: same-site".into()], &form, 403),
        ("no token", vec![ours.clone()], "incident=1&reason=x", 422),
        ("a guessed token", vec![ours.clone()], "token=x&incident=1&reason=x", 403),
        ("not a number", vec![ours.clone()], &format!("token={token}&incident=x&reason=x"), 422),
    ] {
        let mut headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        headers.push(&cookie);
        let answer = hub.post_from(0, "/incidents/settle", &headers, form)?;
        ensure!(answer.status == status, "{name}: {} {}", answer.head, answer.body);
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let host = [format!("Host: {}", hub.host), ours.clone(), cookie.clone()];
        let answer = super::http::send(port, &format!("{method} /"), &host, "")?;
        ensure!(answer.status == 405, "{method}: {}", answer.head);
    }
    for path in PAGES.iter().chain(&["/sign-in", "/nothing", "/style.css", "/page.js"]) {
        let answer = hub.get(0, path, &[&cookie, "Origin: http://evil.example"])?;
        let policy = answer.header("content-security-policy").unwrap_or_default();
        ensure!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for (name, value) in [("x-content-type-options", "nosniff"), ("cache-control", "no-store")]
        {
            ensure!(answer.header(name) == Some(value), "{path} {name}: {}", answer.head);
        }
        ensure!(answer.header("access-control-allow-origin").is_none(), "{}", answer.head);
    }
    let long = hub.post(0, "/sign-in", &[], &format!("code={}", "x".repeat(100_000)));
    ensure!(long.is_err() || long?.status == 413, "a form of 100 kB");
    let refused = hub.acts()?;
    let refused = refused.iter().filter(|act| act["act"] == "refuse-form").count();
    ensure!(refused == 1, "the guessed token is in the audit");
    Ok(())
}

/// Without a cookie that counts, nothing is shown or changed.
pub fn strangers() -> Result<()> {
    let hub = Visited::start("page_strangers")?;
    let cookie = hub.sign_in("olga", "operator", 0)?;
    let removed = hub.sign_in("rita", "operator", 0)?;
    hub.fleet.output(&["hub", "user", "remove", "rita"])?;
    let expired = hub.sign_in("eva", "operator", 0)?;
    hub.fleet.query(
        "UPDATE browser_sessions SET expires_at = now() - interval '1 second' WHERE person = 'eva'",
    )?;
    let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
    let (name, value) =
        cookie.trim_start_matches("Cookie: ").split_once('=').context("no cookie")?;
    let code = hub.link("new", "operator")?;
    let digest = hub.fleet.query("SELECT encode(digest, 'hex') FROM browser_sessions LIMIT 1")?;
    for (who, header) in [
        ("nobody", String::new()),
        ("an empty cookie", format!("Cookie: {name}=")),
        ("a form's token", format!("Cookie: {name}={token}")),
        ("a link's code", format!("Cookie: {name}={code}")),
        ("a digest of the database", format!("Cookie: {name}={digest}")),
        ("a cut cookie", format!("Cookie: {name}={}", &value[1..])),
        ("two cookies", format!("Cookie: {name}={value}; {name}=x")),
        ("another name", format!("Cookie: x{name}={value}")),
        ("SQL", format!("Cookie: {name}=' OR 1=1 --")),
        ("a removed person", removed),
        ("an expired session", expired),
    ] {
        let headers: Vec<&str> = if header.is_empty() { Vec::new() } else { vec![&header] };
        for path in PAGES {
            let answer = hub.get(0, path, &headers)?;
            ensure!(answer.status == 303, "{who} {path}: {}", answer.head);
            ensure!(answer.header("location") == Some("/sign-in"), "{}", answer.head);
        }
        for path in ["/incidents/settle", "/sign-out"] {
            let form = format!("token={token}&incident=1&reason=x");
            let answer = hub.post(0, path, &headers, &form)?;
            ensure!(answer.header("location") == Some("/sign-in"), "{who}: {}", answer.head);
        }
    }
    let mut statuses = Vec::new();
    for guess in 0..12 {
        statuses.push(hub.post(0, "/sign-in", &[], &format!("code=guess{guess}"))?.status);
    }
    ensure!(statuses.last() == Some(&429), "{statuses:?}");
    let acts = hub.acts()?;
    let refused = acts.iter().filter(|act| act["act"] == "refuse-sign-in").count();
    ensure!(refused == 8, "{refused} entries: nobody fills the audit");
    // A right code counts all the same.
    let answer = hub.post(0, "/sign-in", &[], &format!("code={code}"))?;
    ensure!(answer.header("set-cookie").is_some(), "{}", answer.head);
    Ok(())
}

/// Each form, its fields, and the least role.
const FORMS: &[(&str, &str, &str)] = &[
    ("/incidents/settle", "incident=1&reason=x", "operator"),
    ("/people", "name=nobody&change=disable", "operator"),
    ("/passkeys/begin", "", "approver"),
    ("/passkeys/prove", "created={}", "approver"),
    ("/passkeys", "text={}&signed={}", "approver"),
    ("/passkeys/remove", "key=x", "viewer"),
    ("/approvals/passkey", "machine=m&question=q&digest=d&answer=allow", "approver"),
    ("/approvals/answer", "machine=m&question=q&answer=allow&text={}&signed={}", "approver"),
    ("/record", "place=x&word=right&reason=x", "approver"),
    ("/proposal", "kind=disable-rule&value=no_force&reason=x", "approver"),
    ("/proposal", "withdraw=999", "approver"),
    ("/findings", "kind=package&value=x&reason=x", "approver"),
    ("/sign-out", "", "viewer"),
];

/// Rows: a role and a form, and whether it may send it. No form counts without its token.
pub fn roles() -> Result<()> {
    let hub = Visited::start("page_roles")?;
    let all = ["viewer", "approver", "operator"];
    for (place, role) in all.iter().enumerate() {
        let cookie = hub.sign_in(&format!("a-{role}"), role, 0)?;
        let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
        for (path, fields, least) in FORMS {
            let row = format!("{role} {path}");
            let may = all.iter().position(|one| one == least).is_some_and(|least| place >= least);
            let forged = hub.post(1, path, &[&cookie], &format!("token=x&{fields}"))?;
            let said = "this form is not of this page";
            ensure!(forged.status == 403 && forged.body.contains(said), "{row}: {forged:?}");
            let answer = hub.post(1, path, &[&cookie], &format!("token={token}&{fields}"))?;
            let is_refused = answer.status == 403 && answer.body.contains("only an ");
            ensure!(is_refused != may, "{row}: {} {}", answer.head, answer.body);
            ensure!(answer.status < 500, "{row}: {} {}", answer.head, answer.body);
        }
    }
    for (name, role) in [("vic", "viewer"), ("abe", "approver")] {
        let cookie = hub.sign_in(name, role, 0)?;
        ensure!(hub.get(0, "/people", &[&cookie])?.status == 403, "{role}");
    }
    // What somebody may no longer do counts with the next form.
    let cookie = hub.sign_in("dora", "operator", 0)?;
    let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
    hub.fleet.output(&["hub", "user", "role", "dora", "viewer"])?;
    let form = format!("token={token}&incident=1&reason=x");
    ensure!(hub.post(0, "/incidents/settle", &[&cookie], &form)?.status == 403);
    // One person's token is not another's.
    let other = hub.sign_in("otto", "operator", 0)?;
    ensure!(hub.post(0, "/incidents/settle", &[&other], &form)?.status == 403);
    let acts = hub.acts()?;
    let refused: Vec<&str> = acts
        .iter()
        .filter(|act| act["act"] == "refuse-form")
        .filter_map(|act| act["by"].as_str())
        .collect();
    ensure!(refused.ends_with(&["dora", "otto"]) && refused.len() > 40, "{refused:?}");
    Ok(())
}

/// With the hub's own certificate: cookies are for TLS alone, and a machine's certificate says
/// nothing.
pub fn certificates() -> Result<()> {
    let page = PageLines::secure()?;
    let hub = Visited::with("page_tls", page)?;
    let site = hub.fleet.machine("at the page")?;
    let own = certificate_of(&site)?;
    let code = hub.link("ann", "viewer")?;
    let address = hub.fleet.page(0)?;
    let host = format!("host: {}\r\n", hub.host);
    let text = |certificate, line: &str, headers: &str, body: &str| {
        request_to(
            &hub.fleet,
            address,
            certificate,
            line,
            &format!("{host}{headers}"),
            body.as_bytes(),
        )
    };
    for certificate in [None, Some(&own)] {
        let answer = text(certificate, "GET /", "", "")?;
        ensure!(answer.starts_with("HTTP/1.1 303") && answer.contains("/sign-in"), "{answer}");
        let answer = text(certificate, "POST /v1/records", "", "{}")?;
        ensure!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        let answer = text(certificate, "GET /v1/heads", "", "")?;
        ensure!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    }
    let origin = format!(
        "origin: https://{}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
        hub.host
    );
    let answer = text(None, "POST /sign-in", &origin, &format!("code={code}"))?;
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.with_context(|| answer.clone())?;
    ensure!(cookie.starts_with("__Host-") && cookie.contains("Secure"), "{cookie}");
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap_or_default());
    let answer = text(None, "GET /", &cookie, "")?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Without TLS nobody is answered.
    let plain = super::http::send(address.port(), "GET /", &[format!("Host: {}", hub.host)], "");
    ensure!(plain.is_err(), "{plain:?}");
    // The machines' own address has no page.
    let answer = super::wire::request(&hub.fleet, Some(&own), "GET /search", "", b"")?;
    ensure!(answer.refused() == (404, "not_found"), "{answer:?}");
    Ok(())
}

/// Rows: texts that are meant to be something else, in every field that a machine fills.
pub fn texts() -> Result<()> {
    let hub = Visited::start("page_texts")?;
    let cookie = hub.sign_in("ann", "operator", 0)?;
    let site = Site::new("hostile texts")?;
    let token = hub.fleet.token("token-hostile", &[])?;
    ensure!(join(&site, &hub.fleet.url(), &token)?.code == Some(0));
    let machine = machine_of(&site)?;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>\u{202e}evil";
    for field in ["name", "version", "revoke_reason", "orders_refused", "detail"] {
        hub.fleet.query(&format!("UPDATE machines SET {field} = {}", literal(hostile)))?;
    }
    hub.fleet.query(&format!("UPDATE machines SET labels = ARRAY[{}]", literal(hostile)))?;
    hub.fleet.query("UPDATE machines SET revoked_at = NULL")?;
    let finding = serde_json::json!([
        { "check": hostile, "level": "problem", "what": hostile, "fix": hostile }
    ]);
    hub.fleet.query(&format!(
        "UPDATE machines SET protection = 'problem', protection_at = now(), \
         protection_findings = {}",
        literal(&finding.to_string())
    ))?;
    let sql = "'; DROP TABLE records; --";
    send_reviews(
        &hub.fleet,
        &site,
        &[
            (hostile, hostile, "block", hostile),
            (sql, sql, "ask", sql),
            ("$$; DELETE FROM machines; $$", "%s%n{0}{}", "allow", "\\'; SELECT pg_sleep(60); --"),
        ],
    )?;
    hub.fleet.query(&format!(
        "INSERT INTO incidents (machine, journal, kind, sequence, reason, settled_by, settle_reason) \
         VALUES ('{machine}', {0}, {0}, 1, {0}, {0}, {0})",
        literal(hostile)
    ))?;
    let encoded = encode(hostile);
    for path in [
        "/".to_owned(),
        format!("/?text={encoded}"),
        format!("/machine?id={machine}"),
        format!("/session?machine={machine}&id={encoded}"),
        format!("/session?machine={machine}&id={}", encode(sql)),
        "/search".to_owned(),
        format!("/search?text={encoded}&tool={encoded}&session={encoded}"),
        format!("/search?tool={}", encode(sql)),
        "/incidents".to_owned(),
        "/audit".to_owned(),
        "/findings".to_owned(),
    ] {
        let page = hub.page(&path, &cookie)?;
        for bad in ["<script>alert", "<img", "<b>\u{202e}", "\u{202e}", "onerror=alert(1)>\"'>"] {
            ensure!(!page.contains(bad), "{path} holds {bad}: {page}");
        }
    }
    let form =
        format!("token={}&incident=1&reason={encoded}", field(&hub.page("/", &cookie)?, "token")?);
    ensure!(hub.post(0, "/incidents/settle", &[&cookie], &form)?.status == 303);
    for path in ["/incidents", "/audit"] {
        let page = hub.page(path, &cookie)?;
        ensure!(
            !page.contains("<script>alert") && page.contains("&lt;script&gt;"),
            "{path}: {page}"
        );
    }
    ensure!(hub.fleet.query("SELECT count(*) FROM records")? == "3");
    Ok(())
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Encodes each byte for an address or a form.
pub fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
