//! The builtin audit exporters: a module a plugin, and one component for all of them.
//!
//! Each is still a plugin of its own, with its name and an instance for each call.

pub mod csv;
pub mod jsonl;

portcullis_plugin::export!(audit-exporter: [csv::Csv, jsonl::Jsonl]);
