//! Single exchanges with a registry or its token server: TLS is never dropped, and one deadline is
//! for all of them.

use crate::access::TransferLimits;
use crate::client::Client;
use crate::error::ErrorReason;
use crate::proxy::is_loopback;
use std::time::{Duration, Instant};
use ureq::http::Response;
use ureq::{AsSendBody, Body};
use url::Url;

/// The way to one registry.
pub(crate) struct Exchange<'a> {
    client: &'a Client,
    root: Url,
    deadline: Instant,
}

impl<'a> Exchange<'a> {
    /// Prepares exchanges with the registry at `root`; their deadline begins now.
    pub(crate) fn new(client: &'a Client, root: Url) -> Self {
        let deadline = Instant::now() + client.access.limits.all;
        Self { client, root, deadline }
    }

    /// Returns the registry's own address.
    pub(crate) const fn root(&self) -> &Url {
        &self.root
    }

    /// Resolves a response's `Location` or `Link`; TLS is never dropped on the way.
    pub(crate) fn led(&self, from: &Url, to: &str) -> Result<Url, ErrorReason> {
        // The query is left out: it may hold an object store's signature, which grants access for a
        // while.
        let shown = || {
            to.chars()
                .take_while(|c| *c != '?')
                .take(200)
                .collect::<String>()
                .escape_debug()
                .to_string()
        };
        let url = from.join(to).map_err(|_| {
            ErrorReason::Redirect(format!("it leads to `{}`, which is not an address", shown()))
        })?;
        match url.scheme() {
            "https" => Ok(url),
            "http" if from.scheme() == "http" && (is_loopback(&url) || self.is_own(&url)) => {
                Ok(url)
            }
            _ => Err(ErrorReason::Redirect(format!(
                "it leads to `{}`, which is without TLS; the registry has to name an address with it",
                shown()
            ))),
        }
    }

    /// Returns true if a URL belongs to the registry, so that it may receive the credentials.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.root.origin()
    }

    /// Returns the time until the deadline; none if it has passed.
    pub(crate) fn left(&self) -> Option<Duration> {
        Some(self.deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Performs one exchange, limited only by the remaining time.
    pub(crate) fn run(
        &self,
        draft: Result<ureq::http::Request<impl AsSendBody>, ureq::http::Error>,
        url: &Url,
    ) -> Result<Response<Body>, ErrorReason> {
        let limits = &self.client.access.limits;
        let left = self.left().ok_or(ErrorReason::Late(limits.all))?;
        let draft = draft.map_err(|error| {
            ErrorReason::Malformed(format!("it redirects to an invalid address ({error})"))
        })?;
        let (agent, through) = self.client.agent(url);
        let draft = agent.configure_request(draft).timeout_global(Some(left)).build();
        agent.run(draft).map_err(|error| ErrorReason::transport(error, through, limits))
    }

    /// Returns the registry's limits.
    pub(crate) const fn limits(&self) -> &TransferLimits {
        &self.client.access.limits
    }
}
