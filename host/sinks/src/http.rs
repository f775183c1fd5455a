//! Posts records to a web service.

use crate::delivery::Accepted;
use crate::exchange::HttpClient;
use crate::failure::SinkFailure;
use crate::http_reply::{judge_status, read_rejected};
use crate::settings::{HttpAnswer, HttpSink};
use crate::splunk::SplunkCollector;
use crate::tls;
use portcullis_credentials::CredentialReader;
use portcullis_fs::{FileAccess, read_named_file};
use portcullis_network::find_own_address;
use portcullis_notify::{Address, parse_address, read_proxy};
use secrecy::ExposeSecret;
use std::fmt;
use std::time::Instant;
use ureq::http::header::{HeaderName, HeaderValue};
use ureq::http::{HeaderMap, Uri};

/// The most bytes of a file with headers, and the most headers.
const HEADER_FILE_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 32;
/// Headers that a file cannot set: they belong to the connection.
const OWN_HEADERS: &[&str] = &[
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "host",
    "connection",
    "expect",
];

/// A web service with valid settings.
pub(crate) struct OpenHttp {
    client: HttpClient,
    answer: HttpAnswer,
    splunk: Option<SplunkCollector>,
}

impl fmt::Debug for OpenHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenHttp").field("place", &self.client.place).finish_non_exhaustive()
    }
}

impl OpenHttp {
    pub(crate) fn open(
        sink: &HttpSink,
        reader: &dyn CredentialReader,
    ) -> Result<Self, SinkFailure> {
        let uri = match &sink.url {
            Address::Open(url) => parse_url(url)?,
            Address::Secret(source) => parse_url(source.read_secret(reader)?.expose_secret())?,
        };
        let host = uri.host().unwrap_or_default();
        let scheme = uri.scheme_str().unwrap_or_default();
        let place = match uri.port_u16() {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        let is_open = scheme != "https";
        if is_open && find_own_address(host).is_none() {
            return Err(SinkFailure::settings(
                format!("`{place}` is not encrypted and not on this machine"),
                "use `https`",
            ));
        }
        if is_open && (sink.token.is_some() || sink.header_file.is_some()) {
            return Err(SinkFailure::settings(
                format!(
                    "`{place}` gets a credential, which would go unencrypted to whatever program \
                     listens there"
                ),
                "use `https`, or leave out `token` and `header_file`",
            ));
        }
        if is_open && sink.proxy.is_some() {
            return Err(SinkFailure::settings(
                format!("`{place}` is on this machine and has a `proxy`"),
                "leave out `proxy`",
            ));
        }
        let proxy = sink.proxy.as_ref().map(|address| read_proxy(address, reader)).transpose()?;
        let token = sink.token.as_ref().map(|source| source.read_secret(reader)).transpose()?;
        let headers = match &sink.header_file {
            Some(path) => {
                let bytes = read_named_file(path, HEADER_FILE_BYTES, FileAccess::OwnerOnly)?;
                parse_headers(&bytes).map_err(|what| {
                    SinkFailure::settings(
                        format!("the file `{}` {what}", path.display()),
                        "write one `Name: value` a line",
                    )
                })?
            }
            None => HeaderMap::new(),
        };
        let splunk = match sink.answer {
            HttpAnswer::Splunk { acknowledge } => {
                if token.is_none() {
                    return Err(SinkFailure::settings(
                        format!("`{place}` has no `token`"),
                        "name the collector's token as `credential:NAME`, `env:NAME` or `file:PATH`",
                    ));
                }
                Some(SplunkCollector::of_address(&uri, &place, acknowledge)?)
            }
            _ => None,
        };
        let client = HttpClient {
            uri,
            place,
            proxy,
            token,
            scheme: if splunk.is_some() { "Splunk" } else { "Bearer" },
            headers,
            tls: tls::http_settings(&sink.tls)?,
            compression: sink.compression,
            reads_body: sink.answer != HttpAnswer::Status,
        };
        Ok(Self { client, answer: sink.answer, splunk })
    }

    /// Posts a document, and reads the answer as this kind of service gives it.
    pub(crate) fn post(
        &self,
        bytes: &[u8],
        content_type: &str,
        deadline: Instant,
    ) -> Result<Accepted, SinkFailure> {
        if let Some(splunk) = &self.splunk {
            return splunk.post(&self.client, bytes, content_type, deadline);
        }
        let client = &self.client;
        let reply = client.post_records(&client.uri, bytes, content_type, &[], deadline)?;
        judge_status(&client.place, &reply, &|said| client.hide_secrets(said))?;
        let rejected = match self.answer {
            HttpAnswer::Otlp => read_rejected(&reply),
            _ => 0,
        };
        Ok(Accepted { what: format!("`{}` answered {}", client.place, reply.status), rejected })
    }
}

/// Reads the address of a service.
fn parse_url(url: &str) -> Result<Uri, SinkFailure> {
    parse_address(url).map_err(|what| {
        SinkFailure::settings(
            format!("the address in `url` {what}"),
            "write it as `https://host/path`",
        )
    })
}

/// Reads headers, one a line. An error does not repeat a value.
fn parse_headers(bytes: &[u8]) -> Result<HeaderMap, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    let mut headers = HeaderMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = number.saturating_add(1);
        let bad = |what: &str| format!("has no header in line {line_number}: {what}");
        let (name, value) = line.split_once(':').ok_or_else(|| bad("there is no colon"))?;
        let name: HeaderName = name.trim().parse().map_err(|_| bad("its name is none"))?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(bad("that one is set by portcullis"));
        }
        let mut value =
            HeaderValue::from_str(value.trim()).map_err(|_| bad("its value is none"))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    if headers.len() > MOST_HEADERS {
        return Err(format!("has more than {MOST_HEADERS} headers"));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_headers_is_one_header_a_line() {
        for (text, expected) in [
            ("x-scope: team\n\nX-Key:  abc \r\n", Ok(vec![("x-scope", "team"), ("x-key", "abc")])),
            ("", Ok(vec![])),
            ("no colon", Err("has no header in line 1: there is no colon")),
            ("a: b\n: c", Err("has no header in line 2: its name is none")),
            ("a b: c", Err("has no header in line 1: its name is none")),
            ("a: \u{1}", Err("has no header in line 1: its value is none")),
            ("Content-Length: 1", Err("has no header in line 1: that one is set by portcullis")),
        ] {
            let found = parse_headers(text.as_bytes());
            let found = found.map(|headers| {
                let pairs = headers.iter();
                pairs
                    .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                    .collect::<Vec<_>>()
            });
            let expected = expected.map_err(str::to_owned).map(|pairs| {
                pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
            });
            assert_eq!(found, expected, "{text:?}");
        }
        assert_eq!(parse_headers(&[0xff]), Err("is not UTF-8".to_owned()));
        let many = "a: b\n".repeat(MOST_HEADERS + 1);
        assert_eq!(parse_headers(many.as_bytes()), Err("has more than 32 headers".to_owned()));
    }
}
