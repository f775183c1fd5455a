//! Names of environments: which one a profile, a context, a folder or a resource names.
//!
//! A pattern of letters and digits matches one part of a name (`prod` matches `acme-prod-eu`,
//! `prodCluster` and `prod1`, but neither `product` nor `non-prod`). Any other pattern matches the
//! whole name, and `*` in it stands for any text.

use portcullis_plugin::codec::{Reader, Writer};

/// Where a command goes, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Environment {
    /// Made to be broken.
    Development,
    /// Nothing says.
    Unknown,
    /// Shared, but not what customers use.
    Protected,
    /// What customers use.
    Production,
}

impl Environment {
    /// Returns the value with this position.
    fn of_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Development,
            1 => Self::Unknown,
            2 => Self::Protected,
            3 => Self::Production,
            _ => return None,
        })
    }

    /// Returns the name used in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Unknown => "an environment that the settings do not know",
            Self::Protected => "a protected environment",
            Self::Production => "production",
        }
    }
}

/// Patterns, each with what it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// Those that match a part of a name, the strictest first, in lower case.
    words: Vec<(Environment, String)>,
    /// Those that match a whole name.
    globs: Vec<(Environment, String)>,
}

/// The longest value that is taken for a name, in bytes: longer ones are documents.
const LONGEST: usize = 512;
/// Words that turn the part behind them into another name: `non-prod`, `pre-prod`.
const NEGATIONS: &[&str] = &["non", "no", "not", "pre"];

impl Patterns {
    /// Adds patterns. Add the strictest first: what stands in several lists belongs to the first.
    pub fn add(&mut self, stands_for: Environment, patterns: &[String]) {
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
                .map(|_| Some((Environment::of_byte(input.byte()?)?, input.text()?)))
                .collect::<Option<Vec<_>>>()
        };
        Some(Self { words: read_list()?, globs: read_list()? })
    }

    /// Returns the environment that a name or path belongs to.
    pub fn find(&self, name: &str) -> Option<Environment> {
        if name.is_empty() || name.len() > LONGEST {
            return None;
        }
        if name.contains('/') && !name.contains("://") {
            return self.find_in_path(name);
        }
        self.match_name(name).map(|(environment, _)| environment)
    }

    /// Returns the environment of a folder or file. A folder that is called exactly as an
    /// environment counts more than one above it, so that `live/dev` is development.
    fn find_in_path(&self, path: &str) -> Option<Environment> {
        if let Some(environment) = self.match_whole(path) {
            return Some(environment);
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
                Some((environment, true)) => return strictest.max(Some(environment)),
                Some((environment, false)) => strictest = strictest.max(Some(environment)),
                None => {}
            }
        }
        strictest
    }

    /// Returns the strictest environment that a name belongs to, and true if it is the whole name.
    fn match_name(&self, name: &str) -> Option<(Environment, bool)> {
        if let Some(environment) = self.match_whole(name) {
            return Some((environment, true));
        }
        let mut found: Option<(Environment, bool)> = None;
        let mut before = "";
        for part in Parts::of(name) {
            if let Some(environment) = self.match_part(part, before) {
                let one = (environment, part.len() == name.len());
                found = Some(found.map_or(one, |known| if one.0 > known.0 { one } else { known }));
            }
            before = part;
        }
        found
    }

    fn match_part(&self, part: &str, before: &str) -> Option<Environment> {
        let plain = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let negated = NEGATIONS.iter().any(|word| word.eq_ignore_ascii_case(before));
        let is_one = |pattern: &str| {
            let rest = if negated { strip_start(pattern, before) } else { Some(pattern) };
            rest.is_some_and(|rest| {
                !rest.is_empty()
                    && (rest.eq_ignore_ascii_case(part) || rest.eq_ignore_ascii_case(plain))
            })
        };
        self.words.iter().find(|(_, pattern)| is_one(pattern)).map(|(environment, _)| *environment)
    }

    fn match_whole(&self, name: &str) -> Option<Environment> {
        self.globs
            .iter()
            .find(|(_, pattern)| matches_glob(pattern, name))
            .map(|(environment, _)| *environment)
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
        patterns.add(
            Environment::Production,
            &list(&["prod", "production", "live", "123456789012", "acme-eu*"]),
        );
        patterns.add(Environment::Protected, &list(&["staging", "preprod"]));
        patterns.add(Environment::Development, &list(&["dev", "test", "kind", "*127.0.0.1*"]));
        patterns
    }

    #[test]
    fn a_part_of_a_name_names_an_environment() {
        use Environment::{Development, Production, Protected};
        for (name, environment) in [
            ("prod", Some(Production)),
            ("PROD", Some(Production)),
            ("acme-prod-eu", Some(Production)),
            ("acme_prod", Some(Production)),
            ("prod1", Some(Production)),
            ("prodCluster", Some(Production)),
            ("eks.prod.example.com", Some(Production)),
            ("s3://acme-prod-data/key", Some(Production)),
            ("arn:aws:iam::123456789012:role/x", Some(Production)),
            ("acme-eu-1", Some(Production)),
            ("dev-prod", Some(Production)),
            ("product", None),
            ("reproduce", None),
            ("livenessProbe", None),
            ("deliver", None),
            ("non-prod", None),
            ("nonprod", None),
            ("pre-prod", Some(Protected)),
            ("preprod-2", Some(Protected)),
            ("pre_prod", Some(Protected)),
            ("staging", Some(Protected)),
            ("kind-kind", Some(Development)),
            ("http://127.0.0.1:4566", Some(Development)),
            ("eu-acme", None),
            ("", None),
            ("ünprod", None),
        ] {
            assert_eq!(patterns().find(name), environment, "{name}");
        }
    }

    #[test]
    fn the_deepest_folder_with_the_name_of_an_environment_counts() {
        use Environment::{Development, Production, Protected};
        for (path, environment) in [
            ("infra/prod", Some(Production)),
            ("infra/prod/vpc", Some(Production)),
            ("infrastructure-live/dev/vpc", Some(Development)),
            ("live/dev", Some(Development)),
            ("dev/live", Some(Production)),
            ("infra/prod/dev-tools", Some(Production)),
            ("dev/prod-cluster", Some(Production)),
            ("values-prod.yaml", Some(Production)),
            ("./staging/x.tfvars", Some(Protected)),
            ("src/deliver/product", None),
            ("infra/dev/..", None),
            ("infra/dev/../prod", Some(Production)),
            ("infra/prod/../dev", Some(Development)),
        ] {
            assert_eq!(patterns().find(path), environment, "{path}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, matches) in [
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("a**c", "ac", true),
            ("*", "", true),
            ("a-b", "a-b", true),
            ("a-b", "a-bc", false),
            ("*ab", "ab", true),
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
