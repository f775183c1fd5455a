//! Tests of the process that compiles third-party code: it limits itself, ends with its hook, and
//! any abnormal end is a fault. `tests/hostile` covers components that are made to be hard to
//! compile.

use crate::bombs::{around, huge_function, large_data, many_locals};
use crate::common::site::{LIMIT, Site};
use crate::common::{process, trial};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        trial("compiling: the process limits itself", limited),
        trial("compiling: the process needs its arguments", misused),
        trial("compiling: a process that is killed is a fault", killed),
        trial("compiling: the process does not outlive its hook", orphaned),
        trial("compiling: two hooks that meet the same bomb have it compiled once", once),
        trial("compiling: nothing of a stranger's file is printed as it is", inspected),
    ]
}

/// Seconds, bytes of memory, component, exit code, signal, error message.
type Row = (&'static str, &'static str, Vec<u8>, Option<i32>, Option<i32>, &'static str);

/// The process by itself: its exit shows which limit ended it.
fn limited() -> Result<()> {
    const GIB: &str = "1073741824";
    let site = Site::new("limited")?;
    let small = around(&large_data(0));
    let table: [Row; 7] = [
        ("20", GIB, small.clone(), Some(0), None, ""),
        ("1", GIB, around(&many_locals(400)), None, Some(24), ""),
        (
            "20",
            "100000000",
            around(&huge_function(1_000_000)),
            None,
            Some(6),
            "memory allocation of",
        ),
        ("20", "3000000", around(&huge_function(1_000_000)), Some(1), None, "out of memory"),
        ("20", GIB, small[..small.len() - 1].to_vec(), Some(3), None, "out of bounds"),
        ("20", GIB, b"(component)".to_vec(), Some(3), None, "magic"),
        ("20", GIB, Vec::new(), Some(3), None, ""),
    ];
    for (cpu, memory, component, code, signal, says) in table {
        let mut child = start(site.command(&["compile", cpu, memory]))?;
        let mut stdin = child.stdin.take().context("it has no input")?;
        let fed = std::thread::spawn(move || stdin.write_all(&component));
        let ended = child.wait_with_output()?;
        drop(fed.join());
        let complaint = String::from_utf8_lossy(&ended.stderr);
        let found = (ended.status.code(), ended.status.signal());
        ensure!(
            found == (code, signal) && complaint.contains(says),
            "{cpu} s, {memory} bytes: {found:?}, {complaint}"
        );
        ensure!(
            ended.stdout.is_empty() == (code != Some(0)),
            "it answered {} bytes",
            ended.stdout.len()
        );
    }
    Ok(())
}

fn misused() -> Result<()> {
    let site = Site::new("misused")?;
    for arguments in [
        &["compile"][..],
        &["compile", "1"],
        &["compile", "1", "x"],
        &["compile", "1", "2", "3"],
        &["compile", "--help"],
    ] {
        let ended = site.run(arguments)?;
        ensure!(
            ended.code == Some(2) && ended.stderr.contains("run `portcullis doctor`"),
            "{arguments:?}: {}",
            ended.all()
        );
    }
    Ok(())
}

fn killed() -> Result<()> {
    let site = Site::new("killed")?;
    site.write("plugins/bomb.wasm", around(&many_locals(400)))?;
    let hook = begun(&site)?;
    let compiler = compiler_of(hook.id())?;
    ensure!(
        Command::new("kill").args(["-9", &compiler.to_string()]).status()?.success(),
        "it could not be killed"
    );
    let ended = hook.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(
        ended.status.success() && said.contains("compile-limit") && said.contains("signal 9"),
        "{said}"
    );
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.ordinary("after")
}

fn orphaned() -> Result<()> {
    let site = Site::new("orphaned")?;
    site.write("plugins/bomb.wasm", around(&many_locals(400)))?;
    let mut hook = begun(&site)?;
    let compiler = compiler_of(hook.id())?;
    hook.kill()?;
    hook.wait()?;
    let deadline = Instant::now() + Duration::from_secs(20);
    while alive(compiler) {
        ensure!(Instant::now() < deadline, "it still compiles");
        sleep(Duration::from_millis(20));
    }
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.ordinary("after")
}

/// A second hook waits for the result of the first.
fn once() -> Result<()> {
    let site = Site::new("once")?;
    site.write("plugins/bomb.wasm", around(&many_locals(400)))?;
    let mut hooks = vec![begun(&site)?, begun(&site)?];
    let ids: Vec<u32> = hooks.iter().map(Child::id).collect();
    let mut seen = BTreeSet::new();
    while !hooks.iter_mut().all(|hook| matches!(hook.try_wait(), Ok(Some(_)))) {
        seen.extend(compilers()?.into_iter().filter(|(_, parent)| ids.contains(parent)));
        sleep(Duration::from_millis(5));
    }
    for hook in hooks {
        let said = String::from_utf8_lossy(&hook.wait_with_output()?.stdout).into_owned();
        // On a slow machine the second one may have reached its timeout.
        ensure!(said.contains("compile-limit") || said.contains("not-run"), "{said}");
    }
    ensure!(seen.len() == 1, "it was compiled by {seen:?}");
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.ordinary("after")
}

/// Starts a hook and sends its event.
fn begun(site: &Site) -> Result<Child> {
    let mut hook = start(site.command(&["hook", "claude"]))?;
    let mut stdin = hook.stdin.take().context("the hook has no input")?;
    stdin.write_all(site.calls("begun").bash("1", "ls").to_string().as_bytes())?;
    Ok(hook)
}

fn start(mut command: Command) -> Result<Child> {
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// Returns the compiler process of a hook, as soon as it exists.
fn compiler_of(hook: u32) -> Result<u32> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Some((id, _)) = compilers()?.into_iter().find(|(_, parent)| *parent == hook) {
            return Ok(id);
        }
        sleep(Duration::from_millis(5));
    }
    Err(anyhow!("the hook has nothing compiled"))
}

/// Returns all compiler processes with their parents.
fn compilers() -> Result<Vec<(u32, u32)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
        let parent = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|parent| parent.parse::<u32>().ok());
        let arguments = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        found.extend(
            parent
                .filter(|_| arguments.starts_with("portcullis\0compile\0"))
                .map(|parent| (id, parent)),
        );
    }
    Ok(found)
}

/// Returns true if the process runs and is not a zombie.
fn alive(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn inspected() -> Result<()> {
    let site = Site::new("inspected")?;
    let evil = wat::parse_str(
        r#"(component (import "a:\1b[2Jb\e2\80\ae/c" (instance)) (instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i)))"#,
    )?;
    site.write("evil.wasm", evil)?;
    let pipe = site.state().join("pipe.wasm");
    ensure!(Command::new("mkfifo").arg(&pipe).status()?.success(), "no pipe could be made");
    let table = [
        ("evil.wasm", Some(0), "wants to use an interface of a host other than this one"),
        ("pipe.wasm", Some(1), "it is not a file"),
        ("absent.wasm", Some(1), "No such file"),
    ];
    for (name, code, says) in table {
        for json in [&[][..], &["--json"]] {
            let path = site.state().join(name);
            let command =
                site.command(&[&["plugin", "inspect", &path.to_string_lossy()], json].concat());
            let ended = process::run(command, b"", LIMIT)?;
            let said = format!("{}{}", ended.text(), ended.stderr);
            ensure!(
                ended.code == code && (said.contains(says) || !json.is_empty()),
                "{name}: {}",
                ended.all()
            );
            ensure!(!said.contains(['\u{1b}', '\u{202e}']), "{name}: {said:?}");
        }
    }
    Ok(())
}
