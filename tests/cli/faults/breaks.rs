//! The rows: each failure, how it is caused, and how it is fixed.

use super::{Break, End};
use crate::bad_input::shell;
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_store::{Durability, Home, NewRecord, Store};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub fn all() -> Vec<Break> {
    [journals(), keys(), folders(), limits(), surroundings()].into_iter().flatten().collect()
}

fn journals() -> Vec<Break> {
    vec![
        Break::new("a journal of zeros", |site| {
            overwrite(site, "journal.db", |bytes| vec![0; bytes.len()])
        })
        .says(&["journal.db", "portcullis recover"])
        .again(Site::forget_journal),
        Break::new("a journal cut in half", |site| {
            settled(site, |bytes| bytes[..bytes.len() / 2].to_vec())
        })
        .says(&["journal.db", "portcullis recover"])
        .fixed(restore),
        Break::new("a journal with a header of garbage", |site| {
            settled(site, |bytes| [&[0xa5; 100], &bytes[100..]].concat())
        })
        .says(&["journal.db", "is damaged", "portcullis recover"])
        .fixed(restore),
        Break::new("a journal with pages of garbage", |site| {
            settled(site, |bytes| [&bytes[..2048], &vec![0xa5; bytes.len() - 2048]].concat())
        })
        .says(&["journal.db", "is damaged", "portcullis recover"])
        .fixed(restore),
        Break::new("a journal of a newer format", |site| {
            settled(site, |bytes| bytes)?;
            sql(site, "PRAGMA user_version = 1000000")
        })
        .says(&["journal.db", "newer portcullis", "upgrade portcullis"])
        .fixed(restore),
        Break::new("a log of garbage: only its own records are lost", |site| {
            overwrite(site, "journal.db-wal", |bytes| vec![0xa5; bytes.len()])
        })
        .ends(End::Whole)
        .again(|_| Ok(())),
        Break::new("a journal that another process holds", hold)
            .says(&["journal.db", "locked by another process", "end the process"])
            .fixed(let_go),
        Break::new("records of next year: the clock was set back", ahead).ends(End::Whole),
        Break::new("records of 1970: the clock was set forward", |site| append(site, 1))
            .ends(End::Whole),
    ]
}

fn keys() -> Vec<Break> {
    vec![
        Break::new("no key", |site| move_away(site, "key"))
            .says(&["journal.db", "changed from outside", "audit verify"])
            .fixed(restore),
        Break::new("another key", |site| {
            overwrite(site, "key", |bytes| bytes.iter().map(|byte| !byte).collect())
        })
        .says(&["journal.db", "changed from outside", "audit verify"])
        .fixed(restore),
        Break::new("a short key", |site| overwrite(site, "key", |bytes| bytes[..7].to_vec()))
            .says(&["key", "7 bytes instead of 32", "restore it"])
            .fixed(restore),
        Break::new("a key that cannot be read", |site| mode(site, "key", 0))
            .says(&["key", "check that"])
            .fixed(|site| mode(site, "key", 0o600))
            .held_back(),
    ]
}

fn folders() -> Vec<Break> {
    let open = |site: &Site| mode(site, "", 0o700);
    vec![
        Break::new("a state that cannot be read", |site| mode(site, "", 0))
            .says(&["/state", "check that"])
            .fixed(open)
            .held_back(),
        Break::new("a state whose folder takes no new file", |site| mode(site, "", 0o500))
            .ends(End::Whole)
            .fixed(open)
            .held_back(),
        Break::started("a read-only file system", |site| shell(site, NAMESPACE, READ_ONLY))
            .says(&["read-only", "writable"]),
        Break::started("a full disk", |site| shell(site, NAMESPACE, FULL)).says(&[
            "journal.db",
            "no room left",
            "free disk space",
        ]),
        Break::new("compiled code of garbage", |site| {
            for entry in fs::read_dir(site.state().join("cache"))? {
                fs::write(entry?.path(), [0xa5; 5000])?;
            }
            Ok(())
        })
        .ends(End::Whole),
        Break::new("compiled code that cannot be read", |site| mode(site, "cache", 0))
            .ends(End::Whole)
            .fixed(|site| mode(site, "cache", 0o700))
            .held_back(),
        Break::new("a broken configuration", |site| {
            site.write("config.toml", "mode = \"watch\"\n")
        })
        .says(&["config.toml", "line 1", "`watch`"])
        .fixed(|site| Ok(fs::remove_file(site.state().join("config.toml"))?)),
        Break::new("a configuration that cannot be read", |site| {
            site.write("config.toml", "")?;
            mode(site, "config.toml", 0)
        })
        .says(&["config.toml", "that you can read"])
        .fixed(|site| mode(site, "config.toml", 0o644))
        .held_back(),
        Break::new("a folder of plugins that cannot be read", |site| {
            site.write("plugins/none.txt", "")?;
            mode(site, "plugins", 0)
        })
        .says(&["cannot read the plugin folder", "plugins"])
        .fixed(|site| mode(site, "plugins", 0o755))
        .held_back(),
    ]
}

fn limits() -> Vec<Break> {
    vec![
        Break::started("no file may grow", |site| {
            shell(site, &[], "ulimit -f 1; exec \"$0\" hook claude")
        })
        .says(&["no room left", "free disk space"]),
        Break::started("hardly any memory", |site| {
            shell(site, &[], "ulimit -v 40000; exec \"$0\" hook claude")
        })
        .ends(End::Closed),
        Break::started("little memory", |site| {
            shell(site, &[], "ulimit -v 400000; exec \"$0\" hook claude")
        })
        .ends(End::Closed),
        Break::started("three open files", |site| {
            shell(site, &[], "ulimit -n 3; exec \"$0\" hook claude")
        })
        .says(&["Too many open files"]),
        Break::started("no time on the processor", |site| {
            shell(site, &[], "ulimit -t 0; exec \"$0\" hook claude")
        })
        .ends(End::Either),
        Break::started("a small stack", |site| {
            shell(site, &[], "ulimit -s 256; exec \"$0\" hook claude")
        })
        .ends(End::Whole),
        Break::started("no further process or thread", |site| {
            let mut hook = Command::new("prlimit");
            hook.arg("--nproc=1")
                .arg(site.binary())
                .args(["hook", "claude"])
                .current_dir(site.project());
            hook.env("PORTCULLIS_HOME", site.state()).env("HOME", site.person());
            site.as_its_user(&mut hook);
            hook
        })
        .ends(End::Whole)
        .held_back(),
    ]
}

fn surroundings() -> Vec<Break> {
    vec![
        Break::started("no HOME", |site| {
            let mut hook = site.command(&["hook", "claude"]);
            hook.env_clear();
            hook
        })
        .says(&["HOME is not set", "set PORTCULLIS_HOME"]),
        Break::started("a working folder that is gone", |site| {
            shell(site, &[], "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" hook claude")
        })
        .ends(End::Whole),
        Break::started("no standard error", |site| {
            shell(site, &[], "exec \"$0\" hook claude 2>&-")
        })
        .ends(End::Whole),
        Break::started("an answer that nobody can take", |site| {
            shell(site, &[], "\"$0\" hook claude >/dev/full; test $? = 2 && exit 9")
        })
        .ends(End::Dies),
    ]
}

/// Gives the row private mounts. Root in CI may create them, and other users if the system allows
/// it.
const NAMESPACE: &[&str] = &["unshare", "--mount", "--map-root-user"];

const READ_ONLY: &str = r#"
    mount --bind "$PORTCULLIS_HOME" "$PORTCULLIS_HOME" && mount -o remount,bind,ro "$PORTCULLIS_HOME" && exec "$0" hook claude
"#;

/// Puts the home into a file system of 32 MB and fills the rest of it.
const FULL: &str = r#"
    cp -a "$PORTCULLIS_HOME" "$PORTCULLIS_HOME.copy" &&
    mount -t tmpfs -o size=32m,mode=0700 none "$PORTCULLIS_HOME" &&
    cp -a "$PORTCULLIS_HOME.copy/." "$PORTCULLIS_HOME" &&
    { cat /dev/zero >"$PORTCULLIS_HOME/filler" 2>/dev/null; exec "$0" hook claude; }
"#;

/// Holds the write lock until it is released.
fn hold(site: &Site) -> Result<()> {
    let (path, freed) = (site.state().join("journal.db"), freed(site));
    let (ready, held) = mpsc::channel();
    thread::spawn(move || {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        ready.send(()).unwrap();
        while !freed.exists() {
            thread::sleep(Duration::from_millis(10));
        }
        connection.execute_batch("ROLLBACK").unwrap();
    });
    Ok(held.recv()?)
}

fn let_go(site: &Site) -> Result<()> {
    Ok(fs::write(freed(site), "")?)
}

/// Returns the file that signals the release of the lock.
fn freed(site: &Site) -> PathBuf {
    site.state().with_file_name("freed")
}

fn ahead(site: &Site) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    append(site, u64::try_from(now)? + 365 * 86_400_000)
}

/// Appends a record of that time, with the home's own key.
fn append(site: &Site, at: u64) -> Result<()> {
    let home = Home::open_root(site.state())?;
    let document = serde_json::json!({"id": "elsewhen", "at": at, "kind": "session"}).to_string();
    let record = NewRecord {
        id: "elsewhen".to_owned(),
        at,
        kind: "session".to_owned(),
        step: None,
        call_id: None,
        subject: "elsewhen".to_owned(),
        verdict: None,
        document,
    };
    Store::open_database(&home, Durability::Process)?.append_records(vec![record])?;
    Ok(())
}

/// Returns the folder for the originals of broken files.
fn kept(site: &Site) -> PathBuf {
    site.state().with_file_name("kept")
}

/// Moves a file away.
fn move_away(site: &Site, name: &str) -> Result<()> {
    fs::create_dir_all(kept(site))?;
    Ok(fs::rename(site.state().join(name), kept(site).join(name))?)
}

/// Changes a file after saving the original.
fn overwrite(site: &Site, name: &str, change: fn(Vec<u8>) -> Vec<u8>) -> Result<()> {
    fs::create_dir_all(kept(site))?;
    let path = site.state().join(name);
    let bytes = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    ensure!(!bytes.is_empty(), "`{}` is empty", path.display());
    fs::write(kept(site).join(name), &bytes)?;
    Ok(fs::write(&path, change(bytes))?)
}

/// Changes the journal after merging all of it into one file.
fn settled(site: &Site, change: fn(Vec<u8>) -> Vec<u8>) -> Result<()> {
    Store::open_database(&Home::open_root(site.state())?, Durability::Process)?.checkpoint_log()?;
    // The log repeats the first page.
    for name in ["journal.db-wal", "journal.db-shm"] {
        fs::remove_file(site.state().join(name))?;
    }
    overwrite(site, "journal.db", change)
}

/// Restores the originals, as from a backup; additional files of the broken one are removed.
fn restore(site: &Site) -> Result<()> {
    if kept(site).join("journal.db").exists() {
        site.forget_database()?;
    }
    for entry in fs::read_dir(kept(site))? {
        let entry = entry?;
        let path = site.state().join(entry.file_name());
        fs::copy(entry.path(), &path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn sql(site: &Site, statement: &str) -> Result<()> {
    Ok(rusqlite::Connection::open(site.state().join("journal.db"))?.execute_batch(statement)?)
}

fn mode(site: &Site, name: &str, mode: u32) -> Result<()> {
    let path = if name.is_empty() { site.state() } else { site.state().join(name) };
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}
