//! The description of a component, read from its bytes without running any of it.
//!
//! The kind and the version come from the names of its exports, its needs from the names of its
//! imports, the rest from a custom section that its author wrote. The code is not validated here:
//! the compiler does that.

use crate::descriptor::{DESCRIPTOR_SECTION, Descriptor};
use crate::grants::Grants;
use crate::imports::Import;
use crate::kind::Kind;
use crate::limits::MAX_COMPONENT_BYTES;
use crate::load_error::LoadError;
use crate::text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasmparser::{Encoding, Parser, Payload};

/// The most bytes of a descriptor. It is read by people and by `plugin list`; a longer text does
/// not describe.
const DESCRIPTOR_BYTES: usize = 64 << 10;

/// The most plugins that one component describes.
const MOST_PLUGINS: usize = 64;

/// The deepest nesting of components; toolchains nest a few. The reader keeps a frame for each.
const MOST_NESTED: u32 = 32;

/// The most imports, and the most exports: all interfaces of WASI 0.2 are some 30.
const MOST_NAMES: usize = 256;

/// The most bytes of a third party's words that a reason repeats.
const QUOTED_BYTES: usize = 100;

/// The properties of a component, as read from its bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Its role for the host.
    pub kind: Kind,
    /// The version of the WIT package that it was built for, for example `0.1.0`.
    pub wit_version: String,
    /// Its imports, sorted by name.
    pub imports: Vec<Import>,
    /// Its author's description of it.
    pub descriptor: Option<Descriptor>,
    /// Its size in bytes.
    pub size: u64,
    /// BLAKE3 of its bytes, 64 hex digits.
    pub digest: String,
}

impl Inspection {
    /// Checks that all of its imports are granted, and that it can use the files that it is
    /// granted: its owner believes that it reads them.
    ///
    /// # Errors
    /// Fails with `Refused`, naming the first import that is not granted, or with `NoFiles`.
    pub fn check_grants(&self, grants: &Grants) -> Result<(), LoadError> {
        let opens_files = |import: &Import| import.name.starts_with("wasi:filesystem/");
        if let Some(folder) = grants.directories.first()
            && !self.imports.iter().any(opens_files)
        {
            return Err(LoadError::NoFiles(folder.shown.clone()));
        }
        match self.imports.iter().find(|import| !import.is_granted(grants)) {
            Some(import) => Err(import.refusal()),
            None => Ok(()),
        }
    }
}

/// Reads the properties of a component from its bytes; nothing of it is compiled or run.
///
/// # Errors
/// Fails if it is not a plugin, with the reason. An import that is not granted is not an error
/// here, see [`Inspection::check_grants`].
pub fn inspect_component(bytes: &[u8]) -> Result<Inspection, LoadError> {
    let mut inspection = outline(bytes, None)?;
    inspection.digest = blake3::hash(bytes).to_hex().to_string();
    Ok(inspection)
}

/// Does the same as [`inspect_component`] for a component that may hold several plugins of its
/// kind: returns one inspection for each plugin that it describes, alike except for the descriptor.
/// A component without descriptors holds one plugin.
///
/// # Errors
/// Fails as [`inspect_component`] does.
pub fn inspect_all(bytes: &[u8]) -> Result<Vec<Inspection>, LoadError> {
    let (outline, said) = bare(bytes)?;
    let whole = Inspection { digest: blake3::hash(bytes).to_hex().to_string(), ..outline };
    let Some(said) = said else { return Ok(vec![whole]) };
    let all = descriptors(said, whole.kind)?;
    Ok(all
        .into_iter()
        .map(|descriptor| Inspection { descriptor: Some(descriptor), ..whole.clone() })
        .collect())
}

/// Does the same as [`inspect_component`] for the plugin of that name in a component that may hold
/// several.
pub(crate) fn inspect_one(bytes: &[u8], plugin: &str) -> Result<Inspection, LoadError> {
    let named = |inspection: &Inspection| {
        inspection.descriptor.as_ref().is_some_and(|descriptor| descriptor.name == plugin)
    };
    let found = inspect_all(bytes)?.into_iter().find(named);
    found.ok_or_else(|| {
        LoadError::Descriptor(format!("it describes no plugin `{}`", quoted(plugin)))
    })
}

/// Does the same as `inspect_component`, but leaves the digest empty, for bytes whose digest is
/// known, and uses this descriptor instead of the one in the bytes if it is known too.
pub(crate) fn outline(bytes: &[u8], known: Option<&str>) -> Result<Inspection, LoadError> {
    let (bare, said) = bare(bytes)?;
    let said = known.map(str::as_bytes).or(said);
    let descriptor = said.map(|bytes| descriptor(bytes, bare.kind)).transpose()?;
    Ok(Inspection { descriptor, ..bare })
}

/// Returns everything except the digest and the descriptor, and the raw section of descriptors.
fn bare(bytes: &[u8]) -> Result<(Inspection, Option<&[u8]>), LoadError> {
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
    Ok((
        Inspection { kind, wit_version, imports, descriptor: None, size, digest: String::new() },
        found.descriptor,
    ))
}

/// Returns true for leading blanks and comments, followed by a parenthesis.
fn looks_like_text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes.get(..bytes.len().min(4096)).unwrap_or_default())
    else {
        return false;
    };
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(";;"))
        .is_some_and(|line| line.starts_with('('))
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
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                    return Err(LoadError::CoreModule);
                }
                Payload::Version { .. } if depth == MOST_NESTED => {
                    return Err(LoadError::Damaged(format!(
                        "it nests more than {MOST_NESTED} components in each other"
                    )));
                }
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 1 => {
                    check_name_count("imports", found.imports.len(), section.count())?;
                    for import in section {
                        found.imports.push(Import::of(import.map_err(damaged)?.name.name));
                    }
                }
                Payload::ComponentExportSection(section) if depth == 1 => {
                    check_name_count("exports", found.exports.len(), section.count())?;
                    for export in section {
                        found.exports.push(export.map_err(damaged)?.name.name);
                    }
                }
                Payload::CustomSection(section) if section.name() == DESCRIPTOR_SECTION => {
                    found.describe(section.data())?
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn describe(&mut self, data: &'a [u8]) -> Result<(), LoadError> {
        match self.descriptor {
            Some(known) if known != data => {
                Err(LoadError::Descriptor("there are two, and they differ".into()))
            }
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
            let Some(kind) =
                Kind::ALL.iter().copied().find(|kind| kind.interface_name() == interface)
            else {
                continue;
            };
            if !loadable(version) {
                return Err(LoadError::Version {
                    interface: interface.to_owned(),
                    version: quoted(version),
                });
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
                let names: Vec<String> =
                    names.iter().take(8).map(|name| format!("`{}`", quoted(name))).collect();
                names.join(", ")
            }
        }
    }
}

/// Returns some of a third party's words, escaped and cut.
fn quoted(words: &str) -> String {
    text::line(text::cut(words, QUOTED_BYTES))
}

/// Fails if a section holds more names than the limit leaves room for after the earlier sections.
fn check_name_count(what: &str, have: usize, more: u32) -> Result<(), LoadError> {
    let all = usize::try_from(more).unwrap_or(usize::MAX).saturating_add(have);
    if all > MOST_NAMES {
        return Err(LoadError::Damaged(format!(
            "it has {all} {what}; at most {MOST_NAMES} are read"
        )));
    }
    Ok(())
}

/// Returns true for `0.1.` followed by a number of at most nine digits.
fn loadable(version: &str) -> bool {
    version.strip_prefix("0.1.").is_some_and(|patch| {
        (1..=9).contains(&patch.len()) && patch.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn damaged(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::Damaged(format!("{} at byte {}", quoted(error.message()), error.offset()))
}

fn descriptor(bytes: &[u8], kind: Kind) -> Result<Descriptor, LoadError> {
    let mut all = descriptors(bytes, kind)?;
    match all.pop() {
        Some(one) if all.is_empty() => Ok(one),
        _ => {
            Err(LoadError::Descriptor("it describes several plugins, but a file holds one".into()))
        }
    }
}

/// Reads the descriptors of a section, one for each plugin of the component, at least one.
fn descriptors(bytes: &[u8], kind: Kind) -> Result<Vec<Descriptor>, LoadError> {
    if bytes.len() > DESCRIPTOR_BYTES {
        return Err(LoadError::Descriptor(format!(
            "it has {} bytes; at most {DESCRIPTOR_BYTES} are read",
            bytes.len()
        )));
    }
    let unusable = |error: serde_json::Error| LoadError::Descriptor(quoted(&error.to_string()));
    let all = serde_json::Deserializer::from_slice(bytes).into_iter::<Descriptor>();
    let all = all.take(MOST_PLUGINS + 1).collect::<Result<Vec<_>, _>>().map_err(unusable)?;
    match all.len() {
        0 => Err(LoadError::Descriptor("it is empty".into())),
        1..=MOST_PLUGINS => all.into_iter().map(|raw| shown(raw, kind)).collect(),
        _ => Err(LoadError::Descriptor(format!("it describes more than {MOST_PLUGINS} plugins"))),
    }
}

/// Returns the descriptor, escaped for display.
fn shown(raw: Descriptor, kind: Kind) -> Result<Descriptor, LoadError> {
    if !raw.kind.is_empty() && raw.kind != kind.as_str() {
        return Err(LoadError::Descriptor(format!(
            "it says `{}`, but the exports say `{kind}`",
            quoted(&raw.kind)
        )));
    }
    Ok(Descriptor {
        kind: raw.kind,
        name: text::line(&raw.name),
        version: text::line(&raw.version),
        description: text::prose(&raw.description),
        reads: raw.reads.iter().map(|item| text::line(item)).collect(),
        severity: raw.severity.as_deref().map(text::line),
        settings: escape_json(raw.settings.parse()).into(),
    })
}

/// Returns the same JSON with its texts escaped for display. The JSON parser bounds its depth.
fn escape_json(value: Value) -> Value {
    match value {
        Value::String(words) => Value::String(text::line(&words)),
        Value::Array(items) => items.into_iter().map(escape_json).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (text::line(&key), escape_json(value))).collect()
        }
        other => other,
    }
}
