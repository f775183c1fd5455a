//! The units with which a user's systemd starts the resident service: written by `install
//! --service`, taken back by `uninstall --service`.
//!
//! They are edited like the settings of a client: shown before, kept as a backup, and put back byte
//! for byte.

use super::edit::list_missing_folders;
use super::report::InstallReport;
use super::{append_record, remove_empty};
use crate::error::{Context, Error, Result};
use crate::service_unit::{UnitKind, write_service_unit, write_socket_unit};
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::{SettingsFile, read_settings};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::{Paths, own_program, unit_files};
use portcullis_core::text::one_line;
use portcullis_store::Home;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The units, in the order in which they start: systemd starts no socket whose service runs.
const UNITS: [&str; 2] = ["portcullis.socket", "portcullis.service"];
/// The most bytes of a unit.
const MOST_BYTES: u64 = 64 << 10;
const MODE: u32 = 0o644;
/// The ways on where the service does not start.
const START_HINT: &str = "`systemctl --user status portcullis` and `journalctl --user -u portcullis` say more; without \
                          --service the hooks need no service";

/// The units of a user, each with the text that it should have; none for a file that should go.
#[derive(Default)]
pub struct ResidentUnits {
    units: Vec<UnitChange>,
}

struct UnitChange {
    found: SettingsFile,
    receipt: Option<BackupReceipt>,
    after: Option<Vec<u8>>,
}

impl ResidentUnits {
    /// Plans the units of an installation; `None` if no systemd of this user runs, which the report
    /// says.
    ///
    /// # Errors
    /// Fails if a unit cannot be read, or a path cannot be written in one.
    pub fn plan_setup(
        paths: &Paths,
        home: Option<&Home>,
        report: &mut InstallReport,
    ) -> Result<Option<Self>> {
        if !is_manager_running(paths) {
            report.print_line(
                "no systemd of your user runs here: start `portcullis serve` yourself, for example when you log in",
            );
            return Ok(None);
        }
        let program = own_program().context("cannot determine where this program is")?;
        let texts = [
            write_service_unit(UnitKind::User, &program, paths)?,
            write_socket_unit(UnitKind::User, paths)?,
        ];
        let mut units = Vec::new();
        for (path, text) in unit_files(paths).into_iter().zip(texts) {
            let unit = UnitChange::read(&path, home)?;
            units.push(UnitChange { after: Some(text.into_bytes()), ..unit });
        }
        Ok(Some(Self { units }))
    }

    /// Plans their removal: what an installation wrote becomes what was there before. A unit that
    /// somebody has changed since stays.
    ///
    /// # Errors
    /// Fails if a unit cannot be read.
    pub fn plan_removal(paths: &Paths, home: &Home, report: &mut InstallReport) -> Result<Self> {
        let mut units = Vec::new();
        for path in unit_files(paths) {
            let unit = UnitChange::read(&path, Some(home))?;
            if let Some(receipt) = unit.own_receipt() {
                let before = backup::read_before(home, receipt)?;
                units.push(UnitChange { after: before, ..unit });
            } else if unit.receipt.is_some() && unit.found.bytes.is_some() {
                report.print_warning(&format!(
                    "`{}` was changed since the installation: it stays as it is",
                    path.display()
                ));
            }
        }
        Ok(Self { units })
    }

    /// Returns true if a file has to be written or removed.
    pub fn changes(&self) -> bool {
        self.units.iter().any(UnitChange::changes)
    }

    /// Names the files that change.
    pub fn name_changed(&self) -> Vec<String> {
        let changed = self.units.iter().filter(|unit| unit.changes());
        changed.map(|unit| format!("`{}`", unit.found.path.display())).collect()
    }

    /// Shows the changes, line by line.
    pub fn print(&self, report: &mut InstallReport) {
        for unit in self.units.iter().filter(|unit| unit.changes()) {
            match &unit.after {
                Some(after) => report.print_diff(&unit.found, after),
                None => report.print_line(&format!(
                    "`{}` will be removed: the installation created it",
                    unit.found.path.display()
                )),
            }
        }
    }

    /// Writes the units, and starts the service. If either fails, everything is as before.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or systemd does not start the service.
    pub fn set_up(&self, paths: &Paths, home: &Home, report: &mut InstallReport) -> Result<()> {
        let mut changed = self.units.iter().filter(|unit| unit.changes());
        let set_up = changed.try_for_each(|unit| unit.write(home, report)).and_then(|()| {
            start_units(paths, self.changes()).map_err(|error| error.with_hint(START_HINT))
        });
        if let Err(error) = set_up {
            return Err(match self.take_back(paths, home) {
                Ok(()) => error,
                Err(second) => {
                    error.with_hint(format!("the units could not be put back: {second}"))
                }
            });
        }
        if self.changes() {
            let files = self.name_changed().join(", ");
            append_record(home, "install", &format!("units written to {files}"), report);
        }
        report.print_line("systemd runs the resident service now, and when you log in");
        Ok(())
    }

    /// Stops the service, and removes the units or puts back what was there before.
    ///
    /// # Errors
    /// Fails if a file cannot be changed.
    pub fn remove(&self, paths: &Paths, home: &Home, report: &mut InstallReport) -> Result<()> {
        stop_units(paths, report);
        for unit in &self.units {
            unit.restore()?;
        }
        forget_backups(home, self.units.iter().filter_map(|unit| unit.receipt.as_ref()))?;
        if is_manager_running(paths) {
            run_systemctl(paths, &["daemon-reload"])?;
        }
        if !self.units.is_empty() {
            let files = self.name_changed().join(", ");
            append_record(home, "uninstall", &format!("a person removed {files}"), report);
        }
        Ok(())
    }

    fn take_back(&self, paths: &Paths, home: &Home) -> Result<()> {
        // A unit that did not start needs no stop.
        let _stopped = run_systemctl(paths, &[&["disable", "--now"][..], &UNITS].concat());
        let mut receipts = Vec::new();
        for unit in self.units.iter().filter(|unit| unit.changes()) {
            let written = UnitChange::read(&unit.found.path, Some(home))?;
            match (unit.own_receipt(), &written.receipt) {
                // The unit of an earlier installation is back, and what was there before it is kept.
                (Some(earlier), Some(newer)) => {
                    let before = backup::read_before(home, newer)?;
                    backup::save_backup(home, earlier, before.as_deref())?;
                }
                (_, newer) => receipts.extend(newer.clone()),
            }
            UnitChange { after: unit.found.bytes.clone(), ..written }.restore()?;
        }
        forget_backups(home, receipts.iter())?;
        run_systemctl(paths, &["daemon-reload"])
    }
}

impl UnitChange {
    fn read(path: &Path, home: Option<&Home>) -> Result<Self> {
        let found = read_settings(path, MOST_BYTES)?;
        let receipt = home.map(|home| backup::read_receipt(home, path)).transpose()?.flatten();
        Ok(Self { found, receipt, after: None })
    }

    /// Returns the receipt of an installation, if the unit is still as that wrote it.
    fn own_receipt(&self) -> Option<&BackupReceipt> {
        let hash = self.found.bytes.as_deref().map(backup::hash_content);
        self.receipt.as_ref().filter(|receipt| hash.as_ref() == Some(&receipt.after))
    }

    fn changes(&self) -> bool {
        self.found.bytes != self.after
    }

    fn write(&self, home: &Home, report: &mut InstallReport) -> Result<()> {
        let Some(after) = &self.after else { return Ok(()) };
        self.found.check_writable()?;
        // An update of our own unit: what was there before the first one is still what comes back.
        let earlier = self.own_receipt();
        let before = match earlier {
            Some(earlier) => backup::read_before(home, earlier)?,
            None => self.found.bytes.clone(),
        };
        let receipt = BackupReceipt {
            file: self.found.path.clone(),
            before: before.as_deref().map(backup::hash_content),
            after: backup::hash_content(after),
            folders: match earlier {
                Some(earlier) => earlier.folders.clone(),
                None => list_missing_folders(&self.found),
            },
            kept: Vec::new(),
            program: None,
            at: now_ms(),
        };
        let copy = backup::save_backup(home, &receipt, before.as_deref())?;
        drop(self.found.replace_content(after, MODE)?);
        if before.is_some() {
            report.print_line(&format!("the previous file is kept in `{}`", copy.display()));
        }
        Ok(())
    }

    fn restore(&self) -> Result<()> {
        match &self.after {
            Some(before) => drop(self.found.replace_content(before, MODE)?),
            None if self.found.bytes.is_some() => self.found.remove()?,
            None => {}
        }
        Ok(())
    }
}

/// Removes the receipts of files that are as before, and the folders that were made for them.
fn forget_backups<'a>(
    home: &Home,
    receipts: impl Iterator<Item = &'a BackupReceipt>,
) -> Result<()> {
    for receipt in receipts {
        remove_empty(&receipt.folders);
        backup::remove_backup(home, receipt)?;
    }
    Ok(())
}

/// Returns true if a systemd of this user runs.
fn is_manager_running(paths: &Paths) -> bool {
    runtime_folder(paths).join("systemd/private").exists()
}

fn runtime_folder(paths: &Paths) -> PathBuf {
    let usual = || Path::new("/run/user").join(geteuid().as_raw().to_string());
    paths.environment.folder("XDG_RUNTIME_DIR").unwrap_or_else(usual)
}

/// Starts the units, and again those that run with another text.
fn start_units(paths: &Paths, restarts: bool) -> Result<()> {
    run_systemctl(paths, &["daemon-reload"])?;
    if restarts {
        // A socket with another path is bound only after both have stopped.
        run_systemctl(paths, &[&["stop"][..], &UNITS].concat())?;
    }
    run_systemctl(paths, &[&["enable"][..], &UNITS].concat())?;
    for unit in UNITS {
        run_systemctl(paths, &["start", unit])?;
    }
    Ok(())
}

/// Stops the units as far as they run.
fn stop_units(paths: &Paths, report: &mut InstallReport) {
    if !is_manager_running(paths) {
        return;
    }
    if let Err(error) = run_systemctl(paths, &[&["disable", "--now"][..], &UNITS].concat()) {
        report.print_warning(&error.to_string());
    }
}

fn run_systemctl(paths: &Paths, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    command.env("XDG_RUNTIME_DIR", runtime_folder(paths));
    let shown = format!("systemctl --user {}", arguments.join(" "));
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::io(format!("`{shown}` failed: {}", one_line(said.trim(), 400))))
}
