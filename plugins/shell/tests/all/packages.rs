//! Packages that are fetched from a registry and run at once.

use crate::scripts::{reading_with, text};
use portcullis_shell_reader::Contents;

/// Runners, with `<p>` for the package; true for Python.
const RUNNERS: &[(&str, bool)] = &[
    ("npx <p>", false),
    ("npx -y <p> --fix src", false),
    ("npx --yes <p>@latest", false),
    ("npx -p <p> do-it", false),
    ("npx --package=<p> -- do-it", false),
    ("npm exec <p>", false),
    ("npm exec --yes -- <p> x", false),
    ("bunx <p>", false),
    ("bun x <p>", false),
    ("pnpx <p>", false),
    ("pnpm dlx <p>@1.2.3", false),
    ("yarn dlx <p>", false),
    ("deno run -A npm:<p>", false),
    ("cd app && npx <p>", false),
    ("sh -c 'npx <p>'", false),
    ("sudo npx <p>", false),
    ("CI=1 timeout 60 npx <p>", false),
    ("uvx <p>", true),
    ("uvx <p>@latest x", true),
    ("uvx --from <p>==1.0 do-it", true),
    ("uv tool run <p>", true),
    ("pipx run <p> --help-me", true),
    ("pipx run --spec <p>[all] do-it", true),
];

/// Ways to build a program from the registry of Rust.
const CRATES: &[&str] = &[
    "cargo install <p>",
    "cargo install --locked <p>",
    "cargo install <p>@1.2.3",
    "cargo install --version 1.2.3 <p> --root /tmp/x",
];

#[test]
fn a_crate_that_is_built_at_once_is_declared_or_known() {
    let manifest = "[workspace.metadata.tools]\nsomebodys-tool = \"1\"\n";
    for runner in CRATES {
        let command = |name: &str| runner.replace("<p>", name);
        let none: [(&str, Contents); 0] = [];
        assert!(is_undeclared(&command("somebodys-tool"), &none), "{runner}");
        let declared = [("Cargo.toml", text(manifest))];
        assert!(!is_undeclared(&command("somebodys-tool"), &declared), "{runner}");
        for known in ["ripgrep", "cargo-nextest", "sqlx-cli", "just"] {
            assert!(!is_undeclared(&command(known), &none), "{runner}: {known}");
        }
    }
    for ordinary in
        ["cargo install --path .", "cargo install --list", "cargo install --path tools/x"]
    {
        let none: [(&str, Contents); 0] = [];
        assert!(!is_undeclared(ordinary, &none), "{ordinary}");
    }
}

fn is_undeclared(command: &str, files: &[(&str, Contents)]) -> bool {
    let run = reading_with(command, files);
    run.gaps.iter().any(|gap| gap.contains("does not declare"))
}

#[test]
fn a_package_that_is_run_at_once_is_declared_or_known() {
    let node = "{\"devDependencies\": {\"somebodys-tool\": \"^1\"}}";
    let python = "[dependency-groups]\ndev = [\"somebodys-tool>=1\"]\n";
    let other = "{\"devDependencies\": {\"somebodys-tool-kit\": \"^1\"}}";
    for (runner, is_python) in RUNNERS {
        let command = runner.replace("<p>", "somebodys-tool");
        assert!(is_undeclared(&command, &[]), "{command}");
        assert!(is_undeclared(&command, &[("package.json", text(other))]), "{command}");
        let (file, declared) =
            if *is_python { ("pyproject.toml", python) } else { ("package.json", node) };
        assert!(!is_undeclared(&command, &[(file, text(declared))]), "{command}, declared");
        for known in if *is_python { ["ruff", "isort"] } else { ["eslint", "@biomejs/biome"] } {
            let command = runner.replace("<p>", known).replace("do-it", known);
            assert!(!is_undeclared(&command, &[]), "{command}");
        }
    }
}

#[test]
fn starters_and_programs_that_are_installed_are_no_strangers() {
    for (command, undeclared) in [
        ("npm create vite@latest app", false),
        ("npm create vite@latest app -- --template react-ts", false),
        ("npm init @eslint/config", true),
        ("npm init", false),
        ("npm init -y", false),
        ("npx create-next-app@latest web", false),
        ("yarn create somebodys-app web", true),
        ("pnpm create somebodys-app", true),
        ("npx create-somebodys-app", true),
        ("npx --no-install somebodys-tool", false),
        ("npx ./tools/x.js", false),
        ("npm install somebodys-tool", false),
        ("pip install somebodys-tool", false),
        ("pnpm exec somebodys-tool", false),
        ("yarn somebodys-tool", false),
        ("uv run somebodys-tool", false),
        ("deno run -A main.ts", false),
        ("npx tsc --noEmit && npx prettier --check .", false),
        ("uvx ruff check . && uvx mypy src && pipx run black .", false),
    ] {
        assert_eq!(is_undeclared(command, &[]), undeclared, "{command}");
    }
    let there = [("node_modules/.bin/somebodys-tool", Contents::Binary)];
    assert!(!is_undeclared("npx somebodys-tool", &there));
    let there = [(".venv/bin/somebodys-tool", Contents::Binary)];
    assert!(!is_undeclared("uvx somebodys-tool", &there));
}
