//! `warn_external_network`: data of this machine goes to another one.
//!
//! Fetching and name lookups do not count unless the configuration says so. The following are not
//! external in that sense: this machine itself, hosts that the operator trusts, a package manager
//! at its own default registry, and git or its forge's client at a remote that the project names
//! without an address.

use super::config::{Config, NETWORK};
use super::showing::showing;
use crate::requests::asks_to_send;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Operation};

/// Package managers and their default registries.
const MANAGERS: &[(&[&str], &[&str])] = &[
    (
        &["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack"],
        &["registry.npmjs.org", "registry.yarnpkg.com"],
    ),
    (
        &["pip", "pip3", "pipx", "uv", "uvx", "poetry", "pdm"],
        &["pypi.org", "files.pythonhosted.org"],
    ),
    (
        &["cargo", "rustup"],
        &["crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"],
    ),
    (&["go"], &["proxy.golang.org", "sum.golang.org"]),
    (&["gem", "bundle", "bundler"], &["rubygems.org", "index.rubygems.org"]),
    (
        &["mvn", "gradle", "gradlew"],
        &["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org"],
    ),
    (&["dotnet", "nuget"], &["api.nuget.org", "www.nuget.org"]),
    (&["composer"], &["packagist.org", "repo.packagist.org"]),
    (&["mix"], &["hex.pm", "repo.hex.pm"]),
    (&["conda", "mamba"], &["conda.anaconda.org", "repo.anaconda.com"]),
    (
        &["apt", "apt-get"],
        &["deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com"],
    ),
    (&["apk"], &["dl-cdn.alpinelinux.org"]),
    (&["brew"], &["formulae.brew.sh", "ghcr.io"]),
];

/// Programs that talk to the project's own remote.
const REMOTES: &[&str] = &["git", "gh", "glab", "hub"];

/// Prefixes of masked values whose kind is certain from their form alone.
const STRONG: &[&str] =
    &["<secret:token:", "<secret:private-key:", "<secret:jwt:", "<secret:credential:"];

/// Objects to a secret in the command itself, which goes out with its request.
fn sends_a_secret(action: &Action) -> Option<Ruling> {
    let reaches = |effect: &&Effect| place::is_external(effect);
    let effect = action.facts.effects.iter().filter(reaches).find(|effect| {
        let command = effect
            .command
            .and_then(|index| action.shell()?.commands.get(usize::try_from(index).ok()?));
        command.is_some_and(|command| {
            command.words.iter().any(|word| STRONG.iter().any(|kind| word.text.contains(kind)))
        })
    })?;
    let reason = [
        "this sends a secret in the command to ",
        &listed([place::host_of(&effect.target).as_str()]),
    ]
    .concat();
    let ruling = Ruling::warn(NETWORK, &reason)
        .instead("let the program read the secret from where it is kept, by a variable or a file");
    Some(ruling.because(evidence("host", &effect.target, None)))
}

/// The form that the host's reader reports for a table or a dump of a database that is sent.
const DUMP: &str = "dump-egress";

/// Asks about data of a database that goes to a machine which the project does not know.
fn sends_dump(action: &Action) -> Option<Ruling> {
    let facts = &action.facts;
    let form = facts.forms.iter().find(|form| form.id == DUMP)?;
    let sends = |effect: &&Effect| {
        effect.kind == EffectKind::Send
            && (form.command.is_none() || effect.command == form.command)
    };
    let host = facts.effects.iter().find(sends).map(|effect| place::host_of(&effect.target));
    let host = host.filter(|host| !host.is_empty());
    let to = host.as_deref().unwrap_or("a machine that is known only when it runs");
    let reason =
        ["this sends a table or a dump of a database to another machine: ", &listed([to])].concat();
    let ruling =
        Ruling::ask(NETWORK, &reason).instead("let the person say which data may go where");
    Some(ruling.because(evidence("host", to, None)))
}

/// Addresses at which a cloud machine gets its credentials.
const METADATA: &[&str] = &[
    "100.100.100.200",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::23",
    "fd00:ec2::254",
    "metadata.goog",
    "metadata.google.internal",
];

/// Refuses requests to such an address.
fn reaches_metadata(action: &Action) -> Option<Ruling> {
    let facts = &action.facts;
    let host = facts
        .effects
        .iter()
        .filter(|effect| place::is_external(effect))
        .map(|effect| place::host_of(&effect.target))
        .chain(facts.hosts.iter().map(|host| place::host_of(host)))
        .find(|host| {
            let host = host.trim_end_matches('.');
            METADATA.iter().any(|known| {
                host == *known
                    || host.strip_prefix(known).is_some_and(|rest| {
                        rest.ends_with(".nip.io") || rest.ends_with(".sslip.io")
                    })
            })
        })?;
    let reason = [
        "this reaches the address at which a cloud machine gets its credentials: ",
        &listed([host.as_str()]),
    ]
    .concat();
    let ruling = Ruling::block(NETWORK, &reason)
        .instead("let a person look up what is needed about the machine");
    Some(ruling.because(evidence("host", &host, None)))
}

/// Objects to a file of the system that a command sends to a server of this machine: nobody knows
/// who is behind it.
fn sends_system_file(action: &Action) -> Option<Ruling> {
    let effects = &action.facts.effects;
    let local = |effect: &&Effect| {
        matches!(effect.kind, EffectKind::Network | EffectKind::Send)
            && effect.command.is_some()
            && place::is_loopback(&place::host_of(&effect.target))
    };
    let read = effects.iter().filter(local).find_map(|request| {
        effects.iter().find(|effect| {
            effect.command == request.command
                && effect.kind == EffectKind::FileRead
                && PRIVATE.iter().any(|folder| place::holds(folder, &effect.target))
        })
    })?;
    let reason =
        ["this hands a file of the system to a server: ", &listed([read.target.as_str()])].concat();
    let ruling = Ruling::warn(NETWORK, &reason).instead("send only what belongs to the project");
    Some(ruling.because(evidence("path", &read.target, None)))
}

/// Folders whose files say who and what is on the machine.
const PRIVATE: &[&str] = &["/etc", "/var/log", "/proc", "/root", "/boot", "/var/lib"];

/// Objects to a secret in a message that a foreign tool sends, or in an address that is fetched.
fn discloses_a_secret(action: &Action) -> Option<Ruling> {
    let holds = |text: &str| STRONG.iter().any(|kind| text.contains(kind));
    let sends =
        |effect: &Effect| matches!(effect.kind, EffectKind::Send | EffectKind::RemoteChange);
    let (disclosed, target) = match &action.operation {
        Operation::Tool(tool) => {
            let effect = action.facts.effects.iter().find(|effect| sends(effect))?;
            let disclosed = tool.arguments.iter().any(|argument| holds(&argument.value));
            (disclosed, effect.target.as_str())
        }
        Operation::Network(request) => {
            let host = action.facts.hosts.first().map_or("", String::as_str);
            (holds(&request.url) && !place::is_loopback(host), host)
        }
        _ => return None,
    };
    let ruling = disclosed.then(|| Ruling::ask(NETWORK, "this sends a secret in its text"))?;
    let ruling = ruling.instead("name the place where the secret is kept, not the secret");
    Some(ruling.because(evidence("host", target, None)))
}

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, config: &Config) -> Option<Ruling> {
    // The sternest comes first: one that blocks, those that ask, those that warn.
    if let Some(ruling) = reaches_metadata(action)
        .or_else(|| discloses_a_secret(action))
        .or_else(|| sends_dump(action))
        .or_else(|| sends_a_secret(action))
        .or_else(|| sends_system_file(action))
    {
        return Some(ruling);
    }
    if matches!(&action.operation, Operation::Network(request) if request.url.is_empty()) {
        return None;
    }
    let counts = |effect: &&Effect| {
        effect.kind == EffectKind::Send || (config.fetching && effect.kind == EffectKind::Network)
    };
    let effects = || action.facts.effects.iter().filter(counts);
    let reached = effects()
        .filter(|effect| !is_expected(effect, action))
        .map(|effect| place::host_of(&effect.target));
    let claimed = |host: &String| {
        action.facts.effects.iter().any(|effect| place::host_of(&effect.target) == *host)
    };
    let unclaimed = action
        .facts
        .hosts
        .iter()
        .map(|host| place::host_of(host))
        .filter(|host| config.fetching && !claimed(host));
    let mut hosts: Vec<String> = Vec::new();
    for host in reached
        .chain(unclaimed)
        .filter(|host| !place::is_loopback(host) && !is_trusted(host, config))
        .filter(|host| !asks_to_send(host, context))
    {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.is_empty() {
        return None;
    }
    let named: Vec<&str> =
        hosts.iter().map(String::as_str).filter(|host| !host.is_empty()).collect();
    let reason = match named.as_slice() {
        _ if !action.facts.effects.iter().any(|effect| effect.kind == EffectKind::Send) => {
            ["this reaches another machine: ", &listed(named.iter().copied())].concat()
        }
        [] => "this sends data to a machine that is known only when it runs".to_owned(),
        named => ["this sends data to another machine: ", &listed(named.iter().copied())].concat(),
    };
    let ruling = Ruling::warn(NETWORK, &reason)
        .instead("look at what goes out first: it cannot be taken back");
    Some(showing(ruling, "host", named))
}

/// Returns true for a package manager at its registry, or git or a similar tool at a remote that
/// has a name or none.
fn is_expected(effect: &Effect, action: &Action) -> bool {
    let Some(program) = program(effect, action) else { return false };
    let host = place::host_of(&effect.target);
    let address = host.contains(['.', ':']);
    let own = MANAGERS
        .iter()
        .find(|(names, _)| names.contains(&program))
        .map(|(_, registries)| *registries);
    match own {
        Some(registries) => !address || registries.contains(&host.as_str()),
        None => REMOTES.contains(&program) && !address,
    }
}

fn program<'a>(effect: &Effect, action: &'a Action) -> Option<&'a str> {
    let command = action.shell()?.commands.get(usize::try_from(effect.command?).ok()?)?;
    Some(&command.program)
}

fn is_trusted(host: &str, config: &Config) -> bool {
    config.trusted_hosts.iter().any(|trusted| {
        let below = host.strip_suffix(trusted.as_str());
        !trusted.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
