//! Actions that weaken tests.

use crate::runs;
use crate::tests_of::{Project, is_named_as_test, name};
use crate::texts::{count, is_blank};
use portcullis_plugin::types::{
    Access, Action, Command, Direction, Effect, EffectKind, Entry, FileOperation, Operation, Path,
    Score, Severity, Shell,
};

const MARKS: &[&str] = &[
    "pytest.mark.skip",
    "pytest.mark.xfail",
    "pytest.skip(",
    "pytest.xfail(",
    "unittest.skip",
    "unittest.SkipTest",
    "SkipTest",
    ".skipTest(",
    "unittest.expectedFailure",
    "#[ignore",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "it.only(",
    "test.only(",
    "describe.only(",
    "it.todo(",
    "test.todo(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "fit(",
    "fdescribe(",
    "t.Skip",
    "@Disabled",
    "@Ignore",
    "(Skip =",
    "markTestSkipped(",
    "XCTSkip",
];
const TESTS: &[&str] = &["def test_", "#[test]", "it(", "test(", "func Test", "@Test"];
const ASSERTIONS: &[&str] = &["assert", "expect(", "t.Error", "t.Fatal", "require."];
const OF_NOTHING: &[&str] = &[
    "assert True",
    "assert 1 == 1",
    "assert(true)",
    "assert!(true)",
    "assertTrue(True)",
    "assertTrue(true)",
    "assert.ok(true)",
    "expect(true).toBe(true)",
];

/// The ways to weaken tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of them is deleted.
    Deleted,
    /// It is moved to where nothing runs it.
    Moved,
    /// It is emptied.
    Emptied,
    /// One is marked so that it does not run.
    Skipped,
    /// One is taken out of its file.
    Cut,
    /// One asserts less.
    Loosened,
    /// The runner is set to leave some out.
    LeftOut,
}

/// A weakening of tests.
pub struct Weakening {
    /// Its kind.
    pub kind: Kind,
    /// The file's place, or the option that leaves them out.
    pub thing: String,
    /// The mark that skips one.
    pub mark: Option<&'static str>,
}

impl Kind {
    /// Returns the severity of the worst that it can mean.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Loosened | Self::LeftOut => Severity::Medium,
            _ => Severity::High,
        }
    }

    /// Returns the share of the tests that it affects.
    pub const fn impact(self) -> Score {
        match self {
            Self::Deleted | Self::Moved | Self::Emptied => 800,
            Self::Skipped | Self::Cut => 600,
            Self::Loosened | Self::LeftOut => 500,
        }
    }

    /// Returns true if it weakens a file.
    pub fn is_of_a_file(self) -> bool {
        self != Self::LeftOut
    }

    const fn with(self, thing: String) -> Weakening {
        Weakening { kind: self, thing, mark: None }
    }
}

impl Weakening {
    /// Describes it in words.
    pub fn summary(&self) -> String {
        let thing = &self.thing;
        match self.kind {
            Kind::Deleted => format!("{thing} is deleted"),
            Kind::Moved => format!("{thing} is moved to where no test runs"),
            Kind::Emptied => format!("{thing} is emptied"),
            Kind::Skipped => {
                format!("a test in {thing} is skipped ({})", self.mark.unwrap_or_default())
            }
            Kind::Cut => format!("a test is taken out of {thing}"),
            Kind::Loosened => format!("assertions are taken out of {thing}"),
            Kind::LeftOut => format!("tests are left out ({thing})"),
        }
    }
}

/// Returns the weakening that an action causes.
pub fn of(action: &Action, project: &Project<'_>) -> Option<Weakening> {
    match &action.operation {
        Operation::Shell(shell) => of_shell(shell, action, project),
        Operation::File(file) => of_file(file, project),
        _ => None,
    }
}

/// A change of a path by a command.
struct Change<'a> {
    kind: &'a EffectKind,
    path: &'a Path,
    command: Option<(u32, &'a Command)>,
}

fn of_shell(shell: &Shell, action: &Action, project: &Project<'_>) -> Option<Weakening> {
    let changes: Vec<Change<'_>> =
        action.facts.effects.iter().filter_map(|effect| change(effect, shell, action)).collect();
    let kinds = [
        (Kind::Deleted, deletes as fn(&Change<'_>, &[Change<'_>], &Project<'_>) -> bool),
        (Kind::Moved, moves),
        (Kind::Emptied, empties),
    ];
    for (kind, is_one) in kinds {
        let found = changes.iter().find_map(|change| {
            project.test(&change.path.text).filter(|_| is_one(change, &changes, project))
        });
        if let Some(place) = found {
            return Some(kind.with(place.to_owned()));
        }
    }
    let mut runs = shell.commands.iter().filter(|command| runs::is_test_run(command));
    runs.find_map(|command| runs::left_out(command, shell)).map(|thing| Kind::LeftOut.with(thing))
}

fn change<'a>(effect: &'a Effect, shell: &'a Shell, action: &'a Action) -> Option<Change<'a>> {
    let changes = matches!(
        effect.kind,
        EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete
    );
    let path = action.facts.paths.get(effect.path? as usize)?;
    let command = effect.command.and_then(|at| Some((at, shell.commands.get(at as usize)?)));
    changes.then_some(Change { kind: &effect.kind, path, command })
}

fn words(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().map(|word| word.text.as_str())
}

/// Returns true for `rm`, or `git rm`.
fn is(command: &Command, name: &str) -> bool {
    command.program == name || (command.program == "git" && words(command).next() == Some(name))
}

fn deletes(change: &Change<'_>, _: &[Change<'_>], _: &Project<'_>) -> bool {
    matches!(change.kind, EffectKind::FileDelete)
        || change.command.is_some_and(|(_, command)| command.program == "git" && is(command, "rm"))
}

fn moves(change: &Change<'_>, changes: &[Change<'_>], project: &Project<'_>) -> bool {
    let Some((at, command)) = change.command.filter(|(_, command)| is(command, "mv")) else {
        return false;
    };
    let of_git = |change: &Change<'_>| change.path.text.split('/').any(|part| part == ".git");
    let mut own = changes
        .iter()
        .filter(|change| change.command.is_some_and(|(of, _)| of == at) && !of_git(change));
    let first = words(command).any(|word| word == "-t" || word.starts_with("--target-directory"));
    let target = if first { own.next() } else { own.next_back() };
    target.is_some_and(|target| {
        !std::ptr::eq(target, change) && !keeps(change.path, target.path, project)
    })
}

/// Returns true if a test that is moved there is still a test.
fn keeps(source: &Path, target: &Path, project: &Project<'_>) -> bool {
    let (from, to) = (name(&source.text), name(&target.text));
    let into = target.entry == Entry::Folder || (!to.contains('.') && from.contains('.'));
    let end = if into { format!("{}/{from}", target.text) } else { target.text.clone() };
    if is_named_as_test(from) {
        project.place(&end).is_some() && is_named_as_test(name(&end))
    } else {
        project.test(&end).is_some()
    }
}

fn empties(change: &Change<'_>, _: &[Change<'_>], _: &Project<'_>) -> bool {
    if matches!(change.kind, EffectKind::FileDelete) {
        return false;
    }
    let Some((_, command)) = change.command else { return true };
    let mut words = words(command).peekable();
    match command.program.as_str() {
        ":" | "true" | "truncate" => true,
        "cp" => words.next() == Some("/dev/null"),
        "cat" => words.next() == Some("/dev/null") && words.next().is_none(),
        "echo" | "printf" => {
            words.next_if_eq(&"-n");
            words.all(|word| word.replace("\\n", "").chars().all(is_blank))
                && !command
                    .redirections
                    .iter()
                    .any(|redirection| redirection.direction == Direction::Append)
        }
        _ => false,
    }
}

fn of_file(file: &FileOperation, project: &Project<'_>) -> Option<Weakening> {
    let place = project.test(&file.path)?.to_owned();
    if file.access == Access::Delete {
        return Some(Kind::Deleted.with(place));
    }
    let new = file.content.as_deref()?;
    let Some(old) = file.replaced.as_deref() else {
        let says_nothing = |line: &str| {
            let line = line.trim_matches(is_blank);
            line.is_empty() || line.starts_with('#') || line.starts_with("//")
        };
        return new.split('\n').all(says_nothing).then(|| Kind::Emptied.with(place));
    };
    if let Some(mark) = MARKS.iter().find(|mark| count(new, mark, true) > count(old, mark, true)) {
        return Some(Weakening { mark: Some(mark), ..Kind::Skipped.with(place) });
    }
    let tests = |text: &str| sum(text, TESTS, true);
    let assertions =
        |text: &str| sum(text, ASSERTIONS, false).saturating_sub(sum(text, OF_NOTHING, false));
    if tests(new) < tests(old) {
        return Some(Kind::Cut.with(place));
    }
    (assertions(new) < assertions(old)).then(|| Kind::Loosened.with(place))
}

fn sum(text: &str, parts: &[&str], whole: bool) -> usize {
    parts.iter().map(|part| count(text, part, whole)).sum()
}
