//! Tests over real connections to test servers, and with real programs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod credentials;
mod mails;
mod programs;
mod proxies;
mod servers;
mod support;
mod waits;
mod webhooks;
mod words;
