//! The secrets that a hub's configuration names.

use super::fleets::Fleet;
use crate::common::site::Site;
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fs;

const SECRET: &str = "hunter2-0123456789";

pub fn stored() -> Result<()> {
    let fleet = Fleet::start("secrets")?;
    let site = Site::new("secrets")?;
    let folder = fleet.folder.display().to_string();
    let credential = |arguments: &[&str], input: &str| {
        site.feed(&[&["credential"], arguments, &["--hub", &folder]].concat(), input.as_bytes())
    };
    let path = fleet.folder.join("hub.toml");
    let before = fs::read_to_string(&path)?;
    let configure = |line: &str| fs::write(&path, format!("{line}\n{before}"));

    configure("password = \"credential:database\"")?;
    let missing = fleet.run(&["hub", "machines"])?;
    ensure!(
        missing.code == Some(1)
            && missing.stderr.contains("there is no credential `database` in the store"),
        "{}",
        missing.all()
    );
    let set = credential(&["set", "database", "--stdin"], SECRET)?;
    ensure!(set.code == Some(0), "{}", set.all());
    fleet.output(&["hub", "machines"])?;
    let listed = credential(&["list", "--json"], "")?;
    let listed: Value = serde_json::from_str(&listed.text())?;
    let entry = &listed["credentials"][0];
    ensure!(
        entry["name"] == "database"
            && entry["used_by"][0] == "password"
            && entry["last_uses"][0]["purpose"] == "password"
            && entry["last_uses"][0]["outcome"] == "used",
        "{listed}"
    );
    let in_use = credential(&["remove", "database"], "")?;
    ensure!(in_use.stderr.contains("is in use: password"), "{}", in_use.all());
    configure(
        "password = \"credential:database\"\n\
         webhook = [{ url = \"https://chat.example/\", bearer = \"credential:database\" }]",
    )?;
    let in_use = credential(&["remove", "database"], "")?;
    ensure!(in_use.stderr.contains("password, webhook.bearer"), "{}", in_use.all());
    let keyring = credential(&["set", "other", "--in", "keyring", "--stdin"], SECRET)?;
    ensure!(keyring.stderr.contains("a hub has replicas"), "{}", keyring.all());
    // It is not one of the home's own.
    let own = site.output(&["credential", "list"])?;
    ensure!(own.contains("no credentials"), "{own}");

    // A value, or another key's place, is refused without being repeated.
    for line in [
        format!("password = \"{SECRET}\""),
        format!("client_secret = \"{SECRET}\""),
        format!("webhook = \"{SECRET}\""),
        format!("names = \"{SECRET}\""),
        format!("retention_days = \"{SECRET}\""),
    ] {
        configure(&line)?;
        let refused = fleet.run(&["hub", "machines"])?;
        ensure!(refused.code == Some(1) && refused.stderr.contains("line 1"), "{}", refused.all());
        ensure!(!refused.all().contains(SECRET), "{}", refused.all());
    }
    let elsewhere = site.run(&["credential", "list", "--hub", "/nowhere"])?;
    ensure!(elsewhere.stderr.contains("no `/nowhere/receipt.key`"), "{}", elsewhere.all());
    Ok(())
}
