//! Secrets on their way: through variables, pipes, substitutions and files of this command line to a
//! command that reaches another machine.

use super::Walker;
use super::expand::Field;
use super::feed::Feed;
use crate::places::{self, Place};
use crate::types::EffectKind;

/// Programs that list a folder, or search in it, and pass no file on.
const LISTS: &[&str] =
    &["ack", "ag", "du", "exa", "eza", "fd", "fdfind", "find", "grep", "ls", "ncdu", "rg", "tree"];
/// The maximum number of files that are remembered.
const FILES: usize = 4096;

/// The number of notes at some point.
pub(super) struct SoFar {
    secrets: usize,
    contacts: usize,
    written: usize,
}

impl Walker<'_> {
    pub(super) fn so_far(&self) -> SoFar {
        SoFar {
            secrets: self.secrets.len(),
            contacts: self.contacts.len(),
            written: self.written.len(),
        }
    }

    /// Notes a file that is written.
    pub(super) fn note_written(&mut self, path: &str) {
        if self.written.len() < FILES && !path.is_empty() {
            self.written.push(path.to_owned());
        }
    }

    /// Notes that a command reads a file of secrets.
    pub(super) fn note_secret(&mut self, command: Option<u32>) {
        if self.secrets.len() < 256 {
            self.secrets.push((command, true));
        }
    }

    /// Returns true if a file contains data that this command line read from a secret, or is what
    /// a program makes of one under a longer name: `a.gz`.
    pub(super) fn is_tainted(&self, path: &str) -> bool {
        const MADE: &[&str] =
            &[".age", ".asc", ".b64", ".br", ".bz2", ".gpg", ".gz", ".lz4", ".xz", ".zst"];
        let made_of = || MADE.iter().filter_map(|end| path.strip_suffix(end));
        !self.tainted.is_empty()
            && (self.tainted.contains(path) || made_of().any(|from| self.tainted.contains(from)))
    }

    /// Notes that a file has another name from now on: what was secret in it stays so.
    pub(super) fn note_moved(&mut self, from: &str, to: &str) {
        if places::is_secret(from, self.home) || self.is_tainted(from) {
            let name = from.rsplit('/').next().unwrap_or("");
            self.tainted.insert(to.to_owned());
            self.tainted.insert(format!("{}/{name}", to.trim_end_matches('/')));
        }
    }

    /// Notes the data that a command passes on: if it was given a secret or has read one since
    /// `before`, its output and the files that it wrote contain it, and a machine that it reached
    /// has received it.
    pub(super) fn carried(
        &mut self,
        before: &SoFar,
        fields: &[Field],
        input: &Feed,
        mut feed: Feed,
    ) -> Feed {
        let given = !signs_in(fields)
            && (input.source.secret || given(fields).any(|field| field.source.secret));
        let reads = self.secrets.len() > before.secrets;
        if given && let Some(contact) = self.contacts.get(before.contacts).copied() {
            self.out.form("secret-egress", contact);
        }
        if given || reads {
            for path in self.written.iter().skip(before.written) {
                self.tainted.insert(path.clone());
            }
            feed.source.secret |= reads;
        }
        feed
    }

    /// Notes that a pipeline reads a file of secrets and reaches the network. A program that
    /// fetches a secret from its own service is not such a case.
    pub(super) fn note_egress(&mut self, secrets: usize, contacts: usize) {
        let from_file =
            self.secrets.get(secrets..).unwrap_or_default().iter().any(|(_, from_file)| *from_file);
        if from_file && let Some(contact) = self.contacts.get(contacts).copied() {
            self.out.form("secret-egress", contact);
            for hoard in std::mem::take(&mut self.hoards) {
                self.push(
                    EffectKind::SecretRead,
                    hoard,
                    false,
                    true,
                    contact,
                    &super::Setting::default(),
                );
            }
        }
    }

    /// Notes that a folder in which people keep their credentials is read as a whole. Listing it
    /// reads none of them.
    pub(super) fn note_hoard(
        &mut self,
        path: &str,
        recursive: bool,
        command: Option<u32>,
        setting: &super::Setting,
    ) {
        let whole = recursive || path.ends_with("/**");
        if !whole
            || setting.place != Place::Here
            || !places::holds_credentials(path, self.home)
            || self.secrets.len() >= 256
        {
            return;
        }
        let program = command.and_then(|index| self.out.commands.get(usize::try_from(index).ok()?));
        if program.is_none_or(|command| !LISTS.contains(&command.program.as_str())) {
            self.secrets.push((command, true));
            self.hoards.push(path.to_owned());
        }
    }

    /// Notes a credential of the environment in the data that a command sends.
    pub(super) fn sends_variable(
        &mut self,
        field: &Field,
        command: Option<u32>,
        setting: &super::Setting,
    ) {
        if field.source.credential {
            self.push(
                EffectKind::SecretRead,
                "environment".to_owned(),
                false,
                false,
                command,
                setting,
            );
        }
    }
}

/// Returns true if the command presents its own credentials to a service, which is their purpose.
pub(super) fn signs_in(fields: &[Field]) -> bool {
    fields.iter().any(|field| {
        matches!(
            field.text.as_str(),
            "login" | "--password-stdin" | "--with-token" | "--passphrase-fd"
        )
    })
}

/// Returns the words of a command except those that authenticate it: a service needs its own
/// credentials.
fn given(fields: &[Field]) -> impl Iterator<Item = &Field> {
    fields
        .iter()
        .enumerate()
        .filter(|(at, field)| {
            let before = at
                .checked_sub(1)
                .and_then(|at| fields.get(at))
                .map_or("", |field| field.text.as_str());
            let names_sender = matches!(
                before,
                "-H" | "--header" | "-u" | "--user" | "--oauth2-bearer" | "--password" | "--token"
            ) || (fields.first().is_some_and(|first| first.text == "git")
                && field.text.contains("://")
                && field.text.contains('@'))
                || ["--header=", "--token=", "--password=", "--user="]
                    .iter()
                    .any(|flag| field.text.starts_with(flag));
            !names_sender
        })
        .map(|(_, field)| field)
}
