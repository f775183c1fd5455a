//! Debian's docker-registry, started for a test on a port of its own.

use crate::authority::Authority;
use crate::sample::skip;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = "docker-registry";
/// The user of a registry with authentication.
pub(crate) const USER: (&str, &str) = ("tester", "test-password");
/// The htpasswd entry of that password: bcrypt.
const HASH: &str = "$2b$05$HRuvyAwtyY00I3dUyVVLTeVNnSo3a7HW/edZtycGQk8jE3lK6PMBe";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Tls,
    TlsWithPassword,
}

/// A registry that runs until this is dropped.
pub(crate) struct Registry {
    pub(crate) port: u16,
    /// The authority of its certificate, if it uses TLS.
    pub(crate) authority: Option<PathBuf>,
    child: Child,
    _folder: TempDir,
}

impl Registry {
    /// Starts a registry; `None`, with a message, if the program is not installed.
    pub(crate) fn start(kind: Kind) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let authority = (kind != Kind::Plain).then(|| Authority::new(folder.path()));
        let config = folder.path().join("config.yml");
        fs::write(&config, configuration(folder.path(), authority.as_ref(), kind)).unwrap();
        let started = Command::new(PROGRAM)
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                skip(&format!(
                    "there is no `{PROGRAM}` ({error}): `apt-get install docker-registry`"
                ));
                return None;
            }
        };
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = said.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("listening on 127.0.0.1:")?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        // The rest of its output is discarded, so that it never blocks.
        std::thread::spawn(move || said.map_while(Result::ok).for_each(drop));
        let authority = authority.map(|authority| authority.root);
        let mut started = Self { port: 0, authority, child, _folder: folder };
        started.port = port.expect("it says where it listens");
        Some(started)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, authority: Option<&Authority>, kind: Kind) -> String {
    let storage = folder.join("storage");
    let mut text = format!(
        "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n",
        storage.display()
    );
    if kind == Kind::TlsWithPassword {
        let path = folder.join("htpasswd");
        fs::write(&path, format!("{}:{HASH}\n", USER.0)).unwrap();
        text += &format!("auth: {{htpasswd: {{realm: tests, path: {}}}}}\n", path.display());
    }
    text += "http:\n  addr: 127.0.0.1:0\n";
    if let Some(Authority { certificate, key, .. }) = authority {
        text +=
            &format!("  tls: {{certificate: {}, key: {}}}\n", certificate.display(), key.display());
    }
    text
}
