//! One exchange with a web service.

use crate::failure::SinkFailure;
use crate::settings::HttpCompression;
use flate2::Compression;
use flate2::write::GzEncoder;
use portcullis_network::{client_settings, create_client};
use portcullis_notify::{
    CheckedProxy, DeliveryFailure, redact_secrets, unreachable_service, unreachable_through,
};
use secrecy::{ExposeSecret, SecretString};
use std::io::{Read, Write};
use std::time::Instant;
use ureq::http::{HeaderMap, HeaderValue, Uri};
use ureq::tls::TlsConfig;

/// The most bytes of an answer's status and headers.
const HEAD_BYTES: usize = 16 << 10;
/// The most bytes of an answer's body that are read.
const BODY_BYTES: u64 = 64 << 10;

/// A web service, as far as requests to it are concerned.
pub(crate) struct HttpClient {
    pub(crate) uri: Uri,
    /// Scheme, host and port: the part that errors may mention.
    pub(crate) place: String,
    pub(crate) proxy: Option<CheckedProxy>,
    pub(crate) token: Option<SecretString>,
    /// The word before the token in `authorization`.
    pub(crate) scheme: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) tls: TlsConfig,
    /// The compression of records. Questions are sent as they are.
    pub(crate) compression: HttpCompression,
    /// True if what an answer of success says beyond its status matters.
    pub(crate) reads_body: bool,
}

/// An answer as far as it was read.
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    /// Posts records, compressed if the settings say so, on a connection of its own.
    pub(crate) fn post_records(
        &self,
        uri: &Uri,
        bytes: &[u8],
        content_type: &str,
        more: &[(&str, &str)],
        deadline: Instant,
    ) -> Result<HttpReply, SinkFailure> {
        match self.compression {
            HttpCompression::None => self.exchange(uri, bytes, content_type, more, deadline),
            HttpCompression::Gzip => {
                let packed = compress_gzip(bytes).map_err(|error| {
                    SinkFailure::later(
                        format!("the records cannot be compressed: {error}"),
                        "nothing to do: they will be tried again",
                    )
                })?;
                let more = [more, &[("content-encoding", "gzip")]].concat();
                self.exchange(uri, &packed, content_type, &more, deadline)
            }
        }
    }

    /// Makes one exchange, on a connection of its own.
    pub(crate) fn exchange(
        &self,
        uri: &Uri,
        bytes: &[u8],
        content_type: &str,
        more: &[(&str, &str)],
        deadline: Instant,
    ) -> Result<HttpReply, SinkFailure> {
        if HeaderValue::from_str(content_type).is_err() {
            return Err(SinkFailure::refused(
                "the exporter names a content type that is none",
                "have the plugin return one such as `application/json`",
            ));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SinkFailure::late(&self.place));
        }
        let settings = client_settings()
            .proxy(self.proxy.as_ref().map(|through| through.proxy.clone()))
            .max_idle_connections(0)
            .max_response_header_size(HEAD_BYTES)
            .timeout_global(Some(left))
            .tls_config(self.tls.clone());
        let mut request = create_client(settings).post(uri).header("content-type", content_type);
        if let Some(token) = &self.token {
            let credential = format!("{} {}", self.scheme, token.expose_secret());
            request = request.header("authorization", credential);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let answer = request.send(bytes).map_err(|error| self.describe_silence(&error))?;
        let (head, body) = answer.into_parts();
        let mut read = Vec::new();
        let taken = body.into_reader().take(BODY_BYTES).read_to_end(&mut read);
        // A body that never ends is a failure only where it matters; elsewhere it only explains.
        if taken.is_err() && head.status.is_success() && self.reads_body {
            return Err(SinkFailure::late(&self.place));
        }
        Ok(HttpReply { status: head.status.as_u16(), headers: head.headers, body: read })
    }

    /// Returns a text of the service without the credentials that it may repeat.
    pub(crate) fn hide_secrets(&self, said: &str) -> String {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        // A service may repeat one part of the address alone; shorter parts are ordinary words.
        let parts = target.split(['/', '?', '&', '=']).filter(|part| part.len() >= 8);
        let whole = (target.len() > 1).then_some(target);
        let headers = self.headers.values().filter_map(|value| value.to_str().ok());
        let token = self.token.iter().map(ExposeSecret::expose_secret);
        let secrets: Vec<&str> =
            whole.into_iter().chain(parts).chain(headers).chain(token).collect();
        redact_secrets(said, &secrets)
    }

    fn describe_silence(&self, error: &ureq::Error) -> SinkFailure {
        let failure: DeliveryFailure = match &self.proxy {
            Some(through) => unreachable_through(&through.place, &self.place, error),
            None => unreachable_service(&self.place, error),
        };
        failure.into()
    }
}

fn compress_gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}
