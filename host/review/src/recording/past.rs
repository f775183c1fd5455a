//! A person's past sessions: all transcripts below a folder, including those of
//! subagents, read line by line, with the files of a session merged by time. Memory use does not
//! grow with the length of a file.
//!
//! The format is the client's own: unreadable parts are skipped and reported.

use super::{Collector, EPOCH, RecordedEvent};
use portcullis_core::text::count_noun;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The longest line that is read, in bytes; longer ones are skipped.
const MOST_LINE: u64 = 16 << 20;
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
    /// Its name: the client's id.
    pub name: String,
    /// Its transcripts, with their sizes in bytes.
    pub files: Vec<(PathBuf, u64)>,
}

/// Returns the sessions below `folder` that were written to since `since` (milliseconds since
/// 1970).
#[must_use]
pub fn list_sessions(
    folder: &Path,
    since: u64,
    unread: &mut Vec<SkippedInput>,
) -> Vec<PastSession> {
    let mut files = Vec::new();
    walk(folder, MOST_DEPTH, &mut files, unread);
    files.sort();
    let mut sessions: BTreeMap<String, Vec<(PathBuf, u64)>> = BTreeMap::new();
    for (path, size, changed) in files {
        if changed >= since {
            sessions.entry(session_of(folder, &path)).or_default().push((path, size));
        }
    }
    sessions.into_iter().map(|(name, files)| PastSession { name, files }).collect()
}

fn walk(
    folder: &Path,
    depth: usize,
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
            walk(&path, depth - 1, files, unread);
        } else if found.is_file() && path.extension().is_some_and(|end| end == "jsonl") {
            let changed = found
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .unwrap_or(Duration::MAX);
            files.push((path, found.len(), u64::try_from(changed.as_millis()).unwrap_or(u64::MAX)));
        }
    }
}

/// Returns the session of a transcript: `PROJECT/SESSION.jsonl` and `PROJECT/SESSION/**/*.jsonl`
/// are one.
fn session_of(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<String> =
        below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let name = parts.get(1).or(parts.first()).cloned().unwrap_or_default();
    name.strip_suffix(".jsonl").map_or(name.clone(), str::to_owned)
}

/// The events of a session in the order of their times.
pub struct PastEvents {
    waiting: VecDeque<PathBuf>,
    feeds: Vec<TranscriptFeed>,
    unread: Vec<SkippedInput>,
}

impl PastEvents {
    /// Opens a session's transcripts.
    #[must_use]
    pub fn open_session(session: &PastSession) -> Self {
        let waiting = session.files.iter().map(|(path, _)| path.clone()).collect();
        let mut past = Self { waiting, feeds: Vec::new(), unread: Vec::new() };
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
                match TranscriptFeed::open(&path) {
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
    reader: BufReader<File>,
    collector: Collector,
    queue: VecDeque<RecordedEvent>,
    line: u64,
    bad: u64,
    first_bad: Option<String>,
}

impl TranscriptFeed {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let name =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::new(file),
            collector: Collector { clock: EPOCH, ..Collector::new(&name) },
            queue: VecDeque::new(),
            line: 0,
            bad: 0,
            first_bad: None,
        })
    }

    /// Reads until there is an event, or the end of the file.
    fn advance(&mut self) {
        while self.queue.is_empty() {
            match self.read_line() {
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
        Ok(Some(match serde_json::from_slice(&line) {
            Ok(Value::Object(object)) => {
                self.collector.line(object).map_err(|error| format!("{error:#}"))
            }
            Ok(_) => Err("it is JSON but not an object".to_owned()),
            Err(error) => Err(format!("it is not valid JSON: {error}")),
        }))
    }

    fn pass_over(&mut self, why: String) {
        self.bad += 1;
        let line = self.line;
        self.first_bad.get_or_insert_with(|| format!("line {line}: {why}"));
    }

    fn problem(self) -> Option<SkippedInput> {
        let why = match (self.first_bad?, self.bad) {
            (first, 1) => first,
            (first, bad) => format!("{first} (and {} more)", count_noun(bad - 1, "line")),
        };
        Some(SkippedInput { file: self.path, why })
    }
}
