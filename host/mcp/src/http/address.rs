//! The address of a server, and the form of it that people and records may see.

use portcullis_network::find_own_address;
use url::Url;

/// The purpose of the digest that takes the place of a part that may be a secret.
const PURPOSE: &str = "portcullis 2026 mcp address part";
/// The digits of that digest.
const DIGITS: usize = 8;
/// The fewest letters of a part of a path that may be a secret.
const LEAST_SECRET: usize = 16;
/// The most bytes of an address.
const MOST_BYTES: usize = 8 * 1024;

/// The address of a server that speaks streamable HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    url: Url,
}

impl std::fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerAddress({})", self.describe())
    }
}

impl ServerAddress {
    /// Reads an address. Without TLS, only this machine can be reached, unless `plain` is true.
    ///
    /// # Errors
    /// Fails with the reason, which does not quote the address: it may hold a secret.
    pub fn parse(text: &str, plain: bool) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("an address has at most {MOST_BYTES} bytes"));
        }
        let mut url = Url::parse(text).map_err(|error| format!("it is not an address: {error}"))?;
        if !url.has_host() || !matches!(url.scheme(), "http" | "https") {
            return Err("it has to begin with `https://` or `http://` and a host".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a user name: credentials belong into a header".into());
        }
        url.set_fragment(None);
        if url.scheme() == "http" && !plain && !is_loopback(&url) {
            return Err(
                "it is without TLS, so anybody on the way can read and change everything: use \
                 `https://`, or name `--plain-http`"
                    .into(),
            );
        }
        Ok(Self { url })
    }

    /// Returns it for people, records and the server's identity: each value of its query, and each
    /// part of its path that looks random, is replaced by a short digest.
    #[must_use]
    pub fn describe(&self) -> String {
        let path: Vec<_> = self.url.path().split('/').map(describe_part).collect();
        let mut shown = format!("{}{}", self.url.origin().ascii_serialization(), path.join("/"));
        for (number, (name, value)) in self.url.query_pairs().enumerate() {
            shown.push(if number == 0 { '?' } else { '&' });
            shown.push_str(&format!("{}={}", describe_part(&name), digest(&value)));
        }
        shown
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }
}

/// Returns true if a URL's host is this machine by its very name.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| find_own_address(host).is_some())
}

fn describe_part(part: &str) -> String {
    let has = |test: fn(&char) -> bool| part.chars().any(|c| test(&c));
    if part.len() >= LEAST_SECRET && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic) {
        return digest(part);
    }
    part.chars().flat_map(char::escape_debug).collect()
}

fn digest(text: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(PURPOSE);
    hasher.update(text.as_bytes());
    let digest = hasher.finalize().to_hex();
    format!("~{}", digest.as_str().get(..DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_show_no_secret() {
        for (text, shown) in [
            ("http://127.0.0.1:3001/mcp", "http://127.0.0.1:3001/mcp"),
            ("https://x.example", "https://x.example/"),
            ("https://X.example:443/a/b#c", "https://x.example/a/b"),
            ("http://[::1]:9/mcp", "http://[::1]:9/mcp"),
            ("http://localhost/mcp", "http://localhost/mcp"),
        ] {
            assert_eq!(ServerAddress::parse(text, false).unwrap().describe(), shown);
        }
        let secret = "https://x.example/s/Zm9vYmFyYmF6cXV4MTIz/mcp?key=hunter2&team=a";
        let address = ServerAddress::parse(secret, false).unwrap();
        let shown = address.describe();
        for word in ["Zm9v", "hunter2"] {
            assert!(!shown.contains(word) && !format!("{address:?}").contains(word), "{shown}");
        }
        assert!(shown.contains("?key=~") && shown.contains("&team=~"), "{shown}");
        let other = ServerAddress::parse(&secret.replace("team=a", "team=b"), false).unwrap();
        assert_ne!(shown, other.describe());
    }

    #[test]
    fn addresses_that_cannot_be_used_are_refused() {
        for (text, part) in [
            ("mcp", "not an address"),
            ("file:///etc/passwd", "begin with"),
            ("ftp://x.example/", "begin with"),
            ("https://u:p@x.example/", "user name"),
            ("http://x.example/mcp", "without TLS"),
            ("http://10.0.0.1/mcp", "without TLS"),
            ("http://localhost.x.example/", "without TLS"),
        ] {
            let problem = ServerAddress::parse(text, false).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
        assert!(ServerAddress::parse("http://x.example/mcp", true).is_ok());
    }
}
