//! Names of bundles, and scopes of names that a key may sign.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most bytes of a name.
const LONGEST: usize = 128;

/// The name of a bundle: parts of lower-case letters, digits, `.`, `_` and `-` with `/` between,
/// for example `acme/python-checks`. OCI accepts these as repository names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BundleName(String);

/// A scope of names: one name, or all names below a prefix that ends with `/`. So `acme/` never
/// covers `acme-evil/checks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NameScope {
    /// Exactly this name.
    Exact(BundleName),
    /// Every name below this one.
    Below(BundleName),
}

/// The error for an invalid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name of a bundle: it takes parts of lower-case letters, digits and single `.`, \
     `_` or `-` between them, with `/` between parts, at most {LONGEST} bytes"
)]
pub struct NameError(String);

impl BundleName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl NameScope {
    /// Returns true if the scope covers that name.
    #[must_use]
    pub fn holds_for(&self, name: &BundleName) -> bool {
        match self {
            Self::Exact(one) => one == name,
            Self::Below(folder) => {
                name.0.strip_prefix(&folder.0).is_some_and(|rest| rest.starts_with('/'))
            }
        }
    }
}

impl FromStr for BundleName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.len() <= LONGEST && text.split('/').all(is_part) {
            return Ok(Self(text.to_owned()));
        }
        Err(NameError(text.chars().take(LONGEST).collect::<String>().escape_debug().to_string()))
    }
}

/// Returns true if the text consists of letters and digits with single separators between them.
fn is_part(part: &str) -> bool {
    part.split(['.', '_', '-']).all(|word| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

impl FromStr for NameScope {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.strip_suffix('/') {
            Some(folder) => folder.parse().map(Self::Below),
            None => text.parse().map(Self::Exact),
        }
    }
}

impl fmt::Display for BundleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for NameScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => name.fmt(f),
            Self::Below(folder) => write!(f, "{folder}/"),
        }
    }
}

macro_rules! as_text {
    ($($type:ident),+) => { $(
        impl TryFrom<String> for $type {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(this: $type) -> Self {
                this.to_string()
            }
        }
    )+ };
}
as_text!(BundleName, NameScope);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_registry_takes() {
        for right in ["a", "acme/checks", "a.b_c-d/1/2"] {
            assert!(right.parse::<BundleName>().is_ok(), "{right}");
        }
        let long = "a".repeat(LONGEST + 1);
        for wrong in [
            "", "/", "a/", "/a", "a//b", "A", "a..b", "a/../b", "a-", "-a", "a b", "a:b", "a@b",
            "ä", &long,
        ] {
            assert!(wrong.parse::<BundleName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scope_ends_at_a_separator() {
        for (scope, name, holds) in [
            ("acme/checks", "acme/checks", true),
            ("acme/checks", "acme/checks2", false),
            ("acme/checks", "acme/checks/more", false),
            ("acme/", "acme/checks", true),
            ("acme/", "acme/checks/more", true),
            ("acme/", "acme", false),
            ("acme/", "acme-evil/checks", false),
            ("acme/a/", "acme/ab", false),
        ] {
            assert_eq!(
                scope.parse::<NameScope>().unwrap().holds_for(&name.parse().unwrap()),
                holds,
                "{scope} {name}"
            );
        }
        assert!(
            "/".parse::<NameScope>().is_err()
                && "".parse::<NameScope>().is_err()
                && "*".parse::<NameScope>().is_err()
        );
    }
}
