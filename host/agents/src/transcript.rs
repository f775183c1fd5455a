//! Clients' transcripts: files of JSON lines that a client appends to. They may lag behind, and the
//! agent can write to them.

use portcullis_core::session::{TokenCursor, TokenReading};
use portcullis_core::text::hash_parts;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most bytes that are read of one transcript, from its end: the newest calls.
pub(crate) const MOST_BYTES: u64 = 8 << 20;
/// The longest line that is read, in bytes; longer ones are skipped.
const MOST_LINE: u64 = 1 << 20;
/// The most bytes that are read for one event; the rest follows with the next ones.
const MOST_NEW: u64 = 1 << 20;
/// The transcripts named in a hook's input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Transcripts {
    transcript_path: Option<PathBuf>,
    agent_transcript_path: Option<PathBuf>,
}

/// Returns the transcript of the acting agent: a subagent's own, otherwise the session's.
pub(crate) fn path_in(input: &[u8]) -> Option<PathBuf> {
    let named: Transcripts = serde_json::from_slice(input).unwrap_or_default();
    named.agent_transcript_path.or(named.transcript_path)
}

/// Returns the transcript of the session, whichever agent acts.
pub(crate) fn session_path_in(input: &[u8]) -> Option<PathBuf> {
    serde_json::from_slice::<Transcripts>(input).ok()?.transcript_path
}

/// Passes each line among the last `most` bytes of a transcript to `take`, without those that are
/// too long.
///
/// # Errors
/// Fails if it is not a file, or cannot be read.
pub(crate) fn for_each_line(
    transcript: &Path,
    most: u64,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut file = File::options().read(true).open(checked(transcript)?)?;
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut lines = Lines { reader: BufReader::new(file.take(most)), cut: start > 0 };
    while let Some(line) = lines.next()? {
        take(&line);
    }
    Ok(())
}

/// Checks for a regular file: a pipe would wait for a writer, and a device might never end.
fn checked(path: &Path) -> io::Result<&Path> {
    if std::fs::metadata(path)?.is_file() {
        Ok(path)
    } else {
        Err(io::Error::other("it is not a file"))
    }
}

pub(crate) fn contains(line: &[u8], mark: &[u8]) -> bool {
    line.windows(mark.len()).any(|window| window == mark)
}

struct Lines<R> {
    reader: R,
    /// True if the first line began before the part that is read.
    cut: bool,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            if self.reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            let whole = line.ends_with(b"\n");
            // The rest of a line that is too long must not pass as a line.
            if !whole {
                self.reader.skip_until(b'\n')?;
            }
            if !std::mem::take(&mut self.cut) && (whole || (line.len() as u64) < MOST_LINE) {
                return Ok(Some(line));
            }
        }
    }
}

/// Reads on from `cursor`; `count` returns the tokens that a line adds. Without a cursor, or in
/// another file than before, or in one that became shorter, the count begins at the file's end, or
/// `from_start`.
///
/// # Errors
/// Fails if it is not a file, or cannot be read.
pub(crate) fn read_new_tokens(
    transcript: &Path,
    from_start: bool,
    cursor: Option<&TokenCursor>,
    count: &dyn Fn(&[u8], &mut TokenCursor) -> u64,
) -> io::Result<TokenReading> {
    let file = hash_parts(&[&transcript.to_string_lossy()]);
    let length = match std::fs::metadata(transcript) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return Err(io::Error::other("it is not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let known = cursor.filter(|cursor| cursor.file == file && cursor.offset <= length).cloned();
    let begin =
        TokenCursor { file, offset: if from_start { 0 } else { length }, ..Default::default() };
    let mut cursor = known.unwrap_or(begin);
    if cursor.offset == length {
        return Ok(TokenReading { added: 0, cursor });
    }
    let mut open = File::open(transcript)?;
    open.seek(SeekFrom::Start(cursor.offset))?;
    let mut bytes = Vec::new();
    open.take(MOST_NEW).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map(|end| end.saturating_add(1));
    // A line that is longer than all of this is skipped in parts that cannot be read.
    let end = whole.unwrap_or(if bytes.len() as u64 == MOST_NEW { bytes.len() } else { 0 });
    let mut added = 0_u64;
    for line in bytes.get(..end).unwrap_or_default().split(|byte| *byte == b'\n') {
        added = added.saturating_add(count(line, &mut cursor));
    }
    cursor.offset = cursor.offset.saturating_add(end as u64);
    Ok(TokenReading { added, cursor })
}
