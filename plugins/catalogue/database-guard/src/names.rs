//! Names of databases, hosts and files: do they name production, or something made for tests?
//!
//! A pattern of letters and digits matches one part of a name (`prod` matches `acme-prod-eu`,
//! `prodCluster` and `prod1`, but neither `product` nor `non-prod`). Any other pattern matches the
//! whole name, and `*` in it stands for any text.

use portcullis_plugin::codec::{Reader, Writer};

/// What a name stands for, from the milder to the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Made for tests or development.
    Test,
    /// What customers use.
    Production,
}

impl Class {
    /// Returns the value with this position.
    fn of_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Test,
            1 => Self::Production,
            _ => return None,
        })
    }
}

/// Patterns, each with what it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// Those that match a part of a name, the strictest first, in lower case.
    words: Vec<(Class, String)>,
    /// Those that match a whole name.
    globs: Vec<(Class, String)>,
}

/// The longest value that is taken for a name, in bytes: longer ones are documents.
const LONGEST: usize = 512;
/// Words that turn the part behind them into another name: `non-prod`, `pre-prod`.
const NEGATIONS: &[&str] = &["non", "no", "not", "pre"];

impl Patterns {
    /// Adds patterns. Add the strictest first: what stands in several lists belongs to the first.
    pub fn add(&mut self, stands_for: Class, patterns: &[String]) {
        for pattern in patterns {
            let list = if pattern.chars().all(char::is_alphanumeric) {
                &mut self.words
            } else {
                &mut self.globs
            };
            list.push((stands_for, pattern.to_ascii_lowercase()));
        }
    }

    /// Writes them.
    pub fn write(&self, out: &mut Writer) {
        for list in [&self.words, &self.globs] {
            out.number(list.len());
            for (stands_for, pattern) in list {
                out.byte(*stands_for as u8);
                out.text(pattern);
            }
        }
    }

    /// Reads what [`Self::write`] wrote.
    pub fn read(input: &mut Reader<'_>) -> Option<Self> {
        let mut read_list = || {
            let count = input.number()?;
            (0..count)
                .map(|_| Some((Class::of_byte(input.byte()?)?, input.text()?)))
                .collect::<Option<Vec<_>>>()
        };
        Some(Self { words: read_list()?, globs: read_list()? })
    }

    /// Returns the class of a name or path.
    pub fn find(&self, name: &str) -> Option<Class> {
        if name.is_empty() || name.len() > LONGEST {
            return None;
        }
        if name.contains('/') && !name.contains("://") {
            return self.find_in_path(name);
        }
        self.match_name(name).map(|(class, _)| class)
    }

    /// Returns the class of a file. A folder that is called exactly as a pattern counts more than one
    /// above it, so that `live/test` is for tests.
    fn find_in_path(&self, path: &str) -> Option<Class> {
        if let Some(class) = self.match_whole(path) {
            return Some(class);
        }
        let (mut strictest, mut left) = (None, 0_usize);
        for folder in path.rsplit('/') {
            // `dev/..` is not in `dev`.
            if folder == ".." {
                left += 1;
                continue;
            }
            if let Some(rest) = left.checked_sub(1) {
                left = rest;
                continue;
            }
            match self.match_name(folder) {
                Some((class, true)) => return strictest.max(Some(class)),
                Some((class, false)) => strictest = strictest.max(Some(class)),
                None => {}
            }
        }
        strictest
    }

    /// Returns the strictest class of a name, and true if its pattern is the whole name.
    fn match_name(&self, name: &str) -> Option<(Class, bool)> {
        if let Some(class) = self.match_whole(name) {
            return Some((class, true));
        }
        let mut found: Option<(Class, bool)> = None;
        let mut before = "";
        for part in Parts::of(name) {
            if let Some(class) = self.match_part(part, before) {
                let one = (class, part.len() == name.len());
                found = Some(found.map_or(one, |known| if one.0 > known.0 { one } else { known }));
            }
            before = part;
        }
        found
    }

    fn match_part(&self, part: &str, before: &str) -> Option<Class> {
        let plain = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let negated = NEGATIONS.iter().any(|word| word.eq_ignore_ascii_case(before));
        let is_one = |pattern: &str| {
            let rest = if negated { strip_start(pattern, before) } else { Some(pattern) };
            rest.is_some_and(|rest| {
                !rest.is_empty()
                    && (rest.eq_ignore_ascii_case(part) || rest.eq_ignore_ascii_case(plain))
            })
        };
        self.words.iter().find(|(_, pattern)| is_one(pattern)).map(|(class, _)| *class)
    }

    fn match_whole(&self, name: &str) -> Option<Class> {
        self.globs.iter().find(|(_, pattern)| matches_glob(pattern, name)).map(|(class, _)| *class)
    }
}

/// Compares without regard to the case of ASCII letters; `*` stands for any text.
fn matches_glob(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = strip_start(name, first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(piece) = last.replace(piece) {
            let Some(behind) = find_ignoring_case(rest, piece) else { return false };
            rest = behind;
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest
            .len()
            .checked_sub(end.len())
            .and_then(|at| rest.get(at..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end)),
    }
}

fn strip_start<'n>(name: &'n str, start: &str) -> Option<&'n str> {
    name.get(..start.len()).filter(|head| head.eq_ignore_ascii_case(start))?;
    name.get(start.len()..)
}

fn find_ignoring_case<'n>(name: &'n str, piece: &str) -> Option<&'n str> {
    name.char_indices().find_map(|(at, _)| strip_start(name.get(at..)?, piece)).or_else(|| {
        // The empty piece between two stars is everywhere, also at the end.
        piece.is_empty().then_some(name)
    })
}

/// The parts of a name: runs of letters and digits, cut where a capital letter begins a new word.
struct Parts<'n>(&'n str);

impl<'n> Parts<'n> {
    const fn of(name: &'n str) -> Self {
        Self(name)
    }
}

impl<'n> Iterator for Parts<'n> {
    type Item = &'n str;

    fn next(&mut self) -> Option<&'n str> {
        let rest = self.0.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut lower = false;
        let end = rest.char_indices().find(|(_, c)| {
            let ends = !c.is_alphanumeric() || (lower && c.is_uppercase());
            lower = c.is_lowercase();
            ends
        });
        let (part, behind) = rest.split_at_checked(end.map_or(rest.len(), |(at, _)| at))?;
        self.0 = behind;
        (!part.is_empty()).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns() -> Patterns {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut patterns = Patterns::default();
        patterns.add(Class::Production, &list(&["prod", "production", "live", "acme-eu*"]));
        patterns.add(Class::Test, &list(&["dev", "test", "*.tmp"]));
        patterns
    }

    #[test]
    fn a_part_of_a_name_names_a_class() {
        use Class::{Production, Test};
        for (name, class) in [
            ("prod", Some(Production)),
            ("acme_prod", Some(Production)),
            ("prod-db1.example.com", Some(Production)),
            ("db.prod.example.com", Some(Production)),
            ("appProduction", Some(Production)),
            ("acme-eu-1", Some(Production)),
            ("test_prod", Some(Production)),
            ("products", None),
            ("non-prod", None),
            ("deliveries", None),
            ("app_test", Some(Test)),
            ("test2", Some(Test)),
            ("x.tmp", Some(Test)),
            ("attestation", None),
            ("live/test/app.db", Some(Test)),
            ("data/prod.db", Some(Production)),
            ("", None),
        ] {
            assert_eq!(patterns().find(name), class, "{name}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, matches) in [
            ("a*", "a", true),
            ("*c", "abc", true),
            ("a*c", "ab", false),
            ("a**c", "ac", true),
            ("a-b", "a-bc", false),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(matches_glob(pattern, name), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_survive_their_bytes() {
        let mut out = Writer::default();
        patterns().write(&mut out);
        let bytes = out.into_bytes();
        assert_eq!(Patterns::read(&mut Reader::new(&bytes)), Some(patterns()));
        assert_eq!(Patterns::read(&mut Reader::new(bytes.get(..9).unwrap())), None);
    }
}
