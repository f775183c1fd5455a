//! Reads git's command lines: the verb, its options, its paths.

use portcullis_plugin::types::Command;

/// A command of git.
#[derive(Debug, PartialEq, Eq)]
pub struct Git<'a> {
    /// `add`, `commit`, ...
    pub verb: &'a str,
    /// Its options, each with its value if it has one.
    pub options: Vec<(&'a str, Option<&'a str>)>,
    /// Its operands.
    pub operands: Vec<&'a str>,
    /// The settings that `-c` makes for this command.
    pub settings: Vec<&'a str>,
    /// One of the operands is known only when it runs.
    pub is_open: bool,
}

impl<'a> Git<'a> {
    /// Reads a command; none if its program is not git.
    pub fn read(command: &'a Command) -> Option<Self> {
        (command.program == "git").then(|| {
            let words = command.words.iter().map(|word| word.text.as_str());
            let is_open = command.words.iter().any(|word| !word.known);
            Self { is_open, ..Self::of_words(words) }
        })
    }

    fn of_words(mut words: impl Iterator<Item = &'a str>) -> Self {
        let mut settings = Vec::new();
        let mut verb = "";
        while let Some(word) = words.next() {
            match word {
                "-c" => settings.extend(words.next()),
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                    words.next();
                }
                _ if word.starts_with('-') => {}
                _ => {
                    verb = word;
                    break;
                }
            }
        }
        let mut git =
            Self { verb, options: Vec::new(), operands: Vec::new(), settings, is_open: false };
        git.read_rest(words);
        git
    }

    fn read_rest(&mut self, mut words: impl Iterator<Item = &'a str>) {
        let mut open = true;
        while let Some(word) = words.next() {
            if !open || !word.starts_with('-') || word.len() == 1 {
                self.operands.push(word);
            } else if word == "--" {
                open = false;
            } else {
                let (name, value) = split_option(word);
                let value =
                    value.or_else(|| takes_value(self.verb, word).then(|| words.next()).flatten());
                self.options.push((name, value));
            }
        }
    }

    /// Returns true if it has one of these: a letter also inside a bundle (`-am`).
    pub fn has(&self, letter: Option<char>, names: &[&str]) -> bool {
        self.options.iter().any(|(option, _)| {
            let bundle = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            names.contains(option)
                || letter.is_some_and(|letter| bundle.is_some_and(|rest| rest.contains(letter)))
        })
    }

    /// Returns the values of these options.
    pub fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let found = self.options.iter().filter(|(option, _)| {
            let last = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let last = last.and_then(|rest| rest.chars().next_back());
            names.iter().any(|name| {
                name == option
                    || (name.len() == 2 && last.is_some() && name.chars().next_back() == last)
            })
        });
        found.filter_map(|(_, value)| *value)
    }
}

fn split_option(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=').filter(|_| word.starts_with("--")) {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    }
}

/// Returns true if the next word belongs to an option.
fn takes_value(verb: &str, word: &str) -> bool {
    if let Some(name) = word.strip_prefix("--") {
        return matches!(
            (verb, name),
            (
                "commit",
                "message"
                    | "file"
                    | "author"
                    | "date"
                    | "template"
                    | "reuse-message"
                    | "reedit-message"
                    | "fixup"
                    | "squash"
                    | "trailer"
                    | "cleanup"
                    | "pathspec-from-file"
            ) | ("add" | "stage", "pathspec-from-file" | "chmod")
                | ("tag", "message" | "file" | "local-user")
                | ("push", "push-option" | "repo" | "receive-pack" | "exec")
                | ("config", "file" | "blob" | "type" | "default")
        );
    }
    // The last letter of a bundle is the one that takes a value: `-am text`.
    let last = word.chars().next_back().unwrap_or_default();
    match verb {
        "commit" => matches!(last, 'm' | 'F' | 'C' | 'c' | 't'),
        "tag" => matches!(last, 'm' | 'F' | 'u'),
        "push" => last == 'o',
        "config" => last == 'f',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Git<'_> {
        Git::of_words(line.split(' '))
    }

    #[test]
    fn options_and_paths_are_separated() {
        let git = read("-C sub -c core.hooksPath= commit -am text --author=a@b a.txt -- -n");
        assert_eq!((git.verb, git.settings.as_slice()), ("commit", ["core.hooksPath="].as_slice()));
        assert_eq!(git.operands, ["a.txt", "-n"]);
        assert!(git.has(Some('a'), &["--all"]) && !git.has(Some('n'), &["--no-verify"]));
        assert_eq!(git.values(&["-m", "--message"]).collect::<Vec<_>>(), ["text"]);
        let git = read("add -f .env");
        assert!(git.has(Some('f'), &["--force"]) && git.operands == [".env"]);
        assert_eq!(read("push --no-verify origin main").operands, ["origin", "main"]);
    }
}
