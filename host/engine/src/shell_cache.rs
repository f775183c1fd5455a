//! A cache of parsed command lines, for long-lived commands.
//!
//! A reading is a pure function of the text, the folder and the home, under the one reader of a
//! set, so an earlier answer can be reused. Assessments are not cached: they depend on the action's
//! position in the session and on the time, which no two actions share. Faults are not cached
//! either.

use lru::LruCache;
use portcullis_core::action::Reading;
use portcullis_core::run_files::{FileContents, ShellPlace};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// The size of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellCacheConfig {
    /// The number of readings; the least recently used one is evicted first.
    pub size: NonZeroUsize,
    /// The time for which an entry is valid.
    pub ttl: Duration,
}

/// The cache's hit statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShellCacheStats {
    /// Lookups.
    pub lookups: u64,
    /// Lookups that the cache answered.
    pub hits: u64,
}

/// The cached readings.
pub(crate) struct ShellCache {
    kept: LruCache<blake3::Hash, (Instant, Reading)>,
    ttl: Duration,
    pub(crate) count: ShellCacheStats,
}

impl ShellCache {
    pub(crate) fn new(memory: ShellCacheConfig) -> Self {
        Self {
            kept: LruCache::new(memory.size),
            ttl: memory.ttl,
            count: ShellCacheStats::default(),
        }
    }

    pub(crate) fn get(&mut self, key: &blake3::Hash, now: Instant) -> Option<Reading> {
        self.count.lookups += 1;
        let (since, reading) = self.kept.get(key)?;
        if now.saturating_duration_since(*since) >= self.ttl {
            self.kept.pop(key);
            return None;
        }
        self.count.hits += 1;
        Some(reading.clone())
    }

    pub(crate) fn keep(&mut self, key: blake3::Hash, reading: Reading, now: Instant) {
        self.kept.put(key, (now, reading));
    }
}

/// Returns the key of a question; the parts are delimited, so that no two questions share one.
pub(crate) fn key(text: &str, place: &ShellPlace<'_>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    };
    [text, place.cwd, place.home].into_iter().for_each(&mut add);
    for file in place.files {
        add(&file.path);
        add(&format!("{:?} {}", file.provenance, file.committed));
        let (kind, contents) = match &file.contents {
            None => ("unknown", ""),
            Some(FileContents::Text(text)) => ("text", text.as_str()),
            Some(FileContents::Part(text)) => ("part", text.as_str()),
            Some(FileContents::Binary) => ("binary", ""),
            Some(FileContents::Missing) => ("missing", ""),
            Some(FileContents::Unreadable(why)) => ("unreadable", why.as_str()),
        };
        add(kind);
        add(contents);
    }
    for mount in place.mounts {
        ["mount", &mount.at, &mount.to].into_iter().for_each(&mut add);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::action::Coverage;
    use portcullis_core::run_files::{FileReading, KnownFile, Mount, Provenance};

    fn reading(shape: &str) -> Reading {
        Reading {
            commands: Vec::new(),
            effects: Vec::new(),
            forms: Vec::new(),
            hosts: Vec::new(),
            shape: shape.into(),
            coverage: Coverage::Full,
            gaps: Vec::new(),
            files: FileReading::default(),
        }
    }

    #[test]
    fn questions_that_differ_are_kept_apart() {
        let plain = |text, cwd, home| key(text, &ShellPlace::without_files(cwd, home));
        let file = |path: &str, contents| KnownFile {
            path: path.to_owned(),
            contents,
            provenance: Provenance::default(),
            committed: false,
        };
        let with = |file: KnownFile| {
            key("ls", &ShellPlace { files: &[file], ..ShellPlace::without_files("/a", "/h") })
        };
        let mounts = [Mount { at: "/x".into(), to: "/y".into() }];
        let mounted = ShellPlace { mounts: &mounts, ..ShellPlace::without_files("/a", "/h") };
        let downloaded = Provenance { downloaded: true, ..Provenance::default() };
        let keys = [
            plain("ls", "/a", "/h"),
            plain("ls", "/", "a/h"),
            plain("ls/", "a", "/h"),
            plain("", "ls/a", "/h"),
            plain("ls", "/a", ""),
            with(file("/x", None)),
            with(file("/x", Some(FileContents::Missing))),
            with(file("/x", Some(FileContents::Text("a".into())))),
            with(file("/x", Some(FileContents::Part("a".into())))),
            with(KnownFile { provenance: downloaded, ..file("/x", None) }),
            key("ls", &mounted),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys.iter().skip(index + 1).all(|other| other != one));
        }
        assert_eq!(plain("ls", "/a", "/h"), plain("ls", "/a", "/h"));
    }

    #[test]
    fn the_least_recently_used_goes_first_and_the_old_go_anyway() {
        let mut readings = ShellCache::new(ShellCacheConfig {
            size: NonZeroUsize::new(2).unwrap(),
            ttl: Duration::from_secs(300),
        });
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let [one, two, three] =
            ["1", "2", "3"].map(|text| key(text, &ShellPlace::without_files("/", "/")));
        readings.keep(one, reading("1"), at(0));
        readings.keep(two, reading("2"), at(100));
        assert_eq!(readings.get(&one, at(100)), Some(reading("1")));
        readings.keep(three, reading("3"), at(100));
        assert_eq!(readings.get(&two, at(100)), None, "it was used least recently");
        assert_eq!(readings.get(&one, at(299)), Some(reading("1")));
        assert_eq!(
            readings.get(&one, at(300)),
            None,
            "it is five minutes old, however often it was used"
        );
        assert_eq!(readings.get(&three, at(399)), Some(reading("3")));
        assert_eq!(readings.count, ShellCacheStats { lookups: 5, hits: 3 });
    }
}
