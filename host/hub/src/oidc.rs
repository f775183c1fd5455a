//! Sign-in by a provider of OpenID Connect: whom the configuration admits, and what a provider's
//! token has to say. Pure: nothing here talks to anybody.
//!
//! The signature is checked with `ring`, which the hub has for TLS already. A key counts only for its
//! own kind of signature, whatever a token's header says; there is no key for a shared secret, and
//! none for no signature.

use crate::hub_secret::HubSecret;
use anyhow::{Context, Result, bail, ensure};
use data_encoding::BASE64URL_NOPAD;
use portcullis_core::known_failure::HintedFailure;
use portcullis_network::find_own_address;
use portcullis_served::Role;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// The seconds by which the provider's clock may differ.
const SKEW: u64 = 60;
/// The longest time for which a token counts after it was issued, in seconds: this is the answer to
/// a sign-in that has just begun.
const LONGEST_AGE: u64 = 600;
/// The most bytes of a token.
const MOST_TOKEN: usize = 64 << 10;
/// The most characters of a name or a group.
const MOST_NAME: usize = 128;

/// A provider, as `hub.toml` names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// The provider's issuer: the address below which its configuration is.
    pub issuer: String,
    /// The name by which the provider knows this hub.
    pub client_id: String,
    /// The secret that the provider gave this hub.
    pub client_secret: HubSecret,
    /// The certificates of the authorities that may vouch for the provider, in PEM; without it,
    /// those that browsers trust.
    pub authority: Option<PathBuf>,
    /// The scopes that are asked for.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// The claim that names a person.
    #[serde(default = "default_person")]
    pub person_claim: String,
    /// The claim that lists a person's groups.
    #[serde(default = "default_groups")]
    pub groups_claim: String,
    /// The people who may see.
    #[serde(default)]
    pub viewer: RoleRule,
    /// The people who may answer.
    #[serde(default)]
    pub approver: RoleRule,
    /// The people who may change.
    #[serde(default)]
    pub operator: RoleRule,
}

/// The people to whom the configuration gives a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRule {
    /// People, by the value of the claim that names them.
    #[serde(default)]
    pub people: Vec<String>,
    /// Groups.
    #[serde(default)]
    pub groups: Vec<String>,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email"].map(str::to_owned).to_vec()
}

fn default_person() -> String {
    "email".into()
}

fn default_groups() -> String {
    "groups".into()
}

/// The claims of a token that fits the sign-in.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenClaims {
    subject: String,
    others: serde_json::Map<String, Value>,
}

/// A person as the provider names them, by the claims that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedClaims {
    /// The person.
    pub person: String,
    /// The person's groups.
    pub groups: Vec<String>,
}

/// The values of this sign-in that a token has to name.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedToken<'a> {
    /// The value that the browser's sign-in began with.
    pub nonce: &'a str,
    /// The time, in seconds since 1970.
    pub now: u64,
}

/// The keys of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ProviderKeys {
    keys: Vec<ProviderKey>,
}

/// A key, as a provider publishes it. Keys of other kinds are left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: String,
    n: String,
    e: String,
    x: String,
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: u64,
    iat: u64,
    nonce: Option<String>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl OidcConfig {
    /// Checks what can be checked without the provider.
    pub fn check(&self) -> Result<()> {
        check_address(&self.issuer).context("`issuer` of `[oidc]`")?;
        ensure!(!self.client_id.is_empty(), "`client_id` of `[oidc]` is empty");
        ensure!(
            self.scopes.iter().any(|scope| scope == "openid"),
            "`scopes` of `[oidc]` has to hold `openid`"
        );
        let rules = [&self.viewer, &self.approver, &self.operator];
        if rules.iter().all(|rule| rule.people.is_empty() && rule.groups.is_empty()) {
            bail!(HintedFailure::new(
                "`[oidc]` admits nobody",
                "name people or groups in `[oidc.viewer]`, `[oidc.approver]` or `[oidc.operator]`",
            ));
        }
        Ok(())
    }

    /// Returns the greatest role that the configuration gives to a person; `None` if it gives none.
    pub fn role_of(&self, claims: &VerifiedClaims) -> Option<Role> {
        let rules = [
            (Role::Operator, &self.operator),
            (Role::Approver, &self.approver),
            (Role::Viewer, &self.viewer),
        ];
        let admits = |rule: &RoleRule| {
            rule.people.contains(&claims.person)
                || rule.groups.iter().any(|group| claims.groups.contains(group))
        };
        rules.into_iter().find(|(_, rule)| admits(rule)).map(|(role, _)| role)
    }

    /// Checks a token of the provider: its signature, and that it is for this hub and this sign-in.
    ///
    /// Fails with the reason, which is for the hub's own people.
    pub fn verify_token(
        &self,
        token: &str,
        keys: &ProviderKeys,
        expected: ExpectedToken<'_>,
    ) -> Result<TokenClaims> {
        let claims = read_signed(token, keys)?;
        ensure!(claims.iss == self.issuer, "the token is of another issuer");
        let (is_ours, others) = match &claims.aud {
            Audience::One(one) => (*one == self.client_id, false),
            Audience::Many(many) => (many.contains(&self.client_id), many.len() > 1),
        };
        ensure!(is_ours, "the token is for another client");
        let is_party = claims.azp.as_ref().is_none_or(|party| *party == self.client_id);
        ensure!(
            is_party && (!others || claims.azp.is_some()),
            "the token was given to another client"
        );
        ensure!(claims.nonce.as_deref() == Some(expected.nonce), "the token is of another sign-in");
        let now = expected.now;
        ensure!(claims.exp.saturating_add(SKEW) > now, "the token has expired");
        ensure!(claims.iat <= now.saturating_add(SKEW), "the token is of the future");
        ensure!(claims.iat.saturating_add(LONGEST_AGE) > now, "the token was issued too long ago");
        Ok(TokenClaims { subject: claims.sub, others: claims.others })
    }

    /// Returns true if the token lacks a claim that the configuration names: a provider may keep it
    /// for its other answer, about the user.
    pub fn needs_user_info(&self, claims: &TokenClaims) -> bool {
        let has = |claim: &str| claim == "sub" || claims.others.contains_key(claim);
        !has(&self.person_claim) || !has(&self.groups_claim)
    }

    /// Returns the person.
    ///
    /// Fails if the claim that names them is missing, or is one that they can choose.
    pub fn read_person(&self, claims: &TokenClaims) -> Result<VerifiedClaims> {
        let claim = &self.person_claim;
        let person = match claim.as_str() {
            "sub" => claims.subject.clone(),
            other => claims
                .others
                .get(other)
                .and_then(Value::as_str)
                .with_context(|| format!("the token has no claim `{claim}`"))?
                .to_owned(),
        };
        // Whoever may write any address into their profile would be anybody.
        let verified = claims.others.get("email_verified");
        ensure!(
            claim != "email" || verified == Some(&Value::Bool(true)),
            "the provider has not verified the address of mail"
        );
        let fits = |text: &str| {
            (1..=MOST_NAME).contains(&text.len())
                && !text.contains(portcullis_core::text::is_hostile)
        };
        ensure!(fits(&person), "the claim `{claim}` is not a name");
        let groups = claims.others.get(&self.groups_claim).and_then(Value::as_array);
        let groups = groups.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Ok(VerifiedClaims { person, groups: groups.collect() })
    }
}

impl TokenClaims {
    /// Adds what the provider says of the user. The token's own claims take precedence.
    ///
    /// Fails if it is about somebody else than the token.
    pub fn add_user_info(&mut self, answer: serde_json::Map<String, Value>) -> Result<()> {
        ensure!(
            answer.get("sub").and_then(Value::as_str) == Some(self.subject.as_str()),
            "the provider's answer is about another user than its token"
        );
        for (claim, value) in answer {
            self.others.entry(claim).or_insert(value);
        }
        Ok(())
    }
}

/// Checks an address of a provider: `https`, or a name of this machine, which nobody answers in
/// between.
pub fn check_address(address: &str) -> Result<()> {
    let (rest, is_plain) = match (address.strip_prefix("https://"), address.strip_prefix("http://"))
    {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => bail!("`{address}` does not begin with `https://`"),
    };
    let host = rest.split('/').next().unwrap_or_default();
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
    ensure!(
        !host.is_empty() && host.chars().all(allowed) && !rest.contains(['?', '#', '\\', ' ']),
        "`{address}` is not of the form `https://HOST[:PORT][/PATH]`"
    );
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ensure!(
        !is_plain || find_own_address(name).is_some(),
        "`{address}` would be reached without TLS"
    );
    Ok(())
}

/// Returns the claims of a token whose signature is that of one of the keys.
fn read_signed(token: &str, keys: &ProviderKeys) -> Result<Claims> {
    ensure!(token.len() <= MOST_TOKEN, "the token is too large");
    let (signed, signature) = token.rsplit_once('.').context("the token is not signed")?;
    let (header, payload) = signed.split_once('.').context("the token has not three parts")?;
    let header: Header = parse_part(header).context("the token's header is not understood")?;
    ensure!(header.crit.is_none(), "the token asks for what this hub does not know");
    let signature = BASE64URL_NOPAD
        .decode(signature.as_bytes())
        .map_err(|_| anyhow::anyhow!("the token's signature is not understood"))?;
    let fits = |key: &&ProviderKey| key.fits(&header);
    let is_signed = keys
        .keys
        .iter()
        .filter(fits)
        .any(|key| key.has_signed(signed.as_bytes(), &signature).unwrap_or(false));
    ensure!(is_signed, "no key of the provider has signed the token");
    parse_part(payload).context("the token's claims are not understood")
}

fn parse_part<T: serde::de::DeserializeOwned>(part: &str) -> Result<T> {
    let bytes = BASE64URL_NOPAD.decode(part.as_bytes())?;
    Ok(serde_json::from_slice(&bytes)?)
}

impl ProviderKey {
    /// Returns the only algorithm of this kind of key.
    fn algorithm(&self) -> Option<&'static str> {
        match (self.kty.as_str(), self.crv.as_str()) {
            ("RSA", _) => Some("RS256"),
            ("EC", "P-256") => Some("ES256"),
            ("OKP", "Ed25519") => Some("EdDSA"),
            _ => None,
        }
    }

    fn fits(&self, header: &Header) -> bool {
        let own = self.algorithm();
        own == Some(header.alg.as_str())
            && self.alg.as_deref().is_none_or(|alg| Some(alg) == own)
            && self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && (header.kid.is_none() || header.kid == self.kid)
    }

    fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> Option<bool> {
        let part = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).ok();
        let verified = match self.algorithm()? {
            "RS256" => RsaPublicKeyComponents { n: part(&self.n)?, e: part(&self.e)? }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                bytes,
                signature,
            ),
            "ES256" => {
                let (x, y) = (part(&self.x)?, part(&self.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                let point = [&[4][..], &x, &y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(bytes, signature)
            }
            _ => UnparsedPublicKey::new(&ED25519, part(&self.x)?).verify(bytes, signature),
        };
        Some(verified.is_ok())
    }
}

#[cfg(test)]
mod tests;
