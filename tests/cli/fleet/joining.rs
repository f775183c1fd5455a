//! How machines join, renew and leave.

use super::fleets::{Fleet, act, identity, join, machine_of, send, send_all, status};
use super::wire::{certificate_of, request};
use crate::common::site::Site;
use anyhow::{Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

/// Rows: a token, the number of the attempt with it, and what comes of it; empty if it joins.
pub fn tokens() -> Result<()> {
    let (fleet, other) = (Fleet::start("tokens")?, Fleet::start("other_tokens")?);
    let once = fleet.token("once", &["--label", "team=web"])?;
    let short = fleet.token("short", &["--for", "1s"])?;
    let of_other = other.token("of-other", &[])?;
    // The other hub's secret with this hub's authority.
    let (secret, digest) = (fs::read_to_string(&of_other)?, fs::read_to_string(&once)?);
    let mixed = fleet.folder.join("mixed");
    let (secret, _) = secret.trim().rsplit_once('-').unwrap();
    let (_, digest) = digest.trim().rsplit_once('-').unwrap();
    fs::write(&mixed, format!("{secret}-{digest}"))?;
    let broken = fleet.folder.join("broken");
    fs::write(&broken, "portcullis-join-AAAA")?;
    thread::sleep(Duration::from_millis(1200));
    let url = fleet.url();
    for (name, url, token, outcome) in [
        ("good", url.as_str(), &once, ""),
        ("used up", &url, &once, "the token is used up"),
        ("expired", &url, &short, "the token has expired"),
        ("foreign", &url, &mixed, "the token is unknown"),
        ("of another hub", &url, &of_other, "is not the one that made the token"),
        ("broken", &url, &broken, "is not a join token"),
        ("plain", "http://localhost:1", &once, "is not the address of a hub"),
        ("nobody", "https://localhost:1", &once, "does not answer"),
    ] {
        let site = Site::new(&format!("join {name}"))?;
        let ended = join(&site, url, token)?;
        ensure!(ended.stderr.contains(outcome), "{name}: {}", ended.all());
        ensure!((ended.code == Some(0)) == outcome.is_empty(), "{name}: {}", ended.all());
        ensure!(site.state().join("fleet/membership").exists() == outcome.is_empty(), "{name}");
        if outcome.is_empty() {
            let mode = fs::metadata(site.state().join("fleet/membership"))?.permissions().mode();
            ensure!(mode & 0o777 == 0o600, "{mode:o}");
            ensure!(identity(&site)?["labels"][0][1] == "web");
            let again = join(&site, url, token)?;
            ensure!(again.stderr.contains("already in the fleet"), "{}", again.all());
        }
    }
    let secrets = fs::read_to_string(&once)?;
    let stored = fleet.query("SELECT token || ' ' || encode(digest, 'escape') FROM tokens")?;
    let secret = secrets.trim().split('-').nth(2).unwrap();
    ensure!(!stored.contains(secret), "the secret is in the database");
    ensure!(fleet.list("machines")?.len() == 1);
    // An agent may not join or leave.
    let site = Site::new("join agent")?;
    let mut command = site.command(&["fleet", "leave"]);
    command.env("CLAUDECODE", "1");
    let ended = crate::common::process::run(command, b"", Duration::from_secs(10))?;
    ensure!(ended.stderr.contains("only a person may"), "{}", ended.all());
    Ok(())
}

/// Half of its life is over: the machine gets a new certificate, and with its first use the old
/// one ends.
pub fn renewed() -> Result<()> {
    let fleet = Fleet::start("renewed")?;
    let site = fleet.machine("renewed")?;
    act(&site, 1)?;
    send_all(&site, Duration::from_secs(20))?;
    let old = certificate_of(&site)?;
    let half_over = identity(&site)?["expires_at"].as_u64().unwrap();
    // The seal keeps a test from changing the identity: the home's own key makes a new one.
    let home = portcullis_store::Home::open_root(site.state())?;
    let files = portcullis_fleet::FleetFiles::of_home(&home);
    let mut membership = files.read_membership()?.unwrap();
    membership.issued_at = 0;
    membership.expires_at = 1000;
    files.write_membership(&membership)?;
    act(&site, 1)?;
    send_all(&site, Duration::from_secs(20))?;
    let new = certificate_of(&site)?;
    ensure!(new.certificate != old.certificate && new.key != old.key);
    ensure!(identity(&site)?["expires_at"].as_u64().unwrap() >= half_over);
    let answer = request(&fleet, Some(&old), "GET /v1/heads", "", b"")?;
    ensure!(answer.refused() == (403, "unknown"), "{answer:?}");
    let answer = request(&fleet, Some(&new), "GET /v1/heads", "", b"")?;
    ensure!(answer.status == 200, "{answer:?}");
    fleet.has_journal(&site)
}

/// A machine leaves by itself, another one is revoked; a third one goes on.
pub fn left() -> Result<()> {
    let fleet = Fleet::start("left_fleet")?;
    let sites = [fleet.machine("left itself")?, fleet.machine("revoked")?, fleet.machine("stays")?];
    for site in &sites {
        act(site, 1)?;
        send_all(site, Duration::from_secs(20))?;
    }
    let left = certificate_of(&sites[0])?;
    let text = sites[0].output(&["fleet", "leave"])?;
    ensure!(text.contains("the hub keeps"), "{text}");
    ensure!(request(&fleet, Some(&left), "GET /v1/heads", "", b"")?.refused() == (403, "revoked"));
    ensure!(sites[0].output(&["fleet", "status"])?.contains("in no fleet"));
    fleet.output(&["hub", "revoke", &machine_of(&sites[1])?, "--reason", "it was lost"])?;
    act(&sites[1], 1)?;
    let status = send(&sites[1])?;
    ensure!(status["last_error"].as_str().unwrap().contains("it was lost"), "{status}");
    ensure!(status["waiting"].as_u64() > Some(0) && status["in_order"] == false, "{status}");
    act(&sites[2], 1)?;
    send_all(&sites[2], Duration::from_secs(20))?;
    fleet.has_journal(&sites[2])?;
    let unknown = fleet.run(&["hub", "revoke", "m-0"])?;
    ensure!(unknown.stderr.contains("there is no machine `m-0`"), "{}", unknown.all());
    // A machine whose hub is gone can leave all the same.
    drop(fleet);
    let refused = sites[2].run(&["fleet", "leave"])?;
    ensure!(refused.stderr.contains("--force"), "{}", refused.all());
    sites[2].output(&["fleet", "leave", "--force"])?;
    ensure!(self::status(&sites[2])?["hub"].is_null());
    Ok(())
}
