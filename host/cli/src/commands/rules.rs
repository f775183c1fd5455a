//! `portcullis rules`: lists rules, checks rules files, and lists the fields that conditions can
//! use.

mod check;

use crate::error::Result;
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_config::rules::CustomRules;
use portcullis_core::text::one_line;
use portcullis_rule_language::Verdict;
use portcullis_rule_language::builtin::BUILTIN;
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

/// A rule, for people.
struct Row {
    name: String,
    state: &'static str,
    verdict: String,
    source: String,
    about: String,
}

fn list(as_json: bool) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let rows: Vec<Row> = builtin(&config).into_iter().chain(custom(&config.rules)).collect();
    if as_json {
        let rules: Vec<Json> = rows.iter().map(Row::json).collect();
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

fn builtin(config: &Config) -> Vec<Row> {
    let set = config.plugins.get("rules").and_then(|plugin| {
        let found = plugin.settings.iter().find(|setting| setting.key == "builtin")?;
        if let portcullis_engine::SettingValue::Text(set) = &found.value {
            Some(set.as_str())
        } else {
            None
        }
    });
    let off = config.plugins.get("rules").and_then(|plugin| plugin.enabled) == Some(false);
    let chosen = |essential: bool| match set.unwrap_or("all") {
        "none" => false,
        "essential" => essential,
        _ => true,
    };
    let row = |rule: &portcullis_rule_language::builtin::Builtin| Row {
        name: rule.name.to_owned(),
        state: match config.rules.disabled.iter().any(|name| name == rule.name) {
            true => "disabled",
            false if off || !chosen(rule.essential) => "off",
            false => "on",
        },
        verdict: rule.verdicts.to_owned(),
        source: "builtin".to_owned(),
        about: rule.about.to_owned(),
    };
    BUILTIN.iter().map(row).collect()
}

fn custom(rules: &CustomRules) -> Vec<Row> {
    let mut rows = Vec::new();
    for file in &rules.files {
        for read in portcullis_rule_language::read(&file.text).unwrap_or_default() {
            let place =
                portcullis_rule_language::place::line_and_column(&file.text, read.place.start);
            let whose = if file.of_project { " (the project's)" } else { "" };
            rows.push(Row {
                state: if rules.disabled.iter().any(|name| *name == read.rule.name) {
                    "disabled"
                } else {
                    "on"
                },
                verdict: read.rule.verdict.as_str().to_owned(),
                source: format!(
                    "{}:{}{whose}",
                    one_line(&file.path.display().to_string(), 1024),
                    place.0
                ),
                about: about(read.rule.verdict, read.rule.severity.as_str(), read.examples.len()),
                name: read.rule.name.into_owned(),
            });
        }
    }
    rows
}

fn about(verdict: Verdict, severity: &str, examples: usize) -> String {
    let tried = match examples {
        0 => "no example tries it".to_owned(),
        1 => "one example tries it".to_owned(),
        more => format!("{more} examples try it"),
    };
    format!("{} with severity {severity}; {tried}", verdict.as_str())
}

impl Row {
    fn json(&self) -> Json {
        json!({
            "name": self.name,
            "state": self.state,
            "verdict": self.verdict,
            "source": self.source,
            "about": self.about,
        })
    }
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
