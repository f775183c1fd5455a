//! The agreed tools of each server: one sealed document a server, in the state folder.
//!
//! The first list of a server is agreed as it is, except for tools whose texts instruct the agent.
//! From then on a tool that is new, or is not what it was, is held until a person accepts it.

use crate::definition::{ListedTool, ToolDefinition};
use portcullis_fs::{SealError, SealedDocument, create_private_folder, open_lock_file};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the documents, below the state folder.
const FOLDER: &str = "mcp";
/// The end of a document's name.
const EXTENSION: &str = "pins";
/// The purpose of the key of the documents.
const KEY: &str = "portcullis 2026 mcp pins";
/// The purpose of the digest of a server.
const SERVER: &str = "portcullis 2026 mcp server";
/// The most bytes of a document.
const MOST_BYTES: u64 = 16 << 20;
/// The most tools of a server, agreed and held ones each.
const MOST_TOOLS: usize = 2000;
/// The digits of a server's id.
const ID_DIGITS: usize = 12;

/// The words that say which server it is: the kind of its connection, then its command or its
/// address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerIdentity(Vec<String>);

impl ServerIdentity {
    /// Names a server by its command.
    #[must_use]
    pub fn of_command(words: &[String]) -> Self {
        Self(std::iter::once("stdio".to_owned()).chain(words.iter().cloned()).collect())
    }

    /// Names a server by its address.
    #[must_use]
    pub fn of_url(url: &str) -> Self {
        Self(vec!["http".into(), url.into()])
    }

    /// Returns its id: 12 hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key(SERVER);
        for word in &self.0 {
            hasher.update(&(word.len() as u64).to_le_bytes());
            hasher.update(word.as_bytes());
        }
        hasher.finalize().to_hex().as_str().get(..ID_DIGITS).unwrap_or_default().to_owned()
    }

    /// Returns the command or the address, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.get(1..).unwrap_or_default().join(" ")
    }
}

/// The state of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// The agent may see and call it.
    Agreed,
    /// A person has to look at it first.
    Held(HoldReason),
    /// The configuration hides it.
    Hidden,
}

/// The reason why a tool is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoldReason {
    /// Its definition is not the agreed one.
    Changed,
    /// Its server did not have it when its tools were agreed.
    New,
    /// Its texts instruct the agent. Holds what was found.
    Instructions(String),
    /// Its name is missing, or could be confused with another one.
    Name,
    /// Another tool of the list has the same name.
    Repeated,
    /// Its server is known, and never listed it.
    Unlisted,
}

impl HoldReason {
    /// Returns the reason as the end of a sentence about the tool.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Changed => "is not what it was when it was agreed".into(),
            Self::New => "is new since the tools of this server were agreed".into(),
            Self::Instructions(what) => format!("has a text that instructs the agent ({what})"),
            Self::Name => "has a name that is missing or could be confused".into(),
            Self::Repeated => "has the name of another tool of the list".into(),
            Self::Unlisted => "is not in the list of its server".into(),
        }
    }
}

/// A definition that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldTool {
    /// The reason.
    pub reason: HoldReason,
    /// The definition's digest, 64 hex digits.
    pub digest: String,
    /// The definition's parts.
    pub parts: Map<String, Value>,
    /// The time of its first appearance, in milliseconds since 1970.
    pub at: u64,
}

/// An agreed definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreedTool {
    /// Its digest, 64 hex digits.
    pub digest: String,
    /// Its parts.
    pub parts: Map<String, Value>,
    /// The time of the agreement, in milliseconds since 1970.
    pub at: u64,
}

/// Everything that is known of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedServer {
    /// The server.
    pub server: ServerIdentity,
    /// Its agreed tools, by name.
    pub tools: BTreeMap<String, AgreedTool>,
    /// Its held tools, by name.
    pub held: BTreeMap<String, HeldTool>,
}

/// The reason why the agreed tools cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// Somebody else wrote the document.
    #[error(
        "`{0}` was not written by this installation: look at it, then run `portcullis mcp pins forget {1}`"
    )]
    Forged(PathBuf, String),
    /// The server has too many tools.
    #[error("the server has more than {MOST_TOOLS} tools")]
    TooMany,
    /// The document cannot be read or written.
    #[error("cannot use `{0}`: {1}")]
    File(PathBuf, SealError),
    /// The folder cannot be used.
    #[error("cannot use `{0}`: {1}")]
    Folder(PathBuf, io::Error),
}

/// The documents of one installation.
#[derive(Clone, Copy, Debug)]
pub struct PinStore<'h> {
    home: &'h Home,
}

impl<'h> PinStore<'h> {
    /// Uses the documents of a home.
    #[must_use]
    pub const fn new(home: &'h Home) -> Self {
        Self { home }
    }

    /// Reads what is known of a server, by its id; `None` if it is not known.
    ///
    /// # Errors
    /// Fails if the document is forged or cannot be read.
    pub fn read_server(&self, id: &str) -> Result<Option<PinnedServer>, PinError> {
        let document = self.document(id);
        document.read_content().map_err(|error| self.failure(id, error))
    }

    /// Returns the ids of all servers, in order.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn list_ids(&self) -> Result<BTreeSet<String>, PinError> {
        let folder = self.folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(PinError::Folder(folder, error)),
        };
        let names = entries.flatten().map(|entry| entry.path());
        let documents = names.filter(|path| path.extension().is_some_and(|end| end == EXTENSION));
        let ids = documents.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        Ok(ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit())).collect())
    }

    /// Returns the state of one tool before a call; `None` if nothing is known of the server yet.
    ///
    /// # Errors
    /// Fails if the document is forged or cannot be read.
    pub fn find_state(
        &self,
        server: &ServerIdentity,
        tool: &str,
    ) -> Result<Option<ToolState>, PinError> {
        let Some(known) = self.read_server(&server.id())? else { return Ok(None) };
        Ok(Some(match (known.held.get(tool), known.tools.contains_key(tool)) {
            (Some(held), _) => ToolState::Held(held.reason.clone()),
            (None, true) => ToolState::Agreed,
            (None, false) => ToolState::Held(HoldReason::Unlisted),
        }))
    }

    /// Compares a page of a server's list with what was agreed, and keeps what is new. On first use
    /// unknown tools are agreed, unless `find_instructions` finds something in their texts.
    ///
    /// # Errors
    /// Fails if the document is forged, or cannot be read or written.
    pub fn compare_page(
        &self,
        server: &ServerIdentity,
        page: &[ListedTool],
        first_use: bool,
        now: u64,
        find_instructions: &mut dyn FnMut(&ToolDefinition) -> Option<String>,
    ) -> Result<Vec<ToolState>, PinError> {
        let id = server.id();
        let _lock = self.lock()?;
        let known = self.read_server(&id)?;
        let mut current = known.clone().unwrap_or_else(|| PinnedServer {
            server: server.clone(),
            tools: BTreeMap::new(),
            held: BTreeMap::new(),
        });
        let mut names = BTreeSet::new();
        let mut states = Vec::new();
        for listed in page {
            let definition = ToolDefinition::of_tool(&listed.value);
            let state = if !definition.has_plain_name() {
                ToolState::Held(HoldReason::Name)
            } else if !names.insert(definition.name.clone()) {
                ToolState::Held(HoldReason::Repeated)
            } else {
                compare_tool(&mut current, &definition, first_use, now, find_instructions)
            };
            states.push(state);
        }
        if current.tools.len() > MOST_TOOLS || current.held.len() > MOST_TOOLS {
            return Err(PinError::TooMany);
        }
        if known.as_ref() != Some(&current) {
            self.write_server(&id, &current)?;
        }
        Ok(states)
    }

    /// Agrees to held tools of a server: those named, or all of them if none is named. Returns
    /// their names.
    ///
    /// # Errors
    /// Fails if the document is forged, or cannot be read or written.
    pub fn accept_tools(
        &self,
        id: &str,
        names: &[String],
        digests: &BTreeMap<String, String>,
        now: u64,
    ) -> Result<Vec<String>, PinError> {
        let _lock = self.lock()?;
        let Some(mut known) = self.read_server(id)? else { return Ok(Vec::new()) };
        let mut accepted = Vec::new();
        for (name, held) in std::mem::take(&mut known.held) {
            // Only what the person was shown: the server may have changed it once more since.
            let wanted = names.is_empty() || names.contains(&name);
            if wanted && digests.get(&name) == Some(&held.digest) {
                let agreed = AgreedTool { digest: held.digest, parts: held.parts, at: now };
                known.tools.insert(name.clone(), agreed);
                accepted.push(name);
            } else {
                known.held.insert(name, held);
            }
        }
        if !accepted.is_empty() {
            self.write_server(id, &known)?;
        }
        Ok(accepted)
    }

    /// Forgets a server, so that its next list is its first one. Returns true if it was known.
    ///
    /// # Errors
    /// Fails if the document cannot be removed.
    pub fn forget_server(&self, id: &str) -> Result<bool, PinError> {
        let document = self.document(id);
        document.remove().map_err(|error| PinError::File(document.path().into(), error.into()))
    }

    fn write_server(&self, id: &str, content: &PinnedServer) -> Result<(), PinError> {
        self.document(id).write_content(content).map_err(|error| self.failure(id, error))
    }

    fn failure(&self, id: &str, error: SealError) -> PinError {
        let path = self.document(id).path().to_owned();
        match error {
            SealError::Forged => PinError::Forged(path, id.to_owned()),
            error => PinError::File(path, error),
        }
    }

    fn document(&self, id: &str) -> SealedDocument {
        let path = self.folder().join(id).with_extension(EXTENSION);
        // The name belongs to the key: a document of another server is none of this one.
        let key = self.home.derive_key(&format!("{KEY} {id}"));
        SealedDocument::new(path, key, MOST_BYTES)
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join(FOLDER)
    }

    fn lock(&self) -> Result<fs::File, PinError> {
        let folder = self.folder();
        let lock = |folder: &Path| -> io::Result<fs::File> {
            create_private_folder(folder)?;
            let file = open_lock_file(&folder.join("lock"))?;
            file.lock()?;
            Ok(file)
        };
        lock(&folder).map_err(|error| PinError::Folder(folder, error))
    }
}

fn compare_tool(
    current: &mut PinnedServer,
    definition: &ToolDefinition,
    first_use: bool,
    now: u64,
    find_instructions: &mut dyn FnMut(&ToolDefinition) -> Option<String>,
) -> ToolState {
    let name = &definition.name;
    let held_before = current.held.get(name).filter(|held| held.digest == definition.digest);
    let reason = match (current.tools.get(name), held_before) {
        (Some(agreed), _) if agreed.digest == definition.digest => {
            // The server went back to the agreed definition, so nothing waits for a person any
            // more.
            current.held.remove(name);
            return ToolState::Agreed;
        }
        (_, Some(held)) => return ToolState::Held(held.reason.clone()),
        (Some(_), None) => HoldReason::Changed,
        (None, None) if current.held.contains_key(name) || !first_use => HoldReason::New,
        (None, None) => match find_instructions(definition) {
            Some(what) => HoldReason::Instructions(what),
            None => {
                let agreed = AgreedTool {
                    digest: definition.digest.clone(),
                    parts: definition.parts.clone(),
                    at: now,
                };
                current.tools.insert(name.clone(), agreed);
                return ToolState::Agreed;
            }
        },
    };
    let held = HeldTool {
        reason: reason.clone(),
        digest: definition.digest.clone(),
        parts: definition.parts.clone(),
        at: now,
    };
    current.held.insert(name.clone(), held);
    ToolState::Held(reason)
}
