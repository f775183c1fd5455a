//! Sealed documents: JSON with a keyed code. Changing one without the key makes it worthless.
//!
//! A code does not prove that a document is the newest one: an older document of the same place can
//! be put back.

use crate::private::create_private_folder;
use crate::read::{Links, ReadError, read_file};
use crate::replace::replace_bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const CODE_START: &[u8] = b",\"code\":\"";
const CODE_END: &[u8] = b"\"}";

/// One sealed document: a private file with a JSON object, whose last field is the code.
#[derive(Debug)]
pub struct SealedDocument {
    path: PathBuf,
    key: Key,
    most: u64,
}

struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// The reasons why a sealed document cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// It was not written with the key: it is not a file, a link, too large, not such a document,
    /// or changed.
    #[error("it was not written with this home's key")]
    Forged,
    /// Its content has too many bytes to be written.
    #[error("it would have more than {0} bytes")]
    TooLarge(u64),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SealedDocument {
    /// Names the document at `path`. `key` is for one kind of document only; `most` is the largest
    /// file, in bytes.
    #[must_use]
    pub const fn new(path: PathBuf, key: [u8; 32], most: u64) -> Self {
        Self { path, key: Key(key), most }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; returns `None` if nothing has its name.
    ///
    /// # Errors
    /// It is forged, or the system refuses.
    pub fn read_content<T: DeserializeOwned>(&self) -> Result<Option<T>, SealError> {
        let bytes = match read_file(&self.path, self.most, Links::Refuse) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(ReadError::Io(error)) => return Err(error.into()),
            Err(_) => return Err(SealError::Forged),
        };
        let content = self.verified(bytes).ok_or(SealError::Forged)?;
        serde_json::from_slice(&content).map(Some).map_err(|_| SealError::Forged)
    }

    /// Replaces it durably, and creates its folder if it is missing.
    ///
    /// # Errors
    /// The content is too large or not a JSON object with a field, or the system refuses.
    pub fn write_content<T: Serialize>(&self, content: &T) -> Result<(), SealError> {
        let mut bytes = serde_json::to_vec(content).map_err(io::Error::from)?;
        if bytes.first() != Some(&b'{') || bytes.len() <= b"{}".len() {
            return Err(io::Error::from(ErrorKind::InvalidInput).into());
        }
        let code = self.code(&bytes).to_hex();
        // The code becomes the last field of the object.
        bytes.pop();
        for part in [CODE_START, code.as_bytes(), CODE_END] {
            bytes.extend_from_slice(part);
        }
        if bytes.len() as u64 > self.most {
            return Err(SealError::TooLarge(self.most));
        }
        if let Some(folder) = self.path.parent() {
            create_private_folder(folder)?;
        }
        Ok(replace_bytes(&self.path, 0o600, &bytes)?)
    }

    /// Removes it; returns true if it was there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the content, if the code is the one of its bytes. The code has a fixed place, so
    /// nothing is parsed before it is verified, and nothing can stand beside what it covers.
    fn verified(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let code_size = CODE_START.len() + 2 * blake3::OUT_LEN + CODE_END.len();
        let written = bytes.split_off(bytes.len().checked_sub(code_size)?);
        let code = written.strip_prefix(CODE_START)?.strip_suffix(CODE_END)?;
        let code = blake3::Hash::from_hex(code).ok()?;
        bytes.push(b'}');
        // Comparing `Hash` values takes constant time.
        (code == self.code(&bytes)).then_some(bytes)
    }

    fn code(&self, content: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.key.0, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Note {
        text: String,
        count: u64,
        tags: Vec<(String, Option<bool>)>,
    }

    fn note(count: u64) -> Note {
        Note { text: "full".into(), count, tags: vec![("a".into(), None)] }
    }

    fn document(folder: &Path, key: u8) -> SealedDocument {
        SealedDocument::new(folder.join("made/note"), [key; 32], 200)
    }

    #[test]
    fn sealed_files_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let document = document(folder.path(), 1);
        assert_eq!(document.read_content::<Note>().unwrap(), None);
        assert!(!document.remove().unwrap());
        for count in [0, u64::MAX] {
            document.write_content(&note(count)).unwrap();
            assert_eq!(document.read_content().unwrap(), Some(note(count)));
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(document.path()), 0o600);
        assert_eq!(mode(document.path().parent().unwrap()), 0o700);
        assert!(document.remove().unwrap());
        let large = Note { text: "x".repeat(200), ..note(1) };
        assert!(matches!(document.write_content(&large), Err(SealError::TooLarge(200))));
        for not_an_object in [serde_json::json!([1]), serde_json::json!({})] {
            assert!(matches!(document.write_content(&not_an_object), Err(SealError::Io(_))));
        }
        assert!(!document.path().exists());
    }

    #[test]
    fn nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let document = document(folder.path(), 1);
        self::document(folder.path(), 2).write_content(&note(1)).unwrap();
        let foreign = fs::read_to_string(document.path()).unwrap();
        document.write_content(&note(1)).unwrap();
        let own = fs::read_to_string(document.path()).unwrap();
        for text in [
            String::new(),
            "{}".into(),
            "[]".into(),
            foreign,
            own.replace("\"count\":1", "\"count\":2"),
            own.replace("full", "FULL"),
            own.replace("\"code\"", "\"code\":\"\",\"code\""),
            own.replace("\"code\"", "\"more\":1,\"code\""),
            own.replace("\"code\"", "\"count\":1,\"code\""),
            own.replace("{\"text\"", "{ \"text\""),
            format!("{own}\n"),
            format!("{own}{}", " ".repeat(200)),
            own[..own.len() - 1].to_owned(),
            own[own.len() - 75..].to_owned(),
        ] {
            fs::write(document.path(), &text).unwrap();
            let read = document.read_content::<Note>();
            assert!(matches!(read, Err(SealError::Forged)), "{text}: {read:?}");
        }
        fs::write(document.path(), &own).unwrap();
        assert_eq!(document.read_content().unwrap(), Some(note(1)));
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(document.path(), &elsewhere).unwrap();
        symlink(&elsewhere, document.path()).unwrap();
        assert!(matches!(document.read_content::<Note>(), Err(SealError::Forged)));
    }
}
