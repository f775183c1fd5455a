//! Asks a credential helper, as docker does: `docker-credential-NAME get`.

use crate::access::Access;
use crate::credential::RegistryLogin;
use portcullis_core::text::strip_quotes;
use portcullis_credentials::{ProgramAnswer, ask_program};
use secrecy::SecretString;
use serde::Deserialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The most bytes of its answer.
const MOST_BYTES: u64 = 64 << 10;
/// The answer of helpers about a server that they do not know.
const UNKNOWN: &str = "credentials not found";
/// The user name that marks an identity token.
const IDENTITY: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperResponse {
    username: String,
    secret: SecretString,
}

/// Returns the helper's credentials for that server.
///
/// # Errors
/// Fails if the helper does not exist, does not end, fails, or gives another answer; the error
/// continues a sentence about the helper.
pub(crate) fn get(
    name: &str,
    server: &str,
    access: &Access,
) -> Result<Option<RegistryLogin>, String> {
    let program = find(name, access).ok_or("is not there; install it, or log in without it")?;
    let patience = access.limits.helper;
    let said = ask_program(
        Command::new(program).arg("get"),
        server.as_bytes(),
        MOST_BYTES,
        Instant::now() + patience,
    );
    let ProgramAnswer { is_success, output } = said
        .map_err(|error| format!("cannot be started ({error})"))?
        .ok_or_else(|| format!("did not answer within {} s", patience.as_secs_f32()))?;
    if !is_success {
        let words = String::from_utf8_lossy(&output).trim().to_owned();
        return if words.contains(UNKNOWN) {
            Ok(None)
        } else {
            Err(format!("failed: \"{}\"", strip_quotes(&words, 120)))
        };
    }
    let answer: HelperResponse = serde_json::from_slice(&output)
        .map_err(|_| "answered with something that helpers never send")?;
    Ok(Some(match answer.username.as_str() {
        IDENTITY => RegistryLogin::Identity(answer.secret),
        _ => RegistryLogin::Password { user: answer.username, password: answer.secret },
    }))
}

/// Finds the helper on the search path; its name must not be a path to another folder.
fn find(name: &str, access: &Access) -> Option<PathBuf> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let folders = access.helpers.as_ref().filter(|_| name.bytes().all(plain))?;
    std::env::split_paths(folders)
        .map(|folder| folder.join(format!("docker-credential-{name}")))
        .find(|path| path.is_file())
}
