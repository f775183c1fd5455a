//! Tests of the builtin plugins as a bundle.

use crate::vetting_site::VettingSite;
use anyhow::{Context, Result, ensure};
use portcullis_builtin::COMPONENTS;
use std::collections::BTreeSet;
use std::fs;

/// The output of `cargo run -p portcullis-builtin --example write` is `COMPONENTS`, byte for byte.
pub fn the_same() -> Result<()> {
    let stage = VettingSite::new("vet builtin the same")?;
    for out in [&[][..], &["--output", "again.tar"]] {
        let output = stage.site.output(&[&["bundle", "build", "--builtin"], out].concat())?;
        ensure!(
            output.contains("portcullis/builtin") && output.contains("asks for no grant"),
            "{output}"
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("portcullis-builtin-{version}.tar");
    ensure!(
        fs::read(stage.path(&archive))? == fs::read(stage.path("again.tar"))?,
        "two builds differ"
    );
    let (bundle, signatures) = stage.read(&archive)?;
    let about = bundle.about();
    ensure!(
        (about.version.to_string().as_str(), about.licence.as_str(), signatures.len())
            == (version, "Apache-2.0", 0),
        "{about:?}"
    );
    let found: BTreeSet<&[u8]> =
        about.components.iter().filter_map(|component| bundle.component_bytes(component)).collect();
    // The shell reader belongs to the host.
    let plugins = COMPONENTS.iter().filter(|component| component.name != "shell");
    ensure!(
        found == plugins.map(|component| component.bytes()).collect(),
        "the bundle holds other components than the program"
    );
    let named: BTreeSet<&str> = about.plugins().map(|(_, plugin)| plugin.name.as_str()).collect();
    ensure!(
        named == portcullis_builtin::ALL.iter().map(|builtin| builtin.name).collect(),
        "{named:?}"
    );
    let ended = stage.site.run(&["bundle", "build", ".", "--builtin"])?;
    ensure!(ended.code == Some(2), "{}", ended.all());
    Ok(())
}

/// From the bundle they give the same answers as from the program, so nothing changes; each is
/// observed separately.
pub fn vetted() -> Result<()> {
    let stage = VettingSite::new("vet builtin vetted")?;
    stage.site.output(&["bundle", "build", "--builtin", "--output", "checks.tar"])?;
    let document = stage.vetted(&[
        "--corpus",
        "corpus.jsonl",
        "--session",
        "session.jsonl",
        "--despite",
        "this asks but few of them",
    ])?;
    let results = &document["results"];
    let counts = &results["corpus"]["dangerous"];
    ensure!((&counts["without"], &counts["with"]) == (&1.into(), &1.into()), "{results}");
    ensure!(results["sessions"]["differing"] == 0, "{results}");
    let plugins = results["plugins"].as_array().context("no plugins")?;
    let objects = |name: &str| {
        plugins
            .iter()
            .find(|plugin| plugin["name"] == name)
            .map(|plugin| plugin["objected"]["dangerous"].clone())
    };
    ensure!(objects("rules") == Some(1.into()), "{results}");
    let called = plugins.iter().filter(|plugin| plugin["calls"].as_u64() > Some(0)).count();
    ensure!(called > 4 && plugins.iter().all(|plugin| plugin["faults"].is_null()), "{results}");
    Ok(())
}
