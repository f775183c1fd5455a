//! What an action does to guarded paths, by its effects: the same whoever causes them, a file tool, a
//! redirection or a program.

use super::Sight;
use super::lies::{Lies, below, is_glob, lies, matches};
use crate::action::{Command, Direction, Effect, EffectKind, Entry, Path};
use crate::facts::normalise;
use crate::observe::dotted;
use crate::policy::Guarded;

/// What is done to a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Reads,
    /// Makes it, or changes what is in it.
    Writes,
    /// Puts files there, under names of their own where it is a folder.
    Places,
    /// Takes it away, with all that is in it.
    Removes,
    /// Changes who may do what with it.
    Attributes,
}

/// Programs that put files into a folder under names of their own.
const PLACING: &[&str] = &[
    "7z", "7za", "7zz", "aria2c", "bsdtar", "cp", "cpio", "curl", "ditto", "install", "ln", "mv", "pax", "rsync", "scp", "sftp", "tar",
    "unrar", "unzip", "wget",
];
/// Those of them whose words do not say which names.
const UNPACKING: &[&str] = &["7z", "7za", "7zz", "bsdtar", "cpio", "pax", "tar", "unrar", "unzip"];
const ATTRIBUTES: &[&str] = &["chattr", "chflags", "chgrp", "chmod", "chown", "setfacl", "xattr"];
/// Programs that look at names, sizes and times only.
const LISTING: &[&str] = &["cd", "dir", "du", "eza", "find", "fd", "ls", "lsd", "stat", "tree", "vdir"];

/// The guarded path that an effect would change, or read although it is secret.
pub(super) fn hit<'a>(sight: &Sight<'a>) -> Option<(&'a Guarded, String, bool)> {
    sight.action.facts.effects.iter().find_map(|effect| {
        let path = effect.path.and_then(|index| sight.action.facts.paths.get(index as usize));
        let real = path.and_then(|path| path.link_target.as_deref());
        [Some(effect.target.as_str()), real].into_iter().flatten().find_map(|spelling| {
            let touched = Touched { sight, effect, path, command: sight.command(effect.command), spelling };
            let guarded = sight.guarded.iter().find(|guarded| touched.hits(guarded))?;
            Some((guarded, spelling.to_owned(), touched.deed() == Deed::Reads))
        })
    })
}

/// Words that lead through `..` after a name, which may be a link: where the workspace says they lead.
pub(super) fn hit_through_links<'a>(sight: &Sight<'a>) -> Option<(&'a Guarded, String, bool)> {
    let commands = sight.commands().iter().enumerate();
    commands.filter(|(index, _)| sight.changes_something(*index)).find_map(|(_, command)| {
        dotted(command, &sight.place.cwd).find_map(|raw| {
            let real = sight.observed.get(&raw)?.real.as_deref()?;
            let held = |guarded: &&Guarded| matches!(lies(real, guarded), Some(Lies::Same | Lies::Inside));
            Some((sight.guarded.iter().find(held)?, raw.clone(), false))
        })
    })
}

/// A file that is opened to read and written through the name of its descriptor.
pub(super) fn hit_reopened<'a>(sight: &Sight<'a>) -> Option<(&'a Guarded, String, bool)> {
    let redirections = || sight.commands().iter().flat_map(|command| &command.redirections);
    let written = |text: &str| {
        let number =
            text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/").and_then(|rest| Some(rest.split_once("/fd/")?.1)));
        number.is_some_and(|number| !matches!(number, "0" | "1" | "2"))
    };
    let through = redirections().any(|to| matches!(to.direction, Direction::Output | Direction::Append) && written(&to.target.text))
        || sight
            .commands()
            .iter()
            .enumerate()
            .any(|(index, command)| sight.changes_something(index) && command.words.iter().any(|word| written(&word.text)));
    let mut opened = redirections().filter(|from| through && from.direction == Direction::Input && from.descriptor > 2);
    opened.find_map(|from| {
        let path = normalise(&from.target.text, &sight.place.cwd, &sight.place.home);
        let held = |guarded: &&Guarded| matches!(lies(&path, guarded), Some(Lies::Same | Lies::Inside));
        Some((sight.guarded.iter().find(held)?, path.clone(), false))
    })
}

/// One path that an effect is on, in one of its spellings.
struct Touched<'s, 'a> {
    sight: &'s Sight<'a>,
    effect: &'s Effect,
    path: Option<&'s Path>,
    command: Option<&'s Command>,
    spelling: &'s str,
}

impl Touched<'_, '_> {
    fn hits(&self, guarded: &Guarded) -> bool {
        match (lies(self.spelling, guarded), self.deed()) {
            (None, _) => false,
            (Some(Lies::Same), Deed::Reads) => guarded.secret,
            // A secret is a file: a pattern that goes on below it meets nothing.
            (Some(Lies::Inside), Deed::Reads) => guarded.secret && !is_glob(self.spelling),
            (Some(Lies::Above), Deed::Reads) => guarded.secret && self.reads_whole(guarded),
            (Some(Lies::Same), Deed::Writes) if self.program() == "mkdir" => !guarded.present,
            (Some(Lies::Same | Lies::Inside), _) => true,
            (Some(Lies::Above), Deed::Removes) if !self.effect.certain => self.beside(guarded),
            (Some(Lies::Above), Deed::Removes) => self.removes_whole() && self.within_top(guarded),
            (Some(Lies::Above), Deed::Attributes) => guarded.top.is_empty() && (self.effect.recursive || !self.holds_home()),
            (Some(Lies::Above), Deed::Places) => self.places(guarded) || self.replaces(guarded),
            (Some(Lies::Above), Deed::Writes) => self.beside(guarded),
        }
    }

    fn program(&self) -> &str {
        self.command.map_or("", |command| command.program.as_str())
    }

    fn deed(&self) -> Deed {
        let program = self.program();
        match self.effect.kind {
            EffectKind::FileRead | EffectKind::SecretRead => Deed::Reads,
            EffectKind::FileDelete => Deed::Removes,
            _ if program == "mv" && self.effect.recursive || self.is_git_move() => Deed::Removes,
            _ if ATTRIBUTES.contains(&program) => Deed::Attributes,
            EffectKind::FileCreate | EffectKind::FileModify if PLACING.contains(&program) => Deed::Places,
            EffectKind::FileModify if self.renamed_by_code() => Deed::Removes,
            EffectKind::FileCreate | EffectKind::FileModify | EffectKind::Discard => Deed::Writes,
            // What merely follows from a path, or happens elsewhere.
            _ => Deed::Reads,
        }
    }

    fn is_git_move(&self) -> bool {
        self.command.is_some_and(|command| command.program == "git" && command.words.iter().any(|word| word.text == "mv"))
            && self.effect.certain
    }

    /// Code cannot write a folder: it moves it, or changes who may do what with it.
    fn renamed_by_code(&self) -> bool {
        let folder = self.path.is_some_and(|path| path.entry == Entry::Folder);
        folder && self.effect.certain && super::commands::interpreter(self.program()).is_some()
    }

    /// Takes a folder away with what is in it: a plain removal of a folder fails, of a link to one it does not.
    fn removes_whole(&self) -> bool {
        let link = self.path.is_some_and(|path| path.entry == Entry::Link);
        self.effect.recursive || link || !matches!(self.program(), "rm" | "rmdir" | "unlink")
    }

    fn within_top(&self, guarded: &Guarded) -> bool {
        guarded.top.is_empty() || below(self.spelling, &guarded.top).is_some()
    }

    /// The home folder, or one above it.
    fn holds_home(&self) -> bool {
        below(&self.sight.place.home, self.spelling).is_some()
    }

    /// Reads all of a folder that is the guard's own and so the secret in it.
    fn reads_whole(&self, guarded: &Guarded) -> bool {
        let own = self.sight.guarded.iter().any(|other| !other.secret && other.path == self.spelling);
        let flagged = self.command.is_some_and(|command| command.words.iter().any(|word| is_recursive(&word.text)));
        let all = self.effect.recursive || flagged || self.command.is_none();
        own && guarded.present && all && !LISTING.contains(&self.program())
    }

    /// Puts a file into a folder above under the name of what is guarded there.
    fn places(&self, guarded: &Guarded) -> bool {
        let Some(next) = below(&guarded.path, self.spelling).and_then(|rest| rest.split('/').next()) else { return false };
        let Some(command) = self.command else { return false };
        let whole = guarded.top.is_empty() && !guarded.program;
        let direct = below(&guarded.path, self.spelling) == Some(next);
        let words = || command.words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
        let named = words().any(|text| {
            let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
            name == next && !text.trim_end_matches('/').ends_with(self.spelling)
                || is_glob(name) && (whole || name.trim_matches('*').len() > 1) && matches(name, next, false)
        });
        let contents = words().any(|text| text.ends_with("/.") || command.program == "rsync" && text.ends_with('/') && text.len() > 1);
        let unpacks = UNPACKING.contains(&command.program.as_str());
        let unknown = direct && (!self.effect.certain || words().any(|text| text.contains('\u{fffd}')));
        named || whole && (contents && !self.is_first_word(command) || unpacks || unknown)
    }

    /// The only word that names contents is the target itself.
    fn is_first_word(&self, command: &Command) -> bool {
        let contents: Vec<&str> =
            command.words.iter().map(|word| word.text.as_str()).filter(|text| text.ends_with("/.") || text.ends_with('/')).collect();
        matches!(contents.as_slice(), [only] if command.words.last().is_some_and(|last| last.text == *only))
    }

    /// Takes the place of a folder above that is absent or only a link.
    fn replaces(&self, guarded: &Guarded) -> bool {
        let free = self.path.is_some_and(|path| matches!(path.entry, Entry::Absent | Entry::Link));
        free && matches!(self.program(), "ln" | "mv") && self.within_top(guarded)
    }

    /// It is under a name that only the run tells, right where the guarded file lies. Of a file among a project's own, which
    /// counts alone, that would be whatever runs there.
    fn beside(&self, guarded: &Guarded) -> bool {
        let direct = below(&guarded.path, self.spelling).is_some_and(|rest| !rest.contains('/'));
        direct && !self.effect.certain && !guarded.program && guarded.top != guarded.path
    }
}

fn is_recursive(flag: &str) -> bool {
    let short = flag.starts_with('-') && !flag.starts_with("--");
    flag == "--recursive" || short && flag.contains(['r', 'R']) && flag.len() < 6
}
