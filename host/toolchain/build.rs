//! Embeds the files that `plugin new` writes, and the catalogue that `catalogue check` adds.

#[path = "build/bindings.rs"]
mod bindings;
#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/go_format.rs"]
mod go_format;
#[path = "build/templates.rs"]
mod templates;

fn main() -> anyhow::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    templates::embed()?;
    catalogue::embed()
}
