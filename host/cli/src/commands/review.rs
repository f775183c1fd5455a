//! `portcullis review`: judges one action and shows the details, without recording anything; or
//! answers the events of an agent's own loop.

mod stream;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{paint, read_file_or_stdin, show, what_if_clean};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::event::{Call, Event, EventKind};
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_engine::{Kind, Source};
use portcullis_review::installed;
use portcullis_review::reviewer::{ReviewContext, Reviewer};
use portcullis_store::{Durability, Home, Store};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// A client's hook payload; standard input if absent or `-`
    file: Option<PathBuf>,
    /// Review this shell command, run in the current folder
    #[arg(long, short, conflicts_with = "file")]
    command: Option<String>,
    /// Review it as the next action of this recorded session: an id or the start of one
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Review it in a session in which the person asked for this
    #[arg(long, value_name = "TEXT", conflicts_with = "session")]
    goal: Option<String>,
    /// Load this component too
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    /// Answer the events of your own agent, one JSON object a line, and record them
    #[arg(long, conflicts_with_all = ["file", "command", "session", "goal", "plugin", "quiet", "json"])]
    stdin: bool,
    /// Print the JSON Schema of these events and answers
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Print only the verdict, its risk and its primary reason
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The note below a review without a session.
const ALONE: &str = "
This action was reviewed alone. In a session, what the person asked for and what
happened before can change the verdict: see `--goal TEXT` and `--session ID`.
";

pub fn run_review(arguments: &Arguments) -> Result<CommandExit> {
    if arguments.schema {
        paint::print_text(portcullis_agents::generic::SCHEMA);
        return Ok(CommandExit::Success);
    }
    if arguments.stdin {
        return stream::run_stream();
    }
    let mut event = event(arguments)?;
    let places = Paths::for_event(&event.cwd)?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let now = now_ms();
    let mut reviewer = installed::load_reviewer(&places, &home, config, &arguments.plugin, now)?;
    let mut state = State::default();
    if let Some(session) = &arguments.session {
        (event.session, state) = recorded_session(&home, session)?;
    }
    if let Some(goal) = &arguments.goal {
        let prompt = Event {
            name: "UserPromptSubmit".into(),
            kind: EventKind::Prompt(goal.clone()),
            ..event.clone()
        };
        let asked =
            reviewer.review_event(&prompt, state, now, &ReviewContext::default(), &|_| None);
        state = asked.state;
    }
    let reviewed = reviewer.review_event(&event, state, now, &ReviewContext::default(), &|_| None);
    let Some(record) = reviewed.records.first() else {
        return Err(Error::invalid(format!(
            "`{}` is answered neutrally: there is nothing to review",
            event.name
        )));
    };
    let restorable = what_if_clean::verdict_if_clean(record, &mut reviewer);
    if arguments.json {
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&record.document())?;
        document.insert("explanation".into(), show::explanation_json(record, restorable.as_ref()));
        paint::print_text(&format!("{}\n", serde_json::to_string(&document)?));
    } else if arguments.quiet {
        paint::print_wrapped(&brief(record), 2);
    } else {
        let restorable_at = |at: usize| if at == 0 { restorable.as_ref() } else { None };
        reviewed.records.iter().enumerate().for_each(|(at, record)| {
            paint::print_text(&show::record_page(record, false, restorable_at(at)))
        });
        if arguments.session.is_none() && arguments.goal.is_none() {
            paint::print_text(ALONE);
        }
        for note in describe_unasked(&mut reviewer, arguments, record) {
            paint::print_wrapped(&note, 2);
        }
    }
    Ok(if record.verdict().is_some_and(|verdict| verdict >= Verdict::Modify) {
        CommandExit::Objection
    } else {
        CommandExit::Success
    })
}

/// Says of each named component that this review did not ask why it did not, and what asks it.
fn describe_unasked(
    reviewer: &mut Reviewer,
    arguments: &Arguments,
    record: &Record,
) -> Vec<String> {
    if arguments.plugin.is_empty() {
        return Vec::new();
    }
    let asked = |name: &str| record.plugins.iter().any(|plugin| plugin.name == name);
    let named = |source: &Source| match source {
        Source::File(path) => arguments.plugin.contains(path),
        _ => false,
    };
    reviewer
        .plugins
        .describe_all()
        .into_iter()
        .filter(|plugin| named(&plugin.source) && !asked(&plugin.name))
        .filter_map(|plugin| {
            let (name, inspection) = (plugin.name, plugin.inspection.ok()?);
            let waits = inspection.descriptor.is_some_and(|said| said.reads.iter().any(|what| what == "outcome"));
            let why = match inspection.kind {
                Kind::Pattern if waits => "it looks at actions that have ended: `portcullis replay --plugin FILE RECORDING`, or its \
                                           cases, show what it finds",
                Kind::Pattern => "`patterns.enabled` does not name it",
                Kind::Intervention => "an intervention speaks after a pattern was found: its cases show what it says",
                Kind::AuditExporter => "an exporter writes what is recorded: `portcullis audit export --plugin FILE --exporter NAME`",
                Kind::RiskCalculator | Kind::ShellReader => return None,
            };
            Some(format!("`{name}` was not asked: {why}\n"))
        })
        .collect()
}

/// Reads the state of a recorded session. Details of its steps are not read.
fn recorded_session(home: &Home, wanted: &str) -> Result<(String, State)> {
    let store = Store::open_existing(home, Durability::Process)?;
    let known = store.sessions()?.into_iter().map(|known| known.session);
    let mut found: Vec<String> = known.filter(|id| id.starts_with(wanted)).collect();
    let shown = one_line(wanted, 80);
    let session = match (found.pop(), found.len()) {
        (None, _) => {
            return Err(Error::not_found(format!("no recorded session has the id `{shown}`"))
                .with_hint("`portcullis audit show --json` has them"));
        }
        (Some(session), 0) => session,
        (Some(_), more) => {
            return Err(Error::invalid(format!(
                "{} sessions begin with `{shown}`: give more of the id",
                more + 1
            )));
        }
    };
    let snapshot = store.take_snapshot(&session, None)?;
    let state = State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
    Ok((session, state))
}

/// Formats the verdict in one line, and what speaks against the action in another.
fn brief(record: &Record) -> String {
    let objection = record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow);
    let reason = objection.map(|decision| one_line(&decision.primary_reason, 400));
    let reason = reason.map(|reason| format!("  {reason}\n")).unwrap_or_default();
    format!("{}\n{reason}", show::record_line(record))
}

fn event(arguments: &Arguments) -> Result<Event> {
    if let Some(command) = &arguments.command {
        let cwd = std::env::current_dir()
            .context("cannot determine the current folder")?
            .display()
            .to_string();
        let input =
            serde_json::json!({ "command": command }).as_object().cloned().unwrap_or_default();
        return Ok(Event {
            client: portcullis_agents::DEFAULT.name().into(),
            session: "review".into(),
            agent: None,
            cwd,
            permission_mode: None,
            name: "PreToolUse".into(),
            kind: EventKind::BeforeTool(Call { id: None, tool: "Bash".into(), input }),
        });
    }
    let bytes = read_file_or_stdin(arguments.file.as_ref())?;
    Ok(portcullis_agents::parse_payload(&bytes)?)
}
