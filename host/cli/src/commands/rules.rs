//! `portcullis rules`: lists rules, checks rules files, and lists the fields that conditions can
//! use.

mod check;

use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_review::rules::listing::{ListedRule, list_rules};
use portcullis_rule_language::schema::Kind;
use portcullis_store::Home;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Report every mistake in rules files and test their examples; exit code 1 if something is
    /// wrong
    Check {
        /// The files; without any, those that the configuration names
        files: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all rules, built-in and custom, with their effect and location
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the fields that conditions can use, with types
    Fields {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run_rules(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Check { files, json } => check::run_check(files, *json),
        Command::List { json } => list(*json),
        Command::Fields { json } => Ok(fields(*json)),
    }
}

fn list(as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let rows = list_rules(&config);
    if as_json {
        let rules: Vec<Json> = rows.iter().map(rule_json).collect();
        paint::print_text(&format!("{}\n", json!({ "rules": rules })));
        return Ok(CommandExit::Success);
    }
    for row in &rows {
        let state = if row.state == "on" {
            paint::good(format!("{:<8}", row.state))
        } else {
            paint::dim(format!("{:<8}", row.state))
        };
        let name = paint::bold(format!("{:<30}", row.name));
        let line = format!(
            "{name} {state} {:<18} {}\n  {}\n",
            row.verdict,
            paint::dim(&row.source),
            paint::dim(&row.about)
        );
        paint::print_wrapped(&line, 2);
    }
    Ok(CommandExit::Success)
}

fn rule_json(rule: &ListedRule) -> Json {
    json!({
        "name": rule.name,
        "state": rule.state,
        "verdict": rule.verdict,
        "source": rule.source,
        "about": rule.about,
    })
}

fn fields(as_json: bool) -> CommandExit {
    if as_json {
        let kinds = Kind::ALL.iter().map(|kind| {
            let fields: Vec<Json> = kind
                .fields()
                .iter()
                .map(|field| {
                    json!({
                        "name": field.name,
                        "type": field.kind.to_string(),
                        "about": field.about,
                    })
                })
                .collect();
            (kind.as_str().to_owned(), Json::from(fields))
        });
        paint::print_text(&format!("{}\n", Json::Object(kinds.collect())));
        return CommandExit::Success;
    }
    for kind in Kind::ALL {
        paint::print_text(&format!("{}\n", paint::bold(kind.as_str())));
        for field in kind.fields() {
            let line = format!(
                "  {:<22} {}\n  {:22} {}\n",
                field.name,
                field.kind,
                "",
                paint::dim(field.about)
            );
            paint::print_wrapped(&line, 25);
        }
    }
    CommandExit::Success
}
