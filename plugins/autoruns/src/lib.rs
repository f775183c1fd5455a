//! Files that something runs later without being asked to, or by their name: hooks, start-up files,
//! settings that hold commands, recipes, workflows. Their paths alone decide. Of a text, this crate
//! finds the lines that do harm without being a command: a switch that leaves a check out, a
//! statement that throws data away, a container that gets the machine. Nothing here looks at a disk.
//!
//! The reader of shell text reads such files as they will run. The host asks first whether there is
//! anything to read, so that most edits need no reader.

mod code;
mod exposed;
mod losses;
mod modules;
mod sources;
mod starts;
mod text;
mod unchecked;

pub use code::{find_code, may_do_harm};
pub use exposed::{find_exposed, may_expose};
pub use losses::{find_loss, holds_statements};
pub use modules::{MODULE_ENDINGS, is_module};
pub use sources::names_sources;
pub use starts::{is_below, is_hook_sample, is_sample, starts_by_itself};
pub use text::Line;
pub use unchecked::{find_unchecked, may_leave_check_out};

/// The time and the machine of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On this machine, without being asked for.
    Starts,
    /// On this machine, when somebody runs the file or a part of it.
    Asked,
    /// On another machine, or in a container.
    Elsewhere,
    /// On this machine, when something runs, imports or builds the file, which is ordinary code in
    /// nearly all cases.
    Called,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A shell script, or one of the language that its first line names.
    Script,
    /// Code of this language.
    Code(&'static str),
    /// Recipes of make.
    Makefile,
    /// Recipes of just.
    Justfile,
    /// Settings of git, some of which hold commands.
    Git,
    /// Settings of ssh, some of which hold commands.
    Ssh,
    /// A unit of systemd.
    Unit,
    /// A desktop entry.
    Desktop,
    /// Scheduled jobs; true if each line names a user.
    Crontab(bool),
    /// A property list of launchd.
    PropertyList,
    /// A recipe of a container image.
    Dockerfile,
    /// A pipeline of Jenkins.
    Pipeline,
    /// A build of CMake, some of whose calls run commands.
    Cmake,
    /// A build of Gradle, in Groovy or, if true, in Kotlin.
    Gradle(bool),
    /// A build of Maven, some of whose plugins run commands.
    Maven,
    /// A build in another notation, in which commands stand as texts behind certain words.
    Steps,
    /// Settings in sections, some of whose keys hold commands, one a line.
    Sections,
    /// TOML with commands in it.
    Toml,
    /// YAML with commands in it.
    Yaml,
    /// JSON with commands in it.
    Json,
}

/// A file that something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autorun {
    /// The time and the machine of the run.
    pub reach: Reach,
    /// The form of the text.
    pub format: Format,
}

use Format::{
    Cmake, Code, Crontab, Desktop, Dockerfile, Git, Gradle, Json, Justfile, Makefile, Maven,
    Pipeline, PropertyList, Script, Sections, Ssh, Steps, Toml, Unit, Yaml,
};
use Reach::{Asked, Elsewhere, Starts};

/// Paths, with `*` for any text; the first that fits counts.
const FILES: &[(&str, Reach, Format)] = &[
    ("*/.git/config", Starts, Git),
    ("*/.git/config.worktree", Starts, Git),
    ("*/.git/modules/*/config", Starts, Git),
    ("*/.gitconfig", Starts, Git),
    ("*/.config/git/config", Starts, Git),
    ("/etc/gitconfig", Starts, Git),
    ("*/.gitmodules", Starts, Git),
    ("*/.git/hooks/*", Starts, Script),
    ("*/.githooks/*", Starts, Script),
    ("*/.husky/*.json", Starts, Json),
    ("*/.husky/*", Starts, Script),
    ("*/.envrc", Starts, Script),
    ("*/.ssh/config", Starts, Ssh),
    ("*/.ssh/config.d/*", Starts, Ssh),
    ("/etc/ssh/ssh_config*", Starts, Ssh),
    ("*/.ssh/rc", Starts, Script),
    ("*/lefthook.yml", Starts, Yaml),
    ("*/.lefthook.yml", Starts, Yaml),
    ("*/lefthook-local.yml", Starts, Yaml),
    ("*/lefthook.yaml", Starts, Yaml),
    ("*/.pre-commit-config.yaml", Starts, Yaml),
    ("*/.pre-commit-config.yml", Starts, Yaml),
    ("*/.vscode/*.json", Starts, Json),
    ("*/.cursor/*.json", Starts, Json),
    ("*/.zed/*.json", Starts, Json),
    ("*/.mcp.json", Starts, Json),
    ("*.code-workspace", Starts, Json),
    ("*/.devcontainer/*.json", Starts, Json),
    ("*/.devcontainer.json", Starts, Json),
    ("*/.cargo/config.toml", Starts, Toml),
    ("*/.cargo/config", Starts, Toml),
    ("*/sitecustomize.py", Starts, Code("python")),
    ("*/usercustomize.py", Starts, Code("python")),
    ("*/site-packages/*.pth", Starts, Code("python")),
    ("/etc/crontab", Starts, Crontab(true)),
    ("/etc/cron.d/*", Starts, Crontab(true)),
    ("/etc/anacrontab", Starts, Crontab(false)),
    ("/var/spool/cron/*", Starts, Crontab(false)),
    ("*/autostart/*.desktop", Starts, Desktop),
    ("*/LaunchAgents/*.plist", Starts, PropertyList),
    ("*/LaunchDaemons/*.plist", Starts, PropertyList),
    ("*/.config/systemd/user/*", Starts, Unit),
    ("*/.local/share/systemd/user/*", Starts, Unit),
    ("*/systemd/system/*", Starts, Unit),
    ("*.service", Starts, Unit),
    ("*/.github/workflows/*", Elsewhere, Yaml),
    ("*/action.yml", Elsewhere, Yaml),
    ("*/action.yaml", Elsewhere, Yaml),
    ("*/.gitea/workflows/*", Elsewhere, Yaml),
    ("*/.forgejo/workflows/*", Elsewhere, Yaml),
    ("*.gitlab-ci.yml", Elsewhere, Yaml),
    ("*.gitlab-ci.yaml", Elsewhere, Yaml),
    ("*/.gitlab/*.yml", Elsewhere, Yaml),
    ("*/.circleci/*.yml", Elsewhere, Yaml),
    ("*/.circleci/*.yaml", Elsewhere, Yaml),
    ("*/.travis.yml", Elsewhere, Yaml),
    ("*/azure-pipelines*.yml", Elsewhere, Yaml),
    ("*/.azure-pipelines/*", Elsewhere, Yaml),
    ("*/bitbucket-pipelines.yml", Elsewhere, Yaml),
    ("*/.drone.yml", Elsewhere, Yaml),
    ("*/.woodpecker*.y*ml", Elsewhere, Yaml),
    ("*/.woodpecker/*", Elsewhere, Yaml),
    ("*/.buildkite/*.y*ml", Elsewhere, Yaml),
    ("*/.cirrus.yml", Elsewhere, Yaml),
    ("*/appveyor.yml", Elsewhere, Yaml),
    ("*/.appveyor.yml", Elsewhere, Yaml),
    ("*/cloudbuild.y*ml", Elsewhere, Yaml),
    ("*/buildspec.yml", Elsewhere, Yaml),
    ("*/docker-compose*.y*ml", Elsewhere, Yaml),
    ("*/compose*.y*ml", Elsewhere, Yaml),
    ("*/Jenkinsfile*", Elsewhere, Pipeline),
    ("*/Dockerfile*", Elsewhere, Dockerfile),
    ("*.Dockerfile", Elsewhere, Dockerfile),
    ("*.dockerfile", Elsewhere, Dockerfile),
    ("*/Containerfile*", Elsewhere, Dockerfile),
    ("*/package.json", Asked, Json),
    ("*/composer.json", Asked, Json),
    ("*/deno.json*", Asked, Json),
    ("*/project.json", Asked, Json),
    ("*/.lintstagedrc*", Asked, Json),
    ("*/pyproject.toml", Asked, Toml),
    ("*/Pipfile", Asked, Toml),
    ("*/*mise.toml", Asked, Toml),
    ("*/Makefile.toml", Asked, Toml),
    ("*/Makefile*", Asked, Makefile),
    ("*/makefile", Asked, Makefile),
    ("*/GNUmakefile", Asked, Makefile),
    ("*.mk", Asked, Makefile),
    ("*/justfile", Asked, Justfile),
    ("*/Justfile", Asked, Justfile),
    ("*/.justfile", Asked, Justfile),
    ("*.just", Asked, Justfile),
    ("*/Taskfile*.y*ml", Asked, Yaml),
    ("*/taskfile*.y*ml", Asked, Yaml),
    ("*/CMakeLists.txt", Asked, Cmake),
    ("*.cmake", Asked, Cmake),
    ("*.gradle", Asked, Gradle(false)),
    ("*.gradle.kts", Asked, Gradle(true)),
    ("*/pom.xml", Asked, Maven),
    ("*/meson.build", Asked, Steps),
    ("*/BUILD", Asked, Steps),
    ("*/BUILD.bazel", Asked, Steps),
    ("*.bzl", Asked, Steps),
    ("*/binding.gyp", Asked, Steps),
    ("*/build.zig", Asked, Steps),
    ("*/build.sbt", Asked, Steps),
    ("*/Package.swift", Asked, Steps),
    ("*/flake.nix", Asked, Steps),
    ("*/shell.nix", Asked, Steps),
    ("*/default.nix", Asked, Steps),
    ("*/tox.ini", Asked, Sections),
    ("*/setup.cfg", Asked, Sections),
    ("*/tasks.py", Asked, Code("python")),
    ("*/hatch_build.py", Asked, Code("python")),
    ("*/conanfile.py", Asked, Code("python")),
    ("*/SConstruct", Asked, Code("python")),
    ("*/wscript", Asked, Code("python")),
    ("*/Vagrantfile", Asked, Code("ruby")),
    ("*/Podfile", Asked, Code("ruby")),
    ("*/Brewfile", Asked, Code("ruby")),
    ("*/Fastfile", Asked, Code("ruby")),
    ("*/Dangerfile", Asked, Code("ruby")),
    ("*/Guardfile", Asked, Code("ruby")),
    ("*/Capfile", Asked, Code("ruby")),
    ("*/.pnpmfile.cjs", Asked, Code("node")),
    ("*/setup.py", Asked, Code("python")),
    ("*/conftest.py", Asked, Code("python")),
    ("*/noxfile.py", Asked, Code("python")),
    ("*/fabfile.py", Asked, Code("python")),
    ("*/dodo.py", Asked, Code("python")),
    ("*/build.rs", Asked, Code("rust")),
    ("*/Rakefile", Asked, Code("ruby")),
    ("*/Gemfile", Asked, Code("ruby")),
    ("*/extconf.rb", Asked, Code("ruby")),
    ("*.gemspec", Asked, Code("ruby")),
    ("*/gulpfile.*js", Asked, Code("node")),
    ("*/Gruntfile.*js", Asked, Code("node")),
    ("*.config.*js", Asked, Code("node")),
    ("*.config.*ts", Asked, Code("node")),
];

/// The names of git's hooks: a folder of them may be set as the one that counts.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "update",
];

/// Returns the way in which a file is run, judging by its absolute path; none for any other file.
/// `home` is the person's home folder, empty when not known.
#[must_use]
pub fn find_autorun(path: &str, home: &str) -> Option<Autorun> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folder = path.strip_suffix(name).unwrap_or("").trim_end_matches('/');
    let beside = folder.rsplit('/').next().unwrap_or("");
    if name.is_empty() || is_hook_sample(path) {
        return None;
    }
    // Notes and pictures in a folder of hooks or tasks run nothing.
    let passive = [".md", ".txt", ".rst", ".lock", ".gitignore", ".png", ".svg"];
    let is_passive = passive.iter().any(|end| name.ends_with(end)) && name != "CMakeLists.txt";
    if is_passive || name == "authorized_keys" {
        return None;
    }
    let listed = FILES.iter().find(|(pattern, ..)| fits(pattern, path));
    if let Some((_, reach, format)) = listed {
        return Some(Autorun { reach: *reach, format: *format });
    }
    let hook = HOOKS.contains(&name) && beside.contains("hooks");
    (hook || starts_by_itself(path, home)).then_some(Autorun { reach: Starts, format: Script })
}

/// Returns true if a path fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, path: &str) -> bool {
    let Some((first, after)) = pattern.split_once('*') else { return path == pattern };
    let (middle, last) =
        after.rsplit_once('*').map_or((None, after), |(middle, last)| (Some(middle), last));
    // The end tells most paths apart.
    if !path.ends_with(last) {
        return false;
    }
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    for part in middle.into_iter().flat_map(|middle| middle.split('*')) {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
