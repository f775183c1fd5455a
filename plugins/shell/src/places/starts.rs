//! Paths of files that something runs later without being asked to.

use super::secrets::is_sample;
use super::{file_name, is_below};

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

/// Returns true if a file there runs later without being asked to.
pub(crate) fn starts_by_itself(path: &str, home: &str) -> bool {
    let name = file_name(path);
    let in_home = (!home.is_empty() && is_below(path, home))
        || path.starts_with("/home/")
        || path.starts_with("/root/")
        || path.starts_with("/Users/")
        || home.is_empty();
    if path.split('/').any(|part| part.ends_with(".sample"))
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
