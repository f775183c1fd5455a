//! The overview: all commands by what a person wants to do.

use crate::exit;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use std::fmt::Write;

/// The groups in `portcullis -h`, each with its commands in order.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Try", &["demo", "review", "replay", "eval"]),
    ("Protect an agent", &["install", "uninstall", "doctor", "status", "serve", "run", "mcp"]),
    ("See what happened", &["audit", "explain", "open", "metrics", "notifications", "exports"]),
    ("Undo and recover", &["undo", "checkpoint", "quarantine", "incident", "recover"]),
    (
        "Change what is allowed",
        &["allow", "approvals", "feedback", "config", "trust", "pause", "resume"],
    ),
    ("Keys and personal data", &["credential", "encryption", "privacy"]),
    ("Plugins and rules", &["rules", "plugin", "bundle", "catalogue"]),
    ("Many machines", &["fleet", "hub"]),
    ("This program", &["completions", "release", "upgrade"]),
];

/// The group that only `portcullis --help` has.
pub const INTERNAL: (&str, &[&str]) = ("Internal", &["hook", "maintain", "man"]);

/// Commands that other systems than Linux lack.
const LINUX_ONLY: &[&str] = &["run"];

/// Options that the parser adds by itself.
const BUILT_IN: &str = "  -h, --help               Print help
  -V, --version            Print the version";
/// The folders without options.
const DEFAULTS: &str = "  Without them: PORTCULLIS_HOME, else the folders of XDG.";

/// Replaces the list of commands by the groups. The short form leaves out what few people need.
pub fn with_overview(command: Command) -> Command {
    let examples = command.get_after_help().map(|text| text.ansi().to_string());
    let examples = examples.unwrap_or_default();
    let mut listed = String::new();
    for group in GROUPS {
        write_group(&mut listed, &command, group);
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{after-help}}\n",
        listed.trim_end()
    );
    let short = format!(
        "{examples}\n\n\
         The options of a command: `portcullis COMMAND --help`. The options of all\n\
         commands, the exit codes and internal commands: `portcullis --help`."
    );
    let mut long = String::new();
    write_group(&mut long, &command, &INTERNAL);
    write_options(&mut long, &command);
    let _ = write!(
        long,
        "{examples}\n\n{}\n{}",
        style_heading(&command, "Exit codes"),
        exit::list_codes()
    );
    command
        .help_template(StyledStr::from(template))
        .after_help(StyledStr::from(short))
        .after_long_help(StyledStr::from(long))
}

/// Formats a heading in the style of the other help pages.
pub fn style_heading(command: &Command, text: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{text}:{style:#}")
}

fn write_group(text: &mut String, command: &Command, (title, names): &(&str, &[&str])) {
    let _ = writeln!(text, "{}", style_heading(command, title));
    let style = command.get_styles().get_literal();
    for name in *names {
        let Some(found) = command.find_subcommand(name) else {
            debug_assert!(LINUX_ONLY.contains(name), "`{name}` is not a command");
            continue;
        };
        let about = found.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {style}{name:<13}{style:#}  {about}");
    }
    text.push('\n');
}

/// Lists the options of all commands by their headings. Clap's own list needs three lines for each
/// in the long form.
fn write_options(text: &mut String, command: &Command) {
    let option = |argument: &Arg| {
        let name = argument.get_long()?;
        let value = argument.get_value_names().and_then(|names| names.first());
        let value = value.map(|value| format!(" <{value}>")).unwrap_or_default();
        Some((format!("--{name}{value}"), argument.get_help()?.to_string()))
    };
    for group in ["Options", "Folders"] {
        let _ = writeln!(text, "{}", style_heading(command, group));
        let of_group = command
            .get_arguments()
            .filter(|argument| argument.get_help_heading().unwrap_or("Options") == group);
        for (name, help) in of_group.filter_map(option) {
            let _ = writeln!(text, "  {name:<23}  {help}");
        }
        let _ = writeln!(text, "{}", if group == "Options" { BUILT_IN } else { DEFAULTS });
        text.push('\n');
    }
}
