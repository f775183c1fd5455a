//! A service with its page, and the home that it shows.

use super::http::{HttpAnswer, send};
use crate::common::site::Site;
use crate::common::terminal::Answer;
use crate::held::Place;
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_store::Home;
use portcullis_web::people::{Approvers, Proof};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// The password of the approver.
pub const PASSWORD: &str = "correct horse battery";

/// A service with its page. It ends with the test.
pub struct Served {
    pub place: Place,
    child: Child,
    /// `portcullis.localhost:PORT`.
    pub host: String,
    pub port: u16,
}

impl Served {
    /// Starts a service in a new home whose approver has a password.
    pub fn start(name: &str) -> Result<Self> {
        Self::start_with(name, |_| Ok(Vec::new()))
    }

    /// Does the same with more arguments, which may need files of the site.
    pub fn start_with(name: &str, more: impl FnOnce(&Site) -> Result<Vec<String>>) -> Result<Self> {
        let place = Place::new(name, "")?;
        // The first command makes the home.
        place.site.output(&["approvals", "list"])?;
        let home = Home::open_root(place.site.state())?;
        let mut approvers = Approvers::default();
        approvers.add_proof("ann", Proof::new_password(PASSWORD)?)?;
        approvers.write(&home, "ann set up a password")?;
        place.site.give_back()?;
        let mut command = place.site.command(&["serve", "--json", "--page-port", "0"]);
        command.args(more(&place.site)?);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the service")?;
        let stdout = child.stdout.take().ok_or_else(|| anyhow!("it has no output"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let reported: serde_json::Value =
            serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))?;
        let host = reported["page"].as_str().and_then(|page| page.strip_prefix("http://"));
        let host = host.with_context(|| format!("it has no page: {reported}"))?.to_owned();
        let port = host.rsplit(':').next().context("no port")?.parse()?;
        Ok(Self { place, child, host, port })
    }

    pub fn site(&self) -> &Site {
        &self.place.site
    }

    /// Makes a link.
    pub fn link(&self, role: &str) -> Result<String> {
        let said = self.site().output(&["open", "--role", role, "--json"])?;
        let said: serde_json::Value = serde_json::from_str(&said)?;
        Ok(said["link"].as_str().context("no link")?.to_owned())
    }

    /// Makes a link with which a person sets up a passkey.
    pub fn link_for_passkey(&self, name: &str) -> Result<String> {
        let said = ["approvals", "proof", "passkey", "--person", name, "--json"];
        let shown = self.site().at_a_terminal(&said, Answer::Word, &[])?;
        let begin = format!("http://{}/enroll#", self.host);
        let at = shown.text.find(&begin).with_context(|| format!("no link: {}", shown.text))?;
        Ok(shown.text[at..].split('"').next().unwrap_or_default().to_owned())
    }

    /// Signs in; returns the header with the cookie.
    pub fn sign_in(&self, role: &str) -> Result<String> {
        let link = self.link(role)?;
        let code = link.split_once('#').context("no code")?.1;
        let answer = self.post("/sign-in", &[], &format!("code={code}"))?;
        let cookie = answer.header("set-cookie").context("no cookie")?;
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            ensure!(cookie.contains(part), "{cookie}");
        }
        Ok(format!("Cookie: {}", cookie.split(';').next().unwrap_or_default()))
    }

    /// Sends a request with the right host.
    pub fn get(&self, path: &str, headers: &[&str]) -> Result<HttpAnswer> {
        let mut all = vec![format!("Host: {}", self.host)];
        all.extend(headers.iter().map(|header| (*header).to_owned()));
        send(self.port, &format!("GET {path}"), &all, "")
    }

    /// Sends a form with the right host and origin.
    pub fn post(&self, path: &str, headers: &[&str], form: &str) -> Result<HttpAnswer> {
        let mut all = vec![
            format!("Host: {}", self.host),
            format!("Origin: http://{}", self.host),
            "Content-Type: application/x-www-form-urlencoded".to_owned(),
        ];
        all.extend(headers.iter().map(|header| (*header).to_owned()));
        send(self.port, &format!("POST {path}"), &all, form)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the value of a hidden field of a page.
pub fn field<'a>(page: &'a str, name: &str) -> Result<&'a str> {
    let begin = format!("name=\"{name}\" value=\"");
    let at = page.find(&begin).with_context(|| format!("the page has no field `{name}`"))?;
    let rest = &page[at + begin.len()..];
    Ok(rest.split('"').next().unwrap_or_default())
}
