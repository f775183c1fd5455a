//! Tests how verified results expire. Everything else is tested through the program (tests/locked).

use super::receipt::{self, place_name};
use super::verify::{self, ReceiptPolicy};
use portcullis_bundle::{
    About, Bundle, BundleStore, Lock, LockedBundle, NewComponent, SecretKey, Signature, Statement,
};
use portcullis_config::paths::Paths;
use portcullis_store::Home;
use std::fs;
use std::path::Path;

const NOW: u64 = 1_800_000_000_000;

/// Sets up a machine that trusts the key of a locked and installed bundle, signed until that time.
fn machine(root: &Path, until: Option<u64>) -> (Paths, Home) {
    let places = Paths {
        person: root.display().to_string(),
        config: root.join("config"),
        state: root.join("state"),
        managed: root.join("etc/config.toml"),
        project: Some(root.join("project")),
        environment: portcullis_agents::HookEnvironment::of_process(),
        handed: None,
    };
    for folder in ["config", "etc", "project"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let home = Home::open_root(&places.state).unwrap();
    let bytes = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../engine/tests/released/0.1.0/risk-calculator.wasm"
    ))
    .unwrap();
    let about = About {
        name: "acme/checks".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        description: String::new(),
        licence: String::new(),
        source: String::new(),
        components: vec![super::describe_component(&bytes, None).unwrap()],
    };
    let bundle = Bundle::from_components(
        about,
        &[NewComponent { bytes: &bytes, exports: &super::list_exports(&bytes).unwrap() }],
    )
    .unwrap();
    let key = SecretKey::of_seed(&[7; 32]);
    let signature =
        Signature::sign_statement(&Statement::about_index(bundle.index(), until, None), &key)
            .unwrap();
    BundleStore::open_folder(&places.state.join("bundles"))
        .unwrap()
        .install_bundle(&bundle, &[signature], None)
        .unwrap();
    let mut lock = Lock::default();
    lock.put_bundle(LockedBundle::for_bundle(&bundle, None, vec![key.public().id().unwrap()]));
    fs::write(root.join("project/portcullis.lock"), lock.to_text().unwrap()).unwrap();
    let policy = format!(
        "[[key]]\nname = \"acme\"\npublic = \"\"\"\n{}\"\"\"\n\n[[rule]]\nnames = [\"acme/\"]\npublishers = [\"acme\"]\n",
        key.public().to_pem().unwrap()
    );
    fs::write(root.join("config/trust.toml"), policy).unwrap();
    (places, home)
}

#[test]
fn verification_lasts_until_the_first_expiry() {
    let root = tempfile::tempdir().unwrap();
    let (places, home) = machine(root.path(), Some(NOW + 1_000));
    let written = || receipt::read_receipt(&home, &place_name(&places)).unwrap().unwrap().at;
    assert_eq!(
        verify::verified_plugins(&places, &home, NOW, ReceiptPolicy::Kept).unwrap().len(),
        1
    );
    // The receipt is valid to the last millisecond, and then no longer.
    assert_eq!(
        (
            verify::verified_plugins(&places, &home, NOW + 999, ReceiptPolicy::Kept).unwrap().len(),
            written()
        ),
        (1, NOW)
    );
    let error = format!(
        "{:#}",
        verify::verified_plugins(&places, &home, NOW + 1_000, ReceiptPolicy::Kept).unwrap_err()
    );
    assert!(error.contains("the statement has expired"), "{error}");
    // A clock that was set back to before the verification causes a new one.
    assert_eq!(
        (
            verify::verified_plugins(&places, &home, NOW - 1, ReceiptPolicy::Kept).unwrap().len(),
            written()
        ),
        (1, NOW - 1)
    );
}

#[test]
fn a_receipt_stands_for_one_place_and_one_set_of_files() {
    let root = tempfile::tempdir().unwrap();
    let (places, home) = machine(root.path(), None);
    let at = |now| {
        verify::verified_plugins(&places, &home, now, ReceiptPolicy::Kept).unwrap();
        receipt::read_receipt(&home, &place_name(&places)).unwrap().unwrap().at
    };
    assert_eq!((at(NOW), at(NOW + 1)), (NOW, NOW), "nothing changed");
    for (step, (name, change)) in [
        ("a policy that says the same in other words", root.path().join("config/trust.toml")),
        ("a lock that says the same in other words", root.path().join("project/portcullis.lock")),
        (
            "a list that says the same in other words",
            root.path().join("state/bundles/installed.json"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let text = fs::read_to_string(&change).unwrap();
        fs::write(&change, format!("{text}\n")).unwrap();
        let now = NOW + 10 * (step as u64 + 1);
        assert_eq!((at(now), at(now + 1)), (now, now), "{name}");
    }
    let elsewhere = Paths { project: Some(root.path().join("config")), ..places.clone() };
    assert!(
        verify::verified_plugins(&elsewhere, &home, NOW, ReceiptPolicy::Kept).unwrap().is_empty(),
        "another project locks nothing"
    );
    assert_eq!(receipt::read_receipt(&home, &place_name(&elsewhere)).unwrap(), None);
}
