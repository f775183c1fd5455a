//! A sample bundle of two components, its signing keys, and the settings for reaching its registry.

use portcullis_bundle::{
    About, Bundle, CandidateBundle, Component, ComponentRequests, Digest, NewComponent, Plugin,
    SecretKey, Signature, Statement, TrustPolicy, Vetting,
};
use portcullis_registry::{
    Access, Client, Proxies, Reference, RegistryError, TransferLimits, TransferProgress,
};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The time of the tests: 23 November 2026.
pub(crate) const NOW: u64 = 1_795_392_000_000;

pub(crate) fn component(text: &str) -> Vec<u8> {
    // A component's preamble; the rest is not looked at.
    [b"\0asm\x0d\0\x01\0".as_slice(), text.as_bytes()].concat()
}

pub(crate) fn bundle(version: &str) -> Bundle {
    let bytes = [component(version), component(&"two".repeat(60_000))];
    let part = |bytes: &[u8], name: &str| Component {
        digest: Digest::of_bytes(bytes),
        size: bytes.len() as u64,
        world: "pattern@0.1.0".into(),
        wants: ComponentRequests {
            imports: vec!["portcullis:plugin/host@0.1.0".into()],
            grants: Vec::new(),
        },
        plugins: vec![Plugin {
            name: name.into(),
            kind: "pattern".into(),
            version: version.into(),
            description: "says so".into(),
            settings: serde_json::Map::new(),
            schema: Vec::new(),
        }],
    };
    let about = About {
        name: "acme/checks".parse().unwrap(),
        version: version.parse().unwrap(),
        description: "What we check.".into(),
        licence: "Apache-2.0".into(),
        source: "https://git.example.com/acme/checks".into(),
        components: vec![part(&bytes[0], "loops"), part(&bytes[1], "drifts")],
    };
    let exports = vec!["portcullis:plugin/detector@0.1.0".to_owned()];
    let parts: Vec<NewComponent<'_>> =
        bytes.iter().map(|bytes| NewComponent { bytes, exports: &exports }).collect();
    Bundle::from_components(about, &parts).unwrap()
}

/// Returns the key for this number.
pub(crate) fn key(number: u8) -> SecretKey {
    SecretKey::of_seed(&[number; 32])
}

pub(crate) fn signed(bundle: &Bundle, number: u8) -> Signature {
    Signature::sign_statement(&Statement::about_index(bundle.index(), None, None), &key(number))
        .unwrap()
}

pub(crate) fn vetted(bundle: &Bundle, number: u8) -> Signature {
    let vetting = Vetting {
        reviewer: "security".into(),
        at: NOW,
        results: json!({ "cases": 40, "differ": 0 }),
    };
    Signature::sign_statement(
        &Statement::about_index(bundle.index(), None, Some(vetting)),
        &key(number),
    )
    .unwrap()
}

/// Returns true if a policy that requires the first key for `acme/`, vetted by the second, trusts
/// the bundle from there.
pub(crate) fn is_trusted(bundle: &Bundle, signatures: &[Signature], reference: &Reference) -> bool {
    let keys: String = [(1, "publisher"), (2, "vetter")]
        .map(|(number, name)| {
            format!(
                "[[key]]\nname = \"{name}\"\npublic = '''\n{}'''\n",
                key(number).public().to_pem().unwrap()
            )
        })
        .concat();
    let registry = format!("{}/", reference.registry());
    let rule = format!(
        "[[rule]]\nnames = [\"acme/\"]\npublishers = [\"publisher\"]\nvetters = [\"vetter\"]\nregistries = [\"{registry}\"]\n"
    );
    let trust = TrustPolicy::parse_policy(&format!("{keys}{rule}")).unwrap();
    let from = reference.repository();
    trust
        .judge_bundle(&CandidateBundle {
            index: bundle.index(),
            signatures,
            from: Some(&from),
            installed: None,
            now: NOW,
        })
        .is_trusted()
}

/// Returns settings without TLS for this machine, without credentials, and with short delays.
pub(crate) fn access() -> Access {
    let limits = TransferLimits { pause: Duration::from_millis(1), ..TransferLimits::default() };
    let proxies = Proxies::none();
    Access {
        credentials: None,
        observer: None,
        docker_config: None,
        helpers: None,
        authorities: None,
        proxies,
        plain_loopback: true,
        plain_hosts: Vec::new(),
        limits,
    }
}

pub(crate) fn client(access: Access) -> Client {
    Client::new(access).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn at(port: u16, rest: &str) -> Reference {
    format!("127.0.0.1:{port}/acme/checks{rest}").parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Ignores the progress.
pub(crate) fn unseen(_: TransferProgress<'_>) {}

pub(crate) fn failed<T>(outcome: Result<T, RegistryError>, holds: &str, name: &str) {
    match outcome {
        Ok(_) => panic!("{name}: it is not refused"),
        Err(error) => assert!(error.to_string().contains(holds), "{name}: {error}"),
    }
}

/// Writes docker's configuration into that folder.
pub(crate) fn configure(folder: &Path, config: &serde_json::Value) {
    std::fs::write(folder.join("config.json"), serde_json::to_vec(config).unwrap()).unwrap();
}

/// Reports why something cannot be tested here; in CI that is a failure.
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{reason}");
    // The test harness hides the output of passing tests, so write to standard error directly.
    std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes()).unwrap();
}
