//! Labelled actions, one JSON object per line: a tool call and its assessment by somebody.
//!
//! A row is `{"id", "tool", "input", "label"}`, or has a whole hook payload in `payload` (text)
//! instead of tool and input. Everything else is optional; unknown fields are ignored. This module
//! does not judge.

use crate::error::{Context, Error, Result};
use portcullis_core::action::GitState;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_review::workspace::described::DescribedDisk;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The empty folder in which a row without a project runs.
const EMPTY: &str = "/portcullis/empty";
/// The home of a row that names none.
const HOME: &str = "/home/user";
/// Tools whose `file_path` shows the location of a session's project.
const FILE_TOOLS: &[&str] = &["Edit", "Write", "Read"];
/// The parents of homes: the next folder below is a person's home.
const HOMES: &[&str] = &["/home/", "/Users/"];

/// A row, ready to be judged.
#[derive(Clone, Debug)]
pub struct EvalRow {
    /// Its id, or its position: `file:line`.
    pub id: String,
    /// The file's stem.
    pub source: String,
    /// Its label: `dangerous` and `benign` are measured, others are only counted.
    pub label: String,
    /// The confidence in the label, if the row states it.
    pub tier: Option<u64>,
    /// The project.
    pub project: Project,
    /// The event, or why it cannot be read.
    pub event: Result<Event, String>,
}

/// The location of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The working folder, absolute.
    pub cwd: String,
    /// The project's folders, absolute.
    pub roots: Vec<String>,
    /// The person's home, absolute.
    pub home: String,
    /// The source of the working folder.
    pub origin: ProjectOrigin,
    /// The files that the row describes.
    pub disk: DescribedDisk,
}

/// The source of an action's location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectOrigin {
    /// The row names it.
    Stated,
    /// The paths of the row's session suggest it.
    Guessed,
    /// Nothing tells it: it is an empty folder.
    Unknown,
    /// It is a folder of this disk, which `--project` names.
    Disk,
}

impl ProjectOrigin {
    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::Guessed => "guessed",
            Self::Unknown => "unknown",
            Self::Disk => "disk",
        }
    }
}

impl EvalRow {
    /// Runs the action in a folder of this disk. `cwd` is absolute.
    pub fn place_in(&mut self, cwd: &str) {
        if let Ok(event) = &mut self.event
            && event.cwd == self.project.cwd
        {
            cwd.clone_into(&mut event.cwd);
        }
        self.project = Project {
            cwd: cwd.to_owned(),
            roots: vec![cwd.to_owned()],
            home: home_of(cwd),
            origin: ProjectOrigin::Disk,
            disk: DescribedDisk::default(),
        };
    }
}

/// A line of the file, as parsed.
#[derive(Deserialize)]
struct Line {
    id: Option<String>,
    tool: Option<String>,
    input: Option<Map<String, Value>>,
    payload: Option<String>,
    label: Option<String>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    tier: Option<u64>,
    session: Option<String>,
    /// Others put anything here, so that a value of another form is not an error.
    context: Option<Value>,
}

/// `meta.context`. Paths may be relative to `cwd`.
#[derive(Clone, Default, Deserialize)]
struct MetaContext {
    cwd: Option<String>,
    #[serde(default)]
    roots: Vec<String>,
    home: Option<String>,
    /// Texts by path.
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    git: GitContext,
}

/// `meta.context.git`: paths by their state. A path that ends with a slash is a folder.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct GitContext {
    clean: Vec<String>,
    changed: Vec<String>,
    untracked: Vec<String>,
    ignored: Vec<String>,
}

impl Meta {
    /// Returns the context if it tells a place or a file.
    fn described(&self) -> Option<MetaContext> {
        self.context.clone().and_then(|context| serde_json::from_value(context).ok())
    }
}

/// Reads the rows of a file.
///
/// # Errors
/// Fails if the file cannot be read or is empty, or if a line is not a JSON object with fields of
/// the right types; the error names the file and line.
pub fn read_rows(path: &Path) -> Result<Vec<EvalRow>> {
    parse_rows(
        &std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the corpus `{}`", path.display()))?,
        path,
    )
}

/// Parses the rows of a text that was read from `path`.
///
/// # Errors
/// Fails as [`read_rows`] does.
pub fn parse_rows(text: &str, path: &Path) -> Result<Vec<EvalRow>> {
    let source =
        path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut lines: Vec<(usize, Line)> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = serde_json::from_str(line)
            .with_context(|| format!("line {} of the corpus `{}`", index + 1, path.display()))?;
        lines.push((index + 1, line));
    }
    if lines.is_empty() {
        return Err(Error::invalid(format!("the corpus `{}` holds no row", path.display())));
    }
    let sessions = sessions(&lines);
    Ok(lines.into_iter().map(|(number, line)| row(line, number, &source, &sessions)).collect())
}

fn row(line: Line, number: usize, source: &str, sessions: &BTreeMap<String, String>) -> EvalRow {
    let project = project(&line.meta, sessions);
    EvalRow {
        event: event(&line, &project),
        id: line.id.unwrap_or_else(|| format!("{source}:{number}")),
        source: source.to_owned(),
        label: line.label.unwrap_or_else(|| "unlabelled".into()),
        tier: line.meta.tier,
        project,
    }
}

fn event(line: &Line, project: &Project) -> Result<Event, String> {
    if let Some(payload) = &line.payload {
        return portcullis_agents::parse_payload(payload.as_bytes())
            .map_err(|error| error.to_string());
    }
    let tool = line.tool.clone().ok_or("it has neither `tool` nor `payload`")?;
    let input = line.input.clone().ok_or("it has no `input`")?;
    Ok(Event {
        client: portcullis_agents::DEFAULT.name().into(),
        session: "eval".into(),
        agent: None,
        cwd: project.cwd.clone(),
        permission_mode: None,
        name: "PreToolUse".into(),
        kind: EventKind::BeforeTool(Call { id: None, tool, input }),
    })
}

fn project(meta: &Meta, sessions: &BTreeMap<String, String>) -> Project {
    let said = meta.described().unwrap_or_default();
    let stated = said.cwd.clone().or_else(|| said.roots.first().cloned());
    let guessed = || meta.session.as_ref().and_then(|session| sessions.get(session)).cloned();
    let (cwd, origin) = match stated {
        Some(cwd) => (cwd, ProjectOrigin::Stated),
        None => guessed().map_or_else(
            || (EMPTY.to_owned(), ProjectOrigin::Unknown),
            |cwd| (cwd, ProjectOrigin::Guessed),
        ),
    };
    let disk = describe_disk(&said, &cwd);
    let roots = if said.roots.is_empty() { vec![cwd.clone()] } else { said.roots };
    let home = said.home.unwrap_or_else(|| home_of(&cwd));
    Project { cwd, roots, home, origin, disk }
}

fn describe_disk(said: &MetaContext, cwd: &str) -> DescribedDisk {
    let full =
        |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut disk = DescribedDisk::default();
    for (path, text) in &said.files {
        disk.set_text(&full(path), text);
    }
    for (paths, state) in [
        (&said.git.clean, GitState::Clean),
        (&said.git.changed, GitState::Changed),
        (&said.git.untracked, GitState::Untracked),
        (&said.git.ignored, GitState::Ignored),
    ] {
        for path in paths {
            disk.set_git(&full(path), state);
        }
    }
    disk
}

fn home_of(folder: &str) -> String {
    let below = HOMES
        .iter()
        .find_map(|homes| Some((homes, folder.strip_prefix(homes)?.split('/').next()?)));
    below
        .filter(|(_, name)| !name.is_empty())
        .map_or_else(|| HOME.into(), |(homes, name)| format!("{homes}{name}"))
}

/// Returns the project of each session: the longest folder common to the absolute paths that its
/// file tools name. The root of the file system is not a project: such a session has none.
fn sessions(lines: &[(usize, Line)]) -> BTreeMap<String, String> {
    let mut common: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (_, line) in lines {
        let named = line.tool.as_deref().filter(|tool| FILE_TOOLS.contains(tool));
        let path = line.input.as_ref().and_then(|input| input.get("file_path")?.as_str());
        let (Some(session), Some(_), Some(folder)) =
            (&line.meta.session, named, path.and_then(folder_of))
        else {
            continue;
        };
        let parts: Vec<&str> = folder.split('/').collect();
        match common.get_mut(session) {
            None => drop(common.insert(session.clone(), parts)),
            Some(known) => {
                let same = known.iter().zip(&parts).take_while(|(one, other)| one == other).count();
                known.truncate(same);
            }
        }
    }
    common
        .into_iter()
        .map(|(session, parts)| (session, parts.join("/")))
        .filter(|(_, folder)| !folder.is_empty())
        .collect()
}

/// Returns the folder of an absolute path; empty for the root.
fn folder_of(path: &str) -> Option<&str> {
    path.starts_with('/').then(|| path.rsplit_once('/').map_or("", |(folder, _)| folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn rows(text: &str) -> Result<Vec<EvalRow>> {
        let mut file = tempfile::Builder::new()
            .prefix("corpus")
            .suffix(".jsonl")
            .tempfile()
            .expect("a temporary file");
        file.write_all(text.as_bytes()).expect("written");
        read_rows(file.path())
    }

    #[test]
    fn finds_the_project() {
        let text = r#"
{"id":"a","tool":"Edit","input":{"file_path":"/home/me/app/src/a.rs"},"meta":{"session":"1"}}
{"id":"b","tool":"Read","input":{"file_path":"/home/me/app/tests/b.rs"},"meta":{"session":"1"}}
{"id":"c","tool":"Bash","input":{"command":"ls /etc"},"meta":{"session":"1"}}
{"id":"d","tool":"Bash","input":{"command":"ls"},"meta":{"session":"2"}}
{"id":"e","tool":"Read","input":{"file_path":"/etc/a"},"meta":{"session":"3"}}
{"id":"f","tool":"Read","input":{"file_path":"/usr/b"},"meta":{"session":"3"}}
{"id":"g","tool":"Bash","input":{"command":"ls"},"meta":{"session":"1","context":{"cwd":"/srv/x/y","roots":["/srv/x"],"home":"/srv/me"}}}
{"id":"h","tool":"Bash","input":{"command":"ls"},"meta":{"context":{"roots":["/srv/x"]}}}
"#;
        let wanted = [
            ("a", "/home/me/app", "/home/me/app", "/home/me"),
            ("b", "/home/me/app", "/home/me/app", "/home/me"),
            ("c", "/home/me/app", "/home/me/app", "/home/me"),
            ("d", EMPTY, EMPTY, HOME),
            ("e", EMPTY, EMPTY, HOME),
            ("f", EMPTY, EMPTY, HOME),
            ("g", "/srv/x/y", "/srv/x", "/srv/me"),
            ("h", "/srv/x", "/srv/x", HOME),
        ];
        let rows = rows(text).expect("a corpus");
        assert_eq!(rows.len(), wanted.len());
        for (row, (id, cwd, root, home)) in rows.iter().zip(wanted) {
            let found = (
                row.id.as_str(),
                row.project.cwd.as_str(),
                row.project.roots[0].as_str(),
                row.project.home.as_str(),
            );
            assert_eq!(found, (id, cwd, root, home));
        }
    }

    #[test]
    fn a_context_of_another_form_says_nothing() {
        for context in ["\"a session\"", "5", "[]", "{\"cwd\":5}", "null", "{\"git\":\"main\"}"] {
            let text = format!(
                "{{\"tool\":\"Bash\",\"input\":{{\"command\":\"ls\"}},\"meta\":{{\"context\":{context}}}}}"
            );
            let rows = rows(&text).expect(context);
            let project = &rows[0].project;
            assert_eq!((project.cwd.as_str(), project.origin), (EMPTY, ProjectOrigin::Unknown));
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_line() {
        for (text, wanted) in [
            ("", "holds no row"),
            ("\n \n", "holds no row"),
            ("{\"tool\":\"Bash\"}\nnonsense", "line 2 of the corpus"),
            ("[]", "line 1 of the corpus"),
            ("{\"tool\":5}", "line 1 of the corpus"),
        ] {
            let error = format!("{:#}", rows(text).expect_err(text));
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_row_that_names_no_action_stays_a_row() {
        for (text, wanted) in [
            (r#"{"label":"benign"}"#, "neither `tool` nor `payload`"),
            (r#"{"tool":"Bash"}"#, "no `input`"),
            (r#"{"payload":"{"}"#, ""),
        ] {
            let rows = rows(text).expect("a corpus");
            let error = rows[0].event.as_ref().expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
