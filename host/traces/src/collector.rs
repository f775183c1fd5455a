//! The address of a collector, and the headers that it wants.

use portcullis_network::find_own_address;
use std::fmt;
use ureq::http::Uri;
use ureq::http::header::{HeaderName, HeaderValue};

/// The path of a collector whose address has none.
const PATH: &str = "/v1/traces";

/// A collector of traces.
#[derive(Clone, PartialEq, Eq)]
pub struct Collector {
    url: String,
    headers: Vec<(String, String)>,
}

/// An address or a header that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    /// It is not the address of a collector.
    #[error("it is not an address such as `https://collector.example:4318`")]
    Address,
    /// It has a name or a password, which the command line would show.
    #[error("it has a name or password: put the credential into a file of headers")]
    Credential,
    /// It would send without TLS to another machine.
    #[error("it leads to another machine without TLS: use `https://`")]
    Plain,
    /// This line is not a header.
    #[error("line {0} is not a header such as `Authorization: Bearer ...`")]
    Header(usize),
}

impl Collector {
    /// Reads an address: `https://HOST[:PORT][/PATH]`, or `http://` on this machine. The default
    /// path is `/v1/traces`.
    ///
    /// # Errors
    /// Fails if it is no such address.
    pub fn parse(address: &str) -> Result<Self, CollectorError> {
        let uri: Uri = address.parse().map_err(|_| CollectorError::Address)?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(CollectorError::Address)?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(CollectorError::Credential);
        }
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if find_own_address(host).is_some() => {}
            Some("http") => return Err(CollectorError::Plain),
            _ => return Err(CollectorError::Address),
        }
        let has_path = !matches!(uri.path(), "" | "/");
        let url = if has_path {
            address.to_owned()
        } else {
            format!("{}{PATH}", address.trim_end_matches('/'))
        };
        Ok(Self { url, headers: Vec::new() })
    }

    /// Adds headers, one `Name: value` in a line; empty lines do not count.
    ///
    /// # Errors
    /// Fails at the first line that is not a header. The error has no text of it.
    pub fn with_headers(mut self, text: &str) -> Result<Self, CollectorError> {
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let header = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
            let header = header.filter(|(name, value)| {
                HeaderName::from_bytes(name.as_bytes()).is_ok()
                    && HeaderValue::from_str(value).is_ok()
            });
            let (name, value) = header.ok_or(CollectorError::Header(number))?;
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(self)
    }

    /// Returns the address to which spans are posted.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}

/// Shows no value of a header: it may be a credential.
impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Collector").field("url", &self.url).field("headers", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_this_machine_or_goes_over_tls() {
        for (address, expected) in [
            ("https://c.example", Ok("https://c.example/v1/traces")),
            ("https://c.example:4318/", Ok("https://c.example:4318/v1/traces")),
            ("https://c.example/otlp/v1/traces", Ok("https://c.example/otlp/v1/traces")),
            ("http://127.0.0.1:4318", Ok("http://127.0.0.1:4318/v1/traces")),
            ("http://localhost:4318", Ok("http://localhost:4318/v1/traces")),
            ("http://[::1]:4318", Ok("http://[::1]:4318/v1/traces")),
            ("http://c.example:4318", Err(CollectorError::Plain)),
            ("http://localhost.example", Err(CollectorError::Plain)),
            ("http://10.0.0.1", Err(CollectorError::Plain)),
            ("https://me:secret@c.example", Err(CollectorError::Credential)),
            ("http://localhost@c.example", Err(CollectorError::Credential)),
            ("ftp://c.example", Err(CollectorError::Address)),
            ("c.example:4318", Err(CollectorError::Address)),
            ("/v1/traces", Err(CollectorError::Address)),
            ("", Err(CollectorError::Address)),
        ] {
            let found = Collector::parse(address);
            assert_eq!(found.as_ref().map(Collector::url), expected.as_ref().copied(), "{address}");
        }
    }

    #[test]
    fn a_file_of_headers_has_one_in_each_line() {
        let collector = || Collector::parse("https://c.example");
        for (text, expected) in [
            ("", Ok(vec![])),
            (
                "Authorization: Bearer a:b\n\nX-Team:  web \n",
                Ok(vec![("Authorization", "Bearer a:b"), ("X-Team", "web")]),
            ),
            ("a: b\nnonsense\n", Err(CollectorError::Header(2))),
            ("a b: c\n", Err(CollectorError::Header(1))),
            ("a: b\u{1}c\n", Err(CollectorError::Header(1))),
            (": c\n", Err(CollectorError::Header(1))),
        ] {
            let found = collector().and_then(|collector| collector.with_headers(text));
            let found = found.map(|collector| collector.headers);
            let expected = expected.map(|headers| {
                let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
                headers.into_iter().map(owned).collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn no_value_of_a_header_is_shown() {
        let collector = Collector::parse("https://c.example").unwrap();
        let shown =
            format!("{:?}", collector.with_headers("Authorization: Bearer hidden").unwrap());
        assert!(shown.contains("Authorization") && !shown.contains("hidden"), "{shown}");
    }
}
