//! Fetches indexes of bundles from their sources, and the bundles that they list.
//!
//! A source is a repository of a registry, an archive, or a folder that `portcullis bundle index
//! mirror` wrote:
//!
//! ```text
//! index.tar           the index with its signatures
//! bundles/DIGEST.tar  each bundle with its signatures
//! ```
//!
//! Whether an index is accepted is decided in `portcullis_review::bundles::indexes`.

use super::archive;
use super::index_archive::read_index_file;
use super::source::{self, FetchedBundle, RegistryOptions};
use crate::error::{Context, Error, Result};
use crate::given_file::display_path;
use crate::paint;
use portcullis_bundle::{
    BundleName, Digest, IndexArtifact, IndexSource, ListedBundle, ListedVersion, LockedBundle,
    Signature,
};
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_registry::{Reference, Tag};
use portcullis_review::bundles::Policies;
use portcullis_review::bundles::indexes::{self, FoundBundle, accept_index, read_index};
use portcullis_review::bundles::policies::NamedIndex;
use portcullis_store::Home;
use semver::Version;
use std::path::{Path, PathBuf};

/// The tag of an index in a registry, where its source names no other.
const TAG: &str = "latest";
/// The archive of the index in a folder.
const INDEX_FILE: &str = "index.tar";
/// The folder of the archives of its bundles.
pub const BUNDLES: &str = "bundles";

/// A version of a bundle that an index led to.
#[derive(Clone, Debug)]
pub struct ListedTarget {
    /// The name of the bundle.
    pub name: BundleName,
    /// The version.
    pub listed: ListedVersion,
    /// The index.
    pub index: NamedIndex,
}

/// Lists the versions of a bundle in one line, with a mark at those that were withdrawn.
#[must_use]
pub fn list_versions(bundle: &ListedBundle) -> String {
    let versions = bundle.versions.iter().map(|one| {
        let state = if one.yanked.is_some() { " (withdrawn)" } else { "" };
        format!("{}{state}", one.version)
    });
    versions.collect::<Vec<_>>().join(", ")
}

/// Returns the path of the index in a mirror's folder.
#[must_use]
pub fn mirrored_index(folder: &Path) -> PathBuf {
    folder.join(INDEX_FILE)
}

/// Returns the path of a bundle in a mirror's folder. The digest is its name: a mirror need not be
/// trusted to know which file is which bundle.
#[must_use]
pub fn mirrored_bundle(folder: &Path, digest: Digest) -> PathBuf {
    folder.join(BUNDLES).join(format!("{}.tar", digest.hex()))
}

/// Returns the reference of an index in a registry.
///
/// # Errors
/// Fails if the text is not a reference.
pub fn parse_index_reference(text: &str) -> Result<Reference> {
    let reference: Reference = text.parse()?;
    Ok(if reference.tag().is_none() && reference.digest().is_none() {
        reference.with_tag(TAG.parse::<Tag>()?)
    } else {
        reference
    })
}

/// Fetches an index from its source. It is not judged here.
///
/// # Errors
/// Fails if it cannot be obtained, or if its bytes do not match its digest.
pub fn fetch_index(
    index: &NamedIndex,
    reach: &RegistryOptions,
) -> Result<(IndexArtifact, Vec<Signature>)> {
    let context = || format!("the index `{}` cannot be fetched", index.name);
    match &index.source {
        IndexSource::Path(path) => {
            let file = if path.is_dir() { mirrored_index(path) } else { path.clone() };
            read_index_file(&file).with_context(context)
        }
        IndexSource::Registry(text) => {
            let reference = parse_index_reference(text).with_context(context)?;
            let pulled = reach.client()?.pull_index(&reference).with_context(context)?;
            Ok((pulled.artifact, pulled.signatures))
        }
    }
}

/// Fetches the newest copy of an index and keeps it. Returns true if it is another one than before.
///
/// # Errors
/// Fails if it cannot be obtained, or if the policies refuse it.
pub fn refresh_index(
    home: &Home,
    policies: &Policies,
    index: &NamedIndex,
    reach: &RegistryOptions,
) -> Result<bool> {
    let (artifact, signatures) = fetch_index(index, reach)?;
    Ok(accept_index(home, policies, &index.name, &artifact, &signatures, now_ms())?)
}

/// Refreshes the indexes that may list one of these names. Where an index cannot be reached, the
/// kept copy is used, as long as it is valid; where one is refused, nothing is.
///
/// # Errors
/// Fails if an index is refused, or if it is neither reached nor kept.
pub fn refresh_covering(
    home: &Home,
    policies: &Policies,
    names: &[BundleName],
    reach: &RegistryOptions,
) -> Result<()> {
    for index in policies.list_indexes() {
        let covers = |name: &BundleName| index.scopes.iter().any(|scope| scope.holds_for(name));
        if !names.iter().any(covers) {
            continue;
        }
        let Err(error) = refresh_index(home, policies, &index, reach) else { continue };
        if !error.is_io() {
            return Err(error);
        }
        match read_index(home, policies, &index.name, now_ms()) {
            Ok(Some(kept)) => anstream::eprintln!(
                "{}: {}; its copy from {} UTC is used",
                paint::warn("warning"),
                one_line(&error.in_line(), 600),
                paint::time(kept.fetched)
            ),
            Ok(None) => return Err(error),
            Err(kept) => return Err(Error::from(kept).with_context(error.in_line())),
        }
    }
    Ok(())
}

/// Selects the version of a bundle that was found by its name: the wanted one, or the newest that is
/// neither withdrawn nor a pre-release. A withdrawn version is selected only where these very bytes
/// are locked already.
///
/// # Errors
/// Fails if the index does not list it, or if it was withdrawn.
pub fn select_version(
    found: FoundBundle,
    wanted: Option<&Version>,
    locked: Option<&LockedBundle>,
) -> Result<ListedTarget> {
    let FoundBundle { index, bundle, .. } = found;
    let name = bundle.name.clone();
    let listed = match wanted {
        Some(version) => bundle.find_version(version).ok_or_else(|| {
            Error::not_found(format!("the index `{}` lists no `{name} {version}`", index.name))
        }),
        None => bundle.newest_version().ok_or_else(|| {
            Error::not_found(format!(
                "the index `{}` lists no version of `{name}` that is neither withdrawn nor a \
                 pre-release",
                index.name
            ))
        }),
    };
    let listed = listed
        .map_err(|error| {
            error.with_hint(format!("`portcullis bundle info {name}` lists the versions"))
        })?
        .clone();
    if let Some(reason) = &listed.yanked
        && locked.is_none_or(|locked| locked.digest != listed.digest)
    {
        return Err(Error::refused(format!(
            "`{name} {}` was withdrawn: {}",
            listed.version,
            one_line(reason, 400)
        ))
        .with_hint(format!("take another version: `portcullis bundle info {name}`")));
    }
    Ok(ListedTarget { name, listed, index })
}

/// Fetches a version that an index lists: from the index's own folder if it has one, else from the
/// registry. Its digest, its name and what the index says of it must be the bundle's.
///
/// # Errors
/// Fails if the bundle cannot be obtained, or is not the listed one.
pub fn fetch_listed(target: &ListedTarget, reach: &RegistryOptions) -> Result<FetchedBundle> {
    let ListedTarget { name, listed, index } = target;
    let repository: Reference = listed.reference.parse().with_context(|| {
        format!("the index `{}` gives `{name} {}` a wrong place", index.name, listed.version)
    })?;
    let mirrored = mirrored_file(index, listed.digest);
    let mut fetched = match &mirrored {
        Some(path) => {
            let (bundle, signatures) = archive::read_archive_file(path)?;
            // The policy's `registries` then count for the place that the index gives it.
            let from = Some(repository.repository().trim_end_matches('/').to_owned());
            let (index, change, unread) = (None, String::new(), Vec::new());
            FetchedBundle { bundle, signatures, from, index, change, unread }
        }
        None => source::pull_bundle(&reach.client()?, &repository.with_digest(listed.digest))
            .with_context(|| {
                format!("`{name} {}`, which the index `{}` lists", listed.version, index.name)
            })?,
    };
    listed.check_bundle(name, &fetched.bundle).map_err(|what| {
        let place = mirrored.as_deref().map_or_else(|| listed.reference.clone(), display_path);
        Error::integrity(format!(
            "the index `{}` and `{}` disagree: {}",
            index.name,
            one_line(&place, 400),
            one_line(&what, 400)
        ))
        .with_hint("nothing was installed; tell the publisher of the index")
    })?;
    fetched.index = Some(index.name.clone());
    fetched.change.clone_from(&listed.change);
    Ok(fetched)
}

/// Returns the archive of a locked bundle in the folder of the index that listed it, if it is there.
#[must_use]
pub fn find_mirrored(policies: &Policies, locked: &LockedBundle) -> Option<PathBuf> {
    let name = locked.index.as_ref()?;
    let index = policies.list_indexes().into_iter().find(|index| index.name == *name)?;
    mirrored_file(&index, locked.digest)
}

fn mirrored_file(index: &NamedIndex, digest: Digest) -> Option<PathBuf> {
    let IndexSource::Path(folder) = &index.source else { return None };
    Some(mirrored_bundle(folder, digest)).filter(|path| path.is_file())
}

/// Finds a bundle by its name in the kept indexes, as [`indexes::find_bundle`] does.
///
/// # Errors
/// Fails if no index lists the name, or if one that may list it cannot be used.
pub fn find_bundle(home: &Home, policies: &Policies, name: &BundleName) -> Result<FoundBundle> {
    Ok(indexes::find_bundle(home, policies, name, now_ms())?)
}

/// Formats how long ago a time was, in its largest unit.
#[must_use]
pub fn format_age(at: u64, now: u64) -> String {
    let minutes = now.saturating_sub(at) / 60_000;
    let (count, unit) = match minutes {
        0 => return "less than a minute".to_owned(),
        1..120 => (minutes, "minute"),
        120..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    portcullis_core::text::count_noun(count, unit)
}
