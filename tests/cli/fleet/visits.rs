//! Visits of a hub's page by people and by those who should not get in.

use super::fleets::{Fleet, PageLines};
use super::http::{HttpAnswer, send};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::sync::Arc;

/// A hub with a page.
pub struct Visited {
    pub fleet: Arc<Fleet>,
    pub host: String,
}

impl Visited {
    /// Starts a hub whose page is reached without TLS.
    pub fn start(name: &str) -> Result<Self> {
        Self::with(name, PageLines::plain()?)
    }

    /// Starts a hub with these lines.
    pub fn with(name: &str, page: PageLines) -> Result<Self> {
        Ok(Self { fleet: Fleet::with_page(name, &page)?.into(), host: page.host })
    }

    /// Returns the code of a person's new link.
    pub fn link(&self, name: &str, role: &str) -> Result<String> {
        let added = self.fleet.output(&["hub", "user", "add", name, "--role", role, "--json"])?;
        code_of(&added)
    }

    /// Adds a person and signs in at a replica; returns the header with the cookie.
    pub fn sign_in(&self, name: &str, role: &str, replica: usize) -> Result<String> {
        let code = self.link(name, role)?;
        let answer = self.post(replica, "/sign-in", &[], &format!("code={code}"))?;
        cookie_of(&answer)
    }

    /// Gets a page of a replica with the right host.
    pub fn get(&self, replica: usize, path: &str, headers: &[&str]) -> Result<HttpAnswer> {
        let mut all = vec![format!("Host: {}", self.host)];
        all.extend(headers.iter().map(|header| (*header).to_owned()));
        send(self.fleet.page(replica)?.port(), &format!("GET {path}"), &all, "")
    }

    /// Posts a form to a replica with the right host and origin.
    pub fn post(
        &self,
        replica: usize,
        path: &str,
        headers: &[&str],
        form: &str,
    ) -> Result<HttpAnswer> {
        let origin = format!("Origin: http://{}", self.host);
        self.post_from(replica, path, &[&[origin.as_str()], headers].concat(), form)
    }

    /// Posts a form with these headers beside the host.
    pub fn post_from(
        &self,
        replica: usize,
        path: &str,
        headers: &[&str],
        form: &str,
    ) -> Result<HttpAnswer> {
        let mut all = vec![
            format!("Host: {}", self.host),
            "Content-Type: application/x-www-form-urlencoded".to_owned(),
        ];
        all.extend(headers.iter().map(|header| (*header).to_owned()));
        send(self.fleet.page(replica)?.port(), &format!("POST {path}"), &all, form)
    }

    /// Returns the page that a visitor with this cookie sees, which has to be one.
    pub fn page(&self, path: &str, cookie: &str) -> Result<String> {
        let answer = self.get(0, path, &[cookie])?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.head, answer.body);
        Ok(answer.body)
    }

    /// Returns the acts in the audit, the oldest first.
    pub fn acts(&self) -> Result<Vec<Value>> {
        let shown = self.fleet.output(&["hub", "audit", "show", "--limit", "1000", "--json"])?;
        let entry = |line: &str| Ok(serde_json::from_str::<Value>(line)?["entry"].clone());
        shown.lines().map(entry).collect()
    }
}

/// Returns the code in the link that a command printed as JSON.
pub fn code_of(printed: &str) -> Result<String> {
    let link: Value = serde_json::from_str(printed)?;
    let link = link["link"].as_str().context("no link")?;
    Ok(link.split_once("/sign-in#").context("no code")?.1.to_owned())
}

/// Returns the header that sends an answer's first cookie back.
pub fn cookie_of(answer: &HttpAnswer) -> Result<String> {
    let cookie = answer.header("set-cookie").with_context(|| format!("no cookie: {answer:?}"))?;
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        ensure!(cookie.contains(part), "{cookie}");
    }
    Ok(format!("Cookie: {}", cookie.split(';').next().unwrap_or_default()))
}

/// Returns the value of a hidden field of a page.
pub fn field<'a>(page: &'a str, name: &str) -> Result<&'a str> {
    let begin = format!("name=\"{name}\" value=\"");
    let at = page.find(&begin).with_context(|| format!("the page has no field `{name}`"))?;
    Ok(page[at + begin.len()..].split('"').next().unwrap_or_default())
}
