//! Files whose text the command line runs: the host looks them up, and [`running`] reads their text
//! as if it stood on the command line.
//!
//! A text in a file is the work of people, not of this command line alone: a value that is known
//! only at run time is not a gap there, and the file's own run stands for programs and project
//! files that its text leaves open.

mod running;

pub(super) use running::{FirstLine, Manner, RunText, named_in_first_line};

use super::edits::edited;
use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Piece, Source, Trust};
use super::{Setting, Walker};
use crate::bindings::exports::portcullis::shell::reader::{
    Contents, LeftFile, Provenance, RunLine, Surroundings,
};
use crate::places::{self, Place};
use portcullis_autoruns::is_module;
use running::Running;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The label of a file whose text is not known any more.
pub(super) const REWRITTEN: &str = "a file that a program writes as it runs, and that is run then";

/// The maximum number of files that are asked for.
const WANTS: usize = 16;
/// The maximum number of files whose provenance is reported.
const LEAVES: usize = 64;

/// The provenance of a file that holds nothing but what it seems to hold.
const NOWHERE: Provenance = Provenance {
    downloaded: false,
    decoded: false,
    secret: false,
    dumped: false,
    foreign: false,
    written: false,
};

/// The knowledge of files beyond the command line, and the questions that it leaves.
#[derive(Default)]
pub(super) struct Scripts {
    /// The files that the host looked up.
    found: BTreeMap<String, Found>,
    /// Those that are as they were committed.
    committed: BTreeSet<String>,
    /// The provenance of files before the command line.
    before: BTreeMap<String, Provenance>,
    /// Folders into which something was unpacked.
    folders: Vec<(String, Source)>,
    /// The files whose text is being read, innermost last.
    running: Vec<Running>,
    wants: Vec<String>,
    /// Files that are asked for and whose absence makes a difference.
    absences: RefCell<BTreeSet<String>>,
    /// No more files are asked for.
    closed: bool,
    lines: Vec<RunLine>,
    /// The number of effects on the project's files that files have had so far.
    soft: usize,
    /// The modules that were loaded: a second import of one runs nothing.
    imported: BTreeSet<String>,
}

/// The way in which a file gets another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    Copy,
    Link,
    Move,
}

/// The contents of a file that was looked up.
#[derive(Clone)]
pub(super) enum Found {
    Text(Rc<str>),
    Part(Rc<str>),
    Binary,
    Missing,
    Unreadable(String),
}

impl Scripts {
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        let mut scripts = Self::default();
        for file in &surroundings.files {
            if let Some(contents) = &file.contents {
                let found = match contents {
                    Contents::Text(text) => Found::Text(Rc::from(text.as_str())),
                    Contents::Part(text) => Found::Part(Rc::from(text.as_str())),
                    Contents::Binary => Found::Binary,
                    Contents::Missing => Found::Missing,
                    Contents::Unreadable(why) => Found::Unreadable(why.clone()),
                };
                scripts.found.insert(file.path.clone(), found);
                if file.committed {
                    scripts.committed.insert(file.path.clone());
                }
            }
            if file.provenance != NOWHERE {
                scripts.before.insert(file.path.clone(), file.provenance);
            }
        }
        scripts
    }

    /// Replaces the list of commands that stand in files; returns the list before.
    pub(super) fn take_lines(&mut self, lines: Vec<RunLine>) -> Vec<RunLine> {
        std::mem::replace(&mut self.lines, lines)
    }

    /// Notes that a file is no longer as it was committed.
    pub(super) fn forget_commit(&mut self, path: &str) {
        self.committed.remove(path);
    }

    /// Allows or forbids questions for more files; returns true if they were allowed.
    pub(super) fn ask(&mut self, allowed: bool) -> bool {
        !std::mem::replace(&mut self.closed, !allowed)
    }

    /// Returns true while the text of a file is being read.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }
}

/// Returns the source of data in a file of that provenance.
fn source_of(provenance: Provenance) -> Source {
    let trust = if provenance.downloaded {
        Trust::Downloaded
    } else if provenance.decoded {
        Trust::Decoded
    } else {
        Trust::Local
    };
    Source { trust, secret: provenance.secret, dumped: provenance.dumped, ..Source::LOCAL }
}

impl Walker<'_> {
    /// Takes over what earlier steps of the session put into files.
    pub(super) fn recall_files(&mut self) {
        for (path, provenance) in self.scripts.before.clone() {
            let source = source_of(provenance);
            if source.secret {
                self.tainted.insert(path.clone());
            }
            if source.dumped {
                self.dumped.insert(path.clone());
            }
            if provenance.foreign {
                self.led.insert(path.clone(), true);
            }
            match path.strip_suffix('/').filter(|folder| !folder.is_empty()) {
                Some(folder) => self.scripts.folders.push((folder.to_owned(), source)),
                None if source.is_unseen() => {
                    self.files.insert(path, Feed { source, open: true, ..Feed::default() });
                }
                None => {}
            }
        }
    }

    /// Returns what this command line or an earlier step put into a file.
    pub(super) fn content_of(&self, path: &str) -> Option<Feed> {
        let known = self.files.get(path).cloned().map(|mut feed| {
            feed.source.changed |= self.is_rewritten(path);
            feed
        });
        known.or_else(|| {
            let mut folders = self.scripts.folders.iter();
            if let Some(unpacked) = folders.find(|(folder, _)| places::is_below(path, folder)) {
                return Some(Feed { source: unpacked.1, open: true, ..Feed::default() });
            }
            self.copy_of(path)
        })
    }

    /// Notes a folder into which something unseen is unpacked.
    pub(super) fn remember_folder(&mut self, folder: &str, source: Source) {
        let known = self.scripts.folders.iter().any(|(known, _)| known == folder);
        if source.is_unseen() && !known && self.scripts.folders.len() < LEAVES {
            self.scripts.folders.push((folder.to_owned(), source));
        }
    }

    /// Returns true if there are modules that nobody has seen, or that the session wrote.
    pub(super) fn has_modules(&self) -> bool {
        self.has_fetched()
            || self.files.iter().any(|(path, feed)| feed.source.is_unseen() || is_module(path))
            || self.scripts.before.values().any(|from| from.written)
    }

    /// Returns true for a module that the session wrote, the first time that it is loaded.
    pub(super) fn is_first_import(&mut self, path: &str) -> bool {
        let before = self.scripts.before.get(path).is_some_and(|from| from.written);
        (before || self.files.contains_key(path) && is_module(path))
            && self.scripts.imported.insert(path.to_owned())
    }

    /// Returns true if there is a file at a path; asks for it if that is not known.
    pub(super) fn is_there(&mut self, path: &str) -> bool {
        self.content_of(path).is_some()
            || self.looked_up(path).is_some_and(|found| !matches!(found, Found::Missing))
    }

    /// Returns true if something unseen was put into a folder.
    pub(super) fn has_fetched(&self) -> bool {
        !self.scripts.folders.is_empty()
    }

    /// Passes on what is known of files to their copies, links and new names.
    pub(super) fn pass_on_files(&mut self, how: Passing, sources: &[&Field], target: &Field) {
        let (to, known) = places::resolve(&target.text, &self.env.folder);
        if !known {
            return;
        }
        for source in sources {
            let (from, _) = places::resolve(&source.text, &self.env.folder);
            let name = from.rsplit('/').next().unwrap_or("").to_owned();
            // The target may be a folder.
            let names = [to.clone(), format!("{}/{name}", to.trim_end_matches('/'))];
            self.pass_on_text(&from, &names);
            for marked in [&mut self.tainted, &mut self.dumped] {
                if super::taint::is_marked(marked, &from) {
                    marked.extend(names.iter().cloned());
                }
            }
            if self.pass_on_generated(&from, &names) {
                continue;
            }
            let open = self.content_of(&from).filter(|feed| feed.open);
            let is_path = from.starts_with('/') && !from.contains(UNKNOWN) && from != to;
            let on_disk = || (is_path && how != Passing::Link).then(|| self.on_disk(&from));
            let Some(mut content) = open.or_else(on_disk) else { continue };
            content.open = true;
            for name in &names {
                // Its text was passed on if it runs by itself there.
                if content.pieces.is_some() && self.autorun_at(name).is_some() {
                    continue;
                }
                self.remember_file(name, content.clone(), false);
            }
            if how == Passing::Move {
                self.files.remove(&from);
            }
        }
    }

    /// Passes a file's text on to copies of it that something runs later.
    fn pass_on_text(&mut self, from: &str, names: &[String; 2]) {
        if from.contains(UNKNOWN) || !from.starts_with('/') || self.content_of(from).is_some() {
            return;
        }
        for name in names.iter().filter(|name| name.as_str() != from) {
            if self.autorun_at(name).is_some()
                && let Some(text) = self.text_on_disk(from)
            {
                self.remember_file(name, Feed::of_text(&text), false);
            }
        }
    }

    /// Returns the files whose provenance the command line changes.
    pub(super) fn left_files(&self) -> Vec<LeftFile> {
        let provenance = |trust: Trust| Provenance {
            downloaded: trust == Trust::Downloaded,
            decoded: trust == Trust::Decoded,
            ..NOWHERE
        };
        let files = self.files.iter().map(|(path, feed)| (path.clone(), feed.source));
        let folders = self.scripts.folders.iter();
        let folders = folders.map(|(folder, source)| (format!("{folder}/"), *source));
        let mut now: BTreeMap<String, Provenance> =
            files.chain(folders).map(|(path, source)| (path, provenance(source.trust))).collect();
        for path in &self.tainted {
            now.entry(path.clone()).or_insert(NOWHERE).secret = true;
        }
        for path in &self.dumped {
            now.entry(path.clone()).or_insert(NOWHERE).dumped = true;
        }
        for (path, foreign) in &self.led {
            now.entry(path.clone()).or_insert(NOWHERE).foreign = *foreign;
        }
        now.into_iter()
            .filter(|(path, now)| {
                let before = self.scripts.before.get(path).copied().unwrap_or(NOWHERE);
                *now != Provenance { written: false, ..before }
                    && path.starts_with('/')
                    && !path.contains(UNKNOWN)
                    && path.len() <= 1024
            })
            .take(LEAVES)
            .map(|(path, provenance)| LeftFile { path, provenance })
            .collect()
    }

    /// Returns the files that are asked for and whose absence makes a difference.
    pub(super) fn absences(&self) -> Vec<String> {
        let minded = self.scripts.absences.borrow();
        self.scripts.wants.iter().filter(|path| minded.contains(*path)).cloned().collect()
    }

    /// Returns the questions that are left, and the commands that stand in files.
    pub(super) fn asked_files(&mut self) -> (Vec<String>, Vec<RunLine>) {
        (std::mem::take(&mut self.scripts.wants), std::mem::take(&mut self.scripts.lines))
    }

    /// Returns a file's text, if it can be known: from this command line, or from the host, which
    /// is asked for it. Notes that unseen text is run, and any reason that the file is not fully
    /// read.
    pub(super) fn open_script(
        &mut self,
        path: &str,
        is_program: bool,
        command: Option<u32>,
        setting: &Setting,
    ) -> Option<Rc<str>> {
        let (text, content) = self.find_script(path, setting)?;
        if let Some(content) = content {
            self.unseen(content.source, command, setting);
        }
        if self.is_rewritten(path) {
            self.out.file_gap(REWRITTEN);
        }
        if let Some(pieces) = self.content_of(path).and_then(|feed| feed.pieces) {
            self.note_rewritten_pieces(&pieces);
        }
        let gap = match text? {
            Found::Text(text) | Found::Part(text) if self.edits.contains_key(path) => {
                let after = self.with_edits(path, Rc::clone(&text));
                if after.is_none() {
                    self.out.file_gap(REWRITTEN);
                }
                return Some(after.unwrap_or(text));
            }
            Found::Text(text) => return Some(text),
            Found::Part(text) => {
                self.note_cut(path);
                return Some(text);
            }
            // Programs are binary files as a rule; what an interpreter is given is not.
            Found::Binary if is_program => return None,
            Found::Binary => "is not a text",
            Found::Missing => return None,
            Found::Unreadable(why) => {
                self.file_gap(path, &why);
                return None;
            }
        };
        self.file_gap(path, gap);
        None
    }

    /// Looks for a file: what this command line or an earlier step put into it, and its text.
    fn find_script(
        &mut self,
        path: &str,
        setting: &Setting,
    ) -> Option<(Option<Found>, Option<Feed>)> {
        if setting.place != Place::Here || !path.starts_with('/') || path.contains(UNKNOWN) {
            return None;
        }
        let content = self.content_of(path);
        let own = content.as_ref().and_then(|feed| feed.text.clone()).map(Found::Text);
        let pieces = content.as_ref().and_then(|feed| feed.pieces.clone());
        let own = own.or_else(|| {
            let pieces = pieces?;
            // What is appended runs, whatever stood there before.
            let appended = pieces.iter().any(|piece| matches!(piece, Piece::Text(_)));
            let known = |walker: &mut Self| appended.then(|| Found::Text(walker.text_in(&pieces)));
            self.found_in(&pieces).or_else(|| known(self))
        });
        let earlier = self.scripts.before.contains_key(path) || !self.files.contains_key(path);
        let found = own.or_else(|| if earlier { self.looked_up(path) } else { None });
        Some((found, content))
    }

    /// Returns true if the contents of a file are known, or that there is none.
    pub(super) fn is_known(&self, path: &str) -> bool {
        self.mind_absence(path);
        self.scripts.found.contains_key(path) || self.content_of(path).is_some()
    }

    /// Notes that the reading depends on whether a file is missing, which is not known yet.
    pub(super) fn mind_absence(&self, path: &str) {
        if !self.scripts.found.contains_key(path) {
            self.scripts.absences.borrow_mut().insert(path.to_owned());
        }
    }

    /// Returns true for a file whose text the host does not show.
    fn is_hidden(&mut self, path: &str) -> bool {
        matches!(self.looked_up(path), Some(Found::Unreadable(_)))
    }

    /// Returns true for a path at which there is nothing on the disk.
    pub(super) fn is_absent(&mut self, path: &str) -> bool {
        self.mind_absence(path);
        matches!(self.looked_up(path), Some(Found::Missing))
    }

    /// Returns the text of files on the disk; none as long as it is not known.
    pub(super) fn found_in(&mut self, pieces: &[Piece]) -> Option<Found> {
        if let [Piece::File(path)] = pieces {
            return self.looked_up(path);
        }
        let found: Vec<Option<Found>> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::File(path) => self.looked_up(path),
                Piece::Changed(path, edits) => self.looked_up(path).map(|found| match found {
                    Found::Text(text) | Found::Part(text) => match edited(&text, edits) {
                        Some(after) => Found::Text(after),
                        None => {
                            self.out.file_gap(REWRITTEN);
                            Found::Text(text)
                        }
                    },
                    other => other,
                }),
                Piece::Text(text) => Some(Found::Text(Rc::clone(text))),
                Piece::Made => None,
            })
            .collect();
        let (mut all, mut cut) = (String::new(), false);
        // Nothing stands between two files that are printed: one can begin a word that the next one
        // ends.
        for found in found {
            match found? {
                Found::Text(text) => all.push_str(&text),
                Found::Part(text) => {
                    cut = true;
                    all.push_str(&text);
                }
                Found::Missing => {}
                other => return Some(other),
            }
        }
        let all = Rc::from(all);
        Some(if cut { Found::Part(all) } else { Found::Text(all) })
    }

    fn looked_up(&mut self, path: &str) -> Option<Found> {
        let found = self.scripts.found.get(path).cloned().filter(|_| !self.scripts.closed);
        if self.scripts.closed {
            return None;
        }
        let wants = &mut self.scripts.wants;
        if found.is_none() && wants.len() < WANTS && !wants.iter().any(|known| known == path) {
            wants.push(path.to_owned());
        }
        found
    }

    /// Returns the text that a file has on the disk, as far as it is known.
    pub(super) fn text_on_disk(&mut self, path: &str) -> Option<Rc<str>> {
        match self.looked_up(path)? {
            Found::Text(text) | Found::Part(text) => Some(text),
            Found::Binary | Found::Missing | Found::Unreadable(_) => None,
        }
    }

    /// Notes a file that is not read to its end: anything may stand in it, unless it is as it was
    /// committed.
    pub(super) fn note_cut(&mut self, path: &str) {
        let cut = format!("`{}` is longer than is read", self.shown(path));
        if self.is_committed(path) {
            self.out.file_gap(&cut);
        } else {
            self.out.limit(&cut);
        }
    }

    /// Returns true for a file that neither this command line nor anything since the last commit
    /// changed.
    pub(super) fn is_committed(&self, path: &str) -> bool {
        self.scripts.committed.contains(path) && !self.files.contains_key(path)
    }

    pub(super) fn file_gap(&mut self, path: &str, what: &str) {
        self.out.file_gap(&format!("`{}` {what}", self.shown(path)));
    }

    /// Returns a path as a person would write it in the project.
    pub(super) fn shown<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix(self.project)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
    }
}
