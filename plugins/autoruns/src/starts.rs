//! Paths of files that something runs later without being asked to.

/// Folders of sample files.
const SAMPLES: &[&str] = &[
    "fixtures",
    "fixture",
    "__fixtures__",
    "testdata",
    "test_data",
    "test-data",
    "mocks",
    "__mocks__",
    "examples",
    "samples",
];

/// Folders in which a file starts something by itself.
const START_FOLDERS: &[&str] = &[
    "/etc/cron",
    "/var/spool/cron",
    "/etc/profile.d/",
    "/etc/systemd/",
    "/lib/systemd/system",
    "/usr/lib/systemd/",
    "/etc/init.d/",
    "/etc/rc",
    "/etc/xdg/autostart/",
    "/etc/update-motd.d/",
    "/etc/udev/rules.d/",
    "/etc/ld.so.preload",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/zsh",
    "/Library/LaunchDaemons",
    "/Library/LaunchAgents",
    "/etc/pam.d/",
    "/etc/inittab",
    "/etc/apt/apt.conf.d/",
    "/etc/anacrontab",
    "/usr/share/autostart/",
];

/// The same, below any person's home.
const START_PARTS: &[&str] = &[
    "/.config/autostart/",
    "/.config/systemd/user",
    "/.git/hooks/",
    "/Library/LaunchAgents/",
    "/.config/fish/",
    "/.config/autostart-scripts/",
    "/.husky/",
    "/.config/environment.d/",
    "/.local/share/systemd/user",
];

/// Files with these names, in a home.
const START_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".cshrc",
    ".tcshrc",
    ".kshrc",
    ".login",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".inputrc",
    ".gitconfig",
];

/// Returns true for a file of a folder of packages that every start of Python runs.
fn loads_with_python(path: &str, name: &str) -> bool {
    matches!(name, "usercustomize.py" | "sitecustomize.py")
        || name.ends_with(".pth")
            && ["/site-packages/", "/dist-packages/"].iter().any(|part| path.contains(part))
}

/// Returns true if a file at an absolute path runs later without being asked to. `home` is the
/// person's home folder, empty when not known.
#[must_use]
pub fn starts_by_itself(path: &str, home: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let in_home = (!home.is_empty() && is_below(path, home))
        || path.starts_with("/home/")
        || path.starts_with("/root/")
        || path.starts_with("/Users/")
        || home.is_empty();
    if is_hook_sample(path)
        || (name == ".gitignore" && path.contains("/.husky/"))
        || (name == "authorized_keys" && is_sample(path))
    {
        return false;
    }
    START_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || START_PARTS.iter().any(|part| path.contains(part))
        || (in_home && START_FILES.contains(&name))
        || name == "authorized_keys"
        || name == ".envrc"
        || loads_with_python(path, name)
        || [".ssh/rc", ".git/config", ".config/git/config"]
            .iter()
            .any(|end| path.strip_suffix(end).is_some_and(|before| before.ends_with('/')))
        || (path.contains("/.claude/") && name.starts_with("settings") && name.ends_with(".json"))
        || path.starts_with("/etc/claude-code/")
        || path.contains("/Start Menu/Programs/Startup/")
}

/// Returns true for one of the sample hooks that git puts into a repository: they run nothing until
/// they are renamed. Files and folders of such a name elsewhere are what they are.
#[must_use]
pub fn is_hook_sample(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    name.ends_with(".sample")
        && folder.ends_with("/hooks")
        && folder.split('/').any(|part| part.ends_with(".git"))
}

/// Returns true for a sample file, a part of a test or of an example.
#[must_use]
pub fn is_sample(path: &str) -> bool {
    path.split('/').any(|part| SAMPLES.contains(&part))
}

/// Returns true if `path` is `folder` or is below it.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
}
