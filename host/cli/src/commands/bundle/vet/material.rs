//! The material that a bundle is vetted on. Each file is read once and hashed, and the hashed bytes
//! are the ones that are parsed.

use super::subjects::Subjects;
use crate::commands::eval::rows::{self, EvalRow};
use crate::error::{Context, Error, Result};
use portcullis_author::cases::{self, Case};
use portcullis_bundle::Digest;
use portcullis_config::problem::Problems;
use portcullis_core::text::one_line;
use portcullis_review::recording::{self, Recording};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The most files that can be named in the signed results.
const MOST_FILES: usize = 256;
/// The extensions of the files that are read from a folder.
const ENDS: &[&str] = &["jsonl", "json"];

/// All the material, parsed.
#[derive(Default)]
pub struct Material {
    /// Labelled actions.
    pub rows: Vec<EvalRow>,
    /// Recorded sessions.
    pub sessions: Vec<Recording>,
    /// Cases, by plugin.
    pub cases: Vec<(String, Vec<Case>)>,
    /// The files that it was read from.
    pub files: Vec<File>,
}

/// A file, as described in the signed results.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// `corpus`, `session` or `cases`.
    pub kind: &'static str,
    /// Its name, without folders.
    pub name: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The number of actions, sessions or cases in it.
    pub holds: usize,
    /// For cases: their plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// The material that the command line names.
#[derive(Debug, clap::Args)]
pub struct MaterialPaths {
    /// Use labelled actions, in the format of `eval`: a file, or a folder's `.jsonl` and `.json`
    /// files
    #[arg(long, value_name = "FILE|DIR")]
    corpus: Vec<PathBuf>,
    /// Use recorded sessions, in the formats of `replay`: a file, or a folder's `.jsonl` and
    /// `.json` files
    #[arg(long, value_name = "FILE|DIR")]
    session: Vec<PathBuf>,
    /// Use the cases of a plugin, in the format of `plugin test`
    #[arg(long, value_name = "PLUGIN=FILE", value_parser = of_plugin)]
    cases: Vec<(String, PathBuf)>,
}

fn of_plugin(text: &str) -> Result<(String, PathBuf), String> {
    let parts =
        text.split_once('=').filter(|(plugin, file)| !plugin.is_empty() && !file.is_empty());
    let (plugin, file) = parts.ok_or("name the plugin and its file: `--cases PLUGIN=FILE`")?;
    Ok((plugin.to_owned(), PathBuf::from(file)))
}

impl MaterialPaths {
    /// Creates the material of labelled actions and recorded sessions, without cases.
    pub const fn from_recordings(corpus: Vec<PathBuf>, session: Vec<PathBuf>) -> Self {
        Self { corpus, session, cases: Vec::new() }
    }

    /// Returns true if no material is named.
    pub const fn is_empty(&self) -> bool {
        self.corpus.is_empty() && self.session.is_empty() && self.cases.is_empty()
    }

    /// Reads all the material.
    ///
    /// # Errors
    /// Fails if nothing is named, or if a file cannot be read or parsed.
    pub fn read_material(&self, subjects: &Subjects) -> Result<Material> {
        let mut material = Material::default();
        for path in files(&self.corpus)? {
            let (text, digest) = text(&path, "corpus")?;
            let rows = rows::parse_rows(&text, &path)?;
            material.add("corpus", &path, digest, rows.len(), None)?;
            material.rows.extend(rows);
        }
        for path in files(&self.session)? {
            let (text, digest) = text(&path, "recording")?;
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let sessions = recording::parse_recordings(&text, &name)
                .with_context(|| format!("in the recording `{}`", path.display()))?;
            material.add("session", &path, digest, sessions.len(), None)?;
            material.sessions.extend(sessions);
        }
        for (plugin, path) in &self.cases {
            let subject = subjects.find_subject(plugin)?;
            let (text, digest) = text(path, "cases")?;
            let wrong =
                |(problems, more)| Error::from(Problems { file: path.clone(), problems, more });
            let cases = cases::read_cases(&text, subject.kind)
                .map_err(wrong)
                .context("the cases cannot be played")?;
            material.add("cases", path, digest, cases.len(), Some(plugin))?;
            material.cases.push((plugin.clone(), cases));
        }
        if material.files.is_empty() {
            return Err(Error::invalid("nothing to vet it on")
                .with_hint("give `--corpus`, `--session` or `--cases`"));
        }
        Ok(material)
    }
}

impl Material {
    fn add(
        &mut self,
        kind: &'static str,
        path: &Path,
        digest: Digest,
        holds: usize,
        plugin: Option<&String>,
    ) -> Result<()> {
        if self.files.len() == MOST_FILES {
            return Err(Error::invalid(format!(
                "more than {MOST_FILES} files are named to vet it on"
            ))
            .with_hint("merge some of them"));
        }
        let name =
            path.file_name().map(|name| one_line(&name.to_string_lossy(), 128)).unwrap_or_default();
        if let Some(known) = self.files.iter().find(|known| {
            (known.digest, known.kind, known.plugin.as_ref()) == (digest, kind, plugin)
        }) {
            return Err(Error::invalid(format!(
                "`{}` has the same bytes as `{}`: it would count twice",
                path.display(),
                known.name
            )));
        }
        self.files.push(File { kind, name, digest, holds, plugin: plugin.cloned() });
        Ok(())
    }
}

fn text(path: &Path, what: &str) -> Result<(String, Digest)> {
    let bytes =
        fs::read(path).with_context(|| format!("cannot read the {what} `{}`", path.display()))?;
    let digest = Digest::of_bytes(&bytes);
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::invalid(format!("`{}` is not valid UTF-8", path.display())))?;
    Ok((text, digest))
}

/// Returns the named files, and those of the named folders, sorted by name.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let shown = path.display();
        let entries = fs::read_dir(path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()
        });
        let mut held = entries.with_context(|| format!("cannot list `{shown}`"))?;
        held.retain(|path| {
            path.extension().is_some_and(|end| ENDS.iter().any(|known| end == *known))
                && path.is_file()
        });
        if held.is_empty() {
            return Err(Error::invalid(format!(
                "the folder `{shown}` holds no `.jsonl` or `.json` file"
            ))
            .with_hint("the files of folders below it are not read, name those folders"));
        }
        held.sort();
        files.extend(held);
    }
    Ok(files)
}
