//! What a component is, read from its bytes without running any of it.
//!
//! The kind and the version come from the names of its exports, its wishes from the names of its
//! imports, the rest from a custom section that its author wrote. Whether the code is valid is not
//! judged here: the compiler does that.

use crate::imports::{Import, Tier};
use crate::kind::Kind;
use crate::limits::MAX_COMPONENT_BYTES;
use crate::text;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use wasmparser::{Encoding, Parser, Payload};

/// The custom section that holds the descriptor.
pub const DESCRIPTOR_SECTION: &str = "portcullis-descriptor";

/// The descriptor is read by people and by `plugin list`; more is no description.
const DESCRIPTOR_BYTES: usize = 64 << 10;

/// What a component says and shows of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// What it can do for the host.
    pub kind: Kind,
    /// The version of the WIT package that it was built for, for example `0.1.0`.
    pub wit_version: String,
    /// What it wants from the host, sorted by name.
    pub imports: Vec<Import>,
    /// What its author says of it.
    pub descriptor: Option<Descriptor>,
    /// Its size in bytes.
    pub size: u64,
    /// BLAKE3 of its bytes, 64 hex digits.
    pub digest: String,
}

/// What an author says of a plugin. Shown to people; nothing is granted or decided by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Descriptor {
    /// The name that the author gave it.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it does, in a sentence or two.
    pub description: String,
    /// The kind that it is meant to be; empty, or what its exports say.
    pub kind: String,
    /// What it looks at: `action`, `context`, `history`.
    pub reads: Vec<String>,
    /// The worst that it reports.
    pub severity: Option<String>,
    /// Its settings, in the SDK's schema.
    pub settings: serde_json::Value,
}

impl Descriptor {
    /// Whether it declares a setting of that name.
    #[must_use]
    pub fn declares(&self, setting: &str) -> bool {
        let all = self.settings.as_array().into_iter().flatten();
        all.filter_map(|declared| declared.get("key")?.as_str()).any(|key| key == setting)
    }
}

/// Why a component cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The file is larger than any plugin needs to be.
    #[error("it has {size} bytes; a plugin may have at most {MAX_COMPONENT_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// It does not begin as WebAssembly does.
    #[error(
        "it is not WebAssembly; a plugin is a component, as `cargo build --target wasm32-wasip2` or `wasm-tools component new` writes it"
    )]
    NotWasm,
    /// It is the text format.
    #[error("it is WebAssembly text; only the binary format is loaded: `wasm-tools parse plugin.wat -o plugin.wasm`")]
    Text,
    /// It is a core module.
    #[error("it is a core module, not a component; encode it: `wasm-tools component new module.wasm -o plugin.wasm`")]
    CoreModule,
    /// It begins well and then breaks off or holds what cannot be.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It exports nothing that the host calls.
    #[error("it exports none of `portcullis:plugin/{{assessor, detector, intervener, exporter}}@0.1.0`, but {0}")]
    NoKind(String),
    /// It would be two plugins.
    #[error("it is both `{0}` and `{1}`; a component is one plugin, split it")]
    TwoKinds(Kind, Kind),
    /// It was built for another version of the WIT package.
    #[error("it exports `{interface}` of version `{version}`; this host loads 0.1.x")]
    Version {
        /// The interface.
        interface: String,
        /// The version that it exports.
        version: String,
    },
    /// Its descriptor cannot be read.
    #[error("its section `{DESCRIPTOR_SECTION}` cannot be used: {0}")]
    Descriptor(String),
    /// It wants what nobody granted.
    #[error("it wants to {wants} (`{import}`), which is not granted")]
    Refused {
        /// The import's name.
        import: String,
        /// In words.
        wants: &'static str,
    },
    /// It is of another kind than its place.
    #[error("it is `{found}`, but its place wants `{wanted}`")]
    WrongKind {
        /// What it is.
        found: Kind,
        /// What was wanted.
        wanted: Kind,
    },
    /// The compiler does not accept it.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// Its imports or exports are not what the names promise.
    #[error("its types do not fit `portcullis:plugin@0.1.0`: {0}")]
    Types(String),
}

impl Inspection {
    /// Fails if it imports what is not granted.
    ///
    /// # Errors
    /// `Refused`, naming the first such import.
    pub fn granted(&self) -> Result<(), LoadError> {
        match self.imports.iter().find(|import| import.tier == Tier::Refused) {
            Some(import) => Err(LoadError::Refused { import: import.name.clone(), wants: import.wants() }),
            None => Ok(()),
        }
    }
}

/// Reads what a component is from its bytes; nothing of it is compiled or run.
///
/// # Errors
/// Why it is no plugin. An import that is not granted is no error here, see [`Inspection::granted`].
pub fn inspect(bytes: &[u8]) -> Result<Inspection, LoadError> {
    let mut inspection = outline(bytes)?;
    inspection.digest = blake3::hash(bytes).to_hex().to_string();
    Ok(inspection)
}

/// As `inspect`, but leaves the digest empty, for bytes whose digest is known.
pub(crate) fn outline(bytes: &[u8]) -> Result<Inspection, LoadError> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > MAX_COMPONENT_BYTES {
        return Err(LoadError::TooLarge { size });
    }
    if !bytes.starts_with(b"\0asm") {
        return Err(if looks_like_text(bytes) { LoadError::Text } else { LoadError::NotWasm });
    }
    let found = Found::in_bytes(bytes)?;
    let (kind, wit_version) = found.kind()?;
    let mut imports = found.imports;
    imports.sort_by(|a, b| a.name.cmp(&b.name));
    let descriptor = found.descriptor.map(|bytes| descriptor(bytes, kind)).transpose()?;
    Ok(Inspection { kind, wit_version, imports, descriptor, size, digest: String::new() })
}

/// Leading blanks and comments, then a parenthesis.
fn looks_like_text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes.get(..bytes.len().min(4096)).unwrap_or_default()) else { return false };
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(";;")).is_some_and(|line| line.starts_with('('))
}

#[derive(Default)]
struct Found<'a> {
    imports: Vec<Import>,
    exports: Vec<&'a str>,
    descriptor: Option<&'a [u8]>,
}

impl<'a> Found<'a> {
    fn in_bytes(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let mut found = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(damaged)? {
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Err(LoadError::CoreModule),
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 1 => {
                    for import in section {
                        found.imports.push(Import::of(import.map_err(damaged)?.name.name));
                    }
                }
                Payload::ComponentExportSection(section) if depth == 1 => {
                    for export in section {
                        found.exports.push(export.map_err(damaged)?.name.name);
                    }
                }
                Payload::CustomSection(section) if section.name() == DESCRIPTOR_SECTION => found.describe(section.data())?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn describe(&mut self, data: &'a [u8]) -> Result<(), LoadError> {
        match self.descriptor {
            Some(known) if known != data => Err(LoadError::Descriptor("there are two, and they differ".into())),
            _ => {
                self.descriptor = Some(data);
                Ok(())
            }
        }
    }

    fn kind(&self) -> Result<(Kind, String), LoadError> {
        let mut found: Option<(Kind, String)> = None;
        for export in &self.exports {
            let (interface, version) = export.split_once('@').unwrap_or((export, ""));
            let Some(kind) = Kind::ALL.iter().copied().find(|kind| kind.interface() == interface) else { continue };
            if !loadable(version) {
                return Err(LoadError::Version { interface: text::line(interface), version: text::line(version) });
            }
            match found {
                Some((other, _)) => return Err(LoadError::TwoKinds(other, kind)),
                None => found = Some((kind, version.to_owned())),
            }
        }
        found.ok_or_else(|| LoadError::NoKind(self.exports_in_words()))
    }

    fn exports_in_words(&self) -> String {
        match self.exports.as_slice() {
            [] => "nothing at all".to_owned(),
            names => {
                let names: Vec<String> = names.iter().take(8).map(|name| format!("`{}`", text::line(text::cut(name, 100)))).collect();
                names.join(", ")
            }
        }
    }
}

/// `0.1.` and a number.
fn loadable(version: &str) -> bool {
    version.strip_prefix("0.1.").is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

fn damaged(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::Damaged(format!("{} at byte {}", text::line(error.message()), error.offset()))
}

fn descriptor(bytes: &[u8], kind: Kind) -> Result<Descriptor, LoadError> {
    if bytes.len() > DESCRIPTOR_BYTES {
        return Err(LoadError::Descriptor(format!("it has {} bytes; at most {DESCRIPTOR_BYTES} are read", bytes.len())));
    }
    let raw: Descriptor = serde_json::from_slice(bytes).map_err(|error| LoadError::Descriptor(text::line(&error.to_string())))?;
    if !raw.kind.is_empty() && raw.kind != kind.as_str() {
        return Err(LoadError::Descriptor(format!("it says `{}`, but the exports say `{kind}`", text::line(&raw.kind))));
    }
    Ok(Descriptor {
        kind: raw.kind,
        name: text::line(&raw.name),
        version: text::line(&raw.version),
        description: text::prose(&raw.description),
        reads: raw.reads.iter().map(|item| text::line(item)).collect(),
        severity: raw.severity.as_deref().map(text::line),
        settings: raw.settings,
    })
}
