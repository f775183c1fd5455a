//! Hosts that belong together, so that a setting can name them all.

use crate::host::Host;
use crate::list::is_public;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where packages come from. Whoever may publish there can put data there too, so the group is for fetching alone.
pub(crate) const REGISTRIES: &[&str] = &[
    "api.nuget.org",
    "archive.ubuntu.com",
    "auth.docker.io",
    "cache.nixos.org",
    "cdn.cocoapods.org",
    "conda.anaconda.org",
    "crates.io",
    "deb.debian.org",
    "files.pythonhosted.org",
    "formulae.brew.sh",
    "hackage.haskell.org",
    "hex.pm",
    "index.crates.io",
    "index.rubygems.org",
    "jsr.io",
    "nodejs.org",
    "npm.jsr.io",
    "nuget.org",
    "packagist.org",
    "plugins.gradle.org",
    "production.cloudflare.docker.com",
    "proxy.golang.org",
    "pub.dev",
    "pypi.org",
    "registry-1.docker.io",
    "registry.npmjs.org",
    "registry.terraform.io",
    "registry.yarnpkg.com",
    "repo.anaconda.com",
    "repo.hex.pm",
    "repo.maven.apache.org",
    "repo.packagist.org",
    "repo1.maven.org",
    "rubygems.org",
    "security.debian.org",
    "security.ubuntu.com",
    "services.gradle.org",
    "static.crates.io",
    "static.rust-lang.org",
    "sum.golang.org",
];

/// Where code lies. Anybody may put something there, so this group too is for fetching alone.
pub(crate) const CODE_HOSTS: &[&str] = &[
    "api.github.com",
    "bitbucket.org",
    "codeberg.org",
    "codeload.github.com",
    "git.sr.ht",
    "github.com",
    "gitlab.com",
    "objects.githubusercontent.com",
    "raw.githubusercontent.com",
    "release-assets.githubusercontent.com",
];

/// The names that the facts give to a cloud's own interface. The address of a bucket or a function is not among them.
const CLOUDS: &[&str] = &["amazonaws.com", "googleapis.com", "management.azure.com"];

/// Returns true for the interface of a cloud.
pub(crate) fn is_cloud(host: &Host) -> bool {
    matches!(host, Host::Name(name) if CLOUDS.contains(&name.as_str()))
}

/// Names that lead to any other host; nobody sees which before it is contacted.
const SHORTENERS: &[&str] = &[
    "bit.ly",
    "buff.ly",
    "cutt.ly",
    "goo.gl",
    "is.gd",
    "lnkd.in",
    "ow.ly",
    "rb.gy",
    "rebrand.ly",
    "s.id",
    "shorturl.at",
    "t.co",
    "t.ly",
    "tiny.cc",
    "tinyurl.com",
    "v.gd",
];

/// Services that hand out credentials to whoever runs on the machine.
const METADATA_NAMES: &[&str] =
    &["metadata.google.internal", "metadata.goog", "metadata", "instance-data"];
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 169, 253),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
];

/// A group that a setting can name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Group {
    Registries,
    Loopback,
    CodeHosts,
    Private,
}

impl Group {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "registries" => Some(Self::Registries),
            "loopback" => Some(Self::Loopback),
            "code_hosts" => Some(Self::CodeHosts),
            "private" => Some(Self::Private),
            _ => None,
        }
    }

    /// Returns true if the group holds the host; `sends` says that data goes there.
    pub(crate) fn holds(self, host: &Host, sends: bool) -> bool {
        match (self, host) {
            (Self::Registries, Host::Name(name)) => !sends && REGISTRIES.contains(&name.as_str()),
            (Self::CodeHosts, Host::Name(name)) => !sends && CODE_HOSTS.contains(&name.as_str()),
            (Self::Loopback, host) => is_loopback(host),
            (Self::Private, Host::Address(address)) => is_private(*address),
            (Self::Private, Host::Name(name)) => name == "host.docker.internal",
            _ => false,
        }
    }
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Name(name) => {
            matches!(name.as_str(), "localhost" | "ip6-localhost") || name.ends_with(".localhost")
        }
        // A server listens on the unspecified address, and a client reaches this machine by it.
        Host::Address(address) => address.is_loopback() || address.is_unspecified(),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() && !is_public(address),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

pub(crate) fn is_shortener(host: &Host) -> bool {
    matches!(host, Host::Name(name) if SHORTENERS.contains(&name.as_str()))
}

pub(crate) fn is_metadata(host: &Host) -> bool {
    match host {
        Host::Name(name) => METADATA_NAMES.contains(&name.as_str()),
        Host::Address(IpAddr::V4(address)) => METADATA_V4.contains(address),
        Host::Address(IpAddr::V6(address)) => METADATA_V6.contains(address),
    }
}
