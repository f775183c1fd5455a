//! Repositories that the line itself fetches, and what it then runs in them: nobody has read it.
//!
//! Archives are handled where they are unpacked; both are folders whose contents are unseen.

use super::expand::Field;
use super::feed::Source;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;

/// Programs that run what the folder says: recipes, scripts of packages, builds, tests.
const RUNNERS: &[&str] = &[
    "bazel", "bun", "bundle", "cargo", "cmake", "composer", "dotnet", "gmake", "go", "gradle",
    "gradlew", "invoke", "just", "make", "meson", "mix", "mvn", "mvnw", "ninja", "nox", "npm",
    "pip", "pipx", "pnpm", "poetry", "pytest", "rake", "sbt", "task", "tox", "uv", "yarn",
];
/// Subcommands of these that run nothing of the folder.
const LOOKS: &[&str] = &[
    "audit", "check", "cmd", "config", "env", "fetch", "fmt", "help", "info", "init", "list", "ls",
    "metadata", "mod", "outdated", "search", "show", "tree", "version", "view", "vet", "why",
];
/// Flags that name the folder in which such a program runs.
const FOLDERS: &[&str] = &[
    "-C",
    "--cwd",
    "--dir",
    "--directory",
    "--path",
    "--prefix",
    "--project",
    "--source",
    "-S",
    "-f",
];

impl Walker<'_> {
    /// Remembers the folder of a clone of somebody's repository.
    pub(super) fn note_clone(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        setting: &Setting,
    ) {
        let words: Vec<&str> = plan
            .subcommand
            .iter()
            .chain(&plan.operands)
            .filter_map(|at| rest.get(*at))
            .map(|field| field.text.as_str())
            .collect();
        let (from, to) = match (name, words.as_slice()) {
            ("git" | "hg", ["clone", from, to @ ..])
            | ("git", ["submodule", "add", from, to @ ..])
            | ("svn", ["checkout" | "co" | "export", from, to @ ..])
            | ("gh" | "glab", ["repo", "clone", from, to @ ..])
            | ("degit" | "tiged" | "gitpick", [from, to @ ..]) => (*from, to.first().copied()),
            _ => return,
        };
        let forge = !matches!(name, "git" | "hg" | "svn");
        self.note_hooks_of_clone(rest);
        // `gh repo clone X -- -c KEY=VALUE` hands the words behind `--` to git.
        let given = rest.iter().position(|field| field.text == "--").filter(|_| forge);
        if let Some(given) = given.and_then(|at| rest.get(at + 1..)) {
            let span = rest.first().map_or_else(Span::default, |field| field.span);
            let mut fields = vec![Field::plain("git", span), Field::plain("clone", span)];
            fields.push(Field::plain(&format!("https://github.com/{from}"), span));
            fields.extend(given.iter().cloned());
            self.run(&fields, &Call { end: span.end, ..Call::default() }, setting);
        }
        let foreign = forge
            || places::remote_path(from).is_some()
            || from.contains("://") && !from.starts_with("file:");
        let own =
            places::host(from).is_some_and(|host| super::safeguards::is_own_host(&host) && !forge);
        let last = from.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(from);
        let folder = to.unwrap_or_else(|| last.trim_end_matches(".git"));
        let (path, known) = places::resolve(folder, &self.env.folder);
        if foreign && !own && known && path != self.project && !folder.is_empty() {
            self.remember_folder(&path, Source::DOWNLOADED);
        }
    }

    /// Notes hooks that a clone runs at once and that come with it.
    fn note_hooks_of_clone(&mut self, rest: &[Field]) {
        let names_hooks = |field: &Field| {
            let text = field.text.strip_prefix("--config=").unwrap_or(&field.text);
            let text = text.strip_prefix("-c").unwrap_or(text);
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            key.eq_ignore_ascii_case("core.hookspath") && !matches!(value, "" | "/dev/null")
        };
        if rest.iter().any(names_hooks) {
            self.out.gap("hooks that run in a clone as soon as it is there");
        }
    }

    /// Notes a program that runs what a fetched folder says.
    pub(super) fn runs_fetched(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if !RUNNERS.contains(&name) || !self.has_fetched() {
            return;
        }
        let first = rest.iter().find(|field| !field.text.starts_with('-'));
        let packages = matches!(name, "pip" | "pipx" | "uv" | "poetry");
        if first.is_some_and(|field| LOOKS.contains(&field.text.as_str())) {
            return;
        }
        let flagged = rest.iter().enumerate().filter_map(|(at, field)| {
            let text = field.text.as_str();
            let attached =
                FOLDERS.iter().find_map(|flag| text.strip_prefix(flag)?.strip_prefix('='));
            attached.map(str::to_owned).or_else(|| {
                FOLDERS.contains(&text).then(|| rest.get(at + 1).map(|next| next.text.clone()))?
            })
        });
        // A package manager that is given folders installs these, others run in the current one.
        let named = plan.operands.iter().filter_map(|at| rest.get(*at)).filter(|field| {
            matches!(name, "pip" | "pipx" | "uv" | "npm" | "pnpm" | "yarn" | "cmake" | "pytest")
                && field.text.contains(['/', '.'])
                || packages
        });
        let mut places: Vec<String> =
            flagged.chain(named.map(|field| field.text.clone())).take(16).collect();
        if !packages || places.iter().any(|place| place.starts_with('.')) || places.is_empty() {
            places.push(".".to_owned());
        }
        let source = places.iter().find_map(|place| {
            let (path, known) = places::resolve(place, &self.env.folder);
            self.content_of(&path).filter(|_| known).map(|feed| feed.source)
        });
        if let Some(source) = source {
            self.unseen(source, command, setting);
        }
    }
}
