//! Files outside the project that a line empties: what they held is gone, though the files remain.
//!
//! In the project and in folders for temporary files this is ordinary work, and the change of the
//! file says enough.

use super::expand::Field;
use super::{Setting, Walker};
use crate::places::{self, Place};
use crate::types::{Command, Direction, EffectKind, Redirection};

const NOTHING: &str = "/dev/null";
/// Folders whose files are not missed, and those that hold no files.
const UNHELD: &[&str] = &["/dev", "/proc", "/private/tmp", "/sys", "/tmp", "/var/tmp"];

impl Walker<'_> {
    /// Notes the files that the output of a command without output goes to.
    pub(super) fn note_emptied(
        &mut self,
        redirections: &[Redirection],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let here = matches!(setting.place, Place::Here);
        let emptied = redirections.iter().any(|to| {
            let (path, certain) = places::resolve(&to.target.text, &self.env.folder);
            to.descriptor == 1
                && to.direction == Direction::Output
                && to.target.known
                && certain
                && self.is_held(&path)
        });
        if here && emptied {
            self.out.form("empty-file", command);
        }
    }

    /// Notes the files that programs put nothing into.
    pub(super) fn note_emptying(&mut self) {
        let emptying = self.out.effects.iter().filter_map(|effect| {
            let written = matches!(effect.kind, EffectKind::FileModify | EffectKind::FileCreate);
            let command = self.out.commands.get(usize::try_from(effect.command?).ok()?)?;
            let empties = written && effect.certain && self.is_held(&effect.target);
            (empties && puts_nothing(command)).then_some(effect.command)
        });
        for command in emptying.collect::<Vec<_>>() {
            self.out.form("empty-file", command);
        }
    }

    /// Returns true for a file outside the project that somebody may miss.
    pub(super) fn is_held(&self, path: &str) -> bool {
        let path = &places::normalise(path);
        let cache = format!("{}/.cache", self.home);
        path.starts_with('/')
            && (self.project.is_empty() || !places::is_below(path, self.project))
            // Logs of one's own programs are emptied in ordinary work; those of the system are not.
            && (!path.ends_with(".log") || places::is_log(path))
            && !UNHELD.iter().any(|folder| places::is_below(path, folder))
            && (self.home.is_empty() || !places::is_below(path, &cache))
    }
}

/// Returns true if a command puts the contents of nothing into its files.
fn puts_nothing(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let reads_nothing = command
        .redirections
        .iter()
        .any(|from| from.direction == Direction::Input && from.target.text == NOTHING);
    match command.program.as_str() {
        "cp" | "gcp" | "install" | "ln" => words.contains(&NOTHING),
        "tee" | "sponge" => reads_nothing && !words.contains(&"-a"),
        "dd" => {
            (reads_nothing || words.contains(&"if=/dev/null") || words.contains(&"count=0"))
                && !words.iter().any(|word| word.starts_with("conv=") && word.contains("notrunc"))
        }
        "truncate" => words.iter().enumerate().any(|(at, word)| {
            let next = || words.get(at + 1).copied().unwrap_or_default();
            let size = match word.split_once('=') {
                Some((flag, size)) if flag.len() > 2 && "--size".starts_with(flag) => Some(size),
                _ if word.len() > 2 && "--size".starts_with(*word) => Some(next()),
                _ => {
                    word.strip_prefix("-s").map(|size| if size.is_empty() { next() } else { size })
                }
            };
            size.is_some_and(|size| size.trim_matches('0').is_empty() && !size.is_empty())
        }),
        "sed" | "gsed" => {
            let in_place = words.iter().any(|word| {
                word.starts_with("-i") || word.starts_with("--in-place") || *word == "-ni"
            });
            let all = |word: &&str| matches!(*word, "d" | "1,$d" | "1,$ d");
            in_place && words.iter().any(all)
        }
        _ => false,
    }
}

/// Returns true for an output that holds nothing.
pub(super) fn is_nothing(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.trim().is_empty())
}

/// Returns true for words that print nothing but the contents of nothing.
pub(super) fn prints_nothing(fields: &[Field]) -> bool {
    let mut words = fields.iter().map(|field| field.text.as_str());
    words.next().is_some_and(|program| matches!(program, "cat" | "head" | "tail"))
        && words.clone().any(|word| word == NOTHING)
        && words.all(|word| word == NOTHING || word.starts_with('-'))
}
