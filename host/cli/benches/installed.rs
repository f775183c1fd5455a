//! Measures what installed plugins add to a hook: whole processes, in pairs, in one run.
//!
//! `PORTCULLIS_BENCH_PLUGINS=FOLDER cargo bench --workspace --bench installed` runs the events of an ordinary session in two
//! homes that differ in nothing but the components of that folder, and prints the medians, the medians of the differences
//! within a round, and the ratio. `portcullis plugin build` makes a component.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    unreachable_pub,
    dead_code,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;
#[path = "support/events.rs"]
mod events;

use events::{AFTER, BEFORE, EDIT, EDITED, PROMPT};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The number of rounds; `PORTCULLIS_BENCH_ROUNDS` overrides it.
const ROUNDS: usize = 100;
/// The rounds before those that count.
const WARM: usize = 5;
/// The number of rounds between two prompts of the person: limits count what happened since the last one.
const TURN: usize = 20;

/// The home with the plugins.
const WITH: &str = "with";
/// The home without further plugins, and the one with them.
const HOMES: [&str; 2] = ["without", WITH];

/// The events of a round.
const EVENTS: [(&str, &str); 4] = [
    ("before a shell command", BEFORE),
    ("after it", AFTER),
    ("before an edit", EDIT),
    ("after it", EDITED),
];

struct Machine {
    folder: PathBuf,
}

fn main() {
    let Some(plugins) = std::env::var_os("PORTCULLIS_BENCH_PLUGINS").map(PathBuf::from) else {
        println!("`PORTCULLIS_BENCH_PLUGINS` names no folder with components: nothing to measure");
        return;
    };
    let rounds = choices::count_rounds(ROUNDS);
    let folder = std::env::temp_dir().join(format!("portcullis-bench-{}", std::process::id()));
    let machine = Machine { folder };
    let names = machine.prepare(&plugins);
    println!("{} plugins: {}", names.len(), names.join(", "));
    let mut times = EVENTS.map(|_| [Vec::new(), Vec::new()]);
    for round in 0..rounds + WARM {
        if round % TURN == 0 {
            for home in HOMES {
                machine.run_hook(home, PROMPT, round);
            }
        }
        for ((_, event), times) in EVENTS.iter().zip(&mut times) {
            let mut pair: Vec<_> = HOMES.into_iter().zip(times.iter_mut()).collect();
            // Each of a pair is first in every other round.
            if round % 2 == 1 {
                pair.reverse();
            }
            for (home, times) in pair {
                let took = machine.run_hook(home, event, round);
                if round >= WARM {
                    times.push(took);
                }
            }
        }
    }
    report(&times, rounds);
    fs::remove_dir_all(&machine.folder).unwrap();
}

impl Machine {
    /// Makes both homes, and compiles the plugins. Returns the names of those that are loaded.
    fn prepare(&self, plugins: &Path) -> Vec<String> {
        fs::create_dir_all(self.folder.join("project")).unwrap();
        fs::copy(choices::find_program("portcullis"), self.program()).unwrap();
        let mut names = Vec::new();
        for home in HOMES {
            let home = self.folder.join(home);
            fs::create_dir_all(home.join("plugins")).unwrap();
            // The bench `checkpoints` measures what they add.
            fs::write(home.join("config.toml"), "[checkpoints]\nenabled = false\n").unwrap();
        }
        for entry in fs::read_dir(plugins).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "wasm") {
                let to = self.folder.join(WITH).join("plugins").join(entry.file_name());
                fs::copy(&path, to).unwrap();
                names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
        names.sort();
        for home in HOMES {
            // It makes the key, without which nothing is compiled ahead.
            self.run_hook(home, PROMPT, 0);
            // The exit code is that of all checks, and some say that nothing is installed.
            let mut doctor = self.command(home);
            doctor.arg("doctor").stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        }
        names
    }

    fn program(&self) -> PathBuf {
        self.folder.join("portcullis")
    }

    fn command(&self, home: &str) -> Command {
        let mut command = Command::new(self.program());
        // Cargo sets it, and the dynamic linker would search cargo's folders first.
        command.env("PORTCULLIS_HOME", self.folder.join(home)).env_remove("LD_LIBRARY_PATH");
        command.current_dir(self.folder.join("project"));
        command
    }

    /// Returns the time of one hook, in milliseconds.
    fn run_hook(&self, home: &str, event: &str, round: usize) -> f64 {
        let text = event
            .replace("@project@", &self.folder.join("project").display().to_string())
            .replace("@round@", &round.to_string())
            .replace("@part@", &round.to_string());
        let (input, said) = (self.folder.join("input.json"), self.folder.join("said.json"));
        fs::write(&input, text).unwrap();
        let mut hook = self.command(home);
        hook.args(["hook", "claude"]).stderr(Stdio::null());
        hook.stdin(File::open(&input).unwrap()).stdout(File::create(&said).unwrap());
        let begun = Instant::now();
        let status = hook.status().unwrap();
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        assert!(status.success(), "a hook failed in the home `{home}`");
        let said = fs::read_to_string(said).unwrap();
        assert!(!said.contains("ortcullis"), "not ordinary in the home `{home}`: {said}");
        took
    }
}

fn report(times: &[[Vec<f64>; 2]; EVENTS.len()], rounds: usize) {
    println!(
        "{:<26} {:>11} {:>8} {:>8} {:>7}   ({rounds} rounds, medians)",
        "whole process", "without ms", "with ms", "more ms", "ratio"
    );
    for ((name, _), [without, with]) in EVENTS.iter().zip(times) {
        let more = without.iter().zip(with).map(|(one, other)| other - one).collect();
        let (one, other) = (median(without.clone()), median(with.clone()));
        println!("{name:<26} {one:>11.2} {other:>8.2} {:>8.2} {:>7.2}", median(more), other / one);
    }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
