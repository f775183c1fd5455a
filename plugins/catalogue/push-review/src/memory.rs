//! What the session has changed since its last push: the plugin's state.
//!
//! The state has a version and bounds, so that it never exceeds the 64 KiB that the host keeps. A
//! state of another version counts as empty.

use portcullis_plugin::codec::{Reader, Writer};

const VERSION: u8 = 1;
/// The most files that are kept by name; the others are counted.
pub const MOST_FILES: usize = 300;
/// The longest path that is kept, in bytes.
pub const LONGEST_PATH: usize = 140;
/// The longest name of a branch that is kept, in bytes.
const LONGEST_BRANCH: usize = 120;

/// What is known of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The branch that is checked out; empty if it is not known.
    pub branch: String,
    /// The files that were changed, in the order of their first change.
    pub files: Vec<Change>,
    /// Changes of files past the bound.
    pub more: usize,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path in the project.
    pub place: String,
    /// The step of its first change.
    pub step: u64,
    /// It was deleted last.
    pub deleted: bool,
    /// It was protected when it was changed. The settings of the push decide, not these: this is for
    /// the choice of what is kept.
    pub protected: bool,
    /// Some change of it had no text to count.
    pub uncounted: bool,
    /// Lines that came, as far as they are known.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
}

impl Memory {
    /// Decodes a state.
    pub fn read(state: &[u8]) -> Self {
        Self::decode(state).unwrap_or_default()
    }

    fn decode(state: &[u8]) -> Option<Self> {
        let mut input = Reader::new(state);
        if input.byte()? != VERSION {
            return None;
        }
        let branch = input.text()?;
        let more = input.number()?;
        let count = input.number()?;
        let files: Option<Vec<Change>> =
            (0..count.min(MOST_FILES)).map(|_| Change::decode(&mut input)).collect();
        Some(Self { branch, files: files?, more })
    }

    /// Encodes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(VERSION);
        out.text(cut(&self.branch, LONGEST_BRANCH));
        out.number(self.more);
        out.number(self.files.len().min(MOST_FILES));
        for change in self.files.iter().take(MOST_FILES) {
            change.encode(&mut out);
        }
        out.into_bytes()
    }

    /// Adds a change of a file. A protected one takes the place of another where there is no more
    /// room.
    pub fn add(&mut self, change: Change) {
        let place = cut(&change.place, LONGEST_PATH);
        if let Some(known) = self.files.iter_mut().find(|known| known.place == place) {
            known.deleted = change.deleted;
            known.uncounted |= change.uncounted;
            known.added = known.added.saturating_add(change.added);
            known.removed = known.removed.saturating_add(change.removed);
            return;
        }
        let change = Change { place: place.to_owned(), ..change };
        if self.files.len() < MOST_FILES {
            self.files.push(change);
            return;
        }
        self.more = self.more.saturating_add(1);
        if change.protected
            && let Some(other) = self.files.iter_mut().find(|known| !known.protected)
        {
            *other = change;
        }
    }

    /// Forgets changes that were thrown away: those of a file, or of everything in a folder.
    pub fn forget(&mut self, place: &str) {
        if place.is_empty() {
            self.files.clear();
            self.more = 0;
            return;
        }
        self.files.retain(|change| {
            let rest = change.place.strip_prefix(place);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    }

    /// Returns the number of changed files.
    pub fn count(&self) -> usize {
        self.files.len().saturating_add(self.more)
    }

    /// Returns the lines that came and those that went, as far as they are known.
    pub fn lines(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(added, removed), change| {
            (change.added.saturating_add(added), change.removed.saturating_add(removed))
        })
    }
}

impl Change {
    fn encode(&self, out: &mut Writer) {
        out.text(&self.place);
        out.eight(self.step.to_le_bytes());
        let flags = [self.deleted, self.uncounted, self.protected];
        let bits = flags.iter().enumerate().map(|(bit, flag)| u8::from(*flag) << bit);
        out.byte(bits.sum());
        out.number(self.added);
        out.number(self.removed);
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let place = input.text()?;
        let step = u64::from_le_bytes(input.eight()?);
        let flags = input.byte()?;
        let (added, removed) = (input.number()?, input.number()?);
        let (deleted, uncounted, protected) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        Some(Self { place, step, deleted, protected, uncounted, added, removed })
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(place: &str) -> Change {
        Change {
            place: place.into(),
            step: 3,
            deleted: false,
            protected: false,
            uncounted: true,
            added: 5,
            removed: 2,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut memory = Memory { branch: "topic".into(), ..Memory::default() };
        memory.add(change("src/a.rs"));
        memory.add(change("src/a.rs"));
        assert_eq!(Memory::read(&memory.to_bytes()), memory);
        assert_eq!((memory.count(), memory.lines()), (1, (10, 4)));
        for other in [&b""[..], b"\x02abc", b"\x01\xff\xff"] {
            assert_eq!(Memory::read(other), Memory::default());
        }
    }

    #[test]
    fn the_state_has_bounds() {
        let mut memory = Memory { branch: "b".repeat(500), ..Memory::default() };
        for at in 0..2000 {
            memory.add(change(&format!("{at}/{}", "ü".repeat(300))));
        }
        let bytes = memory.to_bytes();
        assert!(bytes.len() <= 64 << 10, "{}", bytes.len());
        assert_eq!((memory.files.len(), memory.count()), (MOST_FILES, 2000));
        memory.add(Change { protected: true, ..change("Dockerfile") });
        assert!(memory.files.iter().any(|known| known.place == "Dockerfile"));
    }

    #[test]
    fn changes_that_are_thrown_away_are_forgotten() {
        let mut memory = Memory::default();
        for place in ["src/a.rs", "src/b/c.rs", "srcs/d.rs"] {
            memory.add(change(place));
        }
        memory.forget("src");
        assert_eq!(memory.files.len(), 1);
        memory.forget("");
        assert_eq!(memory.count(), 0);
    }
}
