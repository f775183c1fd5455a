//! Deliveries to files, and to servers on the loopback interface that behave well and badly.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod files;
mod servers;
mod support;
mod syslogs;
mod webs;
