//! Asks a credential helper, as docker does: `docker-credential-NAME get`.

use crate::access::Access;
use crate::credential::RegistryLogin;
use portcullis_core::text::strip_quotes;
use secrecy::SecretString;
use serde::Deserialize;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes of its answer.
const MOST_BYTES: u64 = 64 << 10;
/// The interval between checks that it has ended.
const POLL: Duration = Duration::from_millis(5);
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
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot be started ({error})"))?;
    let said = talk(&mut child, server, Instant::now() + access.limits.helper);
    // It may not have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    let (succeeded, said) = said
        .ok_or_else(|| format!("did not answer within {} s", access.limits.helper.as_secs_f32()))?;
    if !succeeded {
        let words = String::from_utf8_lossy(&said).trim().to_owned();
        return if words.contains(UNKNOWN) {
            Ok(None)
        } else {
            Err(format!("failed: \"{}\"", strip_quotes(&words, 120)))
        };
    }
    let answer: HelperResponse = serde_json::from_slice(&said)
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

/// Returns whether it succeeded, and its output; `None` if it did not end in time.
fn talk(child: &mut Child, server: &str, deadline: Instant) -> Option<(bool, Vec<u8>)> {
    // A helper that does not read its input is judged by its output.
    let _ = child.stdin.take()?.write_all(server.as_bytes());
    let stdout = child.stdout.take()?;
    let (says, said) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.take(MOST_BYTES).read_to_end(&mut bytes);
        says.send(bytes)
    });
    let bytes = said.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some((status.success(), bytes)),
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            Ok(None) | Err(_) => return None,
        }
    }
}
