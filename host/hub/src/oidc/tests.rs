//! Tokens that anybody may bring, signed with keys of these tests.

use super::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

const NOW: u64 = 1_790_000_000;

fn config() -> OidcConfig {
    toml::from_str(
        "issuer = \"https://login.example\"\nclient_id = \"hub\"\nclient_secret = \"file:/s\"\n\
         [viewer]\ngroups = [\"staff\"]\n[operator]\npeople = [\"ann@example.org\"]\n\
         groups = [\"security\"]",
    )
    .unwrap()
}

fn claims() -> Value {
    json!({
        "iss": "https://login.example", "sub": "1", "aud": "hub", "exp": NOW + 300, "iat": NOW,
        "nonce": "n", "email": "ann@example.org", "email_verified": true, "groups": ["staff", 7],
    })
}

struct Signer(EcdsaKeyPair, SystemRandom);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap(), random)
    }

    fn keys(&self, members: Value) -> ProviderKeys {
        let point = self.0.public_key().as_ref();
        let mut key = json!({
            "kty": "EC", "crv": "P-256", "kid": "k", "use": "sig",
            "x": BASE64URL_NOPAD.encode(&point[1..33]), "y": BASE64URL_NOPAD.encode(&point[33..]),
        });
        key.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }, key] })).unwrap()
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.0.sign(&self.1, signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}

/// Rows: what is changed of an honest token's claims, and the words of the refusal; empty if it
/// counts.
#[test]
fn a_token_is_for_this_hub_and_this_sign_in() {
    type Change = fn(&mut Value);
    let rows: &[(&str, Change, &str)] = &[
        ("nothing", |_| {}, ""),
        ("another issuer", |it| it["iss"] = json!("https://login.example/"), "another issuer"),
        ("another client", |it| it["aud"] = json!("other"), "for another client"),
        ("no client", |it| it["aud"] = json!([]), "for another client"),
        ("several clients", |it| it["aud"] = json!(["hub", "x"]), "given to another client"),
        (
            "several clients, given to this one",
            |it| {
                it["aud"] = json!(["hub", "x"]);
                it["azp"] = json!("hub");
            },
            "",
        ),
        ("given to another one", |it| it["azp"] = json!("x"), "given to another client"),
        ("another nonce", |it| it["nonce"] = json!("m"), "another sign-in"),
        ("no nonce", |it| drop(it.as_object_mut().unwrap().remove("nonce")), "another sign-in"),
        ("expired", |it| it["exp"] = json!(NOW - 61), "expired"),
        ("nearly expired", |it| it["exp"] = json!(NOW - 59), ""),
        ("of the future", |it| it["iat"] = json!(NOW + 61), "of the future"),
        ("old", |it| it["iat"] = json!(NOW - 601), "too long ago"),
        ("no end", |it| drop(it.as_object_mut().unwrap().remove("exp")), "not understood"),
        ("an unverified address", |it| it["email_verified"] = json!(false), "not verified"),
        ("a word for verified", |it| it["email_verified"] = json!("true"), "not verified"),
        ("no address", |it| drop(it.as_object_mut().unwrap().remove("email")), "no claim `email`"),
        ("a hostile name", |it| it["email"] = json!("a\u{202e}b"), "not a name"),
        ("an empty name", |it| it["email"] = json!(""), "not a name"),
    ];
    let signer = Signer::new();
    let keys = signer.keys(json!({}));
    for (name, change, refused) in rows {
        let mut claims = claims();
        change(&mut claims);
        let token = signer.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims);
        let expected = ExpectedToken { nonce: "n", now: NOW };
        let found = config().verify_token(&token, &keys, expected);
        match found.and_then(|claims| config().read_person(&claims)) {
            Ok(found) => {
                assert!(refused.is_empty(), "{name}");
                assert_eq!(found.groups, ["staff"]);
            }
            Err(error) => {
                let said = format!("{error:#}");
                assert!(!refused.is_empty() && said.contains(refused), "{name}: {said}");
            }
        }
    }
}

#[test]
fn what_is_said_of_the_user_is_about_the_tokens_user() {
    let signer = Signer::new();
    let mut honest = claims();
    for claim in ["email", "email_verified", "groups"] {
        honest.as_object_mut().unwrap().remove(claim);
    }
    let token = signer.sign(&json!({ "alg": "ES256", "kid": "k" }), &honest);
    let expected = ExpectedToken { nonce: "n", now: NOW };
    let found = config().verify_token(&token, &signer.keys(json!({})), expected).unwrap();
    assert!(config().needs_user_info(&found) && config().read_person(&found).is_err());
    for (subject, counts) in [("1", true), ("2", false)] {
        let answer = json!({
            "sub": subject, "email": "ann@example.org", "email_verified": true, "groups": ["staff"],
        });
        let mut claims = found.clone();
        assert_eq!(claims.add_user_info(answer.as_object().unwrap().clone()).is_ok(), counts);
        assert_eq!(config().read_person(&claims).is_ok(), counts);
    }
    // The claims of the token itself cannot be replaced.
    let token = signer.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    let mut found = config().verify_token(&token, &signer.keys(json!({})), expected).unwrap();
    let answer = json!({ "sub": "1", "email": "eve@example.org" });
    found.add_user_info(answer.as_object().unwrap().clone()).unwrap();
    assert_eq!(config().read_person(&found).unwrap().person, "ann@example.org");
}

/// Rows: a header, what is changed of the key, and whether the token counts.
#[test]
fn a_key_counts_for_its_own_kind_of_signature() {
    let signer = Signer::new();
    for (header, members, counts) in [
        (json!({ "alg": "ES256", "kid": "k" }), json!({}), true),
        (json!({ "alg": "ES256" }), json!({}), true),
        (json!({ "alg": "ES256", "kid": "other" }), json!({}), false),
        (json!({ "alg": "ES256", "kid": "k" }), json!({ "use": "enc" }), false),
        (json!({ "alg": "ES256", "kid": "k" }), json!({ "alg": "ES384" }), false),
        (json!({ "alg": "ES256", "kid": "k" }), json!({ "crv": "P-384" }), false),
        (json!({ "alg": "ES256", "kid": "k", "crit": ["b64"] }), json!({}), false),
        (json!({ "alg": "RS256", "kid": "k" }), json!({}), false),
        (json!({ "alg": "HS256", "kid": "k" }), json!({}), false),
        (json!({ "alg": "none" }), json!({}), false),
        (json!({ "alg": "None", "kid": "k" }), json!({}), false),
        (json!({ "kid": "k" }), json!({}), false),
    ] {
        let token = signer.sign(&header, &claims());
        let expected = ExpectedToken { nonce: "n", now: NOW };
        let found = config().verify_token(&token, &signer.keys(members.clone()), expected);
        assert_eq!(found.is_ok(), counts, "{header} {members}: {found:?}");
    }
}

#[test]
fn a_changed_token_counts_for_nothing() {
    let (signer, other) = (Signer::new(), Signer::new());
    let token = signer.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    let mut forged = claims();
    forged["email"] = json!("eve@example.org");
    let of_other = other.sign(&json!({ "alg": "ES256", "kid": "k" }), &forged);
    let parts: Vec<&str> = token.split('.').collect();
    let payload = of_other.split('.').nth(1).unwrap();
    for changed in [
        of_other.clone(),
        format!("{}.{payload}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        String::new(),
        "..".into(),
        "a".repeat(MOST_TOKEN + 1),
    ] {
        let expected = ExpectedToken { nonce: "n", now: NOW };
        let found = config().verify_token(&changed, &signer.keys(json!({})), expected);
        assert!(found.is_err(), "{changed}: {found:?}");
    }
}

#[test]
fn the_greatest_role_counts_and_nobody_else_gets_one() {
    for (person, groups, role) in [
        ("ann@example.org", &[][..], Some(Role::Operator)),
        ("bob@example.org", &["staff"], Some(Role::Viewer)),
        ("bob@example.org", &["staff", "security"], Some(Role::Operator)),
        ("bob@example.org", &["Staff"], None),
        ("staff", &[], None),
        ("x", &["ann@example.org"], None),
    ] {
        let groups = groups.iter().map(|group: &&str| (*group).to_owned()).collect();
        let claims = VerifiedClaims { person: person.into(), groups };
        assert_eq!(config().role_of(&claims), role, "{claims:?}");
    }
}

#[test]
fn a_provider_is_reached_by_tls() {
    for (address, is_good) in [
        ("https://login.example", true),
        ("https://login.example:8443/realms/x", true),
        ("http://127.0.0.1:9000", true),
        ("http://localhost:9000/a", true),
        ("http://login.example", false),
        ("http://127.0.0.1.example", false),
        ("https://a@login.example", false),
        ("https://login.example?x", false),
        ("https://", false),
        ("login.example", false),
    ] {
        assert_eq!(check_address(address).is_ok(), is_good, "{address}");
    }
}
