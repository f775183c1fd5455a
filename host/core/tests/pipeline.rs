//! The complete pipeline through the public entry point, `run_pipeline` between
//! `claude::wire::parse_event` and `render_reply`: cases are data, plugins are scripted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "pipeline/after.rs"]
mod after;
#[path = "pipeline/before.rs"]
mod before;
#[path = "pipeline/events.rs"]
mod events;
#[path = "pipeline/exceptions.rs"]
mod exceptions;
#[path = "pipeline/faults.rs"]
mod faults;
#[path = "pipeline/harness.rs"]
mod harness;
#[path = "pipeline/missed.rs"]
mod missed;
#[path = "pipeline/own_files.rs"]
mod own_files;
#[path = "pipeline/policies.rs"]
mod policies;
#[path = "pipeline/properties.rs"]
mod properties;
#[path = "pipeline/quoting.rs"]
mod quoting;
#[path = "pipeline/raised.rs"]
mod raised;
#[path = "pipeline/rewriting.rs"]
mod rewriting;
#[path = "pipeline/secrets.rs"]
mod secrets;
#[path = "pipeline/shadow.rs"]
mod shadow;
#[path = "pipeline/terms.rs"]
mod terms;
