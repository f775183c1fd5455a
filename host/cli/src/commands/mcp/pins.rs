//! `portcullis mcp pins`: the agreed tools of servers, and those that wait for a person.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::recorded_action::record_action;
use crate::{differ, interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_mcp::{HeldTool, PinStore, PinnedServer, ToolDefinition};
use portcullis_store::Home;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List servers with their agreed and held tools
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how held tools differ from the agreed ones
    Diff {
        /// The server: its id or the start of one (default: all)
        server: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Agree to held tools of a server (interactive)
    Accept {
        /// The server: its id or the start of one
        server: String,
        /// The tools (default: all that are held)
        tools: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a server: its next list of tools is its first one (interactive)
    Forget {
        /// The server: its id or the start of one
        server: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run_pins(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let pins = PinStore::new(&home);
    // The person sees a change even if it cannot be recorded.
    let record = |what: &str| drop(record_action(&places, &home, "mcp-pins", what, now_ms()));
    match &arguments.command {
        Command::List { json } => list(pins, *json),
        Command::Diff { server, json } => diff(pins, server.as_deref(), *json),
        Command::Accept { server, tools, json } => accept(pins, (server, tools), *json, &record),
        Command::Forget { server, json } => forget(pins, server, *json, &record),
    }
}

fn print_json(document: &Value) {
    paint::print_text(&format!("{document}\n"));
}

fn list(pins: PinStore<'_>, as_json: bool) -> Result<CommandExit> {
    let servers = read_servers(pins, None)?;
    if as_json {
        let servers: Vec<Value> =
            servers.iter().map(|(id, server)| as_document(id, server)).collect();
        print_json(&json!({ "servers": servers }));
        return Ok(CommandExit::Success);
    }
    if servers.is_empty() {
        paint::print_text("no server has been used through the gateway\n");
    }
    for (id, server) in servers {
        let mut text = format!(
            "{id}  {}\n{} agreed, {} held\n",
            one_line(&server.server.shown(), 400),
            server.tools.len(),
            server.held.len()
        );
        for (name, held) in &server.held {
            let _ = writeln!(text, "held: {} {}", one_line(name, 128), held.reason.describe());
        }
        paint::print_wrapped(&text, 2);
    }
    Ok(CommandExit::Success)
}

fn as_document(id: &str, server: &PinnedServer) -> Value {
    let held: Map<String, Value> = server
        .held
        .iter()
        .map(|(name, held)| {
            (
                name.clone(),
                json!({ "reason": held.reason.describe(), "digest": held.digest, "at": held.at }),
            )
        })
        .collect();
    let agreed: Map<String, Value> = server
        .tools
        .iter()
        .map(|(name, tool)| (name.clone(), json!({ "digest": tool.digest, "at": tool.at })))
        .collect();
    json!({ "id": id, "server": server.server.shown(), "tools": agreed, "held": held })
}

fn diff(pins: PinStore<'_>, wanted: Option<&str>, as_json: bool) -> Result<CommandExit> {
    let servers = read_servers(pins, wanted)?;
    if as_json {
        let held: Vec<Value> = servers.iter().flat_map(held_documents).collect();
        print_json(&json!({ "held": held }));
        return Ok(CommandExit::Success);
    }
    let text: String = servers.iter().map(|(id, server)| shown_diff(id, server, &[])).collect();
    paint::print_text(if text.is_empty() { "no tool is held\n" } else { &text });
    Ok(CommandExit::Success)
}

/// Returns the held tools of a server, each with its agreed parts, if it has any, and its new ones.
fn held_documents((id, server): &(String, PinnedServer)) -> Vec<Value> {
    let document = |(name, held): (&String, &HeldTool)| {
        json!({
            "server": id,
            "tool": name,
            "reason": held.reason.describe(),
            "agreed": server.tools.get(name).map(|agreed| &agreed.parts),
            "offered": held.parts,
        })
    };
    server.held.iter().map(document).collect()
}

/// Shows the held tools of a server, each beside what was agreed; all of them if none is named.
fn shown_diff(id: &str, server: &PinnedServer, names: &[String]) -> String {
    let mut text = String::new();
    for (name, held) in &server.held {
        if !names.is_empty() && !names.contains(name) {
            continue;
        }
        let agreed = server.tools.get(name);
        let before = agreed.map(|agreed| ToolDefinition::lines(&agreed.parts)).unwrap_or_default();
        let after = ToolDefinition::lines(&held.parts);
        let _ = writeln!(
            text,
            "{} of {id} ({}) {}",
            one_line(name, 128),
            one_line(&server.server.shown(), 200),
            held.reason.describe()
        );
        text.push_str(&differ::inline_diff(&visible(&before), &visible(&after)));
    }
    text
}

/// Spells out letters that a terminal would hide or obey: the server chose these texts.
fn visible(text: &str) -> String {
    let spelled = |c: char| {
        let shown = c == '\n' || (!c.is_control() && !is_hidden(c));
        if shown { c.to_string() } else { c.escape_unicode().to_string() }
    };
    text.chars().map(spelled).collect()
}

const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn accept(
    pins: PinStore<'_>,
    (wanted, names): (&str, &[String]),
    as_json: bool,
    record: &dyn Fn(&str),
) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let (id, server) = one_server(pins, wanted)?;
    if let Some(name) = names.iter().find(|name| !server.held.contains_key(*name)) {
        return Err(Error::not_found(format!("no tool `{}` of {id} is held", one_line(name, 128))));
    }
    let digests: BTreeMap<String, String> =
        server.held.iter().map(|(name, held)| (name.clone(), held.digest.clone())).collect();
    if digests.is_empty() {
        if as_json {
            print_json(&json!({ "server": id, "accepted": [] }));
        } else {
            paint::print_text("no tool is held\n");
        }
        return Ok(CommandExit::Success);
    }
    let difference = shown_diff(&id, &server, names);
    if !as_json {
        paint::print_text(&difference);
    }
    let shown = if as_json { difference.as_str() } else { "" };
    interactive::confirm_action(&format!(
        "{shown}The agent will see and may call these tools as shown above."
    ))?;
    let accepted = pins.accept_tools(&id, names, &digests, now_ms())?;
    let shown = one_line(&accepted.join(", "), 400);
    record(&format!("a person accepted tools of {id}: {shown}"));
    if as_json {
        print_json(&json!({ "server": id, "accepted": accepted }));
    } else {
        paint::print_text(&format!(
            "accepted: {shown}. A running client sees them when it lists the tools again.\n"
        ));
    }
    Ok(CommandExit::Success)
}

fn forget(
    pins: PinStore<'_>,
    wanted: &str,
    as_json: bool,
    record: &dyn Fn(&str),
) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let ids = find_ids(pins, Some(wanted))?;
    let [id] = ids.as_slice() else { return Err(ambiguous(wanted)) };
    interactive::confirm_action(&format!(
        "The next list of tools of {id} will be agreed without a question."
    ))?;
    pins.forget_server(id)?;
    record(&format!("a person made the gateway forget the tools of {id}"));
    if as_json {
        print_json(&json!({ "forgotten": id }));
    } else {
        paint::print_text(&format!("forgotten: {id}\n"));
    }
    Ok(CommandExit::Success)
}

fn find_ids(pins: PinStore<'_>, wanted: Option<&str>) -> Result<Vec<String>> {
    let wanted = wanted.unwrap_or_default();
    let ids: Vec<String> =
        pins.list_ids()?.into_iter().filter(|id| id.starts_with(wanted)).collect();
    if ids.is_empty() && !wanted.is_empty() {
        return Err(Error::not_found(format!("no server has the id `{}`", one_line(wanted, 80)))
            .with_hint("`portcullis mcp pins list` shows them"));
    }
    Ok(ids)
}

fn read_servers(pins: PinStore<'_>, wanted: Option<&str>) -> Result<Vec<(String, PinnedServer)>> {
    let mut servers = Vec::new();
    for id in find_ids(pins, wanted)? {
        if let Some(server) = pins.read_server(&id)? {
            servers.push((id, server));
        }
    }
    Ok(servers)
}

fn one_server(pins: PinStore<'_>, wanted: &str) -> Result<(String, PinnedServer)> {
    let mut servers = read_servers(pins, Some(wanted))?;
    match (servers.pop(), servers.len()) {
        (Some(server), 0) => Ok(server),
        _ => Err(ambiguous(wanted)),
    }
}

fn ambiguous(wanted: &str) -> Error {
    Error::invalid(format!(
        "several servers have an id that begins with `{}`",
        one_line(wanted, 80)
    ))
    .with_hint("give more of the id: `portcullis mcp pins list` shows them")
}
