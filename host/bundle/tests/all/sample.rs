//! A sample bundle of two components with three plugins, and the keys that may sign it.

use portcullis_bundle::{
    About, Bundle, Component, ComponentRequests, Digest, NewComponent, Plugin, SecretKey,
    Signature, Statement, Vetting,
};
use serde_json::json;

/// The time of the tests: 22 November 2026.
pub(crate) const NOW: u64 = 1_795_305_600_000;
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;

pub(crate) fn component(text: &str) -> Vec<u8> {
    // A component's preamble; the rest is not looked at.
    [b"\0asm\x0d\0\x01\0".as_slice(), text.as_bytes()].concat()
}

fn plugin(name: &str, kind: &str) -> Plugin {
    Plugin {
        name: name.into(),
        kind: kind.into(),
        version: "0.1.0".into(),
        description: "says so".into(),
        settings: json!({ "most": 3 }).as_object().cloned().unwrap(),
        schema: vec![json!({ "key": "most", "type": "integer", "default": 3 })],
    }
}

fn part(bytes: &[u8], grants: &[&str], plugins: Vec<Plugin>) -> Component {
    Component {
        digest: Digest::of_bytes(bytes),
        size: bytes.len() as u64,
        world: "pattern@0.1.0".into(),
        wants: ComponentRequests {
            imports: vec!["portcullis:plugin/host@0.1.0".into()],
            grants: grants.iter().map(|grant| (*grant).into()).collect(),
        },
        plugins,
    }
}

/// Returns the description and the components' bytes.
pub(crate) fn parts() -> (About, Vec<Vec<u8>>) {
    let bytes = vec![component("one"), component("two")];
    let components = vec![
        part(&bytes[0], &[], vec![plugin("loops", "pattern"), plugin("drifts", "pattern")]),
        part(&bytes[1], &["hosts = [\"https://HOST\"]"], vec![plugin("asks", "pattern")]),
    ];
    let about = About {
        name: "acme/checks".parse().unwrap(),
        version: "1.2.0".parse().unwrap(),
        description: "What we check.".into(),
        licence: "Apache-2.0".into(),
        source: "https://git.example.com/acme/checks".into(),
        components,
    };
    (about, bytes)
}

pub(crate) fn made(about: About, bytes: &[Vec<u8>]) -> Bundle {
    let exports = vec!["portcullis:plugin/detector@0.1.0".to_owned()];
    let parts: Vec<NewComponent<'_>> =
        bytes.iter().map(|bytes| NewComponent { bytes, exports: &exports }).collect();
    Bundle::from_components(about, &parts).unwrap()
}

pub(crate) fn bundle() -> Bundle {
    let (about, bytes) = parts();
    made(about, &bytes)
}

/// Returns the key for this number.
pub(crate) fn key(number: u8) -> SecretKey {
    SecretKey::of_seed(&[number; 32])
}

pub(crate) fn signed(bundle: &Bundle, key: &SecretKey, expires: Option<u64>) -> Signature {
    Signature::sign_statement(&Statement::about_index(bundle.index(), expires, None), key).unwrap()
}

pub(crate) fn vetted(bundle: &Bundle, key: &SecretKey, at: u64) -> Signature {
    let vetting =
        Vetting { reviewer: "security".into(), at, results: json!({ "cases": 40, "differ": 0 }) };
    Signature::sign_statement(&Statement::about_index(bundle.index(), None, Some(vetting)), key)
        .unwrap()
}
