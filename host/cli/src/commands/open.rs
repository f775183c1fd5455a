//! `portcullis open`: a link to the service's page, for one browser.

use super::boundary::read_boundary;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use clap::builder::PossibleValuesParser;
use portcullis_config::boundary::{BOUNDARY_FILE, user_of_state};
use portcullis_config::paths::Paths;
use portcullis_protocol::{ask_link, ask_link_across};
use portcullis_web::Role;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// The program with which a desktop opens a link.
const OPENER: &str = "xdg-open";

#[derive(clap::Args)]
pub struct Arguments {
    /// The role of the browser: a viewer only looks, an approver also answers, an operator also
    /// changes sessions and files
    #[arg(long, default_value = Role::Approver.as_str(), value_parser = PossibleValuesParser::new(Role::ALL.map(Role::as_str)))]
    role: String,
    /// Print the link, and start no browser
    #[arg(long)]
    print: bool,
    /// Print JSON, and start no browser
    #[arg(long)]
    json: bool,
}

pub fn run_open(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let places = Paths::from_environment()?;
    let link = find_link(&places, &arguments.role)?;
    let document = json!({ "link": link, "role": arguments.role });
    // Behind a boundary this runs as the service's user, who must not run a browser.
    let prints = arguments.print || user_of_state(&places.state).is_some();
    announce_link(&link, &document, prints, arguments.json);
    Ok(CommandExit::Success)
}

/// Asks the service for a link with a purpose: that of the home, or the boundary's for what it keeps
/// of a user.
pub fn find_link(places: &Paths, purpose: &str) -> Result<String> {
    if let Some(user) = user_of_state(&places.state)
        && let Some(boundary) = read_boundary()?
    {
        let link = ask_link_across(boundary.user, user, purpose).map_err(anyhow::Error::from);
        return link.context("there is no link to a page").map_err(|error| {
            error.with_hint(format!(
                "`page = 4747` in `{BOUNDARY_FILE}` gives the service a page, from its next start on"
            ))
        });
    }
    let link = ask_link(&places.state, purpose).map_err(anyhow::Error::from);
    let link = link.context("there is no link to a page")?;
    link.ok_or_else(|| {
        Error::not_found("no service runs for this home")
            .with_hint("start one with `portcullis serve`")
    })
}

/// Opens a link in a browser, or prints it.
pub fn announce_link(link: &str, document: &Value, prints: bool, as_json: bool) {
    if as_json {
        paint::print_text(&format!("{document}\n"));
    } else if prints || !start_browser(link) {
        paint::print_text(&format!("{link}\nIt works once, within a minute.\n"));
    } else {
        paint::print_text("The page opens in your browser.\n");
    }
}

/// Returns true if a desktop took the link.
fn start_browser(link: &str) -> bool {
    let mut opener = Command::new(OPENER);
    opener.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.status().is_ok_and(|status| status.success())
}
