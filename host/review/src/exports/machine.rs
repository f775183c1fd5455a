//! The origin of records, for a receiver that gets those of many machines.

use portcullis_core::finding::AuditRecord;
use portcullis_core::text::one_line;
use portcullis_store::{Home, to_hex};

/// The files with this machine's name on Linux.
#[cfg(target_os = "linux")]
const NAMES: [&str; 2] = ["/proc/sys/kernel/hostname", "/etc/hostname"];
const NAME_BYTES: usize = 255;
/// The bytes of a home's id, as hexadecimal digits.
const ID_DIGITS: usize = 32;

/// The machine and the journal of exported records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOrigin {
    /// The machine's name; empty if it is unknown.
    pub host: String,
    /// A name for this home's journal, which says nothing else.
    pub journal: String,
}

impl RecordOrigin {
    /// Returns the origin of a home's records.
    #[must_use]
    pub fn of_home(home: &Home) -> Self {
        let mut journal = to_hex(&home.derive_key("portcullis 2026 export journal id"));
        journal.truncate(ID_DIGITS);
        Self { host: read_machine_name(), journal }
    }

    /// Adds the origin to a record's attributes, as `host` and `journal`.
    pub fn add_to(&self, record: &mut AuditRecord) {
        record.attributes.push(("host".into(), self.host.clone()));
        record.attributes.push(("journal".into(), self.journal.clone()));
    }
}

/// Returns this machine's name; empty if it is unknown.
#[must_use]
pub fn read_machine_name() -> String {
    one_line(ask_system().unwrap_or_default().trim(), NAME_BYTES)
}

#[cfg(target_os = "linux")]
fn ask_system() -> Option<String> {
    NAMES.iter().find_map(|path| std::fs::read_to_string(path).ok())
}

#[cfg(not(target_os = "linux"))]
fn ask_system() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}
