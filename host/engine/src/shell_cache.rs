//! A cache of parsed command lines, for long-lived commands.
//!
//! A reading is a pure function of the text, the folder, the home and the files, under the one reader
//! of the program, so an earlier answer can be reused, also for another set of plugins. Assessments are not
//! cached: they depend on the action's position in the session and on the time, which no two actions
//! share. Faults are not cached either.

use lru::LruCache;
use portcullis_core::action::{Command, Reading};
use portcullis_core::run_files::{FileContents, ShellPlace};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes of texts in the readings of a cache: a long command line takes the place of many
/// short ones.
const MOST_BYTES: usize = 8 << 20;
/// The bytes that an item of a reading counts besides its texts.
const ITEM_BYTES: usize = 64;

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

/// A cache of parsed command lines. Clones share their entries.
#[derive(Clone)]
pub struct ShellCache(Arc<Mutex<CachedReadings>>);

impl ShellCache {
    /// Returns an empty cache.
    #[must_use]
    pub fn new(memory: ShellCacheConfig) -> Self {
        Self(Arc::new(Mutex::new(CachedReadings {
            kept: LruCache::new(memory.size),
            bytes: 0,
            ttl: memory.ttl,
            count: ShellCacheStats::default(),
        })))
    }

    pub(crate) fn get(&self, key: &blake3::Hash, now: Instant) -> Option<Reading> {
        self.lock().get(key, now)
    }

    /// Returns an entry that another thread may just have made, without counting a lookup.
    pub(crate) fn peek(&self, key: &blake3::Hash) -> Option<Reading> {
        self.lock().kept.peek(key).map(|known| known.reading.clone())
    }

    pub(crate) fn keep(&self, key: blake3::Hash, reading: Reading, now: Instant) {
        self.lock().keep(key, reading, now);
    }

    pub(crate) fn stats(&self) -> ShellCacheStats {
        self.lock().count
    }

    /// Locks the entries. A panic leaves none half-changed.
    fn lock(&self) -> MutexGuard<'_, CachedReadings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries of a cache.
struct CachedReadings {
    kept: LruCache<blake3::Hash, CachedReading>,
    /// The size of all entries.
    bytes: usize,
    ttl: Duration,
    count: ShellCacheStats,
}

struct CachedReading {
    since: Instant,
    bytes: usize,
    reading: Reading,
}

impl CachedReadings {
    fn get(&mut self, key: &blake3::Hash, now: Instant) -> Option<Reading> {
        self.count.lookups += 1;
        let known = self.kept.get(key)?;
        if now.saturating_duration_since(known.since) >= self.ttl {
            let old = self.kept.pop(key);
            self.forget(old);
            return None;
        }
        self.count.hits += 1;
        Some(known.reading.clone())
    }

    fn keep(&mut self, key: blake3::Hash, reading: Reading, now: Instant) {
        let bytes = weigh_reading(&reading);
        if bytes > MOST_BYTES {
            return;
        }
        self.bytes += bytes;
        // The entry of the same key, or the one that was used the longest time ago.
        let old = self.kept.push(key, CachedReading { since: now, bytes, reading });
        self.forget(old.map(|(_, old)| old));
        while self.bytes > MOST_BYTES {
            let Some((_, old)) = self.kept.pop_lru() else { return };
            self.forget(Some(old));
        }
    }

    fn forget(&mut self, old: Option<CachedReading>) {
        self.bytes -= old.map_or(0, |old| old.bytes);
    }
}

/// Returns about the bytes that a reading takes.
fn weigh_reading(reading: &Reading) -> usize {
    let Reading { commands, effects, forms, hosts, shape, coverage: _, gaps, files } = reading;
    let texts = |texts: &[String]| texts.iter().map(|text| ITEM_BYTES + text.len()).sum::<usize>();
    let words = |command: &Command| {
        let words = command.words.iter().map(|word| ITEM_BYTES + word.text.len());
        let assigned = command.assignments.iter();
        let assigned = assigned.map(|(name, value)| ITEM_BYTES + name.len() + value.len());
        let redirected = command.redirections.iter();
        let redirected = redirected.map(|to| ITEM_BYTES + to.target.text.len());
        words.chain(assigned).chain(redirected).sum::<usize>()
    };
    let commands = commands.iter().map(|command| {
        ITEM_BYTES + command.program.len() + texts(&command.wrappers) + words(command)
    });
    let effects = effects.iter().map(|effect| ITEM_BYTES + effect.target.len());
    let forms = forms.iter().map(|form| ITEM_BYTES + form.id.len() + form.label.len());
    let lines = files.lines.iter().map(|line| ITEM_BYTES + line.path.len());
    let leaves = files.leaves.iter().map(|file| ITEM_BYTES + file.path.len());
    ITEM_BYTES
        + shape.len()
        + commands.chain(effects).chain(forms).chain(lines).chain(leaves).sum::<usize>()
        + texts(hosts)
        + texts(gaps)
        + texts(&files.wants)
        + texts(&files.absences)
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
        let readings = ShellCache::new(ShellCacheConfig {
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
        assert_eq!(readings.stats(), ShellCacheStats { lookups: 5, hits: 3 });
    }

    #[test]
    fn long_readings_take_the_place_of_others() {
        let readings = ShellCache::new(ShellCacheConfig {
            size: NonZeroUsize::new(1000).unwrap(),
            ttl: Duration::from_secs(300),
        });
        let now = Instant::now();
        let keys =
            ["1", "2", "3", "4", "5"].map(|text| key(text, &ShellPlace::without_files("/", "/")));
        let of_bytes = |bytes: usize| reading(&"x".repeat(bytes - ITEM_BYTES));
        let third = of_bytes(MOST_BYTES / 3);
        for key in &keys[..3] {
            readings.keep(*key, third.clone(), now);
            readings.keep(*key, third.clone(), now);
        }
        assert!(
            keys[..3].iter().all(|key| readings.get(key, now).is_some()),
            "there is room for 3"
        );
        readings.keep(keys[3], of_bytes(MOST_BYTES / 2), now);
        let kept = keys.map(|key| readings.get(&key, now).is_some());
        assert_eq!(kept, [false, false, true, true, false], "the newest two fit");
        readings.keep(keys[4], of_bytes(MOST_BYTES + 1), now);
        let kept = keys.map(|key| readings.get(&key, now).is_some());
        assert_eq!(kept, [false, false, true, true, false], "one that is too long is not kept");
        let counted: usize = readings.lock().kept.iter().map(|(_, kept)| kept.bytes).sum();
        assert_eq!(readings.lock().bytes, counted);
    }

    #[test]
    fn every_text_of_a_reading_counts() {
        let full: Reading = serde_json::from_value(serde_json::json!({
            "commands": [{"program": "a1", "words": [{"text": "a2", "known": true, "quoted": false}],
                "assignments": [["a3", "a4"]], "redirections": [{"descriptor": 1, "direction": "output",
                "target": {"text": "a5", "known": true, "quoted": false}}], "wrappers": ["a6"],
                "origin": "plain", "input_from": null, "start": 0, "end": 0, "privileged": false}],
            "effects": [], "forms": [], "hosts": ["a7"], "shape": "a8", "coverage": "full",
            "gaps": ["a9"], "files": {"wants": ["b1"], "absences": ["b2"],
                "lines": [{"command": 0, "path": "b3", "line": 1}], "leaves": []},
        }))
        .unwrap();
        let items = 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1;
        assert_eq!(weigh_reading(&full), 12 * 2 + items * ITEM_BYTES);
    }
}
