//! The places that the person named in the session's requests: work there is not outside of it.
//!
//! It decides only if a step counts as outside for the patterns. Risk, rules and the person's own
//! prohibitions do not look at it.

use super::Run;
use crate::action::{Effect, Facts, Scope};
use crate::facts::{CallLocation, is_outside_scope, is_within, normalise_path, scope_of};

/// Words that turn a sentence into a prohibition, or limit a request to a place.
const NEGATIONS: &[&str] = &[
    "not", "don't", "dont", "never", "without", "no", "nothing", "except", "avoid", "leave",
    "outside", "instead", "nicht", "kein", "keine", "nie",
];
/// Words that mark a name beside them as that of a folder.
const FOLDERS: &[&str] = &[
    "repo",
    "repos",
    "repository",
    "project",
    "folder",
    "directory",
    "dir",
    "checkout",
    "worktree",
    "package",
    "module",
    "app",
    "service",
    "sibling",
];
/// The fewest letters of a name that is taken for a folder's, and the most requests' text that is
/// read, newest first, in bytes.
const SHORTEST: usize = 3;
const MOST_TEXT: usize = 16 * 1024;
/// The most letters of a file's ending.
const MOST_ENDING: usize = 8;
/// The fewest parts of a named folder that covers what is below it.
const DEEP: usize = 2;

impl Run<'_, '_> {
    /// Returns each effect, and true if it is outside of the scope and of what the person named.
    pub(super) fn weigh_effects(&self, facts: &Facts) -> Vec<(Effect, bool)> {
        let outside = |effect: &Effect| {
            let path = effect.path.and_then(|index| facts.paths.get(index as usize));
            let goals = self.state.session.goals.iter().map(|(text, _)| text.as_str());
            // A link counts by where it leads.
            let leads_to = path.map(|path| path.link_target.as_deref().unwrap_or(&path.text));
            is_outside_scope(effect, facts)
                && !leads_to.is_some_and(|path| is_requested(path, goals, &self.place))
        };
        facts.effects.iter().map(|effect| (effect.clone(), outside(effect))).collect()
    }
}

/// Returns true if one of the requests names the path, or a folder that contains it.
pub(super) fn is_requested<'a>(
    path: &str,
    requests: impl DoubleEndedIterator<Item = &'a str>,
    place: &CallLocation,
) -> bool {
    let mut left = MOST_TEXT;
    requests
        .rev()
        .take_while(|text| {
            let fits = text.len() <= left;
            left = left.saturating_sub(text.len());
            fits
        })
        .flat_map(|text| text.split_inclusive(['\n', ';', '!', '?']))
        .flat_map(|line| line.split(". "))
        .any(|sentence| names_path(sentence, path, place))
}

fn names_path(sentence: &str, path: &str, place: &CallLocation) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().map(trim_word).collect();
    let words = words.get(purpose_end(sentence, &words)..).unwrap_or_default();
    // A negation reaches to the end of its sentence: "work in ../a, not in ../b" asks for `../a`
    // alone.
    let negated = words
        .iter()
        .position(|word| NEGATIONS.iter().any(|negation| word.eq_ignore_ascii_case(negation)));
    let allowed = words.get(..negated.unwrap_or(words.len())).unwrap_or_default();
    allowed.iter().enumerate().any(|(at, word)| {
        covers(word, path, place)
            || is_file_named(word, path, place)
            || (is_folder_name(words, at) && is_sister(word, path, place))
    })
}

/// Returns the number of words of a purpose that begins a sentence: in "To avoid conflicts, work in
/// `../shared`", what is to be avoided is not a place.
fn purpose_end(sentence: &str, words: &[&str]) -> usize {
    let begins = words.first().is_some_and(|word| word.eq_ignore_ascii_case("to"));
    let comma = sentence.split_whitespace().position(|word| word.ends_with(','));
    comma.filter(|_| begins).map_or(0, |comma| comma + 1)
}

/// Returns true if a word is a path that names this one, or a folder around it.
fn covers(word: &str, path: &str, place: &CallLocation) -> bool {
    let word = word.trim_start_matches('@');
    if !word.contains('/') && word != "~" || word.contains("://") {
        return false;
    }
    let named = normalise_path(word, &place.cwd, &place.home);
    if named == path {
        return true;
    }
    let parent = named.rsplit_once('/').map_or("", |(parent, _)| parent);
    let file =
        named.rsplit('/').next().is_some_and(|last| last.trim_start_matches('.').contains('.'));
    let private = parent.split('/').any(|part| part.starts_with('.'));
    let folder = if file && !private { parent } else { named.as_str() };
    is_workplace(folder, place) && is_within(path, folder)
}

/// Returns true for a folder in which a person can ask for work as a whole: none of the system, no
/// home, no folder of homes.
fn is_workplace(folder: &str, place: &CallLocation) -> bool {
    let parts = folder.split('/').filter(|part| !part.is_empty()).count();
    let holds_home = !place.home.is_empty() && is_within(&place.home, folder);
    let usual_home =
        parts <= DEEP && ["/home", "/Users", "/root"].iter().any(|homes| is_within(folder, homes));
    parts > 0 && !holds_home && !usual_home && !matches!(scope_of(folder, place), Scope::System)
}

/// Returns true if a word is the file's own name with its ending, wherever the file is, but for the
/// system's folders and hidden ones: a request rarely says more of a file.
fn is_file_named(word: &str, path: &str, place: &CallLocation) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, end)| end);
    let is_ending = |end: &str| {
        (1..=MOST_ENDING).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    name == word
        && ending.is_some_and(is_ending)
        && !folder.split('/').any(|part| part.starts_with('.'))
        && !matches!(scope_of(path, place), Scope::System)
}

/// Returns true if the path is in the folder of this name beside one of the project's.
fn is_sister(word: &str, path: &str, place: &CallLocation) -> bool {
    place.roots.iter().chain([&place.cwd]).any(|root| {
        let parent = root.trim_end_matches('/').rsplit_once('/').map_or("", |(parent, _)| parent);
        let below = path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
        let name = below.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        !parent.is_empty()
            && name.eq_ignore_ascii_case(word)
            && is_workplace(&format!("{parent}/{name}"), place)
    })
}

/// Returns true for a word that is a name by its form, or because of the words beside it.
fn is_folder_name(words: &[&str], at: usize) -> bool {
    let Some(word) = words.get(at).filter(|word| word.len() >= SHORTEST) else { return false };
    let formed = word.trim_matches(['-', '_', '.']).contains(['-', '_', '.'])
        || word.chars().any(|c| c.is_ascii_digit())
        || word.chars().skip(1).any(char::is_uppercase);
    let beside = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
    let marked = beside
        .filter_map(|index| words.get(index))
        .any(|word| FOLDERS.iter().any(|folder| word.eq_ignore_ascii_case(folder)));
    formed || marked
}

fn trim_word(word: &str) -> &str {
    let start = |c: char| !c.is_alphanumeric() && !"/~._-@$".contains(c);
    let end = |c: char| !c.is_alphanumeric() && !"/~_-".contains(c);
    word.trim_start_matches(start).trim_end_matches(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> CallLocation {
        CallLocation {
            cwd: "/home/me/work/shop".into(),
            home: "/home/me".into(),
            roots: vec!["/home/me/work/shop".into()],
            ..CallLocation::default()
        }
    }

    fn asked(request: &str, path: &str) -> bool {
        is_requested(path, ["fix the tests", request].into_iter(), &place())
    }

    /// A named place in every spelling and sentence; the same place forbidden, or another one.
    #[test]
    fn places_that_a_request_names() {
        let spellings = [
            ("/srv/shop-data", "/srv/shop-data/in.csv"),
            ("~/.tool/hooks", "/home/me/.tool/hooks/check.py"),
            ("$HOME/notes/2026", "/home/me/notes/2026/a.md"),
            ("../shop-api", "/home/me/work/shop-api/src/a.rs"),
            ("../shop-api/src/lib.rs", "/home/me/work/shop-api/src/other.rs"),
            ("~/.tool/check.py", "/home/me/.tool/check.py"),
            ("/workspace/app/main.py", "/workspace/app/test_main.py"),
            ("@../shop-api/README.md", "/home/me/work/shop-api/README.md"),
            ("/etc/hosts", "/etc/hosts"),
            ("shop-api", "/home/me/work/shop-api/src/a.rs"),
            ("rotate_keys.sh", "/srv/ops/bin/rotate_keys.sh"),
            ("README.md", "/home/me/elsewhere/README.md"),
        ];
        let sentences = [
            "PLACE",
            "please change PLACE, then test",
            "Write it into `PLACE`.",
            "(see \"PLACE\")\nThanks!",
            "That is fine. Go on in PLACE. Then do not push",
            "To avoid conflicts, work in PLACE",
        ];
        let forbidden = [
            "do not touch PLACE",
            "fix the bug without changing PLACE",
            "Change all but never anything in PLACE.",
            "stay here; nothing in PLACE",
            "To be safe, do not touch PLACE",
            "To keep PLACE as it is, work here",
        ];
        for (spelling, path) in spellings {
            for sentence in sentences {
                let request = sentence.replace("PLACE", spelling);
                assert!(asked(&request, path), "{request}: {path}");
                for other in
                    ["/srv/other/a", "/home/me/work/other/a", "/etc/passwd", "/home/me/.ssh/id_rsa"]
                {
                    assert!(!asked(&request, other), "{request}: {other}");
                }
            }
            for sentence in forbidden {
                let request = sentence.replace("PLACE", spelling);
                assert!(!asked(&request, path), "{request}: {path}");
            }
        }
    }

    /// A whole home, the system or a plain word is not a place of work.
    #[test]
    fn wide_and_vague_words_name_nothing() {
        for (request, path) in [
            ("clean up ~", "/home/me/notes/a"),
            ("look into /", "/srv/x/a"),
            ("look into /home/me", "/home/me/notes/a"),
            ("look into /home and /Users/you", "/Users/you/a"),
            ("update /etc", "/etc/passwd"),
            ("update /etc/nginx", "/etc/nginx/nginx.conf"),
            ("read ~/.ssh/config", "/home/me/.ssh/authorized_keys"),
            ("take notes", "/home/me/work/notes/a"),
            ("open https://example.org/srv/x", "/srv/x/a"),
            ("in an other way", "/home/me/work/other/a"),
            ("and/or", "/home/me/work/or/a"),
            ("fix keys.sh", "/srv/ops/rotate_keys.sh"),
            ("fix rotate_keys", "/srv/ops/rotate_keys.sh"),
            ("look at resolv.conf", "/etc/resolv.conf"),
            ("look at known.txt", "/home/me/.ssh/known.txt"),
        ] {
            assert!(!asked(request, path), "{request}: {path}");
        }
        for request in ["the notes repo too", "also in project notes", "use the `notes` folder"] {
            assert!(asked(request, "/home/me/work/notes/a"), "{request}");
        }
    }
}
