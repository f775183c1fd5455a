//! Fuzzes the readers of files that run by themselves: settings of git and ssh, units, scheduled
//! jobs, YAML, JSON, TOML, recipes, build files. The reader gets them as the host sends a written
//! text: as a patch. The first line of an input is the path, the rest the text.

use crate::shell;

/// The seeds of inputs, at least one for each format.
pub(crate) const SEEDS: &[&[u8]] = &[
    include_bytes!("../seeds/autoruns/crontab.txt"),
    include_bytes!("../seeds/autoruns/desktop.txt"),
    include_bytes!("../seeds/autoruns/dockerfile.txt"),
    include_bytes!("../seeds/autoruns/git-config.txt"),
    include_bytes!("../seeds/autoruns/hook.txt"),
    include_bytes!("../seeds/autoruns/jenkinsfile.txt"),
    include_bytes!("../seeds/autoruns/justfile.txt"),
    include_bytes!("../seeds/autoruns/makefile.txt"),
    include_bytes!("../seeds/autoruns/package.txt"),
    include_bytes!("../seeds/autoruns/plist.txt"),
    include_bytes!("../seeds/autoruns/pyproject.txt"),
    include_bytes!("../seeds/autoruns/ssh.txt"),
    include_bytes!("../seeds/autoruns/tasks.txt"),
    include_bytes!("../seeds/autoruns/unit.txt"),
    include_bytes!("../seeds/autoruns/workflow.txt"),
];

/// Checks the requirements for every file, written whole and changed in part.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let input = String::from_utf8_lossy(bytes);
    let (first, text) = input.split_once('\n').unwrap_or((&input, ""));
    // A changed path would seldom name such a file.
    let known = SEEDS.iter().filter_map(|seed| path_of(seed));
    let path = known
        .max_by_key(|path| path.bytes().zip(first.bytes()).filter(|(a, b)| a == b).count())
        .unwrap_or_default();
    for operation in ["Add File", "Update File"] {
        let added: String = text.split('\n').map(|line| format!("+{line}\n")).collect();
        let hunk = if operation == "Add File" { "" } else { "@@\n" };
        let patch =
            format!("*** Begin Patch\n*** {operation}: {path}\n{hunk}{added}*** End Patch\n");
        shell::check(patch.as_bytes())?;
    }
    Ok(())
}

/// Returns the path in the first line of a seed.
fn path_of(seed: &'static [u8]) -> Option<&'static str> {
    std::str::from_utf8(seed).ok()?.lines().next()
}
