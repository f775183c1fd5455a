//! Exporters that cannot take all records at once.

use crate::common::site::Site;
use crate::{done, mistakes, run};
use anyhow::{Context, Result, ensure};
use std::fs;

/// The component of an exporter that writes one letter a call, and fails on more records than this.
fn build_exporter(site: &Site, most: usize) -> Result<()> {
    let project = site.root().join("mine");
    fs::create_dir_all(&project)?;
    // The answer is at 16: what the call returned, the address of its bytes and their number.
    let renders = format!(
        "(if (i32.gt_u (local.get 3) (i32.const {most})) (then unreachable))
         (i32.store (i32.const 20) (i32.const 512)) (i32.store (i32.const 24) (i32.const 1)) i32.const 16)
         (data (i32.const 512) \"x\"))"
    );
    let (module, _) = mistakes::EXPORTER.rsplit_once("i32.const 16").context("no answer")?;
    fs::write(project.join("module.wasm"), wat::parse_str(format!("{module}{renders}"))?)?;
    fs::write(project.join("plugin.toml"), mistakes::OWN)?;
    done(site, &["plugin", "build", &project.display().to_string()])?;
    site.write("plugins/mine.wasm", fs::read(project.join("build/mine.wasm"))?)
}

/// A batch on which an exporter fails is given to it in halves, until the record that it fails on
/// is alone: that one is named.
pub fn halved() -> Result<()> {
    let site = Site::new("halved export")?;
    let calls = site.calls("halved");
    for number in 0..5 {
        site.hook(&calls.bash(&format!("call_{number}"), "ls"))?;
    }
    let count = site.records()?.len();
    ensure!(count >= 5, "{count} records");
    for (most, written) in [(count, 1), (count - 1, 2), (1, count)] {
        build_exporter(&site, most)?;
        let text = done(&site, &["audit", "export", "--exporter", "mine"])?;
        ensure!(text == "x".repeat(written), "{most} at once: {text:?}");
    }
    // One that is not installed is asked as well.
    let component = site.root().join("mine/build/mine.wasm");
    let other = site.root().join("other.wasm");
    fs::copy(&component, &other)?;
    let words =
        ["audit", "export", "--plugin", &other.display().to_string(), "--exporter", "other"];
    ensure!(done(&site, &words)? == "x".repeat(count), "`--plugin` loads nothing");
    build_exporter(&site, 0)?;
    let ended = run(&site, &["audit", "export", "--exporter", "mine"])?;
    let first = site.records()?[0]["id"].as_str().context("no id")?.to_owned();
    ensure!(
        ended.code == Some(1) && ended.stderr.contains(&format!("record {first}: ")),
        "{}",
        ended.all()
    );
    // What no record caused is blamed on none.
    site.write("config.toml", "[plugins.mine.settings]\nwords = [\"x\"]\n")?;
    site.write("plugins/mine.wasm", "no component")?;
    let ended = run(&site, &["audit", "export", "--exporter", "mine"])?;
    ensure!(ended.code == Some(1) && !ended.stderr.contains("record "), "{}", ended.all());
    Ok(())
}
