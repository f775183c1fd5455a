//! Exchanges with a provider: its addresses and keys, and a code for its token. They block.

use crate::oidc::{ExpectedToken, OidcConfig, ProviderKeys, VerifiedClaims, check_address};
use crate::people::ProvidedPerson;
use anyhow::{Context, Result, bail, ensure};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use portcullis_core::text::one_line;
use portcullis_network::{client_settings, create_client};
use portcullis_served::frame::encode_value;
use portcullis_served::secrets::derive_token;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// The contexts of what is derived from a sign-in's secret.
const STATE: &str = "portcullis hub: the state of a sign-in";
const NONCE: &str = "portcullis hub: the nonce of a sign-in";
const VERIFIER: &str = "portcullis hub: the verifier of a sign-in";
/// The path to which the provider sends the browser back.
pub const CALLBACK: &str = "/oidc/callback";
/// The time for one exchange with the provider.
const EXCHANGE: Duration = Duration::from_secs(10);
/// The time for which the provider's addresses and keys are kept.
const KEPT: Duration = Duration::from_secs(300);
/// The most bytes of an answer of the provider.
const MOST_ANSWER: u64 = 256 << 10;

/// A provider, and what is needed to talk to it.
pub struct Provider {
    config: OidcConfig,
    secret: String,
    agent: Agent,
    known: Mutex<Option<Known>>,
}

/// The provider's addresses and keys, as it has published them.
#[derive(Clone)]
struct Known {
    addresses: Addresses,
    keys: ProviderKeys,
    since: Instant,
}

#[derive(Clone, Deserialize)]
struct Addresses {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
    access_token: Option<String>,
}

/// The query with which the provider sends the browser back.
#[derive(Deserialize)]
pub struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

impl Provider {
    /// Prepares the provider of a configuration; nothing is asked yet.
    pub fn of_config(config: OidcConfig, folder: &Path) -> Result<Self> {
        config.check()?;
        let secret = config.client_secret.read(folder, "oidc.client_secret")?;
        let roots = config.authority.as_deref().map(read_roots).transpose()?;
        let tls = TlsConfig::builder();
        let tls = match roots {
            Some(roots) => tls.root_certs(roots),
            None => tls,
        };
        let settings = client_settings().timeout_global(Some(EXCHANGE)).tls_config(tls.build());
        Ok(Self { config, secret, agent: create_client(settings), known: Mutex::default() })
    }

    /// Returns the address to which a browser goes that signs in with this secret.
    pub fn begin(&self, secret: &str, callback: &str) -> Result<String> {
        let known = self.ask_known(false)?;
        let challenge = Sha256::digest(derive_token(VERIFIER, secret).as_bytes());
        let values = [
            ("response_type", "code"),
            ("client_id", &self.config.client_id),
            ("redirect_uri", callback),
            ("scope", &self.config.scopes.join(" ")),
            ("state", &derive_token(STATE, secret)),
            ("nonce", &derive_token(NONCE, secret)),
            ("code_challenge", &BASE64URL_NOPAD.encode(&challenge)),
            ("code_challenge_method", "S256"),
        ];
        let endpoint = &known.addresses.authorization_endpoint;
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{joint}{}", encode_form(&values)))
    }

    /// Exchanges the code of an answer for the person whom it signs in.
    ///
    /// Fails with the reason, which is for the hub's own people.
    pub fn finish(
        &self,
        secret: &str,
        query: &CallbackQuery,
        callback: &str,
    ) -> Result<ProvidedPerson> {
        let claims = self.exchange(secret, query, callback)?;
        let role = self.config.role_of(&claims).with_context(|| {
            format!("no role is configured for `{}`", one_line(&claims.person, 128))
        })?;
        Ok(ProvidedPerson { name: claims.person, issuer: self.config.issuer.clone(), role })
    }

    fn exchange(
        &self,
        secret: &str,
        query: &CallbackQuery,
        callback: &str,
    ) -> Result<VerifiedClaims> {
        ensure!(
            query.state.as_deref() == Some(derive_token(STATE, secret).as_str()),
            "the answer is to another sign-in"
        );
        if let Some(issuer) = &query.iss {
            ensure!(*issuer == self.config.issuer, "the answer is of another issuer");
        }
        if let Some(error) = &query.error {
            bail!("the provider refuses: {}", one_line(error, 100));
        }
        let code = query.code.as_deref().context("the answer has no code")?;
        let known = self.ask_known(false)?;
        let form = encode_form(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
            ("code_verifier", &derive_token(VERIFIER, secret)),
        ]);
        let own =
            format!("{}:{}", encode_value(&self.config.client_id), encode_value(&self.secret));
        let request = self
            .agent
            .post(&known.addresses.token_endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .header("authorization", &format!("Basic {}", BASE64.encode(own.as_bytes())));
        let answer: TokenAnswer = read_answer(request.send(form.as_bytes()))
            .context("the provider does not exchange the code")?;
        let nonce = derive_token(NONCE, secret);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let expected = ExpectedToken { nonce: &nonce, now };
        let verify =
            |known: &Known| self.config.verify_token(&answer.id_token, &known.keys, expected);
        let mut claims = match verify(&known) {
            Ok(claims) => claims,
            // The provider may have changed its keys since.
            Err(_) => verify(&self.ask_known(true)?)?,
        };
        if self.config.needs_user_info(&claims)
            && let (Some(place), Some(token)) =
                (&known.addresses.userinfo_endpoint, &answer.access_token)
        {
            check_address(place).context("an address of the provider")?;
            let request = self.agent.get(place).header("authorization", format!("Bearer {token}"));
            let answer =
                read_answer(request.call()).context("the provider says nothing of the user")?;
            claims.add_user_info(answer)?;
        }
        self.config.read_person(&claims)
    }

    /// Returns the provider's addresses and keys: those that are kept, or new ones.
    fn ask_known(&self, again: bool) -> Result<Known> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().clone().filter(|known| !again && known.since.elapsed() < KEPT);
        if let Some(known) = kept {
            return Ok(known);
        }
        let issuer = &self.config.issuer;
        let place = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let addresses: Addresses = read_answer(self.agent.get(&place).call())
            .with_context(|| format!("the provider at `{issuer}` does not answer"))?;
        ensure!(addresses.issuer == *issuer, "the provider names another issuer than `{issuer}`");
        for address in
            [&addresses.authorization_endpoint, &addresses.token_endpoint, &addresses.jwks_uri]
        {
            check_address(address).context("an address of the provider")?;
        }
        let keys = read_answer(self.agent.get(&addresses.jwks_uri).call())
            .context("the provider does not give its keys")?;
        let known = Known { addresses, keys, since: Instant::now() };
        *lock() = Some(known.clone());
        Ok(known)
    }
}

fn read_roots(path: &Path) -> Result<RootCerts> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{shown}`"))?;
    let certificates = parse_pem(&bytes).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<Certificate<'static>> = certificates.collect();
    ensure!(!certificates.is_empty(), "`{shown}` holds no certificate in PEM");
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

fn read_answer<T: DeserializeOwned>(
    answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<T> {
    let mut answer = answer?;
    let status = answer.status();
    let bytes = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_vec()?;
    ensure!(status == 200, "its answer has the status {}", status.as_u16());
    serde_json::from_slice(&bytes).context("its answer is not understood")
}

fn encode_form(values: &[(&str, &str)]) -> String {
    let parts = values.iter().map(|(name, value)| format!("{name}={}", encode_value(value)));
    parts.collect::<Vec<_>>().join("&")
}
