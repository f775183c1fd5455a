//! Secrets on their way: through variables, pipes, substitutions and files of this command line to
//! a command that reaches another machine.

use super::Walker;
use super::expand::Field;
use super::feed::Feed;
use crate::places::{self, Place};
use crate::types::EffectKind;
use std::collections::BTreeSet;

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
    dumps: usize,
}

impl Walker<'_> {
    pub(super) fn so_far(&self) -> SoFar {
        SoFar {
            secrets: self.secrets.len(),
            contacts: self.contacts.len(),
            written: self.written.len(),
            dumps: self.dumps,
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
        is_marked(&self.tainted, path)
    }

    /// Notes that a file has another name from now on: what was secret in it stays so.
    pub(super) fn note_moved(&mut self, from: &str, to: &str) {
        let name = from.rsplit('/').next().unwrap_or("");
        let names = [to.to_owned(), format!("{}/{name}", to.trim_end_matches('/'))];
        if places::is_secret(from, self.home) || self.is_tainted(from) {
            self.tainted.extend(names.iter().cloned());
        }
        if is_marked(&self.dumped, from) {
            self.dumped.extend(names);
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
        let gets = !signs_in(fields)
            && (input.source.secret || given(fields).any(|field| field.source.secret));
        let reads = self.secrets.len() > before.secrets;
        if gets && let Some(contact) = self.contacts.get(before.contacts).copied() {
            self.out.form("secret-egress", contact);
        }
        if gets || reads {
            for path in self.written.iter().skip(before.written) {
                self.tainted.insert(path.clone());
            }
            feed.source.secret |= reads;
        }
        let dumps = self.dumps > before.dumps;
        let dumped = input.source.dumped || given(fields).any(|field| field.source.dumped);
        if dumps || dumped {
            self.dumps += usize::from(!dumps);
            self.dumped.extend(self.written.iter().skip(before.written).cloned());
            feed.source.dumped = true;
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
            // A folder that is read whole counts as a reading of secrets only on its way out.
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

/// Endings that programs add to the name of what they read.
const MADE: &[&str] =
    &[".age", ".asc", ".b64", ".br", ".bz2", ".gpg", ".gz", ".lz4", ".xz", ".zst"];

/// Returns true if marked data is in a file, in its folder, in a part of it, or in one that a
/// pattern names. A mark that ends with `*` is that of all names that begin so.
pub(super) fn is_marked(marks: &BTreeSet<String>, path: &str) -> bool {
    if marks.is_empty() || marks.contains(path) {
        return !marks.is_empty();
    }
    let made_of = MADE.iter().filter_map(|end| path.strip_suffix(end));
    let stem = path.rsplit_once('.').filter(|(_, end)| is_volume(end)).map(|(stem, _)| stem);
    if made_of.chain(stem).any(|from| marks.contains(from)) {
        return true;
    }
    let open = path.find(['*', '?', '[']).and_then(|at| path.get(..at));
    // A pattern that says nothing of the names fits too much.
    let telling = path.rsplit('/').next().unwrap_or("").bytes().filter(u8::is_ascii_alphanumeric);
    let pattern = open.filter(|_| telling.take(2).count() == 2);
    marks.iter().any(|mark| match (mark.strip_suffix('*'), pattern) {
        (Some(start), Some(open)) => start.starts_with(open) || open.starts_with(start),
        (Some(start), None) => path.starts_with(start),
        (None, Some(_)) => super::parameters::fits(mark, path),
        (None, None) => places::is_below(path, mark),
    })
}

/// Returns true for the ending of a volume of an archive: `001`, `z01`.
fn is_volume(end: &str) -> bool {
    let digits = end.strip_prefix('z').unwrap_or(end);
    digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
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
