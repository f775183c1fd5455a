//! Tests of the changes of an update, as shown to the person who decides about it.

use crate::common::trial;
use crate::stall::{HOSTS, HTTP, MANIFEST, Stall, component, descriptor};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("bundle: changes between two bundles", changes),
        trial("bundle: a new grant stands out", new_grant),
        trial("bundle: nothing changes from a bundle to itself", nothing),
    ]
}

/// Builds another bundle from the same folder.
fn rebuilt(stall: &Stall, archive: &str, manifest: &str) -> Result<()> {
    stall.put("bundle.toml", manifest)?;
    stall.done(&format!("build --output {archive}"))?;
    Ok(())
}

fn pair(changes: &Value, list: &str, what: &str) -> Option<(Value, Value)> {
    let found = changes[list].as_array()?.iter().find(|field| field["what"] == what)?;
    Some((found["old"].clone(), found["new"].clone()))
}

fn changes() -> Result<()> {
    let stall = Stall::new("changes")?;
    rebuilt(&stall, "old.tar", MANIFEST)?;
    let mut said = descriptor("loops");
    said["version"] = json!("0.2.0");
    said["settings"][0]["maximum"] = json!(12);
    stall.put("loops.wasm", component(&["wasi:clocks/wall-clock@0.2.3"], &[said.clone()])?)?;
    stall.put("new.wasm", component(&[], &[descriptor("new")])?)?;
    let manifest = MANIFEST
        .replace("1.0.0", "1.1.0")
        .replace("Apache-2.0", "MIT")
        .replace("most = 5", "most = 12, words.x = [\"a\"]")
        .replace("asks.wasm", "new.wasm");
    rebuilt(&stall, "new.tar", &manifest)?;
    let document = stall.json("diff old.tar new.tar")?;
    let changes = &document["changes"];
    ensure!(
        document["same"] == false
            && document["old"]["version"] == "1.0.0"
            && document["new"]["version"] == "1.1.0",
        "{document}"
    );
    let whole = changes["bundle"].as_array().context("no bundle")?.len();
    ensure!(
        whole == 2
            && pair(changes, "bundle", "licence") == Some((json!("Apache-2.0"), json!("MIT"))),
        "{document}"
    );
    ensure!(
        changes["removed"][0]["name"] == "asks" && changes["added"][0]["name"] == "new",
        "{document}"
    );
    let changed = &changes["changed"][0];
    ensure!(
        changes["changed"].as_array().context("no changes")?.len() == 1
            && changed["name"] == "loops",
        "{document}"
    );
    ensure!(
        pair(changed, "plugin", "version") == Some((json!("0.1.0"), json!("0.2.0"))),
        "{document}"
    );
    ensure!(pair(changed, "settings", "most") == Some((json!(5), json!(12))), "{document}");
    ensure!(
        pair(changed, "settings", "words.x") == Some((Value::Null, json!(["a"]))),
        "{document}"
    );
    ensure!(
        pair(changed, "schema", "most").is_some()
            && changed["schema"].as_array().is_some_and(|all| all.len() == 1),
        "{document}"
    );
    ensure!(
        changed["imports"] == json!({ "new": ["wasi:clocks/wall-clock@0.2.3"], "gone": [] }),
        "{document}"
    );
    ensure!(
        changes["grants"] == json!({ "new": ["clocks = true"], "gone": [HOSTS] }),
        "{document}"
    );
    let text = stall.done("diff old.tar new.tar")?;
    for wanted in [
        "from acme/checks 1.0.0  sha256:",
        "to   acme/checks 1.1.0  sha256:",
        "\nversion: 1.0.0 -> 1.1.0\n",
        "\nlicence: Apache-2.0 -> MIT\n",
        "- removed asks  pattern 0.1.0, ",
        "+ added new  pattern 0.1.0, ",
        "~ changed loops\n",
        "    version: 0.1.0 -> 0.2.0\n",
        "    setting most: 5 -> 12\n",
        "    setting words.x: nothing -> [\"a\"]\n",
        "    imports: + wasi:clocks/wall-clock@0.2.3\n",
        "    asks for: + clocks = true\n",
        "\n! new grant asked for: clocks = true\n",
        "\nno longer asked for: hosts = [\"https://HOST\"]\n",
    ] {
        ensure!(text.contains(wanted), "`{wanted}` is not in {text}");
    }
    Ok(())
}

/// A grant that another plugin of the bundle requested before is not new for the bundle; one that
/// no plugin requested is.
fn new_grant() -> Result<()> {
    let stall = Stall::new("new grant")?;
    rebuilt(&stall, "old.tar", MANIFEST)?;
    for (import, line) in [
        (HTTP, None),
        ("wasi:random/random@0.2.3", Some("! new grant asked for: random = \"system\"")),
    ] {
        stall.put("loops.wasm", component(&[import], &[descriptor("loops")])?)?;
        let archive = format!("{}.tar", import.len());
        rebuilt(&stall, &archive, MANIFEST)?;
        let text = stall.done(&format!("diff old.tar {archive}"))?;
        let marked = text.lines().filter(|line| line.starts_with('!')).collect::<Vec<_>>();
        ensure!(
            marked == line.into_iter().collect::<Vec<_>>() && text.contains("    asks for: + "),
            "{import}: {text}"
        );
    }
    Ok(())
}

fn nothing() -> Result<()> {
    let stall = Stall::new("nothing changes")?;
    stall.done("build")?;
    stall.done("build --output same.tar")?;
    let document = stall.json("diff acme-checks-1.0.0.tar same.tar")?;
    ensure!(document["same"] == true && document["old"] == document["new"], "{document}");
    ensure!(stall.done("diff acme-checks-1.0.0.tar same.tar")?.ends_with("\nnothing changes\n"));
    Ok(())
}
