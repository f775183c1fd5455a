//! The problems of a configuration: all of them at once, each with its position.

use portcullis_core::text::one_line;
use portcullis_strict_toml::Document;
use std::fmt;
use std::path::{Path, PathBuf};

/// The most problems of one file that are reported.
pub const MOST: usize = portcullis_strict_toml::MOST_PROBLEMS;
/// The most problems in a message of one line.
const MOST_IN_LINE: usize = 5;

/// A single problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigProblem {
    /// Line and column, from 1; `None` for the file as a whole.
    pub place: Option<(usize, usize)>,
    /// The description in one line, with the key and the fix.
    pub what: String,
}

/// The problems of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file.
    pub file: PathBuf,
    /// The problems in the file's order; at least one.
    pub problems: Vec<ConfigProblem>,
    /// The number of omitted problems.
    pub more: usize,
}

/// The problems of the files of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadConfiguration(pub Vec<Problems>);

impl ConfigProblem {
    /// Returns the problems that a document has collected, and the number of omitted ones.
    pub fn from_document(document: &Document<'_>) -> (Vec<Self>, usize) {
        let (problems, omitted) = document.problems();
        let located = problems.into_iter().map(|problem| Self {
            place: Some(document.place(problem.span.start)),
            what: problem.what,
        });
        (located.collect(), omitted)
    }
}

/// A key whose value does not fit the installation: it names something that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct KeyProblem {
    /// The key, or the table that it is in.
    pub key: String,
    /// The description in one line, with the key and the fix.
    pub what: String,
}

impl Problems {
    /// Reports one problem at a line and column of a file.
    pub fn at_place(file: &Path, place: (usize, usize), what: String) -> Self {
        let problem = ConfigProblem { place: Some(place), what };
        Self { file: file.to_owned(), problems: vec![problem], more: 0 }
    }

    /// Reports a file that is unusable as a whole.
    pub fn in_file(file: &Path, what: String) -> Self {
        Self { file: file.to_owned(), problems: vec![ConfigProblem { place: None, what }], more: 0 }
    }

    /// Formats one line for each problem, like compilers do.
    pub fn lines(&self) -> Vec<String> {
        let file = one_line(&self.file.display().to_string(), 1024);
        let line = |problem: &ConfigProblem| match problem.place {
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

impl fmt::Display for ConfigProblem {
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
        let shown: Vec<String> =
            self.problems.iter().take(MOST_IN_LINE).map(ToString::to_string).collect();
        let all = self.problems.len() + self.more;
        match self.problems.as_slice() {
            [ConfigProblem { place: None, what }] => {
                write!(f, "cannot read the configuration `{file}`: {what}")
            }
            [one] => write!(f, "the configuration `{file}`, {one}"),
            _ => {
                write!(f, "the configuration `{file}` has {all} problems: {}", shown.join("; "))?;
                if all > shown.len() {
                    write!(f, "; `portcullis config check` lists all")
                } else {
                    Ok(())
                }
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
