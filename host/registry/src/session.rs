//! A conversation with one repository: authentication, redirects, retries, and the deadline.

use crate::body;
use crate::challenge::{self, Challenge};
use crate::client::Client;
use crate::credential::{self, Credential, CredentialLookup};
use crate::error::{ErrorReason, RegistryError};
use crate::proxy::is_loopback;
use crate::reference::Reference;
use crate::token;
use data_encoding::BASE64;
use secrecy::{ExposeSecret, SecretString};
use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{Method, Response};
use ureq::{AsSendBody, Body};
use url::Url;

/// The most bytes of a manifest or an index that registries accept.
pub(crate) const MOST_DOCUMENT: u64 = 4 << 20;
/// The number of retries of a request with temporary failures.
const REPETITIONS: u32 = 3;
/// The longest delay that a registry may request.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// The most redirects of one request.
const MOST_REDIRECTS: usize = 5;
/// The most bytes of an error's body.
const MOST_SAID: u64 = 4 << 10;
/// Docker's name for its registry, and the host that serves it.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// The action, as tokens name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenAction {
    Pull,
    Push,
}

pub(crate) struct RegistrySession<'a> {
    client: &'a Client,
    reference: &'a Reference,
    root: Url,
    action: TokenAction,
    deadline: Instant,
    /// The `Authorization` header, once the registry has asked for it.
    authorization: RefCell<Option<SecretString>>,
    looked: RefCell<Option<CredentialLookup>>,
}

/// A response, and whether the registry itself sent it: authentication requests of other hosts are
/// never answered with the registry's credentials, even after redirects.
struct RegistryResponse {
    answer: Response<Body>,
    own: bool,
}

/// A request to a registry.
pub(crate) struct RegistryRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// The accepted media type.
    pub(crate) accept: &'a str,
    /// Media type and bytes.
    pub(crate) body: Option<(&'a str, &'a [u8])>,
    /// The subject of the request, in words.
    pub(crate) asked: &'a str,
}

impl<'a> RegistrySession<'a> {
    pub(crate) fn new(
        client: &'a Client,
        reference: &'a Reference,
        action: TokenAction,
    ) -> Result<Self, RegistryError> {
        let registry = reference.registry();
        let failed = |why| RegistryError {
            registry: registry.to_owned(),
            asked: format!("`{}`", reference.path()),
            why,
        };
        let host = if registry == DOCKER_HUB.0 { DOCKER_HUB.1 } else { registry };
        let address = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/"))
                .map_err(|_| failed(ErrorReason::Malformed("it is not a host".to_owned())))
        };
        let secure = address("https")?;
        let named = client.access.plain_hosts.iter().any(|host| host == registry);
        let root = if named || (client.access.plain_loopback && is_loopback(&secure)) {
            address("http")?
        } else {
            secure
        };
        if client.access.plain_loopback && root.scheme() == "https" {
            let what = "plain HTTP is asked for, which is for registries on this machine; leave it out, or name this one as one without TLS";
            return Err(failed(ErrorReason::Plain(what.to_owned())));
        }
        let deadline = Instant::now() + client.access.limits.all;
        Ok(Self {
            client,
            reference,
            root,
            action,
            deadline,
            authorization: RefCell::new(None),
            looked: RefCell::new(None),
        })
    }

    pub(crate) const fn reference(&self) -> &Reference {
        self.reference
    }

    pub(crate) fn error(&self, asked: &str, why: impl Into<ErrorReason>) -> RegistryError {
        RegistryError {
            registry: self.reference.registry().to_owned(),
            asked: asked.to_owned(),
            why: why.into(),
        }
    }

    /// Returns a URL below the repository: `manifests/...`, `blobs/...`. Its parts were checked to
    /// need no encoding.
    pub(crate) fn url(&self, rest: &str) -> Url {
        let mut url = self.root.clone();
        let (path, query) =
            rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("/v2/{}/{path}", self.reference.path()));
        url.set_query(query);
        url
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

    /// Sends the request and returns the response if its status is one of these.
    pub(crate) fn expect(
        &self,
        request: &RegistryRequest<'_>,
        statuses: &[u16],
    ) -> Result<Response<Body>, RegistryError> {
        let answer = self.send(request)?;
        let status = answer.status().as_u16();
        if statuses.contains(&status) {
            return Ok(answer);
        }
        let why = match status {
            401 => self.unknown(),
            404 => ErrorReason::NotFound,
            300..=399 => ErrorReason::Redirect(format!(
                "it answered {status} with another address, where none is followed"
            )),
            _ => ErrorReason::answer(
                status,
                &body::read(answer, MOST_SAID, &self.client.access.limits, |_| {})
                    .unwrap_or_default(),
            ),
        };
        Err(self.error(request.asked, why))
    }

    /// Reads the body of a response.
    pub(crate) fn read(
        &self,
        answer: Response<Body>,
        asked: &str,
        most: u64,
        seen: impl FnMut(u64),
    ) -> Result<Vec<u8>, RegistryError> {
        body::read(answer, most, &self.client.access.limits, seen)
            .map_err(|why| self.error(asked, why))
    }

    /// Sends the request and returns the response with any status, after authentication if the
    /// registry asks for it, and after retries of temporary failures.
    pub(crate) fn send(
        &self,
        request: &RegistryRequest<'_>,
    ) -> Result<Response<Body>, RegistryError> {
        let (mut introduced, mut repeated) = (false, 0);
        loop {
            let outcome = self.follow(request);
            let passing = match &outcome {
                Ok(RegistryResponse { answer, own: false }) if answer.status() == 401 => {
                    let what = "it redirects to another host, which requires a login: credentials are for the registry alone";
                    return Err(self.error(request.asked, ErrorReason::Redirect(what.to_owned())));
                }
                Ok(RegistryResponse { answer, .. }) if answer.status() == 401 && !introduced => {
                    introduced = true;
                    self.introduce(answer).map_err(|why| self.error(request.asked, why))?;
                    continue;
                }
                Ok(RegistryResponse { answer, .. }) => {
                    matches!(answer.status().as_u16(), 429 | 500 | 502 | 503 | 504)
                }
                Err(why) => why.is_passing(),
            };
            let pause = self.client.access.limits.pause.saturating_mul(1 << repeated);
            let pause = outcome
                .as_ref()
                .ok()
                .and_then(|reached| wanted_pause(&reached.answer))
                .unwrap_or(pause);
            if !passing || repeated == REPETITIONS || pause > self.left().unwrap_or_default() {
                return outcome
                    .map(|reached| reached.answer)
                    .map_err(|why| self.error(request.asked, why));
            }
            repeated += 1;
            thread::sleep(pause);
        }
    }

    fn left(&self) -> Option<Duration> {
        Some(self.deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Follows redirects of a request that only reads. Credentials are sent to nobody but the
    /// registry.
    fn follow(&self, request: &RegistryRequest<'_>) -> Result<RegistryResponse, ErrorReason> {
        let mut url = request.url.clone();
        let mut own = true;
        for _ in 0..=MOST_REDIRECTS {
            own = own && self.is_own(&url);
            let answer = self.exchange(request, &url, own)?;
            let reads = matches!(request.method, Method::GET | Method::HEAD);
            if !reads || !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(RegistryResponse { answer, own });
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            url = self.led(
                &url,
                to.ok_or_else(|| {
                    ErrorReason::Redirect("it redirects, and does not say where".to_owned())
                })?,
            )?;
        }
        Err(ErrorReason::Redirect(format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    fn exchange(
        &self,
        request: &RegistryRequest<'_>,
        url: &Url,
        own: bool,
    ) -> Result<Response<Body>, ErrorReason> {
        let mut draft = ureq::http::Request::builder().method(&request.method).uri(url.as_str());
        if !request.accept.is_empty() {
            draft = draft.header(ACCEPT, request.accept);
        }
        if let Some(authorization) = self.authorization.borrow().as_ref().filter(|_| own) {
            draft = draft.header(AUTHORIZATION, authorization.expose_secret());
        }
        match request.body {
            Some((kind, bytes)) => self.run(draft.header(CONTENT_TYPE, kind).body(bytes), url),
            None if request.method == Method::POST => self.run(draft.body([].as_slice()), url),
            None => self.run(draft.body(()), url),
        }
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

    /// Obtains the authorization that the registry asks for.
    fn introduce(&self, answer: &Response<Body>) -> Result<(), ErrorReason> {
        let challenge = challenge::read(answer.headers()).map_err(|asks| {
            let asks = if asks.is_empty() {
                "does not say how".to_owned()
            } else {
                format!("asks for `{}`", asks.escape_debug())
            };
            ErrorReason::Unauthorized(format!(
                "it requires a login, and {asks}: tokens, and names with passwords, are known here"
            ))
        })?;
        let looked = credential::find(&self.client.access, self.reference.registry())
            .map_err(ErrorReason::Credential)?;
        let header = match (challenge, &looked.credential) {
            (Challenge::Bearer { realm, service }, credential) => {
                let actions = if self.action == TokenAction::Pull { "pull" } else { "pull,push" };
                let scope = format!("repository:{}:{actions}", self.reference.path());
                let wanted = token::TokenRequest {
                    realm: &realm,
                    service: service.as_deref(),
                    scope: &scope,
                };
                let token = token::fetch(self, &self.root, &wanted, credential.as_ref());
                *self.looked.borrow_mut() = Some(looked);
                let token = match token? {
                    Some(token) => token,
                    None => return Err(self.unknown()),
                };
                format!("Bearer {}", token.expose_secret())
            }
            (Challenge::Basic, Some(Credential::Password { user, password })) => {
                let header = basic(user, password);
                *self.looked.borrow_mut() = Some(looked);
                header
            }
            (Challenge::Basic, _) => {
                *self.looked.borrow_mut() = Some(looked);
                return Err(self.unknown());
            }
        };
        *self.authorization.borrow_mut() = Some(header.into());
        Ok(())
    }

    /// Explains a 401 after everything was tried.
    fn unknown(&self) -> ErrorReason {
        let registry = self.reference.registry();
        let login = format!("`docker login {registry}`");
        ErrorReason::Unauthorized(match self.looked.borrow().as_ref() {
            Some(CredentialLookup {
                credential: Some(Credential::Password { user, .. }),
                words,
            }) => {
                format!(
                    "it refuses {words} (user `{}`): log in again with {login}, or ask its owner",
                    user.escape_debug()
                )
            }
            Some(CredentialLookup { credential: Some(Credential::Identity(_)), words }) => {
                format!("it refuses {words}: log in again with {login}, or ask its owner")
            }
            Some(CredentialLookup { credential: None, words }) => {
                format!("it requires a login, and {words}: log in with {login}")
            }
            None => format!("it requires a login: log in with {login}"),
        })
    }

    /// Returns the registry's limits.
    pub(crate) const fn limits(&self) -> &crate::access::TransferLimits {
        &self.client.access.limits
    }
}

/// Returns the header for a name and a password.
pub(crate) fn basic(user: &str, password: &SecretString) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{}", password.expose_secret()).as_bytes()))
}

/// Returns the delay that the registry asks for, within bounds.
fn wanted_pause(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}
