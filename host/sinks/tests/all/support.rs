//! Sinks, deliveries and the text form of an outcome.

use portcullis_credentials::CredentialSource;
use portcullis_notify::Address;
use portcullis_sinks::{
    Accepted, Cargo, HttpAnswer, HttpCompression, HttpSink, OpenSink, Sink, SinkFailure,
    SinkPosition, SinkProblem, TlsFiles,
};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const TOKEN: &str = "tok-0123456789";

/// Returns the variables of these tests.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    (name == "TOKEN").then(|| TOKEN.into())
}

pub(crate) fn web(url: &str, answer: HttpAnswer, authorities: Option<&Path>) -> HttpSink {
    HttpSink {
        url: Address::Open(url.to_owned()),
        token: url.starts_with("https").then(|| CredentialSource::Variable("TOKEN".into())),
        header_file: None,
        proxy: None,
        tls: TlsFiles { authorities: authorities.map(Path::to_owned), ..TlsFiles::default() },
        compression: HttpCompression::None,
        answer,
    }
}

pub(crate) fn open(sink: &Sink) -> Result<OpenSink, SinkFailure> {
    OpenSink::open(sink, &variable, &SinkPosition::default())
}

/// Delivers one document with a timeout that is long enough for any server that answers.
pub(crate) fn post(sink: &HttpSink) -> Result<Accepted, SinkFailure> {
    post_within(sink, Duration::from_secs(60))
}

pub(crate) fn post_within(sink: &HttpSink, limit: Duration) -> Result<Accepted, SinkFailure> {
    let mut sink = open(&Sink::Http(sink.clone()))?;
    let cargo = Cargo::Document { bytes: b"{\"n\":1}\n", content_type: "application/x-ndjson" };
    sink.deliver(&cargo, 0, Instant::now() + limit)
}

/// Returns `accepted`, `later`, `later after N s`, `refused` or `settings`, then the text.
pub(crate) fn outcome(result: &Result<Accepted, SinkFailure>) -> String {
    match result {
        Ok(Accepted { what, rejected: 0 }) => format!("accepted; {what}"),
        Ok(Accepted { what, rejected }) => format!("accepted but {rejected}; {what}"),
        Err(failure) => {
            let problem = match failure.problem {
                SinkProblem::Later(None) => "later".to_owned(),
                SinkProblem::Later(Some(wait)) => format!("later after {} s", wait.as_secs()),
                SinkProblem::Refused => "refused".to_owned(),
                SinkProblem::Settings => "settings".to_owned(),
            };
            format!("{problem}; {failure}")
        }
    }
}

#[track_caller]
pub(crate) fn expect(
    result: &Result<Accepted, SinkFailure>,
    begins: &str,
    holds: &[&str],
    what: &str,
) {
    let outcome = outcome(result);
    assert!(outcome.starts_with(&format!("{begins};")), "{what}: {outcome}");
    assert!(!outcome.contains('\n') && outcome.len() < 1000, "{what}: {outcome}");
    assert!(!outcome.contains(TOKEN), "{what}: {outcome}");
    for part in holds {
        assert!(outcome.contains(part), "{what}: no `{part}` in: {outcome}");
    }
}
