//! The builtin audit exporters: a module a plugin, and one component for all of them.
//!
//! Each is still a plugin of its own, with its name and an instance for each call. The formats for
//! receivers of security teams share `record`, which reads what they need of a record.

pub mod cef;
pub mod cloudevents;
pub mod csv;
pub mod ecs;
pub mod jsonl;
pub mod ocsf;
pub mod otlp;
mod record;
pub mod splunk;

portcullis_plugin::export!(audit-exporter: [
    cef::Cef,
    cloudevents::CloudEvents,
    csv::Csv,
    ecs::Ecs,
    jsonl::Jsonl,
    ocsf::Ocsf,
    otlp::Otlp,
    otlp::OtlpJson,
    splunk::Splunk,
]);
