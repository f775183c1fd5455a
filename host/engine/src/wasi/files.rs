//! Reading in granted folders: `wasi:filesystem`, and the streams that files are read with.
//!
//! A path is resolved below its folder by `cap-std`, so that neither `..`, nor an absolute path,
//! nor a link, nor a race between them leads out. The opened object is checked through the same
//! handle: a pipe or a device is refused, and so is a file that has another name, since a hard link
//! is the one way in which a file from elsewhere can be in the folder. Nothing is written, created,
//! moved or deleted.

use super::resources::HostResource;
use super::safe_open::{OpenOutcome, open};
use super::{Arguments, RESOURCE, plain};
use crate::state::{GuestState, charge};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use portcullis_core::plugins::Grant;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::{ResourceDynamic, Type, Val};

/// The most bytes of one read.
const READ_BYTES: u64 = 64 << 10;
/// The most bytes of all reads of one call.
const CALL_BYTES: u64 = 8 << 20;
/// The most names that are listed of a folder.
const MOST_NAMES: usize = 4096;
/// The longest path, in bytes.
const PATH_BYTES: usize = 4096;

type Store<'a> = StoreContextMut<'a, GuestState>;

/// The error code that a guest gets for a refusal.
struct Code(&'static str);

impl From<Error> for Code {
    fn from(error: Error) -> Self {
        Self(match error.kind() {
            ErrorKind::NotFound => "no-entry",
            ErrorKind::PermissionDenied => "not-permitted",
            ErrorKind::NotADirectory => "not-directory",
            ErrorKind::IsADirectory => "is-directory",
            ErrorKind::InvalidInput | ErrorKind::InvalidFilename => "invalid",
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => "loop",
            _ => "io",
        })
    }
}

/// Returns the granted folders, each with its name inside; those that cannot be opened are left
/// out.
pub(super) fn folders(store: &mut Store<'_>) -> wasmtime::Result<Val> {
    let grants = Arc::clone(&store.data().grants);
    let mut folders = Vec::new();
    for folder in grants.directories.iter().take(crate::grants::MOST_FOLDERS) {
        let Ok(dir) = Dir::open_ambient_dir(&folder.path, ambient_authority()) else { continue };
        if let Ok(handle) = keep(store, HostResource::Folder(Arc::new(dir), folder.shown.clone())) {
            folders.push(Val::Tuple(vec![handle?, Val::String(folder.shown.clone())]));
        }
    }
    Ok(Val::List(folders))
}

/// Answers a function of `wasi:filesystem/types`.
pub(super) fn call(
    store: &mut Store<'_>,
    function: &str,
    ty: &Type,
    given: &Arguments<'_>,
) -> wasmtime::Result<Val> {
    let Type::Result(result) = ty else { return plain(store, ty) };
    let answer = match function {
        "[method]descriptor.open-at" => open_at(store, given),
        "[method]descriptor.read" => read(store, given),
        "[method]descriptor.read-via-stream" => stream(store, given),
        "[method]descriptor.get-type" => {
            of(store, given).map(|meta| Ok(Some(Val::Enum(kind(&meta).into()))))
        }
        "[method]descriptor.get-flags" => {
            of(store, given).map(|_| Ok(Some(Val::Flags(vec!["read".into()]))))
        }
        "[method]descriptor.stat" => of(store, given).map(|meta| stat(store, result.ok(), &meta)),
        "[method]descriptor.stat-at" => {
            at(store, given).map(|meta| stat(store, result.ok(), &meta))
        }
        "[method]descriptor.metadata-hash" => of(store, given).map(|meta| Ok(Some(hash(&meta)))),
        "[method]descriptor.metadata-hash-at" => at(store, given).map(|meta| Ok(Some(hash(&meta)))),
        "[method]descriptor.readlink-at" => link(store, given),
        "[method]descriptor.read-directory" => list(store, given),
        "[method]directory-entry-stream.read-directory-entry" => next_name(store, given),
        "[method]descriptor.sync"
        | "[method]descriptor.sync-data"
        | "[method]descriptor.advise" => Ok(Ok(None)),
        _ => Err(Code("read-only")),
    };
    Ok(Val::Result(match answer {
        Ok(value) => Ok(value?.map(Box::new)),
        Err(Code(code)) => Err(Some(Box::new(Val::Enum(code.into())))),
    }))
}

/// Returns true if two handles refer to the same file; the function has no error result.
pub(super) fn is_same(store: &mut Store<'_>, given: &Arguments<'_>) -> Val {
    let id = |meta: Metadata| (meta.dev(), meta.ino());
    let first = of(store, given).map(id).ok();
    let second = seen(store, given.handle(1)).map(id).ok();
    Val::Bool(first.is_some() && first == second)
}

/// The result of a method: a value, or an error code for the guest, or the end of the guest.
type Given = Result<wasmtime::Result<Option<Val>>, Code>;

fn open_at(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let (dir, shown) = folder(store, given)?;
    let path = path(given.values.get(2))?;
    let asked = |value: Option<&Val>, names: &[&str]| match value {
        Some(Val::Flags(flags)) => flags.iter().any(|flag| names.contains(&flag.as_str())),
        _ => false,
    };
    let what = format!("{shown}/{path}");
    if asked(given.values.get(3), &["create", "exclusive", "truncate"])
        || asked(given.values.get(4), &["write", "mutate-directory"])
    {
        store.data_mut().uses.refused(Grant::Directories, &what, "it can only be read");
        return Err(Code("read-only"));
    }
    // Non-blocking: opening a pipe would wait for its writer.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    let why = match open(&dir, path, &options).map_err(|error| refused(store, &what, error))? {
        OpenOutcome::Whole(_, meta) if meta.is_dir() => {
            let dir = dir.open_dir(path).map_err(|error| refused(store, &what, error))?;
            return kept(store, HostResource::Folder(Arc::new(dir), what));
        }
        OpenOutcome::Whole(_, meta) if !meta.is_file() => "it is neither a file nor a folder",
        OpenOutcome::Whole(..) if asked(given.values.get(3), &["directory"]) => {
            return Err(Code("not-directory"));
        }
        OpenOutcome::Whole(file, _) => {
            store.data_mut().uses.used(Grant::Directories, &what, 0);
            return kept(store, HostResource::File(Arc::new(file.into_std()), what));
        }
        OpenOutcome::Linked => "it has another name elsewhere",
        OpenOutcome::Changing => "it changes while it is opened",
    };
    store.data_mut().uses.refused(Grant::Directories, &what, why);
    Err(Code("not-permitted"))
}

/// Returns the code of an error; a path that leads out of the folder is recorded.
fn refused(store: &mut Store<'_>, what: &str, error: Error) -> Code {
    // `cap-std` reports an escape by an error of its own, which has no number of the system.
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        store.data_mut().uses.refused(Grant::Directories, what, "it leads out of the folder");
    }
    error.into()
}

fn read(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let (file, shown) = match thing(store, given)? {
        HostResource::File(file, shown) => (Arc::clone(file), shown.clone()),
        HostResource::Folder(..) => return Err(Code("is-directory")),
        _ => return Err(Code("bad-descriptor")),
    };
    let (Some(Val::U64(wanted)), Some(Val::U64(offset))) =
        (given.values.get(1), given.values.get(2))
    else {
        return Err(Code("invalid"));
    };
    let bytes = match some_of(store, &file, &shown, *wanted, *offset)? {
        Ok(bytes) => bytes,
        Err(end) => return Ok(Err(end)),
    };
    let at_end = bytes.is_empty() && *wanted > 0;
    Ok(Ok(Some(Val::Tuple(vec![listed(bytes), Val::Bool(at_end)]))))
}

/// Reads from a file within the bounds; each byte costs fuel.
fn some_of(
    store: &mut Store<'_>,
    file: &File,
    shown: &str,
    wanted: u64,
    offset: u64,
) -> Result<wasmtime::Result<Vec<u8>>, Code> {
    let length = wanted.min(READ_BYTES);
    if store.data().read_bytes.saturating_add(length) > CALL_BYTES {
        store.data_mut().uses.refused(
            Grant::Directories,
            shown,
            "it read more than 8 MiB in one call",
        );
        return Err(Code("quota"));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let count = file.read_at(&mut bytes, offset)?;
    bytes.truncate(count);
    // The wanted length counts, so that endless reads past the end are bounded too.
    store.data_mut().read_bytes += length;
    store.data_mut().uses.used(Grant::Directories, shown, count);
    Ok(charge(store, count).map(|()| bytes))
}

fn stream(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let HostResource::File(file, shown) = thing(store, given)? else {
        return Err(Code("is-directory"));
    };
    let Some(Val::U64(offset)) = given.values.get(1) else { return Err(Code("invalid")) };
    let stream = HostResource::Stream(Arc::clone(file), shown.clone(), *offset);
    kept(store, stream)
}

/// Answers `read` and `skip` of a file's stream; none if the stream has no file behind it.
pub(super) fn from_stream(
    store: &mut Store<'_>,
    skips: bool,
    given: &Arguments<'_>,
) -> Option<wasmtime::Result<Val>> {
    let Ok(HostResource::Stream(file, shown, at)) = thing(store, given) else { return None };
    let (file, shown, offset) = (Arc::clone(file), shown.clone(), *at);
    let Some(Val::U64(wanted)) = given.values.get(1) else { return None };
    let closed = || Val::Result(Err(Some(Box::new(Val::Variant("closed".into(), None)))));
    let bytes = match some_of(store, &file, &shown, *wanted, offset) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(end)) => return Some(Err(end)),
        Err(_code) => return Some(failed(store)),
    };
    if bytes.is_empty() && *wanted > 0 {
        return Some(Ok(closed()));
    }
    let count = u64::try_from(bytes.len()).unwrap_or_default();
    if let Ok(HostResource::Stream(_, _, at)) = thing(store, given) {
        *at = offset.saturating_add(count);
    }
    let value = if skips { Val::U64(count) } else { listed(bytes) };
    Some(Ok(Val::Result(Ok(Some(Box::new(value))))))
}

/// Returns a stream's failure that is not its end: a guest must not take half a file for the whole.
pub(super) fn failed(store: &mut Store<'_>) -> wasmtime::Result<Val> {
    let error = ResourceDynamic::new_own(0, RESOURCE).try_into_resource_any(&mut *store)?;
    let case = Val::Variant("last-operation-failed".into(), Some(Box::new(Val::Resource(error))));
    Ok(Val::Result(Err(Some(Box::new(case)))))
}

fn list(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let (dir, shown) = folder(store, given)?;
    let mut names: Vec<(&'static str, String)> = Vec::new();
    for entry in dir.entries()?.take(MOST_NAMES) {
        let entry = entry?;
        let kind = entry.file_type().map_or("unknown", |kind| match () {
            () if kind.is_dir() => "directory",
            () if kind.is_file() => "regular-file",
            () if kind.is_symlink() => "symbolic-link",
            () => "unknown",
        });
        names.extend(entry.file_name().into_string().ok().map(|name| (kind, name)));
    }
    // The order of a folder depends on the file system; sorting gives a guest the same one each
    // time.
    names.sort_unstable();
    let weight = names.iter().map(|(_, name)| name.len() + 16).sum();
    store.data_mut().uses.used(Grant::Directories, &shown, weight);
    if let Err(end) = charge(store, weight) {
        return Ok(Err(end));
    }
    kept(store, HostResource::Names(names.into()))
}

fn next_name(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let HostResource::Names(names) = thing(store, given)? else {
        return Err(Code("bad-descriptor"));
    };
    let entry = names.pop_front().map(|(kind, name)| {
        let fields = vec![
            ("type".to_owned(), Val::Enum(kind.into())),
            ("name".to_owned(), Val::String(name)),
        ];
        Box::new(Val::Record(fields))
    });
    Ok(Ok(Some(Val::Option(entry))))
}

fn link(store: &mut Store<'_>, given: &Arguments<'_>) -> Given {
    let (dir, shown) = folder(store, given)?;
    let path = path(given.values.get(1))?;
    let target =
        dir.read_link(path).map_err(|error| refused(store, &format!("{shown}/{path}"), error))?;
    let target =
        target.into_os_string().into_string().map_err(|_| Code("illegal-byte-sequence"))?;
    Ok(Ok(Some(Val::String(target))))
}

/// Returns the metadata of a file or folder through its own handle.
fn of(store: &mut Store<'_>, given: &Arguments<'_>) -> Result<Metadata, Code> {
    seen(store, given.handle(0))
}

fn seen(store: &mut Store<'_>, handle: u32) -> Result<Metadata, Code> {
    let meta = match behind(store, handle)? {
        HostResource::Folder(dir, _) => dir.dir_metadata()?,
        HostResource::File(file, _) => cap_std::fs::File::from_std(file.try_clone()?).metadata()?,
        _ => return Err(Code("bad-descriptor")),
    };
    Ok(meta)
}

/// Returns the metadata at a path; links are followed only if the guest asks for it.
fn at(store: &mut Store<'_>, given: &Arguments<'_>) -> Result<Metadata, Code> {
    let (dir, shown) = folder(store, given)?;
    let path = path(given.values.get(2))?;
    let follows = matches!(given.values.get(1), Some(Val::Flags(flags)) if flags.iter().any(|flag| flag == "symlink-follow"));
    let meta = if follows { dir.metadata(path) } else { dir.symlink_metadata(path) };
    meta.map_err(|error| refused(store, &format!("{shown}/{path}"), error))
}

fn kind(meta: &Metadata) -> &'static str {
    match () {
        () if meta.is_dir() => "directory",
        () if meta.is_file() => "regular-file",
        () if meta.is_symlink() => "symbolic-link",
        () => "unknown",
    }
}

/// Builds the record `descriptor-stat` from its own type; times are left out.
fn stat(store: &mut Store<'_>, ty: Option<Type>, meta: &Metadata) -> wasmtime::Result<Option<Val>> {
    let Some(ty) = ty else { return Ok(None) };
    let mut value = plain(store, &ty)?;
    if let Val::Record(fields) = &mut value {
        for (name, field) in fields {
            match name.as_str() {
                "type" => *field = Val::Enum(kind(meta).into()),
                "link-count" => *field = Val::U64(meta.nlink()),
                "size" => *field = Val::U64(meta.size()),
                _ => {}
            }
        }
    }
    Ok(Some(value))
}

/// Returns a hash that distinguishes two files without revealing their location.
fn hash(meta: &Metadata) -> Val {
    let mut hasher = blake3::Hasher::new();
    for number in [
        meta.dev(),
        meta.ino(),
        meta.size(),
        meta.mtime().cast_unsigned(),
        meta.mtime_nsec().cast_unsigned(),
    ] {
        hasher.update(&number.to_le_bytes());
    }
    let mut halves = [[0; 8]; 2];
    let mut reader = hasher.finalize_xof();
    halves.iter_mut().for_each(|half| reader.fill(half));
    let [lower, upper] = halves.map(|half| Val::U64(u64::from_le_bytes(half)));
    Val::Record(vec![("lower".to_owned(), lower), ("upper".to_owned(), upper)])
}

fn folder(store: &mut Store<'_>, given: &Arguments<'_>) -> Result<(Arc<Dir>, String), Code> {
    match thing(store, given)? {
        HostResource::Folder(dir, shown) => Ok((Arc::clone(dir), shown.clone())),
        _ => Err(Code("not-directory")),
    }
}

/// Returns the object behind the handle that a method was called on.
fn thing<'a>(
    store: &'a mut Store<'_>,
    given: &Arguments<'_>,
) -> Result<&'a mut HostResource, Code> {
    behind(store, given.handle(0))
}

fn behind<'a>(store: &'a mut Store<'_>, handle: u32) -> Result<&'a mut HostResource, Code> {
    store.data_mut().resources.get(handle).ok_or(Code("bad-descriptor"))
}

fn path(value: Option<&Val>) -> Result<&str, Code> {
    match value {
        Some(Val::String(path)) if path.len() <= PATH_BYTES => Ok(path),
        Some(Val::String(_)) => Err(Code("name-too-long")),
        _ => Err(Code("invalid")),
    }
}

fn kept(store: &mut Store<'_>, thing: HostResource) -> Given {
    keep(store, thing).map(|value| value.map(Some))
}

/// Returns a new handle for an object.
fn keep(store: &mut Store<'_>, thing: HostResource) -> Result<wasmtime::Result<Val>, Code> {
    let number = store.data_mut().resources.keep(thing).ok_or(Code("insufficient-memory"))?;
    Ok(ResourceDynamic::new_own(number, RESOURCE)
        .try_into_resource_any(&mut *store)
        .map(Val::Resource))
}

fn listed(bytes: Vec<u8>) -> Val {
    Val::List(bytes.into_iter().map(Val::U8).collect())
}
