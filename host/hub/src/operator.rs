//! The person who runs a command, for the records that name one, and the audit of what they do.

use crate::audit::{Actor, AuditLog, Channel, NewEntry};
use crate::failure::Failure;
use crate::folder::read_receipt_key;
use anyhow::Result;
use deadpool_postgres::Transaction;
use portcullis_core::text::one_line;
use rustix::process::getuid;
use std::fs;
use std::path::Path;

/// The file with the names of users.
const USERS: &str = "/etc/passwd";
/// The variable in which `sudo` names its caller.
const CALLER: &str = "SUDO_USER";
/// The most characters of a name.
const MOST: usize = 64;

/// A person who runs a command of the hub.
pub struct Operator {
    actor: Actor,
    audit: AuditLog,
}

impl Operator {
    /// Returns the person who runs this process, with the audit of a hub.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let actor = Actor { name: name_operator(), channel: Channel::Command };
        Ok(Self { actor, audit: AuditLog::of_key(read_receipt_key(folder)?) })
    }

    /// Returns the person's name.
    pub fn name(&self) -> &str {
        &self.actor.name
    }

    /// Records what the person does in this transaction.
    pub async fn record(
        &self,
        transaction: &Transaction<'_>,
        entry: NewEntry,
    ) -> Result<(), Failure> {
        self.audit.append_entry(transaction, &self.actor, entry).await
    }
}

/// Returns the name of the user who runs this process; for root, with the one who became root. It
/// is what the system says, and proves no more than that.
fn name_operator() -> String {
    let id = getuid();
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let user = find_user(&users, id.as_raw()).unwrap_or_else(|| format!("user {}", id.as_raw()));
    let caller = std::env::var(CALLER).ok().filter(|name| id.is_root() && !name.is_empty());
    match caller {
        Some(caller) => format!("{} (as {user})", one_line(&caller, MOST)),
        None => user,
    }
}

fn find_user(users: &str, id: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == id).then(|| one_line(name, MOST))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nhub:x:1000:1000::/:/bin/sh\n";
        for (id, name) in [(0, Some("root")), (1000, Some("hub")), (7, None)] {
            assert_eq!(find_user(users, id).as_deref(), name, "{id}");
        }
    }
}
