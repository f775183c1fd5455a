//! `portcullis mcp`: a gateway in front of a server of the Model Context Protocol.

mod address;
mod gate;
mod pins;
mod server;
pub mod wrap;

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use portcullis_agents::mcp_servers::{MOST_NAME, is_name_letter};
use portcullis_mcp::ServerIdentity;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The server's name in the client's configuration (default: its program's name)
    #[arg(long, value_parser = parse_name)]
    name: Option<String>,
    #[command(flatten)]
    address: address::Arguments,
    /// The command that starts the server
    #[arg(last = true, required_unless_present_any = ["url", "url_env"], conflicts_with_all = ["url", "url_env", "header", "header_file", "ca", "plain_http"], value_name = "SERVER")]
    server: Vec<OsString>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show the agreed tools of servers, and those that are held (not for agents)
    Pins(pins::Arguments),
    /// Put the gateway in front of the servers that a client starts (not for agents)
    Wrap(wrap::Arguments),
    /// Take the gateway out again (interactive)
    Unwrap(wrap::Arguments),
}

/// Runs the gateway until the server or the client ends, or a command about it.
pub fn run_mcp(arguments: Arguments) -> Result<ExitCode> {
    if let Some(command) = &arguments.command {
        let exit = match command {
            Command::Pins(arguments) => pins::run_pins(arguments),
            Command::Wrap(arguments) => wrap::run_wrap(arguments),
            Command::Unwrap(arguments) => wrap::run_unwrap(arguments),
        };
        return exit.map(ExitCode::from);
    }
    if let Some(address) = arguments.address.find_address()? {
        return arguments.address.run_gateway(address, arguments.name);
    }
    let words: Vec<String> = arguments
        .server
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| Error::invalid("the server's command is not UTF-8"))?;
    let Some((program, parameters)) = arguments.server.split_first() else {
        return Ok(CommandExit::Rejected.into());
    };
    let name = arguments.name.unwrap_or_else(|| default_name(Path::new(program)));
    let gate = gate::ReviewGate::open(name, ServerIdentity::of_command(&words))?;
    server::run_server(program, parameters, gate)
}

fn default_name(program: &Path) -> String {
    let name = program.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default().chars().take(MOST_NAME).collect::<String>();
    if name.is_empty() { "server".into() } else { name }
}

fn parse_name(text: &str) -> std::result::Result<String, String> {
    if (1..=MOST_NAME).contains(&text.len()) && text.chars().all(is_name_letter) {
        Ok(text.to_owned())
    } else {
        Err(format!("a name has 1 to {MOST_NAME} letters, digits, blanks or `_-.`"))
    }
}
