//! Files that run by themselves or by their name: hooks, start-up files, settings that hold
//! commands, recipes, workflows. Finds the parts of such a text that something will run.
//!
//! It judges nothing: the walk reads each part as the command line or the code that it is.

mod json;
mod settings;
mod yaml;

/// The most parts of one file that are read; past it, anything may follow.
pub(crate) const PARTS: usize = 512;

/// The time and the machine of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// On this machine, without being asked for.
    Starts,
    /// On this machine, when somebody runs the file or a part of it.
    Asked,
    /// On another machine, or in a container.
    Elsewhere,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A shell script, or one of the language that its first line names.
    Script,
    Code(&'static str),
    Makefile,
    Justfile,
    Git,
    Ssh,
    Unit,
    Desktop,
    /// Scheduled jobs; true if each line names a user.
    Crontab(bool),
    PropertyList,
    Dockerfile,
    Pipeline,
    Toml,
    Yaml,
    Json,
}

/// A file that something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Autorun {
    pub reach: Reach,
    pub format: Format,
}

/// A part of a file that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub text: String,
    /// Its language; none for the shell's.
    pub language: Option<&'static str>,
}

impl Part {
    fn shell(text: impl Into<String>) -> Self {
        Self { text: text.into(), language: None }
    }
}

use Format::{
    Code, Crontab, Desktop, Dockerfile, Git, Json, Justfile, Makefile, Pipeline, PropertyList,
    Script, Ssh, Toml, Unit, Yaml,
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

/// Returns the way in which a file is run, judging by its path; none for any other file.
/// `starts` says that a file there starts by itself.
pub(crate) fn find_autorun(path: &str, starts: bool) -> Option<Autorun> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folder = path.strip_suffix(name).unwrap_or("").trim_end_matches('/');
    let beside = folder.rsplit('/').next().unwrap_or("");
    if name.is_empty() || path.split('/').any(|part| part.ends_with(".sample")) {
        return None;
    }
    let passive = [".md", ".txt", ".rst", ".lock", ".gitignore", ".png", ".svg"];
    if passive.iter().any(|end| name.ends_with(end)) || name == "authorized_keys" {
        return None;
    }
    let listed = FILES.iter().find(|(pattern, ..)| fits(pattern, path));
    if let Some((_, reach, format)) = listed {
        return Some(Autorun { reach: *reach, format: *format });
    }
    let hook = HOOKS.contains(&name) && beside.contains("hooks");
    (hook || starts).then_some(Autorun { reach: Starts, format: Script })
}

/// Returns true if a path fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns a piece of a file as a whole one: under a key, a section or a table whose contents run.
pub(crate) fn whole_of(format: Format, piece: &str) -> String {
    let before = match format {
        Yaml => "script:\n",
        Toml => "[tasks]\n",
        Git => "[core]\n",
        _ => "",
    };
    format!("{before}{piece}")
}

/// Returns the parts of a file that are run, and true if there is more than is read. Makefiles and
/// justfiles are read elsewhere, with their variables.
pub(crate) fn list_parts(format: Format, text: &str) -> (Vec<Part>, bool) {
    let mut parts = match format {
        Script => vec![Part::shell(text)],
        Code(language) => vec![Part { text: text.to_owned(), language: Some(language) }],
        Makefile | Justfile => Vec::new(),
        Git => settings::git(text),
        Ssh => settings::ssh(text),
        Unit => settings::unit(text),
        Desktop => settings::desktop(text),
        Crontab(user) => settings::crontab(text, user),
        PropertyList => settings::property_list(text),
        Dockerfile => settings::dockerfile(text),
        Pipeline => settings::pipeline(text),
        Toml => settings::toml(text),
        Json => return json::parts(text),
        Yaml if text.trim_start().starts_with('{') => return json::parts(text),
        Yaml => yaml::parts(text),
    };
    let more = parts.len() > PARTS;
    parts.truncate(PARTS);
    (parts, more)
}

/// Joins words to a command line.
fn joined<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+$".contains(&byte);
        if !word.is_empty() && word.bytes().all(plain) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', "'\\''"));
            line.push('\'');
        }
    }
    line
}

#[cfg(test)]
mod tests;
