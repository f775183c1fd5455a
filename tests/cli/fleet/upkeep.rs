//! The hub's upkeep: retention, incidents that a person settles, and the bound on them.

use super::fleets::{Fleet, machine_of};
use super::wire::{batch, certificate_of, post, records};
use anyhow::{Result, ensure};
use serde_json::json;
use std::fs;

/// Old partitions go as a whole, and the heads stay.
pub fn retention() -> Result<()> {
    let mut fleet = Fleet::start("retention")?;
    let site = fleet.machine("retention")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    ensure!(post(&fleet, &own, &batch(&machine, records(1, 6, "own")))?.status == 200);
    // Three of them were stored long ago.
    fleet.query(
        "CREATE TABLE records_20200101 PARTITION OF records \
         FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00'); \
         UPDATE records SET stored_at = '2020-01-01 12:00:00+00' WHERE sequence <= 3",
    )?;
    let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'records'::regclass";
    let before: u32 = fleet.query(partitions)?.parse()?;
    fleet.replace_replica(0)?;
    ensure!(fleet.query(partitions)? == before.to_string(), "dropped without being asked to");
    let path = fleet.folder.join("hub.toml");
    fs::write(&path, format!("{}retention_days = 30\n", fs::read_to_string(&path)?))?;
    fleet.replace_replica(0)?;
    let start = std::time::Instant::now();
    while fleet.query(partitions)? != (before - 1).to_string() {
        ensure!(start.elapsed().as_secs() < 20, "not dropped");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    ensure!(fleet.query("SELECT string_agg(sequence::text, ' ') FROM records")? == "4 5 6");
    // The journal goes on where it was, and another past is still found.
    ensure!(post(&fleet, &own, &batch(&machine, records(6, 7, "own")))?.status == 200);
    let forged = post(&fleet, &own, &batch(&machine, records(7, 9, "other")))?;
    ensure!(forged.refused() == (409, "incident"), "{forged:?}");
    Ok(())
}

/// A person settles an incident; it opens again if it goes on.
pub fn settled() -> Result<()> {
    let fleet = Fleet::start("settled")?;
    let site = fleet.machine("settled")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    ensure!(post(&fleet, &own, &batch(&machine, records(1, 3, "own")))?.status == 200);
    let forged = batch(&machine, records(4, 5, "other"));
    ensure!(post(&fleet, &own, &forged)?.refused() == (409, "incident"));
    let id = fleet.list("incidents")?[0]["incident"].to_string();
    let reason = "restored from\u{1b}[2J a backup'; DROP TABLE incidents; --";
    let shown = fleet.output(&["hub", "incidents", "settle", &id, "--reason", reason])?;
    ensure!(shown.contains("settled incident"), "{shown}");
    let incident = fleet.list("incidents")?.remove(0);
    ensure!(incident["settled_at"].is_number() && incident["settled_by"].is_string(), "{incident}");
    ensure!(fleet.list("machines")?[0]["incidents"] == 0);
    let shown = fleet.output(&["hub", "incidents"])?;
    ensure!(shown.contains("settled by") && shown.contains("a backup"), "{shown}");
    ensure!(!shown.contains('\u{1b}'), "{shown:?}");
    ensure!(post(&fleet, &own, &forged)?.refused() == (409, "incident"));
    let incident = fleet.list("incidents")?.remove(0);
    ensure!(incident["settled_at"].is_null() && incident["times"] == 2, "{incident}");
    ensure!(fleet.list("machines")?[0]["incidents"] == 1);
    let missing = fleet.run(&["hub", "incidents", "settle", "999", "--reason", "x"])?;
    ensure!(missing.stderr.contains("there is no incident 999"), "{}", missing.all());
    Ok(())
}

/// A machine that names another journal each time does not fill the table.
pub fn bounded() -> Result<()> {
    let fleet = Fleet::start("bounded")?;
    let site = fleet.machine("bounded")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    for number in 0..105 {
        let mut forged = batch(&machine, records(1, 2, "own"));
        forged["journal"] = json!(format!("{number:032x}"));
        forged["records"][0]["document"] = json!("{}");
        ensure!(post(&fleet, &own, &forged)?.refused() == (409, "incident"));
    }
    ensure!(fleet.query("SELECT count(*) FROM incidents")? == "100");
    let listed = fleet.list("machines")?;
    ensure!(listed[0]["incidents"] == 100 && listed[0]["incidents_omitted"] == 5, "{listed:?}");
    let shown = fleet.output(&["hub", "machines"])?;
    ensure!(shown.contains("5 further incidents not stored"), "{shown}");
    // Stored records are still counted.
    let mut again = batch(&machine, records(1, 2, "own"));
    again["journal"] = json!(format!("{:032x}", 0));
    again["records"][0]["document"] = json!("{}");
    ensure!(post(&fleet, &own, &again)?.refused() == (409, "incident"));
    ensure!(fleet.query("SELECT max(times) FROM incidents")? == "2");
    Ok(())
}
