//! Tests of registries through the public interface: with real ones, hostile ones, and other tools.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod authority;
mod credentials;
mod exchanges;
mod fake;
mod hostile;
mod indexes;
mod lists;
mod others;
mod proxies;
mod pushes;
mod real;
mod redirects;
mod sample;
