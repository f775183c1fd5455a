//! The commands that this process names: those for the records that it works on.
//!
//! With `--of-user` they are a user's behind a boundary, and a command has to name the user.

use portcullis_config::boundary::find_record_commands;
use portcullis_core::record_commands::RecordCommands;
use std::path::Path;
use std::sync::OnceLock;

/// The commands for the records that this process opened, if it opened those of a user.
static RECORDS: OnceLock<RecordCommands> = OnceLock::new();

/// Sets the state folder of the records that this process works on.
pub fn set_records(state: &Path) {
    // One option names one user, once.
    let _set = RECORDS.set(find_record_commands(state));
}

/// Returns a command about records, without the program's name, as the person types it.
pub fn spell_command(command: &str) -> String {
    RECORDS.get().map_or_else(|| RecordCommands::default().spell(command), |of| of.spell(command))
}

/// Returns a whole command as the person types it.
pub fn spell_line(line: &str) -> String {
    RECORDS.get().map_or_else(|| line.to_owned(), |of| of.spell_line(line))
}

/// Returns one of our texts with the commands in it as the person types them.
pub fn spell_commands_in(text: &str) -> String {
    RECORDS.get().map_or_else(|| text.to_owned(), |of| of.spell_in(text, |_| false))
}
