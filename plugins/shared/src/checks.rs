//! Programs that test, check or build: the ones that are run again and again while work goes on.

use portcullis_plugin::types::{Action, Command};

/// Programs that test, check or build, with the subcommands that do; no listed subcommand means all
/// of them.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bazel", &["test", "build"]),
    ("bun", &["test"]),
    ("cargo", &["test", "check", "build", "clippy", "nextest", "fmt", "doc", "bench"]),
    ("cmake", &[]),
    ("ctest", &[]),
    ("deno", &["test", "check", "lint"]),
    ("dotnet", &["test", "build"]),
    ("eslint", &[]),
    ("flake8", &[]),
    ("go", &["test", "build", "vet"]),
    ("gradle", &[]),
    ("gradlew", &[]),
    ("jest", &[]),
    ("just", &[]),
    ("make", &[]),
    ("mix", &["test", "compile"]),
    ("mocha", &[]),
    ("mvn", &[]),
    ("mypy", &[]),
    ("ninja", &[]),
    ("nox", &[]),
    ("npm", &["test", "t", "run"]),
    ("phpunit", &[]),
    ("pnpm", &["test", "t", "run"]),
    ("pre-commit", &[]),
    ("pyright", &[]),
    ("pytest", &[]),
    ("python", &["pytest", "unittest", "doctest"]),
    ("python3", &["pytest", "unittest", "doctest"]),
    ("rake", &[]),
    ("rspec", &[]),
    ("ruff", &["check"]),
    ("swift", &["test", "build"]),
    ("tox", &[]),
    ("tsc", &[]),
    ("uv", &["run"]),
    ("vitest", &[]),
    ("xcodebuild", &[]),
    ("yarn", &["test", "run", "build", "lint"]),
];

/// Returns true if the command tests, checks or builds.
#[must_use]
pub fn is_check(command: &Command) -> bool {
    let known = RUNNERS.iter().find(|(program, _)| *program == command.program);
    known.is_some_and(|(_, subcommands)| {
        subcommands.is_empty()
            || command.operands().any(|word| subcommands.contains(&word.text.as_str()))
    })
}

/// Returns true if the action runs checks: by themselves, or as the hooks of a commit.
#[must_use]
pub fn runs_checks(action: &Action) -> bool {
    let commits = |command: &Command| {
        command.program == "git"
            && command.operands().next().is_some_and(|word| word.text == "commit")
    };
    action.shell().is_some_and(|shell| {
        shell.commands.iter().any(|command| is_check(command) || commits(command))
    })
}

/// Returns true if a recorded call's parameters name a program that tests, checks or builds, with
/// its subcommand.
#[must_use]
pub fn names_a_check(parameters: &str) -> bool {
    let words: Vec<&str> = parameters
        .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        RUNNERS.iter().any(|(program, subcommands)| {
            program == word && (subcommands.is_empty() || subcommands.contains(&next))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{names_a_check, runs_checks};
    use crate::sample::shell;

    #[test]
    fn checks_are_known_by_program_and_subcommand() {
        let cases = [
            ("pytest -x specs", true),
            ("cargo test -p core", true),
            ("pre-commit run --all-files", true),
            ("git commit -m x", true),
            ("cd app && npm run build", true),
            ("git push", false),
            ("git log commit", false),
            ("cargo install x", false),
            ("cat pytest.ini", false),
            ("curl https://example.org", false),
        ];
        for (line, expected) in cases {
            assert_eq!(runs_checks(&shell(line)), expected, "{line}");
        }
        assert!(names_a_check(r#"{"command":"cargo test"}"#) && !names_a_check("cargo install"));
    }
}
