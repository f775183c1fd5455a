//! The plugin that a command works on: a component, or a project's folder with one.

use crate::error::{Context, Error, Result};
use crate::paint;
use portcullis_author::cases::{self, Case};
use portcullis_author::project::{CASES, PluginProject};
use portcullis_config::file;
use portcullis_config::problem::Problems;
use portcullis_core::text::one_line;
use portcullis_engine::{Inspection, Kind, inspect_component, read_component};
use std::path::{Path, PathBuf};

/// A plugin and its cases.
pub struct Subject {
    /// The component's file.
    pub file: PathBuf,
    /// The name that the host uses for it: its file's.
    pub name: String,
    /// The information derived from its bytes.
    pub inspection: Inspection,
    /// The file of its cases; `None` if not specified.
    cases: Option<PathBuf>,
}

impl Subject {
    /// Finds the subject of a command line: a component or a project's folder, and optionally a
    /// file of cases.
    ///
    /// # Errors
    /// Fails if there is no component, or if it is not a plugin.
    pub fn find_subject(path: &Path, cases: Option<&Path>) -> Result<Self> {
        let cases = cases.map(Path::to_owned);
        let (file, cases) = if path.is_dir() {
            let project = PluginProject::find_project(path)?;
            warn_of_older_build(&project);
            (project.built()?, Some(cases.unwrap_or_else(|| project.cases())))
        } else {
            (path.to_owned(), cases)
        };
        let shown = one_line(&file.to_string_lossy(), 400);
        if !file.exists() {
            return Err(Error::not_found(format!("there is no `{shown}`"))
                .with_hint("name a component, or the folder of a plugin's project"));
        }
        let inspection = read_component(&file)
            .and_then(|bytes| inspect_component(&bytes))
            .with_context(|| format!("`{shown}` is not a plugin"))?;
        let name =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if inspection.kind == Kind::ShellReader {
            return Err(Error::invalid(format!(
                "`{shown}` is the host's own shell reader, not a plugin"
            )));
        }
        if portcullis_builtin::find(&name).is_some() {
            return Err(Error::invalid(format!(
                "`{shown}` has the name of a builtin plugin, `{name}`"
            ))
            .with_hint("give the file another"));
        }
        Ok(Self { file, name, inspection, cases })
    }

    /// Parses a file of its cases.
    ///
    /// # Errors
    /// Fails if anything is wrong with the file; the error lists every problem.
    pub fn read_cases(&self, path: &Path, text: &str) -> Result<Vec<Case>> {
        cases::read_cases(text, self.inspection.kind).map_err(|(problems, more)| {
            let problems = Problems { file: path.to_owned(), problems, more };
            Error::invalid(format!("the cases cannot be played:\n{}", problems.lines().join("\n")))
        })
    }

    /// Returns the file of its cases and its text.
    ///
    /// # Errors
    /// Fails if no file is named, or if it cannot be read.
    pub fn cases(&self) -> Result<(PathBuf, String)> {
        let Some(path) = &self.cases else {
            return Err(Error::invalid("a component alone has no cases")
                .with_hint(format!("name the file that holds them: `--cases {CASES}`")));
        };
        let shown = one_line(&path.to_string_lossy(), 400);
        match file::read_file(path) {
            Ok(Some(text)) => Ok((path.clone(), text)),
            Ok(None) => Err(Error::not_found(format!("there is no file of cases `{shown}`"))
                .with_hint("write one, or name another with `--cases FILE`")),
            Err(problems) => Err(Error::invalid(format!(
                "the cases `{shown}` cannot be read: {}",
                problems.problems.iter().map(|problem| problem.what.clone()).collect::<String>()
            ))),
        }
    }
}

/// Warns if a source is newer than the component. Nothing is built here: that runs the project's
/// own tools.
fn warn_of_older_build(project: &PluginProject) {
    let Some(source) = project.find_newer_source() else { return };
    let shown = [project.component(), source, project.folder.clone()]
        .map(|path| one_line(&path.to_string_lossy(), 400));
    let [component, source, folder] = shown;
    anstream::eprintln!(
        "{}: `{component}` is older than `{source}`; build it again: `portcullis plugin build {folder}`",
        paint::warn("warning")
    );
}
