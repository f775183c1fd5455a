//! The person who runs a command, for the records that name one.

use portcullis_core::text::one_line;
use rustix::process::getuid;
use std::fs;

/// The file with the names of users.
const USERS: &str = "/etc/passwd";
/// The variable in which `sudo` names its caller.
const CALLER: &str = "SUDO_USER";
/// The most characters of a name.
const MOST: usize = 64;

/// Returns the name of the user who runs this process; for root, with the one who became root. It
/// is what the system says, and proves no more than that.
pub fn name_operator() -> String {
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
