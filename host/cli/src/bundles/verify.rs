//! From locks to plugins that may be loaded: each bundle read, hashed, held against its lock, its policies and its bytes.

use super::locks::{Texts, Wanted};
use super::policies::{Judged, Policies};
use super::receipt::{self, Pinned, Ran, Receipt};
use super::{SHELF, digest, locks, policies, told_truly};
use crate::places::Places;
use anyhow::{Context, Result, bail};
use portcullis_bundle::{Bundle, Shelf, Signature, Subject};
use portcullis_store::Home;

/// The plugins of the bundles that are locked for a project. Where a receipt still holds, nothing is verified again.
///
/// # Errors
/// A lock, a policy or a receipt cannot be read; a bundle that is locked is not installed, not the one that was locked, or
/// not trusted; a bundle that ran here is not locked any more.
pub fn plugins(places: &Places, home: &Home, now: u64) -> Result<Vec<Pinned>> {
    let locks = Texts::read(places)?;
    let place = receipt::place(places);
    let known = receipt::read(home, &place)?;
    if locks.is_empty() && known.is_none() {
        return Ok(Vec::new());
    }
    let policies = policies::Texts::read(places)?;
    let stands_for = stands_for(places, &locks, &policies)?;
    if let Some(known) = known.as_ref().filter(|known| known.holds(&stands_for, now)) {
        return Ok(known.plugins.clone());
    }
    let wanted = locks.wanted()?;
    nothing_is_lost(known.as_ref(), &wanted)?;
    let receipt = verify(places, place, &wanted, &policies.parse()?, stands_for, now)?;
    let plugins = receipt.plugins.clone();
    receipt::write(home, receipt)?;
    Ok(plugins)
}

/// Verifies the bundles of a project whatever ran in it before, and remembers that these run now.
///
/// # Errors
/// As for [`plugins`], but for what ran before.
pub fn anew(places: &Places, home: &Home, now: u64) -> Result<Receipt> {
    let locks = Texts::read(places)?;
    let policies = policies::Texts::read(places)?;
    let stands_for = stands_for(places, &locks, &policies)?;
    let receipt = verify(places, receipt::place(places), &locks.wanted()?, &policies.parse()?, stands_for, now)?;
    if receipt.bundles.is_empty() {
        receipt::forget(home, &receipt.place)?;
    } else {
        receipt::write(home, receipt.clone())?;
    }
    Ok(receipt)
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
            receipt.plugins.push(Pinned {
                bundle: about.name.to_string(),
                name: plugin.name.clone(),
                file: shelf.blob(component.digest),
                digest: blake3::hash(bytes).to_hex().to_string(),
                several: component.plugins.len() > 1,
                settings: plugin.settings.clone(),
                grants: component.wants.grants.iter().map(|line| super::grant_key(line).to_owned()).collect(),
            });
        }
    }
    Ok(receipt)
}

/// An agent that takes a line out of a lock, or puts an older version in, must not take a check out of the review.
fn nothing_is_lost(known: Option<&Receipt>, wanted: &[Wanted]) -> Result<()> {
    for ran in known.into_iter().flat_map(|known| &known.bundles) {
        let by = ran.by.display();
        let mend = "put it back, or, if that is meant, run `portcullis bundle install` at a terminal";
        match wanted.iter().find(|wanted| wanted.locked.name == ran.name) {
            None => bail!("`{by}` no longer locks `{} {}`, which ran here: {mend}", ran.name, ran.version),
            Some(now) if now.locked.version < ran.version => {
                bail!("`{}` locks `{} {}`, but {} ran here: {mend}", now.by.display(), ran.name, now.locked.version, ran.version)
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// All that decides what may be loaded.
fn stands_for(places: &Places, locks: &locks::Texts, policies: &policies::Texts) -> Result<blake3::Hash> {
    let path = places.state.join(SHELF).join(Shelf::LIST);
    let installed = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    };
    Ok(digest([locks.digest().as_bytes().as_slice(), policies.digest().as_bytes(), &installed]))
}
