//! Sends traces of reviews to a collector that speaks OTLP over HTTP (protobuf).
//!
//! ```text
//! review, engine -> spans (`tracing`, target `portcullis`) -> TraceExport -> collector
//! ```
//!
//! The other crates only name their spans; without a [`TraceExport`] in the process these cost
//! nothing. A span has names, verdicts and times, and never a text of an action. Spans wait in a
//! bounded queue and are dropped when it is full: traces show where time goes, and the journal is
//! the record of what happened.

mod collector;
mod sender;

pub use collector::{Collector, CollectorError};

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use sender::Sender;
use std::time::Duration;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

/// The target of our spans; those of libraries are not sent.
pub const TARGET: &str = "portcullis";

/// The time that the last spans have when the process ends.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// An export that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The exporter refuses its settings, which variables `OTEL_*` can change.
    #[error("the exporter of traces does not start: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// This process exports already.
    #[error("this process sends traces already")]
    Twice,
}

/// The running export of a process. It sends what is left when it is dropped.
#[derive(Debug)]
pub struct TraceExport {
    provider: SdkTracerProvider,
}

impl TraceExport {
    /// Begins to send the spans of this process as those of the service `portcullis` of a version.
    /// A collector that does not answer is reported by `report`: once, and again after it has
    /// answered.
    ///
    /// # Errors
    /// Fails if the exporter refuses its settings, or if the process has such an export already.
    pub fn start(
        collector: &Collector,
        version: &str,
        report: fn(&str),
    ) -> Result<Self, TraceError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender::new(collector, report))
            .with_endpoint(collector.url())
            .with_headers(collector.headers().iter().cloned().collect())
            .build()?;
        let resource = Resource::builder_empty()
            .with_service_name("portcullis")
            .with_attribute(KeyValue::new("service.version", version.to_owned()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(TARGET))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false)
            .with_filter(filter_fn(|span| span.target() == TARGET));
        let registry = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(registry).map_err(|_| TraceError::Twice)?;
        Ok(Self { provider })
    }
}

impl Drop for TraceExport {
    fn drop(&mut self) {
        // A collector that is gone has been reported already.
        let _sent = self.provider.shutdown_with_timeout(LAST_SPANS);
    }
}
