//! Keys that sign bundles, and the lines of a policy that trusts them.

use crate::common::site::Site;
use crate::done;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Returns the path of the passphrase of all keys of a site.
pub fn passphrase(site: &Site) -> String {
    site.root().join("passphrase").display().to_string()
}

/// Makes a pair of keys, and returns the path of the secret one.
pub fn make_key(site: &Site, name: &str) -> Result<String> {
    let (path, secret) = (site.root().join(name).display().to_string(), passphrase(site));
    fs::write(&secret, "a passphrase of a test\n")?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
    done(site, &["bundle", "key", "new", "--output", &path, "--passphrase-file", &secret])?;
    Ok(path)
}

/// Returns a policy's lines for a key.
pub fn policy_key(name: &str, path: &str) -> Result<String> {
    let public = fs::read_to_string(format!("{path}.pub"))?;
    Ok(format!("[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{public}\"\"\"\n"))
}
