//! Tests of the engine's interface, in one binary, since each one links the compiler.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod answers;
#[path = "../../../../tests/hostile/binary.rs"]
mod binary;
#[path = "../../../../tests/hostile/bombs.rs"]
mod bombs;
mod breakers;
mod cache;
mod compiling;
mod guests;
mod hostile;
mod http;
mod http_servers;
mod loading;
mod next;
mod pool;
mod released;
mod sample;
mod strictness;
mod time;
mod together;
mod wasi;
