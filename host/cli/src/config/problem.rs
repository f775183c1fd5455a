//! What is wrong with a configuration: all of it at once, each with its place.

use portcullis_core::text::one_line;
use std::fmt;
use std::path::{Path, PathBuf};

/// The most problems of one file that are worth telling.
pub const MOST: usize = 50;
/// The most that fit into a message of one line.
const MOST_IN_LINE: usize = 5;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line and column, from 1; none where the file as a whole is meant.
    pub place: Option<(usize, usize)>,
    /// In one line, naming the key and the mend.
    pub what: String,
}

/// What is wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file.
    pub file: PathBuf,
    /// In the file's order; at least one.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

/// What is wrong with the files of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadConfiguration(pub Vec<Problems>);

impl Problems {
    /// A file that cannot be used as a whole.
    pub fn whole(file: &Path, what: String) -> Self {
        Self { file: file.to_owned(), problems: vec![Problem { place: None, what }], more: 0 }
    }

    /// One line for each, as compilers write them.
    pub fn lines(&self) -> Vec<String> {
        let file = one_line(&self.file.display().to_string(), 1024);
        let line = |problem: &Problem| match problem.place {
            Some((line, column)) => format!("{file}:{line}:{column}: {}", problem.what),
            None => format!("{file}: {}", problem.what),
        };
        let mut lines: Vec<String> = self.problems.iter().map(line).collect();
        if self.more > 0 {
            lines.push(format!("{file}: {} more", self.more));
        }
        lines
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = one_line(&self.file.display().to_string(), 1024);
        let told: Vec<String> = self.problems.iter().take(MOST_IN_LINE).map(ToString::to_string).collect();
        let all = self.problems.len() + self.more;
        match self.problems.as_slice() {
            [Problem { place: None, what }] => write!(f, "cannot read the configuration `{file}`: {what}"),
            [one] => write!(f, "the configuration `{file}`, {one}"),
            _ => {
                write!(f, "the configuration `{file}` has {all} problems: {}", told.join("; "))?;
                if all > told.len() { write!(f, "; `portcullis config check` lists all") } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for BadConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&files.join("; "))
    }
}
