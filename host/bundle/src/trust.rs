//! The trust policy `trust.toml`, and its judgement of a bundle.
//!
//! ```toml
//! [[key]]
//! name = "acme-release"
//! public = """
//! -----BEGIN PUBLIC KEY-----
//! ...
//! """
//!
//! [[rule]]
//! names = ["acme/"]                     # one name, or all below a prefix that ends with `/`
//! publishers = ["acme-release"]         # one of these signed it
//! vetters = ["acme-security"]           # one of these vetted it, with another key; optional
//! vetting_days = 180                    # within this many days
//! registries = ["ghcr.io/acme/"]        # allowed sources; any by default
//! grants = ["hosts"]                    # grants that its plugins may request; none by default
//!
//! [[index]]                             # a list of bundles, in the order of precedence
//! name = "acme/index"
//! signers = ["acme-index"]              # one of these signed it
//! names = ["acme/"]                     # the bundles that it may list
//! source = "ghcr.io/acme/index"         # or a path on this machine
//!
//! [revoked]
//! digests = ["sha256:..."]              # of indexes and of components
//! keys = ["acme-release-2025"]
//! ```
//!
//! A bundle that no rule covers is not trusted. If several rules cover it, the most specific one
//! applies. If there are two policies, an organisation's and a person's, both have to be met, so
//! that neither can weaken the other.

use crate::digest::Digest;
use crate::display::display_line;
use crate::envelope::Signature;
use crate::index::BundleIndex;
use crate::indexes::{CandidateIndex, ListedVersion, TrustedIndex, judge_index};
use crate::judgement::{Judgement, Requirement};
use crate::key::{KeyError, KeyId, PublicKey};
use crate::name::{BundleName, NameScope};
use crate::statement::{Statement, Vetting};
use crate::toml_text::{self, TomlError};
use semver::Version;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// A trust policy.
#[derive(Clone, Debug)]
pub struct TrustPolicy {
    keys: BTreeMap<String, PublicKey>,
    rules: Vec<Rule>,
    indexes: Vec<TrustedIndex>,
    revoked: RevokedItems,
    /// Revoked keys, under any name.
    gone: Vec<PublicKey>,
}

/// The reasons why a text is not a valid policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// It is not TOML, or has an unknown key.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// It refers to something it does not define, or defines something twice.
    #[error("{}", display_line(.0))]
    Inconsistent(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    key: Vec<Key>,
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    index: Vec<TrustedIndex>,
    #[serde(default)]
    revoked: RevokedItems,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    name: String,
    public: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    names: Vec<NameScope>,
    publishers: Vec<String>,
    #[serde(default)]
    vetters: Vec<String>,
    vetting_days: Option<u32>,
    #[serde(default)]
    registries: Vec<String>,
    #[serde(default)]
    grants: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokedItems {
    #[serde(default)]
    digests: Vec<Digest>,
    #[serde(default)]
    keys: Vec<String>,
}

/// A bundle to be judged.
#[derive(Clone, Copy, Debug)]
pub struct CandidateBundle<'a> {
    /// Its index.
    pub index: &'a BundleIndex,
    /// Its signatures.
    pub signatures: &'a [Signature],
    /// The registry and repository that it came from; `None` for an archive.
    pub from: Option<&'a str>,
    /// The installed version, if there is one.
    pub installed: Option<&'a Version>,
    /// The current time, in milliseconds since 1970-01-01T00:00:00Z.
    pub now: u64,
}

/// The facts of a bundle that a judgement rests on, besides the statements about it.
struct BundleFacts<'a> {
    name: &'a BundleName,
    version: &'a Version,
    /// Those of the bundle, its components and their manifests.
    digests: Vec<Digest>,
    grants: BTreeSet<&'a str>,
    from: Option<&'a str>,
    installed: Option<&'a Version>,
    now: u64,
}

impl TrustPolicy {
    /// Reads a policy.
    ///
    /// # Errors
    /// Fails if it is not a policy, has an unknown key, or contradicts itself.
    pub fn parse_policy(text: &str) -> Result<Self, TrustError> {
        let document: Document = toml_text::read(text)
            .map_err(|TomlError { line, what }| TrustError::Malformed { line, what })?;
        let mut keys = BTreeMap::new();
        for key in document.key {
            let public = PublicKey::from_pem(key.public.trim()).map_err(|error| {
                TrustError::Inconsistent(format!("key `{}`: {error}", key.name))
            })?;
            if keys.insert(key.name.clone(), public).is_some() {
                return Err(TrustError::Inconsistent(format!(
                    "two keys have the name `{}`",
                    key.name
                )));
            }
        }
        let gone =
            document.revoked.keys.iter().filter_map(|name| keys.get(name)).cloned().collect();
        let trust = Self {
            keys,
            rules: document.rule,
            indexes: document.index,
            revoked: document.revoked,
            gone,
        };
        trust.check()?;
        Ok(trust)
    }

    fn check(&self) -> Result<(), TrustError> {
        let wrong = |what: String| Err(TrustError::Inconsistent(what));
        if let Some(unknown) = self.revoked.keys.iter().find(|name| !self.keys.contains_key(*name))
        {
            return wrong(format!(
                "`[revoked]` names the key `{unknown}`, which this policy does not have: add the \
                 key, or remove the name"
            ));
        }
        let mut scopes = BTreeSet::new();
        for rule in &self.rules {
            if rule.names.is_empty() || rule.publishers.is_empty() {
                return wrong(
                    "a rule needs `names` and `publishers`: without them it would trust \
                     nobody, or nothing"
                        .to_owned(),
                );
            }
            if let Some(unknown) = rule
                .publishers
                .iter()
                .chain(&rule.vetters)
                .find(|name| !self.keys.contains_key(*name))
            {
                return wrong(format!(
                    "a rule names the key `{unknown}`, which this policy does not have"
                ));
            }
            if rule.vetting_days.is_some() && rule.vetters.is_empty() {
                return wrong(
                    "`vetting_days` says how old a vetting may be, but there are no `vetters`"
                        .to_owned(),
                );
            }
            if let Some(open) = rule.registries.iter().find(|registry| !registry.ends_with('/')) {
                return wrong(format!(
                    "`registries`: `{open}` must end with `/`, or it would match other registries \
                     with the same beginning"
                ));
            }
            for scope in &rule.names {
                if !scopes.insert(scope.to_string()) {
                    return wrong(format!("two rules are for `{scope}`"));
                }
            }
        }
        for (at, index) in self.indexes.iter().enumerate() {
            index.check_keys(&self.keys).map_err(TrustError::Inconsistent)?;
            if self.indexes.iter().take(at).any(|other| other.name() == index.name()) {
                return wrong(format!("two indexes have the name `{}`", index.name()));
            }
        }
        Ok(())
    }

    /// Returns the rule for a name: the most specific one that covers it.
    fn rule(&self, name: &BundleName) -> Option<&Rule> {
        let holding =
            self.rules.iter().flat_map(|rule| rule.names.iter().map(move |scope| (scope, rule)));
        holding
            .filter(|(scope, _)| scope.holds_for(name))
            .max_by_key(|(scope, _)| {
                (matches!(scope, NameScope::Exact(_)), scope.to_string().len())
            })
            .map(|(_, rule)| rule)
    }

    /// Returns true if it has a rule. A policy without rules only revokes: alone it trusts nobody,
    /// and next to another policy it needs no rule of its own.
    #[must_use]
    pub const fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns the keys that are revoked here.
    #[must_use]
    pub fn revoked_keys(&self) -> &[PublicKey] {
        &self.gone
    }

    /// Revokes keys that another policy revokes, under any name that they have here.
    pub fn revoke_keys(&mut self, keys: &[PublicKey]) {
        self.gone.extend_from_slice(keys);
    }

    /// Returns its indexes of bundles, in the order of precedence. A policy without any does not
    /// restrict those of another.
    #[must_use]
    pub fn indexes(&self) -> &[TrustedIndex] {
        &self.indexes
    }

    /// Judges an index of bundles by the policy's entry for `name`, the name under which it was
    /// asked for.
    #[must_use]
    pub fn judge_index(&self, name: &BundleName, subject: &CandidateIndex<'_>) -> Judgement {
        match self.indexes.iter().find(|index| index.name() == name) {
            Some(index) => judge_index(index, &self.keys, &self.gone, subject),
            None => Judgement {
                requirements: vec![Requirement {
                    what: format!("an `[[index]]` for `{name}`"),
                    met: Err("there is none, though there are others".to_owned()),
                }],
                until: None,
            },
        }
    }

    /// Checks whether a bundle is revoked: the part of [`TrustPolicy::judge_bundle`] that needs no
    /// rule.
    #[must_use]
    pub fn check_revocation(&self, index: &BundleIndex) -> Requirement {
        self.not_revoked(&Self::digests(index))
    }

    /// Checks whether a version that an index lists is revoked.
    #[must_use]
    pub fn check_listed_revocation(&self, listed: &ListedVersion) -> Requirement {
        self.not_revoked(&Self::listed_digests(listed))
    }

    /// Judges a version that an index lists by what the index says of it, as if the signatures and
    /// vettings were as listed. It is a forecast for people: an installation judges the bundle
    /// itself.
    #[must_use]
    pub fn preview_bundle(
        &self,
        name: &BundleName,
        listed: &ListedVersion,
        installed: Option<&Version>,
        now: u64,
    ) -> Judgement {
        let facts = BundleFacts {
            name,
            version: &listed.version,
            digests: Self::listed_digests(listed),
            grants: listed.grants.iter().map(String::as_str).collect(),
            from: Some(&listed.reference),
            installed,
            now,
        };
        let statement = |expires, vetting| Statement {
            name: name.to_string(),
            digest: listed.digest,
            expires,
            vetting,
        };
        let signed = listed.signatures.iter().map(|one| (one.key, statement(one.expires, None)));
        let vetted = listed.vettings.iter().map(|one| {
            let (reviewer, results) = (one.reviewer.clone(), serde_json::Value::Null);
            let vetting = Vetting { reviewer, at: one.at, results };
            (one.key, statement(one.expires, Some(vetting)))
        });
        let claims: Vec<(KeyId, Statement)> = signed.chain(vetted).collect();
        let keys = self.keys.iter().filter(|(_, public)| !self.gone.contains(public));
        let said = keys.flat_map(|(key, public)| {
            let id = public.id().ok();
            let theirs = claims.iter().filter(move |(by, _)| Some(*by) == id);
            theirs.map(move |(_, statement)| (key.as_str(), statement.clone()))
        });
        self.judge_facts(&facts, &said.collect::<Vec<_>>())
    }

    /// Judges a bundle by the policy.
    #[must_use]
    pub fn judge_bundle(&self, subject: &CandidateBundle<'_>) -> Judgement {
        let about = subject.index.about();
        let grants = about.components.iter().flat_map(|component| &component.wants.grants);
        let facts = BundleFacts {
            name: &about.name,
            version: &about.version,
            digests: Self::digests(subject.index),
            grants: grants.map(String::as_str).collect(),
            from: subject.from,
            installed: subject.installed,
            now: subject.now,
        };
        self.judge_facts(&facts, &self.said(subject))
    }

    fn judge_facts(&self, subject: &BundleFacts<'_>, said: &[(&str, Statement)]) -> Judgement {
        let mut requirements = vec![self.not_revoked(&subject.digests)];
        let Some(rule) = self.rule(subject.name) else {
            let what = format!("a rule for `{}`", subject.name);
            requirements.push(Requirement {
                what,
                met: Err("there is none, so nobody is trusted with that name".to_owned()),
            });
            return Judgement { requirements, until: None };
        };
        let publisher = signer(
            said,
            &rule.publishers,
            subject.now,
            |statement| statement.vetting.is_none(),
            |_| true,
        );
        let mut ends: Vec<u64> =
            publisher.iter().filter_map(|(_, statement)| statement.expires).collect();
        let publisher = publisher.map(|(key, _)| key.to_owned());
        requirements.push(Requirement {
            what: format!("signed by {}", any_of(&rule.publishers)),
            met: publisher.clone(),
        });
        if !rule.vetters.is_empty() {
            let lasts = rule.vetting_days.map(|days| u64::from(days).saturating_mul(DAY));
            let oldest = lasts.map(|lasts| subject.now.saturating_sub(lasts));
            let fresh = |statement: &Statement| {
                statement.vetting.as_ref().is_some_and(|vetting| {
                    vetting.at <= subject.now && oldest.is_none_or(|oldest| vetting.at >= oldest)
                })
            };
            let publisher = publisher.as_deref().unwrap_or_default();
            // A key under two names is still one person: vetting takes another key than the
            // publisher's.
            let same = |name: &str| {
                self.keys.get(name).is_none_or(|key| Some(key) == self.keys.get(publisher))
            };
            let met = signer(said, &rule.vetters, subject.now, fresh, |name| !same(name));
            ends.extend(met.iter().filter_map(|(_, statement)| statement.expires));
            let vetted =
                met.iter().filter_map(|(_, statement)| Some(statement.vetting.as_ref()?.at));
            ends.extend(
                // The vetting still counts at the last millisecond of its days.
                vetted.zip(lasts).map(|(at, lasts)| at.saturating_add(lasts).saturating_add(1)),
            );
            let by_vetter = |key: &str| rule.vetters.iter().any(|name| name == key);
            let in_time = said.iter().any(|(key, statement)| by_vetter(key) && fresh(statement));
            let late = if in_time { None } else { stale(said, &rule.vetters, subject.now) };
            let met = met.map(|(key, _)| key.to_owned()).map_err(|why| late.unwrap_or(why));
            let since = rule.vetting_days.map_or_else(String::new, |days| {
                format!(" in the last {}", days_in_words(days.into()))
            });
            requirements.push(Requirement {
                what: format!(
                    "vetted by {}{since}, with another key than it is signed by",
                    any_of(&rule.vetters)
                ),
                met,
            });
        }
        requirements.extend(from_allowed(rule, subject.from));
        requirements.push(grants_allowed(rule, &subject.grants));
        requirements.extend(subject.installed.map(|installed| Requirement {
            what: format!("no version before the installed {installed}"),
            met: if subject.version >= installed {
                Ok(format!("it is {}", subject.version))
            } else {
                Err(format!("it is {}", subject.version))
            },
        }));
        Judgement { requirements, until: ends.into_iter().min() }
    }

    /// Returns the keys of the policy that are not revoked and that made a statement about exactly
    /// this index.
    ///
    /// # Errors
    /// Fails only if a public key cannot be written to memory, which does not happen in practice.
    pub fn find_signers(&self, subject: &CandidateBundle<'_>) -> Result<BTreeSet<KeyId>, KeyError> {
        let keys: BTreeSet<&str> = self.said(subject).into_iter().map(|(key, _)| key).collect();
        keys.into_iter().filter_map(|key| self.keys.get(key)).map(PublicKey::id).collect()
    }

    /// Returns the keys of the policy that made this signature, and whether they are revoked; there
    /// is more than one if the policy lists a key under two names.
    pub fn keys_of(&self, signature: &Signature) -> impl Iterator<Item = (&str, bool)> {
        let signed =
            self.keys.iter().filter(move |(_, public)| signature.verify_statement(public).is_ok());
        signed.map(|(name, public)| (name.as_str(), self.gone.contains(public)))
    }

    fn not_revoked(&self, digests: &[Digest]) -> Requirement {
        let revoked = digests.iter().find(|digest| self.revoked.digests.contains(digest));
        let met = revoked.map_or_else(
            || Ok("none of its digests is revoked".to_owned()),
            |digest| Err(format!("{digest} is revoked")),
        );
        Requirement { what: "revocation".to_owned(), met }
    }

    fn digests(index: &BundleIndex) -> Vec<Digest> {
        let components = index.about().components.iter().map(|component| component.digest);
        let manifests = index.manifests().iter().map(|manifest| manifest.digest);
        std::iter::once(index.digest()).chain(components).chain(manifests).collect()
    }

    fn listed_digests(listed: &ListedVersion) -> Vec<Digest> {
        let components = listed.plugins.iter().map(|plugin| plugin.digest);
        std::iter::once(listed.digest).chain(components).collect()
    }

    /// Returns the statements about exactly this index by keys of the policy that are not revoked,
    /// with the keys.
    fn said<'a>(&'a self, subject: &CandidateBundle<'_>) -> Vec<(&'a str, Statement)> {
        let (digest, name) = (subject.index.digest(), subject.index.about().name.as_str());
        let keys = self.keys.iter().filter(|(_, public)| !self.gone.contains(public));
        keys.flat_map(|(key, public)| {
            let statements = subject
                .signatures
                .iter()
                .filter_map(move |signature| signature.verify_statement(public).ok());
            statements
                .filter(move |statement| statement.digest == digest && statement.name == name)
                .map(move |statement| (key.as_str(), statement))
        })
        .collect()
    }
}

/// Explains when these keys vetted the bundle, if that was too long ago or is in the future.
fn stale(said: &[(&str, Statement)], vetters: &[String], now: u64) -> Option<String> {
    let theirs = said.iter().filter(|(key, _)| vetters.iter().any(|name| name == key));
    let lasting = theirs.filter(|(_, statement)| statement.expires.is_none_or(|end| now < end));
    let at = lasting.filter_map(|(_, statement)| Some(statement.vetting.as_ref()?.at)).max()?;
    match now.checked_sub(at) {
        None => Some("the statement is dated in the future".to_owned()),
        Some(ago) if ago >= DAY => Some(format!("vetted {} ago", days_in_words(ago / DAY))),
        Some(_) => None,
    }
}

fn days_in_words(days: u64) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}

/// Returns the first of these keys with a matching statement that has not expired, and that
/// statement.
fn signer<'a>(
    said: &'a [(&'a str, Statement)],
    wanted: &[String],
    now: u64,
    says: impl Fn(&Statement) -> bool,
    may: impl Fn(&str) -> bool,
) -> Result<(&'a str, &'a Statement), String> {
    let theirs = || {
        said.iter()
            .filter(|(key, statement)| wanted.iter().any(|name| name == key) && says(statement))
    };
    if theirs().next().is_none() {
        return Err("none of them made a statement about this bundle".to_owned());
    }
    let lasting =
        || theirs().filter(|(_, statement)| statement.expires.is_none_or(|end| now < end));
    if lasting().next().is_none() {
        return Err("the statement has expired".to_owned());
    }
    lasting()
        .find(|(key, _)| may(key))
        .map(|(key, statement)| (*key, statement))
        .ok_or_else(|| "vetted only with the signing key".to_owned())
}

fn from_allowed(rule: &Rule, from: Option<&str>) -> Option<Requirement> {
    let from = from.filter(|_| !rule.registries.is_empty())?;
    // With a trailing `/`, so that a rule can name one repository.
    let folder = format!("{from}/");
    let met = if rule.registries.iter().any(|registry| folder.starts_with(registry.as_str())) {
        Ok(from.to_owned())
    } else {
        Err(format!("it is from {from}"))
    };
    Some(Requirement { what: format!("from {}", any_of(&rule.registries)), met })
}

fn grants_allowed(rule: &Rule, asked: &BTreeSet<&str>) -> Requirement {
    let wide =
        asked.iter().find(|grant| !rule.grants.iter().any(|allowed| grant_key(grant) == allowed));
    let what = if rule.grants.is_empty() {
        "asks for no grant".to_owned()
    } else {
        format!("asks for no grant but {}", rule.grants.join(", "))
    };
    let met = wide.map_or_else(
        || {
            Ok(if asked.is_empty() {
                "it asks for none".to_owned()
            } else {
                asked.iter().copied().collect::<Vec<_>>().join(", ")
            })
        },
        |grant| Err(format!("it asks for `{grant}`")),
    );
    Requirement { what, met }
}

/// Returns the key of a grant line: `hosts` of `hosts = ["https://HOST"]`.
#[must_use]
pub fn grant_key(line: &str) -> &str {
    line.split(['=', ' ']).next().unwrap_or_default()
}

fn any_of(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}
