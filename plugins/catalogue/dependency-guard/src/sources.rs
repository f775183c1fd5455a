//! Where packages come from: which registries and addresses are the usual ones.

use crate::ecosystems::Ecosystem;
use crate::globs::matches_glob;
use crate::packages::find_address;

/// Returns a registry as `host/path`, none if it is the public one or on this machine.
pub fn find_registry(ecosystem: Ecosystem, address: &str) -> Option<String> {
    let address = address.trim().trim_matches(['"', '\'']);
    // Words of GOPROXY, and folders that hold packages.
    if matches!(address, "" | "direct" | "off" | "null" | "none")
        || address.starts_with(['.', '/', '~'])
    {
        return None;
    }
    let is_open = address.starts_with("http://");
    let plain = find_address(address.trim_start_matches("sparse+").trim_start_matches("registry+"))
        .unwrap_or_else(|| address.to_owned());
    let host = find_host(&plain);
    let is_known = ecosystem.public_hosts().contains(&host.as_str())
        || plain.starts_with("github.com/rust-lang/crates.io-index");
    // Without TLS anybody on the way can answer for the registry.
    let is_usual = is_known && !is_open;
    (!is_usual && !is_local(&host)).then_some(plain)
}

/// Returns the host of an address, in lower case and without its port.
pub fn find_host(address: &str) -> String {
    let authority = address.split('/').next().unwrap_or_default();
    let host = if authority.starts_with('[') {
        authority.split(']').next().unwrap_or_default().trim_start_matches('[')
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    host.to_ascii_lowercase()
}

/// Returns true if a pattern of the settings accepts an address: a host, or `host/path` with stars.
pub fn is_accepted(patterns: &[String], address: &str) -> bool {
    let host = find_host(address);
    patterns.iter().any(|pattern| {
        if pattern.contains('/') {
            matches_glob(pattern, address)
        } else {
            matches_glob(pattern, &host)
        }
    })
}

/// Returns true for this machine itself.
fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1" | "0.0.0.0") || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_differ_from_the_public_one() {
        use Ecosystem::{Crates, Go, Npm, Pypi};
        for (ecosystem, address, expected) in [
            (Npm, "https://registry.npmjs.org/", None),
            (Npm, "http://registry.npmjs.org/", Some("registry.npmjs.org")),
            (Npm, "https://npm.example.com:8443/a/", Some("npm.example.com:8443/a")),
            (Npm, "http://localhost:4873", None),
            (Pypi, "https://user:pw@pypi.example.com/simple", Some("pypi.example.com/simple")),
            (Pypi, "https://download.pytorch.org/whl/cpu", None),
            (Pypi, "./wheels", None),
            (Crates, "sparse+https://index.crates.io/", None),
            (Crates, "company", Some("company")),
            (Go, "direct", None),
        ] {
            assert_eq!(find_registry(ecosystem, address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn settings_accept_hosts_and_paths() {
        let patterns = ["npm.example.com".to_owned(), "github.com/acme/*".to_owned()];
        assert!(is_accepted(&patterns, "npm.example.com:8443/a"));
        assert!(is_accepted(&patterns, "github.com/acme/thing.git"));
        assert!(!is_accepted(&patterns, "github.com/other/thing"));
    }
}
