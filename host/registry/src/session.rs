//! A conversation with one repository: authentication, redirects and retries.

use crate::body;
use crate::challenge::{self, Challenge};
use crate::client::Client;
use crate::credential::{RegistryLogin, basic_header};
use crate::error::{ErrorReason, RegistryError};
use crate::exchange::Exchange;
use crate::lookup::{self, CredentialLookup};
use crate::proxy::is_loopback;
use crate::reference::Reference;
use crate::token;
use portcullis_credentials::{CredentialUse, UseOutcome};
use secrecy::{ExposeSecret, SecretString};
use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Duration;
use ureq::Body;
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ureq::http::{Method, Response};
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
    exchange: Exchange<'a>,
    action: TokenAction,
    /// The `Authorization` header, once the registry has asked for it.
    authorization: RefCell<Option<SecretString>>,
    looked: RefCell<Option<CredentialLookup>>,
    /// True once the use of the credential was noted.
    is_noted: Cell<bool>,
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
    /// The subject of the request, as text.
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
            let what = "plain HTTP is only for registries on this machine; leave it out, or list \
                 this registry as one without TLS";
            return Err(failed(ErrorReason::Plain(what.to_owned())));
        }
        Ok(Self {
            client,
            reference,
            exchange: Exchange::new(client, root),
            action,
            authorization: RefCell::new(None),
            looked: RefCell::new(None),
            is_noted: Cell::new(false),
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

    /// Returns the way to the registry.
    pub(crate) const fn exchange(&self) -> &Exchange<'a> {
        &self.exchange
    }

    /// Returns a URL below the repository: `manifests/...`, `blobs/...`. Its parts were checked to
    /// need no encoding.
    pub(crate) fn url(&self, rest: &str) -> Url {
        let mut url = self.exchange.root().clone();
        let (path, query) =
            rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("/v2/{}/{path}", self.reference.path()));
        url.set_query(query);
        url
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
                "it answered {status} with another address, which is not followed here"
            )),
            _ => ErrorReason::answer(
                status,
                &body::read(answer, MOST_SAID, self.exchange.limits(), |_| {}).unwrap_or_default(),
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
        body::read(answer, most, self.exchange.limits(), seen).map_err(|why| self.error(asked, why))
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
                    let what = "it redirects to another host, which requires a login: credentials \
                         are for the registry alone";
                    return Err(self.error(request.asked, ErrorReason::Redirect(what.to_owned())));
                }
                Ok(RegistryResponse { answer, .. }) if answer.status() == 401 && !introduced => {
                    introduced = true;
                    self.introduce(answer).map_err(|why| self.error(request.asked, why))?;
                    continue;
                }
                Ok(RegistryResponse { answer, own }) => {
                    if *own && answer.status() != 401 {
                        self.note_success();
                    }
                    matches!(answer.status().as_u16(), 429 | 500 | 502 | 503 | 504)
                }
                Err(why) => why.is_passing(),
            };
            let pause = self.exchange.limits().pause.saturating_mul(1 << repeated);
            let pause = outcome
                .as_ref()
                .ok()
                .and_then(|reached| wanted_pause(&reached.answer))
                .unwrap_or(pause);
            if !passing
                || repeated == REPETITIONS
                || pause > self.exchange.left().unwrap_or_default()
            {
                return outcome
                    .map(|reached| reached.answer)
                    .map_err(|why| self.error(request.asked, why));
            }
            repeated += 1;
            thread::sleep(pause);
        }
    }

    /// Follows redirects of a request that only reads. Credentials are sent to nobody but the
    /// registry.
    fn follow(&self, request: &RegistryRequest<'_>) -> Result<RegistryResponse, ErrorReason> {
        let mut url = request.url.clone();
        let mut own = true;
        for _ in 0..=MOST_REDIRECTS {
            // Another host that redirects back chose the address, so it gets no credentials on the
            // way.
            own = own && self.exchange.is_own(&url);
            let answer = self.send_once(request, &url, own)?;
            let reads = matches!(request.method, Method::GET | Method::HEAD);
            if !reads || !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(RegistryResponse { answer, own });
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            url = self.exchange.led(
                &url,
                to.ok_or_else(|| {
                    ErrorReason::Redirect("it redirects, and does not say where".to_owned())
                })?,
            )?;
        }
        Err(ErrorReason::Redirect(format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    fn send_once(
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
            Some((kind, bytes)) => {
                self.exchange.run(draft.header(CONTENT_TYPE, kind).body(bytes), url)
            }
            None if request.method == Method::POST => {
                self.exchange.run(draft.body([].as_slice()), url)
            }
            None => self.exchange.run(draft.body(()), url),
        }
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
        let looked = lookup::find(&self.client.access, self.reference.registry())
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
                let token = token::fetch(&self.exchange, &wanted, credential.as_ref());
                // This comes before the outcome is read, since an error says where the credential
                // is from.
                *self.looked.borrow_mut() = Some(looked);
                let token = match token? {
                    Some(token) => token,
                    None => return Err(self.unknown()),
                };
                format!("Bearer {}", token.expose_secret())
            }
            (Challenge::Basic, Some(RegistryLogin::Password { user, password })) => {
                let header = basic_header(user, password);
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

    /// Notes once that the registry took the credential.
    fn note_success(&self) {
        if self.authorization.borrow().is_none() || self.is_noted.replace(true) {
            return;
        }
        if let Some(CredentialLookup { credential: Some(_), source, .. }) =
            self.looked.borrow().as_ref()
        {
            self.note_use(source, UseOutcome::Used);
        }
    }

    fn note_use(&self, source: &str, outcome: UseOutcome) {
        if let Some(observer) = &self.client.access.observer {
            observer.note_use(&CredentialUse {
                credential: source.to_owned(),
                purpose: format!("registry {}", self.reference.registry()),
                outcome,
            });
        }
    }

    /// Explains a 401 after everything was tried.
    fn unknown(&self) -> ErrorReason {
        let registry = self.reference.registry();
        let looked = self.looked.borrow();
        let login = match looked.as_ref() {
            Some(looked) => looked.renewal.clone(),
            None => format!("`docker login {registry}`"),
        };
        if let Some(CredentialLookup { credential: Some(_), source, .. }) = looked.as_ref() {
            self.note_use(source, UseOutcome::Refused);
        }
        ErrorReason::Unauthorized(match looked.as_ref() {
            Some(CredentialLookup {
                credential: Some(RegistryLogin::Password { user, .. }),
                words,
                ..
            }) => {
                format!(
                    "it refuses {words} (user `{}`): log in again with {login}, or ask its owner",
                    user.escape_debug()
                )
            }
            Some(CredentialLookup {
                credential: Some(RegistryLogin::Identity(_)), words, ..
            }) => {
                format!("it refuses {words}: log in again with {login}, or ask its owner")
            }
            Some(CredentialLookup { credential: None, words, .. }) => {
                format!("it requires a login, and {words}: log in with {login}")
            }
            None => format!("it requires a login: log in with {login}"),
        })
    }
}

/// Returns the delay that the registry asks for, within bounds.
fn wanted_pause(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}
