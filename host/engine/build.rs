//! Passes on the target triple. Naming the target to the guest compiler keeps out any CPU features
//! that only the build machine has.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=PORTCULLIS_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
