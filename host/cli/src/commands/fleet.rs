//! `portcullis fleet`: lets this machine join a fleet and leave it, shows how far the hub has its
//! journal and which orders are in force, and signs orders.

mod approvals;
mod sign;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use crate::paint;
use portcullis_bundle::PublicKey;
use portcullis_config::clock::now_ms;
use portcullis_config::file;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::orders::{AfterExpiry, OrdersTrust, group_of};
use portcullis_fleet::protocol::TrialReport;
use portcullis_fleet::{
    FleetFiles, HeldOrders, HubClient, HubError, JoinToken, Membership, Progress, RefusedOrders,
    WORK,
};
use portcullis_review::exports::read_machine_name;
use portcullis_store::{Anchor, AnchorStatus, Durability, Home, NewWork, Store};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Send this machine's journal to a hub from now on (not for agents)
    Join(Join),
    /// Stop sending the journal, and give the certificate up (not for agents)
    Leave(Leave),
    /// Show the hub, how far it has this machine's journal, and the orders in force; exit code 1 if
    /// something is wrong
    Status(Print),
    /// Answer for the machines of a fleet, with an approver's key (not for agents)
    #[command(subcommand)]
    Approvals(approvals::Command),
    /// Sign orders for a group of machines, which a hub then publishes (not for agents)
    Sign(sign::Arguments),
}

#[derive(clap::Args)]
pub struct Join {
    /// The hub's address, `https://HOST[:PORT]`
    url: String,
    /// The file with the join token; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Take orders that the holder of this public key signs; without it, this machine takes none
    #[arg(long, value_name = "FILE")]
    orders_key: Option<PathBuf>,
    /// Join only if the hub puts this machine into this group
    #[arg(long)]
    group: Option<String>,
    /// The name under which people find this machine at the hub (default: its host name)
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    print: Print,
}

#[derive(clap::Args)]
pub struct Leave {
    /// Leave even if the hub does not answer; it then still takes this machine for a member
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    print: Print,
}

#[derive(clap::Args)]
pub struct Print {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most bytes of a machine's name.
const MOST_NAME: usize = 128;

pub fn run_fleet(command: &Command) -> Result<CommandExit> {
    let open = || Ok::<_, Error>(Home::open_root(&Paths::from_environment()?.state)?);
    match command {
        Command::Join(arguments) => join(arguments, &open()?),
        Command::Leave(arguments) => leave(arguments, &open()?),
        Command::Status(print) => show_status(&open()?, print.json),
        // These need no home: a key is kept where no agent works.
        Command::Sign(arguments) => sign::run_sign(arguments),
        Command::Approvals(command) => approvals::run_approvals(command),
    }
}

fn join(arguments: &Join, home: &Home) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let files = FleetFiles::of_home(home);
    if let Some(membership) = read_membership(&files)? {
        let message = format!("this machine is already in the fleet of {}", membership.hub);
        return Err(Error::invalid(message).with_hint("`portcullis fleet leave` ends that"));
    }
    let bytes = crate::read_file_or_stdin(Some(&arguments.token_file))?;
    let token = JoinToken::parse_text(&String::from_utf8_lossy(&bytes))
        .with_context(|| format!("`{}`", arguments.token_file.display()))?;
    let orders_key = arguments.orders_key.as_deref().map(read_orders_key).transpose()?;
    let name = arguments.name.clone().unwrap_or_else(read_host_name);
    let name = one_line(&name, MOST_NAME);
    let version = env!("CARGO_PKG_VERSION");
    let mut membership = HubClient::join_fleet(&arguments.url, &token, &name, version)?;
    let group = group_of(&membership.labels).to_owned();
    if let Some(wanted) = arguments.group.as_ref().filter(|wanted| **wanted != group) {
        // The certificate is of no use to anybody: its key is only here, and goes now.
        let _notified = HubClient::of_member(&membership).and_then(|client| client.leave_fleet());
        let (wanted, group) = (one_line(wanted, 64), one_line(&group, 64));
        return Err(Error::refused(format!(
            "the hub puts this machine into the group `{group}`, not into `{wanted}`"
        ))
        .with_hint("ask for a token with `--label group=NAME`"));
    }
    if let Some(key) = orders_key {
        files.orders().begin_orders()?;
        membership.orders = Some(OrdersTrust { key, group: group.clone() });
    }
    files.write_membership(&membership)?;
    let mut store = Store::open_database(home, Durability::Process)?;
    let work = NewWork { kind: WORK.to_owned(), due_at: now_ms(), ..NewWork::default() };
    store.enqueue_work(&work)?;
    if arguments.print.json {
        let joined = json!({
            "hub": membership.hub, "machine": membership.machine, "name": name, "group": group,
            "takes_orders": membership.orders.is_some(),
        });
        paint::print_text(&format!("{joined}\n"));
    } else {
        let line = format!(
            "this machine is `{}` in the fleet of {}; its journal is sent from now on, beginning \
             with all records that it has\n",
            membership.machine, membership.hub
        );
        paint::print_wrapped(&line, 2);
        let line = match &membership.orders {
            Some(_) => format!(
                "it takes orders for the group `{}` that this key signed\n",
                one_line(&group, 64)
            ),
            None => "it takes no orders: no `--orders-key` was named\n".to_owned(),
        };
        paint::print_wrapped(&line, 2);
    }
    Ok(CommandExit::Success)
}

/// Reads the public key that signs orders.
fn read_orders_key(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = file::read_file(path)?
        .ok_or_else(|| Error::not_found(format!("there is no key `{shown}`")))?;
    let key = PublicKey::from_pem(text.trim()).with_context(|| format!("the key `{shown}`"))?;
    Ok(key.to_pem()?)
}

fn leave(arguments: &Leave, home: &Home) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let files = FleetFiles::of_home(home);
    let membership = read_membership(&files);
    let farewell = match &membership {
        Ok(Some(membership)) => {
            HubClient::of_member(membership).and_then(|client| client.leave_fleet()).map(Some)
        }
        Ok(None) => return Err(no_fleet()),
        Err(_) => Ok(None),
    };
    if !arguments.force {
        membership?;
        farewell.as_ref().map_err(explain_hub)?;
    }
    files.remove_all().context("cannot remove this machine's place in the fleet")?;
    let kept = farewell.ok().flatten().map(|farewell| farewell.records);
    if arguments.print.json {
        paint::print_text(&format!("{}\n", json!({ "left": true, "records_kept": kept })));
        return Ok(CommandExit::Success);
    }
    let rest = match kept {
        Some(records) => format!("; the hub keeps {}", count_noun(records, "record")),
        None => "; the hub was not told".to_owned(),
    };
    paint::print_text(&format!("this machine has left the fleet{rest}\n"));
    Ok(CommandExit::Success)
}

/// The state of a machine in a fleet.
struct FleetStatus {
    membership: Membership,
    progress: Progress,
    waiting: u64,
    /// The result of comparing the hub's newest receipt with the journal.
    receipt: Option<AnchorStatus>,
    /// The orders; none if the machine takes none.
    orders: Option<OrdersStatus>,
}

/// The orders of a machine that takes some.
struct OrdersStatus {
    key: String,
    group: String,
    held: std::result::Result<Option<HeldOrders>, String>,
    refused: Option<RefusedOrders>,
    trial: Option<TrialReport>,
}

impl OrdersStatus {
    fn read(files: &FleetFiles, trust: &OrdersTrust) -> Result<Self> {
        let held = files.read_orders(now_ms()).map_err(|error| error.to_string());
        Ok(Self {
            key: PublicKey::from_pem(&trust.key)?.id()?.to_string(),
            group: trust.group.clone(),
            held,
            refused: files.orders().read_refused()?,
            trial: files.trial().read_trial()?.map(|trial| trial.report),
        })
    }

    fn is_in_order(&self) -> bool {
        let held = self.held.as_ref().map(Option::as_ref);
        self.refused.is_none() && held.is_ok_and(|held| held.is_none_or(|held| !held.is_expired))
    }

    fn to_json(&self) -> Value {
        let held = self.held.as_ref().ok().and_then(Option::as_ref);
        json!({
            "key": self.key,
            "group": self.group,
            "version": held.map(|held| held.orders.version),
            "in_force": held.is_some_and(HeldOrders::in_force),
            "expires_at": held.map(|held| held.orders.expires_at),
            "expired": held.is_some_and(|held| held.is_expired),
            "after_expiry": held.map(|held| held.orders.after_expiry),
            "error": self.held.as_ref().err(),
            "refused": self.refused.as_ref().map(|refused| &refused.reason),
            "trial": self.trial,
        })
    }

    fn print_lines(&self) {
        let group = one_line(&self.group, 64);
        let line = match &self.held {
            Err(error) => format!("orders: {}", paint::bad(one_line(error, 400))),
            Ok(None) => format!("orders for the group `{group}`: none yet"),
            Ok(Some(held)) => {
                let after = match held.orders.after_expiry {
                    AfterExpiry::Keep => "they stay in force",
                    AfterExpiry::Own => "this machine's own configuration holds",
                    AfterExpiry::Block => "every action is refused",
                };
                let end = paint::time(held.orders.expires_at);
                let state = if held.is_expired {
                    paint::bad(format!("expired {end} UTC: {after}")).to_string()
                } else {
                    format!("in force until {end} UTC; after that, {after}")
                };
                format!("orders for the group `{group}`, version {}: {state}", held.orders.version)
            }
        };
        paint::print_wrapped(&format!("{line}\n"), 2);
        if let Some(refused) = &self.refused {
            let reason = one_line(&refused.reason, 400);
            let line = format!("{}: orders that the hub offers: {reason}\n", paint::bad("refused"));
            paint::print_wrapped(&line, 2);
        }
        if let Some(trial) = &self.trial {
            let line = format!(
                "tries version {}, which does not count: of {}, {} would be stricter and {} milder, \
                 and {} had a fault\n",
                trial.version,
                count_noun(trial.actions, "action"),
                trial.stricter,
                trial.milder,
                trial.faults
            );
            paint::print_wrapped(&line, 2);
        }
    }
}

impl FleetStatus {
    fn read(home: &Home, files: &FleetFiles, membership: Membership) -> Result<Self> {
        let progress = files.read_progress()?.unwrap_or_default();
        let mut store = Store::open_database(home, Durability::Process)?;
        let head = store.head_anchor(now_ms())?;
        let anchor = match &progress.receipt {
            None => None,
            Some(signed) => {
                let receipt = signed.verify_receipt(&membership.receipt_key)?;
                Some(Anchor { sequence: receipt.sequence, hash: receipt.hash, at: receipt.at })
            }
        };
        let anchors: Vec<Anchor> = anchor.into_iter().collect();
        let receipt = store.check_anchors(&anchors)?.first().map(|(_, status)| *status);
        let waiting = head.sequence.saturating_sub(progress.sequence);
        let trust = membership.orders.as_ref();
        let orders = trust.map(|trust| OrdersStatus::read(files, trust)).transpose()?;
        Ok(Self { membership, progress, waiting, receipt, orders })
    }

    fn is_in_order(&self) -> bool {
        let contradicted = self.receipt.is_some_and(AnchorStatus::contradicts_journal);
        !contradicted
            && !self.progress.disputed
            && self.progress.last_error.is_none()
            && now_ms() < self.membership.expires_at
            && self.orders.as_ref().is_none_or(OrdersStatus::is_in_order)
    }

    fn to_json(&self) -> Value {
        let progress = &self.progress;
        json!({
            "hub": self.membership.hub,
            "machine": self.membership.machine,
            "labels": self.membership.labels.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "certificate_ends_at": self.membership.expires_at,
            "journal": progress.journal,
            "sent_through": progress.sequence,
            "waiting": self.waiting,
            "withheld": progress.withheld,
            "answered_at": progress.answered_at,
            "failures": progress.failures,
            "last_error": progress.last_error,
            "disputed": progress.disputed,
            "receipt": self.receipt.map(|status| status.to_string()),
            "orders": self.orders.as_ref().map(OrdersStatus::to_json),
            "in_order": self.is_in_order(),
        })
    }

    fn print_lines(&self) {
        let (member, progress) = (&self.membership, &self.progress);
        paint::print_text(&format!("{} in the fleet of {}\n", member.machine, member.hub));
        let answered = match progress.answered_at {
            0 => "has not answered yet".to_owned(),
            at => format!("answered {} UTC", paint::time(at)),
        };
        let ends = paint::time(member.expires_at);
        paint::print_text(&format!("the hub {answered}; the certificate ends {ends} UTC\n"));
        let waiting = match self.waiting {
            0 => "all are there".to_owned(),
            waiting => format!("{} not sent yet", count_noun(waiting, "record")),
        };
        paint::print_text(&format!("sent through record {}: {waiting}\n", progress.sequence));
        if progress.withheld > 0 {
            let withheld = count_noun(progress.withheld, "record");
            paint::print_text(&format!("{withheld} went without the whole document\n"));
        }
        if let Some(status) = self.receipt {
            let shown =
                if status.contradicts_journal() { paint::bad(status) } else { paint::good(status) };
            paint::print_text(&format!("the hub's receipt: {shown}\n"));
        }
        if let Some(orders) = &self.orders {
            orders.print_lines();
        }
        if let Some(error) = &progress.last_error {
            let line = format!("{}: {}\n", paint::bad("failed"), one_line(error, 400));
            paint::print_wrapped(&line, 2);
        }
        if progress.disputed {
            let line = "the hub has another journal of this machine than this one: its operator \
                        sees an incident, and nothing more is sent until this machine leaves and \
                        joins again\n";
            paint::print_wrapped(line, 2);
        }
    }
}

fn show_status(home: &Home, as_json: bool) -> Result<CommandExit> {
    let files = FleetFiles::of_home(home);
    let Some(membership) = read_membership(&files)? else {
        let text = if as_json { "{\"hub\":null}\n" } else { "this machine is in no fleet\n" };
        paint::print_text(text);
        return Ok(CommandExit::Success);
    };
    let status = FleetStatus::read(home, &files, membership)?;
    if as_json {
        paint::print_text(&format!("{}\n", status.to_json()));
    } else {
        status.print_lines();
    }
    Ok(CommandExit::of_check(status.is_in_order()))
}

fn read_membership(files: &FleetFiles) -> Result<Option<Membership>> {
    files.read_membership().map_err(|error| {
        Error::from(error)
            .with_context("cannot read this machine's place in the fleet")
            .with_hint("`portcullis fleet leave --force` forgets it; then join again")
    })
}

fn no_fleet() -> Error {
    Error::not_found("this machine is in no fleet")
        .with_hint("`portcullis fleet join URL --token-file FILE` joins one")
}

fn explain_hub(error: &HubError) -> Error {
    Error::io(error.to_string()).with_hint("`portcullis fleet leave --force` leaves all the same")
}

fn read_host_name() -> String {
    Some(read_machine_name())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unnamed".to_owned())
}
