//! Effects of an action on guarded paths, judged in the same way for a file tool, a redirection or
//! a program.

use super::GuardInput;
use super::path_relation::{PathRelation, is_glob, matches, name_relation, relation, strip_folder};
use crate::action::{Command, Direction, Effect, EffectKind, Entry, Path};
use crate::facts::normalise_path;
use crate::observe::dotted;
use crate::policy::GuardedPath;

/// The kinds of effects on a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathOperation {
    Reads,
    /// Creates it, or changes its content.
    Writes,
    /// Puts files there; if it is a folder, under their own names.
    Places,
    /// Removes it, with everything in it.
    Removes,
    /// Changes its permissions or owner.
    Attributes,
}

/// Programs that put files into a folder under the files' own names.
const PLACING: &[&str] = &[
    "7z", "7za", "7zz", "aria2c", "bsdtar", "cp", "cpio", "curl", "ditto", "install", "ln", "mv",
    "pax", "rsync", "scp", "sftp", "tar", "unrar", "unzip", "wget",
];
/// Placing programs whose arguments do not show those names.
const UNPACKING: &[&str] = &["7z", "7za", "7zz", "bsdtar", "cpio", "pax", "tar", "unrar", "unzip"];
const ATTRIBUTES: &[&str] = &["chattr", "chflags", "chgrp", "chmod", "chown", "setfacl", "xattr"];
/// Programs that copy a folder's content, not the folder.
const EMPTYING: &[&str] = &["ditto"];
/// Programs that determine which files other programs change.
const SEARCHING: &[&str] =
    &["ack", "ag", "egrep", "fd", "fdfind", "fgrep", "find", "git", "grep", "ls", "rg", "tree"];
/// The reader's mark for a command that a search starts on its results.
const OF_SEARCH: &str = "find -exec";
/// Programs that change only a folder itself, and nothing in it.
const FOLDER_ALONE: &[&str] = &["git", "mkdir", "touch"];
/// Programs that read only names, sizes and times.
const LISTING: &[&str] =
    &["cd", "dir", "du", "eza", "find", "fd", "ls", "lsd", "stat", "tree", "vdir"];

/// Returns the guarded path that an effect would change, or read although it is secret.
pub(super) fn hit<'a>(input: &GuardInput<'a>) -> Option<(&'a GuardedPath, String, bool)> {
    input.action.facts.effects.iter().find_map(|effect| {
        let path = effect.path.and_then(|index| input.action.facts.paths.get(index as usize));
        // A link counts under its own name and under that of its target: either may be guarded.
        let real = path.and_then(|path| path.link_target.as_deref());
        [Some(effect.target.as_str()), real].into_iter().flatten().find_map(|spelling| {
            let touched = AffectedPath {
                input,
                effect,
                path,
                command: input.command(effect.command),
                spelling,
            };
            let guarded = input.guarded.iter().find(|guarded| touched.hits(guarded))?;
            Some((guarded, spelling.to_owned(), touched.operation() == PathOperation::Reads))
        })
    })
}

/// Checks words with a `..` after a name, which may be a link, at the place where the workspace
/// says they lead.
pub(super) fn hit_through_links<'a>(
    input: &GuardInput<'a>,
) -> Option<(&'a GuardedPath, String, bool)> {
    let commands = input.commands().iter().enumerate();
    commands.filter(|(index, _)| input.changes_something(*index)).find_map(|(_, command)| {
        dotted(command, &input.place.cwd).find_map(|raw| {
            let real = input.observed.get(&raw)?.real.as_deref()?;
            let held = |guarded: &&GuardedPath| {
                matches!(relation(real, guarded), Some(PathRelation::Same | PathRelation::Inside))
            };
            Some((input.guarded.iter().find(held)?, raw.clone(), false))
        })
    })
}

/// Checks changes of files that a search finds in a folder above, if nothing else shows which
/// files.
pub(super) fn hit_by_search<'a>(input: &GuardInput<'a>) -> Option<(&'a GuardedPath, String, bool)> {
    let facts = &input.action.facts;
    let changes = |searched: &Effect| {
        facts.effects.iter().any(|effect| {
            let unsaid = effect.kind.changes_files()
                && !effect.certain
                && effect.command != searched.command;
            unsaid && (effect.target.is_empty() || effect.target == searched.target)
        })
    };
    let of_search = |effect: &&Effect| {
        let program = input.command(effect.command).map_or("", |command| command.program.as_str());
        effect.kind == EffectKind::FileRead && SEARCHING.contains(&program)
    };
    facts.effects.iter().filter(of_search).find_map(|effect| {
        let above = |guarded: &&GuardedPath| {
            let in_top =
                guarded.top.is_empty() || strip_folder(&effect.target, &guarded.top).is_some();
            in_top
                && !guarded.program
                && guarded.present
                && name_relation(&effect.target, guarded) == Some(PathRelation::Above)
        };
        let guarded = input.guarded.iter().find(above)?;
        changes(effect).then(|| (guarded, effect.target.clone(), false))
    })
}

/// Checks for a file that is opened for reading and then written through its descriptor's name.
pub(super) fn hit_reopened<'a>(input: &GuardInput<'a>) -> Option<(&'a GuardedPath, String, bool)> {
    let redirections = || input.commands().iter().flat_map(|command| &command.redirections);
    let written = |text: &str| {
        let number = text.strip_prefix("/dev/fd/").or_else(|| {
            text.strip_prefix("/proc/").and_then(|rest| Some(rest.split_once("/fd/")?.1))
        });
        number.is_some_and(|number| !matches!(number, "0" | "1" | "2"))
    };
    let through = redirections().any(|to| {
        matches!(to.direction, Direction::Output | Direction::Append) && written(&to.target.text)
    }) || input.commands().iter().enumerate().any(|(index, command)| {
        input.changes_something(index) && command.words.iter().any(|word| written(&word.text))
    });
    let mut opened = redirections()
        .filter(|from| through && from.direction == Direction::Input && from.descriptor > 2);
    opened.find_map(|from| {
        let path = normalise_path(&from.target.text, &input.place.cwd, &input.place.home);
        let held = |guarded: &&GuardedPath| {
            matches!(relation(&path, guarded), Some(PathRelation::Same | PathRelation::Inside))
        };
        Some((input.guarded.iter().find(held)?, path.clone(), false))
    })
}

/// A path that an effect applies to, in one of its spellings.
struct AffectedPath<'s, 'a> {
    input: &'s GuardInput<'a>,
    effect: &'s Effect,
    path: Option<&'s Path>,
    command: Option<&'s Command>,
    spelling: &'s str,
}

impl AffectedPath<'_, '_> {
    fn hits(&self, guarded: &GuardedPath) -> bool {
        let is_name = self.path.is_some_and(|path| !path.glob);
        let found = if is_name {
            name_relation(self.spelling, guarded)
        } else {
            relation(self.spelling, guarded)
        };
        match (found, self.operation()) {
            (None, _) => false,
            (Some(PathRelation::Same), PathOperation::Reads) => guarded.secret,
            // A pattern that only may lead below a secret names another folder as well; one that begins
            // below it does not.
            (Some(PathRelation::Inside), PathOperation::Reads) => {
                guarded.secret && (!is_glob(self.spelling) || self.begins_below(guarded))
            }
            (Some(PathRelation::Above), PathOperation::Reads) => {
                guarded.secret && self.reads_whole(guarded)
            }
            // `mkdir` changes nothing that exists.
            (Some(PathRelation::Same), PathOperation::Writes) if self.program() == "mkdir" => {
                !guarded.present
            }
            (Some(PathRelation::Same | PathRelation::Inside), _) => true,
            (Some(PathRelation::Above), PathOperation::Removes) if !self.effect.certain => {
                self.beside(guarded)
            }
            (Some(PathRelation::Above), PathOperation::Removes) => {
                self.removes_whole() && self.within_top(guarded)
            }
            (Some(PathRelation::Above), PathOperation::Attributes) => {
                guarded.top.is_empty() && (self.effect.recursive || !self.holds_home())
            }
            (Some(PathRelation::Above), PathOperation::Places) => {
                self.places(guarded) || self.replaces(guarded)
            }
            (Some(PathRelation::Above), PathOperation::Writes) => {
                self.beside(guarded) || self.covers(guarded)
            }
        }
    }

    /// Returns true if what stands before the pattern is in the guarded folder.
    fn begins_below(&self, guarded: &GuardedPath) -> bool {
        let before = self.spelling.split(['*', '?', '[', '{', '!', '@', '+']).next();
        let path = normalise_path(
            before.unwrap_or_default(),
            &self.input.place.cwd,
            &self.input.place.home,
        );
        std::path::Path::new(&path).starts_with(&guarded.path)
    }

    fn program(&self) -> &str {
        self.command.map_or("", |command| command.program.as_str())
    }

    fn operation(&self) -> PathOperation {
        let program = self.program();
        match self.effect.kind {
            EffectKind::FileRead | EffectKind::SecretRead => PathOperation::Reads,
            EffectKind::FileDelete => PathOperation::Removes,
            // The reader reports the source of a move as a recursive change; afterwards nothing is
            // there.
            _ if program == "mv" && self.effect.recursive || self.is_git_move() => {
                PathOperation::Removes
            }
            _ if ATTRIBUTES.contains(&program) => PathOperation::Attributes,
            EffectKind::FileCreate | EffectKind::FileModify if PLACING.contains(&program) => {
                PathOperation::Places
            }
            EffectKind::FileModify if self.renamed_by_code() => PathOperation::Removes,
            EffectKind::FileCreate | EffectKind::FileModify | EffectKind::Discard => {
                PathOperation::Writes
            }
            // Effects that merely follow from a path, or happen elsewhere.
            _ => PathOperation::Reads,
        }
    }

    fn is_git_move(&self) -> bool {
        self.command.is_some_and(|command| {
            command.program == "git" && command.words.iter().any(|word| word.text == "mv")
        }) && self.effect.certain
    }

    /// Returns true for a folder that code "modifies": code cannot write a folder, so it moves it
    /// or changes its permissions.
    fn renamed_by_code(&self) -> bool {
        let folder = self.path.is_some_and(|path| path.entry == Entry::Folder);
        folder && self.effect.certain && super::commands::interpreter(self.program()).is_some()
    }

    /// Returns true if a folder is removed with its content: a plain removal of a folder fails,
    /// that of a link to one does not.
    fn removes_whole(&self) -> bool {
        let link = self.path.is_some_and(|path| path.entry == Entry::Link);
        self.effect.recursive
            || link
            || self.is_of_search()
            || !matches!(self.program(), "rm" | "rmdir" | "unlink")
    }

    /// Returns true if the effect applies to each file that a search finds there.
    fn is_of_search(&self) -> bool {
        self.command.is_some_and(|command| command.wrappers.iter().any(|name| name == OF_SEARCH))
    }

    /// Returns true if it changes the content of a folder above without naming the files.
    fn covers(&self, guarded: &GuardedPath) -> bool {
        let folder = self.path.is_some_and(|path| path.entry == Entry::Folder);
        let free = self.path.is_some_and(|path| matches!(path.entry, Entry::Absent | Entry::Link));
        let clones = self.program() == "git"
            && self
                .command
                .is_some_and(|command| command.words.iter().any(|word| word.text == "clone"));
        let unsaid = self.effect.certain
            && folder
            && !self.holds_home()
            && !FOLDER_ALONE.contains(&self.program());
        let all = self.effect.recursive
            || self.effect.kind == EffectKind::Discard && self.effect.certain
            || self.is_of_search();
        !guarded.program && self.within_top(guarded) && (all || unsaid || clones && free)
    }

    fn within_top(&self, guarded: &GuardedPath) -> bool {
        guarded.top.is_empty() || strip_folder(self.spelling, &guarded.top).is_some()
    }

    /// Returns true for the home folder, or one above it.
    fn holds_home(&self) -> bool {
        strip_folder(&self.input.place.home, self.spelling).is_some()
    }

    /// Returns true if it reads all of one of the guard's own folders and so the secret in it.
    fn reads_whole(&self, guarded: &GuardedPath) -> bool {
        let own =
            self.input.guarded.iter().any(|other| !other.secret && other.path == self.spelling);
        let flagged = self
            .command
            .is_some_and(|command| command.words.iter().any(|word| is_recursive(&word.text)));
        let all = self.effect.recursive || flagged || self.command.is_none();
        own && guarded.present && all && !LISTING.contains(&self.program())
    }

    /// Returns true if it puts a file into a folder above under the name of the guarded path there.
    fn places(&self, guarded: &GuardedPath) -> bool {
        let Some(next) =
            strip_folder(&guarded.path, self.spelling).and_then(|rest| rest.split('/').next())
        else {
            return false;
        };
        let Some(command) = self.command else { return false };
        let whole = guarded.top.is_empty() && !guarded.program;
        let direct = strip_folder(&guarded.path, self.spelling) == Some(next);
        let words = || {
            command
                .words
                .iter()
                .map(|word| word.text.as_str())
                .filter(|text| !text.starts_with('-'))
        };
        let named = words().any(|text| {
            let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
            name == next && !text.trim_end_matches('/').ends_with(self.spelling)
                || is_glob(name)
                    && (whole || name.trim_matches('*').len() > 1)
                    && matches(name, next, false)
        });
        let contents = words().any(|text| {
            matches!(text, "." | "..")
                || text.ends_with("/.")
                || text.ends_with("/..")
                || command.program == "rsync" && text.ends_with('/') && text.len() > 1
        });
        // The target replaces the source, or receives all parts of a path.
        let in_place = EMPTYING.contains(&command.program.as_str())
            || command.program == "cp"
                && is_flagged(command, 'T', "--no-target-directory")
                && self.copies_whole();
        let keeps_path = match command.program.as_str() {
            "cp" => is_flagged(command, '\0', "--parents"),
            "rsync" => is_flagged(command, 'R', "--relative"),
            _ => false,
        };
        let with_parents =
            keeps_path && words().any(|text| text.split('/').any(|part| part == next));
        let unpacks = UNPACKING.contains(&command.program.as_str());
        let unknown =
            direct && (!self.effect.certain || words().any(|text| text.contains('\u{fffd}')));
        named
            || whole
                && (contents && !self.is_first_word(command)
                    || unpacks
                    || unknown
                    || in_place
                    || with_parents)
    }

    /// Returns true if the only word that names a folder's content is the target itself.
    fn is_first_word(&self, command: &Command) -> bool {
        let contents: Vec<&str> = command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .filter(|text| text.ends_with("/.") || text.ends_with('/'))
            .collect();
        matches!(contents.as_slice(), [only] if command.words.last().is_some_and(|last| last.text == *only))
    }

    /// Returns true if it replaces a folder above that is absent or only a link.
    fn replaces(&self, guarded: &GuardedPath) -> bool {
        let free = self.path.is_some_and(|path| matches!(path.entry, Entry::Absent | Entry::Link));
        let takes_place = matches!(self.program(), "ln" | "mv") || self.copies_whole();
        free && takes_place && self.within_top(guarded)
    }

    /// Returns true if it copies a folder with everything in it.
    fn copies_whole(&self) -> bool {
        let whole = |command: &Command| {
            command.words.iter().any(|word| is_recursive(&word.text) || is_archive(&word.text))
        };
        matches!(self.program(), "cp" | "rsync" | "ditto")
            && self.command.is_some_and(|command| self.program() == "ditto" || whole(command))
    }

    /// Returns true if the effect is on a name that is known only at run time, directly in the
    /// guarded file's folder. For a guarded file among a project's own files, which counts alone,
    /// that would match anything that runs there.
    fn beside(&self, guarded: &GuardedPath) -> bool {
        let direct =
            strip_folder(&guarded.path, self.spelling).is_some_and(|rest| !rest.contains('/'));
        direct && !self.effect.certain && !guarded.program && guarded.top != guarded.path
    }
}

/// Returns true if a flag is given by its letter, alone or combined with others, or by its name.
fn is_flagged(command: &Command, letter: char, name: &str) -> bool {
    let short = |text: &str| {
        text.starts_with('-') && !text.starts_with("--") && text.contains(letter) && text.len() < 8
    };
    command.words.iter().any(|word| word.text == name || short(&word.text))
}

fn is_archive(flag: &str) -> bool {
    flag == "--archive"
        || flag.starts_with('-') && !flag.starts_with("--") && flag.contains('a') && flag.len() < 8
}

fn is_recursive(flag: &str) -> bool {
    let short = flag.starts_with('-') && !flag.starts_with("--");
    flag == "--recursive" || short && flag.contains(['r', 'R']) && flag.len() < 6
}
