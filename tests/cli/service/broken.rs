//! What stands where the service should be, and does not answer: the embedded review answers, and
//! its record says why.

use crate::common::site::Site;
use crate::common::trial;
use crate::running::ask;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

/// One of them: how it is made, and what the record says.
struct Broken {
    name: &'static str,
    make: fn(&Path) -> Result<()>,
    /// A part of the recorded reason; `None` if no service is set up.
    reason: Option<&'static str>,
}

const BROKEN: &[Broken] = &[
    Broken { name: "nothing", make: |_| Ok(()), reason: None },
    Broken {
        name: "a socket that nobody serves",
        make: |socket| {
            drop(UnixListener::bind(socket)?);
            Ok(())
        },
        reason: Some("cannot connect"),
    },
    Broken {
        name: "a file",
        make: |socket| Ok(fs::write(socket, "")?),
        reason: Some("is not a socket"),
    },
    Broken {
        name: "a link to a socket",
        make: |socket| {
            let real = socket.with_extension("real");
            listen(&real, |_| {})?;
            Ok(std::os::unix::fs::symlink(real, socket)?)
        },
        reason: Some("is not a socket"),
    },
    Broken {
        name: "a socket that others can replace",
        make: |socket| {
            listen(socket, |_| {})?;
            Ok(fs::set_permissions(socket, Permissions::from_mode(0o777))?)
        },
        reason: Some("can be changed by other users"),
    },
    Broken {
        name: "a server that says nothing",
        make: |socket| listen(socket, |_| thread::sleep(std::time::Duration::from_secs(20))),
        reason: Some("did not answer"),
    },
    Broken {
        name: "a server that closes",
        make: |socket| listen(socket, |_| {}),
        reason: Some("connection"),
    },
    Broken {
        name: "a server that speaks something else",
        make: |socket| answers(socket, b"HTTP/1.1 200 OK\r\n\r\n{}"),
        reason: Some("another version"),
    },
    Broken {
        name: "a server of the next version",
        make: |socket| answers(socket, b"PCH\x02\x01\0\0\0d"),
        reason: Some("another version"),
    },
    Broken {
        name: "an answer that is cut off",
        make: |socket| answers(socket, b"PCH\x01\xff\0\0\0a\0"),
        reason: Some("cut off"),
    },
    Broken {
        name: "an answer without end",
        make: |socket| answers(socket, b"PCH\x01\xff\xff\xff\xffa"),
        reason: Some("longer than"),
    },
    Broken {
        name: "an empty answer",
        make: |socket| answers(socket, b"PCH\x01\0\0\0\0"),
        reason: Some("an empty body"),
    },
    Broken {
        name: "an answer with an impossible exit code",
        make: |socket| {
            let mut frame = b"PCH\x01\x19\0\0\0a".to_vec();
            frame.extend(256_u64.to_le_bytes());
            frame.extend([0; 16]);
            answers(socket, &frame)
        },
        reason: Some("an exit code above 255"),
    },
    Broken {
        name: "a reply to another question",
        make: |socket| {
            let mut frame = b"PCH\x01\x31\0\0\0s".to_vec();
            frame.extend([0; 48]);
            answers(socket, &frame)
        },
        reason: Some("another reply"),
    },
    Broken {
        name: "a service that cannot",
        make: |socket| {
            let mut frame = b"PCH\x01\x0d\0\0\0u".to_vec();
            frame.extend(4_u64.to_le_bytes());
            frame.extend(b"tire");
            answers(socket, &frame)
        },
        reason: Some("tire"),
    },
    Broken {
        name: "a service that leaves it to the hook",
        make: |socket| answers(socket, b"PCH\x01\x01\0\0\0d"),
        reason: None,
    },
];

/// Serves connections at a socket in a thread that ends with the process.
fn listen(socket: &Path, serve: impl Fn(UnixStream) + Send + 'static) -> Result<()> {
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600))?;
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    Ok(())
}

/// Reads some of a request and writes these bytes.
fn answers(socket: &Path, bytes: &[u8]) -> Result<()> {
    let bytes = bytes.to_vec();
    listen(socket, move |mut stream| {
        let mut request = vec![0; 65_536];
        let _read = stream.read(&mut request);
        let _written = stream.write_all(&bytes);
    })
}

/// Whatever stands there, a dangerous call is refused and an ordinary one runs.
pub fn trials() -> Vec<Trial> {
    let each = BROKEN.iter().map(|broken| {
        trial(format!("service: {} in its place", broken.name), move || meet(broken))
    });
    each.chain([trial("service: a socket of another user in its place", other_owner)]).collect()
}

fn meet(broken: &Broken) -> Result<()> {
    let site = Site::new(broken.name)?;
    (broken.make)(&site.state().join("service.sock"))?;
    check(&site, broken.reason)
}

fn check(site: &Site, reason: Option<&str>) -> Result<()> {
    for (command, code) in [("rm -rf /", 2), ("cargo test", 0)] {
        let ended = ask(site, site.calls(command).bash(command, command).to_string().as_bytes())?;
        ensure!(ended.code == Some(code), "{command}: {}", ended.all());
    }
    for record in site.shown(&["--kind", "review"])? {
        let recorded = record.pointer("/details/without_service");
        let recorded = recorded.or_else(|| record.get("without_service"));
        let recorded = recorded.and_then(serde_json::Value::as_str);
        let fits = match (recorded, reason) {
            (None, None) => true,
            (Some(recorded), Some(reason)) => recorded.contains(reason),
            _ => false,
        };
        ensure!(fits, "it recorded {recorded:?}, expected {reason:?}: {record}");
    }
    Ok(())
}

/// Only the superuser can make one.
fn other_owner() -> Result<()> {
    let site = Site::new("other-owner")?;
    if rustix::process::getuid().as_raw() != 0 {
        return Ok(());
    }
    let socket = site.state().join("service.sock");
    answers(&socket, b"PCH\x01\x01\0\0\0d")?;
    chown(&socket, Some(crate::common::site::NOBODY), None)?;
    check(&site, Some("belongs to another user"))
}
