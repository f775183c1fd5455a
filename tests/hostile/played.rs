//! Attacks that are more than a file and an action.

use crate::attacks::Attack;
use crate::common::reply::Answer;
use crate::common::site::{LIMIT, Site};
use crate::common::{guests, process};
use crate::guest::from_text;
use crate::meter::Used;
use crate::review::{BENIGN, NAME, asked, judged, newest, others_answered};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The content of a file outside the granted folder.
const CANARY: &str = "canary";

/// A name that its owner granted resolves to this machine: nothing is sent there.
pub fn rebinds(site: &Site, attack: &Attack) -> Result<Used> {
    let (port, seen) = server("")?;
    let host = format!("http://localhost:{port}");
    requests(site, attack, &host, &format!("GET {host}/"), "resolves to")?;
    let (_, cost) = asked(site, "again")?;
    ensure!(seen.load(Ordering::Relaxed) == 0, "a private address was asked under a name");
    Ok(cost)
}

/// A granted host redirects to one that is not granted: that is another request, and is not sent.
pub fn follows_a_redirect(site: &Site, attack: &Attack) -> Result<Used> {
    let (behind, reached) = server("")?;
    let (port, seen) = server(&format!("location: http://127.0.0.1:{behind}/\r\n"))?;
    let host = format!("http://127.0.0.1:{port}");
    requests(site, attack, &host, &format!("GET {host}/ follow"), "this host is not granted")?;
    let (_, cost) = asked(site, "again")?;
    ensure!(
        (seen.load(Ordering::Relaxed), reached.load(Ordering::Relaxed)) == (2, 0),
        "asked, and asked behind it: {seen:?}, {reached:?}"
    );
    Ok(cost)
}

/// Makes the web guest send the requests in `asks` with this host granted; one request is refused,
/// for that reason.
fn requests(site: &Site, attack: &Attack, host: &str, asks: &str, why: &str) -> Result<()> {
    install(site, &fs::read(guests::web()?)?)?;
    site.write(
        "config.toml",
        format!("[plugins.{NAME}]\ngrants.hosts = [\"{host}\"]\nsettings.asks = \"{asks}\"\n"),
    )?;
    let (reply, _) = asked(site, "request")?;
    let record = newest(site)?;
    judged(attack, &reply, &record).with_context(|| record.to_string())?;
    let refused: Vec<String> =
        uses(&record).iter().filter_map(|one| Some(one["refused"].as_str()?.to_owned())).collect();
    ensure!(
        refused.len() == 1 && refused.iter().all(|reason| reason.contains(why)),
        "refused: {refused:?}"
    );
    Ok(())
}

/// Starts a server that answers with a redirect with these headers as long as the tests run;
/// returns its port and the number of requests.
fn server(headers: &str) -> Result<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, seen) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
    let (count, answer) =
        (Arc::clone(&seen), format!("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n{headers}\r\n"));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Ok((port, seen))
}

/// The result of a hundred plugins.
struct Hundred {
    /// The fault of each.
    faults: Vec<Option<String>>,
    /// The resources of the hook.
    used: Used,
    /// The time it took.
    took: Duration,
}

/// The answer is sent at the wall-clock deadline, and plugins that were not called have a fault.
pub fn hundred_spin(site: &Site, attack: &Attack) -> Result<Used> {
    let (benign, looping) = (hundred(site, BENIGN)?, hundred(site, "loops")?);
    ensure!(
        benign.faults.iter().all(Option::is_none),
        "benign guests have faults: {:?}",
        benign.faults
    );
    let most = Duration::from_millis(2_300) + benign.took * 3;
    ensure!(looping.took <= most, "it took {:?}: at most {most:?}", looping.took);
    let named =
        |kind: &str| looping.faults.iter().flatten().filter(|fault| **fault == kind).count();
    let (ended, late, waiting) = (named("out-of-fuel"), named("timeout"), named("not-run"));
    ensure!(
        ended + late + waiting == 100,
        "{ended} ended, {late} were ended, {waiting} had no turn"
    );
    ensure!(newest(site)?["verdict"] == attack.verdict, "{}", newest(site)?);
    Ok(looping.used)
}

/// Installs one guest under a hundred names.
fn hundred(site: &Site, guest: &str) -> Result<Hundred> {
    let (bytes, names) = (from_text(guest)?, (0..100).map(|number| format!("{guest}-{number:02}")));
    let _ = fs::remove_dir_all(site.state().join("plugins"));
    for name in names.clone() {
        site.write(&format!("plugins/{name}.wasm"), &bytes)?;
    }
    let begun = Instant::now();
    let (_, used) = asked(site, guest)?;
    let (took, record) = (begun.elapsed(), newest(site)?);
    others_answered(&record)?;
    let faults = record["faults"].as_array().into_iter().flatten();
    let faults: BTreeMap<&str, &str> = faults
        .filter_map(|fault| Some((fault["source"].as_str()?, fault["kind"].as_str()?)))
        .collect();
    Ok(Hundred {
        faults: names
            .map(|name| faults.get(name.as_str()).map(|kind| (*kind).to_owned()))
            .collect(),
        used,
        took,
    })
}

/// Only the permitted file is opened; each way out is refused, and most are recorded as attempts.
pub fn leaves_its_folder(site: &Site, attack: &Attack) -> Result<Used> {
    let (inside, outside) = folders(site)?;
    symlink("../canary", inside.join("up"))?;
    symlink(&outside, inside.join("absolute"))?;
    symlink("..", inside.join("around"))?;
    fs::hard_link(&outside, inside.join("linked"))?;
    pipe(&inside.join("pipe"))?;
    install(site, &from_text(attack.name)?)?;
    let (reply, cost) = asked(site, "folder")?;
    let record = newest(site)?;
    judged(attack, &reply, &record).with_context(|| record.to_string())?;
    let uses = uses(&record);
    let (refused, used): (Vec<&Value>, Vec<&Value>) =
        uses.iter().partition(|one| !one["refused"].is_null());
    ensure!(refused.len() >= 6 && used.len() == 1, "{uses:?}");
    Ok(cost)
}

/// A name may change its target while it is opened: content from outside is never read.
pub fn races_for_a_file(site: &Site, attack: &Attack) -> Result<Used> {
    let (inside, outside) = folders(site)?;
    let (file, spare) = (inside.join("mine.txt"), site.root().join("spare"));
    install(site, &from_text(attack.name)?)?;
    let swap = |turn: u32| -> Result<()> {
        match turn % 3 {
            0 => symlink(&outside, &spare)?,
            1 => fs::hard_link(&outside, &spare)?,
            _ => fs::write(&spare, "mine")?,
        }
        fs::rename(&spare, &file)?;
        // Renaming one name of a file to another name of it does nothing.
        let _ = fs::remove_file(&spare);
        Ok(())
    };
    let (mut cost, mut read, mut refused) = (Used::default(), 0, 0);
    meanwhile(swap, || {
        for round in 0..15 {
            let (reply, used) = asked(site, &round.to_string())?;
            let record = newest(site)?;
            judged(attack, &reply, &record).with_context(|| record.to_string())?;
            cost = cost.worse(used);
            read += uses(&record).iter().filter(|one| one["refused"].is_null()).count();
            refused += uses(&record).iter().filter(|one| !one["refused"].is_null()).count();
        }
        Ok(())
    })?;
    ensure!(
        read > 0 && refused > 0,
        "there was no race: {read} times it read, {refused} times it was refused"
    );
    Ok(cost)
}

/// Nothing has to be believed of a guest: without a grant its clock is fixed and its random numbers
/// are constant, and a replay grants nothing.
pub fn asks_the_clock_and_chance(site: &Site, attack: &Attack) -> Result<Used> {
    install(site, &from_text(attack.name)?)?;
    let mut cost = Used::default();
    let mut said = |id: &str| -> Result<String> {
        let (reply, used) = asked(site, id)?;
        judged(attack, &reply, &newest(site)?)?;
        cost = cost.worse(used);
        let (_, words) = reply
            .said
            .split_once("says: \"")
            .ok_or_else(|| anyhow!("it is not quoted: {reply:?}"))?;
        Ok(words.get(..48).unwrap_or_default().to_owned())
    };
    let (first, second) = (said("first")?, said("second")?);
    ensure!(first[32..] == second[32..], "its random numbers differ: {first} and {second}");
    site.write(
        "config.toml",
        format!("[plugins.{NAME}.grants]\nclocks = true\nrandom = \"system\"\n"),
    )?;
    let (first, second) = (said("third")?, said("fourth")?);
    ensure!(first[32..] != second[32..], "what is granted is not given: {first} and {second}");
    let session = site.root().join("session.jsonl");
    fs::write(&session, format!("{}\n", site.calls("past").bash("1", "ls")))?;
    let replay = || site.output(&["replay", "--json", &session.to_string_lossy()]);
    let (first, second) = (replay()?, replay()?);
    ensure!(first == second && first.contains("lucky"), "two replays: {first} and {second}");
    Ok(cost)
}

/// A plugin cannot have a name of the host, and gains nothing by it.
pub fn takes_our_name(site: &Site, attack: &Attack) -> Result<Used> {
    site.write("plugins/portcullis.wasm", from_text(BENIGN)?)?;
    let (reply, cost) = asked(site, "name")?;
    ensure!(reply.answer == Answer::Refused && attack.verdict == "block", "{reply:?}");
    reply.says(&["`portcullis`"])?;
    Ok(cost)
}

/// Nothing blocks on a writer of the pipe.
pub fn becomes_a_pipe(site: &Site, attack: &Attack) -> Result<Used> {
    install(site, &from_text(BENIGN)?)?;
    for round in ["first", "second"] {
        ensure!(asked(site, round)?.0.answer == Answer::Quiet, "it was no good file");
    }
    let file = place(site);
    fs::remove_file(&file)?;
    pipe(&file)?;
    let (reply, cost) = asked(site, "pipe")?;
    judged(attack, &reply, &newest(site)?)?;
    Ok(cost)
}

/// The code that ran is the one that was read and that the record names: one of the two files.
pub fn is_swapped(site: &Site, attack: &Attack) -> Result<Used> {
    // The plugin must keep running despite repeated failures.
    site.write("config.toml", "breaker.faults = 0\n")?;
    let both = [from_text(BENIGN)?, from_text("loops")?];
    let mut digests = Vec::new();
    for bytes in &both {
        install(site, bytes)?;
        asked(site, "apart")?;
        digests.push(digest(&newest(site)?)?);
    }
    let (file, spare) = (place(site), site.root().join("spare.wasm"));
    let swap = |turn: u32| {
        fs::write(&spare, &both[turn as usize % 2])?;
        Ok(fs::rename(&spare, &file)?)
    };
    let mut seen = [0, 0];
    meanwhile(swap, || {
        for round in 0..40 {
            let (reply, _) = asked(site, &round.to_string())?;
            let record = newest(site)?;
            let which = usize::from(reply.answer != Answer::Quiet);
            ensure!(
                digest(&record)? == digests[which],
                "another file ran than the record names: {record}"
            );
            seen[which] += 1;
        }
        Ok(())
    })?;
    ensure!(seen[0] > 0 && seen[1] > 0, "there was no race: {seen:?}");
    install(site, &both[1])?;
    let (reply, cost) = asked(site, "last")?;
    judged(attack, &reply, &newest(site)?)?;
    Ok(cost)
}

/// Compiled code for another component, or damaged code, sealed by the installation itself. It does
/// not run, and is compiled again.
pub fn forged_code(site: &Site, attack: &Attack) -> Result<Used> {
    install(site, &from_text("loops")?)?;
    asked(site, "other")?;
    let other = fs::read(code(site)?)?;
    install(site, &from_text(BENIGN)?)?;
    asked(site, "good")?;
    let (file, good) = (code(site)?, fs::read(code(site)?)?);
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let mut cost = Used::default();
    for forged in [&other, &flipped, &good[..middle].to_vec(), &Vec::new()] {
        ensure!(*forged != good, "it is not another");
        fs::write(&file, forged)?;
        let (reply, used) = asked(site, "forged")?;
        judged(attack, &reply, &newest(site)?)?;
        ensure!(fs::read(&file)? == good, "it was not made again");
        cost = cost.worse(used);
    }
    Ok(cost)
}

/// Returns the compiled code of the plugin as it was last called.
fn code(site: &Site) -> Result<PathBuf> {
    let digest = digest(&newest(site)?)?;
    let files =
        fs::read_dir(site.state().join("cache"))?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut named = files.filter(|path| {
        path.extension().is_some_and(|end| end == "code")
            && path.to_string_lossy().contains(&digest)
    });
    named.next().ok_or_else(|| anyhow!("`{digest}` has no compiled code"))
}

fn digest(record: &Value) -> Result<String> {
    Ok(plugin(record)?["digest"]
        .as_str()
        .ok_or_else(|| anyhow!("it has no digest: {record}"))?
        .to_owned())
}

/// Returns how the plugin's grants were used, or would have been.
fn uses(record: &Value) -> Vec<Value> {
    plugin(record).ok().and_then(|plugin| plugin["uses"].as_array().cloned()).unwrap_or_default()
}

fn plugin(record: &Value) -> Result<&Value> {
    let mut all = record["plugins"].as_array().into_iter().flatten();
    all.find(|plugin| plugin["name"] == NAME).ok_or_else(|| anyhow!("it was not asked: {record}"))
}

fn install(site: &Site, bytes: &[u8]) -> Result<()> {
    site.write(&format!("plugins/{NAME}.wasm"), bytes)
}

fn place(site: &Site) -> PathBuf {
    site.state().join(format!("plugins/{NAME}.wasm"))
}

/// Returns a folder that the plugin may read, with a file, and a file outside of it.
fn folders(site: &Site) -> Result<(PathBuf, PathBuf)> {
    let (inside, outside) = (site.project(), site.root().join("canary"));
    fs::write(inside.join("mine.txt"), "mine")?;
    fs::write(&outside, CANARY)?;
    site.write("config.toml", format!("[plugins.{NAME}.grants]\nproject = true\n"))?;
    Ok((inside, outside))
}

fn pipe(path: &Path) -> Result<()> {
    let mut command = Command::new("mkfifo");
    command.arg(path);
    let ended = process::run(command, b"", LIMIT)?;
    ensure!(ended.code == Some(0), "no pipe could be made: {}", ended.all());
    Ok(())
}

/// Repeats an action with pauses while other work is done.
fn meanwhile(
    again: impl Fn(u32) -> Result<()> + Sync,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let turning = scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                again(turn)?;
                // Without a pause the file system schedules both in lockstep.
                thread::sleep(Duration::from_millis(1));
                turn += 1;
            }
            Ok(())
        });
        let worked = work();
        done.store(true, Ordering::Relaxed);
        let turned: Result<()> =
            turning.join().unwrap_or_else(|_| Err(anyhow!("whoever turns ended")));
        worked.and(turned)
    })
}
