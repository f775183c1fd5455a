//! A person's past sessions: all recordings of a client below a folder, including those of
//! subagents, with the files of a session merged by time. JSON lines are read one by one, so memory
//! use does not grow with the length of such a file; a JSON document is read whole, up to a limit.
//!
//! The format is the client's own: unreadable parts are skipped and reported.

use super::{Collector, RecordedEvent};
use portcullis_agents::recorded::SessionFiles;
use portcullis_core::text::count_noun;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The longest line that is read, in bytes; longer ones are skipped.
const MOST_LINE: u64 = 16 << 20;
/// The largest document that is read, in bytes.
const MOST_DOCUMENT: u64 = 64 << 20;
/// The most sessions that are listed: the newest.
const MOST_SESSIONS: usize = 10_000;
/// The deepest level of transcripts below the folder of all projects.
const MOST_DEPTH: usize = 6;
/// The most files of a session that are open at a time; the others follow after them.
const MOST_OPEN: usize = 128;

/// A skipped part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SkippedInput {
    /// The file.
    pub file: PathBuf,
    /// The reason, in one line.
    pub why: String,
}

/// The files of a session.
#[derive(Clone, Debug)]
pub struct PastSession {
    /// Its name: the client's id, or the name of its file.
    pub name: String,
    /// Its recordings, with their sizes in bytes.
    pub files: Vec<(PathBuf, u64)>,
    /// True if a recording is one JSON document.
    is_document: bool,
}

/// Returns the sessions below `folder` that were written to since `since` (milliseconds since
/// 1970), by name; the newest ones if there are more than 10,000.
#[must_use]
pub fn list_sessions(
    folder: &Path,
    kept: SessionFiles,
    since: u64,
    unread: &mut Vec<SkippedInput>,
) -> Vec<PastSession> {
    let mut files = Vec::new();
    walk(folder, MOST_DEPTH, kept, &mut files, unread);
    files.sort();
    let mut sessions: BTreeMap<String, (u64, Vec<(PathBuf, u64)>)> = BTreeMap::new();
    for (path, size, changed) in files {
        if changed >= since {
            let session = sessions.entry(session_of(folder, &path, kept)).or_default();
            session.0 = session.0.max(changed);
            session.1.push((path, size));
        }
    }
    let mut sessions: Vec<_> = sessions.into_iter().collect();
    let older = sessions.len().saturating_sub(MOST_SESSIONS);
    if older > 0 {
        sessions.sort_by_key(|(_, (changed, _))| Reverse(*changed));
        sessions.truncate(MOST_SESSIONS);
        sessions.sort();
        let why = format!(
            "{} are older than the newest {MOST_SESSIONS}",
            count_noun(older as u64, "session")
        );
        unread.push(SkippedInput { file: folder.to_owned(), why });
    }
    let session = |(name, (_, files))| PastSession { name, files, is_document: kept.is_document };
    sessions.into_iter().map(session).collect()
}

fn walk(
    folder: &Path,
    depth: usize,
    kept: SessionFiles,
    files: &mut Vec<(PathBuf, u64, u64)>,
    unread: &mut Vec<SkippedInput>,
) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return unread.push(SkippedInput { file: folder.to_owned(), why: error.to_string() });
        }
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // Links are not followed: transcripts are the client's own files.
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() && depth > 0 {
            walk(&path, depth - 1, kept, files, unread);
        } else if found.is_file() && is_recording(&path, kept) {
            let changed = found
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .unwrap_or(Duration::MAX);
            files.push((path, found.len(), u64::try_from(changed.as_millis()).unwrap_or(u64::MAX)));
        }
    }
}

fn is_recording(path: &Path, kept: SessionFiles) -> bool {
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(kept.ending));
    let mut parts = path.components().map(Component::as_os_str);
    named && (kept.within.is_empty() || parts.any(|part| part == kept.within))
}

/// Returns the session of a recording: files and folders with the same name at that place belong
/// to one.
fn session_of(folder: &Path, path: &Path, kept: SessionFiles) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<String> =
        below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let name = parts.get(kept.session_part).or(parts.last()).cloned().unwrap_or_default();
    name.strip_suffix(kept.ending).map_or(name.clone(), str::to_owned)
}

/// The events of a session in the order of their times.
pub struct PastEvents {
    is_document: bool,
    waiting: VecDeque<PathBuf>,
    feeds: Vec<TranscriptFeed>,
    unread: Vec<SkippedInput>,
}

impl PastEvents {
    /// Opens a session's transcripts.
    #[must_use]
    pub fn open_session(session: &PastSession) -> Self {
        let waiting = session.files.iter().map(|(path, _)| path.clone()).collect();
        let is_document = session.is_document;
        let mut past = Self { is_document, waiting, feeds: Vec::new(), unread: Vec::new() };
        past.fill();
        past
    }

    /// Returns the unreadable parts, once the last event was taken.
    #[must_use]
    pub fn into_unread(self) -> Vec<SkippedInput> {
        self.unread
    }

    fn fill(&mut self) {
        while self.feeds.is_empty() && !self.waiting.is_empty() {
            let some = self.waiting.len().min(MOST_OPEN);
            for path in self.waiting.drain(..some) {
                match TranscriptFeed::open(&path, self.is_document) {
                    Ok(feed) => self.feeds.push(feed),
                    Err(error) => {
                        self.unread.push(SkippedInput { file: path, why: error.to_string() })
                    }
                }
            }
            self.drop_ended();
        }
    }

    fn drop_ended(&mut self) {
        for feed in &mut self.feeds {
            feed.advance();
        }
        let (open, ended): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.feeds).into_iter().partition(|feed| !feed.queue.is_empty());
        self.feeds = open;
        self.unread.extend(ended.into_iter().filter_map(TranscriptFeed::problem));
    }
}

impl Iterator for PastEvents {
    type Item = RecordedEvent;

    fn next(&mut self) -> Option<RecordedEvent> {
        self.fill();
        let next = self
            .feeds
            .iter_mut()
            .min_by_key(|feed| feed.queue.front().map_or(u64::MAX, |item| item.at))?;
        let item = next.queue.pop_front();
        if next.queue.is_empty() {
            self.drop_ended();
        }
        item
    }
}

/// One transcript, read ahead to its next event.
struct TranscriptFeed {
    path: PathBuf,
    is_document: bool,
    reader: BufReader<File>,
    collector: Collector,
    queue: VecDeque<RecordedEvent>,
    line: u64,
    bad: u64,
    first_bad: Option<String>,
}

impl TranscriptFeed {
    fn open(path: &Path, is_document: bool) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            is_document,
            reader: BufReader::new(File::open(path)?),
            collector: Collector::of_file(path),
            queue: VecDeque::new(),
            line: 0,
            bad: 0,
            first_bad: None,
        })
    }

    /// Reads until there is an event, or the end of the file.
    fn advance(&mut self) {
        while self.queue.is_empty() {
            let read = if self.is_document { self.read_document() } else { self.read_line() };
            match read {
                Ok(None) => return,
                Ok(Some(Ok(()))) => {
                    let items =
                        self.collector.sessions.drain(..).flat_map(|recording| recording.items);
                    self.queue.extend(items);
                }
                Ok(Some(Err(why))) => self.pass_over(why),
                Err(error) => {
                    self.pass_over(error.to_string());
                    return;
                }
            }
        }
    }

    fn read_line(&mut self) -> io::Result<Option<Result<(), String>>> {
        let mut line = Vec::new();
        self.line += 1;
        if self.reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() as u64 >= MOST_LINE && !line.ends_with(b"\n") {
            self.reader.skip_until(b'\n')?;
            return Ok(Some(Err(format!("it is longer than {} MiB", MOST_LINE >> 20))));
        }
        if line.trim_ascii().is_empty() {
            return Ok(Some(Ok(())));
        }
        Ok(Some(self.collect(&line)))
    }

    /// Reads all of the file, the first time.
    fn read_document(&mut self) -> io::Result<Option<Result<(), String>>> {
        self.line += 1;
        let mut text = Vec::new();
        if self.reader.by_ref().take(MOST_DOCUMENT + 1).read_to_end(&mut text)? == 0 {
            return Ok(None);
        }
        if text.len() as u64 > MOST_DOCUMENT {
            self.reader.seek(SeekFrom::End(0))?;
            return Ok(Some(Err(format!("it is longer than {} MiB", MOST_DOCUMENT >> 20))));
        }
        Ok(Some(self.collect(&text)))
    }

    /// Passes on what the client wrote: a line, or a document.
    fn collect(&mut self, text: &[u8]) -> Result<(), String> {
        match serde_json::from_slice(text) {
            Ok(Value::Object(object)) => {
                self.collector.line(object).map_err(|error| format!("{error:#}"))
            }
            Ok(_) => Err("it is JSON but not an object".to_owned()),
            Err(error) => Err(format!("it is not valid JSON: {error}")),
        }
    }

    fn pass_over(&mut self, why: String) {
        self.bad += 1;
        let place = if self.is_document { String::new() } else { format!("line {}: ", self.line) };
        self.first_bad.get_or_insert_with(|| format!("{place}{why}"));
    }

    fn problem(self) -> Option<SkippedInput> {
        let why = match (self.first_bad?, self.bad) {
            (first, 1) => first,
            (first, bad) => format!("{first} (and {} more)", count_noun(bad - 1, "line")),
        };
        Some(SkippedInput { file: self.path, why })
    }
}
