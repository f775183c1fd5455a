//! One conversation with one repository: who we are there, redirects, repetitions, and the time that is left.

use crate::body;
use crate::challenge::{self, Challenge};
use crate::client::Client;
use crate::credential::{self, Credential, Looked};
use crate::error::{Error, Why};
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

/// Bytes of a manifest or an index, as registries take them.
pub(crate) const MOST_DOCUMENT: u64 = 4 << 20;
/// How often a request is repeated whose failure may pass.
const REPETITIONS: u32 = 3;
/// The longest wait that a registry may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Redirects of one request.
const MOST_REDIRECTS: usize = 5;
/// Bytes of an error's body.
const MOST_SAID: u64 = 4 << 10;
/// What docker calls its registry, and where that answers.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// What is done there, in the words of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Pull,
    Push,
}

pub(crate) struct Session<'a> {
    client: &'a Client,
    reference: &'a Reference,
    root: Url,
    action: Action,
    deadline: Instant,
    /// The header that proves who we are, once the registry asked.
    authorization: RefCell<Option<SecretString>>,
    looked: RefCell<Option<Looked>>,
}

/// An answer, and whether the registry itself gave it: no other host's questions are answered with who we are to the
/// registry, wherever that leads.
struct Reached {
    answer: Response<Body>,
    own: bool,
}

/// A request to a registry.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// The media type that is wanted.
    pub(crate) accept: &'a str,
    /// Media type and bytes.
    pub(crate) body: Option<(&'a str, &'a [u8])>,
    /// What it is about, in words.
    pub(crate) asked: &'a str,
}

impl<'a> Session<'a> {
    pub(crate) fn new(client: &'a Client, reference: &'a Reference, action: Action) -> Result<Self, Error> {
        let registry = reference.registry();
        let failed = |why| Error { registry: registry.to_owned(), asked: format!("`{}`", reference.path()), why };
        let host = if registry == DOCKER_HUB.0 { DOCKER_HUB.1 } else { registry };
        let address =
            |scheme: &str| Url::parse(&format!("{scheme}://{host}/")).map_err(|_| failed(Why::Malformed("it is no host".to_owned())));
        let secure = address("https")?;
        let named = client.access.plain_hosts.iter().any(|host| host == registry);
        let root = if named || (client.access.plain_loopback && is_loopback(&secure)) { address("http")? } else { secure };
        if client.access.plain_loopback && root.scheme() == "https" {
            let what =
                "plain HTTP is asked for, which is for registries on this machine; leave it out, or name this one as one without TLS";
            return Err(failed(Why::Plain(what.to_owned())));
        }
        let deadline = Instant::now() + client.access.limits.all;
        Ok(Self { client, reference, root, action, deadline, authorization: RefCell::new(None), looked: RefCell::new(None) })
    }

    pub(crate) const fn reference(&self) -> &Reference {
        self.reference
    }

    pub(crate) fn error(&self, asked: &str, why: impl Into<Why>) -> Error {
        Error { registry: self.reference.registry().to_owned(), asked: asked.to_owned(), why: why.into() }
    }

    /// An address below the repository: `manifests/...`, `blobs/...`. What stands in it was checked to need no encoding.
    pub(crate) fn url(&self, rest: &str) -> Url {
        let mut url = self.root.clone();
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("/v2/{}/{path}", self.reference.path()));
        url.set_query(query);
        url
    }

    /// What an answer's `Location` or `Link` leads to from there; TLS never ends on the way.
    pub(crate) fn led(&self, from: &Url, to: &str) -> Result<Url, Why> {
        // Without what an object store signed: who has it may read for a while.
        let shown = || to.chars().take_while(|c| *c != '?').take(200).collect::<String>().escape_debug().to_string();
        let url = from.join(to).map_err(|_| Why::Redirect(format!("it leads to `{}`, which is no address", shown())))?;
        match url.scheme() {
            "https" => Ok(url),
            "http" if from.scheme() == "http" && (is_loopback(&url) || self.is_own(&url)) => Ok(url),
            _ => {
                Err(Why::Redirect(format!("it leads to `{}`, which is without TLS; the registry has to name an address with it", shown())))
            }
        }
    }

    /// Whether an address is the registry's, so that it may know who we are.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.root.origin()
    }

    /// The answer, when its status is one of these.
    pub(crate) fn expect(&self, request: &Request<'_>, statuses: &[u16]) -> Result<Response<Body>, Error> {
        let answer = self.send(request)?;
        let status = answer.status().as_u16();
        if statuses.contains(&status) {
            return Ok(answer);
        }
        let why = match status {
            401 => self.unknown(),
            404 => Why::NotFound,
            300..=399 => Why::Redirect(format!("it answered {status} with another address, where none is followed")),
            _ => Why::answer(status, &body::read(answer, MOST_SAID, &self.client.access.limits, |_| {}).unwrap_or_default()),
        };
        Err(self.error(request.asked, why))
    }

    /// The body of an answer.
    pub(crate) fn read(&self, answer: Response<Body>, asked: &str, most: u64, seen: impl FnMut(u64)) -> Result<Vec<u8>, Error> {
        body::read(answer, most, &self.client.access.limits, seen).map_err(|why| self.error(asked, why))
    }

    /// The answer, whatever its status, after as many repetitions as it takes: with who we are when it asks, and again
    /// when its failure may pass.
    pub(crate) fn send(&self, request: &Request<'_>) -> Result<Response<Body>, Error> {
        let (mut introduced, mut repeated) = (false, 0);
        loop {
            let outcome = self.follow(request);
            let passing = match &outcome {
                Ok(Reached { answer, own: false }) if answer.status() == 401 => {
                    let what = "it leads to another host, which wants to know who asks: that is for the registry alone";
                    return Err(self.error(request.asked, Why::Redirect(what.to_owned())));
                }
                Ok(Reached { answer, .. }) if answer.status() == 401 && !introduced => {
                    introduced = true;
                    self.introduce(answer).map_err(|why| self.error(request.asked, why))?;
                    continue;
                }
                Ok(Reached { answer, .. }) => matches!(answer.status().as_u16(), 429 | 500 | 502 | 503 | 504),
                Err(why) => why.is_passing(),
            };
            let pause = self.client.access.limits.pause.saturating_mul(1 << repeated);
            let pause = outcome.as_ref().ok().and_then(|reached| wanted_pause(&reached.answer)).unwrap_or(pause);
            if !passing || repeated == REPETITIONS || pause > self.left().unwrap_or_default() {
                return outcome.map(|reached| reached.answer).map_err(|why| self.error(request.asked, why));
            }
            repeated += 1;
            thread::sleep(pause);
        }
    }

    fn left(&self) -> Option<Duration> {
        Some(self.deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Where redirects lead, for what only reads. Who we are goes nowhere but to the registry.
    fn follow(&self, request: &Request<'_>) -> Result<Reached, Why> {
        let mut url = request.url.clone();
        let mut own = true;
        for _ in 0..=MOST_REDIRECTS {
            own = own && self.is_own(&url);
            let answer = self.exchange(request, &url, own)?;
            let reads = matches!(request.method, Method::GET | Method::HEAD);
            if !reads || !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(Reached { answer, own });
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            url = self.led(&url, to.ok_or_else(|| Why::Redirect("it leads elsewhere, and does not say where".to_owned()))?)?;
        }
        Err(Why::Redirect(format!("it leads on more than {MOST_REDIRECTS} times")))
    }

    fn exchange(&self, request: &Request<'_>, url: &Url, own: bool) -> Result<Response<Body>, Why> {
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

    /// One exchange, with nothing around it but the time that is left.
    pub(crate) fn run(
        &self,
        draft: Result<ureq::http::Request<impl AsSendBody>, ureq::http::Error>,
        url: &Url,
    ) -> Result<Response<Body>, Why> {
        let limits = &self.client.access.limits;
        let left = self.left().ok_or(Why::Late(limits.all))?;
        let draft = draft.map_err(|error| Why::Malformed(format!("it leads to what is no address ({error})")))?;
        let (agent, through) = self.client.agent(url);
        let draft = agent.configure_request(draft).timeout_global(Some(left)).build();
        agent.run(draft).map_err(|error| Why::transport(error, through, limits))
    }

    /// Gets what the registry asks for.
    fn introduce(&self, answer: &Response<Body>) -> Result<(), Why> {
        let challenge = challenge::read(answer.headers()).map_err(|asks| {
            let asks = if asks.is_empty() { "does not say how".to_owned() } else { format!("asks for `{}`", asks.escape_debug()) };
            Why::Unauthorized(format!("it wants to know who asks, and {asks}: tokens, and names with passwords, are known here"))
        })?;
        let looked = credential::find(&self.client.access, self.reference.registry()).map_err(Why::Credential)?;
        let header = match (challenge, &looked.credential) {
            (Challenge::Bearer { realm, service }, credential) => {
                let actions = if self.action == Action::Pull { "pull" } else { "pull,push" };
                let scope = format!("repository:{}:{actions}", self.reference.path());
                let wanted = token::Wanted { realm: &realm, service: service.as_deref(), scope: &scope };
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

    /// What a 401 means after all that was tried.
    fn unknown(&self) -> Why {
        let registry = self.reference.registry();
        let login = format!("`docker login {registry}`");
        Why::Unauthorized(match self.looked.borrow().as_ref() {
            Some(Looked { credential: Some(Credential::Password { user, .. }), words }) => {
                format!("it refuses {words} (user `{}`): log in again with {login}, or ask its owner", user.escape_debug())
            }
            Some(Looked { credential: Some(Credential::Identity(_)), words }) => {
                format!("it refuses {words}: log in again with {login}, or ask its owner")
            }
            Some(Looked { credential: None, words }) => format!("it wants to know who asks, and {words}: log in with {login}"),
            None => format!("it wants to know who asks: log in with {login}"),
        })
    }

    /// The registry's limits.
    pub(crate) const fn limits(&self) -> &crate::access::Limits {
        &self.client.access.limits
    }
}

/// The header for a name and a password.
pub(crate) fn basic(user: &str, password: &SecretString) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{}", password.expose_secret()).as_bytes()))
}

/// How long the registry wants to be left alone, within reason.
fn wanted_pause(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}
