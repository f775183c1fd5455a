//! Tests of credentials from docker's configuration and its helpers (`tests/helpers`).

use crate::fake::{Fake, Reply, challenges, manifest, ok};
use crate::sample::{access, bundle, client, configure, failed, unseen};
use data_encoding::BASE64;
use portcullis_credentials::{CredentialEntry, CredentialStore, CredentialUse, KeptIn, UseOutcome};
use portcullis_registry::UseObserver;
use portcullis_registry::{Access, TransferLimits};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn basic(text: &str) -> String {
    format!("Basic {}", BASE64.encode(text.as_bytes()))
}

/// Returns settings with that configuration of docker's, in which `HOST` is replaced.
fn with(config: &Value, fake: &Fake, folder: &Path) -> Access {
    let text = config.to_string().replace("HOST", &format!("127.0.0.1:{}", fake.port));
    std::fs::write(folder.join("config.json"), text).unwrap();
    let helpers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/helpers");
    Access {
        docker_config: Some(folder.to_owned()),
        helpers: Some(format!("/nowhere:{}", helpers.display()).into()),
        ..access()
    }
}

#[test]
fn every_form_of_a_login_is_understood() {
    let good = bundle("1.2.0");
    let entry = |auth: Value| json!({ "auths": { "HOST": auth } });
    let auth = BASE64.encode(b"me:a:b");
    for (config, said) in [
        (entry(json!({ "auth": auth })), "me:a:b"),
        (entry(json!({ "auth": auth.trim_end_matches('=') })), "me:a:b"),
        (entry(json!({ "username": "me", "password": "word" })), "me:word"),
        (json!({ "auths": { "https://HOST/v2/": { "auth": auth } } }), "me:a:b"),
        (json!({ "auths": { "HOST": {} }, "credsStore": "knows" }), "get@HOST:word"),
        (json!({ "auths": { "HOST": { "auth": auth } }, "credsStore": "knows" }), "me:a:b"),
        (
            json!({ "auths": { "HOST": { "auth": auth } }, "credHelpers": { "HOST": "knows" } }),
            "get@HOST:word",
        ),
        (
            json!({ "credsStore": "knows", "credHelpers": { "ghcr.io": "fails" }, "proxies": {} }),
            "get@HOST:word",
        ),
    ] {
        let fake = Fake::serving(&good, &[]);
        let header = basic(&said.replace("HOST", &format!("127.0.0.1:{}", fake.port)));
        fake.wrap_all(|reply| {
            Reply::Knows(header.clone(), Box::new(challenges("Basic realm=x")), Box::new(reply))
        });
        let folder = tempfile::tempdir().unwrap();
        let pulled =
            client(with(&config, &fake, folder.path())).pull_bundle(&fake.at(":1"), &mut unseen);
        assert_eq!(pulled.unwrap_or_else(|error| panic!("{config}: {error}")).bundle, good);
    }
}

/// An identity token from the last login replaces a password, and is sent nowhere else.
#[test]
fn an_identity_goes_to_the_token_server() {
    let good = bundle("1.2.0");
    for config in [
        json!({ "auths": { "HOST": { "identitytoken": "refresh me" } } }),
        json!({ "credsStore": "identity" }),
    ] {
        let fake = Fake::serving(&good, &[]);
        let bearer = "Bearer realm=\"/token\",service=\"s\"";
        fake.wrap_all(|reply| {
            Reply::Knows("Bearer t".into(), Box::new(challenges(bearer)), Box::new(reply))
        });
        fake.on("POST /token", [ok(r#"{"access_token":"t"}"#)]);
        let folder = tempfile::tempdir().unwrap();
        let access = with(&config, &fake, folder.path());
        assert_eq!(
            client(access.clone())
                .pull_bundle(&fake.at(":1"), &mut unseen)
                .unwrap_or_else(|error| panic!("{error}"))
                .bundle,
            good
        );
        let form =
            fake.requests().into_iter().find(|request| request.line == "POST /token").unwrap();
        let wanted = "grant_type=refresh_token&client_id=portcullis&refresh_token=refresh%20me&scope=repository%3Aacme%2Fchecks%3Apull&service=s";
        assert_eq!(String::from_utf8(form.body).unwrap(), wanted);
        // A registry that asks for a password gets none.
        fake.on(&format!("GET {}", manifest("1")), [challenges("Basic realm=x")]);
        failed(
            client(access).pull_bundle(&fake.at(":1"), &mut unseen),
            "log in again with `docker login 127.0.0.1:",
            "basic",
        );
    }
}

#[test]
fn login_errors_hide_the_login() {
    let entry = |auth: Value| json!({ "auths": { "HOST": auth } });
    let store = |name: &str| json!({ "credsStore": name });
    let helper = "the helper `docker-credential-";
    for (config, holds) in [
        (
            json!(["secretword"]),
            vec!["docker's configuration `", "config.json` is wrong in line 1"],
        ),
        (
            entry(json!({ "auth": "secretword!" })),
            vec!["its entry `127.0.0.1:", "has an `auth` that is not base64 of `user:password`"],
        ),
        (
            entry(json!({ "auth": BASE64.encode(b"secretword") })),
            vec!["not base64 of `user:password`; log in again"],
        ),
        (
            entry(json!({})),
            vec![
                "config.json` has no entry for `127.0.0.1:",
                "log in with `docker login 127.0.0.1:",
            ],
        ),
        (store("missing"), vec![helper, "missing` that `", "is not there; install it"]),
        (store("../helpers/docker-credential-knows"), vec!["is not there; install it"]),
        (
            store("unknown"),
            vec![
                helper,
                "unknown` that `",
                "has nothing for `127.0.0.1:",
                "`docker login 127.0.0.1:",
            ],
        ),
        (store("fails"), vec![helper, "fails` that `", "failed: \"the keychain is locked\""]),
        (store("odd"), vec!["answered with something that helpers never send"]),
        (store("hangs"), vec!["did not answer within 0.5 s"]),
        (store("keeps"), vec!["did not answer within 0.5 s"]),
    ] {
        let fake = Fake::new(None);
        fake.on(&format!("GET {}", manifest("1")), [challenges("Basic realm=x")]);
        let folder = tempfile::tempdir().unwrap();
        let mut access = with(&config, &fake, folder.path());
        if config.to_string().contains("hangs") || config.to_string().contains("keeps") {
            access.limits = TransferLimits { helper: Duration::from_millis(500), ..access.limits };
        }
        let client = client(access);
        for part in holds {
            failed(client.pull_bundle(&fake.at(":1"), &mut unseen), part, &config.to_string());
        }
        let error = client.pull_bundle(&fake.at(":1"), &mut unseen).unwrap_err().to_string();
        assert!(!error.contains("secretword"), "{error}");
    }
}

/// Credentials are not looked up unless a registry asks for them.
#[test]
fn a_registry_that_asks_nothing_learns_nothing() {
    let good = bundle("1.2.0");
    let fake = Fake::serving(&good, &[]);
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &json!(["no configuration"]));
    let access = Access { docker_config: Some(folder.path().to_owned()), ..access() };
    assert_eq!(
        client(access)
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    assert!(fake.requests().iter().all(|request| request.authorization.is_none()));
}

/// The credential store is asked before docker's configuration, and every use has an outcome.
#[test]
fn the_credential_store_comes_first() {
    let good = bundle("1.2.0");
    for (value, user, is_taken) in
        [("word", Some("me"), true), ("wrong", Some("me"), false), ("word", None, false)]
    {
        let fake = Fake::serving(&good, &[]);
        let header = basic("me:word");
        fake.wrap_all(|reply| {
            Reply::Knows(header.clone(), Box::new(challenges("Basic realm=x")), Box::new(reply))
        });
        let folder = tempfile::tempdir().unwrap();
        let registry = format!("127.0.0.1:{}", fake.port);
        let store = CredentialStore::new(folder.path().join("credentials"), [1; 32]);
        let entry = CredentialEntry {
            kept_in: KeptIn::File,
            created: 1,
            set: 1,
            expires: None,
            registry: Some(registry.clone()),
            user: user.map(str::to_owned),
        };
        let name = "own".parse().unwrap();
        store.add_entry(&name, entry, Some(&SecretString::from(value))).unwrap();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&noted);
        let docker = json!({ "auths": { "HOST": { "username": "other", "password": "word" } } });
        let access = Access {
            credentials: Some(store),
            observer: Some(UseObserver::new(move |used| seen.lock().unwrap().push(used.clone()))),
            ..with(&docker, &fake, folder.path())
        };
        let pulled = client(access).pull_bundle(&fake.at(":1"), &mut unseen);
        let outcome = match is_taken {
            true => {
                assert_eq!(pulled.unwrap().bundle, good);
                UseOutcome::Used
            }
            false => {
                failed(pulled, "the credential `own`", value);
                UseOutcome::Refused
            }
        };
        let expected = CredentialUse {
            credential: "credential:own".into(),
            purpose: format!("registry {registry}"),
            outcome,
        };
        assert!(noted.lock().unwrap().iter().all(|used| *used == expected), "{noted:?}");
        assert!(!noted.lock().unwrap().is_empty(), "nothing was noted");
    }
}
