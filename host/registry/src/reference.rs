//! The location of a bundle: registry, repository, and a tag or a digest.

use portcullis_bundle::Digest;
use semver::Version;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The most bytes of a repository's path that registries accept.
const LONGEST_PATH: usize = 255;
/// The most bytes of a tag.
const LONGEST_TAG: usize = 128;

/// `registry.example.com[:port]/repository/path[:tag][@sha256:...]`. There is no default registry
/// and no default tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    path: String,
    tag: Option<Tag>,
    digest: Option<Digest>,
}

/// A tag: a name that a registry can move to other bytes at any time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

/// The error for an invalid reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reference to a bundle: {wrong}")]
pub struct ReferenceError {
    /// The given text.
    pub text: String,
    /// The problem and its fix.
    pub wrong: String,
}

impl Reference {
    /// Returns the registry's host in lower case, with its port if there is one.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the path of the repository in the registry.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns registry and path, with a `/` at the end: the text that `registries` of a trust
    /// policy are prefixes of.
    #[must_use]
    pub fn repository(&self) -> String {
        format!("{}/{}/", self.registry, self.path)
    }

    /// Returns the tag, if there is one.
    #[must_use]
    pub const fn tag(&self) -> Option<&Tag> {
        self.tag.as_ref()
    }

    /// Returns the digest, if there is one; it takes precedence over the tag.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the same repository, with this tag and no digest.
    #[must_use]
    pub fn with_tag(&self, tag: Tag) -> Self {
        Self { tag: Some(tag), digest: None, ..self.clone() }
    }

    /// Returns the same reference, with this digest.
    #[must_use]
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }
}

impl Tag {
    /// Returns the tag of a version. A tag cannot contain `+`, so the one before build metadata
    /// becomes `_`.
    #[must_use]
    pub fn for_version(version: &Version) -> Self {
        Self(version.to_string().replace('+', "_"))
    }

    /// Returns the version of this tag, with or without a leading `v`.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        let text = self.0.strip_prefix('v').unwrap_or(&self.0);
        text.replacen('_', "+", 1).parse().ok()
    }

    /// Returns the tag as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |wrong: String| ReferenceError {
            text: text.chars().take(300).collect::<String>().escape_debug().to_string(),
            wrong,
        };
        if text.contains("://") {
            return Err(wrong(
                "it begins with a scheme; write `registry.example.com/path:tag`".to_owned(),
            ));
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => {
                (rest, Some(digest.parse::<Digest>().map_err(|error| wrong(error.to_string()))?))
            }
            None => (text, None),
        };
        let (registry, rest) = rest
            .split_once('/')
            .filter(|(first, _)| first.contains(['.', ':']) || *first == "localhost")
            .ok_or_else(|| {
                wrong("it names no registry; write `registry.example.com/path:tag`".to_owned())
            })?;
        let registry = registry.to_ascii_lowercase();
        if !is_registry(&registry) {
            return Err(wrong(format!(
                "`{}` is not a registry; write a host, or `host:port`",
                registry.escape_debug()
            )));
        }
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) => {
                (path, Some(tag.parse::<Tag>().map_err(|what| wrong(what.wrong))?))
            }
            None => (rest, None),
        };
        if path.len() > LONGEST_PATH || !path.split('/').all(is_part) {
            let what = "takes parts of lower-case letters and digits with `.`, `_`, `__` or `-` \
                 between them, and `/` between parts";
            return Err(wrong(format!(
                "`{}` is not a repository: one {what}, at most {LONGEST_PATH} bytes",
                path.escape_debug()
            )));
        }
        Ok(Self { registry, path: path.to_owned(), tag, digest })
    }
}

impl FromStr for Tag {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let first = text.bytes().next().is_some_and(word);
        if first
            && text.len() <= LONGEST_TAG
            && text.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
        {
            return Ok(Self(text.to_owned()));
        }
        let text = text.chars().take(LONGEST_TAG).collect::<String>().escape_debug().to_string();
        let wrong = format!(
            "`{text}` is not a tag: one takes 1 to {LONGEST_TAG} letters, digits, `_`, `.` and \
             `-`, the first no `.` or `-`"
        );
        Err(ReferenceError { text, wrong })
    }
}

/// Returns true for a host's name or address, with an optional port.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    port && address.map_or_else(
        || host.split('.').all(label),
        |address| address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()),
    )
}

/// Returns true for words of letters and digits, with `.`, `_`, `__` or any number of `-` between
/// two.
fn is_part(part: &str) -> bool {
    let word = |byte: char| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separators = part.split(word).filter(|separator| !separator.is_empty());
    part.starts_with(word)
        && part.ends_with(word)
        && separators.into_iter().all(|separator| {
            matches!(separator, "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
        })
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.digest.map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_whole() {
        let digest = Digest::of_bytes(b"");
        for (text, registry, path, tag, pinned) in [
            (
                "ghcr.io/acme/checks:1.2.0".to_owned(),
                "ghcr.io",
                "acme/checks",
                Some("1.2.0"),
                false,
            ),
            ("localhost/checks".to_owned(), "localhost", "checks", None, false),
            (
                "127.0.0.1:5000/a/b__c/d--e:v1".to_owned(),
                "127.0.0.1:5000",
                "a/b__c/d--e",
                Some("v1"),
                false,
            ),
            ("[::1]:5000/a".to_owned(), "[::1]:5000", "a", None, false),
            (format!("registry:5000/a@{digest}"), "registry:5000", "a", None, true),
            (format!("registry.test/a:1_x@{digest}"), "registry.test", "a", Some("1_x"), true),
        ] {
            let reference: Reference = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((reference.registry(), reference.path()), (registry, path), "{text}");
            assert_eq!(reference.tag().map(Tag::as_str), tag, "{text}");
            assert_eq!(reference.digest(), pinned.then_some(digest), "{text}");
            assert_eq!(reference.to_string(), text);
            assert_eq!(reference.repository(), format!("{registry}/{path}/"));
        }
        assert_eq!("GHCR.io/a".parse::<Reference>().unwrap().registry(), "ghcr.io");
    }

    #[test]
    fn invalid_references_get_a_fix() {
        for (text, holds) in [
            ("", "names no registry"),
            ("checks:1", "names no registry"),
            ("acme/checks:1", "names no registry"),
            ("https://ghcr.io/acme/checks", "begins with a scheme"),
            ("ghcr.io:x/a", "is not a registry"),
            ("ghcr.io:70000/a", "is not a registry"),
            ("ghcr.io:0/a", "is not a registry"),
            ("user@ghcr.io/a", "is not a digest"),
            ("a..b/c", "is not a registry"),
            ("-a.b/c", "is not a registry"),
            ("[127.0.0.1]:1/c", "is not a registry"),
            ("ghcr.io/", "is not a repository"),
            ("ghcr.io/A", "is not a repository"),
            ("ghcr.io/a//b", "is not a repository"),
            ("ghcr.io/../b", "is not a repository"),
            ("ghcr.io/a___b", "is not a repository"),
            ("ghcr.io/a.-b", "is not a repository"),
            ("ghcr.io/a?b", "is not a repository"),
            ("ghcr.io/a:", "is not a tag"),
            ("ghcr.io/a:.b", "is not a tag"),
            ("ghcr.io/a:b/c", "is not a tag"),
            ("ghcr.io/a:1+2", "is not a tag"),
            ("ghcr.io/a@sha256:12", "is not a digest"),
        ] {
            let error = text
                .parse::<Reference>()
                .map(|reference| reference.to_string())
                .unwrap_err()
                .to_string();
            assert!(error.contains(holds), "{text}: {error}");
        }
        let long = format!("ghcr.io/{}", "a".repeat(LONGEST_PATH + 1));
        assert!(long.parse::<Reference>().is_err());
    }

    #[test]
    fn tags_and_versions_fit_each_other() {
        for (version, tag) in
            [("1.2.0", "1.2.0"), ("1.2.0-rc.1", "1.2.0-rc.1"), ("1.2.0+build.5", "1.2.0_build.5")]
        {
            let version: Version = version.parse().unwrap();
            assert_eq!(Tag::for_version(&version).as_str(), tag);
            assert_eq!(Tag::for_version(&version).version(), Some(version));
        }
        assert_eq!("v1.2.0".parse::<Tag>().unwrap().version(), Some(Version::new(1, 2, 0)));
        for none in ["latest", "1.2", "sha256-12", "vv1.2.0"] {
            assert_eq!(none.parse::<Tag>().unwrap().version(), None, "{none}");
        }
    }
}
