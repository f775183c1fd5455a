//! Whom to believe about which bundles: `trust.toml`, and what it makes of a bundle.
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
//! vetters = ["acme-security"]           # and, where there are any, one of these vetted it: another key than signed it
//! vetting_days = 180                    # no longer ago than that
//! registries = ["ghcr.io/acme/"]        # where it may come from; anywhere, unless said
//! grants = ["hosts"]                    # what its plugins may ask for; nothing, unless said
//!
//! [revoked]
//! digests = ["sha256:..."]              # of indexes and of components
//! keys = ["acme-release-2025"]
//! ```
//!
//! A bundle that no rule holds for is not trusted. Of several rules the most exact one holds. Where there are two
//! policies, an organisation's and a person's, both have to be met: so none can weaken the other.

use crate::about::About;
use crate::digest::Digest;
use crate::envelope::Signature;
use crate::index::Index;
use crate::key::{KeyError, KeyId, PublicKey};
use crate::name::{Name, Scope};
use crate::shown::shown;
use crate::statement::Statement;
use crate::toml_text::{self, Wrong};
use semver::Version;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// A policy.
#[derive(Clone, Debug)]
pub struct Trust {
    keys: BTreeMap<String, PublicKey>,
    rules: Vec<Rule>,
    revoked: Revoked,
    /// Keys that do not count, whatever they are called.
    gone: Vec<PublicKey>,
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// No TOML, or a key that nobody knows.
    #[error("line {line}: {what}")]
    Malformed {
        /// From 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// It names what it does not have, or says something twice.
    #[error("{}", shown(.0))]
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
    revoked: Revoked,
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
    names: Vec<Scope>,
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
struct Revoked {
    #[serde(default)]
    digests: Vec<Digest>,
    #[serde(default)]
    keys: Vec<String>,
}

/// A bundle as it is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its index.
    pub index: &'a Index,
    /// What was signed of it.
    pub signatures: &'a [Signature],
    /// The registry and repository that it came from; none for an archive.
    pub from: Option<&'a str>,
    /// The version that is installed, where one is.
    pub installed: Option<&'a Version>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub now: u64,
}

/// What a policy makes of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Everything that was asked of it, in the order in which it was looked at.
    pub requirements: Vec<Requirement>,
    /// When what counts now stops to count at the earliest, in milliseconds since 1970-01-01T00:00:00Z: then it has to be
    /// judged again. None where nothing of it ends.
    pub until: Option<u64>,
}

/// One thing that is asked of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// What is asked, in words.
    pub what: String,
    /// How it is met, or why it is not.
    pub met: Result<String, String>,
}

impl Judgement {
    /// Whether all is met, and something was asked.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        !self.requirements.is_empty() && self.requirements.iter().all(|requirement| requirement.met.is_ok())
    }

    /// Both have to be met.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.requirements.extend(other.requirements);
        self.until = self.until.into_iter().chain(other.until).min();
        self
    }
}

impl Trust {
    /// Reads a policy.
    ///
    /// # Errors
    /// It is none, has a key that nobody knows, or contradicts itself.
    pub fn read(text: &str) -> Result<Self, TrustError> {
        let document: Document = toml_text::read(text).map_err(|Wrong { line, what }| TrustError::Malformed { line, what })?;
        let mut keys = BTreeMap::new();
        for key in document.key {
            let public =
                PublicKey::from_pem(key.public.trim()).map_err(|error| TrustError::Inconsistent(format!("key `{}`: {error}", key.name)))?;
            if keys.insert(key.name.clone(), public).is_some() {
                return Err(TrustError::Inconsistent(format!("two keys have the name `{}`", key.name)));
            }
        }
        let gone = document.revoked.keys.iter().filter_map(|name| keys.get(name)).cloned().collect();
        let trust = Self { keys, rules: document.rule, revoked: document.revoked, gone };
        trust.check()?;
        Ok(trust)
    }

    fn check(&self) -> Result<(), TrustError> {
        let wrong = |what: String| Err(TrustError::Inconsistent(what));
        if let Some(unknown) = self.revoked.keys.iter().find(|name| !self.keys.contains_key(*name)) {
            return wrong(format!("`[revoked]` names the key `{unknown}`, which is not there: without it nobody knows which key is meant"));
        }
        let mut scopes = BTreeSet::new();
        for rule in &self.rules {
            if rule.names.is_empty() || rule.publishers.is_empty() {
                return wrong("a rule needs `names` and `publishers`: without them it would trust nobody, or nothing".to_owned());
            }
            if let Some(unknown) = rule.publishers.iter().chain(&rule.vetters).find(|name| !self.keys.contains_key(*name)) {
                return wrong(format!("a rule names the key `{unknown}`, which is not there"));
            }
            if rule.vetting_days.is_some() && rule.vetters.is_empty() {
                return wrong("`vetting_days` says how old a vetting may be, but there are no `vetters`".to_owned());
            }
            if let Some(open) = rule.registries.iter().find(|registry| !registry.ends_with('/')) {
                return wrong(format!("`registries`: `{open}` has to end with `/`, or it would hold for others that begin so"));
            }
            for scope in &rule.names {
                if !scopes.insert(scope.to_string()) {
                    return wrong(format!("two rules are for `{scope}`"));
                }
            }
        }
        Ok(())
    }

    /// The rule that holds for a name: of several the most exact.
    fn rule(&self, name: &Name) -> Option<&Rule> {
        let holding = self.rules.iter().flat_map(|rule| rule.names.iter().map(move |scope| (scope, rule)));
        holding
            .filter(|(scope, _)| scope.holds_for(name))
            .max_by_key(|(scope, _)| (matches!(scope, Scope::Exact(_)), scope.to_string().len()))
            .map(|(_, rule)| rule)
    }

    /// Whether it has a rule. One that has none only revokes: alone it trusts nobody, beside another it needs no rule of
    /// its own.
    #[must_use]
    pub const fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// The keys that are revoked here.
    #[must_use]
    pub fn revoked_keys(&self) -> &[PublicKey] {
        &self.gone
    }

    /// Has keys count for nothing that another policy revokes, whatever they are called here.
    pub fn revoke_keys(&mut self, keys: &[PublicKey]) {
        self.gone.extend_from_slice(keys);
    }

    /// Whether a bundle is revoked: the part of [`Trust::judge`] that needs no rule.
    #[must_use]
    pub fn revokes(&self, index: &Index) -> Requirement {
        self.not_revoked(index)
    }

    /// Holds a bundle against the policy.
    #[must_use]
    pub fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let about = subject.index.about();
        let mut requirements = vec![self.not_revoked(subject.index)];
        let Some(rule) = self.rule(&about.name) else {
            let what = format!("a rule for `{}`", about.name);
            requirements.push(Requirement { what, met: Err("there is none, so nobody is trusted with that name".to_owned()) });
            return Judgement { requirements, until: None };
        };
        let said = self.said(subject);
        let publisher = signer(&said, &rule.publishers, subject.now, |statement| statement.vetting.is_none(), |_| true);
        let mut ends: Vec<u64> = publisher.iter().filter_map(|(_, statement)| statement.expires).collect();
        let publisher = publisher.map(|(key, _)| key.to_owned());
        requirements.push(Requirement { what: format!("signed by {}", any_of(&rule.publishers)), met: publisher.clone() });
        if !rule.vetters.is_empty() {
            let lasts = rule.vetting_days.map(|days| u64::from(days).saturating_mul(DAY));
            let oldest = lasts.map(|lasts| subject.now.saturating_sub(lasts));
            let fresh = |statement: &Statement| {
                statement
                    .vetting
                    .as_ref()
                    .is_some_and(|vetting| vetting.at <= subject.now && oldest.is_none_or(|oldest| vetting.at >= oldest))
            };
            let publisher = publisher.as_deref().unwrap_or_default();
            // One person with two names vets nothing: it takes another key than the publisher's.
            let same = |name: &str| self.keys.get(name).is_none_or(|key| Some(key) == self.keys.get(publisher));
            let met = signer(&said, &rule.vetters, subject.now, fresh, |name| !same(name));
            ends.extend(met.iter().filter_map(|(_, statement)| statement.expires));
            let vetted = met.iter().filter_map(|(_, statement)| Some(statement.vetting.as_ref()?.at));
            ends.extend(vetted.zip(lasts).map(|(at, lasts)| at.saturating_add(lasts).saturating_add(1)));
            let by_vetter = |key: &str| rule.vetters.iter().any(|name| name == key);
            let in_time = said.iter().any(|(key, statement)| by_vetter(key) && fresh(statement));
            let late = if in_time { None } else { stale(&said, &rule.vetters, subject.now) };
            let met = met.map(|(key, _)| key.to_owned()).map_err(|why| late.unwrap_or(why));
            let since = rule.vetting_days.map_or_else(String::new, |days| format!(" in the last {days} days"));
            requirements.push(Requirement {
                what: format!("vetted by {}{since}, with another key than it is signed by", any_of(&rule.vetters)),
                met,
            });
        }
        requirements.extend(from_allowed(rule, subject.from));
        requirements.push(grants_allowed(rule, about));
        requirements.extend(subject.installed.map(|installed| Requirement {
            what: format!("no version before the installed {installed}"),
            met: if about.version >= *installed { Ok(format!("it is {}", about.version)) } else { Err(format!("it is {}", about.version)) },
        }));
        Judgement { requirements, until: ends.into_iter().min() }
    }

    /// The keys of the policy that are not revoked and that said something of this very index.
    ///
    /// # Errors
    /// Never in practice: writing a public key into memory failed.
    pub fn signers(&self, subject: &Subject<'_>) -> Result<BTreeSet<KeyId>, KeyError> {
        let keys: BTreeSet<&str> = self.said(subject).into_iter().map(|(key, _)| key).collect();
        keys.into_iter().filter_map(|key| self.keys.get(key)).map(PublicKey::id).collect()
    }

    /// The keys of the policy whose signature this is, and whether they are revoked: more than one where the policy has one
    /// key under two names.
    pub fn keys_of(&self, signature: &Signature) -> impl Iterator<Item = (&str, bool)> {
        let signed = self.keys.iter().filter(move |(_, public)| signature.statement(public).is_ok());
        signed.map(|(name, public)| (name.as_str(), self.gone.contains(public)))
    }

    fn not_revoked(&self, index: &Index) -> Requirement {
        let all = std::iter::once(index.digest()).chain(index.about().components.iter().map(|component| component.digest));
        let all = all.chain(index.manifests().iter().map(|manifest| manifest.digest));
        let revoked = all.into_iter().find(|digest| self.revoked.digests.contains(digest));
        let met = revoked.map_or_else(|| Ok("none of its digests is".to_owned()), |digest| Err(format!("{digest} is revoked")));
        Requirement { what: "not revoked".to_owned(), met }
    }

    /// What keys of the policy that are not revoked say of this very index, by key.
    fn said<'a>(&'a self, subject: &Subject<'_>) -> Vec<(&'a str, Statement)> {
        let (digest, name) = (subject.index.digest(), subject.index.about().name.as_str());
        let keys = self.keys.iter().filter(|(_, public)| !self.gone.contains(public));
        keys.flat_map(|(key, public)| {
            let statements = subject.signatures.iter().filter_map(move |signature| signature.statement(public).ok());
            statements
                .filter(move |statement| statement.digest == digest && statement.name == name)
                .map(move |statement| (key.as_str(), statement))
        })
        .collect()
    }
}

/// When these keys vetted it, where they did, but not when it counts.
fn stale(said: &[(&str, Statement)], vetters: &[String], now: u64) -> Option<String> {
    let theirs = said.iter().filter(|(key, _)| vetters.iter().any(|name| name == key));
    let lasting = theirs.filter(|(_, statement)| statement.expires.is_none_or(|end| now < end));
    let at = lasting.filter_map(|(_, statement)| Some(statement.vetting.as_ref()?.at)).max()?;
    match now.checked_sub(at) {
        None => Some("they did at a time that is still to come".to_owned()),
        Some(ago) if ago >= DAY => Some(format!("they did {} days ago", ago / DAY)),
        Some(_) => None,
    }
}

/// The first of these keys that says so, and still does, and what it says.
fn signer<'a>(
    said: &'a [(&'a str, Statement)],
    wanted: &[String],
    now: u64,
    says: impl Fn(&Statement) -> bool,
    may: impl Fn(&str) -> bool,
) -> Result<(&'a str, &'a Statement), String> {
    let theirs = || said.iter().filter(|(key, statement)| wanted.iter().any(|name| name == key) && says(statement));
    if theirs().next().is_none() {
        return Err("none of them did, of this very bundle".to_owned());
    }
    let lasting = || theirs().filter(|(_, statement)| statement.expires.is_none_or(|end| now < end));
    if lasting().next().is_none() {
        return Err("what they said has expired".to_owned());
    }
    lasting()
        .find(|(key, _)| may(key))
        .map(|(key, statement)| (*key, statement))
        .ok_or_else(|| "only the key did that it is signed by".to_owned())
}

fn from_allowed(rule: &Rule, from: Option<&str>) -> Option<Requirement> {
    let from = from.filter(|_| !rule.registries.is_empty())?;
    // With its end, so that a rule can name one repository.
    let folder = format!("{from}/");
    let met = if rule.registries.iter().any(|registry| folder.starts_with(registry.as_str())) {
        Ok(from.to_owned())
    } else {
        Err(format!("it is from {from}"))
    };
    Some(Requirement { what: format!("from {}", any_of(&rule.registries)), met })
}

fn grants_allowed(rule: &Rule, about: &About) -> Requirement {
    let asked: BTreeSet<&str> = about.components.iter().flat_map(|component| &component.wants.grants).map(String::as_str).collect();
    let wide = asked.iter().find(|grant| !rule.grants.iter().any(|allowed| grant_key(grant) == allowed));
    let what =
        if rule.grants.is_empty() { "asks for no grant".to_owned() } else { format!("asks for no grant but {}", rule.grants.join(", ")) };
    let met = wide.map_or_else(
        || Ok(if asked.is_empty() { "it asks for none".to_owned() } else { asked.iter().copied().collect::<Vec<_>>().join(", ") }),
        |grant| Err(format!("it asks for `{grant}`")),
    );
    Requirement { what, met }
}

/// The key of a line of grants: `hosts` of `hosts = ["https://HOST"]`.
#[must_use]
pub fn grant_key(line: &str) -> &str {
    line.split(['=', ' ']).next().unwrap_or_default()
}

fn any_of(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}
