//! The plugin that a command works on: a component, or a project's folder with one.

use crate::config::file;
use crate::config::problem::Problems;
use crate::project::{CASES, Project};
use crate::trial::cases::{self, Case};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_core::text::one_line;
use portcullis_engine::{Inspection, Kind, inspect, read_component};
use std::path::{Path, PathBuf};

/// A plugin and its cases.
pub struct Subject {
    /// The component.
    pub file: PathBuf,
    /// The name that the host knows it by: its file's.
    pub name: String,
    /// What its bytes say of it.
    pub inspection: Inspection,
    /// The file of its cases; none where nobody named it.
    cases: Option<PathBuf>,
}

impl Subject {
    /// What a command line names: a component or a project's folder, and perhaps a file of cases.
    ///
    /// # Errors
    /// There is no component, or it is no plugin.
    pub fn find(path: &Path, cases: Option<&Path>) -> Result<Self> {
        let cases = cases.map(Path::to_owned);
        let (file, cases) = if path.is_dir() {
            let project = Project::find(path)?;
            (project.built()?, Some(cases.unwrap_or_else(|| project.cases())))
        } else {
            (path.to_owned(), cases)
        };
        let shown = one_line(&file.to_string_lossy(), 400);
        if !file.exists() {
            bail!("there is no `{shown}`; name a component, or the folder of a plugin's project");
        }
        let inspection = read_component(&file).and_then(|bytes| inspect(&bytes)).with_context(|| format!("`{shown}` is no plugin"))?;
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if inspection.kind == Kind::ShellReader {
            bail!("`{shown}` is the host's own shell reader, not a plugin");
        }
        if portcullis_builtin::find(&name).is_some() {
            bail!("`{shown}` has the name of a builtin plugin, `{name}`; give the file another");
        }
        Ok(Self { file, name, inspection, cases })
    }

    /// What a file of its cases says.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(&self, path: &Path, text: &str) -> Result<Vec<Case>> {
        let wrong = |(problems, more)| Unreadable(Problems { file: path.to_owned(), problems, more });
        Ok(cases::read(text, self.inspection.kind).map_err(wrong)?)
    }

    /// The file of its cases, and what it says.
    ///
    /// # Errors
    /// None is named, or it cannot be read.
    pub fn cases(&self) -> Result<(PathBuf, String)> {
        let Some(path) = &self.cases else { bail!("a component alone has no cases; name the file that holds them: `--cases {CASES}`") };
        let shown = one_line(&path.to_string_lossy(), 400);
        match file::read(path) {
            Ok(Some(text)) => Ok((path.clone(), text)),
            Ok(None) => bail!("there is no file of cases `{shown}`; write one, or name another with `--cases FILE`"),
            Err(problems) => Err(anyhow!(
                "the cases `{shown}` cannot be read: {}",
                problems.problems.iter().map(|problem| problem.what.clone()).collect::<String>()
            )),
        }
    }
}

/// What is wrong with a file of cases.
#[derive(Debug, thiserror::Error)]
#[error("the cases cannot be played:\n{}", .0.lines().join("\n"))]
struct Unreadable(Problems);
