//! The units with which systemd starts the service: of a user, or of the machine's boundary.

use crate::error::{Error, Result};
use portcullis_config::boundary::{BOUNDARY_FILE, Boundary};
use portcullis_config::paths::Paths;
use portcullis_protocol::{BOUNDARY_SOCKET, SOCKET};
use std::path::Path;

/// The manager that starts the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum UnitKind {
    /// The user's: the service of the user's home
    User,
    /// The system's: the service of the boundary
    System,
}

/// Restrictions that a user's manager can set without namespaces of its own.
const OF_USER: &str = "NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
";

/// What the service of a boundary does without. It reads no home, but it sees who connects, so its
/// users are those of the machine (no `PrivateUsers`), and it runs machine code that it has compiled
/// (no `MemoryDenyWriteExecute`).
const OF_SYSTEM: &str = "LimitNOFILE=16384
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
";

/// Returns the service's unit.
///
/// # Errors
/// Fails if a path cannot be written in a unit, or if there is no boundary for the system's.
pub fn write_service_unit(kind: UnitKind, program: &Path, places: &Paths) -> Result<String> {
    let program = quote(program)?;
    // Running reviews are answered first.
    let common = "Type=notify\nRestart=on-failure\nTimeoutStopSec=30\nUMask=0077\n";
    let (purpose, of_service, target) = match kind {
        // The manager of a user's units has another environment than the user's shells.
        UnitKind::User => {
            let (config, state) = (quote(&places.config)?, quote(&places.state)?);
            let start = format!("ExecStart={program} serve --config {config} --state {state}\n");
            ("", format!("{start}{common}{OF_USER}"), "default.target")
        }
        UnitKind::System => {
            let user = read_boundary()?.user_name;
            let start = format!("ExecStart={program} serve --boundary\nUser={user}\n");
            // A socket of the manager's stays in the folder when the service ends.
            let folders = "StateDirectory=portcullis\nStateDirectoryMode=0700\n\
                           RuntimeDirectory=portcullis\nRuntimeDirectoryMode=0755\n\
                           RuntimeDirectoryPreserve=yes\n";
            let of_service = format!("{start}{common}{folders}{OF_SYSTEM}");
            (", behind a boundary", of_service, "multi-user.target")
        }
    };
    Ok(format!(
        "[Unit]\n\
         Description=Portcullis, which reviews the actions of AI coding agents{purpose}\n\
         \n\
         [Service]\n\
         {of_service}\
         \n\
         [Install]\n\
         WantedBy={target}\n"
    ))
}

/// Returns the unit of the socket that starts the service at the first event.
///
/// # Errors
/// Fails like [`write_service_unit`].
pub fn write_socket_unit(kind: UnitKind, places: &Paths) -> Result<String> {
    let (path, of_socket) = match kind {
        UnitKind::User => {
            (places.state.join(SOCKET), "SocketMode=0600\nDirectoryMode=0700".to_owned())
        }
        UnitKind::System => {
            let Boundary { user_name, page, .. } = read_boundary()?;
            let mut of_socket =
                format!("SocketUser={user_name}\nSocketMode=0666\nDirectoryMode=0755");
            // The manager holds the port while the service restarts: nobody else can take it, and
            // get what a browser sends to the page.
            if let Some(port) = page {
                of_socket.push_str(&format!("\nListenStream=127.0.0.1:{port}"));
            }
            (BOUNDARY_SOCKET.into(), of_socket)
        }
    };
    let shown = path.display();
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"%\"'\\".contains(letter);
    if !path.to_str().is_some_and(|text| text.chars().all(is_plain)) {
        return Err(Error::invalid(format!("`{shown}` cannot be written in a socket's unit"))
            .with_hint("use a state folder whose name has no blanks and no quotes"));
    }
    Ok(format!(
        "[Unit]\n\
         Description=The socket of Portcullis\n\
         \n\
         [Socket]\n\
         ListenStream={shown}\n\
         {of_socket}\n\
         \n\
         [Install]\n\
         WantedBy=sockets.target\n"
    ))
}

/// Returns the boundary of this machine.
fn read_boundary() -> Result<Boundary> {
    Boundary::read_machine()?.ok_or_else(|| {
        Error::not_found(format!("there is no `{BOUNDARY_FILE}`"))
            .with_hint("write it first: it names the user who runs the service")
    })
}

/// Returns a path as a word of a unit's command line.
fn quote(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let Some(text) = text else {
        return Err(Error::invalid(format!("`{}` cannot be written in a unit", shown))
            .with_hint("use a folder whose name is text on one line"));
    };
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // Specifiers and variables.
            '%' | '$' => quoted.extend([letter, letter]),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_unit() {
        for (path, expected) in [
            ("/usr/bin/portcullis", Some("\"/usr/bin/portcullis\"")),
            ("/home/a b/$x/100%", Some("\"/home/a b/$$x/100%%\"")),
            ("/home/\"q\"/b\\c", Some("\"/home/\\\"q\\\"/b\\\\c\"")),
            ("/home/a\nExecStart=/bin/sh", None),
        ] {
            assert_eq!(quote(Path::new(path)).ok().as_deref(), expected, "{path}");
        }
    }
}
