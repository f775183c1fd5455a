//! The core through its public interface, in one program: most of these tests share a harness.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod harness;

mod breaker;
mod counterfactual;
mod decide;
mod facts;
mod fetches;
mod guard;
mod incident;
mod intervene;
mod ladders;
mod mask;
mod observed;
mod personal;
mod pipeline;
mod proportion;
mod recover;
mod rewind;
mod session;
mod silence;
mod throttle;
mod wire;
