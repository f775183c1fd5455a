//! From locks to plugins that may be loaded: each bundle read, hashed, held against its lock, its policies and its bytes.

use super::locks::{Texts, Wanted};
use super::policies::{Judged, Policies};
use super::receipt::{self, Pinned, Ran, Receipt};
use super::{SHELF, digest, locks, policies, told_truly};
use crate::config::file;
use crate::places::Places;
use crate::runtime::OURS;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Bundle, Name, Shelf, Signature, Subject, grant_key};
use portcullis_store::Home;

/// This program's.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Bytes of the list of what is installed.
const MOST_BYTES: u64 = 4 << 20;

/// Whether what is verified is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// For the next hook, and to miss it when it is gone.
    Kept,
    /// By who only looks: it must not change what a project has to run.
    None,
}

/// What a person agreed to that a hook would not.
#[derive(Debug, Default)]
pub struct Agreed {
    /// Bundles that may be gone, older, or others of their version.
    pub names: Vec<Name>,
    /// That what ran before is not known.
    pub unknown: bool,
}

/// The plugins of the bundles that are locked for a project. Where a receipt still holds, nothing is verified again.
///
/// # Errors
/// A lock, a policy or a receipt cannot be read; a bundle that is locked is not installed, not the one that was locked, or
/// not trusted; a bundle that ran here is not locked any more.
pub fn plugins(places: &Places, home: &Home, now: u64, memory: Memory) -> Result<Vec<Pinned>> {
    let locks = Texts::read(places)?;
    let known = receipt::around(home, places)?;
    if locks.is_empty() && known.iter().all(|known| known.bundles.is_empty()) {
        return Ok(Vec::new());
    }
    let place = receipt::place(places);
    let policies = policies::Texts::read(places)?;
    let stands_for = stands_for(places, &locks, &policies)?;
    let own = known.iter().find(|known| known.place == place && known.holds(&stands_for, now));
    let wanted = match own {
        // It was verified for these very locks; what ran around it may have changed since.
        Some(own) if known.iter().all(|other| other.place == place || other.bundles.iter().all(|ran| own.bundles.contains(ran))) => {
            return Ok(own.plugins.clone());
        }
        _ => locks.wanted()?,
    };
    nothing_is_lost(&known, &wanted, &Agreed::default())?;
    let receipt = verify(places, place, &wanted, &policies.parse()?, stands_for, now)?;
    let plugins = receipt.plugins.clone();
    if memory == Memory::Kept {
        receipt::write(home, receipt)?;
    }
    Ok(plugins)
}

/// Verifies the bundles of a project, and remembers that these run now, after what a person agreed to.
///
/// # Errors
/// As for [`plugins`].
pub fn anew(places: &Places, home: &Home, now: u64, agreed: &Agreed) -> Result<()> {
    let locks = Texts::read(places)?;
    let policies = policies::Texts::read(places)?;
    let stands_for = stands_for(places, &locks, &policies)?;
    let known = match receipt::around(home, places) {
        Err(_) if agreed.unknown => Vec::new(),
        known => known?,
    };
    let wanted = locks.wanted()?;
    nothing_is_lost(&known, &wanted, agreed)?;
    let receipt = verify(places, receipt::place(places), &wanted, &policies.parse()?, stands_for, now)?;
    receipt::write(home, receipt)
}

/// One bundle of the shelf, held against what is wanted: its bytes with what was made of them.
///
/// # Errors
/// It is not installed, or does not hold.
pub fn one(shelf: &Shelf, wanted: &Wanted, policies: &Policies, now: u64) -> Result<(Bundle, Vec<Signature>, Judged)> {
    let (name, by) = (&wanted.locked.name, wanted.by.display());
    let installed = shelf.installed()?.into_iter().find(|installed| installed.index.digest == wanted.locked.digest);
    let Some(installed) = installed else {
        bail!(
            "`{name} {}` ({}), which `{by}` locks, is not installed: run `portcullis bundle install`",
            wanted.locked.version,
            wanted.locked.digest
        )
    };
    let (bundle, signatures) = shelf.read(&installed).with_context(|| format!("`{name}` has to be installed again"))?;
    wanted.locked.holds(&bundle).with_context(|| format!("`{by}` does not hold"))?;
    let subject = Subject { index: bundle.index(), signatures: &signatures, from: installed.from.as_deref(), installed: None, now };
    let judged = policies.require(&subject).with_context(|| format!("`{by}` locks what does not run any more"))?;
    if let Some(stranger) = wanted.locked.signers.iter().find(|signer| !judged.signers.contains(signer)) {
        bail!("`{by}` says that {stranger} signed `{name}`, which no key of the trust policy did: run `portcullis bundle verify {name}`");
    }
    told_truly(&bundle)?;
    Ok((bundle, signatures, judged))
}

fn verify(places: &Places, place: String, wanted: &[Wanted], policies: &Policies, stands_for: blake3::Hash, now: u64) -> Result<Receipt> {
    let shelf = super::shelf(places)?;
    let mut receipt =
        Receipt { place, stands_for: stands_for.to_hex().to_string(), at: now, until: None, bundles: Vec::new(), plugins: Vec::new() };
    for wanted in wanted {
        let (bundle, _, judged) = one(&shelf, wanted, policies, now)?;
        receipt.until = receipt.until.into_iter().chain(judged.until).min();
        let about = bundle.about();
        receipt.bundles.push(Ran {
            name: about.name.clone(),
            version: about.version.clone(),
            digest: bundle.index().digest(),
            by: wanted.by.clone(),
        });
        for (component, plugin) in about.plugins() {
            let bytes = bundle.component(component).context("a component is missing")?;
            if about.name.as_str() == OURS && portcullis_builtin::find(&plugin.name).is_none() {
                bail!("`{}` holds a plugin `{}`, which this version of portcullis has not builtin: update both", about.name, plugin.name);
            }
            receipt.plugins.push(Pinned {
                bundle: about.name.to_string(),
                name: plugin.name.clone(),
                file: shelf.blob(component.digest),
                digest: blake3::hash(bytes).to_hex().to_string(),
                several: component.plugins.len() > 1,
                settings: plugin.settings.clone(),
                organisation: wanted.by == locks::of_organisation(places),
                grants: component.wants.grants.iter().map(|line| grant_key(line).to_owned()).collect(),
            });
        }
    }
    Ok(receipt)
}

/// An agent that takes a line out of a lock, or puts an older version in, must not take a check out of the review.
fn nothing_is_lost(known: &[Receipt], wanted: &[Wanted], agreed: &Agreed) -> Result<()> {
    let Some(ran) = lost(known, wanted).into_iter().find(|ran| !agreed.names.contains(&ran.name)) else { return Ok(()) };
    let (by, name, version) = (ran.by.display(), &ran.name, &ran.version);
    let mend = "put it back, or, if that is meant, run `portcullis bundle install` at a terminal";
    match wanted.iter().find(|wanted| wanted.locked.name == *name) {
        None => bail!("`{by}` no longer locks `{name} {version}`, which ran here: {mend}"),
        Some(now) if now.locked.version < *version => {
            bail!("`{}` locks `{name} {}`, but {version} ran here: {mend}", now.by.display(), now.locked.version)
        }
        Some(now) => bail!("`{}` locks another `{name} {version}` than ran here: {mend}", now.by.display()),
    }
}

/// The bundles that ran and are not locked any more, only in an older version, or as others of their version.
#[must_use]
pub fn lost(known: &[Receipt], wanted: &[Wanted]) -> Vec<Ran> {
    let still = |ran: &Ran| {
        let now = wanted.iter().map(|wanted| &wanted.locked).find(|locked| locked.name == ran.name);
        now.is_some_and(|now| now.digest == ran.digest || now.version > ran.version)
    };
    let mut all: Vec<Ran> = known.iter().flat_map(|known| &known.bundles).filter(|ran| !still(ran)).cloned().collect();
    all.sort_by(|a, b| (&a.name, &a.version, &a.by).cmp(&(&b.name, &b.version, &b.by)));
    all.dedup();
    all
}

/// All that decides what may be loaded.
fn stands_for(places: &Places, locks: &locks::Texts, policies: &policies::Texts) -> Result<blake3::Hash> {
    let path = places.state.join(SHELF).join(Shelf::LIST);
    let installed = file::read_at_most(&path, MOST_BYTES).map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
    let (locks, policies, installed) = (locks.digest(), policies.digest(), installed.unwrap_or_default());
    // Another version of this program may verify what this one did not.
    Ok(digest([locks.as_bytes().as_slice(), policies.as_bytes(), installed.as_bytes(), VERSION.as_bytes()]))
}
