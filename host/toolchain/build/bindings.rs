//! Generates the bindings that projects in C and Go carry, from the WIT package.

use crate::go_format;
use anyhow::ensure;
use std::fs;
use std::path::{Path, PathBuf};
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

/// The kinds, which are worlds of the package, each with the interface that it exports.
const KINDS: &[(&str, &str)] = &[
    ("risk-calculator", "assessor"),
    ("pattern", "detector"),
    ("intervention", "intervener"),
    ("audit-exporter", "exporter"),
];
/// The package's name and version, for the short names of its interfaces in C.
const PACKAGE: (&str, &str) = ("portcullis:plugin", "0.1.0");
/// The bindings' Go package in every project.
const GO_PACKAGE: &str = "example.com/plugin/bindings";
/// The module of every project in Go, relative to the templates' folder.
const GO_MODULE: &str = "go/shared/go.mod";
/// The line from which the bindings for C ask for an object file.
const OBJECT_FILE: &str = "// Ensure that the *_component_type.o";

/// Writes the bindings below `out`. Returns the name of each file in the templates, and its path.
///
/// # Errors
/// Fails if the WIT package cannot be read, or if projects in Go name another module than their
/// bindings need.
pub(crate) fn generate(
    wit: &Path,
    templates: &Path,
    out: &Path,
) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let needed = wit_bindgen_go::remote_pkg_version();
    let module = templates.join(GO_MODULE);
    ensure!(
        fs::read_to_string(&module)?.contains(&format!("require {needed}\n")),
        "`{}` does not require `{needed}`, which the bindings need",
        module.display()
    );
    let mut written = Vec::new();
    for (kind, interface) in KINDS {
        let c = files(wit, kind, c_generator(interface))?;
        let go = files(wit, kind, go_generator())?;
        for (language, files) in [("c", c), ("go", go)] {
            for (name, bytes) in files.iter() {
                let name = format!("{language}/{kind}/bindings/{name}");
                let path = out.join(&name);
                fs::create_dir_all(path.parent().unwrap_or(out))?;
                fs::write(&path, finish(&name, bytes))?;
                written.push((name, path));
            }
        }
    }
    Ok(written)
}

fn files(wit: &Path, world: &str, mut generator: Box<dyn WorldGenerator>) -> anyhow::Result<Files> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files)?;
    Ok(files)
}

/// The world is called `plugin`, so that code reads the same for every kind.
fn c_generator(interface: &str) -> Box<dyn WorldGenerator> {
    let (package, version) = PACKAGE;
    let renamed = [("types", "portcullis"), ("host", "host"), (interface, interface)];
    let options = wit_bindgen_c::Opts {
        no_object_file: true,
        rename_world: Some("plugin".to_owned()),
        rename: renamed
            .map(|(from, to)| (format!("{package}/{from}@{version}"), to.to_owned()))
            .to_vec(),
        ..Default::default()
    };
    options.build()
}

fn go_generator() -> Box<dyn WorldGenerator> {
    let options = wit_bindgen_go::Opts {
        // Without Go, the files would differ.
        format: wit_bindgen_go::Format::False,
        pkg_name: Some(GO_PACKAGE.to_owned()),
        quiet: true,
        ..Default::default()
    };
    options.build()
}

fn finish(name: &str, bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    if name.ends_with(".go") {
        return go_format::format(&text).into_bytes();
    }
    // `portcullis plugin build` puts the object file's content into the component.
    let end = text.find(OBJECT_FILE).filter(|_| name.ends_with(".c")).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().as_bytes().to_vec()
}
