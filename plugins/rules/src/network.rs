//! `warn_external_network`: another machine is reached.
//!
//! Not in that sense external: this machine itself, hosts that the operator trusts, a package manager at
//! its own default registry, and git or its forge's client at a remote that the project names without an
//! address.

use crate::config::{Config, NETWORK};
use portcullis_builtin_judging::place;
use portcullis_builtin_judging::text::{evidence, listed};
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Operation};

const SHOWN: usize = 16;

/// Package managers and the registries that they use unless told otherwise.
const MANAGERS: &[(&[&str], &[&str])] = &[
    (&["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack"], &["registry.npmjs.org", "registry.yarnpkg.com"]),
    (&["pip", "pip3", "pipx", "uv", "uvx", "poetry", "pdm"], &["pypi.org", "files.pythonhosted.org"]),
    (&["cargo", "rustup"], &["crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"]),
    (&["go"], &["proxy.golang.org", "sum.golang.org"]),
    (&["gem", "bundle", "bundler"], &["rubygems.org", "index.rubygems.org"]),
    (&["mvn", "gradle", "gradlew"], &["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org"]),
    (&["dotnet", "nuget"], &["api.nuget.org", "www.nuget.org"]),
    (&["composer"], &["packagist.org", "repo.packagist.org"]),
    (&["mix"], &["hex.pm", "repo.hex.pm"]),
    (&["conda", "mamba"], &["conda.anaconda.org", "repo.anaconda.com"]),
    (&["apt", "apt-get"], &["deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com"]),
    (&["apk"], &["dl-cdn.alpinelinux.org"]),
    (&["brew"], &["formulae.brew.sh", "ghcr.io"]),
];

/// Programs that talk to the project's own remote.
const REMOTES: &[&str] = &["git", "gh", "glab", "hub"];

/// The rule.
pub(crate) fn rule(action: &Action, _: &Context, config: &Config<'_>) -> Option<Ruling> {
    if matches!(&action.operation, Operation::Network(request) if request.url.is_empty()) {
        return None;
    }
    let effects = || action.facts.effects.iter().filter(|effect| effect.kind == EffectKind::Network);
    let reached = effects().filter(|effect| !is_expected(effect, action)).map(|effect| place::host_of(&effect.target));
    let claimed = |host: &String| effects().any(|effect| place::host_of(&effect.target) == *host);
    let unclaimed = action.facts.hosts.iter().map(|host| place::host_of(host)).filter(|host| !claimed(host));
    let mut hosts: Vec<String> = Vec::new();
    for host in reached.chain(unclaimed).filter(|host| !place::is_loopback(host) && !is_trusted(host, config)) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.is_empty() {
        return None;
    }
    let named: Vec<&str> = hosts.iter().map(String::as_str).filter(|host| !host.is_empty()).collect();
    let reason = match named.as_slice() {
        [] => "this reaches another machine that is known only when it runs".to_owned(),
        named => ["this reaches another machine: ", &listed(named.iter().copied())].concat(),
    };
    let ruling = Ruling::warn(NETWORK, &reason).instead("use what the project already holds, if it does");
    Some(named.iter().take(SHOWN).fold(ruling, |ruling, host| ruling.because(evidence("host", host, None))))
}

/// A package manager at its registry, or git or its like at a remote that has a name or none.
fn is_expected(effect: &Effect, action: &Action) -> bool {
    let Some(program) = program(effect, action) else { return false };
    let host = place::host_of(&effect.target);
    let address = host.contains(['.', ':']);
    let own = MANAGERS.iter().find(|(names, _)| names.contains(&program)).map(|(_, registries)| *registries);
    match own {
        Some(registries) => !address || registries.contains(&host.as_str()),
        None => REMOTES.contains(&program) && !address,
    }
}

fn program<'a>(effect: &Effect, action: &'a Action) -> Option<&'a str> {
    let command = action.shell()?.commands.get(usize::try_from(effect.command?).ok()?)?;
    Some(&command.program)
}

fn is_trusted(host: &str, config: &Config<'_>) -> bool {
    config.trusted_hosts.iter().any(|trusted| {
        let below = host.strip_suffix(trusted.as_str());
        !trusted.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
