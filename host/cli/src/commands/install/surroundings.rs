//! Conditions around an installation that weaken it and that `install` does not change.

use super::Site;
use super::edit::FileEdit;
use super::report::InstallReport;
use portcullis_agents::file;
use portcullis_agents::hook_handler::Deviation;
use portcullis_agents::hook_settings::MANAGED_ONLY;
use portcullis_agents::json::JsonDocument;
use portcullis_agents::settings::SettingsScope;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Reports all of them.
pub fn warn_of_surroundings(site: &Site, edits: &[FileEdit], report: &mut InstallReport) {
    program(&site.wanted.program, report);
    for edit in edits.iter().filter(|edit| edit.found.other_names() > 0) {
        report.print_warning(&format!(
            "`{}` has other names (hard links), which will keep the old text",
            edit.found.path.display()
        ));
    }
    let repository =
        site.folders.project.ancestors().skip(1).find(|above| above.join(".git").exists());
    if let Some(repository) = repository.filter(|_| {
        matches!(site.scope, SettingsScope::Project | SettingsScope::Local)
            && !site.folders.project.join(".git").exists()
    }) {
        report.print_warning(&format!(
            "the client reads these settings only when it is started in this very folder, not in `{}`",
            repository.display()
        ));
    }
    let files = readable_files(site, report);
    switches(site, &files, report);
    for (scope, path, document) in &files {
        settings(site, *scope, path, document.value(), report);
    }
}

/// Returns the client's files that it can read.
fn readable_files(
    site: &Site,
    report: &mut InstallReport,
) -> Vec<(SettingsScope, PathBuf, JsonDocument)> {
    let hooks = site.agent.hook_settings();
    let mut files = Vec::new();
    for (scope, path) in site.folders.files() {
        match file::read_settings(&path, hooks.most_bytes()) {
            Ok(found) => {
                let read = |bytes: Vec<u8>| hooks.read_document(&bytes).ok();
                files.extend(found.bytes.and_then(read).map(|document| (scope, path, document)));
            }
            Err(error) => report.print_warning(&format!("{error:#}")),
        }
    }
    files
}

/// Reports what keeps the hooks of this scope from running.
fn switches(
    site: &Site,
    files: &[(SettingsScope, PathBuf, JsonDocument)],
    report: &mut InstallReport,
) {
    let settings: Vec<_> =
        files.iter().map(|(scope, _, document)| (*scope, Some(document.value()))).collect();
    let found = site.agent.hook_settings().find_switch(&settings, site.scope);
    let named = found.and_then(|(index, key)| Some((files.get(index)?.1.display(), key)));
    match named {
        Some((path, MANAGED_ONLY)) => report.print_warning(&format!(
            "`{path}` lets only the machine's hooks run: install with --managed"
        )),
        Some((path, key)) => report
            .print_warning(&format!("`{path}` has `{key}`: no hook runs until it is taken out")),
        None => {}
    }
}

fn settings(
    site: &Site,
    scope: SettingsScope,
    path: &Path,
    settings: &Value,
    report: &mut InstallReport,
) {
    let path = path.display();
    let gate = site.agent.hook_settings().gate_event();
    for other in site.agent.hook_settings().foreign_commands(settings, gate, &site.wanted) {
        let other = portcullis_core::text::one_line(&other, 120);
        report.print_warning(&format!(
            "`{path}` has another {gate} hook, `{other}`: if both \
             rewrite a call, the one that ends last wins"
        ));
    }
    let found = site.agent.hook_settings().find_handlers(settings, &site.wanted);
    for mixed in found.iter().filter(|handler| handler.deviations.contains(&Deviation::Mixed)) {
        report.print_warning(&format!(
            "`{path}` starts Portcullis for {} in a command of its own at `{}`: it was left alone",
            mixed.event, mixed.pointer
        ));
    }
    if scope != site.scope && !found.is_empty() {
        report.print_warning(&format!(
            "Portcullis is installed in `{path}` too: each action is \
             reviewed twice, uninstall one of them"
        ));
    }
}

/// Warns if the agent can replace the program, which would then guard nothing.
fn program(program: &Path, report: &mut InstallReport) {
    let shown = program.display();
    if program.with_file_name(".cargo-lock").exists() {
        report.print_warning(&format!(
            "`{shown}` is in a build folder: the next build changes or removes it"
        ));
    }
    // An agent that runs as root can replace anything, so no location is safer than another.
    let open = |path: &&Path| {
        fs::metadata(path).is_ok_and(|found| {
            found.uid() != 0 || (found.mode() & 0o022 != 0 && found.mode() & 0o1000 == 0)
        })
    };
    if let Some(open) = program.ancestors().find(open) {
        report.print_warning(&format!(
            "`{}` can be changed by others than root, so the agent can replace the program: `sudo \
             install -o root -m 755 {shown} /usr/local/bin/portcullis`, then install with that \
             one",
            open.display()
        ));
    }
}
