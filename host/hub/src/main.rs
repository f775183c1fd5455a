//! `portcullis-hub`: holds the journals of a fleet. `portcullis hub` starts it with arguments that
//! it has checked; nothing else does.
//!
//! A hub is any number of replicas over one PostgreSQL. A replica holds nothing that another one
//! needs: the keys are files that all have, and everything that changes is in the database. So a
//! load balancer may send each request to any of them, and one that dies loses nothing that was
//! acknowledged.
//!
//! | module | |
//! |---|---|
//! | `folder`, `hub_files`, `hub_secret` | the hub's files, and the secrets that they name |
//! | `authority`, `replica_certificate` | certificates |
//! | `database`, `database_tls`, `standby` | connections, migrations, partitions |
//! | `service`, `server`, `listener`, `routes`, `failure` | requests |
//! | `machines`, `seen`, `tokens` | who may send |
//! | `chain` | whether a batch continues what the hub has; pure |
//! | `ingest`, `incidents` | what is stored |
//! | `protection`, `sessions` | what machines report of themselves, and what they did |
//! | `orders`, `orders_cache`, `stored_orders`, `news` | what machines are told |
//! | `rollouts`, `activity` | in which stages, and what stops that |
//! | `approvals` | what machines ask approvers, and their answers |
//! | `operator` | who runs a command |
//! | `people` | who may see the pages, and how their browsers sign in |
//! | `passkeys` | the passkeys that people enrolled |
//! | `oidc` | whom a provider may vouch for; pure |
//! | `audit` | what people have done, chained |
//! | `page`, `page_address` | the pages, and where they are served |
//! | `records` | search over what was received |
//! | `day_records`, `day_file` | the records of a day, as a file in columns |
//! | `plugins` | the cost and the faults of plugins |
//! | `traits`, `findings` | what many machines have in common |
//! | `feedback`, `proposals` | whether reviews were right, and changes that people propose |
//! | `words` | the words by which a record is found; pure |
//! | `commands`, `order_commands`, `output`, `process` | what operators do and read |
//! | `cluster` | the throw-away PostgreSQL of `hub dev` |

#![allow(unreachable_pub, reason = "a program has no public API")]

mod activity;
mod approvals;
mod audit;
mod authority;
mod chain;
mod cluster;
mod commands;
mod database;
mod database_tls;
mod day_file;
mod day_records;
mod failure;
mod feedback;
mod findings;
mod folder;
mod hub_files;
mod hub_secret;
mod incidents;
mod ingest;
mod listener;
mod machines;
mod news;
mod oidc;
mod operator;
mod order_commands;
mod orders;
mod orders_cache;
mod output;
mod page;
mod page_address;
mod passkeys;
mod people;
mod plugins;
mod process;
mod proposals;
mod protection;
mod records;
mod replica_certificate;
mod rollouts;
mod routes;
mod scans;
mod seen;
mod server;
mod service;
mod sessions;
mod standby;
mod stored_orders;
mod tokens;
mod traits;
mod words;

use anyhow::bail;
use clap::Parser;
use portcullis_fleet::hub_command::{HubCommand, NAME, VERSION};
use portcullis_terminal::{error_report, paint};
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "portcullis hub")]
struct Arguments {
    #[command(subcommand)]
    command: HubCommand,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let program = words.next();
    let caller = words.next();
    if caller.as_ref().is_some_and(|word| word == "--version") {
        paint::print_text(&format!("{NAME} {VERSION}\n"));
        return ExitCode::SUCCESS;
    }
    if let Err(error) = check_caller(caller) {
        return fail(&error, false);
    }
    let command = Arguments::parse_from(program.into_iter().chain(words)).command;
    let as_json = command.prints_json();
    let result = commands::run_command(&command);
    let lost =
        paint::lost_output().map(|error| anyhow::anyhow!("cannot write standard output: {error}"));
    match lost.map_or(result, Err) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, as_json),
    }
}

/// Writes a line of the hub's log.
pub fn report_line(line: &str) {
    paint::report_wrapped(&format!("{line}\n"), 2);
}

/// Checks that `portcullis` of this version started this program.
fn check_caller(version: Option<OsString>) -> anyhow::Result<()> {
    match version.as_ref().and_then(|version| version.to_str()) {
        Some(VERSION) => Ok(()),
        Some(version) if version.starts_with(|first: char| first.is_ascii_digit()) => bail!(
            "`{NAME}` {VERSION} was started by `portcullis` {}: install both from one build into \
             one folder",
            portcullis_core::text::one_line(version, 64),
        ),
        _ => bail!("`{NAME}` is started by `portcullis`: run `portcullis hub`"),
    }
}

fn fail(error: &anyhow::Error, as_json: bool) -> ExitCode {
    anstream::eprint!("{}", error_report::error_text(error, kind_of(error), as_json));
    ExitCode::FAILURE
}

fn kind_of(error: &anyhow::Error) -> &'static str {
    let is_of_database = error.chain().any(|cause| cause.is::<tokio_postgres::Error>());
    error_report::error_kind(error).unwrap_or(if is_of_database { "io" } else { "invalid" })
}
