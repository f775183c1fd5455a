//! `portcullis fleet approvals`: an approver sees the actions that wait on the machines of a fleet, and
//! answers with a key. It needs no machine of the fleet, only the hub's address and authority.

use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::commands::approvals::page::question_page;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_bundle::SecretKey;
use portcullis_config::clock::now_ms;
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::approvals::{
    ApproverRequest, ApproverSigned, FleetAnswer, FleetQuestion, MOST_WORDS, digest_question,
};
use portcullis_fleet::protocol::OfferedQuestion;
use portcullis_fleet::{FleetFiles, HubClient};
use portcullis_review::questions::AskedAction;
use portcullis_store::{Home, StoredApproval};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the actions that wait for you (not for agents)
    List(DoorArguments),
    /// Show one of them, with everything that would run (not for agents)
    Show(ShowArguments),
    /// Let one of them run, once (interactive)
    Allow(AnswerArguments),
    /// Refuse one of them (not for agents)
    Deny(AnswerArguments),
}

#[derive(clap::Args)]
pub struct DoorArguments {
    /// Your secret key, whose public part the orders name
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    /// The hub's address (default: that of this machine's fleet)
    #[arg(long, value_name = "URL", requires = "authority")]
    hub: Option<String>,
    /// The certificate of the hub's authority: `authority.pem` of its folder
    #[arg(long, value_name = "FILE", requires = "hub")]
    authority: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct ShowArguments {
    /// Its id, as the list has it; the part after the machine is enough where it is unique
    #[arg(value_name = "MACHINE/ID")]
    id: String,
    #[command(flatten)]
    door: DoorArguments,
}

#[derive(clap::Args)]
pub struct AnswerArguments {
    /// Its id, as the list has it; the part after the machine is enough where it is unique
    #[arg(value_name = "MACHINE/ID")]
    id: String,
    /// Give the reason, for the agent and the journal
    #[arg(long, default_value = "")]
    reason: String,
    #[command(flatten)]
    door: DoorArguments,
}

/// A question with the text that an answer is about.
struct ShownQuestion {
    offered: OfferedQuestion,
    question: FleetQuestion,
    asked: AskedAction,
}

/// The way to the hub, with the approver's key.
struct Door {
    client: HubClient,
    hub: String,
    key: SecretKey,
}

pub fn run_approvals(command: &Command) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    match command {
        Command::List(arguments) => list(arguments),
        Command::Show(ShowArguments { id, door }) => show(id, door),
        Command::Allow(arguments) => answer(arguments, true),
        Command::Deny(arguments) => answer(arguments, false),
    }
}

impl Door {
    fn open(arguments: &DoorArguments) -> Result<Self> {
        let (hub, authority) = match (&arguments.hub, &arguments.authority) {
            (Some(hub), Some(path)) => {
                let shown = path.display();
                let pem = file::read_file(path)?
                    .ok_or_else(|| Error::not_found(format!("there is no `{shown}`")))?;
                (hub.clone(), pem)
            }
            _ => {
                let home = Home::open_root(&Paths::from_environment()?.state)?;
                let membership =
                    FleetFiles::of_home(&home).read_membership()?.ok_or_else(|| {
                        Error::not_found("this machine is in no fleet")
                            .with_hint("name the hub with `--hub URL --authority FILE`")
                    })?;
                (membership.hub, membership.authority)
            }
        };
        let client = HubClient::of_authority(&hub, &authority)?;
        let key = decrypt_key(&arguments.key, &arguments.passphrase)?;
        Ok(Self { client, hub, key })
    }

    fn list(&self) -> Result<Vec<ShownQuestion>> {
        let request = ApproverRequest { hub: self.hub.clone(), at: now_ms() };
        let signed = ApproverSigned::sign_request(&request, &self.key)?;
        let offered = self.client.list_questions(&signed)?.questions;
        offered.into_iter().map(ShownQuestion::read).collect()
    }

    fn find(&self, id: &str) -> Result<ShownQuestion> {
        let mut found: Vec<ShownQuestion> =
            self.list()?.into_iter().filter(|shown| shown.has_id(id)).collect();
        let shown = one_line(id, 128);
        if found.len() > 1 {
            return Err(Error::invalid(format!("several machines ask `{shown}`"))
                .with_hint("name the machine too: `MACHINE/ID`"));
        }
        found.pop().ok_or_else(|| {
            Error::not_found(format!("nothing waits for you as `{shown}`"))
                .with_hint("`portcullis fleet approvals list` lists what does")
        })
    }
}

impl ShownQuestion {
    fn read(offered: OfferedQuestion) -> Result<Self> {
        let question = FleetQuestion::parse_text(&offered.text)
            .map_err(|why| Error::invalid(format!("the hub gave a broken question: {why}")))?;
        let asked = serde_json::from_value(question.asked.clone())
            .context("the hub gave a question that this version does not understand")?;
        Ok(Self { offered, question, asked })
    }

    fn id(&self) -> String {
        format!("{}/{}", self.question.machine, self.question.question)
    }

    fn has_id(&self, id: &str) -> bool {
        self.id() == id || self.question.question == id
    }

    /// Returns everything that would run, and where.
    fn page(&self) -> String {
        let row = StoredApproval {
            id: self.id(),
            session: self.asked.session.clone(),
            digest: self.question.digest.clone(),
            asked_at: self.question.asked_at,
            expires_at: now_ms().saturating_add(u64::from(self.offered.left_seconds) * 1000),
            document: String::new(),
        };
        let allowed = match self.offered.allowed_by.as_slice() {
            [] => String::new(),
            names => format!("  allowed by {}\n", one_line(&names.join(", "), 200)),
        };
        format!(
            "on `{}`, group {}, for {}\n{}{allowed}",
            one_line(&self.offered.machine_name, 64),
            one_line(&self.offered.group, 64),
            one_line(&self.offered.roles.join(", "), 200),
            question_page(row, &self.asked, now_ms())
        )
    }
}

fn list(arguments: &DoorArguments) -> Result<CommandExit> {
    let questions = Door::open(arguments)?.list()?;
    if arguments.json {
        for shown in &questions {
            let ShownQuestion { offered, question, asked } = shown;
            let line = json!({
                "id": shown.id(), "machine": question.machine, "name": offered.machine_name,
                "group": offered.group, "roles": offered.roles, "tool": asked.tool,
                "summary": asked.summary, "left_seconds": offered.left_seconds,
                "people": asked.people, "allowed_by": offered.allowed_by,
            });
            paint::print_text(&format!("{line}\n"));
        }
        return Ok(CommandExit::Success);
    }
    if questions.is_empty() {
        paint::print_text("nothing waits for you\n");
    }
    for shown in &questions {
        let line = format!(
            "{}  {}, for {} more: {}\n",
            paint::bold(shown.id()),
            one_line(&shown.offered.machine_name, 64),
            count_noun(shown.offered.left_seconds.into(), "second"),
            one_line(&shown.asked.summary, 240)
        );
        paint::print_wrapped(&line, 2);
    }
    Ok(CommandExit::Success)
}

fn show(id: &str, arguments: &DoorArguments) -> Result<CommandExit> {
    let shown = Door::open(arguments)?.find(id)?;
    let text = if arguments.json { format!("{}\n", shown.offered.text) } else { shown.page() };
    paint::print_text(&text);
    Ok(CommandExit::Success)
}

fn answer(arguments: &AnswerArguments, allows: bool) -> Result<CommandExit> {
    let door = Door::open(&arguments.door)?;
    let shown = door.find(&arguments.id)?;
    if allows {
        let page = shown.page();
        interactive::confirm_action(&format!("{page}Let exactly this run, once?"))?;
    }
    let answer = FleetAnswer {
        machine: shown.question.machine.clone(),
        question: shown.question.question.clone(),
        digest: digest_question(&shown.offered.text),
        allows,
        words: one_line(&arguments.reason, MOST_WORDS),
        at: now_ms(),
    };
    let signed = ApproverSigned::sign_answer(&answer, &door.key)?;
    door.client.give_answer(&signed)?;
    let id = shown.id();
    if arguments.door.json {
        paint::print_text(&format!("{}\n", json!({ "id": id, "allows": allows })));
        return Ok(CommandExit::Success);
    }
    let what = if allows { "allowed" } else { "denied" };
    let line = format!("{what} `{id}`: the machine gets your signed answer, and checks it\n");
    paint::print_wrapped(&line, 2);
    Ok(CommandExit::Success)
}
