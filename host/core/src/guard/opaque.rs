//! Guarded paths that are passed to something with unknown behaviour: code on the command line,
//! unknown programs, text that another program will run.

use super::GuardInput;
use super::mention::{holds_parts, names};
use super::path_relation::{PathRelation, relation};
use super::{code, commands};
use crate::action::{Command, Coverage, Direction, EffectKind};
use crate::facts::normalise_path;
use crate::policy::GuardedPath;
use std::cell::OnceCell;

/// Returns the first guarded path that a command names and may change.
pub(super) fn hit<'a>(input: &GuardInput<'a>) -> Option<&'a GuardedPath> {
    let whole = input.commands().iter().enumerate().find_map(|(index, command)| {
        let program = command.program.as_str();
        // The client's own calls are reviewed, and calls of portcullis are judged by their
        // subcommand.
        if commands::is_client(input, program) || commands::is_own(input, program) {
            return None;
        }
        let language = commands::interpreter(program);
        let (code, fed) = (OnceCell::new(), OnceCell::new());
        let suspect = Suspect { input, index, command, language, code, fed };
        input.guarded.iter().find(|guarded| suspect.may_change(guarded))
    });
    whole.or_else(|| mounted(input)).or_else(|| unread(input))
}

/// Checks a command line that could not be read at all.
fn unread<'a>(input: &GuardInput<'a>) -> Option<&'a GuardedPath> {
    let partial = input.action.facts.coverage == Coverage::Partial && input.commands().is_empty();
    input.guarded.iter().find(|guarded| partial && names(input.text(), guarded))
}

struct Suspect<'s, 'a> {
    input: &'s GuardInput<'a>,
    index: usize,
    command: &'a Command,
    /// The language whose code it runs, for an interpreter.
    language: Option<&'a str>,
    /// Its code, collected once for all guarded paths.
    code: OnceCell<Vec<String>>,
    /// The texts that reach its standard input, collected once too.
    fed: OnceCell<Vec<&'a str>>,
}

impl<'a> Suspect<'_, 'a> {
    fn may_change(&self, guarded: &GuardedPath) -> bool {
        if let Some(language) = self.language {
            return self.code_may_change(language, guarded);
        }
        match self.command.program.as_str() {
            "mount" | "umount" | "fusermount" | "fusermount3" => {
                self.words().any(|word| self.holds(word, guarded))
            }
            "sqlite3" | "litecli" | "duckdb" => {
                self.words().any(|word| self.is_inside(word, guarded)) && !self.only_asks()
            }
            _ => self.is_opaque(guarded) && self.mentions(guarded),
        }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.command.words.iter().map(|word| word.text.as_str())
    }

    /// Returns true if the command names the path, or its input does, or if it names the path's
    /// last part and the command line changed into the folder for the rest.
    fn mentions(&self, guarded: &GuardedPath) -> bool {
        let assigned = self.command.assignments.iter().any(|(_, value)| names(value, guarded));
        let own = self.words().any(|word| names(word, guarded))
            || assigned
            || self.fed().iter().any(|text| names(text, guarded));
        let last = guarded.path.rsplit('/').next().unwrap_or("");
        let apart = !guarded.program
            && self.words().any(|word| word.trim_end_matches('/').rsplit('/').next() == Some(last))
            && self
                .input
                .commands()
                .iter()
                .any(|command| command.program == "cd" || command.program == "pushd")
            && holds_parts(self.input.text(), guarded);
        own || apart
    }

    /// Returns the texts that reach its standard input: heredocs, and the arguments that the
    /// command before it prints.
    fn fed(&self) -> &[&'a str] {
        self.fed.get_or_init(|| self.collect_fed())
    }

    fn collect_fed(&self) -> Vec<&'a str> {
        let heredocs = self
            .command
            .redirections
            .iter()
            .filter(|redirection| redirection.direction == Direction::Heredoc);
        let mut texts: Vec<&'a str> =
            heredocs.map(|redirection| redirection.target.text.as_str()).collect();
        if let Some(before) = self.input.command(self.command.input_from)
            && matches!(before.program.as_str(), "echo" | "printf" | "cat" | "print")
            && self.hands_input_on()
        {
            texts.extend(
                before.redirections.iter().map(|redirection| redirection.target.text.as_str()),
            );
            texts.extend(
                before
                    .words
                    .iter()
                    .map(|word| word.text.as_str())
                    // The words of `cat` are names of files, not the text that it passes on.
                    .filter(|_| before.program != "cat"),
            );
        }
        texts
    }

    /// Returns true if it runs its input.
    fn hands_input_on(&self) -> bool {
        matches!(
            self.command.program.as_str(),
            "crontab" | "at" | "batch" | "patch" | "git" | "ed" | "ex" | "tee" | "tmux" | "xargs"
        ) || self.language.is_some()
    }

    /// Returns true if its behaviour is not fully known, or if it changes files around the guarded
    /// one that it does not name.
    fn is_opaque(&self, guarded: &GuardedPath) -> bool {
        self.input.effects_of(self.index).any(|effect| match effect.kind {
            EffectKind::ProcessStart | EffectKind::UnseenCode | EffectKind::Persistence => true,
            EffectKind::RemoteChange | EffectKind::RemoteDelete => {
                matches!(effect.target.as_str(), "localhost" | "127.0.0.1" | "::1")
            }
            EffectKind::FileCreate
            | EffectKind::FileModify
            | EffectKind::FileDelete
            | EffectKind::Discard => {
                let around = effect.target.is_empty()
                    || relation(&effect.target, guarded) == Some(PathRelation::Above);
                around && !effect.certain
            }
            _ => false,
        })
    }

    /// Returns true for code that names the path, whole or in parts, and does more than read.
    fn code_may_change(&self, language: &str, guarded: &GuardedPath) -> bool {
        let writes = self
            .input
            .effects_of(self.index)
            .any(|effect| !matches!(effect.kind, EffectKind::FileRead | EffectKind::SecretRead));
        self.code.get_or_init(|| self.code_texts()).iter().any(|text| {
            let mentioned = names(text, guarded) || holds_parts(text, guarded) && !guarded.program;
            mentioned && (writes || !code::only_looks(language, text))
        })
    }

    /// Returns the code itself: words, heredocs, piped input if no word holds code, and anything
    /// that an earlier command of the line wrote to the file that is run.
    fn code_texts(&self) -> Vec<String> {
        let words: Vec<&str> = self.words().collect();
        let flagged = words.iter().position(|word| word.starts_with('-') && word.len() > 1);
        let inline = flagged.is_some_and(|at| {
            words.get(at + 1).is_some_and(|code| code.contains(['(', ' ', ';', '\'', '"', '=']))
        });
        let mut texts: Vec<String> = words
            .iter()
            .filter(|word| word.contains(['(', ';', '\'', '"', '=', '\n']))
            .map(ToString::to_string)
            .collect();
        if self
            .command
            .words
            .iter()
            .any(|word| word.text.ends_with('\u{fffd}') && word.text.len() > 4000)
        {
            // The rest of the command was cut off.
            texts.push(self.input.text().to_owned());
        }
        let heredocs = self
            .command
            .redirections
            .iter()
            .filter(|redirection| redirection.direction == Direction::Heredoc);
        let heredocs: Vec<&str> =
            heredocs.map(|redirection| redirection.target.text.as_str()).collect();
        // The reader cuts long texts; the command's own text has the rest.
        if heredocs.iter().any(|text| text.len() > 4000) {
            texts.push(self.input.text().to_owned());
        }
        texts.extend(heredocs.into_iter().map(str::to_owned));
        if !inline {
            texts.extend(self.fed().iter().map(|text| (*text).to_owned()));
            texts.extend(self.written_before());
            let script = words.iter().find(|word| !word.starts_with('-'));
            texts.extend(script.map(|_| words.join("\n")).filter(|_| self.is_opaque_run()));
        }
        texts
    }

    /// Returns true if it runs something that is not on the command line.
    fn is_opaque_run(&self) -> bool {
        self.input.effects_of(self.index).any(|effect| {
            effect.kind == EffectKind::ProcessStart
                || (effect.kind.changes_files() && !effect.certain)
        })
    }

    /// Returns the texts that earlier commands wrote to a file that this command is given.
    fn written_before(&self) -> Vec<String> {
        let given: Vec<&str> = self.words().collect();
        let earlier = self.input.commands().iter().take(self.index);
        let writes_it = |command: &&Command| {
            let redirected = command
                .redirections
                .iter()
                .filter(|to| matches!(to.direction, Direction::Output | Direction::Append));
            redirected.map(|to| to.target.text.as_str()).any(|file| {
                given
                    .iter()
                    .any(|word| word.trim_start_matches("./") == file.trim_start_matches("./"))
            })
        };
        let texts = |command: &Command| {
            let heredocs = command
                .redirections
                .iter()
                .filter(|to| to.direction == Direction::Heredoc)
                .map(|to| to.target.text.clone());
            heredocs.chain(command.words.iter().map(|word| word.text.clone())).collect::<Vec<_>>()
        };
        earlier.filter(writes_it).flat_map(texts).collect()
    }

    /// Returns true if the word is the guarded path, or is inside it or above it.
    fn holds(&self, word: &str, guarded: &GuardedPath) -> bool {
        word.starts_with(['/', '~', '.']) && relation(&self.absolute(word), guarded).is_some()
    }

    fn is_inside(&self, word: &str, guarded: &GuardedPath) -> bool {
        let word =
            word.strip_prefix("file:").map_or(word, |path| path.split('?').next().unwrap_or(path));
        matches!(
            relation(&self.absolute(word), guarded),
            Some(PathRelation::Same | PathRelation::Inside)
        )
    }

    fn absolute(&self, word: &str) -> String {
        normalise_path(word, &self.input.place.cwd, &self.input.place.home)
    }

    /// Returns true if a database is opened read-only, or only queried.
    fn only_asks(&self) -> bool {
        let read_only = self.words().any(|word| {
            matches!(word, "-readonly" | "--readonly" | "-read_only") || word.contains("mode=ro")
        });
        let asks = |text: &str| {
            let text = text.trim_start().to_ascii_lowercase();
            let harmless = [
                "select",
                ".tables",
                ".schema",
                ".dump",
                "explain",
                ".indexes",
                "pragma table_info",
                "pragma integrity_check",
            ];
            harmless.iter().any(|start| text.starts_with(start))
                // A harmless beginning says nothing about a second statement.
                && !text.trim_end().trim_end_matches(';').contains(';')
        };
        // The first word is the database.
        let mut texts = self.words().filter(|word| !word.starts_with('-')).skip(1).peekable();
        read_only || texts.peek().is_some() && texts.all(asks)
    }
}

/// Returns a guarded folder that is mounted writable into a container.
fn mounted<'a>(input: &GuardInput<'a>) -> Option<&'a GuardedPath> {
    let containers = ["docker", "podman", "nerdctl", "docker-compose"];
    let runs = |command: &Command| {
        containers.contains(&command.program.as_str())
            || command.wrappers.iter().any(|name| containers.contains(&name.as_str()))
    };
    if !input.commands().iter().any(runs) {
        return None;
    }
    input.text().split_ascii_whitespace().filter_map(mount_source).find_map(|source| {
        let path = normalise_path(source, &input.place.cwd, &input.place.home);
        input.guarded.iter().find(|guarded| {
            guarded.top.is_empty() && !guarded.program && relation(&path, guarded).is_some()
        })
    })
}

/// Returns the host folder in `-v SOURCE:TARGET` or `--mount source=SOURCE,...`, unless it is
/// mounted read-only.
fn mount_source(word: &str) -> Option<&str> {
    let word = word.trim_matches(['"', '\'']);
    if word.contains("://") {
        return None;
    }
    if let Some(source) = word
        .split(',')
        .find_map(|part| part.rsplit_once("source=").or_else(|| part.rsplit_once("src=")))
    {
        let read = word.split(',').any(|part| matches!(part, "readonly" | "ro" | "readonly=true"));
        return (!read).then_some(source.1.trim_matches(['"', '\'']));
    }
    let word = word
        .strip_prefix("--volume=")
        .or_else(|| word.strip_prefix("-v"))
        .unwrap_or(word)
        .trim_matches(['"', '\'']);
    let (source, rest) = word.split_once(':')?;
    let source = source.trim_matches(['"', '\'']);
    let read = rest
        .rsplit(':')
        .next()
        .is_some_and(|options| options.split(',').any(|option| option == "ro"));
    (!read && rest.starts_with('/') && source.starts_with(['/', '~', '$', '.'])).then_some(source)
}
