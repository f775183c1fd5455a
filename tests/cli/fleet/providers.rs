//! Sign-in by a real provider of OpenID Connect, a certified implementation from the npm registry, on
//! loopback. Here a program plays the browser; in `browsers` a real one does.

use super::fleets::PageLines;
use super::http::{HttpAnswer, send};
use super::visits::Visited;
use crate::common::{in_ci, tell};
use anyhow::{Context, Result, ensure};
use portcullis_tests::programs::find_installed;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

const PACKAGE: &str = "oidc-provider@9.13.3";
const FOLDER: &str = "oidc-provider-9.13.3";

/// A running provider. It ends with the test.
pub struct RealProvider {
    child: Child,
    /// It writes there while it runs.
    _output: BufReader<ChildStdout>,
    pub issuer: String,
    port: u16,
}

impl RealProvider {
    /// Starts one that sends browsers back to a page; `None` if it cannot be installed here.
    pub fn start(host: &str) -> Result<Option<Self>> {
        // Tests at once would install into one folder.
        static INSTALLING: Mutex<()> = Mutex::new(());
        let installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        let found = find_installed(FOLDER, "node_modules/oidc-provider/package.json", &[PACKAGE]);
        drop(installing);
        let file = match found {
            Ok(file) => file,
            Err(error) if in_ci() => return Err(error),
            Err(error) => {
                tell(&format!("nobody signs in by a provider: {error:#}"));
                return Ok(None);
            }
        };
        let modules = file.parent().and_then(Path::parent).context("no folder of packages")?;
        let redirect = format!("http://{host}/oidc/callback");
        let task = json!({ "modules": modules, "redirect": redirect });
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("driver/provider.mjs");
        let mut command = Command::new("node");
        command.arg(driver).arg(task.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start `node`")?;
        let mut issuer = String::new();
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        output.read_line(&mut issuer)?;
        let issuer = issuer.trim().to_owned();
        let port = issuer.rsplit(':').next().and_then(|port| port.parse().ok());
        let Some(port) = port else {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("the provider said `{issuer}`");
        };
        Ok(Some(Self { child, _output: output, issuer, port }))
    }
}

impl Drop for RealProvider {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a hub and its provider; `None` if the provider cannot be installed here.
pub fn start(name: &str) -> Result<Option<(Visited, RealProvider)>> {
    let page = PageLines::plain()?;
    let Some(provider) = RealProvider::start(&page.host)? else { return Ok(None) };
    let secret = crate::common::Ground::get()?.root.join(format!("secret-{name}"));
    write_secret(&secret)?;
    let lines = format!(
        "[oidc]\nissuer = \"{}\"\nclient_id = \"hub\"\nclient_secret = \"file:{}\"\n\
         scopes = [\"openid\", \"email\", \"groups\"]\n[oidc.viewer]\ngroups = [\"staff\"]\n\
         [oidc.operator]\npeople = [\"ann@example.org\"]\ngroups = [\"security\"]\n",
        provider.issuer,
        secret.display()
    );
    Ok(Some((Visited::with(name, page.and(&lines))?, provider)))
}

fn write_secret(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, "a secret of the hub\n")?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}

/// A browser's way to the provider: what the hub gave it, and where the provider sends it back.
struct Way {
    /// The header with the cookie of the sign-in.
    attempt: String,
    /// The state that the hub sent along.
    state: String,
    /// The path at the hub, with the provider's answer.
    back: String,
}

impl Way {
    /// Begins a sign-in at a replica, and signs in at the provider.
    fn take(hub: &Visited, provider: &RealProvider, replica: usize, login: &str) -> Result<Self> {
        let begun = hub.get(replica, "/oidc/begin", &[])?;
        ensure!(begun.status == 303, "{begun:?}");
        let cookie = begun.header("set-cookie").context("no cookie")?;
        for part in ["HttpOnly", "SameSite=Lax", "Max-Age=600"] {
            ensure!(cookie.contains(part), "{cookie}");
        }
        let attempt = format!("Cookie: {}", cookie.split(';').next().unwrap_or_default());
        let address = begun.header("location").context("no address")?.to_owned();
        for part in ["code_challenge_method=S256", "response_type=code", "nonce=", "state="] {
            ensure!(address.contains(part), "{address}");
        }
        let state = value_of(&address, "state").context("no state")?;
        let mut jar = Jar { provider, cookies: Vec::new() };
        let asked = jar.get(&address)?;
        let place = asked.header("location").with_context(|| format!("{asked:?}"))?.to_owned();
        let shown = jar.get(&place)?;
        ensure!(shown.status == 200 && shown.body.contains("name=\"login\""), "{shown:?}");
        let mut answer = jar.post(&place, &format!("prompt=login&login={login}&password=any"))?;
        for _ in 0..5 {
            let next = answer.header("location").with_context(|| format!("{answer:?}"))?.to_owned();
            if let Some((_, back)) = next.split_once(&hub.host) {
                return Ok(Self { attempt, state, back: back.to_owned() });
            }
            answer = jar.get(&next)?;
        }
        anyhow::bail!("the provider does not send the browser back: {answer:?}")
    }

    fn code(&self) -> Result<String> {
        value_of(&self.back, "code").context("no code")
    }
}

/// Returns a value in the query of an address.
fn value_of(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).map(str::to_owned)
}

/// A browser's cookies at the provider.
struct Jar<'a> {
    provider: &'a RealProvider,
    cookies: Vec<(String, String)>,
}

impl Jar<'_> {
    fn get(&mut self, address: &str) -> Result<HttpAnswer> {
        self.send("GET", address, "")
    }

    fn post(&mut self, address: &str, form: &str) -> Result<HttpAnswer> {
        self.send("POST", address, form)
    }

    fn send(&mut self, method: &str, address: &str, form: &str) -> Result<HttpAnswer> {
        let path = address.strip_prefix(&self.provider.issuer).unwrap_or(address);
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let headers = [
            format!("Host: 127.0.0.1:{}", self.provider.port),
            format!("Cookie: {}", cookies.join("; ")),
            "Content-Type: application/x-www-form-urlencoded".to_owned(),
        ];
        let answer = send(self.provider.port, &format!("{method} {path}"), &headers, form)?;
        for line in answer.head.lines() {
            let Some((name, value)) = line.split_once(": ") else { continue };
            if !name.eq_ignore_ascii_case("set-cookie") {
                continue;
            }
            let pair = value.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.retain(|(known, _)| known != name);
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(answer)
    }
}

/// Rows: somebody whom the provider knows, and the role that they get; empty if they get none.
pub fn admits() -> Result<()> {
    let Some((hub, provider)) = start("provided")? else { return Ok(()) };
    // A person whom an operator added has the same name, and is somebody else.
    let local = hub.sign_in("sam@example.org", "operator", 0)?;
    for (login, role, reason) in [
        ("ann", "operator", ""),
        ("sam", "viewer", ""),
        ("olga", "operator", ""),
        ("nob", "", "no role is configured for `nob@example.org`"),
        ("eve", "", "the provider has not verified the address of mail"),
    ] {
        let way = Way::take(&hub, &provider, 0, login)?;
        // Another replica takes the answer: nothing of it is kept at one.
        let answer = hub.get(1, &way.back, &[&way.attempt])?;
        let acts = hub.acts()?;
        let last = acts.last().context("no act")?;
        if role.is_empty() {
            ensure!(answer.status == 403, "{login}: {answer:?}");
            ensure!(!answer.body.contains("example.org"), "{}", answer.body);
            ensure!(last["act"] == "refuse-sign-in", "{last}");
            ensure!(last["details"]["reason"] == reason, "{last}");
            continue;
        }
        ensure!(answer.status == 200, "{login}: {answer:?} {last}");
        let cookie = super::visits::cookie_of(&answer)?;
        let shown = format!("Sign out (oidc:{login}@example.org, {role})");
        ensure!(hub.page("/", &cookie)?.contains(&shown), "{login}");
        ensure!(last["act"] == "sign-in" && last["details"]["with"] == provider.issuer, "{last}");
        if login == "ann" {
            hub.fleet.output(&["hub", "user", "remove", "oidc:ann@example.org"])?;
            ensure!(hub.get(0, "/", &[&cookie])?.status == 303, "a removed person's cookie");
        }
    }
    ensure!(hub.page("/", &local)?.contains("(sam@example.org, operator)"));
    // No link is made for somebody whom a provider vouches for, and no role changed.
    for arguments in [
        &["hub", "user", "link", "oidc:sam@example.org"][..],
        &["hub", "user", "role", "oidc:sam@example.org", "operator"],
    ] {
        ensure!(hub.fleet.run(arguments)?.code == Some(1), "{arguments:?}");
    }
    hub.fleet.output(&["hub", "audit", "verify"])?;
    Ok(())
}

/// Rows: an answer that does not fit the sign-in, and the reason in the audit.
pub fn attacks() -> Result<()> {
    let Some((hub, provider)) = start("provided_attacks")? else { return Ok(()) };
    let way = |login| Way::take(&hub, &provider, 0, login);
    let (mine, others, used) = (way("ann")?, way("ann")?, way("ann")?);
    ensure!(hub.get(0, &used.back, &[&used.attempt])?.status == 200);
    let foreign_code = format!(
        "/oidc/callback?code={}&state={}&iss={}",
        others.code()?,
        mine.state,
        "http%3A%2F%2F127.0.0.1%3A1"
    );
    let swapped = format!("/oidc/callback?code={}&state={}", others.code()?, mine.state);
    let guessed = format!("/oidc/callback?code=guess&state={}", mine.state);
    let refused = format!("/oidc/callback?error=access_denied&state={}", mine.state);
    let stateless = format!("/oidc/callback?code={}", mine.code()?);
    for (index, (name, path, headers, reason)) in [
        ("no cookie", mine.back.as_str(), &[][..], "no sign-in of this browser is under way"),
        ("another's state", &others.back, &[&mine.attempt], "another sign-in"),
        ("no state", &stateless, &[&mine.attempt], "another sign-in"),
        ("another issuer", &foreign_code, &[&mine.attempt], "another issuer"),
        ("a code of another sign-in", &swapped, &[&mine.attempt], "does not exchange"),
        ("a guessed code", &guessed, &[&mine.attempt], "does not exchange"),
        ("a used code", &used.back, &[&used.attempt], "does not exchange"),
        ("the provider refuses", &refused, &[&mine.attempt], "access_denied"),
    ]
    .into_iter()
    .enumerate()
    {
        let headers: Vec<&str> = headers.iter().map(|header| header.as_str()).collect();
        let answer = hub.get(index % 2, path, &headers)?;
        ensure!(answer.status == 403, "{name}: {answer:?}");
        ensure!(answer.header("set-cookie").is_none(), "{name}: {}", answer.head);
        let acts = hub.acts()?;
        let last = acts.last().context("no act")?;
        ensure!(last["act"] == "refuse-sign-in", "{name}: {last}");
        let said = last["details"]["reason"].as_str().unwrap_or_default();
        ensure!(said.contains(reason), "{name}: {last}");
    }
    let people = hub.fleet.query("SELECT string_agg(person, ' ') FROM people")?;
    ensure!(people == "oidc:ann@example.org", "{people}");
    // A provider that is not there signs nobody in, and the hub goes on.
    drop(provider);
    let answer = hub.get(1, "/sign-in", &[])?;
    ensure!(answer.status == 200 && answer.body.contains("/oidc/begin"), "{answer:?}");
    let fresh = Visited::start("provided_none")?;
    ensure!(fresh.get(0, "/oidc/begin", &[])?.status == 404);
    ensure!(fresh.get(0, "/oidc/callback?code=x&state=y", &[])?.status == 404);
    Ok(())
}
