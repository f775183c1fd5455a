//! Tips for words that people try and that are not commands. Similar names mislead here: `disable`
//! looks like `install`.

use super::groups::{GROUPS, INTERNAL};
use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Words, and the commands that do what they mean.
pub const TRIED: &[(&str, &[&str])] = &[
    ("approve", &["approvals allow", "allow"]),
    ("build", &["plugin build", "bundle build"]),
    ("check", &["doctor", "config check", "rules check"]),
    ("credentials", &["credential list"]),
    ("deny", &["approvals deny", "rules"]),
    ("disable", &["pause", "uninstall"]),
    ("enable", &["resume", "install"]),
    ("exec", &["run"]),
    ("export", &["audit export", "incident export"]),
    ("history", &["audit show"]),
    ("init", &["install"]),
    ("journal", &["audit show"]),
    ("key", &["bundle key"]),
    ("list", &["audit show", "plugin list", "rules list"]),
    ("log", &["audit show"]),
    ("logs", &["audit show"]),
    ("new", &["plugin new"]),
    ("off", &["pause", "uninstall"]),
    ("on", &["resume", "install"]),
    ("remove", &["uninstall", "bundle remove"]),
    ("report", &["incident export", "replay"]),
    ("restore", &["undo", "checkpoint restore", "quarantine restore"]),
    ("revert", &["undo", "checkpoint restore"]),
    ("rollback", &["undo", "checkpoint restore", "incident rollback"]),
    ("scan", &["review", "replay"]),
    ("settings", &["config show"]),
    ("search", &["bundle search"]),
    ("secret", &["credential set"]),
    ("setup", &["install"]),
    ("show", &["audit show", "config show"]),
    ("sign", &["bundle sign", "release sign"]),
    ("start", &["install", "run"]),
    ("stats", &["metrics"]),
    ("stop", &["pause", "uninstall"]),
    ("test", &["doctor", "plugin test", "review"]),
    ("unpause", &["resume"]),
    ("update", &["upgrade", "bundle update"]),
    ("verify", &["audit verify", "bundle verify", "release verify"]),
    ("version", &["--version"]),
    ("watch", &["approvals watch", "run"]),
    ("why", &["explain"]),
];

/// Replaces the suggestion of a similar name by what the word means, if that is known.
pub fn with_tip(mut error: Error, given: &[OsString]) -> Error {
    let Some(meant) = meant(&error, given) else { return error };
    let named: Vec<String> =
        meant.iter().map(|command| format!("`portcullis {command}`")).collect();
    let tip = format!("did you mean {}?", named.join(" or "));
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

fn meant(error: &Error, given: &[OsString]) -> Option<&'static [&'static str]> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // The words are meant for the first level: `audit list` is another mistake than `list`.
    let before = given.iter().take_while(|given| *given != word.as_str());
    let below = before.filter_map(|given| given.to_str()).any(is_command);
    let known = TRIED.iter().find(|(tried, _)| tried == word)?;
    (!below).then_some(known.1)
}

fn is_command(word: &str) -> bool {
    GROUPS.iter().chain([&INTERNAL]).any(|(_, names)| names.contains(&word))
}
