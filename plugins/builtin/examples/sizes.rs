//! Prints name, kind, size and digest of each builtin plugin.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use portcullis_builtin::{ALL, SHELL_READER};

fn main() {
    for builtin in ALL.iter().chain([&SHELL_READER]) {
        println!("{:<18} {:<16} {:>8} bytes  {}", builtin.name, builtin.kind, builtin.bytes.len(), builtin.digest);
    }
}
