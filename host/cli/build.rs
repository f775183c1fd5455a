//! Links the program without shared libraries.

#[path = "../hook/build/link_statically.rs"]
mod link_statically;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../hook/build/link_statically.rs");
    link_statically::link_statically();
}
