//! Whom this machine trusts: the organisation's `trust.toml` and the person's. A bundle has to meet both where there are
//! both, so that neither weakens the other.

use crate::config::file;
use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Judgement, Requirement, Subject, Trust};
use std::path::{Path, PathBuf};

/// The name of a policy's file, beside `config.toml`.
pub const TRUST_FILE: &str = "trust.toml";

/// The policies that count.
#[derive(Debug, Default)]
pub struct Policies {
    all: Vec<Policy>,
    /// Where each would lie.
    looked: Vec<PathBuf>,
}

#[derive(Debug)]
struct Policy {
    owner: &'static str,
    path: PathBuf,
    text: String,
    trust: Trust,
}

impl Policies {
    /// Reads them; a file that is not there is no policy.
    ///
    /// # Errors
    /// One cannot be read, or is wrong: then nothing is trusted, since what it would have forbidden is not known.
    pub fn read(places: &Places) -> Result<Self> {
        let mut policies = Self::default();
        let organisation = ("organisation", of_organisation(places), file::read_managed as fn(&Path) -> _);
        for (owner, path, read) in [organisation, ("person", of_person(places), file::read)] {
            let shown = path.display();
            let text = read(&path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
            policies.looked.push(path.clone());
            let Some(text) = text else { continue };
            let trust =
                Trust::read(&text).with_context(|| format!("`{shown}` is no trust policy; nothing is trusted until it is mended"))?;
            policies.all.push(Policy { owner, path: path.clone(), text, trust });
        }
        Ok(policies)
    }

    /// What they make of a bundle; without any policy nothing is trusted.
    #[must_use]
    pub fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let judge = |policy: &Policy| {
            let mut judged = policy.trust.judge(subject);
            if self.all.len() > 1 {
                for requirement in &mut judged.requirements {
                    requirement.what = format!("{} ({}'s policy)", requirement.what, policy.owner);
                }
            }
            judged
        };
        self.all.iter().map(judge).reduce(Judgement::and).unwrap_or_else(|| Judgement { requirements: vec![self.none()] })
    }

    /// Fails, naming what is missed, unless all is met.
    ///
    /// # Errors
    /// The requirements that are missed.
    pub fn require(&self, subject: &Subject<'_>) -> Result<()> {
        let judged = self.judge(subject);
        if judged.is_trusted() {
            return Ok(());
        }
        let about = subject.index.about();
        let missed: Vec<String> =
            judged.requirements.iter().filter_map(|one| one.met.as_ref().err().map(|why| format!("{}: {why}", one.what))).collect();
        bail!("`{} {}` is not trusted: {}", about.name, about.version, missed.join("; "))
    }

    /// What a receipt has to be bound to: changes with every byte of every policy, and with who wrote it.
    #[must_use]
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for policy in &self.all {
            for part in [policy.owner.as_bytes(), policy.text.as_bytes()] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize()
    }

    /// Where the policies lie that there are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|policy| policy.path.as_path())
    }

    fn none(&self) -> Requirement {
        let looked: Vec<String> = self.looked.iter().map(|path| format!("`{}`", path.display())).collect();
        Requirement { what: "a trust policy".to_owned(), met: Err(format!("there is none: write {}", looked.join(" or "))) }
    }
}

/// The person's policy.
#[must_use]
pub fn of_person(places: &Places) -> PathBuf {
    places.config.join(TRUST_FILE)
}

/// The organisation's policy, beside its configuration.
#[must_use]
pub fn of_organisation(places: &Places) -> PathBuf {
    places.managed.with_file_name(TRUST_FILE)
}
