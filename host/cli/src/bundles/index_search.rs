//! Finds bundles of the kept indexes by words, and names that look like another one.

use crate::error::{Error, Result};
use portcullis_bundle::{BundleName, ListedBundle, ListedVersion};
use portcullis_review::bundles::indexes::{KeptIndex, read_index};
use portcullis_review::bundles::policies::{NamedIndex, Policies};
use portcullis_store::Home;
use std::collections::BTreeMap;
use strsim::osa_distance;

/// A bundle that an index offers.
#[derive(Clone, Copy, Debug)]
pub struct OfferedBundle<'a> {
    /// The index.
    pub index: &'a BundleName,
    /// The bundle.
    pub bundle: &'a ListedBundle,
}

/// The state of the indexes that the policies name.
#[derive(Debug)]
pub struct IndexStates(Vec<(NamedIndex, Result<Option<KeptIndex>>)>);

impl IndexStates {
    /// Reads the kept copies; nothing is fetched.
    ///
    /// # Errors
    /// Fails if the policies name no index.
    pub fn read_states(home: &Home, policies: &Policies, now: u64) -> Result<Self> {
        let all = policies.list_indexes();
        if all.is_empty() {
            return Err(Error::not_found("no trust policy names an index of bundles")
                .with_hint("add an `[[index]]` to `trust.toml`"));
        }
        let read = |index: NamedIndex| {
            let state = read_index(home, policies, &index.name, now).map_err(Error::from);
            (index, state)
        };
        Ok(Self(all.into_iter().map(read).collect()))
    }

    /// Returns each index with its copy, `None` where it was never fetched, or why it cannot be
    /// used.
    pub fn iter(&self) -> impl Iterator<Item = (&NamedIndex, Result<Option<&KeptIndex>, &Error>)> {
        self.0.iter().map(|(index, state)| (index, state.as_ref().map(Option::as_ref)))
    }

    /// Returns the bundles on offer, each once: the first index that lists a name decides, and an
    /// index that cannot be used hides the names that it may list from those after it.
    #[must_use]
    pub fn offered_bundles(&self) -> Vec<OfferedBundle<'_>> {
        let mut offered: BTreeMap<&BundleName, OfferedBundle<'_>> = BTreeMap::new();
        let mut unusable: Vec<&NamedIndex> = Vec::new();
        for (index, state) in &self.0 {
            let Ok(Some(kept)) = state else {
                unusable.push(index);
                continue;
            };
            for bundle in &kept.document().bundles {
                let is_hidden = unusable
                    .iter()
                    .any(|index| index.scopes.iter().any(|scope| scope.holds_for(&bundle.name)));
                if !is_hidden {
                    let new = OfferedBundle { index: &index.name, bundle };
                    offered.entry(&bundle.name).or_insert(new);
                }
            }
        }
        offered.into_values().collect()
    }
}

/// Returns the bundles that match all words and have a plugin of that kind, the best match first.
#[must_use]
pub fn rank_bundles<'a>(
    offered: &[OfferedBundle<'a>],
    words: &[String],
    kind: Option<&str>,
) -> Vec<OfferedBundle<'a>> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut found: Vec<(u32, OfferedBundle<'a>)> = offered
        .iter()
        .filter(|one| {
            let plugins = &shown_version(one.bundle).plugins;
            kind.is_none_or(|kind| plugins.iter().any(|plugin| plugin.kind == kind))
        })
        .filter_map(|one| {
            let scores = words.iter().map(|word| score_word(one.bundle, word));
            let all = scores.collect::<Option<Vec<u32>>>()?;
            Some((all.iter().sum(), *one))
        })
        .collect();
    // Bundles come sorted by name, and the sort is stable.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, one)| one).collect()
}

/// Returns the version that stands for a bundle: the newest that is offered, or, where all are
/// withdrawn or pre-releases, the newest of these.
///
/// # Panics
/// Never: a document without a version of a bundle is refused.
#[must_use]
pub fn shown_version(bundle: &ListedBundle) -> &ListedVersion {
    #[expect(clippy::indexing_slicing, reason = "a listed bundle has a version")]
    bundle.newest_version().unwrap_or_else(|| &bundle.versions[0])
}

/// Returns how well a bundle matches a word; `None` if it does not.
fn score_word(bundle: &ListedBundle, word: &str) -> Option<u32> {
    let name = bundle.name.as_str();
    let listed = shown_version(bundle);
    let in_any =
        |holds: &dyn Fn(&portcullis_bundle::ListedPlugin) -> bool| listed.plugins.iter().any(holds);
    let holds = |text: &str| text.to_lowercase().contains(word);
    let scores = [
        (100, name == word),
        (80, name.rsplit('/').next() == Some(word)),
        (60, name.starts_with(word)),
        (50, in_any(&|plugin| plugin.name == word)),
        (40, name.contains(word)),
        (30, in_any(&|plugin| holds(&plugin.name))),
        (20, in_any(&|plugin| plugin.kind == word || plugin.reads.iter().any(|read| read == word))),
        (10, holds(&listed.description) || in_any(&|plugin| holds(&plugin.description))),
    ];
    scores.into_iter().find(|(_, matches)| *matches).map(|(score, _)| score)
}

/// Returns the offered names that differ from a text by one edit: a letter more, less or other, or
/// two letters in the other order. The text may be a name's last part.
#[must_use]
pub fn find_lookalikes<'a>(offered: &[OfferedBundle<'a>], text: &str) -> Vec<&'a BundleName> {
    if offered.iter().any(|one| one.bundle.name.as_str() == text) {
        return similar_names(offered, text).collect();
    }
    let is_part = !text.contains('/');
    let by_part = offered.iter().map(|one| &one.bundle.name).filter(|name| {
        is_part && name.as_str().rsplit('/').next().is_some_and(|last| is_one_edit(last, text))
    });
    similar_names(offered, text).chain(by_part).collect()
}

fn similar_names<'a>(
    offered: &[OfferedBundle<'a>],
    text: &str,
) -> impl Iterator<Item = &'a BundleName> {
    offered.iter().map(|one| &one.bundle.name).filter(move |name| is_one_edit(name.as_str(), text))
}

fn is_one_edit(name: &str, text: &str) -> bool {
    // Shorter texts are one edit from too much.
    text.len() > 2 && name.len().abs_diff(text.len()) <= 1 && osa_distance(name, text) == 1
}
