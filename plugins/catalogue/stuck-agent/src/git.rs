//! What git puts back to what it holds. A stash is not meant: it comes back.

use portcullis_plugin::types::Command;

/// How many words of a command are looked at.
const MOST_WORDS: usize = 1000;

/// The files that git puts back.
#[derive(Debug)]
pub enum Restored {
    /// All of them.
    All,
    /// These, and those below them.
    Named(Vec<String>),
}

impl Restored {
    /// Reads a command in a folder; none if it puts back nothing.
    pub fn read(command: &Command, cwd: &str) -> Option<Self> {
        let mut words = command.words.iter().map(|word| word.text.as_str()).take(MOST_WORDS);
        let task = words.next().filter(|_| command.program == "git")?;
        let rest: Vec<&str> = words.collect();
        let restores = match task {
            "reset" => return rest.contains(&"--hard").then_some(Self::All),
            "checkout" => true,
            "restore" => !rest.contains(&"--staged") || rest.contains(&"--worktree"),
            _ => false,
        };
        let resolve = |word: &str| match word {
            "." => cwd.to_owned(),
            absolute if absolute.starts_with('/') => absolute.to_owned(),
            relative => format!("{cwd}/{}", relative.strip_prefix("./").unwrap_or(relative)),
        };
        let named = rest.into_iter().filter(|word| !word.starts_with('-'));
        restores.then(|| Self::Named(named.map(resolve).collect()))
    }

    /// Returns true for a file that is among them.
    pub fn has(&self, path: &str) -> bool {
        let Self::Named(named) = self else { return true };
        named.iter().any(|name| {
            let folder = name.strip_suffix('/').unwrap_or(name);
            path == name || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}
