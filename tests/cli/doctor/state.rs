//! Breaks our own folders: key, journal, configuration, plugins, compiled code.

use super::Row;
use super::installed::{Installed, mode};
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn journal(installed: &Installed, statement: &str) -> Result<()> {
    let connection = rusqlite::Connection::open(installed.state("journal.db"))?;
    connection.execute_batch(statement).with_context(|| format!("cannot run `{statement}`"))?;
    // Files that root's connection created are given back to the person.
    drop(connection);
    installed.give_back()
}

fn config(installed: &Installed, text: &str) -> Result<()> {
    installed.put(&installed.state("config.toml"), text)
}

fn no_config(installed: &Installed) -> Result<()> {
    Ok(fs::remove_file(installed.state("config.toml"))?)
}

/// Overwrites a part of a file.
fn scribble(installed: &Installed, name: &str, from: u64, length: usize) -> Result<()> {
    let mut file = OpenOptions::new().write(true).open(installed.state(name))?;
    file.seek(SeekFrom::Start(from))?;
    Ok(file.write_all(&vec![0xa5; length])?)
}

fn forget_journal(installed: &Installed) -> Result<()> {
    installed.site().forget_journal()
}

/// Moves the journal's log into its database, so that damaged pages are not read from the log.
fn settled(installed: &Installed) -> Result<()> {
    journal(installed, "PRAGMA wal_checkpoint(TRUNCATE)")
}

pub fn rows() -> Vec<Row> {
    [folders(), database(), configuration(), plugins()].into_iter().flatten().collect()
}

fn folders() -> Vec<Row> {
    vec![
        Row {
            name: "others can read the key",
            breaks: |installed| mode(&installed.state("key"), 0o644),
            check: "permissions",
            level: "problem",
            says: &["others can read", "key", "chmod go-rwx"],
            fix: Some(|installed| mode(&installed.state("key"), 0o600)),
        },
        Row {
            name: "others can write the state folder",
            breaks: |installed| mode(&installed.site().state(), 0o777),
            check: "permissions",
            level: "problem",
            says: &["others can change", "mode is 777", "chmod go-w"],
            fix: Some(|installed| mode(&installed.site().state(), 0o700)),
        },
        Row {
            name: "others can replace the state folder",
            breaks: |installed| mode(installed.site().root(), 0o777),
            check: "permissions",
            level: "problem",
            says: &["others can replace", "is open to them"],
            fix: Some(|installed| mode(installed.site().root(), 0o755)),
        },
        Row {
            name: "others can write compiled code",
            breaks: |installed| mode(&installed.state("cache"), 0o777),
            check: "permissions",
            level: "problem",
            says: &["cache", "chmod go-rwx"],
            fix: Some(|installed| mode(&installed.state("cache"), 0o700)),
        },
        Row {
            name: "the key is gone",
            breaks: |installed| Ok(fs::remove_file(installed.state("key"))?),
            check: "permissions",
            level: "problem",
            says: &["the key", "is gone", "backup"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the key is cut",
            breaks: |installed| {
                Ok(File::options().write(true).open(installed.state("key"))?.set_len(7)?)
            },
            check: "permissions",
            level: "problem",
            says: &["7 bytes, not 32", "backup"],
            fix: Some(|installed| {
                fs::remove_file(installed.state("key"))?;
                installed.recover()
            }),
        },
        Row {
            name: "the state folder is gone",
            breaks: |installed| Ok(fs::remove_dir_all(installed.site().state())?),
            check: "permissions",
            level: "problem",
            says: &["is missing", "install claude"],
            fix: None,
        },
    ]
}

fn database() -> Vec<Row> {
    vec![
        Row {
            name: "the database is read-only",
            breaks: |installed| mode(&installed.state("journal.db"), 0o444),
            check: "database",
            level: "problem",
            says: &["cannot write", "journal.db", "chmod u+w"],
            fix: Some(|installed| mode(&installed.state("journal.db"), 0o600)),
        },
        Row {
            name: "the state folder is read-only",
            breaks: |installed| mode(&installed.site().state(), 0o500),
            check: "database",
            level: "problem",
            says: &["cannot write", "cannot be recorded"],
            fix: Some(|installed| mode(&installed.site().state(), 0o700)),
        },
        Row {
            name: "the database is not a database",
            breaks: |installed| {
                settled(installed)?;
                scribble(installed, "journal.db", 0, 100)
            },
            check: "database",
            level: "problem",
            says: &["journal.db", "damaged", "portcullis recover"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the database is empty",
            breaks: |installed| {
                forget_journal(installed)?;
                installed.put(&installed.state("journal.db"), "")
            },
            check: "database",
            level: "problem",
            says: &["the file is empty"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "a page of the database is damaged",
            breaks: |installed| {
                settled(installed)?;
                scribble(installed, "journal.db", 2048, 6 * 2048)
            },
            check: "database",
            level: "problem",
            says: &["damaged"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the database is of a newer version",
            breaks: |installed| journal(installed, "PRAGMA user_version = 99"),
            check: "database",
            level: "problem",
            says: &["format 99", "newer version"],
            fix: None,
        },
        Row {
            name: "the journal is gone",
            breaks: |installed| installed.site().forget_database(),
            check: "database",
            level: "problem",
            says: &["is gone", "journal.mark", "backup", "portcullis recover"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the mark of the journal is gone",
            breaks: |installed| Ok(fs::remove_file(installed.state("journal.mark"))?),
            check: "database",
            level: "problem",
            says: &["is not the journal that this home knows", "recover --keep"],
            fix: Some(|installed| {
                installed.at_a_terminal(&["recover", "--keep"], "the journal was taken as it is")
            }),
        },
        Row {
            name: "the state of a session was copied over another one's",
            breaks: |installed| {
                installed.hook(&installed.site().calls("one").bash("1", "ls"))?;
                installed.hook(&installed.site().calls("two").bash("1", "ls"))?;
                journal(
                    installed,
                    "UPDATE states SET state = (SELECT state FROM states WHERE session = 'one' AND part = 's') \
                     WHERE session = 'two' AND part = 's'",
                )
            },
            check: "chain",
            level: "problem",
            says: &[
                "the state of the session `two`",
                "was changed from outside",
                "portcullis recover",
            ],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the journal was removed and begun again",
            breaks: |installed| {
                forget_journal(installed)?;
                File::options()
                    .write(true)
                    .open(installed.state("key"))?
                    .set_modified(SystemTime::now() - 2 * DAY)?;
                installed.hook(&installed.site().calls("later").bash("1", "ls"))?;
                Ok(())
            },
            check: "chain",
            level: "warning",
            says: &["2 days after its key was made", "backup"],
            fix: None,
        },
        Row {
            name: "the key is another one",
            breaks: |installed| {
                let mut key = fs::read(installed.state("key"))?;
                key.reverse();
                installed.put(&installed.state("key"), key)?;
                mode(&installed.state("key"), 0o600)
            },
            check: "database",
            level: "problem",
            says: &["its anchor does not match the home's key", "audit verify"],
            fix: Some(|installed| {
                let mut key = fs::read(installed.state("key"))?;
                key.reverse();
                installed.put(&installed.state("key"), key)
            }),
        },
        Row {
            name: "a record was changed",
            breaks: |installed| {
                journal(
                    installed,
                    "UPDATE journal SET sealed = zeroblob(length(sealed)) WHERE kind = 'review'",
                )
            },
            check: "chain",
            level: "problem",
            says: &["was changed at record", "the document is not the one", "audit verify"],
            fix: Some(Installed::recover),
        },
        Row {
            name: "the clock was set back by a day",
            breaks: |installed| {
                journal(
                    installed,
                    "UPDATE journal SET at = at + 86400000 WHERE sequence = (SELECT max(sequence) FROM journal)",
                )
            },
            check: "clock",
            level: "problem",
            says: &["23 hours after now", "set back", "set the clock"],
            fix: Some(Installed::begin_anew),
        },
    ]
}

fn configuration() -> Vec<Row> {
    let row = |name, breaks, level, says| Row {
        name,
        breaks,
        check: "configuration",
        level,
        says,
        fix: Some(no_config),
    };
    vec![
        row(
            "the configuration is broken",
            |installed| config(installed, "mode = "),
            "problem",
            &["config.toml", "each action is refused"],
        ),
        row(
            "an unknown key",
            |installed| config(installed, "hold_setings = true"),
            "problem",
            &["hold_setings", "hold_settings"],
        ),
        row(
            "a wrong type",
            |installed| config(installed, "mode = 1"),
            "problem",
            &["config.toml", "line 1"],
        ),
        row(
            "a builtin plugin is off",
            |installed| config(installed, "[plugins.rules]\nenabled = false"),
            "warning",
            &["`rules` is switched off", "remove `enabled`"],
        ),
        row(
            "a plugin's faults only warn",
            |installed| config(installed, "[plugins.risk]\non_fault = \"warn\""),
            "warning",
            &["an action runs although the plugin `risk` failed", "remove `on_fault`"],
        ),
        row(
            "settings are not held",
            |installed| config(installed, "hold_settings = false"),
            "warning",
            &["`hold_settings` is false"],
        ),
        Row {
            name: "observe mode",
            breaks: |installed| config(installed, "mode = \"observe\""),
            check: "canary",
            level: "note",
            says: &["`rm -rf ~` both run", "observe"],
            fix: Some(no_config),
        },
        Row {
            name: "a pause",
            breaks: |installed| {
                installed.at_a_terminal(
                    &["pause", "--for", "5m", "--reason", "an incident"],
                    "paused until",
                )
            },
            check: "mode",
            level: "warning",
            says: &["paused until", "(an incident)", "nothing is refused", "portcullis resume"],
            fix: Some(|installed| {
                installed.run(&["resume"])?;
                Ok(())
            }),
        },
        Row {
            name: "a forged pause",
            breaks: |installed| {
                installed.put(
                    &installed.state("pause"),
                    "{\"since\":0,\"until\":9999999999999,\"reason\":\"\",\"code\":\"00\"}",
                )
            },
            check: "mode",
            level: "problem",
            says: &["pauses nothing", "rm "],
            fix: Some(|installed| Ok(fs::remove_file(installed.state("pause"))?)),
        },
    ]
}

fn plugins() -> Vec<Row> {
    vec![
        Row {
            name: "a plugin's file is damaged",
            breaks: |installed| installed.put(&installed.state("plugins/odd.wasm"), "nothing"),
            check: "plugins",
            level: "problem",
            says: &[
                "odd.wasm",
                "cannot be loaded",
                "a person is asked about each action",
                "enabled = false",
            ],
            fix: Some(|installed| config(installed, "[plugins.odd]\nenabled = false")),
        },
        Row {
            name: "others can write a plugin",
            breaks: |installed| {
                installed.put(&installed.state("plugins/odd.wasm"), "nothing")?;
                mode(&installed.state("plugins/odd.wasm"), 0o666)
            },
            check: "permissions",
            level: "problem",
            says: &["odd.wasm", "chmod -R go-w"],
            fix: Some(|installed| Ok(fs::remove_file(installed.state("plugins/odd.wasm"))?)),
        },
        Row {
            name: "a plugin had faults",
            breaks: |installed| {
                installed.put(&installed.state("plugins/odd.wasm"), "nothing")?;
                installed.hook(&installed.site().calls("faulty").bash("1", "ls"))?;
                Ok(fs::remove_file(installed.state("plugins/odd.wasm"))?)
            },
            check: "faults",
            level: "warning",
            says: &["plugin `odd` had 1 fault", "load-failed", "portcullis explain"],
            fix: Some(Installed::begin_anew),
        },
        Row {
            name: "settings that a plugin refuses",
            breaks: |installed| config(installed, "[plugins.risk.settings]\nnonsense = 1"),
            check: "configuration",
            level: "problem",
            says: &["`risk`", "nonsense", "line 2"],
            fix: Some(no_config),
        },
        Row {
            name: "compiled code is garbage",
            breaks: |installed| {
                for entry in fs::read_dir(installed.state("cache"))? {
                    let path = entry?.path();
                    if path.extension().is_some_and(|end| end == "code") {
                        let mut bytes = fs::read(&path)?;
                        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                        fs::write(&path, bytes)?;
                    }
                }
                Ok(())
            },
            check: "compiled code",
            level: "warning",
            says: &["could not be used", "signature", "recompiled"],
            fix: Some(|_| Ok(())),
        },
        Row {
            name: "nothing is compiled",
            breaks: |installed| {
                fs::remove_dir_all(installed.state("cache"))?;
                Ok(())
            },
            check: "compiled code",
            level: "note",
            says: &["not compiled", "risk", "it is now"],
            fix: Some(|_| Ok(())),
        },
    ]
}
