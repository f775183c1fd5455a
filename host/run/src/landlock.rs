//! Confines the calling process and its future children with Landlock.

use crate::confinement::{Confinement, ConfinementReport, Enforced, Kernel};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use std::path::Path;

/// The newest Landlock version whose rights are restricted here. Later ones restrict operations
/// that programs expect to work (connecting to sockets in folders) and are added once they have
/// been tried.
const NEWEST_ABI: ABI = ABI::V7;

/// The paths that can be written everywhere, if they exist: writing there changes no file.
const DEVICES: [&str; 10] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/fd",
];

/// Applies the confinement permanently. Returns an error if it is required and cannot be enforced,
/// or if a folder does not exist.
pub(crate) fn confine(confinement: &Confinement) -> Result<(), String> {
    if confinement.is_nothing() {
        return Ok(());
    }
    if confinement.required
        && let Some(missing) = ConfinementReport::of_confinement(confinement).missing()
    {
        return Err(format!(
            "the kernel cannot confine it as required ({missing}): leave that out, or let it be best effort"
        ));
    }
    rules(confinement)?.restrict_self().map(|_| ()).map_err(refused)
}

fn refused(error: impl Into<RulesetError>) -> String {
    format!("it cannot be confined: {}", error.into())
}

fn rules(confinement: &Confinement) -> Result<RulesetCreated, String> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    if confinement.write.is_some() {
        ruleset = ruleset.handle_access(AccessFs::from_write(NEWEST_ABI)).map_err(refused)?;
    }
    if confinement.connect.is_some() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp).map_err(refused)?;
    }
    if confinement.signals {
        ruleset = ruleset.scope(Scope::from_all(NEWEST_ABI)).map_err(refused)?;
    }
    let mut created = ruleset.create().map_err(refused)?;
    let named = confinement.write.iter().flatten().map(std::path::PathBuf::as_path);
    let devices = DEVICES
        .into_iter()
        .map(Path::new)
        .filter(|path| confinement.write.is_some() && path.exists());
    for path in named.chain(devices) {
        let handle =
            PathFd::new(path).map_err(|error| format!("it cannot be confined: {error}"))?;
        created = created.add_rule(PathBeneath::new(handle, below(path))).map_err(refused)?;
    }
    for port in confinement.connect.iter().flatten() {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(refused)?;
    }
    Ok(created)
}

/// Returns the rights that can be granted on a path: a file has fewer of them than a folder.
fn below(path: &Path) -> BitFlags<AccessFs> {
    let all = AccessFs::from_write(NEWEST_ABI);
    if path.is_dir() { all } else { all & AccessFs::from_file(NEWEST_ABI) }
}

impl Kernel {
    /// Queries the running kernel. This restricts nothing.
    pub fn ask_kernel() -> Self {
        let file = |right: AccessFs| strict().handle_access(right).is_ok();
        Self {
            write: file(AccessFs::WriteFile),
            truncate: file(AccessFs::Truncate),
            devices: file(AccessFs::IoctlDev),
            connect: strict().handle_access(AccessNet::ConnectTcp).is_ok(),
            signals: strict().scope(Scope::Signal).is_ok(),
        }
    }
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

impl ConfinementReport {
    /// Returns the report of a confinement on the running kernel.
    pub fn of_confinement(confinement: &Confinement) -> Self {
        Self::on_kernel(confinement, Kernel::ask_kernel())
    }

    /// Returns the report of a confinement on a kernel.
    pub fn on_kernel(confinement: &Confinement, kernel: Kernel) -> Self {
        let row = |asked: bool, can: bool| match (asked, can) {
            (false, _) => Enforced::NotAsked,
            (true, true) => Enforced::Yes,
            (true, false) => Enforced::Missing,
        };
        let (write, connect, signals) =
            (confinement.write.is_some(), confinement.connect.is_some(), confinement.signals);
        let rows = vec![
            (
                "making, writing and removing files outside the named folders",
                row(write, kernel.write),
            ),
            ("emptying files outside the named folders", row(write, kernel.truncate)),
            ("commands to devices outside the named folders", row(write, kernel.devices)),
            ("TCP connections to other ports", row(connect, kernel.connect)),
            ("signals to processes that it did not start", row(signals, kernel.signals)),
            ("abstract sockets of others", row(signals, kernel.signals)),
            ("gaining privileges (sudo)", row(!confinement.is_nothing(), true)),
            ("modes, owners, times and attributes of files", Enforced::Never),
            ("reading files", Enforced::Never),
            ("UDP, DNS and raw sockets", Enforced::Never),
            ("sockets in folders (docker.sock)", Enforced::Never),
        ];
        Self { rows }
    }

    /// Returns the restrictions that were asked for and are not enforced, in one line; `None` if
    /// all are.
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<&str> =
            self.rows.iter().filter(|row| row.1 == Enforced::Missing).map(|row| row.0).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}
