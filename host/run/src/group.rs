//! A separate cgroup for the agent, if this user may create one: it is killed in one step, whatever
//! forks in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The prefix of its name; the caller's id follows.
const PREFIX: &str = "portcullis-run-";

/// A cgroup (version 2).
#[derive(Debug)]
pub(crate) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Creates one below the group of the calling process; none if the system has no cgroups or the
    /// user lacks the permission.
    pub(crate) fn make() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent = below(&mounts, &own)?;
        clear(&parent);
        let group = Self { folder: parent.join(format!("{PREFIX}{}", own_id())) };
        fs::create_dir(&group.folder).ok()?;
        // The file that kills it is newer than cgroups themselves.
        if group.folder.join("cgroup.kill").exists() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Returns the group that another process created.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves the calling process into it; processes that it starts afterwards are in it too.
    pub(crate) fn join(&self) {
        // A group that cannot be joined is empty, and the search for descendants finds the process
        // without it.
        let _ = fs::write(self.folder.join("cgroup.procs"), "0");
    }

    /// Kills all processes in it. Those that left it are found by descent.
    pub(crate) fn kill(&self) {
        // A group that no longer exists has nothing to kill, and the search by descent does not
        // depend on this.
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }

    /// Removes it, which succeeds if it is empty.
    pub(crate) fn remove(&self) {
        // A leftover group is empty, and the next run removes it.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the empty groups of callers that were killed together with their watchers.
fn clear(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let caller = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if caller.is_some_and(|caller| !Path::new("/proc").join(caller).exists()) {
            Cgroup::at(entry.path()).remove();
        }
    }
}

/// Returns the folder of the group named in `/proc/self/cgroup`, using the mounts in
/// `/proc/self/mountinfo`.
fn below(mounts: &str, own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let (root, point) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        (after.split(' ').next()? == "cgroup2").then_some((fields.next()?, fields.next()?))
    })?;
    let within = path.strip_prefix(root.trim_matches('/')).unwrap_or(path);
    Some(Path::new(point).join(within.trim_start_matches('/')))
}

/// Returns the id of the calling process.
pub(crate) fn own_id() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

#[cfg(test)]
mod tests {
    use super::below;
    use std::path::Path;

    const HYBRID: &str = "30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n31 30 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
    const UNIFIED: &str =
        "31 24 0:27 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const PART: &str = "31 24 0:27 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";

    #[test]
    fn finds_the_folder_of_the_own_group() {
        let rows = [
            (HYBRID, "1:name=systemd:/\n0::/\n", Some("/sys/fs/cgroup/unified")),
            (
                UNIFIED,
                "0::/user.slice/user-1000.slice/a.scope\n",
                Some("/sys/fs/cgroup/user.slice/user-1000.slice/a.scope"),
            ),
            (PART, "0::/docker/1/x\n", Some("/sys/fs/cgroup/x")),
            (UNIFIED, "1:name=systemd:/\n", None),
            ("", "0::/\n", None),
        ];
        for (mounts, own, expected) in rows {
            assert_eq!(below(mounts, own).as_deref(), expected.map(Path::new), "{own}");
        }
    }
}
