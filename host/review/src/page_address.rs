//! The address of the service's page, which a file in the state folder tells other processes.

use portcullis_config::boundary::{STATE, user_of_state};
use portcullis_fs::{Links, read_file, replace_bytes};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = "page.address";
const MOST_BYTES: u64 = 64;
/// The name under which a browser finds this machine: it resolves every name below `localhost` by
/// itself. A cookie for it does not go to what listens on other ports of `localhost`.
pub const PAGE_HOST: &str = "portcullis.localhost";

/// Tells where the page is.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn announce_page(state: &Path, address: &str) -> io::Result<()> {
    replace_bytes(&path(state), 0o600, address.as_bytes())
}

/// Forgets where the page was, when it ends.
pub fn forget_page(state: &Path) {
    // A page that is gone is noticed by whoever opens it.
    let _removed = fs::remove_file(path(state));
}

/// Returns where the page is; `None` if there is none, or the file is not ours: its address must
/// lead nowhere but to this machine.
#[must_use]
pub fn find_page(state: &Path) -> Option<String> {
    let bytes = read_file(&path(state), MOST_BYTES, Links::Refuse).ok()??;
    let address = String::from_utf8(bytes).ok()?;
    let port = address.strip_prefix("http://")?.strip_prefix(PAGE_HOST)?.strip_prefix(':')?;
    let is_number = port.len() <= 5 && port.bytes().all(|digit| digit.is_ascii_digit());
    let is_port = is_number && port.parse::<u16>().is_ok_and(|port| port > 0);
    is_port.then_some(address)
}

/// Returns the path of the file. The service behind a boundary has one page for all users.
fn path(state: &Path) -> PathBuf {
    let folder = if user_of_state(state).is_some() { Path::new(STATE) } else { state };
    folder.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_this_machine_counts() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        assert_eq!(find_page(state), None);
        for (address, counts) in [
            ("http://portcullis.localhost:4747", true),
            ("http://portcullis.localhost:4747@evil.example", false),
            ("http://portcullis.localhost:99999", false),
            ("http://portcullis.localhost:0", false),
            ("http://portcullis.localhost:+47", false),
            ("https://evil.example", false),
            ("", false),
        ] {
            announce_page(state, address).unwrap();
            let expected = counts.then_some(address);
            assert_eq!(find_page(state).as_deref(), expected, "{address}");
        }
        forget_page(state);
        assert_eq!(find_page(state), None);
    }
}
