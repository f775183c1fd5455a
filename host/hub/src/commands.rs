//! The commands of `portcullis hub`. Those of an operator work on the database directly: who can
//! read the hub's folder is the hub.

mod audit;
mod export;
mod feedback;
mod findings;
mod people;

use crate::audit::{Act, NewEntry};
use crate::cluster;
use crate::database::Database;
use crate::folder::{create_folder, read_authority_digest, read_config};
use crate::incidents::{list_incidents, settle_incident};
use crate::machines::{list_machines, revoke_machine};
use crate::operator::Operator;
use crate::order_commands::run_orders;
use crate::output;
use crate::process::{await_end, explain_failure, new_token, start_runtime};
use crate::server::{Addresses, Served, serve_hub};
use crate::tokens::store_token;
use anyhow::{Context, Result, anyhow};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::one_line;
use portcullis_fleet::hub_command::{
    HubCommand, IncidentsArguments, IncidentsCommand, InitArguments, ListArguments,
    RevokeArguments, ServeArguments, SettleArguments, TokenArguments, TokenCommand,
};
use portcullis_terminal::paint;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The most characters of an operator's reason.
const MOST_REASON: usize = 500;

/// Runs a command.
pub fn run_command(command: &HubCommand) -> Result<()> {
    match command {
        HubCommand::Init(arguments) => init(arguments),
        HubCommand::Serve(arguments) => serve(arguments),
        HubCommand::Dev(arguments) => cluster::run_dev(arguments),
        HubCommand::Token(TokenCommand::Create(arguments)) => create_token(arguments),
        HubCommand::Machines(arguments) => show_machines(arguments),
        HubCommand::Revoke(arguments) => revoke(arguments),
        HubCommand::Incidents(IncidentsArguments { command: None, list }) => show_incidents(list),
        HubCommand::Incidents(IncidentsArguments {
            command: Some(IncidentsCommand::Settle(arguments)),
            ..
        }) => settle(arguments),
        HubCommand::Orders(command) => run_orders(command),
        HubCommand::Findings(arguments) => findings::run_findings(arguments),
        HubCommand::Feedback(arguments) => feedback::run_feedback(arguments),
        HubCommand::User(command) => people::run_user(command),
        HubCommand::Audit(command) => audit::run_audit(command),
        HubCommand::Export(arguments) => export::run_export(arguments),
    }
}

fn init(arguments: &InitArguments) -> Result<()> {
    let InitArguments { folder, url, database, listen, json } = arguments;
    create_folder(folder, url, database, listen)?;
    let digest = data_encoding::HEXLOWER.encode(&read_authority_digest(folder)?);
    let shown = folder.display();
    if *json {
        let made = json!({ "folder": folder, "url": url, "authority_sha256": digest });
        paint::print_text(&format!("{made}\n"));
        return Ok(());
    }
    let text = format!(
        "a hub was created in `{shown}`; its authority has the SHA-256 {digest}\n\
         give all replicas the same folder, and keep `authority.key` and `receipt.key` secret\n\
         next: `portcullis hub serve --folder {shown}`\n"
    );
    paint::print_wrapped(&text, 2);
    Ok(())
}

fn serve(arguments: &ServeArguments) -> Result<()> {
    let end = await_end()?;
    let ready = |served: &Served| {
        paint::print_text(&format!("serving machines on {}\n", served.machines));
        if let Some(page) = &served.page {
            paint::print_text(&format!("serving the page on {page}\n"));
        }
    };
    let ServeArguments { folder, listen, page } = arguments;
    let addresses = Addresses { machines: listen.as_deref(), page: page.as_deref() };
    start_runtime()?.block_on(serve_hub(folder, addresses, ready, end))
}

fn create_token(arguments: &TokenArguments) -> Result<()> {
    let config = read_config(&arguments.folder)?;
    let database = Database::configure(&config)?;
    let token = new_token(&arguments.folder)?;
    // The file is made first: a token that nobody gets is not stored.
    let file = arguments.output.as_deref().map(create_private_file).transpose()?;
    let TokenArguments { labels, uses, lifetime, .. } = arguments;
    let operator = Operator::of_folder(&arguments.folder)?;
    let (id, expires_at) = start_runtime()?.block_on(async {
        database.prepare_tables().await?;
        let stored = store_token(&database, &token, labels, *uses, *lifetime, &operator);
        stored.await.map_err(explain_failure)
    })?;
    let text = token.to_text();
    if let Some(mut file) = file {
        writeln!(file, "{text}")
            .and_then(|()| file.sync_all())
            .context("cannot write the token")?;
    }
    if arguments.json {
        let shown = arguments.output.is_none().then_some(&text);
        let made = json!({
            "id": id, "token": shown, "file": arguments.output, "uses": uses,
            "expires_at": expires_at, "hub": config.url,
        });
        paint::print_text(&format!("{made}\n"));
        return Ok(());
    }
    match &arguments.output {
        None => paint::print_text(&format!("{text}\n")),
        Some(path) => {
            let line = format!(
                "the token is in `{}`, valid until {} UTC; on a machine: `portcullis fleet join {} \
                 --token-file FILE`\n",
                path.display(),
                output::time(expires_at),
                config.url
            );
            paint::print_wrapped(&line, 2);
        }
    }
    Ok(())
}

/// Creates a new file that only its owner can read.
fn create_private_file(path: &Path) -> Result<std::fs::File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot create `{}`", path.display()))
}

fn show_machines(arguments: &ListArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let machines = start_runtime()?.block_on(list_machines(&database)).map_err(explain_failure)?;
    output::print_machines(&machines, arguments.json);
    Ok(())
}

fn show_incidents(arguments: &ListArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let incidents =
        start_runtime()?.block_on(list_incidents(&database)).map_err(explain_failure)?;
    output::print_incidents(&incidents, arguments.json);
    Ok(())
}

fn settle(arguments: &SettleArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let SettleArguments { incident, reason, json, .. } = arguments;
    let operator = Operator::of_folder(&arguments.folder)?;
    let (by, reason) = (operator.name(), one_line(reason, MOST_REASON));
    let settled = start_runtime()?.block_on(async {
        let mut client = database.connect().await?;
        let transaction = client.transaction().await?;
        if !settle_incident(&transaction, *incident, &reason, by).await? {
            return Ok(false);
        }
        let entry = NewEntry::of_act(Act::SettleIncident, &incident.to_string());
        operator.record(&transaction, entry.with_detail("reason", reason.as_str())).await?;
        transaction.commit().await?;
        Ok(true)
    });
    if !settled.map_err(explain_failure)? {
        let missing = KnownFailure::NotFound(format!("there is no incident {incident}"));
        let hint = "`portcullis hub incidents` lists them";
        return Err(anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing));
    }
    let text = if *json {
        json!({ "incident": incident, "settled": true, "by": by }).to_string()
    } else {
        format!("settled incident {incident} in the name of {by}; it opens again if it goes on")
    };
    paint::print_text(&format!("{text}\n"));
    Ok(())
}

fn revoke(arguments: &RevokeArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let RevokeArguments { machine, reason, json, .. } = arguments;
    let shown = one_line(machine, 64);
    let operator = Operator::of_folder(&arguments.folder)?;
    let revoked = start_runtime()?.block_on(async {
        let mut client = database.connect().await?;
        let transaction = client.transaction().await?;
        if !revoke_machine(&transaction, machine, reason).await? {
            return Ok(false);
        }
        let entry = NewEntry::of_act(Act::RevokeMachine, machine);
        operator.record(&transaction, entry.with_detail("reason", reason.as_str())).await?;
        transaction.commit().await?;
        Ok(true)
    });
    if !revoked.map_err(explain_failure)? {
        let missing = KnownFailure::NotFound(format!("there is no machine `{shown}`"));
        let hint = "`portcullis hub machines` lists them";
        return Err(anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing));
    }
    if *json {
        paint::print_text(&format!("{}\n", json!({ "machine": machine, "revoked": true })));
    } else {
        paint::print_text(&format!("revoked {shown}: the hub refuses its next request\n"));
    }
    Ok(())
}
