//! Installing and updating, killed at fifty moments: afterwards the old set runs, or the new one,
//! complete.

use crate::common::reply::Answer;
use crate::common::trial;
use crate::machine::{ASKS, Machine, NOTICES, copied};
use crate::registry::Plain;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "killed: while another version is installed, the old set or the new one is there",
            installing,
        ),
        trial("killed: while a bundle is updated, the old set or the new one is there", updating),
    ]
}

/// The number of kills.
const KILLS: u32 = 50;

fn installing() -> Result<()> {
    let machine = Machine::new("killed")?;
    let (old, new) = (machine.publish("1.0.0", NOTICES)?, machine.publish("1.1.0", ASKS)?);
    machine.done(&["bundle", "install", &old])?;
    killed(&machine, &["bundle", "install", &new, "--yes"])
}

fn updating() -> Result<()> {
    let Some(plain) = Plain::start() else { return Ok(()) };
    let machine = Machine::new("killed updating")?;
    for (version, plugin) in [("1.0.0", NOTICES), ("1.1.0", ASKS)] {
        machine.done(&plain.words(&[
            "bundle",
            "push",
            &machine.publish(version, plugin)?,
            &plain.reference(""),
        ]))?;
    }
    machine.done(&plain.words(&["bundle", "install", &plain.reference(":1.0.0")]))?;
    killed(&machine, &plain.words(&["bundle", "update", "--yes"]))
}

/// Updates from 1.0.0, which does not ask, to 1.1.0, which does.
fn killed(machine: &Machine, command: &[&str]) -> Result<()> {
    let saved = machine.site.root().join("saved");
    copied(&machine.bundles_folder(), &saved)?;
    let lock = fs::read(machine.lock())?;
    let begun = Instant::now();
    machine.done(command)?;
    let whole = begun.elapsed();
    let mut seen = [0, 0];
    for kill in 0..2 * KILLS {
        // A machine that is busier than during the first run gets more time, or less.
        let is_over = kill >= KILLS;
        if is_over && seen[0] > 0 && seen[1] > 0 {
            break;
        }
        let late = f64::from(kill.saturating_sub(KILLS));
        let share = match (is_over, seen[1] == 0) {
            (false, _) => f64::from(kill * 7 % KILLS) / f64::from(KILLS) * 1.1,
            (true, true) => 1.0 + late / 2.0,
            (true, false) => 0.0,
        };
        copied(&saved, &machine.bundles_folder())?;
        fs::write(machine.lock(), &lock)?;
        let mut child =
            machine.site.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // The delays are spread over the command's duration and a little beyond, and are all
        // different.
        std::thread::sleep(whole.mul_f64(share) + Duration::from_micros(u64::from(kill) * 13));
        child.kill()?;
        child.wait()?;
        let listed = machine.list()?;
        let locked = listed["locked"].as_array().context("no list")?;
        ensure!(locked.len() == 1 && locked[0]["holds"] == true, "kill {kill}: {listed}");
        let reply = machine.migration()?;
        let which = match (locked[0]["locked"]["version"].as_str(), reply.answer == Answer::Asked) {
            (Some("1.0.0"), false) => 0,
            (Some("1.1.0"), true) => 1,
            (version, _) => anyhow::bail!(
                "kill {kill}: {version:?} is locked, and it answers {:?}: {}",
                reply.answer,
                reply.said
            ),
        };
        ensure!(!reply.said.contains("could not review"), "kill {kill}: {}", reply.said);
        seen[which] += 1;
        // Repeating the command succeeds.
        machine.done(command)?;
        machine.runs()?;
        let names: Vec<String> = fs::read_dir(machine.site.project())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        ensure!(
            !names.iter().any(|name| name.ends_with(".draft")),
            "kill {kill} left a draft behind: {names:?}"
        );
    }
    ensure!(seen[0] > 0 && seen[1] > 0, "always the same one: {seen:?}");
    Ok(())
}
