//! The version of an installed client.

use crate::run;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

/// The timeout for the client to print its version.
const LIMIT: Duration = Duration::from_secs(20);

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl FromStr for Version {
    type Err = ();

    /// Parses the first word: `2.1.329 (Name)`. Text after the third number is ignored.
    fn from_str(text: &str) -> Result<Self, ()> {
        let word = text.split_whitespace().next().ok_or(())?;
        let mut parts = word.splitn(3, '.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part.get(..end).and_then(|digits| digits.parse().ok()).ok_or(())
        });
        let mut next = || parts.next().ok_or(())?;
        Ok(Self(next()?, next()?, next()?))
    }
}

/// Asks a client for its version.
///
/// # Errors
/// Fails if it cannot be started, does not answer in time, or does not print a version.
pub(crate) fn query_version(
    client: &Path,
    parse: impl Fn(&str) -> Option<Version>,
) -> Result<Version> {
    let mut command = Command::new(client);
    command.arg("--version");
    let said = run::run_program(command, b"", LIMIT)
        .with_context(|| format!("cannot ask `{}` for its version", client.display()))?;
    match parse(&said.stdout) {
        Some(version) if said.code == Some(0) => Ok(version),
        _ => bail!("`{} --version` did not answer with a version", client.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (text, expected) in [
            ("2.1.329 (Claude Code)\n", Ok(Version(2, 1, 329))),
            ("2.1.295", Ok(Version(2, 1, 295))),
            ("2.2.0-beta.1 (Claude Code)", Ok(Version(2, 2, 0))),
            ("10.0.0", Ok(Version(10, 0, 0))),
            ("2.1", Err(())),
            ("claude 2.1.329", Err(())),
            ("", Err(())),
            ("99999999999.0.0", Err(())),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        assert!(Version(2, 1, 197) < Version(2, 1, 295) && Version(3, 0, 0) > Version(2, 1, 295));
    }
}
