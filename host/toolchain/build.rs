//! Embeds the files that `plugin new` writes.

#[path = "build/templates.rs"]
mod templates;

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    templates::embed()
}
