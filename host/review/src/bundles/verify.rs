//! Turns locks into plugins that may be loaded: reads and hashes each bundle, and checks it against
//! its lock, the policies and its bytes.

use super::locks::{LockTexts, RequiredBundle};
use super::policies::{Policies, TrustedBundle};
use super::receipt::{self, BundleReceipt, InstalledRef, PluginPin};
use super::{BUNDLES_FOLDER, check_description, digest, locks, policies};
use crate::plugin_specs::OURS;
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{Bundle, BundleName, BundleStore, CandidateBundle, Signature, grant_key};
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_core::known_failure::KnownFailure;
use portcullis_fleet::OrdersFile;
use portcullis_store::Home;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The most bytes that are read of the list of installed bundles.
const MOST_BYTES: u64 = 4 << 20;

/// Determines if a verification is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptPolicy {
    /// Remembers it for the next hook, which then reports missing bundles.
    Kept,
    /// Remembers nothing. For read-only callers, which must not change the bundles that a project
    /// has to run.
    None,
}

/// Changes that a person agreed to and that a hook would refuse.
#[derive(Debug, Default)]
pub struct Consent {
    /// Bundles that may be missing, older, or have other bytes for the same version.
    pub names: Vec<BundleName>,
    /// True if the earlier bundles may be unknown.
    pub unknown: bool,
}

/// Returns the plugins of the bundles that are locked for a project. If a receipt is still valid,
/// nothing is verified again.
///
/// # Errors
/// Fails if a lock, a policy or a receipt cannot be read; if a locked bundle is not installed,
/// differs from the lock, or is not trusted; or if a bundle that ran here is no longer locked.
pub fn verified_plugins(
    places: &Paths,
    home: &Home,
    now: u64,
    memory: ReceiptPolicy,
) -> Result<Vec<PluginPin>> {
    let locks = LockTexts::read_texts(places)?;
    let known = receipt::receipts_around(home, places)?;
    if locks.is_empty() && known.iter().all(|known| known.bundles.is_empty()) {
        return Ok(Vec::new());
    }
    let place = receipt::place_name(places);
    let policies = policies::PolicyTexts::read_texts(places)?;
    let fingerprint = fingerprint(places, &locks, &policies)?;
    let own =
        known.iter().find(|known| known.place == place && known.still_holds(&fingerprint, now));
    let wanted = match own {
        // It was verified for exactly these locks; the bundles that ran in the folders around may
        // have changed since.
        Some(own)
            if known.iter().all(|other| {
                other.place == place || other.bundles.iter().all(|ran| own.bundles.contains(ran))
            }) =>
        {
            return Ok(own.plugins.clone());
        }
        _ => locks.required_bundles()?,
    };
    nothing_is_lost(&known, &wanted, &Consent::default())?;
    let receipt = verify(places, place, &wanted, &policies.parse_texts()?, fingerprint, now)?;
    let plugins = receipt.plugins.clone();
    if memory == ReceiptPolicy::Kept {
        receipt::write_receipt(home, receipt)?;
    }
    Ok(plugins)
}

/// Verifies the bundles of a project again, and remembers that they run now, after a person's
/// agreement.
///
/// # Errors
/// Fails like [`verified_plugins`].
pub fn verify_again(places: &Paths, home: &Home, now: u64, agreed: &Consent) -> Result<()> {
    let locks = LockTexts::read_texts(places)?;
    let policies = policies::PolicyTexts::read_texts(places)?;
    let fingerprint = fingerprint(places, &locks, &policies)?;
    let known = match receipt::receipts_around(home, places) {
        Err(_) if agreed.unknown => Vec::new(),
        known => known?,
    };
    let wanted = locks.required_bundles()?;
    nothing_is_lost(&known, &wanted, agreed)?;
    let receipt = verify(
        places,
        receipt::place_name(places),
        &wanted,
        &policies.parse_texts()?,
        fingerprint,
        now,
    )?;
    receipt::write_receipt(home, receipt)
}

/// Checks one installed bundle against its requirement; returns the bundle, its signatures and the
/// judgement.
///
/// # Errors
/// Fails if it is not installed, or does not pass.
pub fn verify_bundle(
    store: &BundleStore,
    wanted: &RequiredBundle,
    policies: &Policies,
    now: u64,
) -> Result<(Bundle, Vec<Signature>, TrustedBundle)> {
    let (name, by) = (&wanted.locked.name, wanted.by.display());
    let installed = store
        .installed()?
        .into_iter()
        .find(|installed| installed.index.digest == wanted.locked.digest);
    let Some(installed) = installed else {
        bail!(KnownFailure::NotFound(format!(
            "`{name} {}` ({}), which `{by}` locks, is not installed: run `portcullis bundle install`",
            wanted.locked.version, wanted.locked.digest
        )))
    };
    let (bundle, signatures) = store
        .read_bundle(&installed)
        .with_context(|| format!("`{name}` has to be installed again"))?;
    wanted.locked.check_bundle(&bundle).with_context(|| format!("`{by}` cannot be enforced"))?;
    let subject = CandidateBundle {
        index: bundle.index(),
        signatures: &signatures,
        from: installed.from.as_deref(),
        installed: None,
        now,
    };
    let judged = policies
        .require_trust(&subject)
        .with_context(|| format!("`{by}` locks what does not run any more"))?;
    if let Some(stranger) =
        wanted.locked.signers.iter().find(|signer| !judged.signers.contains(signer))
    {
        bail!(KnownFailure::Untrusted(format!(
            "`{by}` says that {stranger} signed `{name}`, which no key of the trust policy did: \
             run `portcullis bundle verify {name}`"
        )));
    }
    check_description(&bundle)?;
    Ok((bundle, signatures, judged))
}

fn verify(
    places: &Paths,
    place: String,
    wanted: &[RequiredBundle],
    policies: &Policies,
    fingerprint: blake3::Hash,
    now: u64,
) -> Result<BundleReceipt> {
    let store = super::open_store(places)?;
    let mut receipt = BundleReceipt {
        place,
        fingerprint: fingerprint.to_hex().to_string(),
        at: now,
        until: None,
        bundles: Vec::new(),
        plugins: Vec::new(),
    };
    for wanted in wanted {
        let (bundle, _, judged) = verify_bundle(&store, wanted, policies, now)?;
        receipt.until = receipt.until.into_iter().chain(judged.until).min();
        let about = bundle.about();
        receipt.bundles.push(InstalledRef {
            name: about.name.clone(),
            version: about.version.clone(),
            digest: bundle.index().digest(),
            by: wanted.by.clone(),
        });
        for (component, plugin) in about.plugins() {
            let bytes = bundle.component_bytes(component).context("a component is missing")?;
            if about.name.as_str() == OURS && portcullis_builtin::find(&plugin.name).is_none() {
                bail!(
                    "`{}` holds a plugin `{}`, which is not built into this version of portcullis: update both",
                    about.name,
                    plugin.name
                );
            }
            receipt.plugins.push(PluginPin {
                bundle: about.name.to_string(),
                name: plugin.name.clone(),
                file: store.blob_path(component.digest),
                digest: blake3::hash(bytes).to_hex().to_string(),
                several: component.plugins.len() > 1,
                settings: plugin.settings.clone(),
                organisation: wanted.by == locks::of_organisation(places)
                    || wanted.by == OrdersFile::path_in(&places.state),
                grants: component
                    .wants
                    .grants
                    .iter()
                    .map(|line| grant_key(line).to_owned())
                    .collect(),
            });
        }
    }
    Ok(receipt)
}

/// Checks that no bundle is lost: an agent that deletes a line of a lock, or enters an older
/// version, must not remove a check from the review.
fn nothing_is_lost(
    known: &[BundleReceipt],
    wanted: &[RequiredBundle],
    agreed: &Consent,
) -> Result<()> {
    let Some(ran) =
        missing_bundles(known, wanted).into_iter().find(|ran| !agreed.names.contains(&ran.name))
    else {
        return Ok(());
    };
    let (by, name, version) = (ran.by.display(), &ran.name, &ran.version);
    let fix = "put it back, or, if that is meant, run `portcullis bundle install` at a terminal";
    match wanted.iter().find(|wanted| wanted.locked.name == *name) {
        None => bail!(KnownFailure::Forged(format!(
            "`{by}` no longer locks `{name} {version}`, which ran here: {fix}"
        ))),
        Some(now) if now.locked.version < *version => {
            bail!(KnownFailure::Forged(format!(
                "`{}` locks `{name} {}`, but {version} ran here: {fix}",
                now.by.display(),
                now.locked.version
            )))
        }
        Some(now) => {
            bail!(KnownFailure::Forged(format!(
                "`{}` locks another `{name} {version}` than ran here: {fix}",
                now.by.display()
            )))
        }
    }
}

/// Returns the bundles that ran and are no longer locked, are locked in an older version, or have
/// other bytes for the same version.
#[must_use]
pub fn missing_bundles(known: &[BundleReceipt], wanted: &[RequiredBundle]) -> Vec<InstalledRef> {
    let still = |ran: &InstalledRef| {
        let now = wanted.iter().map(|wanted| &wanted.locked).find(|locked| locked.name == ran.name);
        now.is_some_and(|now| now.digest == ran.digest || now.version > ran.version)
    };
    let mut all: Vec<InstalledRef> =
        known.iter().flat_map(|known| &known.bundles).filter(|ran| !still(ran)).cloned().collect();
    all.sort_by(|a, b| (&a.name, &a.version, &a.by).cmp(&(&b.name, &b.version, &b.by)));
    all.dedup();
    all
}

/// Returns the digest of everything that decides what may be loaded.
fn fingerprint(
    places: &Paths,
    locks: &locks::LockTexts,
    policies: &policies::PolicyTexts,
) -> Result<blake3::Hash> {
    let path = places.state.join(BUNDLES_FOLDER).join(BundleStore::LIST);
    let installed = file::read_at_most(&path, MOST_BYTES)
        .map_err(|problems| anyhow!("{}", problems.lines().join("\n")))?;
    let (locks, policies, installed) =
        (locks.digest(), policies.digest(), installed.unwrap_or_default());
    // Another version of this program may verify more than this one did.
    Ok(digest([
        locks.as_bytes().as_slice(),
        policies.as_bytes(),
        installed.as_bytes(),
        VERSION.as_bytes(),
    ]))
}
