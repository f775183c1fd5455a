//! Passkeys: a key on a person's device, which checks its user and signs what it is asked about.
//!
//! A challenge is made for one answer to one action. What a device signed for another answer does
//! not count, and each challenge counts once, within five minutes.

use anyhow::{Result, anyhow, bail};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::time::{Duration, Instant};
use webauthn_rp::bin::{Decode, Encode};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::USER_HANDLE_MAX_LEN;
use webauthn_rp::request::register::{
    CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle64,
    Username,
};
use webauthn_rp::request::{AsciiDomain, RpId};
use webauthn_rp::response::SentChallenge;
use webauthn_rp::response::auth::ser_relaxed::DiscoverableAuthenticationRelaxed64;
use webauthn_rp::response::register::ser_relaxed::RegistrationRelaxed;
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions,
    RegistrationServerState,
};

/// The time after which a challenge counts no more.
const LIFE: Duration = Duration::from_secs(300);
/// The most challenges that wait; the oldest give way.
const MOST: usize = 64;

/// The public part of a passkey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// Its id, in base64url, as are the others.
    pub id: String,
    /// The handle of its person, which the device returns.
    pub user: String,
    /// Its public key.
    pub key: String,
    /// The state that its use may change.
    pub state: String,
}

/// Challenges that wait for a device.
#[derive(Debug, Default)]
pub(crate) struct Challenges {
    enrollments: Vec<(Instant, RegistrationServerState<USER_HANDLE_MAX_LEN>, String)>,
    proofs: Vec<(Instant, DiscoverableAuthenticationServerState, String)>,
}

type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

impl Challenges {
    /// Makes the options with which a browser creates a passkey for a person, as JSON.
    pub(crate) fn begin_enrollment(&mut self, domain: &str, name: &str) -> Result<String> {
        let (relying, user) = (relying_party(domain)?, UserHandle64::new());
        let shown = Username::try_from(name).map_err(|_| anyhow!("this name cannot be used"))?;
        let entity = PublicKeyCredentialUserEntity { name: shown, id: &user, display_name: None };
        let mut options = PublicKeyCredentialCreationOptions::passkey(&relying, entity, Vec::new());
        // Most devices that are built in do not know it, and refuse a request that insists on it.
        options.extensions.cred_protect = CredProtect::None;
        let (server, client) =
            options.start_ceremony().map_err(|error| anyhow!("no passkey can be made: {error}"))?;
        let options = serde_json::to_string(&client)?;
        keep(&mut self.enrollments, server, name.to_owned());
        Ok(options)
    }

    /// Takes what the browser created; returns the person's name and the passkey.
    pub(crate) fn finish_enrollment(
        &mut self,
        domain: &str,
        origin: &str,
        created: &str,
    ) -> Result<(String, Passkey)> {
        let RegistrationRelaxed(registration) = serde_json::from_str(created)
            .map_err(|error| anyhow!("this is not a passkey: {error}"))?;
        let challenge = registration.challenge_relaxed();
        let challenge = challenge.map_err(|error| anyhow!("this is not a passkey: {error}"))?;
        let asked = |state: &RegistrationServerState<USER_HANDLE_MAX_LEN>| {
            *Borrow::<SentChallenge>::borrow(state) == challenge
        };
        let Some((state, name)) = take(&mut self.enrollments, asked) else {
            bail!("nobody asked for this passkey, or more than five minutes ago");
        };
        let options = RegistrationVerificationOptions::<&str, &str> {
            allowed_origins: &[origin],
            ..Default::default()
        };
        let made = state.verify(&relying_party(domain)?, &registration, &options);
        let made = made.map_err(|error| anyhow!("this passkey does not count: {error}"))?;
        let encoded = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let key = made.static_state().encode();
        let state = made.dynamic_state().encode();
        let passkey = Passkey {
            id: encoded(made.id().as_ref()),
            user: encoded(made.user_id().as_ref()),
            key: encoded(&key.map_err(|error| anyhow!("this key cannot be kept: {error}"))?),
            state: encoded(&state.map_err(|error| anyhow!("this key cannot be kept: {error}"))?),
        };
        Ok((name, passkey))
    }

    /// Makes the options with which a browser lets a device sign for one purpose, as JSON.
    pub(crate) fn begin_proof(&mut self, domain: &str, purpose: String) -> Result<String> {
        let relying = relying_party(domain)?;
        let options = DiscoverableCredentialRequestOptions::passkey(&relying);
        let (server, client) = options
            .start_ceremony()
            .map_err(|error| anyhow!("no passkey can be asked: {error}"))?;
        let options = serde_json::to_string(&client)?;
        keep(&mut self.proofs, server, purpose);
        Ok(options)
    }

    /// Returns the passkey that signed for a purpose, with its new state; `None` if none did.
    pub(crate) fn check_proof<'a>(
        &mut self,
        domain: &str,
        origin: &str,
        purpose: &str,
        signed: &str,
        passkeys: impl Iterator<Item = &'a Passkey>,
    ) -> Result<Option<Passkey>> {
        let Ok(signed) = serde_json::from_str::<DiscoverableAuthenticationRelaxed64>(signed) else {
            return Ok(None);
        };
        let response = signed.0;
        let Ok(challenge) = response.challenge_relaxed() else { return Ok(None) };
        let asked = |state: &DiscoverableAuthenticationServerState| {
            *Borrow::<SentChallenge>::borrow(state) == challenge
        };
        // Whatever it was for: a challenge counts once.
        let Some((state, made_for)) = take(&mut self.proofs, asked) else { return Ok(None) };
        if made_for != purpose {
            return Ok(None);
        }
        let id = BASE64URL_NOPAD.encode(response.raw_id().as_ref());
        let user = BASE64URL_NOPAD.encode(response.response().user_handle().as_ref());
        let mut known = passkeys;
        let Some(passkey) = known.find(|known| known.id == id && known.user == user) else {
            return Ok(None);
        };
        let damaged = |what: &str| anyhow!("the {what} of a passkey is damaged: set it up again");
        let key = BASE64URL_NOPAD.decode(passkey.key.as_bytes());
        let key = key.ok().and_then(|bytes| StaticState::<PublicKey>::decode(&bytes).ok());
        let before = BASE64URL_NOPAD.decode(passkey.state.as_bytes());
        let before = before.ok().and_then(|bytes| <[u8; 7]>::try_from(bytes).ok());
        let before = before.and_then(|bytes| DynamicState::decode(bytes).ok());
        let mut credential = AuthenticatedCredential::new(
            response.raw_id(),
            response.response().user_handle(),
            key.ok_or_else(|| damaged("key"))?,
            before.ok_or_else(|| damaged("state"))?,
        )
        .map_err(|error| anyhow!("a passkey cannot be used: {error}"))?;
        let options = AuthenticationVerificationOptions::<&str, &str> {
            allowed_origins: &[origin],
            ..Default::default()
        };
        let verified = state.verify(&relying_party(domain)?, &response, &mut credential, &options);
        if verified.is_err() {
            return Ok(None);
        }
        let state = credential.dynamic_state().encode();
        let state = state.map_err(|error| anyhow!("a passkey cannot be kept: {error}"))?;
        Ok(Some(Passkey { state: BASE64URL_NOPAD.encode(&state), ..passkey.clone() }))
    }
}

fn relying_party(domain: &str) -> Result<RpId> {
    let domain = AsciiDomain::try_from(domain.to_owned());
    Ok(RpId::Domain(domain.map_err(|error| anyhow!("the page has no usual name: {error}"))?))
}

fn keep<S>(waiting: &mut Vec<(Instant, S, String)>, state: S, text: String) {
    waiting.retain(|(at, ..)| at.elapsed() < LIFE);
    if waiting.len() >= MOST {
        waiting.remove(0);
    }
    waiting.push((Instant::now(), state, text));
}

fn take<S>(
    waiting: &mut Vec<(Instant, S, String)>,
    is_it: impl Fn(&S) -> bool,
) -> Option<(S, String)> {
    waiting.retain(|(at, ..)| at.elapsed() < LIFE);
    let at = waiting.iter().position(|(_, state, _)| is_it(state))?;
    let (_, state, text) = waiting.remove(at);
    Some((state, text))
}
