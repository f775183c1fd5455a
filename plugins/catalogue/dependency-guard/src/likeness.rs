//! Finds the popular name that a package's name could be mistaken for.

use crate::ecosystems::Ecosystem;
use crate::slips::{Comparison, Slip, compare, is_separator, is_squashed_same, part_around};

/// A popular name that another name looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// The popular name.
    pub popular: &'static str,
    /// How the other one differs from it.
    pub slip: Slip,
}

/// The longest name that is compared. No registry has a longer one that anybody could mistype.
const LONGEST: usize = 128;

/// Returns the popular name that a name looks like, none if it is popular itself.
pub fn find_likeness(ecosystem: Ecosystem, name: &str) -> Option<Likeness> {
    let name = ecosystem.normalise(name);
    if name.len() > LONGEST {
        return None;
    }
    let plain = spell_in_ascii(&name);
    if let Some(plain) = &plain {
        let exact = ecosystem.popular().iter().find(|popular| **popular == plain.as_str());
        return exact
            .map(|popular| Likeness { popular, slip: Slip::LookAlike })
            .or_else(|| find_ascii(ecosystem, plain));
    }
    find_ascii(ecosystem, &name)
}

fn find_ascii(ecosystem: Ecosystem, name: &str) -> Option<Likeness> {
    match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((scope, rest)) if ecosystem == Ecosystem::Npm => find_scope(scope, rest),
        _ => find_name(ecosystem, name),
    }
}

fn find_name(ecosystem: Ecosystem, name: &str) -> Option<Likeness> {
    let given = name.as_bytes();
    let mut found = None;
    for popular in ecosystem.popular() {
        match compare(given, popular.as_bytes(), ecosystem.folds_separators()) {
            Comparison::Same => return None,
            Comparison::Near { slip, at } if found.is_none() => {
                found = Some((Likeness { popular, slip }, at));
            }
            Comparison::Near { .. } | Comparison::Far => {}
        }
    }
    let found = found.filter(|(likeness, at)| counts(ecosystem, given, likeness, *at));
    found.map(|(likeness, _)| likeness).or_else(|| find_decorated(ecosystem, name))
}

/// Returns true if a slip is not explained by something else: a name that its owner protects, or an
/// ordinary word of that ecosystem in the place of another.
fn counts(ecosystem: Ecosystem, given: &[u8], likeness: &Likeness, at: usize) -> bool {
    if ecosystem.has_owners() {
        return at < owner_length(given);
    }
    let part = part_around(given, at);
    likeness.slip != Slip::Letters || part.len() < 3 || !is_word(ecosystem, part, given)
}

/// Returns the length of the part of a name that its owner is known by.
fn owner_length(name: &[u8]) -> usize {
    let slashes: Vec<usize> =
        name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).collect();
    // A module has its host before the owner, a vendor is the first part.
    let host = name.iter().position(|byte| *byte == b'.');
    let has_host = host.is_some_and(|dot| slashes.first().is_some_and(|slash| dot < *slash));
    let end = if has_host { slashes.get(1) } else { slashes.first() };
    end.copied().unwrap_or_else(|| slashes.first().copied().unwrap_or(name.len()))
}

/// Returns true if a part of a name is a part of some popular name too.
fn is_word(ecosystem: Ecosystem, part: &[u8], given: &[u8]) -> bool {
    let is_whole = part.len() == given.len();
    let mut parts = ecosystem
        .popular()
        .iter()
        .flat_map(|name| name.as_bytes().split(|byte| is_separator(*byte)));
    // A name that is one word only has been compared with every popular name already.
    !is_whole && parts.any(|word| word.eq_ignore_ascii_case(part))
}

/// Finds the scope that another scope looks like. What stands below a known scope is its owner's.
fn find_scope(scope: &str, name: &str) -> Option<Likeness> {
    let mut found = None;
    let scopes = Ecosystem::Npm
        .popular()
        .iter()
        .filter_map(|popular| Some((*popular, popular.strip_prefix('@')?.split_once('/')?)));
    let (mut before, mut near) = ("", false);
    for (popular, (known, rest)) in scopes {
        if known == scope {
            return None;
        }
        // The list is sorted, so that a scope's packages follow each other.
        if before != known {
            before = known;
            near = is_near_scope(scope, known);
        }
        let joined = scope.len() > known.len()
            && scope.len() - known.len() <= rest.len() + 1
            && is_squashed_same(scope.as_bytes(), popular.as_bytes());
        // Of a scope's packages the one of the same name says most.
        if (found.is_none() && (joined || near)) || (near && rest == name) {
            found = Some(Likeness { popular, slip: Slip::Owner });
        }
    }
    found
}

fn is_near_scope(scope: &str, known: &str) -> bool {
    matches!(
        compare(scope.as_bytes(), known.as_bytes(), false),
        Comparison::Near { slip: Slip::Letters | Slip::LookAlike | Slip::Separators, .. }
    )
}

/// Finds a popular name that has the language's name added to it.
fn find_decorated(ecosystem: Ecosystem, name: &str) -> Option<Likeness> {
    let (before, after): (&[&str], &[&str]) = match ecosystem {
        Ecosystem::Npm => {
            (&["node-", "js-", "npm-", "node"], &["-js", ".js", "js", "-node", "-npm", ".min"])
        }
        Ecosystem::Pypi => (
            &["python-", "python3-", "py-", "python", "pip-", "pypi-"],
            &["-python", "-python3", "-py", "-py3", "python", "-pip"],
        ),
        Ecosystem::Crates => (&["rust-", "rust_", "rs-"], &["-rs", "_rs", "-rust", "_rust"]),
        Ecosystem::Gems => (&["ruby-", "rb-", "gem-"], &["-ruby", "-rb", "-gem", "_rb"]),
        Ecosystem::Go => return find_owner_decorated(name),
        Ecosystem::Packagist | Ecosystem::Nuget => return None,
    };
    let bare = before
        .iter()
        .filter_map(|affix| name.strip_prefix(affix))
        .chain(after.iter().filter_map(|affix| name.strip_suffix(affix)));
    // Shorter names are ordinary words as often as packages.
    let bare = bare.filter(|bare| bare.len() >= 5);
    bare.filter_map(|bare| find_exact(ecosystem, bare))
        .next()
        .map(|popular| Likeness { popular, slip: Slip::Decorated })
}

fn find_exact(ecosystem: Ecosystem, name: &str) -> Option<&'static str> {
    let folds = ecosystem.folds_separators();
    ecosystem
        .popular()
        .iter()
        .copied()
        .find(|popular| compare(name.as_bytes(), popular.as_bytes(), folds) == Comparison::Same)
}

/// Finds the module whose owner has something added: `github.com/boltdb-go/bolt`.
fn find_owner_decorated(name: &str) -> Option<Likeness> {
    let mut parts = name.split('/');
    let (host, owner, repository) = (parts.next()?, parts.next()?, parts.next()?);
    let is_added = |known: &str| {
        owner.len() > known.len()
            && owner.len() - known.len() <= 5
            && owner
                .strip_prefix(known)
                .is_some_and(|rest| rest.starts_with(['-', '_']) || rest == "go")
    };
    Ecosystem::Go.popular().iter().copied().find_map(|popular| {
        let mut parts = popular.split('/');
        let same = parts.next() == Some(host)
            && parts.next().is_some_and(is_added)
            && parts.next() == Some(repository);
        same.then_some(Likeness { popular, slip: Slip::Owner })
    })
}

/// Spells a name with letters of other alphabets in the Latin ones that they look like; none if
/// there is no such letter in it.
fn spell_in_ascii(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    let spell = |letter: char| {
        LOOK_ALIKES
            .iter()
            .find(|(letters, _)| letters.contains(letter))
            .map_or(letter, |(_, ascii)| *ascii)
    };
    Some(name.chars().filter(|letter| !is_invisible(*letter)).map(spell).collect())
}

const fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Letters of Cyrillic, Greek and other alphabets that look like Latin ones.
const LOOK_ALIKES: &[(&str, char)] = &[
    ("аαɑàáâäåãａ", 'a'),
    ("ьƅｂ", 'b'),
    ("сϲçｃ", 'c'),
    ("ԁɗｄ", 'd'),
    ("еҽεèéêëｅ", 'e'),
    ("ｆ", 'f'),
    ("ɡցｇ", 'g'),
    ("һհｈ", 'h'),
    ("іıιìíîïⅰｉ", 'i'),
    ("јϳｊ", 'j'),
    ("кκｋ", 'k'),
    ("ӏℓⅼｌ", 'l'),
    ("мｍ", 'm'),
    ("пոñｎ", 'n'),
    ("оοօòóôöõøｏ", 'o'),
    ("рρｐ", 'p'),
    ("ԛգｑ", 'q'),
    ("гｒ", 'r'),
    ("ѕｓ", 's'),
    ("тτｔ", 't'),
    ("υսùúûüｕ", 'u'),
    ("νѵｖ", 'v'),
    ("ԝωｗ", 'w'),
    ("хχｘ", 'x'),
    ("уүγýÿｙ", 'y'),
    ("ᴢｚ", 'z'),
    ("‐‑‒–—−", '-'),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(ecosystem: Ecosystem, name: &str) -> Option<(&'static str, Slip)> {
        find_likeness(ecosystem, name).map(|found| (found.popular, found.slip))
    }

    #[test]
    fn names_that_look_like_popular_ones_are_found() {
        use Ecosystem::{Crates, Gems, Go, Npm, Nuget, Packagist, Pypi};
        for (ecosystem, name, popular, slip) in [
            (Npm, "lodahs", "lodash", Slip::Letters),
            (Npm, "l\u{43e}dash", "lodash", Slip::LookAlike),
            (Npm, "crossenv", "cross-env", Slip::Separators),
            (Npm, "types-node", "@types/node", Slip::Separators),
            (Npm, "@types-node/index", "@types/node", Slip::Owner),
            (Npm, "@typs/node", "@types/node", Slip::Owner),
            (Npm, "@bable/core", "@babel/core", Slip::Owner),
            (Npm, "lodash-js", "lodash", Slip::Decorated),
            (Pypi, "python-requests", "requests", Slip::Decorated),
            (Pypi, "Reqeusts", "requests", Slip::Letters),
            (Pypi, "dateutil-python", "python-dateutil", Slip::Swapped),
            (Pypi, "beautifulsop4", "beautifulsoup4", Slip::Letters),
            (Crates, "serde-jsn", "serde_json", Slip::Letters),
            (Crates, "tokio-rs", "tokio", Slip::Decorated),
            (Crates, "rustdecimal", "rust_decimal", Slip::Separators),
            (Go, "github.com/siruspen/logrus", "github.com/sirupsen/logrus", Slip::Letters),
            (Go, "github.com/boltdb-go/bolt", "github.com/boltdb/bolt", Slip::Owner),
            (Gems, "rails_i18n", "rails-i18n", Slip::Separators),
            (Gems, "nokogirii", "nokogiri", Slip::Letters),
            (Packagist, "symfont/process", "symfony/process", Slip::Letters),
            (Nuget, "Newtonsoft.Jsn", "Newtonsoft.Json", Slip::Letters),
        ] {
            assert_eq!(alike(ecosystem, name), Some((popular, slip)), "{name}");
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        use Ecosystem::{Crates, Gems, Go, Npm, Nuget, Packagist, Pypi};
        for (ecosystem, name) in [
            (Npm, "lodash"),
            (Npm, "preact"),
            (Npm, "@types/left-pad"),
            (Npm, "@acme/lodahs"),
            (Npm, "preact-router"),
            (Npm, "my-own-thing"),
            (Pypi, "typing_extensions"),
            (Pypi, "python-dotenv"),
            (Pypi, "numpydoc"),
            (Crates, "serde-json"),
            (Go, "github.com/acme/logrus"),
            (Go, "github.com/gin-gonic/gin/binding"),
            (Go, "golang.org/x/cripto"),
            (Packagist, "laravel/framwork"),
            (Gems, "rspec-rails"),
            (Nuget, "newtonsoft.json"),
        ] {
            assert_eq!(alike(ecosystem, name), None, "{name}");
        }
    }
}
