//! Posts what the exporter has encoded. It runs on the exporter's own thread, and may block there.

use crate::collector::Collector;
use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use portcullis_network::{client_settings, create_client};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::Agent;

/// The timeout of a post.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const MOST_ANSWER: u64 = 64 * 1024;

/// An HTTP client for the exporter.
pub(crate) struct Sender {
    agent: Agent,
    url: String,
    report: fn(&str),
    /// True if the last post failed.
    fails: AtomicBool,
}

impl Sender {
    pub(crate) fn new(collector: &Collector, report: fn(&str)) -> Self {
        let agent = create_client(client_settings().timeout_global(Some(TIMEOUT)));
        Self { agent, url: collector.url().to_owned(), report, fails: AtomicBool::new(false) }
    }

    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let (parts, body) = request.into_parts();
        let answer = self.agent.run(Request::from_parts(parts, &body[..]))?;
        let (parts, mut body) = answer.into_parts();
        let bytes = body.with_config().limit(MOST_ANSWER).read_to_vec()?;
        Ok(Response::from_parts(parts, bytes.into()))
    }

    /// Reports the first of several failures.
    fn note(&self, failure: Option<&str>) {
        let failed_before = self.fails.swap(failure.is_some(), Ordering::Relaxed);
        let url = &self.url;
        match (failure, failed_before) {
            (Some(why), false) => {
                (self.report)(&format!("cannot send traces to `{url}`: {why}; reviews go on"));
            }
            (None, true) => (self.report)(&format!("traces are sent to `{url}` again")),
            _ => {}
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("url", &self.url).finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.post(request);
        match &answer {
            Ok(answer) if answer.status().is_success() => self.note(None),
            Ok(answer) => self.note(Some(&format!("it answers {}", answer.status()))),
            Err(error) => self.note(Some(&error.to_string())),
        }
        Ok(answer?)
    }
}
