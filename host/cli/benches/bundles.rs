//! Measures the cost to a hook of loading a plugin from a locked bundle instead of from a file in
//! the plugins folder. Whole processes run in turn, in one run.
//!
//! `cargo bench --workspace --bench bundles` prints, for `portcullis hook claude` before a shell
//! command (release, warm cache, all builtin plugins, one third-party plugin, record written), the
//! median with the plugin as a file, as a locked bundle with a valid receipt, as one that is
//! verified again each time, and without it; and the difference to the file. Quote the differences
//! of one run: the times depend on the machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The number of rounds of each way; `PORTCULLIS_BENCH_ROUNDS` overrides it.
const ROUNDS: usize = 400;
/// A plugin that is called for each action.
const PLUGIN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/released/0.1.0/risk-calculator.wasm");

/// One way to install the plugin.
struct Way {
    name: &'static str,
    /// A file that is removed before each round.
    forgets: Option<&'static str>,
    folder: PathBuf,
    times: Vec<Duration>,
}

fn main() {
    let rounds = choices::count_rounds(ROUNDS);
    let root =
        std::env::temp_dir().join(format!("portcullis-bench-bundles-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    fs::copy(choices::find_program("portcullis"), root.join("portcullis")).unwrap();
    let archive = published(&root);
    let mut ways = [
        "a file",
        "a locked bundle, by its receipt",
        "a locked bundle, verified again",
        "no such plugin",
    ]
    .map(|name| {
        let folder = root.join(name.replace([' ', ','], "-"));
        fs::create_dir_all(folder.join("project/.git")).unwrap();
        fs::create_dir_all(folder.join("home/plugins")).unwrap();
        Way { name, forgets: None, folder, times: Vec::new() }
    });
    fs::copy(PLUGIN, ways[0].folder.join("home/plugins/released.wasm")).unwrap();
    ways[2].forgets = Some("home/bundles/receipts");
    for way in &ways[1..3] {
        fs::copy(root.join("trust.toml"), way.folder.join("home/trust.toml")).unwrap();
        ours(&root, way, &["bundle", "install", &archive]);
    }
    for round in 0..rounds + 10 {
        for way in &mut ways {
            if let Some(forgotten) = way.forgets {
                fs::remove_dir_all(way.folder.join(forgotten)).unwrap();
            }
            let time = hook(&root, way, round);
            if round >= 10 {
                way.times.push(time);
            }
        }
    }
    let medians = ways.each_mut().map(|way| {
        way.times.sort_unstable();
        way.times[way.times.len() / 2].as_secs_f64() * 1e3
    });
    println!("{rounds} rounds of each; median, and more than with the plugin as a file");
    for (way, median) in ways.iter().zip(medians) {
        println!("{:<34} {median:>6.2} ms  {:>+6.2} ms", way.name, median - medians[0]);
    }
    fs::remove_dir_all(&root).unwrap();
}

/// Publishes a signed bundle of the plugin and the policy that trusts it.
fn published(root: &Path) -> String {
    let path = |name: &str| root.join(name).display().to_string();
    let (key, archive, passphrase) = (path("key"), path("bundle.tar"), path("passphrase"));
    fs::write(&passphrase, "for a bench alone\n").unwrap();
    fs::set_permissions(&passphrase, Permissions::from_mode(0o600)).unwrap();
    let way = Way {
        name: "the publisher",
        forgets: None,
        folder: root.join("publisher"),
        times: Vec::new(),
    };
    fs::create_dir_all(way.folder.join("project")).unwrap();
    let manifest = format!(
        "name = \"bench/checks\"\nversion = \"1.0.0\"\n\n[[plugin]]\nfile = \"{PLUGIN}\"\n"
    );
    fs::write(root.join("bundle.toml"), manifest).unwrap();
    ours(root, &way, &["bundle", "key", "new", "--output", &key, "--passphrase-file", &passphrase]);
    ours(root, &way, &["bundle", "build", &path("bundle.toml"), "--output", &archive]);
    ours(
        root,
        &way,
        &["bundle", "sign", &archive, "--key", &key, "--passphrase-file", &passphrase],
    );
    let public = fs::read_to_string(path("key.pub")).unwrap();
    let policy = format!(
        "[[key]]\nname = \"bench\"\npublic = \"\"\"\n{public}\"\"\"\n\n[[rule]]\nnames = [\"bench/\"]\npublishers = [\"bench\"]\n"
    );
    fs::write(root.join("trust.toml"), policy).unwrap();
    archive
}

/// Runs one of our own commands, which must succeed.
fn ours(root: &Path, way: &Way, arguments: &[&str]) {
    let output = command(root, way).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn command(root: &Path, way: &Way) -> Command {
    let mut command = Command::new(root.join("portcullis"));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", root)
        .env("PORTCULLIS_HOME", way.folder.join("home"));
    command.current_dir(way.folder.join("project"));
    command
}

/// Runs one hook. Each round is another call of the same session, with nothing to report.
fn hook(root: &Path, way: &Way, round: usize) -> Duration {
    let project = way.folder.join("project").display().to_string();
    let event = format!(
        r#"{{"session_id":"bench","transcript_path":"/dev/null","cwd":"{project}","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"call-{round}","tool_input":{{"command":"cat src/part-{round}.rs"}}}}"#
    );
    let (input, said) = (root.join("input.json"), root.join("said.json"));
    fs::write(&input, event).unwrap();
    let mut command = command(root, way);
    command.args(["hook", "claude"]).stdin(Stdio::from(File::open(input).unwrap()));
    command.stdout(File::create(&said).unwrap()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().unwrap();
    let time = begun.elapsed();
    let said = fs::read_to_string(said).unwrap();
    assert!(status.success() && !said.contains("ortcullis"), "{}: {said}", way.name);
    time
}
