//! Passes on the target triple: naming it to the compiler of guests keeps out whatever else the build machine's CPU can do.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PORTCULLIS_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
