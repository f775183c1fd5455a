//! Reading in an open file, at once or as a stream.

use super::ledger::SharedLedger;
use bytes::Bytes;
use portcullis_core::plugins::Grant;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, Pollable, StreamError, StreamResult};

/// The most bytes of one read.
pub(super) const READ_BYTES: u64 = 64 << 10;
/// The most bytes of all reads of one call.
const CALL_BYTES: u64 = 8 << 20;

/// Reads from a file within the bounds; each byte costs fuel.
///
/// # Errors
/// Fails as the system does, and with `EDQUOT` past the most bytes of a call.
pub(super) fn read_some(
    ledger: &SharedLedger,
    file: &File,
    what: &str,
    wanted: u64,
    offset: u64,
) -> io::Result<Vec<u8>> {
    let length = wanted.min(READ_BYTES);
    let mut ledger = ledger.lock();
    if ledger.read_bytes.saturating_add(length) > CALL_BYTES {
        ledger.uses.refused(Grant::Directories, what, "it read more than 8 MiB in one call");
        return Err(Errno::DQUOT.into());
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let count = file.read_at(&mut bytes, offset)?;
    bytes.truncate(count);
    // The wanted length counts, so that endless reads past the end are bounded too.
    ledger.read_bytes += length;
    ledger.uses.used(Grant::Directories, what, count);
    ledger.owe(count);
    Ok(bytes)
}

/// The content of a granted file from some byte onwards.
pub(super) struct FileStream {
    pub(super) file: Arc<File>,
    /// Its name in records.
    pub(super) what: String,
    pub(super) at: u64,
    pub(super) ledger: SharedLedger,
}

#[async_trait]
impl Pollable for FileStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for FileStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let wanted = u64::try_from(size).unwrap_or(u64::MAX);
        // A guest must not take half a file for the whole: only its end closes the stream.
        let bytes = read_some(&self.ledger, &self.file, &self.what, wanted, self.at)
            .map_err(|error| StreamError::LastOperationFailed(error.into()))?;
        if bytes.is_empty() && wanted > 0 {
            return Err(StreamError::Closed);
        }
        self.at = self.at.saturating_add(u64::try_from(bytes.len()).unwrap_or_default());
        Ok(bytes.into())
    }
}
