//! Values that a command prints, such as a password manager's.

use super::{SecretKeeper, kept_elsewhere};
use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use crate::program::ask_program;
use crate::value::{MOST_BYTES, check_secret};
use secrecy::SecretString;
use std::process::Command;
use std::time::{Duration, Instant};

/// The timeout for a command, which may ask a person to unlock it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command and its arguments, run without a shell.
pub(crate) struct CommandKeeper<'a>(pub(crate) &'a [String]);

impl SecretKeeper for CommandKeeper<'_> {
    fn read_value(&self, _: &CredentialName) -> Result<SecretString, CredentialFailure> {
        let Some((program, arguments)) = self.0.split_first() else {
            return Err(CredentialFailure::new(
                "the credential names no command",
                "remove it, and set it again",
            ));
        };
        let failed = |what: String| {
            CredentialFailure::new(
                format!("the command `{program}` {what}"),
                "run it in your terminal to see why",
            )
        };
        let mut command = Command::new(program);
        command.args(arguments);
        // One byte more than the longest value shows one that is too long.
        let most = (MOST_BYTES as u64).saturating_add(3);
        let answer = ask_program(&mut command, b"", most, Instant::now() + PATIENCE)
            .map_err(|error| failed(format!("cannot be started ({error})")))?
            .ok_or_else(|| failed(format!("did not end within {} s", PATIENCE.as_secs())))?;
        if !answer.is_success {
            return Err(failed("failed".to_owned()));
        }
        check_secret(&format!("the answer of `{program}`"), answer.output)
    }

    fn write_value(&self, _: &CredentialName, _: &SecretString) -> Result<(), CredentialFailure> {
        let program = self.0.first().map_or("nothing", String::as_str);
        Err(kept_elsewhere(&format!("the command `{program}`")))
    }

    fn remove_value(&self, _: &CredentialName) -> Result<(), CredentialFailure> {
        Ok(())
    }
}
