//! Reads a command line together with the files that it runs: the reader asks for files, the
//! workspace is looked at, and the reader reads again.

use crate::action::{
    Action, Command, Coverage, Effect, EffectKind, Facts, GitState, Operation, Reading,
};
use crate::facts::{self, CallLocation, LIMIT};
use crate::fault::Fault;
use crate::mask::Masker;
use crate::observe::{Observations, Observer, Query};
use crate::plugins::Plugins;
use crate::policy::GuardedPath;
use crate::run_files::{
    FileContents, FileReading, KnownFile, Mount, Provenance, RunLine, ShellPlace,
};
use crate::session::Session;
use crate::text::one_line;

/// The most times that a command line is read: one for each depth of files that run files.
const ROUNDS: usize = 5;
/// The most files whose text one call may read.
const TEXTS: usize = 16;
/// The most files that one call may look for.
const LOOKS: usize = 40;
/// The most files that a reader asks for at once (`wit/shell/shell.wit`).
const WANTS: usize = 16;
/// The end of a sentence about a file that is not read.
const TOO_MANY: &str = "is one of too many files";
/// The most bytes of a command in a message.
const SHOWN: usize = 120;

/// The findings about files while one call is read.
#[derive(Default)]
pub(super) struct ScriptFiles {
    known: Vec<KnownFile>,
    /// The mounts of earlier steps.
    mounts: Vec<Mount>,
    /// The answers of the workspace.
    pub observed: Observations,
    /// The part of the last reading that is about files.
    pub reading: FileReading,
    /// The first text beyond [`TEXTS`] that is not as it was committed.
    unread: Option<String>,
}

/// The means by which files are looked at.
pub(super) struct ScriptLook<'r, 'o> {
    pub observe: Option<&'r mut Observer<'o>>,
    pub masker: &'r Masker,
    pub guarded: &'r [GuardedPath],
    /// It matters of every file if git holds it as it is.
    pub commits: bool,
}

impl ScriptFiles {
    pub(super) fn of_session(session: &Session) -> Self {
        let (known, mounts) = (session.files.known_files(), session.mounts.list_mounts());
        Self { known, mounts, ..Self::default() }
    }

    /// Reads a command line, and again with each file that it turns out to run. The shape is that
    /// of the command line alone.
    pub(super) fn read_shell(
        &mut self,
        plugins: &mut dyn Plugins,
        look: &mut ScriptLook<'_, '_>,
        text: &str,
        place: &CallLocation,
    ) -> Result<Reading, Fault> {
        let mut shape = None;
        let mut rounds = 0;
        loop {
            let around = ShellPlace {
                cwd: &place.cwd,
                home: &place.home,
                files: &self.known,
                mounts: &self.mounts,
            };
            let reading = plugins.read_shell(text, &around)?;
            rounds += 1;
            // Of files that may run others more deeply than is read, it matters if git holds them.
            let deep = rounds + 1 >= ROUNDS;
            let asks = rounds <= ROUNDS && self.look_at(&reading.files, deep, look, place);
            let shape = shape.get_or_insert_with(|| reading.shape.clone());
            if !asks {
                let shape = std::mem::take(shape);
                let mut reading = Reading { shape, ..reading };
                if let Some(gap) = self.find_unread(&reading.files, rounds, look, place) {
                    reading.coverage = Coverage::Partial;
                    reading.gaps.insert(0, gap);
                }
                return Ok(self.finish(reading));
            }
        }
    }

    /// Returns the gap that a file leaves which was not read, since a limit on files or on depth
    /// was reached. Anything may stand in it, unless git holds it as it is.
    fn find_unread(
        &mut self,
        reading: &FileReading,
        rounds: usize,
        look: &mut ScriptLook<'_, '_>,
        place: &CallLocation,
    ) -> Option<String> {
        let gap = |path: &str| {
            let inside = path.strip_prefix(&place.cwd).and_then(|path| path.strip_prefix('/'));
            format!("`{}` {TOO_MANY}", one_line(inside.unwrap_or(path), 256))
        };
        let limit = |path: &str| Some(format!("{LIMIT}{}", gap(path)));
        if let Some(path) = &self.unread {
            return limit(path);
        }
        let observe = look.observe.as_mut()?;
        if rounds <= ROUNDS && self.count_looked() < LOOKS {
            return None;
        }
        let left = reading.wants.iter().filter(|path| is_askable(path) && !self.is_looked_at(path));
        let left: Vec<Query> = left.map(|path| Query::of_text(path.clone(), true)).collect();
        let first = left.first()?;
        // A reader that asks for as many files as it may has more to ask for.
        if reading.wants.len() >= WANTS {
            return limit(&first.path);
        }
        let mut found = observe(&left);
        let mut unknown = None;
        for query in &left {
            let Some(mut seen) = found.remove(&query.key()) else {
                unknown = unknown.or(Some(query));
                continue;
            };
            let missing = seen.contents == Some(FileContents::Missing);
            if !missing {
                seen.contents = Some(FileContents::Unreadable(TOO_MANY.into()));
            }
            if !missing && seen.git != GitState::Clean {
                unknown = unknown.or(Some(query));
            }
            self.observed.insert(query.key(), seen);
        }
        unknown.map_or_else(|| Some(gap(&first.path)), |query| limit(&query.path))
    }

    fn count_looked(&self) -> usize {
        self.known.iter().filter(|file| file.contents.is_some()).count()
    }

    /// Takes the part about files out of the last reading.
    fn finish(&mut self, mut reading: Reading) -> Reading {
        let files = std::mem::take(&mut reading.files);
        self.reading.lines = files.lines;
        for left in files.leaves {
            self.reading.leaves.retain(|known| known.path != left.path);
            self.reading.leaves.push(left);
        }
        self.reading.mounts.extend(files.mounts);
        reading
    }

    /// Looks at files; returns true if anything new is known that makes a difference.
    fn look_at(
        &mut self,
        reading: &FileReading,
        deep: bool,
        look: &mut ScriptLook<'_, '_>,
        place: &CallLocation,
    ) -> bool {
        let Some(observe) = look.observe.as_mut() else { return false };
        let texts = self.known.iter().filter(|file| is_text(file.contents.as_ref())).count();
        let looked = self.count_looked();
        let mut room = TEXTS.saturating_sub(texts);
        let queries: Vec<Query> = reading
            .wants
            .iter()
            .filter(|path| is_askable(path) && !self.is_looked_at(path))
            .take(LOOKS.saturating_sub(looked))
            .enumerate()
            // Beyond the room that is left, a text may be one too many.
            .map(|(index, path)| {
                Query::of_text(path.clone(), look.commits || deep || index >= room)
            })
            .collect();
        if queries.is_empty() {
            return false;
        }
        // A reader that asks for as many files as it may has more to ask for.
        let full = reading.wants.len() >= WANTS;
        let mut found = observe(&queries);
        let mut news = false;
        for query in queries {
            let key = query.key();
            let withheld = facts::is_credential(&query.path, place)
                || look
                    .guarded
                    .iter()
                    .any(|guarded| guarded.secret && facts::is_within(&query.path, &guarded.path));
            let Some(mut seen) = found.remove(&key) else {
                continue;
            };
            let committed = seen.git == GitState::Clean;
            let contents = seen.contents.take().map(|contents| match contents {
                _ if withheld => {
                    FileContents::Unreadable("is not read, because of its content".into())
                }
                contents if is_text(Some(&contents)) && room == 0 => {
                    // A committed file is the work of people: the reader reports a gap.
                    if !committed {
                        self.unread.get_or_insert_with(|| query.path.clone());
                    }
                    FileContents::Unreadable(TOO_MANY.into())
                }
                contents => masked(contents, look.masker),
            });
            let Some(contents) = contents else { continue };
            // Most builders look for many files of which few are there.
            news |=
                full || contents != FileContents::Missing || reading.absences.contains(&query.path);
            room -= usize::from(is_text(Some(&contents)));
            seen.contents = Some(contents.clone());
            // Behind a link stands the file that an earlier step filled under its own name.
            let data = seen.real.as_deref().map(|real| self.provenance_of(real));
            let data = data.unwrap_or_default();
            self.observed.insert(key, seen);
            match self.known.iter_mut().find(|file| file.path == query.path) {
                Some(file) => {
                    file.contents = Some(contents);
                    file.committed = committed;
                    file.provenance = file.provenance.with_data_of(data);
                }
                None => self.known.push(KnownFile {
                    path: query.path,
                    contents: Some(contents),
                    provenance: data,
                    committed,
                }),
            }
        }
        news
    }

    /// Returns the data that earlier steps put into a file, or into a folder that it is in.
    fn provenance_of(&self, path: &str) -> Provenance {
        let holds = |file: &&KnownFile| {
            file.path == path || file.path.ends_with('/') && path.starts_with(&file.path)
        };
        let known = self.known.iter().filter(holds).map(|file| file.provenance);
        known.fold(Provenance::default(), Provenance::with_data_of)
    }

    fn is_looked_at(&self, path: &str) -> bool {
        self.known.iter().any(|file| file.path == path && file.contents.is_some())
    }

    /// Adds the contents of files to what else was observed.
    pub(super) fn add_to(&mut self, observed: &mut Observations) {
        for (key, seen) in std::mem::take(&mut self.observed) {
            match observed.get_mut(&key) {
                Some(known) => {
                    known.contents = seen.contents;
                    if known.git == GitState::Unknown {
                        known.git = seen.git;
                    }
                }
                None => {
                    observed.insert(key, seen);
                }
            }
        }
    }
}

/// Returns true for a path at which the workspace can be asked for a file.
fn is_askable(path: &str) -> bool {
    path.starts_with('/') && !path.contains(crate::mask::PLACEHOLDER)
}

/// Returns the files that an action writes and that code may import.
pub(super) fn written_modules(facts: &Facts) -> impl Iterator<Item = &str> {
    let writes = |effect: &&Effect| {
        effect.certain && matches!(effect.kind, EffectKind::FileCreate | EffectKind::FileModify)
    };
    let paths = facts.effects.iter().filter(writes);
    let paths = paths.filter_map(|effect| facts.paths.get(usize::try_from(effect.path?).ok()?));
    let modules = paths.filter(|path| !path.glob && portcullis_autoruns::is_module(&path.text));
    modules.map(|path| path.text.as_str())
}

const fn is_text(contents: Option<&FileContents>) -> bool {
    matches!(contents, Some(FileContents::Text(_) | FileContents::Part(_)))
}

fn masked(contents: FileContents, masker: &Masker) -> FileContents {
    let hide = |text: String| {
        let mask = masker.build_mask(&[text.as_str()]);
        if mask.is_empty() { text } else { mask.apply_to(&text) }
    };
    match contents {
        FileContents::Text(text) => FileContents::Text(hide(text)),
        FileContents::Part(text) => FileContents::Part(hide(text)),
        other => other,
    }
}

/// Names the line of a file in which the gravest part of an action stands.
pub(super) fn name_run_line(action: &Action, files: &FileReading, cwd: &str) -> Option<String> {
    let Operation::Shell(shell) = &action.operation else { return None };
    let grave = |effect: &&Effect| {
        !matches!(
            effect.kind,
            EffectKind::FileRead
                | EffectKind::FileCreate
                | EffectKind::ProcessStart
                | EffectKind::Network
        )
    };
    let forms = action.facts.forms.iter().filter_map(|form| form.command);
    let effects = action.facts.effects.iter().filter(grave).filter_map(|effect| effect.command);
    let (line, command) = forms.chain(effects).find_map(|index| {
        let line =
            files.lines.iter().filter(|line| line.command == index).max_by_key(|l| l.line)?;
        Some((line, shell.commands.get(index as usize)?))
    })?;
    let inside = line.path.strip_prefix(cwd).and_then(|path| path.strip_prefix('/'));
    let path = one_line(inside.unwrap_or(&line.path), 256);
    Some(match line.line {
        0 => format!("It is in `{path}`."),
        number => format!("`{path}` line {number}: `{}`.", shown(command)),
    })
}

fn shown(command: &Command) -> String {
    let words = command.words.iter().map(|word| word.text.as_str());
    let line: Vec<&str> = std::iter::once(command.program.as_str()).chain(words).collect();
    one_line(&line.join(" "), SHOWN)
}

/// Returns the files that a command line runs and that git does not hold as they are, as a person
/// would write them in the folder. Git never holds its own hooks: writing one asks by itself.
pub(super) fn new_code<'f>(
    files: &'f FileReading,
    observed: &Observations,
    cwd: &str,
) -> Vec<&'f str> {
    let is_new = |line: &&RunLine| {
        let seen = observed.get(&crate::observe::key(&line.path, false));
        seen.is_none_or(|seen| seen.git != GitState::Clean) && !line.path.contains("/.git/")
    };
    let shown = |line: &'f RunLine| {
        let inside = line.path.strip_prefix(cwd).and_then(|path| path.strip_prefix('/'));
        inside.unwrap_or(&line.path)
    };
    files.lines.iter().filter(is_new).map(shown).collect()
}

/// Returns the file that an action of a file tool overwrites.
pub(super) fn overwritten_path(action: &Action) -> Option<&str> {
    match &action.operation {
        Operation::File(file) if file.access == crate::action::Access::Create => Some(&file.path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_count_as_texts() {
        assert!(is_text(Some(&FileContents::Part(String::new()))));
        assert!(!is_text(Some(&FileContents::Missing)) && !is_text(None));
        assert!(Query::of_text("/a".into(), false).text);
    }
}
