//! Tests of bundles through the public interface: created, transferred, signed, attacked and
//! judged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod archives;
mod attacks;
mod index_trust;
mod indexes;
mod keys;
mod locks;
mod sample;
mod store;
mod trust;
