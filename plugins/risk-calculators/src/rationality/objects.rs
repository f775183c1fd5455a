//! The things that a prohibition names.

use super::words::{Stems, split};

/// Objects that mean everything.
const ANYTHING: &[&str] = &[
    "any",
    "anything",
    "file",
    "files",
    "code",
    "change",
    "changes",
    "nothing",
    "something",
    "yet",
    "thing",
    "things",
    "stuff",
    "folder",
    "folders",
];

/// Words for the manner of doing something, which name no thing beside those that do.
const MANNER: &[&str] = &[
    "argument",
    "arguments",
    "by",
    "command",
    "commands",
    "directly",
    "flag",
    "flags",
    "in",
    "option",
    "options",
    "through",
    "using",
    "via",
    "with",
];

/// The things that a text names: files and folders by name, others by words.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// Files and folders, in lower case.
    pub(super) names: Vec<String>,
    words: Stems,
    /// Options of a program, such as `-c`: of the commands that are forbidden to run, only those
    /// with one of them are meant.
    pub(super) options: Vec<String>,
}

impl Objects {
    /// Reads the part of a sentence that follows its verb.
    pub(super) fn of(text: &str) -> Self {
        let mut names = Vec::new();
        let mut words: Vec<&str> = Vec::new();
        let mut options = Vec::new();
        for word in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')')) {
            let bare = word.trim_matches(['`', '"', '\'', '\u{2019}', '*']);
            let bare = bare.trim_end_matches(['.', ':', '!', '?']);
            if is_option(bare) {
                options.push(bare.to_lowercase());
            }
            if is_name(bare) {
                names.push(bare.trim_start_matches("./").trim_end_matches('/').to_lowercase());
            } else {
                words.push(bare);
            }
        }
        let spoken = words.iter().flat_map(|word| split(word)).collect::<Vec<_>>();
        let plain: Vec<&str> =
            spoken.iter().map(String::as_str).filter(|word| !ANYTHING.contains(word)).collect();
        let things: Vec<&str> =
            plain.iter().copied().filter(|word| !MANNER.contains(word)).collect();
        let kept = if things.is_empty() { plain } else { things };
        Self { names, words: Stems::of(kept), options }
    }

    /// Returns files and folders.
    pub(super) fn of_names(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    pub(super) fn without_options(self) -> Self {
        Self { options: Vec::new(), ..self }
    }

    /// Returns true if the text names nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.words.is_empty()
    }

    /// Returns true if both name the same thing.
    pub(super) fn meet(&self, other: &Self) -> bool {
        self.names.iter().any(|name| other.names.contains(name)) || self.words.meet(&other.words)
    }

    /// Returns true if the words of a command line name one of the things.
    pub(super) fn are_spoken_in(&self, spoken: &Stems) -> bool {
        self.words.meet(spoken)
            || self.names.iter().any(|name| Stems::of([name.as_str()]).meet(spoken))
    }

    /// Returns true if a path, relative to the project, is one of the things or below one.
    pub(super) fn hold(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let inside = |name: &String| {
            let (path, name) = (["/", &path, "/"].concat(), ["/", name, "/"].concat());
            path.contains(&name.replace("//", "/"))
        };
        self.names.iter().any(inside) || self.words.meet(&Stems::of([path.as_str()]))
    }
}

/// Returns true for an option of a program: `-c`, `--inspect`.
fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name.len() < word.len() && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns true if the words of a command give it an option: with a value, among other letters, in
/// several words (`-r -f` for `-rf`), or as the short or long form that may be meant.
pub(super) fn give_option(words: &[String], option: &str) -> bool {
    let lower = || words.iter().map(|word| word.to_lowercase());
    let short: String = lower()
        .filter_map(|word| word.strip_prefix('-').map(str::to_owned))
        .filter(|letters| !letters.starts_with('-'))
        .collect();
    let long =
        |word: &str, name: &str| word.strip_prefix("--").is_some_and(|rest| rest.starts_with(name));
    match option.strip_prefix("--") {
        Some(name) => {
            lower().any(|word| long(&word, name)) || short.contains(name.get(..1).unwrap_or("-"))
        }
        None => {
            let letters = option.trim_start_matches('-');
            letters.chars().all(|letter| short.contains(letter))
                || letters.len() == 1 && lower().any(|word| long(&word, letters))
        }
    }
}

/// Returns true for a word that can only be a file or a folder: `config.py`, `src/`, `.env`.
fn is_name(word: &str) -> bool {
    let inner = word.trim_start_matches('.').char_indices().any(|(at, c)| c == '.' && at > 0);
    let hidden = word.starts_with('.') && word.chars().nth(1).is_some_and(char::is_alphanumeric);
    !word.contains("://")
        && word.chars().any(char::is_alphanumeric)
        && (inner || hidden || word.contains('/'))
}
