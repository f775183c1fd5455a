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
    /// `--` stands before the last of them: those are paths.
    pub names_paths: bool,
}

impl<'a> Git<'a> {
    /// Reads a command; none if its program is not git.
    pub fn read(command: &'a Command) -> Option<Self> {
        (command.program == "git")
            .then(|| Self::of_words(command.words.iter().map(|word| word.text.as_str())))
    }

    fn of_words(mut words: impl Iterator<Item = &'a str>) -> Self {
        let mut verb = "";
        while let Some(word) = words.next() {
            match word {
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                    words.next();
                }
                _ if word.starts_with('-') => {}
                _ => {
                    verb = word;
                    break;
                }
            }
        }
        let mut git = Self { verb, options: Vec::new(), operands: Vec::new(), names_paths: false };
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
                self.names_paths = true;
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

    #[test]
    fn options_and_operands_are_separated() {
        let read = |line: &'static str| Git::of_words(line.split(' '));
        let git = read("-C sub -c a.b=c push -o ci.skip --force origin main -- -n");
        assert_eq!(
            (git.verb, git.operands.as_slice()),
            ("push", ["origin", "main", "-n"].as_slice())
        );
        assert!(git.has(Some('f'), &["--force"]) && !git.has(Some('n'), &["--dry-run"]));
        assert_eq!(read("commit -am text a.txt").operands, ["a.txt"]);
        assert!(read("push -fu origin x").has(Some('f'), &["--force"]));
    }
}
