//! Files in the plugins folder that are not plugins, or must not be loaded.

use super::{Case, Change, Recorded, system};
use crate::common::reply::Answer;
use crate::common::site::Site;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::symlink;

const ASSESSOR: &str = r#"(instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i))"#;

/// The name, the files, the fault, and texts of the answer.
type Row = (&'static str, Change, &'static str, &'static [&'static str]);

pub fn cases() -> Vec<Case> {
    [files(), entries(), policies(), names()].into_iter().flatten().collect()
}

/// By default a person is asked, since the plugin's opinion is unknown.
fn files() -> Vec<Case> {
    let rows: Vec<Row> = vec![
        ("a plugin of no bytes", |site| odd(site, b""), LOAD, &["not WebAssembly"]),
        (
            "a plugin that is an image",
            |site| odd(site, b"\x89PNG\r\n\x1a\n"),
            LOAD,
            &["not WebAssembly", "wasm-tools component new"],
        ),
        (
            "a plugin as text",
            |site| odd(site, b"(component)"),
            LOAD,
            &["WebAssembly text", "wasm-tools parse"],
        ),
        (
            "a core module",
            |site| built(site, "(module)"),
            LOAD,
            &["core module", "wasm-tools component new"],
        ),
        (
            "a plugin cut short",
            |site| odd(site, &wat::parse_str(component(ASSESSOR))?[..20]),
            LOAD,
            &["it is damaged"],
        ),
        (
            "a component that exports nothing",
            |site| built(site, &component("")),
            LOAD,
            &["assessor, detector, intervener, exporter"],
        ),
        (
            "a component of another world",
            |site| {
                built(
                    site,
                    &component(r#"(instance $i) (export "wasi:cli/run@0.2.0" (instance $i))"#),
                )
            },
            LOAD,
            &["`wasi:cli/run@0.2.0`", "assessor"],
        ),
        (
            "a plugin of a later version",
            |site| {
                built(
                    site,
                    &component(
                        r#"(instance $i) (export "portcullis:plugin/assessor@0.2.0" (instance $i))"#,
                    ),
                )
            },
            LOAD,
            &["of version `0.2.0`", "loads 0.1.x"],
        ),
        (
            "a plugin whose types do not match",
            |site| built(site, &component(ASSESSOR)),
            LOAD,
            &["types do not match"],
        ),
        (
            "a plugin that wants sockets",
            |site| {
                built(
                    site,
                    &component(&format!(
                        r#"(import "wasi:sockets/tcp@0.2.0" (instance)) {ASSESSOR}"#
                    )),
                )
            },
            GRANT,
            &["open network connections", "`wasi:sockets/tcp@0.2.0`", "not granted"],
        ),
        (
            "a plugin that wants to be another host's",
            |site| {
                built(
                    site,
                    &component(&format!(r#"(import "acme:host/secrets" (instance)) {ASSESSOR}"#)),
                )
            },
            GRANT,
            &["`acme:host/secrets`", "not granted"],
        ),
    ];
    rows.into_iter().map(asked).collect()
}

/// Covers entries with a plugin's name that are not files.
fn entries() -> Vec<Case> {
    let rows: Vec<Row> = vec![
        (
            "a loop of links",
            |site| {
                fs::create_dir(site.state().join("plugins"))?;
                Ok(symlink("odd.wasm", site.state().join("plugins/odd.wasm"))?)
            },
            LOAD,
            &["plugins/odd.wasm", "cannot read"],
        ),
        (
            "a link to nothing",
            |site| {
                fs::create_dir(site.state().join("plugins"))?;
                Ok(symlink("gone", site.state().join("plugins/odd.wasm"))?)
            },
            LOAD,
            &["plugins/odd.wasm", "No such file"],
        ),
        (
            "a folder",
            |site| Ok(fs::create_dir_all(site.state().join("plugins/odd.wasm"))?),
            LOAD,
            &["plugins/odd.wasm", "not a file"],
        ),
        (
            "a pipe that nobody writes into",
            |site| {
                fs::create_dir(site.state().join("plugins"))?;
                system("mkfifo", &[&site.state().join("plugins/odd.wasm").to_string_lossy()])
            },
            LOAD,
            &["plugins/odd.wasm", "not a file"],
        ),
        (
            "a plugin of 65 MB",
            |site| {
                odd(site, b"")?;
                Ok(fs::OpenOptions::new()
                    .write(true)
                    .open(site.state().join("plugins/odd.wasm"))?
                    .set_len(65 << 20)?)
            },
            LOAD,
            &["has 68157440 bytes", "at most 67108864"],
        ),
    ];
    rows.into_iter().map(asked).collect()
}

/// The effect of a fault is configured for each plugin.
fn policies() -> Vec<Case> {
    let row = |name, spoil, answer| {
        Case::new(name, spoil)
            .answers(answer, &["odd: load-failed", "not WebAssembly"])
            .recorded(Recorded::Review(LOAD))
            .fixed(|site| {
                fs::remove_file(site.state().join("config.toml"))?;
                without(site)
            })
    };
    vec![
        row("a bad plugin that blocks", |site| configured(site, "block"), Answer::Refused),
        row("a bad plugin that asks", |site| configured(site, "ask"), Answer::Asked),
        row("a bad plugin that warns", |site| configured(site, "warn"), Answer::Informed),
    ]
}

/// Covers plugins with invalid names, or with the name of another one.
fn names() -> Vec<Case> {
    let row = |name, spoil, says: &[&'static str]| {
        Case::new(name, spoil)
            .answers(Answer::Refused, says)
            .recorded(Recorded::Fault("configuration"))
            .fixed(without)
    };
    vec![
        row(
            "a plugin with a name that cannot be configured",
            |site| site.write("plugins/My Plugin.wasm", ""),
            &["`My Plugin`"],
        ),
        row(
            "a plugin with the host's own name",
            |site| site.write("plugins/portcullis.wasm", ""),
            &["`portcullis`", "rename the plugin's file"],
        ),
        row(
            "a plugin with a builtin one's name",
            |site| site.write("plugins/risk.wasm", ""),
            &["`risk`"],
        ),
    ]
}

const LOAD: &str = "load-failed";
const GRANT: &str = "missing-grant";

fn asked((name, spoil, fault, says): Row) -> Case {
    Case::new(name, spoil)
        .answers(Answer::Asked, says)
        .recorded(Recorded::Review(fault))
        .fixed(without)
}

fn odd(site: &Site, bytes: &[u8]) -> Result<()> {
    site.write("plugins/odd.wasm", bytes)
}

fn built(site: &Site, text: &str) -> Result<()> {
    odd(site, &wat::parse_str(text)?)
}

fn component(inner: &str) -> String {
    format!("(component {inner})")
}

fn configured(site: &Site, policy: &str) -> Result<()> {
    odd(site, b"")?;
    site.write("config.toml", format!("[plugins.odd]\non_fault = \"{policy}\"\n"))
}

fn without(site: &Site) -> Result<()> {
    Ok(fs::remove_dir_all(site.state().join("plugins"))?)
}
