//! Embeds the files that `plugin new` writes.

#[path = "build/bindings.rs"]
mod bindings;
#[path = "build/go_format.rs"]
mod go_format;
#[path = "build/templates.rs"]
mod templates;

fn main() -> anyhow::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    templates::embed()
}
