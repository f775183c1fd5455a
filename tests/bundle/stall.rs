//! A publisher's folder with components, a manifest and keys, and a machine that is to trust its
//! bundles.

use crate::common::process::Ended;
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_bundle::{
    About, Bundle, Component, ComponentRequests, Digest, NewComponent, Plugin, SecretKey,
    Signature, Statement, read_archive, write_archive,
};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The passphrase of every key here.
pub const PASSPHRASE: &str = "eleven blue herons";
/// The interface that patterns export.
const DETECTOR: &str = "portcullis:plugin/detector@0.1.0";
/// An import that requires the grant `hosts`.
pub const HTTP: &str = "wasi:http/outgoing-handler@0.2.3";
/// The grant that it requires.
pub const HOSTS: &str = "hosts = [\"https://HOST\"]";
/// The manifest of a bundle of two plugins.
pub const MANIFEST: &str = r#"name = "acme/checks"
version = "1.0.0"
description = "What we check."
licence = "Apache-2.0"
source = "https://git.example.com/acme/checks"

[[plugin]]
file = "loops.wasm"
settings = { most = 5 }

[[plugin]]
file = "asks.wasm"
"#;
/// The archive that is built from it.
pub const ARCHIVE: &str = "acme-checks-1.0.0.tar";

/// Creates a component that is described as these plugins, and does nothing.
pub fn component(imports: &[&str], descriptors: &[Value]) -> Result<Vec<u8>> {
    exporting(DETECTOR, imports, descriptors)
}

/// Creates such a component of the kind that exports that interface.
pub fn exporting(interface: &str, imports: &[&str], descriptors: &[Value]) -> Result<Vec<u8>> {
    let imports: String =
        imports.iter().map(|import| format!("(import \"{import}\" (instance))")).collect();
    let said: String =
        descriptors.iter().map(|said| format!("{}", format!("{said}").escape_default())).collect();
    let said = if said.is_empty() {
        said
    } else {
        format!("(@custom \"portcullis-descriptor\" \"{said}\")")
    };
    Ok(wat::parse_str(format!(
        "(component {imports} (instance $made) (export \"{interface}\" (instance $made)) {said})"
    ))?)
}

/// Returns the descriptor of a plugin of that name.
pub fn descriptor(name: &str) -> Value {
    json!({
        "name": name, "version": "0.1.0", "description": "says so", "kind": "pattern", "reads": ["history"],
        "settings": [
            { "key": "most", "type": "integer", "default": 3, "minimum": 1, "maximum": 9, "description": "how many" },
            { "key": "words.*", "type": "texts", "default": [], "description": "which" },
        ],
    })
}

/// The folder, in a site's project.
pub struct Stall {
    pub site: Site,
}

impl Stall {
    /// Creates the folder with two components, a manifest, and a file with the passphrase.
    pub fn new(name: &str) -> Result<Self> {
        let stall = Self { site: Site::new(name)? };
        stall.put("loops.wasm", component(&[], &[descriptor("loops")])?)?;
        stall.put("asks.wasm", component(&[HTTP], &[descriptor("asks")])?)?;
        stall.put("bundle.toml", MANIFEST)?;
        stall.put("passphrase", format!("{PASSPHRASE}\n"))?;
        fs::set_permissions(stall.path("passphrase"), Permissions::from_mode(0o600))?;
        Ok(stall)
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.site.project().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        fs::write(self.path(name), bytes).with_context(|| format!("cannot write `{name}`"))
    }

    pub fn get(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.path(name)).with_context(|| format!("cannot read `{name}`"))
    }

    /// Runs `portcullis bundle` with those arguments.
    pub fn run(&self, words: &str) -> Result<Ended> {
        let words: Vec<&str> = std::iter::once("bundle").chain(words.split_whitespace()).collect();
        self.site.run(&words)
    }

    /// Runs a command that must succeed, and returns its output. The components of a stall do
    /// nothing, so what installs them warns that they cannot be used.
    pub fn done(&self, words: &str) -> Result<String> {
        let ended = self.run(words)?;
        let installs = words.starts_with("install") || words.starts_with("update");
        let warns = |line: &str| installs && line.starts_with("warning: a plugin cannot be used: ");
        ensure!(
            ended.code == Some(0) && ended.stderr.lines().all(warns),
            "`bundle {words}`: {}",
            ended.all()
        );
        Ok(ended.text())
    }

    /// Runs a command that must succeed, and parses its output as JSON.
    pub fn json(&self, words: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.done(&format!("{words} --json"))?)?)
    }

    /// Runs `verify`, and returns whether it trusts the bundle, and its output; both must match its
    /// exit code.
    pub fn verified(&self, words: &str) -> Result<(bool, Value)> {
        let ended = self.run(&format!("verify {words} --json"))?;
        let document: Value = serde_json::from_str(&ended.text()).with_context(|| ended.all())?;
        let trusted = document["trusted"] == true;
        ensure!(ended.code == Some(if trusted { 0 } else { 1 }), "{}", ended.all());
        Ok((trusted, document))
    }

    /// Checks that `verify` reports exactly one missed requirement, which contains these words; or
    /// none for no words.
    pub fn misses(&self, words: &str, expected: &[&str]) -> Result<()> {
        let (trusted, document) = self.verified(words)?;
        let requirements =
            document["bundles"][0]["requirements"].as_array().context("no requirements")?;
        let missed: Vec<String> = requirements
            .iter()
            .filter(|one| one["met"] == false)
            .map(|one| {
                format!(
                    "{}: {}",
                    one["what"].as_str().unwrap_or_default(),
                    one["how"].as_str().unwrap_or_default()
                )
            })
            .collect();
        ensure!(
            trusted == expected.is_empty() && missed.len() == expected.len(),
            "missed: {missed:?}"
        );
        for (missed, expected) in missed.iter().zip(expected) {
            ensure!(missed.contains(expected), "`{expected}` is not in `{missed}`");
        }
        Ok(())
    }

    /// Builds the manifest's bundle, creates a key of that name and signs with it.
    pub fn signed(&self, key: &str) -> Result<()> {
        self.done("build")?;
        self.done(&format!("key new --output {key} --passphrase-file passphrase"))?;
        self.done(&format!("sign {ARCHIVE} --key {key} --passphrase-file passphrase"))?;
        Ok(())
    }

    /// Returns the lines of a policy for a key that was created here.
    pub fn trusted_key(&self, key: &str) -> Result<String> {
        policy_key(key, &String::from_utf8(self.get(&format!("{key}.pub"))?)?)
    }

    /// Installs the person's policy.
    pub fn trust(&self, text: &str) -> Result<()> {
        self.site.write("trust.toml", text)
    }

    /// Reads the bundle of an archive, with its signatures.
    pub fn read(&self, archive: &str) -> Result<(Bundle, Vec<Signature>)> {
        Ok(read_archive(self.get(archive)?.as_slice())?)
    }

    /// Writes an archive without checking its contents.
    pub fn write(&self, archive: &str, bundle: &Bundle, signatures: &[Signature]) -> Result<()> {
        let mut bytes = Vec::new();
        write_archive(bundle, signatures, &mut bytes)?;
        self.put(archive, bytes)
    }
}

pub fn policy_key(name: &str, public: &str) -> Result<String> {
    Ok(format!("[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{public}\"\"\"\n"))
}

/// Returns a rule for names below `acme/`, whose plugins may request `hosts`.
pub fn rule(key: &str) -> String {
    format!("[[rule]]\nnames = [\"acme/\"]\npublishers = [\"{key}\"]\ngrants = [\"hosts\"]\n")
}

/// Returns the key for this number, and its lines of a policy.
pub fn key(number: u8) -> Result<(SecretKey, String)> {
    let key = SecretKey::of_seed(&[number; 32]);
    let lines = policy_key("release", &key.public().to_pem()?)?;
    Ok((key, lines))
}

pub fn signature(bundle: &Bundle, key: &SecretKey, expires: Option<u64>) -> Result<Signature> {
    Ok(Signature::sign_statement(&Statement::about_index(bundle.index(), expires, None), key)?)
}

/// Creates a bundle of one component that requests hosts, with a changed description.
pub fn build_bundle(change: impl FnOnce(&mut Component)) -> Result<Bundle> {
    let bytes = component(&[HTTP], &[descriptor("asks")])?;
    let plugin = Plugin {
        name: "asks".into(),
        kind: "pattern".into(),
        version: "0.1.0".into(),
        description: "says so".into(),
        settings: serde_json::Map::new(),
        schema: descriptor("asks")["settings"].as_array().cloned().unwrap_or_default(),
    };
    let mut component = Component {
        digest: Digest::of_bytes(&bytes),
        size: bytes.len() as u64,
        world: "pattern@0.1.0".into(),
        wants: ComponentRequests { imports: vec![HTTP.into()], grants: vec![HOSTS.into()] },
        plugins: vec![plugin],
    };
    change(&mut component);
    let about = About {
        name: "acme/checks".parse()?,
        version: "1.0.0".parse()?,
        description: String::new(),
        licence: String::new(),
        source: String::new(),
        components: vec![component],
    };
    Ok(Bundle::from_components(
        about,
        &[NewComponent { bytes: &bytes, exports: &[DETECTOR.to_owned()] }],
    )?)
}
