//! Prints name, size, digest and plugins of each builtin component.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use portcullis_builtin::COMPONENTS;

fn main() {
    for component in COMPONENTS {
        println!(
            "{:<22} {:>8} bytes  {}  {}",
            component.name,
            component.bytes().len(),
            component.digest,
            component.plugins.join(" ")
        );
    }
}
