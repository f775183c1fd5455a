//! Links the small hook without shared libraries.

#[path = "build/link_statically.rs"]
mod link_statically;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/link_statically.rs");
    link_statically::link_statically();
}
