//! `portcullis maintain`: the work that no hook should wait for. One instance at a time.
//!
//! It empties the journal's log and does what is due in the outbox: notifications, retention, heads of the journal
//! written elsewhere, sweeping the cache, forgetting old checkpoints, incidents and messages, emptying quarantines, and
//! writing down what outlives the journal. Work that fails waits longer each time and stays until it is done; `doctor` names
//! what keeps failing.

use super::hook::now;
use crate::checkpoints;
use crate::config::Config;
use crate::incidents;
use crate::notifications::{self, deliver};
use crate::paint;
use crate::places::{Pins, Places};
use crate::quarantine;
use crate::runtime::{Reviewer, code_cache};
use anyhow::{Context, Result, bail};
use portcullis_checkpoint::Retention;
use portcullis_store::{Durability, Home, NewWork, Store, Work};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Do all work now, whether or not it is due
    #[arg(long)]
    all: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    /// Leave the session of whoever started it
    #[arg(long, hide = true)]
    detached: bool,
}

const MINUTE: u64 = 60 * 1000;
const DAY: u64 = 24 * 60 * MINUTE;
/// Compiled code that no plugin of the configuration needs is kept for so long.
const SWEEP_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long messages that are tried again soon are waited for, in milliseconds.
const LINGER: u64 = 15 * MINUTE;
/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_secs(5);
/// Work that is done in one run at most.
const MOST: u64 = 100;

/// Work that comes back by itself: its kind, and after how long.
const RECURRING: &[(&str, u64)] = &[
    (RETENTION, DAY),
    (ANCHORS, DAY / 24),
    (SWEEP, 7 * DAY),
    (CHECKPOINTS, DAY / 24),
    (INCIDENTS, DAY),
    (MESSAGES, DAY),
    (QUARANTINE, DAY),
];
const RETENTION: &str = "retention";
const ANCHORS: &str = "anchors";
const SWEEP: &str = "sweep";
const CHECKPOINTS: &str = "checkpoints";
const INCIDENTS: &str = "incidents";
const MESSAGES: &str = "messages";
const QUARANTINE: &str = "quarantine";

/// Does what is due.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.detached {
        // Fails only for the leader of a process group, which is as detached.
        let _own_session = rustix::process::setsid();
    }
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let Some(failed) = pass(arguments, &places, &home)? else {
        tell(arguments, "busy", "another instance is at it");
        return Ok(0);
    };
    if arguments.detached {
        linger(arguments, &places, &home)?;
    }
    Ok(u8::from(failed))
}

/// Whether anything failed; none when another instance is at it.
fn pass(arguments: &Arguments, places: &Places, home: &Home) -> Result<Option<bool>> {
    let mut failed = None;
    let mut until = if arguments.all { u64::MAX >> 1 } else { now() };
    while let Some(lock) = lock(home)? {
        let config = Config::load(places, Some(home))?;
        let mut store = Store::open(home, config.durability)?;
        let done = work(arguments, &mut store, &Site { places, home, config: &config }, until)?;
        failed = Some(failed.unwrap_or(false) || done);
        drop(lock);
        // Whoever wanted something done in the meantime found it locked, and left.
        until = now();
        if !store.work_due(until)? {
            break;
        }
    }
    Ok(failed)
}

/// Does what is due by then; whether anything failed.
fn work(arguments: &Arguments, store: &mut Store, site: &Site<'_>, until: u64) -> Result<bool> {
    if arguments.all || store.checkpoint_due() {
        store.checkpoint()?;
        tell(arguments, "checkpoint", "the journal's log was moved into its database");
    }
    for (kind, _) in RECURRING {
        store.enqueue(&NewWork { kind: (*kind).to_owned(), due_at: now(), ..NewWork::default() })?;
    }
    let mut messages = deliver::Run::new(site.config, &site.places.person);
    let mut failed = false;
    for work in store.due(until, MOST)? {
        let done = if work.kind == notifications::KIND {
            let Some(done) = messages.deliver(store, &work, now())? else { continue };
            done.map_err(anyhow::Error::new)
        } else {
            let done = perform(&work, store, site);
            finish(store, &work, done.as_ref().err())?;
            done
        };
        failed |= done.is_err();
        match done {
            Ok(what) => tell(arguments, &work.kind, &what),
            Err(error) => tell(arguments, &work.kind, &format!("failed: {error:#}")),
        }
    }
    Ok(failed)
}

/// Stays for messages that are tried again soon: where a session has ended, no hook comes any more to start anybody.
/// One process at a time, which holds nothing that others wait for.
fn linger(arguments: &Arguments, places: &Places, home: &Home) -> Result<()> {
    let Some(_only) = hold(home, "linger.lock")? else { return Ok(()) };
    let end = now().saturating_add(LINGER);
    loop {
        let waiting = notifications::waiting(&Store::open(home, Durability::Process)?)?;
        let Some(next) = waiting.iter().map(|waits| waits.work.due_at).min().filter(|next| *next <= end) else { return Ok(()) };
        let wait = next.saturating_sub(now());
        // In small steps, since another message can become the next one. Where another instance has it, it ends.
        if wait > 0 || pass(arguments, places, home)?.is_none() {
            std::thread::sleep(LOOK.min(Duration::from_millis(wait.max(1000))));
        }
    }
}

/// None when another instance holds it.
pub fn lock(home: &Home) -> Result<Option<File>> {
    hold(home, "maintain.lock")
}

fn hold(home: &Home, name: &str) -> Result<Option<File>> {
    let path = home.path().join(name);
    let lock = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
    let lock = lock.with_context(|| format!("cannot open `{}`", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock `{}`", path.display())),
    }
}

struct Site<'a> {
    places: &'a Places,
    home: &'a Home,
    config: &'a Config,
}

fn perform(work: &Work, store: &mut Store, site: &Site<'_>) -> Result<String> {
    match work.kind.as_str() {
        RETENTION => retain(store, site.config.audit.retention_days),
        ANCHORS => anchor(store, &site.config.audit.anchors),
        SWEEP => sweep(site),
        CHECKPOINTS => forget(site),
        incidents::WORK => incidents::keep(store, site.home.path(), &work.key),
        INCIDENTS => incidents::forget(site.home.path(), site.config.incidents.kept_days, now()),
        MESSAGES => notifications::forget(store, site.config.messages_days, now()),
        quarantine::WORK => quarantine::keep(store, site.home.path(), &work.key),
        QUARANTINE => quarantine::forget(store, site.home.path(), site.config.quarantine_days, now()),
        other => bail!("this version knows no work of the kind `{other}`"),
    }
}

/// What came to its end comes back after its period; what failed after a minute, two, four, up to a day.
fn finish(store: &mut Store, work: &Work, error: Option<&anyhow::Error>) -> Result<()> {
    if let Some(error) = error {
        let wait = MINUTE.saturating_mul(1 << work.attempts.min(11)).min(DAY);
        store.work_failed(work.id, &portcullis_core::text::one_line(&format!("{error:#}"), 512), now().saturating_add(wait))?;
        return Ok(());
    }
    store.work_done(work.id)?;
    if let Some((kind, period)) = RECURRING.iter().find(|(kind, _)| *kind == work.kind) {
        store.enqueue(&NewWork { kind: (*kind).to_owned(), due_at: now().saturating_add(*period), ..NewWork::default() })?;
    }
    Ok(())
}

fn retain(store: &mut Store, days: u32) -> Result<String> {
    if days == 0 {
        return Ok("records are kept for ever".into());
    }
    let pruned = store.prune(now().saturating_sub(u64::from(days).saturating_mul(DAY)), now())?;
    Ok(format!("{} records older than {days} days were removed", pruned.records))
}

/// Appends the journal's head to files that stand where the journal's owner cannot rewrite them.
fn anchor(store: &mut Store, files: &[std::path::PathBuf]) -> Result<String> {
    if files.is_empty() {
        return Ok("no file for the journal's head is configured".into());
    }
    let line = format!("{}\n", store.head_anchor(now())?);
    let failed: Vec<String> = files.iter().filter_map(|path| append(path, &line).err().map(|error| format!("{error:#}"))).collect();
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(format!("the journal's head was written to {} files", files.len()))
}

/// One write to a regular file: a pipe would wait for its reader.
fn append(path: &Path, line: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(std::io::Error::other("it is not a file"));
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(line.as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| format!("cannot write the journal's head to `{}`", path.display()))
}

fn sweep(site: &Site<'_>) -> Result<String> {
    let mut reviewer = Reviewer::installed(site.places, site.home, site.config.clone(), &[], now())?;
    let in_use: Vec<String> = reviewer.plugins.describe().into_iter().filter_map(|plugin| Some(plugin.inspection.ok()?.digest)).collect();
    let swept = code_cache(site.home).sweep(&in_use, SWEEP_AFTER)?;
    Ok(format!("{} files of the cache, {} KiB, were removed", swept.files, swept.bytes >> 10))
}

/// Forgets checkpoints that are old, or too many.
fn forget(site: &Site<'_>) -> Result<String> {
    let config = &site.config.checkpoints;
    checkpoints::sweep(site.home.path(), config.kept)?;
    if !checkpoints::folder(site.home.path()).exists() {
        return Ok("no checkpoints are kept".into());
    }
    let retention = Retention { keep: config.kept, max_bytes: config.max_total };
    let collected = checkpoints::open(site.home.path(), config)?.collect(&retention, now())?;
    let (before, after) = (collected.bytes_before >> 10, collected.bytes_after >> 10);
    Ok(format!("{} checkpoints were forgotten; their contents take {after} KiB, {before} KiB before", collected.checkpoints))
}

fn tell(arguments: &Arguments, kind: &str, what: &str) {
    if arguments.json {
        paint::print(&format!("{}\n", serde_json::json!({ "work": kind, "result": what })));
    } else if !arguments.detached {
        paint::print(&format!("{kind:10} {what}\n"));
    }
}

/// Starts `maintain` in a process group and session of its own, without our descriptors: the client that
/// waits for this hook must not wait for it, and its time limit must not end it.
pub fn start_detached() {
    let Ok(program) = std::env::current_exe() else { return };
    // Ours close by themselves; a client may have left us others.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let mut command = Command::new(program);
    command.args(["maintain", "--detached"]).args(Pins::arguments()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // Where it cannot be started the log grows until a commit empties it itself.
    drop(command.spawn());
}
