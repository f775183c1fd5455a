//! Reviews an action that nobody wants to run: nothing is recorded, and nothing runs. What the
//! review sees of the disk is what `portcullis review` sees.

use crate::site::{Reading, Site};
use anyhow::{Context, Result, bail};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::record::Record;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_review::installed;
use portcullis_review::reviewer::ReviewContext;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The tool whose only parameter is a command.
pub(crate) const SHELL: &str = "Bash";
/// The name of the session, which does not exist.
const SESSION: &str = "review";

/// The form of a trial.
#[derive(Debug, Deserialize)]
pub(crate) struct TrialForm {
    pub(crate) token: String,
    pub(crate) tool: String,
    /// A command, or the parameters as JSON.
    pub(crate) action: String,
    /// The folder that it would run in.
    pub(crate) folder: String,
}

/// Reviews an action, alone: as the first one of a session.
///
/// # Errors
/// Fails if it is not an action, or if it cannot be reviewed here.
pub(crate) fn try_action(site: &Site, reading: &Reading, form: &TrialForm) -> Result<Record> {
    if !site.sees_files() {
        bail!("behind a boundary, actions cannot be tried here: the files are the user's alone");
    }
    let folder = form.folder.trim();
    if !Path::new(folder).is_absolute() {
        bail!("the folder `{}` does not begin with `/`", one_line(folder, 200));
    }
    let call = Call { id: None, tool: form.tool.trim().to_owned(), input: read_parameters(form)? };
    let event = Event {
        client: portcullis_agents::DEFAULT.name().into(),
        session: SESSION.into(),
        agent: None,
        cwd: folder.to_owned(),
        permission_mode: None,
        name: "PreToolUse".into(),
        kind: EventKind::BeforeTool(call),
    };
    let places = site.places.clone().in_project_of(Path::new(folder));
    let config = Config::load(&places, Some(&reading.home))?;
    let now = now_ms();
    let _turn = site.take_turn().context("another action is being tried: try again in a moment")?;
    let mut reviewer = installed::load_reviewer(&places, &reading.home, config, &[], now)?;
    let reviewed =
        reviewer.review_event(&event, State::default(), now, &ReviewContext::default(), &|_| None);
    reviewed.records.into_iter().next().context("there is nothing to review")
}

fn read_parameters(form: &TrialForm) -> Result<Map<String, Value>> {
    match serde_json::from_str(&form.action) {
        Ok(Value::Object(members)) => Ok(members),
        _ if form.tool.trim() == SHELL => {
            Ok(Map::from_iter([("command".to_owned(), Value::from(form.action.as_str()))]))
        }
        _ => bail!(
            "the parameters of `{}` have to be a JSON object, for example `{{\"file_path\": \
             \"/tmp/a.txt\"}}`",
            one_line(&form.tool, 80)
        ),
    }
}
