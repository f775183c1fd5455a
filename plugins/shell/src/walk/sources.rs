//! Sources of packages: a registry vouches for nothing but the name, and an address not even for
//! that. What is fetched from elsewhere is code that nobody has read, which is a gap; what is
//! fetched and run at once is unseen code.
//!
//! The catalogue says which words name a source, and of which kind (`source npm words`); only the
//! spelling is judged here.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::packages::Registry;
use super::{Setting, Walker};
use crate::places;
use crate::types::EffectKind;

/// Registries and indexes of languages and systems that their communities run.
const REGISTRIES: &[&str] = &[
    "api.nuget.org",
    "archive.ubuntu.com",
    "artifacthub.io",
    "cache.nixos.org",
    "channels.nixos.org",
    "charts.bitnami.com",
    "charts.jetstack.io",
    "conda.anaconda.org",
    "cpan.metacpan.org",
    "crates.io",
    "deb.debian.org",
    "deno.land",
    "download.docker.com",
    "download.pytorch.org",
    "files.pythonhosted.org",
    "flathub.org",
    "dl.flathub.org",
    "helm.releases.hashicorp.com",
    "hex.pm",
    "index.crates.io",
    "jsr.io",
    "kubernetes.github.io",
    "npm.pkg.github.com",
    "npm.jsr.io",
    "nuget.org",
    "nixos.org",
    "plugins.gradle.org",
    "opam.ocaml.org",
    "luarocks.org",
    "packagist.org",
    "pkg.go.dev",
    "prometheus-community.github.io",
    "proxy.golang.org",
    "pypi.org",
    "registry.npmjs.org",
    "registry.terraform.io",
    "registry.yarnpkg.com",
    "repo.anaconda.com",
    "repo.hex.pm",
    "repo.maven.apache.org",
    "repo.packagist.org",
    "repo1.maven.org",
    "rubygems.org",
    "services.gradle.org",
    "security.debian.org",
    "security.ubuntu.com",
    "static.rust-lang.org",
    "sum.golang.org",
    "test.pypi.org",
    "upload.pypi.org",
    "www.cpan.org",
    "www.nuget.org",
];

/// Registries of container images, by host or by the end of it.
const IMAGES: &[&str] = &[
    "amazonaws.com",
    "azurecr.io",
    "docker.elastic.co",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "nvcr.io",
    "pkg.dev",
    "public.ecr.aws",
    "quay.io",
    "registry.access.redhat.com",
    "registry.gitlab.com",
    "registry.k8s.io",
];

/// Modules of Go that the language's own project and its neighbours publish.
const MODULES: &[&str] = &[
    "cmd/",
    "github.com/golang/",
    "github.com/golangci/",
    "github.com/google/",
    "golang.org/",
    "google.golang.org/",
    "honnef.co/go/",
    "k8s.io/",
    "mvdan.cc/",
    "sigs.k8s.io/",
];

/// Channels of conda.
const CHANNELS: &[&str] = &[
    "anaconda",
    "bioconda",
    "conda-forge",
    "defaults",
    "free",
    "main",
    "msys2",
    "nodefaults",
    "nvidia",
    "pytorch",
    "r",
];

/// Owners of taps of Homebrew that publish their own products.
const TAPS: &[&str] = &[
    "anthropics",
    "aws",
    "azure",
    "cli",
    "fluxcd",
    "github",
    "hashicorp",
    "homebrew",
    "mongodb",
    "oven-sh",
    "stripe",
];

/// Kinds of sources whose packages run code when they are installed or built.
const UNSEEN: &[&str] = &["address", "any", "flake", "npm", "registry", "requirement"];

/// Repositories of packages for R.
const CRAN: &[&str] = &[
    "bioconductor.org",
    "cloud.r-project.org",
    "cran.r-project.org",
    "cran.rstudio.com",
    "packagemanager.posit.co",
    "packagemanager.rstudio.com",
    "p3m.dev",
];

impl Walker<'_> {
    /// Notes a package that is installed from a source that nobody vouches for.
    pub(super) fn package_source(
        &mut self,
        family: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let (family, registry) = parted(family);
        if let Some(source) = self.foreign_source(family, field) {
            self.out.gap(&format!("a package from a source that nobody vouches for{source}"));
            if UNSEEN.contains(&family) {
                self.plain(EffectKind::UnseenCode, "", false, command, setting);
            }
        } else if let Some(registry) = registry {
            self.note_undeclared(registry, field, setting);
        }
    }

    /// Notes a package that is fetched and run at once.
    pub(super) fn run_from_source(
        &mut self,
        family: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let (family, registry) = parted(family);
        let of_registry = ["npm:", "jsr:"].iter().any(|start| field.text.starts_with(start));
        if self.foreign_source(family, field).is_some() {
            self.plain(EffectKind::UnseenCode, &host_of(&field.text), false, command, setting);
        } else if let Some(registry) = registry.or(of_registry.then_some(Registry::Node)) {
            self.note_undeclared(registry, field, setting);
        }
    }

    /// Notes code of R or Julia that installs a package from anybody's repository, or runs a text
    /// from an address.
    pub(super) fn installed_by_code(
        &mut self,
        language: &str,
        code: &str,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let plain: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        let calls = |names: &[&str]| names.iter().any(|name| plain.contains(name));
        let foreign = match language {
            "r" => {
                calls(&[
                    "install_github(",
                    "install_git(",
                    "install_gitlab(",
                    "install_bitbucket(",
                    "install_svn(",
                    "install_url(",
                    "source_gist(",
                    "source_url(",
                    "source(\"http",
                    "source('http",
                    "source(url(",
                ]) || ["pak(", "pkg_install("].iter().any(|call| {
                    plain.split_once(call).is_some_and(|(_, rest)| {
                        rest.split(')').next().is_some_and(|words| words.contains('/'))
                    })
                })
            }
            "julia" => {
                calls(&["Pkg.add(url=", "Pkg.develop(url=", "PackageSpec(url=", "add(\"http"])
            }
            _ => false,
        };
        let named = plain.split("repos=").skip(1).flat_map(|rest| rest.split(['"', '\'']));
        let mut named = named.filter(|text| text.contains("://"));
        let repositories = language == "r"
            && calls(&["install.packages("])
            && named.any(|text| !places::host(text).is_some_and(|host| is_of_r(&host)));
        if foreign || repositories {
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
    }

    /// Returns the source in words, `: HOST` or nothing, unless somebody vouches for it.
    fn foreign_source(&self, family: &str, field: &Field) -> Option<String> {
        let text = field.text.as_str();
        if text.is_empty() || (text == UNKNOWN.to_string() && family != "any") {
            // A name that is not known, as that of a requirement in a variable, is a name.
            return None;
        }
        let foreign = match family {
            "any" => true,
            "address" => is_address(text) && !is_here(text),
            "registry" => text.split([',', '|']).any(is_foreign_registry),
            "channel" => is_foreign_channel(text),
            "image" => is_foreign_image(text),
            "extension" => text.ends_with(".vsix") || is_address(text),
            "system" => is_address(text) || is_package_file(text),
            "flake" => is_foreign_flake(text),
            "tap" => is_foreign_tap(text),
            "go" => is_foreign_module(text),
            "npm" => is_foreign_module_of_node(text) || self.was_fetched(text),
            _ => is_foreign_requirement(text) || self.was_fetched(text),
        };
        foreign.then(|| match host_of(text) {
            host if host.is_empty() => host,
            host => format!(": {host}"),
        })
    }

    /// Returns true for a file that this command line downloaded.
    fn was_fetched(&self, text: &str) -> bool {
        let (path, known) = places::resolve(text, &self.env.folder);
        known && text.contains(['/', '.']) && self.file_content(&path).source.is_unseen()
    }
}

/// Returns the kind of a source, and the registry from which a package is run at once.
fn parted(family: &str) -> (&str, Option<Registry>) {
    match family {
        "npm-package" => ("npm", Some(Registry::Node)),
        "npm-starter" => ("npm", Some(Registry::Starter)),
        "python-package" => ("requirement", Some(Registry::Python)),
        "rust-package" => ("address", Some(Registry::Rust)),
        _ => (family, None),
    }
}

fn is_of_r(host: &str) -> bool {
    CRAN.contains(&host) || places::is_loopback(host)
}

pub(super) fn host_of(text: &str) -> String {
    let named = text.split_once("://").map_or("", |_| text);
    places::host(named).unwrap_or_default()
}

/// Returns true for an address, or a path of another machine.
pub(super) fn is_address(text: &str) -> bool {
    const STARTS: &[&str] =
        &["bzr+", "ext::", "fd::", "git+", "git@", "git:", "hg+", "http:", "https:", "svn+"];
    let low = text.to_ascii_lowercase();
    (low.contains("://") && !low.starts_with("file://") && !low.contains("+file://"))
        || STARTS.iter().any(|start| low.starts_with(start))
}

/// Returns true for an address of this machine.
fn is_here(text: &str) -> bool {
    places::host(text).is_some_and(|host| places::is_loopback(&host))
}

/// Returns true for an index that no community runs, or that is reached without encryption.
pub(super) fn is_foreign_registry(text: &str) -> bool {
    let text =
        text.split_once("=http").map_or(text, |(key, _)| text.get(key.len() + 1..).unwrap_or(""));
    let plain = text.trim().trim_matches(['"', '\'']);
    if matches!(plain, "" | "direct" | "off" | "on" | "default" | "true" | "false" | "none") {
        return false;
    }
    let Some((scheme, _)) = plain.split_once("://") else {
        return plain.contains(UNKNOWN)
            || (plain.contains('.') && !REGISTRIES.contains(&plain.to_ascii_lowercase().as_str()));
    };
    let Some(host) = places::host(plain) else { return true };
    !places::is_loopback(&host)
        && (scheme.ends_with("http")
            || plain.contains(UNKNOWN)
            || !REGISTRIES.contains(&host.as_str()))
}

/// Recognises a requirement of Python, Ruby and the like that is an address: `git+https://...`,
/// `NAME @ https://...`.
fn is_foreign_requirement(text: &str) -> bool {
    let source = text.split_once('@').map_or(text, |(name, rest)| {
        if name.contains("://") || name.starts_with("git") { text } else { rest.trim() }
    });
    [text, source].into_iter().any(is_address) && !is_vouched_address(text)
}

fn is_vouched_address(text: &str) -> bool {
    let host = places::host(text);
    host.is_some_and(|host| places::is_loopback(&host) || REGISTRIES.contains(&host.as_str()))
        && !text.starts_with("http:")
}

/// Recognises a package of Node that is an address: `user/repo`, `github:user/repo`, `NAME@URL`.
fn is_foreign_module_of_node(text: &str) -> bool {
    const HOSTS: &[&str] = &["bitbucket:", "gist:", "github:", "gitlab:", "jsr:https"];
    let unscoped = text.strip_prefix('@').unwrap_or(text);
    let version = match unscoped.split_once('@') {
        Some((name, version)) if !name.contains(':') => version,
        _ => "",
    };
    let is_short = |spec: &str| {
        let mut parts = spec.split('/');
        let (owner, repo) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        !owner.is_empty()
            && !repo.is_empty()
            && parts.next().is_none()
            && !owner.starts_with(['.', '~', '@', '-'])
            && !owner.contains([':', UNKNOWN])
    };
    let is_foreign = |spec: &str| {
        HOSTS.iter().any(|start| spec.starts_with(start))
            || (is_address(spec) && !is_vouched_address(spec))
            || is_short(spec)
    };
    if text.starts_with('@') {
        return is_foreign(version);
    }
    is_foreign(text) || is_foreign(version)
}

/// Returns true for a module of Go at a version that anybody may publish.
fn is_foreign_module(text: &str) -> bool {
    let Some((path, version)) = text.split_once('@') else { return false };
    !version.is_empty()
        && path.split('/').next().is_some_and(|host| host.contains(['.', UNKNOWN]))
        && !path.starts_with('.')
        && !MODULES.iter().any(|module| path.starts_with(module))
}

fn is_foreign_channel(text: &str) -> bool {
    text.split(',').map(|channel| channel.trim_end_matches('/')).any(|channel| {
        let name = channel.rsplit('/').next().unwrap_or(channel);
        if is_address(channel) {
            return is_foreign_registry(channel) || !CHANNELS.contains(&name);
        }
        !CHANNELS.contains(&channel.split('/').next().unwrap_or(channel))
    })
}

/// Returns true for an image of a registry of its own: `HOST/NAME`.
fn is_foreign_image(text: &str) -> bool {
    let text = text.strip_prefix("docker://").unwrap_or(text);
    let Some((host, _)) = text.split_once('/') else { return false };
    let name = host.split(':').next().unwrap_or(host);
    // Companies have registries of their own, but they have names.
    let is_unnamed = name.parse::<std::net::Ipv4Addr>().is_ok() || host.contains(UNKNOWN);
    is_unnamed && !places::is_loopback(name) && !is_image_host(name)
}

/// Returns true for a registry of images that its community or its provider runs.
pub(super) fn is_image_host(host: &str) -> bool {
    IMAGES.iter().any(|known| {
        host.strip_suffix(known)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.') || rest.ends_with('-'))
    })
}

/// Owners of flakes that the community of Nix runs.
const FLAKES: &[&str] = &["nixos", "nix-community", "numtide", "cachix"];

/// Returns true for a flake that is neither a path nor a name of the registry: `github:a/b#c`.
fn is_foreign_flake(text: &str) -> bool {
    const FORGES: &[&str] = &["github:", "gitlab:", "sourcehut:"];
    let text = text.strip_prefix("tarball+").unwrap_or(text);
    let low = text.to_ascii_lowercase();
    let owner = FORGES.iter().find_map(|forge| low.strip_prefix(forge));
    match owner {
        Some(rest) => !FLAKES.contains(&rest.split('/').next().unwrap_or("")),
        None => is_address(text) && !is_here(text),
    }
}

/// Returns true for a formula or a tap of another owner.
fn is_foreign_tap(text: &str) -> bool {
    if is_address(text) || text.ends_with(".rb") {
        return true;
    }
    let owner = text.split_once('/').map(|(owner, _)| owner.to_ascii_lowercase());
    owner.is_some_and(|owner| {
        !owner.is_empty() && !owner.starts_with('.') && !TAPS.contains(&owner.as_str())
    })
}

/// Returns true for a file of the machine's package manager, which runs its scripts with all power.
fn is_package_file(text: &str) -> bool {
    let low = text.to_ascii_lowercase();
    [".apk", ".deb", ".flatpak", ".flatpakref", ".pkg", ".pkg.tar.zst", ".rpm", ".snap", ".txz"]
        .iter()
        .any(|end| low.ends_with(end))
}
