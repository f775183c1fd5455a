//! Whom this machine trusts: the organisation's `trust.toml` and the person's. A bundle has to meet both where there are
//! both, so that neither weakens the other.

use crate::config::file;
use crate::places::Places;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Judgement, KeyId, Requirement, Signature, Subject, Trust};
use portcullis_core::text::one_line;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of a policy's file, beside `config.toml`.
pub const TRUST_FILE: &str = "trust.toml";

/// The texts of the policies that there are, not yet read.
#[derive(Debug)]
pub struct Texts {
    all: Vec<(Owner, PathBuf, String)>,
    /// Where they would lie.
    looked: Vec<PathBuf>,
}

/// The policies that count.
#[derive(Debug)]
pub struct Policies {
    all: Vec<(Owner, Trust)>,
    looked: Vec<PathBuf>,
}

/// Whose policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The organisation's, beside its configuration.
    Organisation,
    /// The person's.
    Person,
    /// A file that a command names, in place of both.
    Named,
}

/// What was made of a bundle that is trusted.
#[derive(Debug)]
pub struct Judged {
    /// Until when it holds, in milliseconds since 1970.
    pub until: Option<u64>,
    /// The keys of the policies that signed or vetted it.
    pub signers: BTreeSet<KeyId>,
}

impl Texts {
    /// Reads the files; one that is not there is no policy.
    ///
    /// # Errors
    /// One cannot be read: then nothing is trusted, since what it would have forbidden is not known.
    pub fn read(places: &Places) -> Result<Self> {
        let mut texts = Self { all: Vec::new(), looked: Vec::new() };
        let organisation = (Owner::Organisation, of_organisation(places), file::read_managed as fn(&Path) -> _);
        for (owner, path, read) in [organisation, (Owner::Person, of_person(places), file::read)] {
            let text = read(&path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
            texts.looked.push(path.clone());
            texts.all.extend(text.map(|text| (owner, path, text)));
        }
        Ok(texts)
    }

    /// One file in place of those that count, to see what it would make of a bundle.
    ///
    /// # Errors
    /// It cannot be read, or is not there.
    pub fn named(path: &Path) -> Result<Self> {
        let shown = one_line(&path.display().to_string(), 400);
        let text = file::read(path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
        let text = text.with_context(|| format!("there is no trust policy `{shown}`"))?;
        Ok(Self { all: vec![(Owner::Named, path.to_owned(), text)], looked: vec![path.to_owned()] })
    }

    /// Changes with every byte of every policy, and with whose it is.
    pub fn digest(&self) -> blake3::Hash {
        super::digest(self.all.iter().flat_map(|(owner, _, text)| [owner.as_str().as_bytes(), text.as_bytes()]))
    }

    /// The policies.
    ///
    /// # Errors
    /// One is wrong: then nothing is trusted.
    pub fn parse(self) -> Result<Policies> {
        let read = |(owner, path, text): (Owner, PathBuf, String)| -> Result<(Owner, Trust)> {
            let shown = one_line(&path.display().to_string(), 400);
            let trust =
                Trust::read(&text).with_context(|| format!("`{shown}` is no trust policy; nothing is trusted until it is mended"))?;
            Ok((owner, trust))
        };
        let mut all = self.all.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let revoked: Vec<_> = all.iter().flat_map(|(_, trust)| trust.revoked_keys()).cloned().collect();
        for (_, trust) in &mut all {
            trust.revoke_keys(&revoked);
        }
        Ok(Policies { all, looked: self.looked })
    }
}

impl Policies {
    /// Reads those that count.
    ///
    /// # Errors
    /// As for [`Texts::read`] and [`Texts::parse`].
    pub fn read(places: &Places) -> Result<Self> {
        Texts::read(places)?.parse()
    }

    /// What they make of a bundle; without any policy nothing is trusted.
    #[must_use]
    pub fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let ruled = self.all.iter().any(|(_, trust)| trust.has_rules());
        let judge = |(owner, trust): &(Owner, Trust)| {
            let mut judged = if ruled && !trust.has_rules() {
                Judgement { requirements: vec![trust.revokes(subject.index)], until: None }
            } else {
                trust.judge(subject)
            };
            if self.all.len() > 1 {
                for requirement in &mut judged.requirements {
                    requirement.what = format!("{} ({}'s policy)", requirement.what, owner.as_str());
                }
            }
            judged
        };
        let judged = self.all.iter().map(judge).reduce(Judgement::and);
        judged.unwrap_or_else(|| Judgement { requirements: vec![self.none()], until: None })
    }

    /// Fails, naming what is missed, unless all is met.
    ///
    /// # Errors
    /// The requirements that are missed.
    pub fn require(&self, subject: &Subject<'_>) -> Result<Judged> {
        let judged = self.judge(subject);
        if judged.is_trusted() {
            return Ok(Judged { until: judged.until, signers: self.signers(subject)? });
        }
        let about = subject.index.about();
        let missed = judged.requirements.iter().filter_map(|one| one.met.as_ref().err().map(|why| format!("{}: {why}", one.what)));
        bail!("`{} {}` is not trusted: {}", about.name, about.version, missed.collect::<Vec<_>>().join("; "))
    }

    /// The keys of the policies that said something of this very bundle.
    ///
    /// # Errors
    /// Never in practice: a key could not be written into memory.
    pub fn signers(&self, subject: &Subject<'_>) -> Result<BTreeSet<KeyId>> {
        let mut signers = BTreeSet::new();
        for (_, trust) in &self.all {
            signers.extend(trust.signers(subject)?);
        }
        Ok(signers)
    }

    /// The names that the policies have for the key of a signature, each once, and whether one of them revokes it.
    #[must_use]
    pub fn keys_of(&self, signature: &Signature) -> BTreeMap<String, bool> {
        let mut keys = BTreeMap::new();
        for (name, revoked) in self.all.iter().flat_map(|(_, trust)| trust.keys_of(signature)) {
            *keys.entry(name.to_owned()).or_default() |= revoked;
        }
        keys
    }

    fn none(&self) -> Requirement {
        let looked: Vec<String> = self.looked.iter().map(|path| format!("`{}`", path.display())).collect();
        Requirement { what: "a trust policy".to_owned(), met: Err(format!("there is none: write {}", looked.join(" or "))) }
    }
}

impl Owner {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Person => "person",
            Self::Named => "named file",
        }
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
