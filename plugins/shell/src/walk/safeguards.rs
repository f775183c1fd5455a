//! Protections that a variable, a setting or a flag switches off: the checks of a repository, and
//! the check of who is at the other end.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::{self, Item, Plan};
use crate::places;
use crate::types::EffectKind;

/// Programs that start the checks of a repository.
const CHECKED: &[&str] =
    &["git", "gh", "jj", "pre-commit", "prek", "lefthook", "husky", "overcommit"];
/// The subcommands of git that start them.
const STARTS: &[&str] =
    &["am", "cherry-pick", "commit", "merge", "pull", "push", "rebase", "revert"];
/// Programs whose `config set KEY VALUE` the settings of the family `npm` describe.
const MANAGERS: &[&str] =
    &["npm", "pnpm", "yarn", "pip", "pip3", "conda", "mamba", "composer", "bundle"];

/// Returns true for the value of a switch that is off.
fn is_off(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    matches!(text.as_str(), "" | "0" | "false" | "no" | "off" | "none" | "disable" | "disabled")
}

/// Returns true for a host that is this machine, under any name of it.
pub(super) fn is_own_host(host: &str) -> bool {
    places::is_loopback(host)
        || host.starts_with("127.") && host.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || matches!(
            host,
            "::" | "ip6-localhost" | "host.docker.internal" | "gateway.docker.internal"
        )
}

/// Returns true if words name addresses, all of them of this machine.
fn is_at_home(fields: &[Field]) -> bool {
    let mut hosts = fields
        .iter()
        .filter(|field| field.text.contains("://") || field.text.starts_with("localhost"))
        .map(|field| places::host(&field.text))
        .peekable();
    hosts.peek().is_some() && hosts.all(|host| host.is_some_and(|host| is_own_host(&host)))
}

impl Walker<'_> {
    /// Notes a switch by which a program leaves a protection out. `given` are the words of the
    /// program that gets a variable; none if the shell keeps it.
    pub(super) fn switch_off(
        &mut self,
        role: &str,
        value: &Field,
        given: &[Field],
        command: Option<u32>,
    ) -> bool {
        let form = match role.split_once('-') {
            Some(("off", form)) if is_off(&value.text) => form,
            Some(("on", form)) if !is_off(&value.text) => form,
            Some(("off" | "on", _)) => return true,
            _ => return false,
        };
        let program = |field: &Field| field.text.rsplit('/').next().unwrap_or("").to_owned();
        let concerns = match form {
            "skip-checks" => {
                given.is_empty() || given.iter().any(|field| CHECKED.contains(&&*program(field)))
            }
            _ => !is_at_home(given) && !places::host(&value.text).is_some_and(|h| is_own_host(&h)),
        };
        if concerns {
            self.out.hides(form, "", command);
        }
        true
    }

    /// Notes a flag of git, or a variable of the shell, by which the checks of a repository
    /// are left
    /// out.
    pub(super) fn skip_checks(
        &mut self,
        words: &[&str],
        plan: &Plan,
        rest: &[Field],
        command: Option<u32>,
    ) {
        let unverified =
            |text: &str| text.len() > "--no-v".len() && "--no-verify".starts_with(text);
        let flags = plan.flags.iter().filter_map(|at| rest.get(*at));
        let flag = flags.take(64).any(|field| unverified(&field.text));
        if flag && words.first().is_some_and(|word| STARTS.contains(word)) {
            self.out.hides("skip-checks", "", command);
        }
        if words.first().is_some_and(|word| STARTS.contains(word))
            && self.env.get("SKIP").is_some_and(|value| !is_off(&value.text))
        {
            self.out.hides("skip-checks", "", command);
        }
    }

    /// Returns true if a call that does not check who is at the other end talks to this machine.
    pub(super) fn trusts_itself(&self, plan: &Plan, rest: &[Field]) -> bool {
        let mut hosts = plan
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Word(EffectKind::Network, at) => rest.get(*at).map(|field| &*field.text),
                Item::Value(EffectKind::Network, value) => Some(value.as_str()),
                Item::Constant(EffectKind::Network, name) => Some(*name),
                _ => None,
            })
            .map(places::host)
            .peekable();
        hosts.peek().is_some() && hosts.all(|host| host.is_some_and(|host| is_own_host(&host)))
    }

    /// Follows the settings that a package manager is given: `npm config set KEY VALUE`,
    /// `--KEY=VALUE`.
    pub(super) fn package_settings(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        if !MANAGERS.contains(&name) {
            return;
        }
        for field in rest {
            if field.text == "--no-strict-ssl" {
                self.out.hides("skip-tls", "", command);
            }
            let parted = field.text.strip_prefix("--").and_then(|text| text.split_once('='));
            let Some((key, value)) = parted else { continue };
            let role = catalogue::setting("npm", key).filter(|role| role.starts_with("off-"));
            if let Some(role) = role {
                let value = Field { text: value.to_owned(), ..field.clone() };
                self.switch_off(role, &value, &[], command);
            }
        }
        // The value may begin with a dash; the key does not.
        let mut words = rest.iter().skip_while(|field| field.text.starts_with('-'));
        let verb = words.next().map_or("", |field| field.text.as_str());
        let mut words = words.skip_while(|field| {
            field.text.starts_with('-') || matches!(field.text.as_str(), "set" | "config")
        });
        let Some(first) = words.next().filter(|_| matches!(verb, "config" | "set")) else { return };
        let (key, value) = match (first.text.split_once('='), words.next()) {
            (Some((key, value)), _) => {
                (key.to_owned(), Field { text: value.to_owned(), ..first.clone() })
            }
            (None, Some(value)) => (first.text.clone(), value.clone()),
            (None, None) => return,
        };
        let looks = rest.iter().any(|field| {
            matches!(field.text.as_str(), "get" | "list" | "delete" | "unset" | "rm" | "ls")
        });
        if !looks {
            self.configured("npm", &key, &value, command, setting);
        }
    }

    /// Notes that git takes what one address holds from another one: `url.BASE.insteadOf`.
    pub(super) fn redirected(&mut self, key: &str, value: &Field, command: Option<u32>) {
        let lower = key.to_ascii_lowercase();
        let Some(base) = lower.strip_prefix("url.").and_then(|rest| {
            rest.strip_suffix(".insteadof").or(rest.strip_suffix(".pushinsteadof"))
        }) else {
            return;
        };
        let host = |text: &str| {
            places::remote_path(text).or_else(|| places::host(text)).unwrap_or_default()
        };
        let (to, from) = (host(base), host(&value.text.to_ascii_lowercase()));
        // A word such as `gh:` abbreviates an address and redirects none.
        let short = !value.text.contains(['.', '/']);
        if to != from && !short && !is_own_host(&to) {
            self.out.hides("redirected-source", &to, command);
            self.out.gap("sources that come from another host than their address names");
        }
    }
}
