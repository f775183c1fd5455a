//! `portcullis approvals`: the actions that wait for a person, and the person's answers.
//!
//! A hook, a gateway or an agent's own loop holds an action while somebody is there to answer. Only
//! a person at a terminal may; what they are shown is what would run, with secrets masked.

mod answer;
pub mod page;
mod proof;
mod watch;

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::answers::{PersonDecision, read_asked};
use portcullis_review::approvals::AnswerPort;
use portcullis_review::questions::AskedAction;
use portcullis_store::{ApprovalRecord, ApprovalState, Store};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The longest time that a process without a client's timeout holds an action.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The hint for an id that is not known.
const LIST_HINT: &str = "`portcullis approvals list` lists those that wait";

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the actions that wait for a person
    List {
        /// List those that have ended too
        #[arg(long)]
        all: bool,
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one action that waits, with everything that would run
    Show {
        /// Its id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let one action that waits run (interactive)
    Allow(AllowArguments),
    /// Refuse one action that waits (not for agents)
    Deny(AnswerArguments),
    /// Show actions as they begin to wait, and answer them (interactive)
    Watch,
    /// Show or choose the proof that a person answers on the page (interactive)
    Proof(proof::Arguments),
}

#[derive(clap::Args)]
pub struct AnswerArguments {
    /// Its id
    id: String,
    /// Give the reason, for the agent and the journal
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct AllowArguments {
    #[command(flatten)]
    answer: AnswerArguments,
    /// Allow the same action in the rest of its session, too, for 8 hours at most
    #[arg(long)]
    session: bool,
}

pub fn run_approvals(command: &Command) -> Result<CommandExit> {
    match command {
        Command::List { all, json } => list(*all, *json),
        Command::Show { id, json } => show(id, *json),
        Command::Allow(AllowArguments { answer, session: false }) => {
            answer::run_answer(answer, PersonDecision::AllowOnce)
        }
        Command::Allow(AllowArguments { answer, session: true }) => {
            answer::run_answer(answer, PersonDecision::AllowInSession)
        }
        Command::Deny(arguments) => answer::run_answer(arguments, PersonDecision::Deny),
        Command::Watch => watch::run_watch(),
        Command::Proof(arguments) => proof::run_proof(arguments),
    }
}

/// The wait of a process that has no client's timeout to keep.
pub struct OwnLoop;

impl AnswerPort for OwnLoop {
    fn latest_end(&self) -> Option<Instant> {
        Instant::now().checked_add(LONGEST)
    }

    fn begin_wait(&self, _until: Instant, has_messages: bool) {
        if has_messages {
            super::maintain::start_beside();
        }
    }

    fn end_wait(&self) {}
}

/// An approval as it is read from the store.
struct Approval {
    row: ApprovalRecord,
    asked: AskedAction,
}

impl Approval {
    /// Reads what a person is shown.
    fn read(row: ApprovalRecord) -> Result<Self> {
        Ok(Self { asked: read_asked(&row)?, row })
    }

    fn find(store: &Store, id: &str) -> Result<Self> {
        let found = store.find_approval(id)?.ok_or_else(|| {
            Error::not_found(format!("there is no approval `{}`", one_line(id, 64)))
                .with_hint(LIST_HINT)
        })?;
        Self::read(found)
    }

    fn id(&self) -> &str {
        &self.row.asked.id
    }

    const fn state(&self, now: u64) -> ApprovalState {
        self.row.state_at(now)
    }

    fn to_json(&self, now: u64) -> Value {
        let AskedAction { client, session, agent, review, tool, summary, .. } = &self.asked;
        json!({
            "id": self.id(),
            "state": self.state(now).as_str(),
            "asked_at": self.row.asked.asked_at,
            "expires_at": self.row.asked.expires_at,
            "ended_at": self.row.ended_at,
            "reason": self.row.reason,
            "client": client,
            "session": session,
            "agent": agent,
            "review": review,
            "tool": tool,
            "summary": summary,
            "parameters": self.asked.parameters,
            "folder": self.asked.cwd,
            "why": self.asked.reasons,
            "changes": self.asked.changes,
            "people": self.asked.people,
            "allowed_by": self.asked.consents,
        })
    }
}

fn list(all: bool, as_json: bool) -> Result<CommandExit> {
    let found = super::audit::open_store()?.list_approvals()?;
    let now = now_ms();
    let mut shown = 0;
    for row in found.genuine {
        let approval = Approval::read(row)?;
        let state = approval.state(now);
        if !all && state != ApprovalState::Waiting {
            continue;
        }
        shown += 1;
        if as_json {
            paint::print_text(&format!("{}\n", approval.to_json(now)));
            continue;
        }
        let mark = format!("{:9}", state.as_str());
        let mark = match state {
            ApprovalState::Waiting => paint::warn(mark),
            ApprovalState::Allowed | ApprovalState::Used => paint::good(mark),
            _ => paint::dim(mark),
        };
        let from = one_line(&format!("{} {}", approval.asked.client, approval.asked.session), 60);
        let line = format!(
            "{}  {mark}  {}  {} {}\n",
            approval.id(),
            paint::time(approval.row.asked.asked_at),
            one_line(&approval.asked.summary, 240),
            paint::dim(format!("({from})"))
        );
        paint::print_wrapped(&line, 2);
    }
    if shown == 0 && !as_json {
        paint::print_text("nothing waits for a person.\n");
    }
    for id in &found.forged {
        anstream::eprintln!(
            "{}: `{}` was changed or added from outside and does not count",
            paint::bad("forged"),
            one_line(id, 64)
        );
    }
    Ok(CommandExit::Success)
}

fn show(id: &str, as_json: bool) -> Result<CommandExit> {
    let approval = Approval::find(&super::audit::open_store()?, id)?;
    let text = if as_json {
        format!("{}\n", approval.to_json(now_ms()))
    } else {
        page::approval_page(&approval, now_ms())
    };
    paint::print_text(&text);
    Ok(CommandExit::Success)
}
