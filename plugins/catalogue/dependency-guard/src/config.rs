//! The settings.

use crate::ecosystems::Ecosystem;
use crate::globs::matches_glob;
use portcullis_plugin::risk_calculator::{Error, FromSettings, Settings, Spec};

/// How strictly a rule objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Not at all.
    Off,
    /// The action runs, with a warning.
    Warn,
    /// A person decides.
    Ask,
    /// The action does not run.
    Block,
}

/// The settings.
#[derive(Debug)]
pub struct Config {
    /// Names that look like popular ones.
    pub near_name: Strictness,
    /// Packages from an address or an archive.
    pub source: Strictness,
    /// Other registries.
    pub registry: Strictness,
    /// Install scripts.
    pub scripts: Strictness,
    /// Checks of versions that are passed over.
    pub forced: Strictness,
    /// Checks of downloads that are turned off.
    pub unverified: Strictness,
    /// Lock files that go.
    pub lock_file: Strictness,
    /// Versions that are not fixed.
    pub unpinned: Strictness,
    /// Packages that only the run knows.
    pub unread: Strictness,
    /// Names that are never objected to.
    pub allow: Vec<String>,
    /// Names that are always blocked.
    pub deny: Vec<String>,
    /// Only allowed names may be added.
    pub only_allowed: bool,
    /// Registries that are accepted.
    pub registries: Vec<String>,
    /// Addresses of packages that are accepted.
    pub sources: Vec<String>,
}

/// The most entries of a list.
const MOST_ENTRIES: usize = 500;

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::text(
            "near_name",
            "ask",
            "a name that looks like a popular one: off, warn, ask or block",
        ),
        Spec::text(
            "source",
            "ask",
            "a package from an address, a repository or an archive outside the project",
        ),
        Spec::text("registry", "ask", "packages from another registry than the public one"),
        Spec::text("scripts", "ask", "install scripts are turned on"),
        Spec::text("forced", "warn", "conflicts between versions are passed over, as by --force"),
        Spec::text("unverified", "ask", "checks of what is downloaded are turned off"),
        Spec::text("lock_file", "ask", "a lock file is deleted or left out"),
        Spec::text("unpinned", "off", "a version that is not fixed"),
        Spec::text("unread", "warn", "packages that only the run knows"),
        Spec::texts(
            "allow",
            &[],
            "names that are never objected to; * and ? stand for other characters, npm:NAME for one ecosystem",
        ),
        Spec::texts("deny", &[], "names that are always blocked, written as in allow"),
        Spec::flag("only_allowed", false, "ask about each package whose name is not in allow"),
        Spec::texts("registries", &[], "registries that are accepted: a host, or host/path with *"),
        Spec::texts(
            "sources",
            &[],
            "addresses of packages that are accepted: a host, or host/path with *",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            near_name: read_strictness(settings, "near_name")?,
            source: read_strictness(settings, "source")?,
            registry: read_strictness(settings, "registry")?,
            scripts: read_strictness(settings, "scripts")?,
            forced: read_strictness(settings, "forced")?,
            unverified: read_strictness(settings, "unverified")?,
            lock_file: read_strictness(settings, "lock_file")?,
            unpinned: read_strictness(settings, "unpinned")?,
            unread: read_strictness(settings, "unread")?,
            allow: read_names(settings, "allow")?,
            deny: read_names(settings, "deny")?,
            only_allowed: settings.flag("only_allowed")?,
            registries: read_list(settings, "registries")?,
            sources: read_list(settings, "sources")?,
        })
    }
}

impl Config {
    /// Returns true if a name is in `allow`.
    pub fn allows(&self, ecosystem: Ecosystem, name: &str) -> bool {
        is_listed(&self.allow, ecosystem, name)
    }

    /// Returns true if a name is in `deny`.
    pub fn denies(&self, ecosystem: Ecosystem, name: &str) -> bool {
        is_listed(&self.deny, ecosystem, name)
    }
}

fn is_listed(patterns: &[String], ecosystem: Ecosystem, name: &str) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let name = ecosystem.normalise(name);
    !name.is_empty()
        && patterns.iter().any(|pattern| match split_pattern(pattern) {
            (Some(of), rest) => of == ecosystem && matches_glob(rest, &name),
            (None, rest) => matches_glob(rest, &name),
        })
}

/// Returns the ecosystem that a pattern names, and the rest of it.
fn split_pattern(pattern: &str) -> (Option<Ecosystem>, &str) {
    let Some((prefix, rest)) = pattern.split_once(':') else { return (None, pattern) };
    let of = Ecosystem::ALL.into_iter().find(|ecosystem| ecosystem.as_str() == prefix);
    if of.is_some() { (of, rest) } else { (None, pattern) }
}

fn read_strictness(settings: &Settings, key: &str) -> Result<Strictness, Error> {
    match settings.text(key)? {
        "off" => Ok(Strictness::Off),
        "warn" => Ok(Strictness::Warn),
        "ask" => Ok(Strictness::Ask),
        "block" => Ok(Strictness::Block),
        _ => Err(Error::setting(key, "should be off, warn, ask or block")),
    }
}

fn read_list(settings: &Settings, key: &str) -> Result<Vec<String>, Error> {
    let list = settings.texts(key)?;
    if list.len() > MOST_ENTRIES {
        return Err(Error::setting(key, "should have at most 500 entries"));
    }
    if list.iter().any(|entry| entry.trim().is_empty()) {
        return Err(Error::setting(key, "should have no empty entry"));
    }
    Ok(list.to_vec())
}

fn read_names(settings: &Settings, key: &str) -> Result<Vec<String>, Error> {
    let names = read_list(settings, key)?;
    let unknown = names.iter().find_map(|name| {
        let (prefix, _) = name.split_once(':')?;
        split_pattern(name).0.is_none().then_some(prefix)
    });
    match unknown {
        Some(prefix) => {
            let known: Vec<&str> =
                Ecosystem::ALL.iter().map(|ecosystem| ecosystem.as_str()).collect();
            let reason = format!("{prefix} is no ecosystem; known are {}", known.join(", "));
            Err(Error::setting(key, &reason))
        }
        None => Ok(names),
    }
}
