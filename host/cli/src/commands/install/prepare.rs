//! Prepares everything the hooks need, so that no hook pays for it: home, configuration, journal,
//! compiled plugins.

use super::Site;
use super::report::InstallReport;
use crate::compile_line::CompileLine;
use crate::error::{Context, Error, Result};
use portcullis_agents::settings::SettingsScope;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::policy::Mode;
use portcullis_review::installed;
use portcullis_store::{Home, Store};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Prepares home, configuration, database and compiled plugins.
pub(super) fn prepare(site: &Site, observe: bool, report: &mut InstallReport) -> Result<Home> {
    let home = Home::open_root(&site.places.state)?;
    let file = mode_file(site);
    if observe {
        write_observe(&file, site.scope, report)?;
    }
    let config = Config::load(&site.places, Some(&home))?;
    let (mode, durability) = (config.policy.mode, config.durability);
    if observe && mode != Mode::Observe {
        report.print_warning(&format!(
            "`{}` says `mode = \"{mode}\"` and was left alone: write `mode = \"observe\"` there to observe only",
            file.display()
        ));
    }
    report.set_mode(mode);
    report.set_kept(config.checkpoints.enabled);
    drop(Store::open_database(&home, durability).context("cannot make the journal")?);
    compile_plugins(&site.places, &home, config)?;
    Ok(home)
}

const OBSERVE: &str = "\
# What the agent does is reviewed and recorded; nothing is refused or changed.
# To enforce the reviews, remove this line, or write \"blocking\".
mode = \"observe\"
";

/// Returns the configuration file that sets the mode for everyone concerned.
pub(super) fn mode_file(site: &Site) -> PathBuf {
    if site.scope == SettingsScope::Managed {
        site.places.managed.clone()
    } else {
        site.places.config.join(portcullis_config::FILE)
    }
}

fn write_observe(path: &Path, scope: SettingsScope, report: &mut InstallReport) -> Result<()> {
    let making = || format!("cannot write `{}`", path.display());
    let (folder, mode) =
        if scope == SettingsScope::Managed { (0o755, 0o644) } else { (0o700, 0o600) };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(folder)
        .create(path.parent().unwrap_or(path))
        .with_context(making)?;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path) {
        Ok(mut file) => {
            file.write_all(OBSERVE.as_bytes())
                .and_then(|()| file.sync_all())
                .with_context(making)?;
            report.print_line(&format!("wrote `{}` with mode = \"observe\"", path.display()));
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).with_context(making),
    }
}

/// Compiles every plugin that is not compiled yet.
///
/// # Errors
/// Fails if a plugin cannot be used, since every action would then be refused.
pub fn compile_plugins(places: &Paths, home: &Home, config: Config) -> Result<()> {
    let mut reviewer = installed::load_reviewer(places, home, config, &[], now_ms())?;
    let mut faults = Vec::new();
    let mut line = CompileLine::default();
    reviewer.plugins.compile_all(|progress| {
        line.show_step(&progress);
        faults.extend(progress.result.and_then(std::result::Result::err));
    });
    drop(line);
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(Error::invalid(format!(
            "a plugin cannot be used, and with it every action would be refused: {fault}"
        ))),
    }
}
