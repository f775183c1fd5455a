//! Components that are made to be hard to compile: the hook answers in time and says which limit was
//! passed, the next hook does not pay for it again, and the next action goes its way.

use crate::common::reply::Answer;
use crate::common::site::{LIMIT, Site};
use crate::common::{process, tell, trial};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A component that is made to be hard to compile.
struct Bomb {
    name: &'static str,
    bytes: fn() -> Vec<u8>,
    /// What may become of it: the fault, and what it says. Which limit is passed first depends on the machine.
    ends: &'static [(&'static str, &'static str)],
}

/// It was compiled, and is none of ours: the export is an empty one.
const COMPILED: (&str, &str) = ("load-failed", "its types do not fit");
const TIME: (&str, &str) = ("compile-limit", "compiling it takes longer than the ");
const PROCESSOR: (&str, &str) = ("compile-limit", "s of processor time");
const MEMORY: (&str, &str) = ("compile-limit", "compiling it takes more than 2048 MiB of memory");
const REFUSED: (&str, &str) = ("load-failed", "it does not compile");

const BOMBS: &[Bomb] = &[
    Bomb { name: "one huge function", bytes: || around(&huge_function(1_000_000)), ends: &[COMPILED, TIME, PROCESSOR, MEMORY] },
    Bomb { name: "many locals", bytes: || around(&many_locals(400)), ends: &[COMPILED, TIME, PROCESSOR, MEMORY] },
    Bomb { name: "a million types", bytes: || around(&many_types(1_000_000)), ends: &[COMPILED, TIME, PROCESSOR, MEMORY] },
    Bomb { name: "more types than there may be", bytes: || around(&many_types(1_000_001)), ends: &[REFUSED] },
    Bomb { name: "fifty megabytes", bytes: || around(&large_data(50 << 20)), ends: &[COMPILED, TIME, MEMORY] },
    Bomb { name: "parts that double", bytes: || doubling(24), ends: &[COMPILED, TIME, PROCESSOR, MEMORY, REFUSED] },
    Bomb { name: "components in each other", bytes: || doubling(40), ends: &[("load-failed", "more than 32 components in each other")] },
];

pub fn tests() -> Vec<Trial> {
    let bombs = BOMBS.iter().map(|bomb| trial(format!("compiling: {}", bomb.name), || survived(bomb)));
    let others = [
        trial("compiling: the process limits itself", limited),
        trial("compiling: the process needs its arguments", misused),
        trial("compiling: a process that is killed is a fault", killed),
        trial("compiling: the process does not outlive its hook", orphaned),
        trial("compiling: nothing of a stranger's file is printed as it is", inspected),
    ];
    bombs.chain(others).collect()
}

fn survived(bomb: &Bomb) -> Result<()> {
    let site = Site::new(bomb.name)?;
    site.write("plugins/bomb.wasm", (bomb.bytes)())?;
    let first = fault(&site, "1")?;
    let expected = bomb.ends.iter().any(|(kind, says)| first.0 == *kind && first.1.contains(says));
    ensure!(expected, "the fault is {first:?}");
    tell(&format!("{}: {}: {}", bomb.name, first.0, first.1));
    let kept = failures(&site)?;
    if first.0 == "compile-limit" {
        ensure!(kept.len() == 1, "the failure was not kept: {kept:?}");
        let before = fs::metadata(&kept[0])?.modified()?;
        ensure!(fault(&site, "2")? == first, "the second hook has another fault than {first:?}");
        ensure!(fs::metadata(&kept[0])?.modified()? == before, "the second hook compiled it again");
    }
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.ordinary("after")
}

/// The one fault of the plugin `bomb` in a review that asks a person about it.
fn fault(site: &Site, id: &str) -> Result<(String, String)> {
    let reply = site.hook(&site.calls("bombs").bash(id, "ls"))?;
    ensure!(reply.answer == Answer::Asked, "{reply:?}");
    let record = site.records()?.pop().context("there is no record")?;
    match record["faults"].as_array().map(Vec::as_slice) {
        Some([fault]) if fault["source"] == "bomb" => Ok((text(&fault["kind"]), text(&fault["detail"]))),
        other => Err(anyhow!("not one fault of the plugin, but {other:?}")),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn failures(site: &Site) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(site.state().join("cache"))?.map(|entry| Ok(entry?.path()));
    files.filter(|path: &Result<PathBuf>| path.as_ref().is_ok_and(|path| path.extension().is_some_and(|end| end == "failed"))).collect()
}

/// Seconds, bytes of memory, component, exit code, signal, what it complains.
type Row = (&'static str, &'static str, Vec<u8>, Option<i32>, Option<i32>, &'static str);

/// The process by itself: which limit ends it can be told by how it ends.
fn limited() -> Result<()> {
    const GIB: &str = "1073741824";
    let site = Site::new("limited")?;
    let small = around(&large_data(0));
    let table: [Row; 7] = [
        ("20", GIB, small.clone(), Some(0), None, ""),
        ("1", GIB, around(&many_locals(400)), None, Some(24), ""),
        ("20", "100000000", around(&huge_function(1_000_000)), None, Some(6), "memory allocation of"),
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
        ensure!(found == (code, signal) && complaint.contains(says), "{cpu} s, {memory} bytes: {found:?}, {complaint}");
        ensure!(ended.stdout.is_empty() == (code != Some(0)), "it answered {} bytes", ended.stdout.len());
    }
    Ok(())
}

fn misused() -> Result<()> {
    let site = Site::new("misused")?;
    for arguments in [&["compile"][..], &["compile", "1"], &["compile", "1", "x"], &["compile", "1", "2", "3"], &["compile", "--help"]] {
        let ended = site.run(arguments)?;
        ensure!(ended.code == Some(2) && ended.stderr.contains("run `portcullis doctor`"), "{arguments:?}: {}", ended.all());
    }
    Ok(())
}

fn killed() -> Result<()> {
    let site = Site::new("killed")?;
    site.write("plugins/bomb.wasm", around(&many_locals(400)))?;
    let hook = begun(&site)?;
    let compiler = compiler_of(hook.id())?;
    ensure!(Command::new("kill").args(["-9", &compiler.to_string()]).status()?.success(), "it could not be killed");
    let ended = hook.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(ended.status.success() && said.contains("compile-limit") && said.contains("signal 9"), "{said}");
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

/// A hook that has its event.
fn begun(site: &Site) -> Result<Child> {
    let mut hook = start(site.command(&["hook", "claude"]))?;
    let mut stdin = hook.stdin.take().context("the hook has no input")?;
    stdin.write_all(site.calls("begun").bash("1", "ls").to_string().as_bytes())?;
    Ok(hook)
}

fn start(mut command: Command) -> Result<Child> {
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// The process that a hook has compile, as soon as it is there.
fn compiler_of(hook: u32) -> Result<u32> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        for entry in fs::read_dir("/proc")? {
            let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
            let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).and_then(|parent| parent.parse::<u32>().ok());
            let arguments = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
            if parent == Some(hook) && arguments.starts_with("portcullis\0compile\0") {
                return Ok(id);
            }
        }
        sleep(Duration::from_millis(5));
    }
    Err(anyhow!("the hook has nothing compiled"))
}

/// It runs, and is not only waited for.
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
            let command = site.command(&[&["plugin", "inspect", &path.to_string_lossy()], json].concat());
            let ended = process::run(command, b"", LIMIT)?;
            let said = format!("{}{}", ended.text(), ended.stderr);
            ensure!(ended.code == code && (said.contains(says) || !json.is_empty()), "{name}: {}", ended.all());
            ensure!(!said.contains(['\u{1b}', '\u{202e}']), "{name}: {said:?}");
        }
    }
    Ok(())
}

/// A component with that core module and the export of an assessor.
fn around(module: &[u8]) -> Vec<u8> {
    let head = wat::parse_str(r#"(component (instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i)))"#).unwrap();
    [head, section(1, module)].concat()
}

fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [b"\0asm\x01\0\0\0".to_vec(), sections.concat()].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], number(content.len()).as_slice(), content].concat()
}

/// In groups of seven bits, the lowest first.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Functions `(i32) -> i32` with those bodies.
fn functions(bodies: &[Vec<u8>]) -> Vec<u8> {
    let count = number(bodies.len());
    let code: Vec<Vec<u8>> = bodies.iter().map(|body| [number(body.len()), body.clone()].concat()).collect();
    let types = section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    module(&[types, section(3, &[count.clone(), vec![0; bodies.len()]].concat()), section(10, &[count, code.concat()].concat())])
}

/// One function of that many multiplications.
fn huge_function(times: usize) -> Vec<u8> {
    let mut body = vec![0];
    body.extend([0x20, 0, 0x41, 7, 0x6c, 0x21, 0].repeat(times));
    body.extend([0x20, 0, 0x0b]);
    functions(&[body])
}

/// Functions with as many locals as there may be, all changed in each round of a loop.
fn many_locals(count: usize) -> Vec<u8> {
    const LOCALS: usize = 49_000;
    let mut body = [vec![1], number(LOCALS), vec![0x7f, 0x03, 0x40]].concat();
    for local in (1..LOCALS).step_by(7) {
        let local = number(local);
        body.extend([&[0x20], local.as_slice(), &[0x20, 0, 0x6a, 0x21], &local].concat());
    }
    body.extend([0x20, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b]);
    functions(&vec![body; count])
}

/// That many types of functions, no two the same.
fn many_types(count: usize) -> Vec<u8> {
    let one = |at: usize| -> Vec<u8> {
        let parameters = (0..20).map(|bit| if at >> bit & 1 == 0 { 0x7f } else { 0x7e });
        [0x60, 20].into_iter().chain(parameters).chain([0]).collect()
    };
    let all: Vec<u8> = (0..count).flat_map(one).collect();
    module(&[section(1, &[number(count), all].concat())])
}

/// A memory with that many bytes in it from the start.
fn large_data(bytes: usize) -> Vec<u8> {
    let memory = [vec![1, 0], number(bytes / 65_536 + 1)].concat();
    let data = [vec![1, 0, 0x41, 0, 0x0b], number(bytes), vec![0xa5; bytes]].concat();
    module(&[section(5, &memory), section(11, &data)])
}

/// Components in each other, each of which is two of the next.
fn doubling(depth: usize) -> Vec<u8> {
    let innermost = "(core module $m) (core instance (instantiate $m))".to_owned();
    let inner =
        (0..depth).fold(innermost, |inner, _| format!("(component $c {inner}) (instance (instantiate $c)) (instance (instantiate $c))"));
    wat::parse_str(format!(r#"(component (instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i)) {inner})"#)).unwrap()
}
