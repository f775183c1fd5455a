//! The hidden tools of a configuration that may change while a gateway runs.

use super::HiddenTools;
use crate::paths::{PROJECT_FILE, Paths};
use crate::problem::BadConfiguration;
use crate::values::EffectiveValues;
use crate::{FILE, settle_layers};
use portcullis_fleet::FleetFiles;
use portcullis_store::Home;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The age from which a change is settled: two changes within one tick of a file system's clock
/// look like one.
const SETTLED: Duration = Duration::from_secs(2);

/// Hidden tools that are read again after a change of a file of the configuration.
#[derive(Debug, Default)]
pub struct WatchedHiddenTools {
    known: Mutex<Option<(Vec<FileStamp>, HiddenTools)>>,
}

/// The state of a file: it is another one after any change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    /// Device, number, size.
    file: Option<(u64, u64, u64)>,
    /// The times of the last changes of its content and of its entry, since 1970.
    changed: [(i64, i64); 2],
}

impl FileStamp {
    /// Returns the stamp of a path. One that cannot be looked at is like a missing one: to read it
    /// fails.
    fn of(path: &Path) -> Self {
        // A link and its target both count.
        let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path));
        match found {
            Ok(found) => Self {
                file: Some((found.dev(), found.ino(), found.size())),
                changed: [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())],
            },
            Err(_) => Self { file: None, changed: [(0, 0); 2] },
        }
    }

    /// Returns true if a further change would be seen.
    fn is_settled(&self, now: SystemTime) -> bool {
        let latest = self.changed.iter().map(|(seconds, _)| *seconds).max().unwrap_or_default();
        let latest = UNIX_EPOCH + Duration::from_secs(u64::try_from(latest).unwrap_or_default());
        now.duration_since(latest).is_ok_and(|age| age > SETTLED)
    }
}

impl WatchedHiddenTools {
    /// Returns the hidden tools in force, which are read only if a file has changed.
    ///
    /// # Errors
    /// Fails like [`settle_layers`].
    pub fn read(&self, places: &Paths) -> Result<HiddenTools, BadConfiguration> {
        let project = places.project.as_ref().map(|project| project.join(PROJECT_FILE));
        let own = places.config.join(FILE);
        let home = Home::open_existing(&places.state).ok().flatten();
        let orders = home.as_ref().map(|home| FleetFiles::of_home(home).orders().path().to_owned());
        let paths = [Some(places.managed.clone()), Some(own), project, orders];
        let stamps: Vec<FileStamp> =
            paths.iter().flatten().map(|path| FileStamp::of(path)).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tools)) = known.as_ref().filter(|(seen, _)| *seen == stamps) {
            return Ok(tools.clone());
        }
        // Trust in a project's file is no matter: its own hidden tools join the others.
        let settled = settle_layers(places, home.as_ref(), None)?;
        let tools = HiddenTools::new(EffectiveValues(&settled).texts("mcp.hide"));
        let now = SystemTime::now();
        let is_settled = stamps.iter().all(|stamp| stamp.is_settled(now));
        *known = is_settled.then(|| (stamps, tools.clone()));
        Ok(tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(folder: &Path) -> Paths {
        Paths {
            person: folder.display().to_string(),
            config: folder.join("config"),
            state: folder.join("state"),
            managed: folder.join("managed.toml"),
            project: Some(folder.to_owned()),
            environment: portcullis_agents::HookEnvironment::of_process(),
            handed: None,
        }
    }

    /// Writes the person's file; `age` is that of its last change.
    fn write(places: &Paths, text: &str, age: u64) {
        fs::create_dir_all(&places.config).unwrap();
        let path = places.config.join(FILE);
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }

    #[test]
    fn a_change_is_seen_however_soon_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let tools = WatchedHiddenTools::default();
        let hides = |tool: &str| tools.read(&places).unwrap().find_pattern("files", tool).is_some();
        assert!(!hides("delete"));
        for age in [0, 60, 60] {
            for name in ["delete", "remove", "unlink"] {
                write(&places, &format!("[mcp]\nhide = [\"files/{name}\"]\n"), age);
                assert!(hides(name), "{name} {age}");
                assert!(hides(name), "{name} {age} again");
            }
            assert!(!hides("delete"));
        }
        let shared = folder.path().join(PROJECT_FILE);
        fs::create_dir_all(shared.parent().unwrap()).unwrap();
        fs::write(&shared, "[mcp]\nhide = [\"files/make\"]\n").unwrap();
        assert!(hides("make") && hides("unlink"));
        write(&places, "mcp = 3\n", 60);
        assert!(tools.read(&places).is_err());
        fs::remove_file(places.config.join(FILE)).unwrap();
        assert!(hides("make") && !hides("unlink"));
    }

    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let stamp =
            |seconds: i64| FileStamp { file: Some((1, 1, 1)), changed: [(0, 0), (seconds, 5)] };
        let now = UNIX_EPOCH + Duration::from_secs(100);
        for (seconds, settled) in [(0, true), (97, true), (98, false), (100, false), (200, false)] {
            assert_eq!(stamp(seconds).is_settled(now), settled, "{seconds}");
        }
        assert_ne!(stamp(1), stamp(2));
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let tools = WatchedHiddenTools::default();
        tools.read(&places).unwrap();
        // Nothing is there that could be unsettled.
        assert!(tools.known.lock().unwrap().is_some());
    }
}
