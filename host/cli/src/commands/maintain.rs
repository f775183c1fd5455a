//! `portcullis maintain`: does the work that no hook should wait for. One instance runs at a time.
//!
//! It checkpoints the journal's log and does the due work in the outbox: notifications, retention,
//! writing the journal's heads elsewhere, sweeping the cache, deleting old checkpoints, incidents
//! and messages, emptying quarantines, sending the journal to a fleet's hub, delivering exports, and
//! recording what outlives the journal. Failed work is
//! retried with growing delays until it succeeds; `doctor` names what keeps failing.

mod exporting;
mod protection;
mod sending;

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_checkpoint::Retention;
use portcullis_config::Config;
use portcullis_config::boundary::{find_record_commands, user_of_state};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::{PathOverrides, Paths, own_program};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::count_noun;
use portcullis_review::checkpoints;
use portcullis_review::exports;
use portcullis_review::hook::HookCaller;
use portcullis_review::incidents;
use portcullis_review::installed;
use portcullis_review::notifications::{self, deliver};
use portcullis_review::quarantine;
use portcullis_review::reviewer::code_cache;
use portcullis_review::stored_records::to_store;
use portcullis_store::{Durability, Home, NewWork, SEALED, Store, WorkItem};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::Builder;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Do all work now, even if it is not due
    #[arg(long)]
    all: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    /// Detach from the session that started it
    #[arg(long, hide = true)]
    detached: bool,
}

const MINUTE: u64 = 60 * 1000;
const DAY: u64 = 24 * 60 * MINUTE;
/// The age at which compiled code is removed that no plugin of the configuration needs.
const SWEEP_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The longest wait for messages that are about to be retried, in milliseconds.
const LINGER: u64 = 15 * MINUTE;
/// The interval between checks for due messages.
const LOOK: Duration = Duration::from_secs(5);
/// The most tasks done in one run.
const MOST: u64 = 100;

/// Recurring tasks: kind and period.
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

/// Does the due work.
pub fn run_maintain(arguments: &Arguments) -> Result<CommandExit> {
    if arguments.detached {
        // Fails only for the leader of a process group, which is already detached.
        let _own_session = rustix::process::setsid();
    }
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let Some(failed) = pass(arguments, &places, &home)? else {
        print_result(arguments, "busy", "another instance is running");
        return Ok(CommandExit::Success);
    };
    if arguments.detached {
        linger(arguments, &places, &home)?;
    }
    Ok(CommandExit::of_check(!failed))
}

/// Runs one pass and returns whether anything failed; `None` if another instance is running.
fn pass(arguments: &Arguments, places: &Paths, home: &Home) -> Result<Option<bool>> {
    let mut failed = None;
    let mut until = if arguments.all { u64::MAX >> 1 } else { now_ms() };
    while let Some(lock) = take_lock(home)? {
        let config = Config::load(places, Some(home)).or_else(|_| {
            sending::fetch_orders_alone(places, home);
            Config::load(places, Some(home))
        })?;
        let mut store = Store::open_database(home, config.durability)?;
        let done = work(arguments, &mut store, &Site { places, home, config: &config }, until)?;
        failed = Some(failed.unwrap_or(false) || done);
        let due = store.list_due(until, MOST)?;
        drop(lock);
        let due = due.into_iter().filter(|work| work.kind == exports::WORK).collect();
        let reports = exporting::deliver_exports(places, home, &config, due, arguments.all)?;
        for (name, delivered) in reports {
            failed = failed.map(|before| before || delivered.is_err());
            let what = delivered.unwrap_or_else(|error| format!("failed: {}", error.in_line()));
            print_result(arguments, exports::WORK, &format!("{name}: {what}"));
        }
        // A process that wanted work done in the meantime found the lock taken, and left.
        until = now_ms();
        if !store.work_due(until)? {
            break;
        }
    }
    if failed.is_some()
        && let Err(error) = protection::report_protection(places, home, arguments.all)
    {
        print_result(arguments, "protection", &format!("not reported: {}", error.in_line()));
    }
    Ok(failed)
}

/// Does the work that is due by `until`; returns true if anything failed.
fn work(arguments: &Arguments, store: &mut Store, site: &Site<'_>, until: u64) -> Result<bool> {
    if arguments.all || store.checkpoint_due() {
        store.checkpoint_log()?;
        print_result(arguments, "checkpoint", "the journal's log was moved into its database");
    }
    for (kind, _) in RECURRING {
        store.enqueue_work(&NewWork {
            kind: (*kind).to_owned(),
            due_at: now_ms(),
            ..NewWork::default()
        })?;
    }
    sending::queue_work(store, site.home)?;
    exporting::queue_work(store, site.config)?;
    let commands = find_record_commands(&site.places.state);
    let mut messages =
        deliver::DeliveryRun::new(site.home, site.config, &site.places.person, commands);
    let mut failed = false;
    for work in store.list_due(until, MOST)? {
        // They follow when nobody waits for the lock.
        if work.kind == exports::WORK {
            continue;
        }
        let done = if work.kind == notifications::KIND {
            let Some(done) = messages.deliver_item(store, &work, now_ms())? else { continue };
            done.map_err(|error| Error::io(error.to_string()))
        } else if work.kind == portcullis_fleet::WORK {
            sending::send_records(store, &work, site.home, site.places, site.config)?
        } else {
            let done = perform(&work, store, site);
            finish(store, &work, done.as_ref().err())?;
            done
        };
        failed |= done.is_err();
        match done {
            Ok(what) => print_result(arguments, &work.kind, &what),
            Err(error) => {
                print_result(arguments, &work.kind, &format!("failed: {}", error.in_line()))
            }
        }
    }
    Ok(failed)
}

/// Waits for messages that are about to be retried, and for records that the hub does not have: after a session has ended, no hook would start
/// another instance. Only one process waits at a time, and it holds nothing that others wait for.
fn linger(arguments: &Arguments, places: &Paths, home: &Home) -> Result<()> {
    let Some(_only) = hold(home, "linger.lock")? else { return Ok(()) };
    let end = now_ms().saturating_add(LINGER);
    loop {
        let store = Store::open_database(home, Durability::Process)?;
        let waiting = notifications::list_waiting(&store)?;
        let sending = sending::next_attempt(&store, home)?;
        let exporting = exporting::next_attempt(&store, places, home)?;
        drop(store);
        let Some(next) = waiting
            .iter()
            .map(|waits| waits.work.due_at)
            .chain(sending)
            .chain(exporting)
            .min()
            .filter(|next| *next <= end)
        else {
            return Ok(());
        };
        let wait = next.saturating_sub(now_ms());
        // Wait in small steps, since another message can become the next one. If another instance
        // has taken over, stop waiting.
        if wait > 0 || pass(arguments, places, home)?.is_none() {
            std::thread::sleep(LOOK.min(Duration::from_millis(wait.max(1000))));
        }
    }
}

/// Takes the lock; `None` if another instance holds it.
pub fn take_lock(home: &Home) -> Result<Option<File>> {
    hold(home, "maintain.lock")
}

fn hold(home: &Home, name: &str) -> Result<Option<File>> {
    let path = home.path().join(name);
    let lock = portcullis_fs::open_lock_file(&path);
    let lock = lock.with_context(|| format!("cannot open `{}`", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock `{}`", path.display()))
        }
    }
}

struct Site<'a> {
    places: &'a Paths,
    home: &'a Home,
    config: &'a Config,
}

fn perform(work: &WorkItem, store: &mut Store, site: &Site<'_>) -> Result<String> {
    Ok(match work.kind.as_str() {
        RETENTION => retain(store, site)?,
        ANCHORS => anchor(store, &site.config.audit.anchors)?,
        SWEEP => sweep(site)?,
        CHECKPOINTS => forget(site)?,
        incidents::WORK => incidents::save_incident(store, site.home, &work.key)?,
        INCIDENTS => {
            incidents::expire_incidents(site.home, site.config.incidents.kept_days, now_ms())?
        }
        MESSAGES => notifications::purge_expired(store, site.config.messages_days, now_ms())?,
        quarantine::WORK => quarantine::save_entry(store, site.home, &work.key)?,
        SEALED => sealed(store, site.home, &work.document)?,
        QUARANTINE => quarantine::purge_expired(
            store,
            site.home,
            user_of_state(site.home.path()),
            site.config.quarantine_days,
            now_ms(),
        )?,
        other => {
            return Err(Error::invalid(format!(
                "this version knows no work of the kind `{other}`"
            )));
        }
    })
}

/// Reschedules work: completed work after its period, failed work after one, two, four minutes, up
/// to a day.
fn finish(store: &mut Store, work: &WorkItem, error: Option<&Error>) -> Result<()> {
    if let Some(error) = error {
        let wait = MINUTE.saturating_mul(1 << work.attempts.min(11)).min(DAY);
        store.work_failed(
            work.id,
            &portcullis_core::text::one_line(&error.in_line(), 512),
            now_ms().saturating_add(wait),
        )?;
        return Ok(());
    }
    store.work_done(work.id)?;
    if let Some((kind, period)) = RECURRING.iter().find(|(kind, _)| *kind == work.kind) {
        store.enqueue_work(&NewWork {
            kind: (*kind).to_owned(),
            due_at: now_ms().saturating_add(*period),
            ..NewWork::default()
        })?;
    }
    Ok(())
}

/// Records that the states of an older version's journal were sealed, and writes down which
/// sessions are stopped.
fn sealed(store: &mut Store, home: &Home, sessions: &str) -> Result<String> {
    incidents::keep_stops(store, home)?;
    let summary = format!(
        "an older version's journal was migrated: the states of its sessions ({sessions}) were \
         sealed as they were found"
    );
    let record = Record::outside_session(
        RecordKind::Configuration,
        "migration",
        &summary,
        now_ms(),
        &std::process::id().to_string(),
    );
    store.append_records(vec![to_store(&record)])?;
    Ok(summary)
}

fn retain(store: &mut Store, site: &Site<'_>) -> Result<String> {
    let days = site.config.audit.retention_days;
    if days == 0 {
        return Ok("records are kept forever".into());
    }
    let before = now_ms().saturating_sub(u64::from(days).saturating_mul(DAY));
    let before = sending::hold_unsent(store, site.home, before)?;
    let pruned = store.prune_before(before, now_ms())?;
    let age = count_noun(u64::from(days), "day");
    let removed = format!("removed {} older than {age}", count_noun(pruned.records, "record"));
    if pruned.keys == 0 {
        return Ok(removed);
    }
    let destroyed = format!(
        "destroyed {}: what they encrypted is unreadable in every copy",
        count_noun(pruned.keys, "key")
    );
    let seed = std::process::id().to_string();
    let kind = RecordKind::Configuration;
    let record = Record::outside_session(kind, "retention", &destroyed, now_ms(), &seed);
    store.append_records(vec![to_store(&record)])?;
    Ok(format!("{removed}; {destroyed}"))
}

/// Appends the journal's head to files in places where the journal's owner cannot rewrite them.
fn anchor(store: &mut Store, files: &[std::path::PathBuf]) -> Result<String> {
    if files.is_empty() {
        return Ok("no file for the journal's head is configured".into());
    }
    let line = format!("{}\n", store.head_anchor(now_ms())?);
    let failed: Vec<String> = files
        .iter()
        .filter_map(|path| append(path, &line).err().map(|error| error.in_line()))
        .collect();
    if !failed.is_empty() {
        return Err(Error::io(failed.join("; ").to_string()));
    }
    Ok(format!("the journal's head was written to {}", count_noun(files.len() as u64, "file")))
}

/// Appends a line with a single write to a regular file; a pipe would block until it is read.
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
    let mut reviewer =
        installed::load_reviewer(site.places, site.home, site.config.clone(), &[], now_ms())?;
    let in_use: Vec<String> = reviewer
        .plugins
        .describe_all()
        .into_iter()
        .filter_map(|plugin| Some(plugin.inspection.ok()?.digest))
        .collect();
    let swept = code_cache(site.home).sweep_unused(&in_use, SWEEP_AFTER)?;
    Ok(format!(
        "removed {} of the cache, {} KiB",
        count_noun(swept.files, "file"),
        swept.bytes >> 10
    ))
}

/// Deletes checkpoints that are too old or too many.
fn forget(site: &Site<'_>) -> Result<String> {
    let config = &site.config.checkpoints;
    checkpoints::sweep_older(site.home.path(), config.kept)?;
    if !checkpoints::vault_folder(site.home.path()).exists() {
        return Ok("no checkpoints are kept".into());
    }
    let retention = Retention { keep: config.kept, max_bytes: config.max_total };
    let vault = checkpoints::open_vault(site.home.path(), site.home.data_keys(), config)?;
    let collected = vault.collect_garbage(&retention, now_ms())?;
    let (before, after) = (collected.bytes_before >> 10, collected.bytes_after >> 10);
    let destroyed = match collected.keys {
        0 => String::new(),
        keys => format!("; destroyed {}", count_noun(keys, "key")),
    };
    Ok(format!(
        "removed {}; the contents take {after} KiB, {before} KiB before{destroyed}",
        count_noun(collected.checkpoints, "checkpoint")
    ))
}

fn print_result(arguments: &Arguments, kind: &str, what: &str) {
    if arguments.json {
        paint::print_text(&format!("{}\n", serde_json::json!({ "work": kind, "result": what })));
    } else if !arguments.detached {
        paint::print_text(&format!("{kind:10} {what}\n"));
    }
}

/// Starts `maintain` beside a process that goes on, and awaits its end there: otherwise the process
/// would keep its remains.
pub fn start_beside() {
    let Some(mut process) = start_detached() else { return };
    let wait = move || drop(process.wait());
    drop(Builder::new().name("portcullis-maintain".into()).spawn(wait));
}

/// Starts `maintain` for the installation of a hook that handed its event over, with the hook's
/// environment.
pub fn start_for_hook(caller: &HookCaller) {
    let Some(mut command) = detached_command(&caller.pins) else { return };
    // Another user's variables must not reach a process of this one.
    if caller.across.is_none() {
        command.env_clear().envs(caller.environment.variables());
    }
    let Ok(mut process) = command.spawn() else { return };
    let wait = move || drop(process.wait());
    drop(Builder::new().name("portcullis-maintain".into()).spawn(wait));
}

/// Starts `maintain` in a process group and session of its own, without inherited descriptors: the
/// client that waits for this hook must not wait for it, and its timeout must not end it.
/// Returns the process; `None` if it could not be started.
pub fn start_detached() -> Option<Child> {
    // If it cannot be started, the log grows until a commit checkpoints it.
    detached_command(&PathOverrides::held())?.spawn().ok()
}

fn detached_command(pins: &PathOverrides) -> Option<Command> {
    let program = own_program().ok()?;
    // Our own descriptors close by themselves; the client may have passed on others.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let mut command = Command::new(program);
    command.args(["maintain", "--detached"]).args(pins.as_arguments()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    Some(command)
}
