//! Variables choose which programs the benches of whole programs run, and how often.

#![allow(
    dead_code,
    clippy::panic,
    reason = "no bench needs all of it, and a person reads what it says"
)]

use std::env;
use std::path::{Path, PathBuf};

/// The folder with the programs to measure, for example those of `release/build`.
const PROGRAMS: &str = "PORTCULLIS_BENCH_PROGRAMS";
/// The number of rounds.
const ROUNDS: &str = "PORTCULLIS_BENCH_ROUNDS";

/// Returns the path of a program: in the folder `PORTCULLIS_BENCH_PROGRAMS`, or the one that `cargo build --release`
/// makes.
pub fn find_program(name: &str) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_portcullis"));
    env::var_os(PROGRAMS)
        .map_or_else(|| built.with_file_name(name), |folder| Path::new(&folder).join(name))
}

/// Returns the number of rounds: `PORTCULLIS_BENCH_ROUNDS`, or the default.
pub fn count_rounds(default: usize) -> usize {
    read_number(ROUNDS, default)
}

/// Returns the number in a variable, or the default.
///
/// # Panics
/// Panics if it is no number: a bench that measures something else than what was asked for helps nobody.
pub fn read_number(variable: &str, default: usize) -> usize {
    let Ok(text) = env::var(variable) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{variable} is `{text}`, and not a number"))
}
