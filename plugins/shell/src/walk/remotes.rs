//! The remotes of a repository: a push to one that the session set, on a machine that the project
//! did not know before, sends the project's content to that machine.

use super::expand::Field;
use super::hooks::read_settings;
use super::sending::far;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

/// The maximum number of remotes of one command line that are remembered.
const REMOTES: usize = 16;
/// The form of a push to such a machine.
const ELSEWHERE: &str = "push-elsewhere";
/// Forges: a project without a remote gets its first one there.
const FORGES: &[&str] = &[
    "bitbucket.org",
    "codeberg.org",
    "dev.azure.com",
    "git.sr.ht",
    "github.com",
    "gitlab.com",
    "ssh.dev.azure.com",
];

impl Walker<'_> {
    /// Notes a push to an address in place of a remote of the repository.
    pub(super) fn push_to_address(
        &mut self,
        words: &[&str],
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let operands: Vec<&str> = plan
            .operands
            .iter()
            .filter_map(|at| rest.get(*at))
            .map(|field| field.text.as_str())
            .collect();
        if let ["remote", "add" | "set-url"] = words
            && let [name, address, ..] = operands.as_slice()
        {
            self.lead_remote(name, address);
        }
        let pushes = matches!(words, ["push" | "send-pack"] | ["subtree" | "lfs", "push"]);
        if !pushes {
            return;
        }
        let flag = rest.iter().enumerate().find_map(|(at, field)| match field.text.as_str() {
            "--repo" => rest.get(at + 1).map(|field| field.text.as_str()),
            text => text.strip_prefix("--repo="),
        });
        let named = operands.first().copied().or(flag);
        let added = named.and_then(|named| {
            let own = self.remotes.iter().rev().find(|(name, _)| name == named);
            own.map(|(_, address)| address.clone())
        });
        let foreign = match &added {
            Some(address) => self.is_foreign(address),
            None => {
                let name = named.unwrap_or("origin");
                self.led.get(&self.path_of_remote(name)).copied().unwrap_or(false)
                    // Without a look at its remotes, nothing is known of what the project knows.
                    || self.is_known(&self.path_of_settings())
                        && named.is_some_and(|address| self.is_foreign(address))
            }
        };
        if foreign {
            self.out.form(ELSEWHERE, command);
        }
        let Some(address) = added.or_else(|| named.map(str::to_owned)) else { return };
        if let Some(host) = far(&address).filter(|_| !is_local(&address)) {
            self.plain(EffectKind::Send, &host, !host.is_empty(), command, setting);
        }
    }

    /// Follows the setting of a remote's address: `remote.origin.pushurl`.
    pub(super) fn set_remote(&mut self, key: &str, value: &Field) {
        let name = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.'));
        if let Some((name, "url" | "pushurl")) = name {
            self.lead_remote(name, &value.text);
        }
    }

    fn lead_remote(&mut self, name: &str, address: &str) {
        let foreign = self.is_foreign(address);
        let path = self.path_of_remote(name);
        // A second address of a remote does not take the first one away.
        let foreign = foreign
            || self.remotes.iter().any(|(known, _)| known == name)
                && self.led.get(&path) == Some(&true);
        if foreign || self.led.contains_key(&path) {
            self.led.insert(path, foreign);
        }
        if self.remotes.len() < REMOTES {
            self.remotes.push((name.to_owned(), address.to_owned()));
        }
    }

    /// Returns the path of a remote's branches, which stands for the remote.
    fn path_of_remote(&self, name: &str) -> String {
        format!("{}/.git/refs/remotes/{name}", self.repository())
    }

    fn path_of_settings(&self) -> String {
        format!("{}/.git/config", self.repository())
    }

    /// Returns true for an address on a machine that the project does not know.
    fn is_foreign(&mut self, address: &str) -> bool {
        let Some(host) = far(address).filter(|host| !is_local(address) && !host.is_empty()) else {
            return false;
        };
        // One word is a name of this machine's own settings.
        let own = super::safeguards::is_own_host(&host) || !host.contains(['.', ':']);
        !own && !self.knows_host(&host)
    }

    /// Returns true for a machine that a remote of the project leads to; for a forge, if it has no
    /// remote yet.
    pub(super) fn knows_host(&mut self, host: &str) -> bool {
        let hosts = self.hosts_of_remotes();
        let known = |known: &String| {
            host == known || host.strip_suffix(known.as_str()).is_some_and(|own| own.ends_with('.'))
        };
        hosts.iter().any(known) || hosts.is_empty() && FORGES.contains(&host)
    }

    fn hosts_of_remotes(&mut self) -> Vec<String> {
        let path = self.path_of_settings();
        let Some(text) = self.text_on_disk(&path) else { return Vec::new() };
        read_settings(&text)
            .into_iter()
            .filter(|(key, _)| matches!(key.as_str(), "remote.url" | "remote.pushurl"))
            .filter_map(|(_, address)| places::remote_path(&address))
            .take(REMOTES)
            .collect()
    }
}

fn is_local(address: &str) -> bool {
    address.starts_with("file:") || address.starts_with(['/', '.', '~'])
}
