//! Granted folders: `wasmtime-wasi`'s files, of which a guest opens those that `safe_open` accepts.
//!
//! A path is resolved below its folder by `cap-std`, so that neither `..`, nor an absolute path,
//! nor a link, nor a race between them leads out. The opened object is checked through the same
//! handle: a pipe or a device is refused, and so is a file that has another name, since a hard link
//! is the one way in which a file from elsewhere can be in the folder. Nothing is written, created,
//! moved or deleted.

use super::file_stream::{FileStream, read_some};
use super::safe_open::{OpenOutcome, open};
use crate::state::GuestState;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use portcullis_core::plugins::Grant;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{self, Descriptor, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::{FsPerms, OpenMode};

/// The most names that are listed of a folder.
const MOST_NAMES: usize = 4096;
/// The longest path, in bytes.
const PATH_BYTES: usize = 4096;

/// The names in a folder that were not asked for yet.
struct FolderNames(VecDeque<DirectoryEntry>);

impl GuestState {
    /// Returns `wasmtime-wasi`'s own view of the files.
    fn files(&mut self) -> WasiFilesystemCtxView<'_> {
        let granted = self.granted();
        WasiFilesystemCtxView { ctx: &mut granted.files, table: &mut granted.table }
    }

    fn refuse_file(&mut self, what: &str, why: &'static str) {
        self.granted().ledger.lock().uses.refused(Grant::Directories, what, why);
    }

    /// Returns the code of an error; a path that leads out of the folder is recorded.
    fn code_of(&mut self, what: &str, error: impl Into<FsError>) -> FsError {
        let error = error.into();
        // Nothing else is not permitted to somebody who only reads: the system says `access`.
        if matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted)) {
            self.refuse_file(what, "it leads out of the folder");
        }
        error
    }

    /// Returns a folder, and the name in records of a path in it.
    fn place(&mut self, folder: &Resource<Descriptor>, path: &str) -> FsResult<(Dir, String)> {
        if path.len() > PATH_BYTES {
            return Err(ErrorCode::NameTooLong.into());
        }
        let what = format!("{}/{path}", self.name_of(folder));
        match self.granted().table.get(folder)? {
            Descriptor::Dir(dir) => Ok((Dir::from_std_file(dir.dir.try_clone()?), what)),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn name_of(&mut self, descriptor: &Resource<Descriptor>) -> String {
        self.granted().names.get(&descriptor.rep()).cloned().unwrap_or_default()
    }

    fn keep(&mut self, descriptor: Descriptor, what: String) -> FsResult<Resource<Descriptor>> {
        let granted = self.granted();
        let kept = granted.table.push(descriptor).map_err(|_full| ErrorCode::InsufficientMemory)?;
        granted.names.insert(kept.rep(), what);
        Ok(kept)
    }

    fn keep_folder(&mut self, folder: Dir, what: String) -> FsResult<Resource<Descriptor>> {
        let folder = folder.into_std_file();
        let dir = filesystem::Dir::new(folder, FsPerms::ReadOnly, OpenMode::READ, true);
        self.keep(Descriptor::Dir(dir), what)
    }

    /// Returns an open file and its name in records.
    fn file(&mut self, descriptor: &Resource<Descriptor>) -> FsResult<(Arc<File>, String)> {
        let what = self.name_of(descriptor);
        match self.granted().table.get(descriptor)? {
            Descriptor::File(file) => Ok((Arc::clone(&file.file), what)),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }
}

/// Returns the error of each function that would change something.
fn read_only<T>() -> FsResult<T> {
    Err(ErrorCode::ReadOnly.into())
}

impl preopens::Host for GuestState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let grants = Arc::clone(&self.grants);
        if grants.directories.is_empty() {
            // Some runtimes look for files once when they start, regardless of the plugin.
            self.wants.files |= self.wants.answering_since.is_some();
        }
        let mut folders = Vec::new();
        for folder in grants.directories.iter().take(crate::grants::MOST_FOLDERS) {
            // One that cannot be opened is left out.
            let Ok(dir) = Dir::open_ambient_dir(&folder.path, ambient_authority()) else {
                continue;
            };
            if let Ok(kept) = self.keep_folder(dir, folder.shown.clone()) {
                folders.push((kept, folder.shown.clone()));
            }
        }
        Ok(folders)
    }
}

impl types::Host for GuestState {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<types::ErrorCode> {
        types::Host::convert_error_code(&mut self.files(), error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<types::ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.files(), error)
    }
}

impl HostDescriptor for GuestState {
    fn open_at(
        &mut self,
        folder: Resource<Descriptor>,
        _: PathFlags,
        path: String,
        asked: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let (dir, what) = self.place(&folder, &path)?;
        let changes = [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE];
        let writes = [DescriptorFlags::WRITE, DescriptorFlags::MUTATE_DIRECTORY];
        if changes.iter().any(|flag| asked.contains(*flag))
            || writes.iter().any(|flag| flags.contains(*flag))
        {
            self.refuse_file(&what, "it can only be read");
            return read_only();
        }
        // Non-blocking: opening a pipe would wait for its writer.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let why = match open(&dir, &path, &options).map_err(|error| self.code_of(&what, error))? {
            OpenOutcome::Whole(_, meta) if meta.is_dir() => {
                let dir = dir.open_dir(&path).map_err(|error| self.code_of(&what, error))?;
                return self.keep_folder(dir, what);
            }
            OpenOutcome::Whole(_, meta) if !meta.is_file() => "it is neither a file nor a folder",
            OpenOutcome::Whole(..) if asked.contains(OpenFlags::DIRECTORY) => {
                return Err(ErrorCode::NotDirectory.into());
            }
            OpenOutcome::Whole(file, _) => {
                self.granted().ledger.lock().uses.used(Grant::Directories, &what, 0);
                let file = file.into_std();
                let file = filesystem::File::new(file, FsPerms::ReadOnly, OpenMode::READ, true);
                return self.keep(Descriptor::File(file), what);
            }
            OpenOutcome::Linked => "it has another name elsewhere",
            OpenOutcome::Changing => "it changes while it is opened",
        };
        self.refuse_file(&what, why);
        Err(ErrorCode::NotPermitted.into())
    }

    fn drop(&mut self, descriptor: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.granted().names.remove(&descriptor.rep());
        HostDescriptor::drop(&mut self.files(), descriptor)
    }

    fn read(
        &mut self,
        file: Resource<Descriptor>,
        wanted: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        let (file, what) = self.file(&file)?;
        let bytes = read_some(&self.granted().ledger, &file, &what, wanted, offset)
            .map_err(code_of_read)?;
        let at_end = bytes.is_empty() && wanted > 0;
        Ok((bytes, at_end))
    }

    fn read_via_stream(
        &mut self,
        file: Resource<Descriptor>,
        at: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let (file, what) = self.file(&file)?;
        let granted = self.granted();
        let ledger = granted.ledger.clone();
        let stream: DynInputStream = Box::new(FileStream { file, what, at, ledger });
        Ok(granted.table.push(stream).map_err(|_full| ErrorCode::InsufficientMemory)?)
    }

    fn read_directory(
        &mut self,
        folder: Resource<Descriptor>,
    ) -> FsResult<Resource<DirectoryEntryStream>> {
        let (dir, _) = self.place(&folder, "")?;
        let mut names = Vec::new();
        for entry in dir.entries()?.take(MOST_NAMES) {
            let entry = entry?;
            let type_ = entry.file_type().map_or(DescriptorType::Unknown, |kind| match () {
                () if kind.is_dir() => DescriptorType::Directory,
                () if kind.is_file() => DescriptorType::RegularFile,
                () if kind.is_symlink() => DescriptorType::SymbolicLink,
                () => DescriptorType::Unknown,
            });
            let name = entry.file_name().into_string().ok();
            names.extend(name.map(|name| DirectoryEntry { type_, name }));
        }
        // The order of a folder depends on the file system; sorting gives a guest the same one each
        // time.
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let weight = names.iter().map(|entry| entry.name.len() + 16).sum();
        let what = self.name_of(&folder);
        let granted = self.granted();
        {
            let mut ledger = granted.ledger.lock();
            ledger.uses.used(Grant::Directories, &what, weight);
            ledger.owe(weight);
        }
        let kept = granted
            .table
            .push(FolderNames(names.into()))
            .map_err(|_full| ErrorCode::InsufficientMemory)?;
        Ok(Resource::new_own(kept.rep()))
    }

    fn readlink_at(&mut self, folder: Resource<Descriptor>, path: String) -> FsResult<String> {
        let (_, what) = self.place(&folder, &path)?;
        HostDescriptor::readlink_at(&mut self.files(), folder, path)
            .map_err(|error| self.code_of(&what, error))
    }

    fn stat(&mut self, descriptor: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        HostDescriptor::stat(&mut self.files(), descriptor).map(without_times)
    }

    fn stat_at(
        &mut self,
        folder: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let (_, what) = self.place(&folder, &path)?;
        HostDescriptor::stat_at(&mut self.files(), folder, flags, path)
            .map(without_times)
            .map_err(|error| self.code_of(&what, error))
    }

    fn metadata_hash(&mut self, descriptor: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        HostDescriptor::metadata_hash(&mut self.files(), descriptor)
    }

    fn metadata_hash_at(
        &mut self,
        folder: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let (_, what) = self.place(&folder, &path)?;
        HostDescriptor::metadata_hash_at(&mut self.files(), folder, flags, path)
            .map_err(|error| self.code_of(&what, error))
    }

    fn is_same_object(
        &mut self,
        one: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        HostDescriptor::is_same_object(&mut self.files(), one, other)
    }

    fn get_type(&mut self, descriptor: Resource<Descriptor>) -> FsResult<DescriptorType> {
        HostDescriptor::get_type(&mut self.files(), descriptor)
    }

    fn get_flags(&mut self, _: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        Ok(DescriptorFlags::READ)
    }

    fn advise(&mut self, _: Resource<Descriptor>, _: u64, _: u64, _: Advice) -> FsResult<()> {
        Ok(())
    }

    fn sync(&mut self, _: Resource<Descriptor>) -> FsResult<()> {
        Ok(())
    }

    fn sync_data(&mut self, _: Resource<Descriptor>) -> FsResult<()> {
        Ok(())
    }

    fn write(&mut self, _: Resource<Descriptor>, _: Vec<u8>, _: u64) -> FsResult<u64> {
        read_only()
    }

    fn write_via_stream(
        &mut self,
        _: Resource<Descriptor>,
        _: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        read_only()
    }

    fn append_via_stream(
        &mut self,
        _: Resource<Descriptor>,
    ) -> FsResult<Resource<DynOutputStream>> {
        read_only()
    }

    fn set_size(&mut self, _: Resource<Descriptor>, _: u64) -> FsResult<()> {
        read_only()
    }

    fn set_times(
        &mut self,
        _: Resource<Descriptor>,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsResult<()> {
        read_only()
    }

    fn set_times_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: NewTimestamp,
        _: NewTimestamp,
    ) -> FsResult<()> {
        read_only()
    }

    fn create_directory_at(&mut self, _: Resource<Descriptor>, _: String) -> FsResult<()> {
        read_only()
    }

    fn link_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: Resource<Descriptor>,
        _: String,
    ) -> FsResult<()> {
        read_only()
    }

    fn remove_directory_at(&mut self, _: Resource<Descriptor>, _: String) -> FsResult<()> {
        read_only()
    }

    fn rename_at(
        &mut self,
        _: Resource<Descriptor>,
        _: String,
        _: Resource<Descriptor>,
        _: String,
    ) -> FsResult<()> {
        read_only()
    }

    fn symlink_at(&mut self, _: Resource<Descriptor>, _: String, _: String) -> FsResult<()> {
        read_only()
    }

    fn unlink_file_at(&mut self, _: Resource<Descriptor>, _: String) -> FsResult<()> {
        read_only()
    }
}

impl HostDirectoryEntryStream for GuestState {
    fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let names = Resource::<FolderNames>::new_borrow(stream.rep());
        Ok(self.granted().table.get_mut(&names)?.0.pop_front())
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.granted().table.delete(Resource::<FolderNames>::new_own(stream.rep()))?;
        Ok(())
    }
}

/// Returns the code of an error of a read: past the most bytes of a call, `quota`.
fn code_of_read(error: io::Error) -> FsError {
    match error.raw_os_error() {
        Some(code) if code == Errno::DQUOT.raw_os_error() => ErrorCode::Quota.into(),
        _ => error.into(),
    }
}

/// Leaves the times out: they are the machine's clock, which is granted on its own.
fn without_times(stat: DescriptorStat) -> DescriptorStat {
    DescriptorStat {
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
        ..stat
    }
}
