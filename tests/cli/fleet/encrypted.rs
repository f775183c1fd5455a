//! A database that is reached over TLS: its certificate has to be of the configured authority, and for
//! the name by which the hub reaches it.

use super::cluster::Cluster;
use super::fleets::{Fleet, free_port, machine_of};
use super::wire::{batch, certificate_of, post, records};
use crate::authority::Authority;
use crate::common::Ground;
use anyhow::{Result, ensure};
use std::fs;

pub fn database() -> Result<()> {
    let ground = Ground::get()?;
    let folder = |name: &str| {
        let folder = ground.root.join(name);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    let authority = Authority::new(&folder("database-authority")?);
    let other = Authority::new(&folder("other-authority")?);
    let port = free_port()?;
    let cluster: &'static Cluster = Box::leak(Box::new(Cluster::create_with_tls(
        "cluster-tls",
        port,
        &authority.certificate,
        &authority.key,
    )?));
    let checked = reach(cluster, port, &authority, &other);
    cluster.stop()?;
    checked
}

fn reach(cluster: &'static Cluster, port: u16, own: &Authority, other: &Authority) -> Result<()> {
    let name = "encrypted";
    let line = |host: &str, authority: &Authority| {
        format!(
            "database = \"host={host} port={port} user=portcullis dbname={name}\"\n\
             database_authority = \"{}\"\n",
            authority.root.display()
        )
    };
    let rest = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.starts_with("database"));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let change = |text: &str| format!("{}{}", line("127.0.0.1", own), rest(text));
    let fleet = Fleet::configured_on(cluster, name, change)?;
    let site = fleet.machine("encrypted")?;
    let (certificate, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let answer = post(&fleet, &certificate, &batch(&machine, records(1, 3, "own")))?;
    ensure!(answer.status == 200, "{answer:?}");
    let plain = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE application_name = 'portcullis-hub' AND NOT ssl";
    ensure!(fleet.query(plain)? == "0", "a connection is not encrypted");
    let path = fleet.folder.join("hub.toml");
    let text = fs::read_to_string(&path)?;
    for (what, lines, said) in [
        ("the right one", line("127.0.0.1", own), None),
        ("another authority", line("127.0.0.1", other), Some("invalid peer certificate")),
        ("another name", line("localhost", own), Some("not valid for name")),
    ] {
        fs::write(&path, format!("{lines}{}", rest(&text)))?;
        let ended = fleet.run(&["hub", "machines"])?;
        match said {
            None => ensure!(ended.code == Some(0), "{what}: {}", ended.all()),
            Some(said) => ensure!(
                ended.code == Some(1) && ended.stderr.contains(said),
                "{what}: {}",
                ended.all()
            ),
        }
    }
    Ok(())
}
