//! The trust policies of this machine: the organisation's `trust.toml`, the person's, and that of a
//! fleet's orders. A bundle has to satisfy all that exist, so that none weakens another.

use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{
    BundleName, CandidateBundle, CandidateIndex, IndexSource, Judgement, KeyId, ListedVersion,
    NameScope, Requirement, Signature, TrustPolicy,
};
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::text::one_line;
use portcullis_fleet::orders::Orders;
use semver::Version;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of a policy's file, next to `config.toml`.
pub const TRUST_FILE: &str = "trust.toml";

/// The texts of the existing policies, not yet parsed.
#[derive(Debug)]
pub struct PolicyTexts {
    all: Vec<(PolicyOwner, PathBuf, String)>,
    /// The paths that were searched.
    looked: Vec<PathBuf>,
}

/// The policies that apply.
#[derive(Debug)]
pub struct Policies {
    all: Vec<(PolicyOwner, TrustPolicy)>,
    looked: Vec<PathBuf>,
}

/// The owner of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOwner {
    /// The organisation's, next to its configuration.
    Organisation,
    /// The person's.
    Person,
    /// That of the fleet's orders.
    Fleet,
    /// A file that a command names, which replaces all.
    Named,
}

/// An index of bundles that the policies name.
#[derive(Clone, Debug)]
pub struct NamedIndex {
    /// Its name.
    pub name: BundleName,
    /// The place from which it is fetched: that of the first policy that names it.
    pub source: IndexSource,
    /// The names that it may list, by that policy.
    pub scopes: Vec<NameScope>,
    /// The owner of that policy.
    pub owner: PolicyOwner,
}

/// The result for a trusted bundle.
#[derive(Debug)]
pub struct TrustedBundle {
    /// The end of its validity, in milliseconds since 1970.
    pub until: Option<u64>,
    /// The keys of the policies that signed or vetted it.
    pub signers: BTreeSet<KeyId>,
}

impl PolicyTexts {
    /// Reads the files; a missing file is not a policy.
    ///
    /// # Errors
    /// Fails if one cannot be read: then nothing is trusted, since its prohibitions are unknown.
    pub fn read_texts(places: &Paths) -> Result<Self> {
        let mut texts = Self { all: Vec::new(), looked: Vec::new() };
        let organisation = (
            PolicyOwner::Organisation,
            of_organisation(places),
            file::read_managed as fn(&Path) -> _,
        );
        for (owner, path, read) in
            [organisation, (PolicyOwner::Person, of_person(places), file::read_file)]
        {
            let text =
                read(&path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
            texts.looked.push(path.clone());
            texts.all.extend(text.map(|text| (owner, path, text)));
        }
        let ordered = super::read_orders(places)?.filter(|(orders, _)| !orders.trust.is_empty());
        texts.all.extend(ordered.map(|(orders, path)| (PolicyOwner::Fleet, path, orders.trust)));
        Ok(texts)
    }

    /// Reads one file in place of the policies that apply, to see how it would judge a bundle.
    ///
    /// # Errors
    /// Fails if it cannot be read, or does not exist.
    pub fn read_named(path: &Path) -> Result<Self> {
        let shown = one_line(&path.display().to_string(), 400);
        let text =
            file::read_file(path).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
        let text = text.with_context(|| format!("there is no trust policy `{shown}`"))?;
        Ok(Self {
            all: vec![(PolicyOwner::Named, path.to_owned(), text)],
            looked: vec![path.to_owned()],
        })
    }

    /// Puts the trust policy of other orders in the place of those that are in force.
    #[must_use]
    pub fn with_orders(mut self, orders: &Orders, path: PathBuf) -> Self {
        self.all.retain(|(owner, ..)| *owner != PolicyOwner::Fleet);
        if !orders.trust.is_empty() {
            self.all.push((PolicyOwner::Fleet, path, orders.trust.clone()));
        }
        self
    }

    /// Returns a digest that changes with every byte and the owner of every policy.
    pub fn digest(&self) -> blake3::Hash {
        super::digest(
            self.all
                .iter()
                .flat_map(|(owner, _, text)| [owner.as_str().as_bytes(), text.as_bytes()]),
        )
    }

    /// Parses the policies.
    ///
    /// # Errors
    /// Fails if one is invalid: then nothing is trusted.
    pub fn parse_texts(self) -> Result<Policies> {
        let read =
            |(owner, path, text): (PolicyOwner, PathBuf, String)| -> Result<(PolicyOwner, TrustPolicy)> {
                let shown = one_line(&path.display().to_string(), 400);
                let trust = TrustPolicy::parse_policy(&text).with_context(|| {
                    format!("`{shown}` is not a trust policy; nothing is trusted until it is fixed")
                })?;
                Ok((owner, trust))
            };
        let mut all = self.all.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        // A key that one owner revokes counts for none, also where another's policy trusts it.
        let revoked: Vec<_> =
            all.iter().flat_map(|(_, trust)| trust.revoked_keys()).cloned().collect();
        for (_, trust) in &mut all {
            trust.revoke_keys(&revoked);
        }
        Ok(Policies { all, looked: self.looked })
    }
}

impl Policies {
    /// Reads the policies that apply.
    ///
    /// # Errors
    /// Fails like [`PolicyTexts::read_texts`] and [`PolicyTexts::parse_texts`].
    pub fn read_policies(places: &Paths) -> Result<Self> {
        PolicyTexts::read_texts(places)?.parse_texts()
    }

    /// Judges a bundle by all policies; without any policy nothing is trusted.
    #[must_use]
    pub fn judge_bundle(&self, subject: &CandidateBundle<'_>) -> Judgement {
        self.judge_by_all(
            |trust| trust.judge_bundle(subject),
            |trust| trust.check_revocation(subject.index),
        )
    }

    /// Judges a version that an index lists by what the index says of it: a forecast, since only an
    /// installation sees the bundle and its signatures.
    #[must_use]
    pub fn preview_bundle(
        &self,
        name: &BundleName,
        listed: &ListedVersion,
        installed: Option<&Version>,
        now: u64,
    ) -> Judgement {
        self.judge_by_all(
            |trust| trust.preview_bundle(name, listed, installed, now),
            |trust| trust.check_listed_revocation(listed),
        )
    }

    fn judge_by_all(
        &self,
        judge: impl Fn(&TrustPolicy) -> Judgement,
        check_revocation: impl Fn(&TrustPolicy) -> Requirement,
    ) -> Judgement {
        let ruled = self.all.iter().any(|(_, trust)| trust.has_rules());
        let judged = self.all.iter().map(|(owner, trust)| {
            // Beside others, a policy without rules only revokes; what they trust stays trusted.
            let judged = if ruled && !trust.has_rules() {
                Judgement { requirements: vec![check_revocation(trust)], until: None }
            } else {
                judge(trust)
            };
            self.name_owner(judged, *owner)
        });
        let judged = judged.reduce(Judgement::merge_with);
        judged.unwrap_or_else(|| Judgement { requirements: vec![self.none()], until: None })
    }

    /// Adds whose policy a requirement is, where there are several.
    fn name_owner(&self, mut judged: Judgement, owner: PolicyOwner) -> Judgement {
        if self.all.len() > 1 {
            for requirement in &mut judged.requirements {
                requirement.what = format!("{} ({}'s policy)", requirement.what, owner.as_str());
            }
        }
        judged
    }

    /// Returns the indexes of bundles that the policies name, in the order of precedence: those of
    /// the first policy that names any come first.
    #[must_use]
    pub fn list_indexes(&self) -> Vec<NamedIndex> {
        let mut all: Vec<NamedIndex> = Vec::new();
        for (owner, trust) in &self.all {
            for index in trust.indexes() {
                if !all.iter().any(|known| known.name == *index.name()) {
                    all.push(NamedIndex {
                        name: index.name().clone(),
                        source: index.source().clone(),
                        scopes: index.scopes().to_vec(),
                        owner: *owner,
                    });
                }
            }
        }
        all
    }

    /// Judges an index of bundles by all policies that name any index; a policy without one does not
    /// restrict those of another.
    #[must_use]
    pub fn judge_index(&self, name: &BundleName, subject: &CandidateIndex<'_>) -> Judgement {
        let naming = self.all.iter().filter(|(_, trust)| !trust.indexes().is_empty());
        let judged = naming
            .map(|(owner, trust)| self.name_owner(trust.judge_index(name, subject), *owner))
            .reduce(Judgement::merge_with);
        judged.unwrap_or_else(|| Judgement { requirements: vec![self.none()], until: None })
    }

    /// Checks that an index of bundles satisfies all policies.
    ///
    /// # Errors
    /// Fails with the requirements that are not met.
    pub fn require_index(&self, name: &BundleName, subject: &CandidateIndex<'_>) -> Result<()> {
        let judged = self.judge_index(name, subject);
        if judged.is_trusted() {
            return Ok(());
        }
        bail!(KnownFailure::Untrusted(format!(
            "the index `{name}` is refused: {}",
            missed_requirements(&judged)
        )))
    }

    /// Checks that a bundle satisfies all policies.
    ///
    /// # Errors
    /// Fails with the requirements that are not met.
    pub fn require_trust(&self, subject: &CandidateBundle<'_>) -> Result<TrustedBundle> {
        let judged = self.judge_bundle(subject);
        if judged.is_trusted() {
            return Ok(TrustedBundle { until: judged.until, signers: self.find_signers(subject)? });
        }
        let about = subject.index.about();
        bail!(KnownFailure::Untrusted(format!(
            "`{} {}` is not trusted: {}",
            about.name,
            about.version,
            missed_requirements(&judged)
        )))
    }

    /// Returns the keys of the policies that made a statement about exactly this bundle.
    ///
    /// # Errors
    /// Never fails in practice: it would take a failed write of a key into memory.
    pub fn find_signers(&self, subject: &CandidateBundle<'_>) -> Result<BTreeSet<KeyId>> {
        let mut signers = BTreeSet::new();
        for (_, trust) in &self.all {
            signers.extend(trust.find_signers(subject)?);
        }
        Ok(signers)
    }

    /// Returns the names that the policies give to a signature's key, without duplicates, each with
    /// true if a policy revokes the key.
    #[must_use]
    pub fn keys_of(&self, signature: &Signature) -> BTreeMap<String, bool> {
        let mut keys = BTreeMap::new();
        for (name, revoked) in self.all.iter().flat_map(|(_, trust)| trust.keys_of(signature)) {
            *keys.entry(name.to_owned()).or_default() |= revoked;
        }
        keys
    }

    fn none(&self) -> Requirement {
        let looked: Vec<String> =
            self.looked.iter().map(|path| format!("`{}`", path.display())).collect();
        Requirement {
            what: "a trust policy".to_owned(),
            met: Err(format!("there is none: write {}", looked.join(" or "))),
        }
    }
}

/// Formats the requirements that are not met.
#[must_use]
pub fn missed_requirements(judged: &Judgement) -> String {
    let missed = judged
        .requirements
        .iter()
        .filter_map(|one| one.met.as_ref().err().map(|why| format!("{}: {why}", one.what)));
    missed.collect::<Vec<_>>().join("; ")
}

impl PolicyOwner {
    /// Returns its name for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Person => "person",
            Self::Fleet => "fleet",
            Self::Named => "named file",
        }
    }
}

/// Returns the path of the person's policy.
#[must_use]
pub fn of_person(places: &Paths) -> PathBuf {
    places.config.join(TRUST_FILE)
}

/// Returns the path of the organisation's policy, next to its configuration.
#[must_use]
pub fn of_organisation(places: &Paths) -> PathBuf {
    places.managed.with_file_name(TRUST_FILE)
}
