//! A publisher's stall with a real registry, an index of its bundles, and a machine that trusts
//! both.

use crate::common::process::Ended;
use crate::real::{Kind, Registry};
use crate::stall::{MANIFEST, Stall, key, policy_key, rule};
use anyhow::{Context, Result, ensure};
use portcullis_bundle::{
    IndexArtifact, IndexDocument, ListedBundle, ListedVersion, SecretKey, Signature,
    write_index_archive,
};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

pub const DAY: u64 = 24 * 60 * 60 * 1000;
/// Commands that reach no registry.
const OFFLINE: &[&str] = &["search", "info", "index list"];
/// The name of the index.
pub const INDEX: &str = "acme/index";

pub struct Market {
    pub stall: Stall,
    host: String,
    _registry: Registry,
}

/// Returns the key that signs the index.
pub fn index_key() -> SecretKey {
    SecretKey::of_seed(&[3; 32])
}

/// Returns the current time, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Market {
    /// Starts a registry, and lets the machine trust the publisher and the index; `None`, with a
    /// message, if there is no registry.
    pub fn open(name: &str) -> Result<Option<Self>> {
        let Some(registry) = Registry::start(Kind::Plain) else { return Ok(None) };
        let host = format!("127.0.0.1:{}", registry.port);
        let market = Self { stall: Stall::new(name)?, host, _registry: registry };
        market.trust("")?;
        Ok(Some(market))
    }

    /// Writes the person's policy, with more after it.
    pub fn trust(&self, more: &str) -> Result<()> {
        let index = self.entry(INDEX, "index", &format!("{}/{INDEX}", self.host));
        self.stall.trust(&format!("{}{}{index}{more}", self.keys()?, rule("release")))
    }

    /// Returns the keys of a policy: that of the bundles, that of the index, and another one.
    pub fn keys(&self) -> Result<String> {
        let public = |seed: u8| SecretKey::of_seed(&[seed; 32]).public().to_pem();
        let index = policy_key("index", &index_key().public().to_pem()?)?;
        Ok([key(1)?.1, index, policy_key("other", &public(4)?)?].concat())
    }

    pub fn entry(&self, name: &str, signer: &str, source: &str) -> String {
        format!(
            "[[index]]\nname = \"{name}\"\nsigners = [\"{signer}\"]\nnames = [\"acme/\"]\nsource = \"{source}\"\n"
        )
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the words of a command, with the option for a registry without TLS if it takes one.
    pub fn plain(&self, words: &str) -> String {
        if OFFLINE.iter().any(|command| words.starts_with(command)) {
            return words.to_owned();
        }
        format!("{words} --plain-http {}", self.host)
    }

    pub fn done(&self, words: &str) -> Result<String> {
        let ended = self.stall.run(&self.plain(words))?;
        ensure!(ended.code == Some(0), "`bundle {words}`: {}", ended.all());
        Ok(ended.text())
    }

    pub fn json(&self, words: &str) -> Result<Value> {
        let text = self.done(&format!("{words} --json"))?;
        serde_json::from_str(&text).with_context(|| text)
    }

    /// Runs a command that must fail for that reason, and change nothing that is locked.
    pub fn refused(&self, words: &str, why: &str) -> Result<Ended> {
        let lock = self.stall.get("portcullis.lock").ok();
        let ended = self.stall.run(&self.plain(words))?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains(why),
            "`bundle {words}` does not say {why:?}: {}",
            ended.all()
        );
        ensure!(self.stall.get("portcullis.lock").ok() == lock, "`bundle {words}` locked it");
        Ok(ended)
    }

    /// Builds, signs and pushes a version of the bundle; returns its archive.
    pub fn publish(&self, version: &str) -> Result<String> {
        let archive = format!("checks-{version}.tar");
        self.stall.put("bundle.toml", MANIFEST.replace("1.0.0", version))?;
        self.stall.done(&format!("build --output {archive}"))?;
        let (bundle, _) = self.stall.read(&archive)?;
        let signature = crate::stall::signature(&bundle, &key(1)?.0, None)?;
        self.stall.write(&archive, &bundle, &[signature])?;
        self.done(&format!("push {archive} {}/acme/checks", self.host))?;
        Ok(archive)
    }

    /// Describes an archive as an index does.
    pub fn listed(&self, archive: &str) -> Result<ListedVersion> {
        let (bundle, signatures) = self.stall.read(archive)?;
        let place = format!("{}/acme/checks", self.host);
        Ok(ListedVersion::of_bundle(&bundle, &signatures, place, |_, _| vec!["history".into()]))
    }

    /// Makes an index of the bundle `acme/checks` with these versions.
    pub fn index(&self, serial: u64, versions: Vec<ListedVersion>) -> Result<IndexArtifact> {
        self.index_of(INDEX, serial, "acme/checks", versions)
    }

    pub fn index_of(
        &self,
        name: &str,
        serial: u64,
        bundle: &str,
        versions: Vec<ListedVersion>,
    ) -> Result<IndexArtifact> {
        let bundles = vec![ListedBundle { name: bundle.parse()?, versions }];
        let (made, expires) = (now() - DAY, now() + DAY);
        Ok(IndexArtifact::new(IndexDocument::new(name.parse()?, serial, made, expires, bundles)?)?)
    }

    /// Pushes an index with these signatures to the place that the policy names, whatever it says.
    pub fn serve(&self, artifact: &IndexArtifact, signatures: &[Signature]) -> Result<()> {
        self.serve_as(INDEX, artifact, signatures)
    }

    pub fn serve_as(
        &self,
        place: &str,
        artifact: &IndexArtifact,
        signatures: &[Signature],
    ) -> Result<()> {
        let mut bytes = Vec::new();
        write_index_archive(artifact, signatures, &mut bytes)?;
        self.stall.put("served.tar", bytes)?;
        self.done(&format!("index push served.tar {}/{place}", self.host)).map(drop)
    }

    /// Serves an index that the machine accepts.
    pub fn serve_signed(&self, artifact: &IndexArtifact) -> Result<()> {
        self.serve(artifact, &[Signature::sign_index(&artifact.statement(), &index_key())?])
    }

    /// Returns the serial of the index that the machine keeps, and why it cannot be used.
    pub fn kept(&self) -> Result<(Value, Value)> {
        let document: Value = serde_json::from_str(&self.stall.done("index list --json")?)?;
        let index = &document["indexes"][0];
        Ok((index["serial"].clone(), index["problem"].clone()))
    }
}
