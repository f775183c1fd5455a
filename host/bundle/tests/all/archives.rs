//! Tests of writing and reading archives.

use crate::sample::{NOW, bundle, key, signed, vetted};
use portcullis_bundle::{Artifact, Digest, read_archive, write_archive};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let files = [(); 2].map(|()| {
        let bundle = bundle();
        let mut file = Vec::new();
        write_archive(
            &bundle,
            &[vetted(&bundle, &key(2), NOW), signed(&bundle, &key(1), None)],
            &mut file,
        )
        .unwrap();
        (bundle.index().digest(), Digest::of_bytes(&file))
    });
    assert_eq!(files[0], files[1]);
}

#[test]
fn written_bundles_are_read_back() {
    let bundle = bundle();
    let signatures = [signed(&bundle, &key(1), Some(NOW)), vetted(&bundle, &key(2), NOW)];
    let mut file = Vec::new();
    write_archive(&bundle, &signatures, &mut file).unwrap();
    let (found, read) = read_archive(file.as_slice()).unwrap();
    assert_eq!(found, bundle);
    let files = |signatures: &[_]| {
        signatures
            .iter()
            .map(|one: &portcullis_bundle::Signature| one.file().to_vec())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(files(&read), files(&signatures));
}

/// Each component has the form that other tools expect: one config, one layer, and the config names
/// the layer.
#[test]
fn each_component_is_an_artifact_of_its_own() {
    let bundle = bundle();
    let blob = |digest: Digest| bundle.blobs().find(|(one, _)| *one == digest).unwrap().1;
    for (manifest, component) in bundle.index().manifests().iter().zip(&bundle.about().components) {
        let (config, layer) = Artifact::read_manifest(blob(manifest.digest)).unwrap();
        assert_eq!((layer.digest, layer.size), (component.digest, component.size));
        let config: Value = serde_json::from_slice(blob(config.digest)).unwrap();
        assert_eq!((&config["architecture"], &config["os"]), (&"wasm".into(), &"wasip2".into()));
        assert_eq!(config["layerDigests"][0], component.digest.to_string());
        assert_eq!(config["component"]["imports"][0], "portcullis:plugin/host@0.1.0");
    }
}
