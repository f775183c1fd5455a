//! The notes of an index's publisher: what no archive says. Each problem is reported with its
//! position and its fix.
//!
//! ```toml
//! [[bundle]]
//! name = "acme/checks"
//! reference = "ghcr.io/acme-tools/checks"   # where it is, if not below `--registry`
//!
//! [[version]]
//! name = "acme/checks"
//! version = "1.1.0"
//! change = "Reads squashed migrations."     # what differs from the version before
//! yanked = "It misses renamed files."       # why nobody should install it
//! ```

use super::manifest::read_required;
use crate::error::{Error, Result};
use portcullis_bundle::BundleName;
use portcullis_config::file;
use portcullis_config::problem::{ConfigProblem, Problems};
use portcullis_core::text::one_line;
use portcullis_registry::Reference;
use portcullis_strict_toml::{Document, Keys, Table};
use semver::Version;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NOTES: Keys<'_> = Keys { names: &["bundle", "version"], owner: "the notes" };
const BUNDLE: Keys<'_> = Keys { names: &["name", "reference"], owner: "a bundle" };
const VERSION: Keys<'_> =
    Keys { names: &["name", "version", "change", "yanked"], owner: "a version" };

/// Notes about bundles and versions.
#[derive(Debug, Default)]
pub struct IndexNotes {
    file: PathBuf,
    references: BTreeMap<BundleName, Note<Reference>>,
    versions: BTreeMap<(BundleName, Version), Note<VersionNote>>,
}

/// A note and its position, from 1.
#[derive(Debug)]
struct Note<T> {
    place: (usize, usize),
    note: T,
}

/// What is noted of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionNote {
    /// What differs from the version before; empty if nothing was noted.
    pub change: String,
    /// The reason why it is withdrawn, if it is.
    pub yanked: Option<String>,
}

impl IndexNotes {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if anything is wrong with it; the error lists every problem.
    pub fn read_notes(path: &Path) -> Result<Self> {
        let shown = one_line(&path.display().to_string(), 400);
        let text = file::read_file(path)?.ok_or_else(|| {
            Error::not_found(format!("there is no `{shown}`"))
                .with_hint("`portcullis bundle index build --help` shows such a file")
        })?;
        let document = Document::parse(&text);
        let mut notes = Self { file: path.to_owned(), ..Self::default() };
        if document.is_sound() {
            let root = document.root(&NOTES);
            root.tables("bundle", &BUNDLE).iter().for_each(|table| notes.add_bundle(table));
            root.tables("version", &VERSION).iter().for_each(|table| notes.add_version(table));
        }
        let (problems, more) = ConfigProblem::from_document(&document);
        if problems.is_empty() {
            Ok(notes)
        } else {
            Err(wrong(Problems { file: path.to_owned(), problems, more }))
        }
    }

    fn add_bundle(&mut self, table: &Table<'_>) {
        let name = read_required::<BundleName>(table, "name", "`acme/checks`");
        let reference = read_required::<Reference>(table, "reference", "`ghcr.io/acme/checks`");
        let (Some(name), Some(note)) = (name, reference) else { return };
        if note.tag().is_some() || note.digest().is_some() {
            table.report("`reference` has a tag or a digest; remove it: the index has the digest");
        }
        let new = Note { place: table.place(), note };
        if self.references.insert(name.clone(), new).is_some() {
            table.report(format!("`{name}` has two references; remove one"));
        }
    }

    fn add_version(&mut self, table: &Table<'_>) {
        let name = read_required::<BundleName>(table, "name", "`acme/checks`");
        let version = read_required::<Version>(table, "version", "`1.0.0`");
        let (Some(name), Some(version)) = (name, version) else { return };
        let note = VersionNote {
            change: table.text("change").unwrap_or_default(),
            yanked: table.text("yanked"),
        };
        let key = (name, version);
        let twice = format!("`{} {}` is noted twice; remove one", key.0, key.1);
        if self.versions.insert(key, Note { place: table.place(), note }).is_some() {
            table.report(twice);
        }
    }

    /// Returns the reference of a bundle, if one is noted.
    #[must_use]
    pub fn find_reference(&self, name: &BundleName) -> Option<&Reference> {
        self.references.get(name).map(|note| &note.note)
    }

    /// Returns what is noted of a version.
    #[must_use]
    pub fn find_version(&self, name: &BundleName, version: &Version) -> VersionNote {
        let note = self.versions.get(&(name.clone(), version.clone()));
        note.map(|note| note.note.clone()).unwrap_or_default()
    }

    /// Checks that every note is about something that is listed: a note with a mistyped name has no
    /// effect, and a withdrawal must have one.
    ///
    /// # Errors
    /// Fails with the first note that is about nothing.
    pub fn check_listed(
        &self,
        lists: impl Fn(&BundleName, Option<&Version>) -> bool,
    ) -> Result<()> {
        let bundles = self
            .references
            .iter()
            .filter(|(name, _)| !lists(name, None))
            .map(|(name, note)| (note.place, name.to_string()));
        let versions = self
            .versions
            .iter()
            .filter(|((name, version), _)| !lists(name, Some(version)))
            .map(|((name, version), note)| (note.place, format!("{name} {version}")));
        match bundles.chain(versions).min() {
            None => Ok(()),
            Some((place, what)) => Err(wrong(Problems {
                file: self.file.clone(),
                problems: vec![ConfigProblem {
                    place: Some(place),
                    what: format!("no archive holds `{what}`; add its archive, or remove the note"),
                }],
                more: 0,
            })),
        }
    }
}

fn wrong(problems: Problems) -> Error {
    Error::invalid(format!("the index cannot be built:\n{}", problems.lines().join("\n")))
}
