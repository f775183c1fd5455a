//! Output for people, shared by the two programs `portcullis` and `portcullis-plugin`: colour and
//! layout, the description of a component, and the end of a program. It reads no arguments and
//! decides nothing.

pub mod component;
pub mod paint;

use std::process::ExitCode;

/// Returns the program's exit code for the result of its command, and prints the error if there is
/// one. Output that could not be written is a failure of its own.
pub fn end(result: anyhow::Result<u8>) -> ExitCode {
    let lost = paint::lost().map(|error| anyhow::anyhow!("cannot write standard output: {error}"));
    match lost.map_or(result, Err) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("{}: {error:#}", paint::bad("error"));
            ExitCode::from(1)
        }
    }
}
