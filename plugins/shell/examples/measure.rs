//! Reads the shell commands of recorded calls (JSON Lines with `tool`, `label` and `input.command`)
//! and reports how well they are understood; or reads one command and prints its effects.
//!
//! `cargo run --release --example measure -- FILE.jsonl...`, or `-- -c 'COMMAND'`; `-v` lists the
//! commands behind each count.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example that reports to its user"
)]

use portcullis_shell_reader::types::{Coverage, EffectKind};
use portcullis_shell_reader::{Reading, Surroundings, read};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let surroundings = Surroundings {
        cwd: "/home/dev/project".to_owned(),
        home: "/home/dev".to_owned(),
        files: Vec::new(),
        mounts: Vec::new(),
    };
    if words.first().is_some_and(|word| word == "-c") {
        println!("{:#?}", read(words.get(1).map_or("", String::as_str), &surroundings));
        return;
    }
    let verbose = words.iter().any(|word| word == "-v");
    words.retain(|word| word != "-v");
    for file in &words {
        match std::fs::read_to_string(file) {
            Ok(text) => measure(file, &text, &surroundings, verbose),
            Err(error) => eprintln!("cannot read `{file}`: {error}"),
        }
    }
}

fn text_at<'v>(row: &'v serde_json::Value, pointer: &str) -> Option<&'v str> {
    row.pointer(pointer)?.as_str()
}

#[derive(Default)]
struct Sum {
    calls: usize,
    partial: usize,
    unknown: usize,
    mild: usize,
    grave: usize,
    took: Vec<Duration>,
    programs: BTreeMap<String, usize>,
    gaps: BTreeMap<String, usize>,
}

fn measure(file: &str, text: &str, surroundings: &Surroundings, verbose: bool) {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for line in text.lines() {
        let Ok(row) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let (Some("Bash"), Some(command)) =
            (text_at(&row, "/tool"), text_at(&row, "/input/command"))
        else {
            continue;
        };
        let label = text_at(&row, "/label").unwrap_or("none").to_owned();
        let start = Instant::now();
        let reading = read(command, surroundings);
        let sum = sums.entry(label.clone()).or_default();
        sum.took.push(start.elapsed());
        for note in count(sum, &reading) {
            if verbose {
                println!("{label} {note}: {}", command.replace('\n', "⏎"));
            }
        }
    }
    for (label, sum) in &mut sums {
        report(file, label, sum);
    }
}

fn count(sum: &mut Sum, reading: &Reading) -> Vec<String> {
    let mut notes = Vec::new();
    sum.calls += 1;
    if reading.coverage == Coverage::Partial {
        sum.partial += 1;
        notes.push(format!("partial {:?}", reading.gaps));
        for gap in &reading.gaps {
            *sum.gaps.entry(gap.clone()).or_default() += 1;
        }
    }
    let unknown: Vec<&str> = reading
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::ProcessStart)
        .map(|effect| effect.target.as_str())
        .collect();
    if !unknown.is_empty() {
        sum.unknown += 1;
        notes.push(format!("unknown {unknown:?}"));
        for name in unknown {
            *sum.programs.entry(name.to_owned()).or_default() += 1;
        }
    }
    let mild = |kind: &EffectKind| {
        matches!(kind, EffectKind::FileRead | EffectKind::FileCreate | EffectKind::FileModify)
    };
    if reading.forms.is_empty() && reading.effects.iter().all(|effect| mild(&effect.kind)) {
        sum.mild += 1;
        notes.push("mild".to_owned());
    }
    if !reading.forms.is_empty()
        || reading.effects.iter().any(|effect| {
            !mild(&effect.kind)
                && !matches!(effect.kind, EffectKind::ProcessStart | EffectKind::Network)
        })
    {
        sum.grave += 1;
        let kinds: Vec<String> = reading
            .effects
            .iter()
            .filter(|effect| !mild(&effect.kind))
            .map(|effect| format!("{:?} {}", effect.kind, effect.target))
            .collect();
        notes.push(format!(
            "grave {:?} {kinds:?}",
            reading.forms.iter().map(|form| form.id.as_str()).collect::<Vec<_>>()
        ));
    }
    notes
}

fn report(file: &str, label: &str, sum: &mut Sum) {
    let share =
        |part: usize| format!("{part} ({:.1} %)", 100.0 * part as f64 / sum.calls.max(1) as f64);
    println!("{file} {label}: {} calls", sum.calls);
    println!(
        "  partial {}, unknown program {}, at most file reads and writes {}, grave {}",
        share(sum.partial),
        share(sum.unknown),
        share(sum.mild),
        share(sum.grave)
    );
    let mut common: Vec<_> = sum.programs.iter().collect();
    common.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    println!("  unknown: {:?}", common.iter().take(24).collect::<Vec<_>>());
    println!("  gaps: {:?}", sum.gaps);
    sum.took.sort_unstable();
    let at = |share: usize| {
        sum.took.get(sum.took.len() * share / 100).or(sum.took.last()).copied().unwrap_or_default()
    };
    println!("  time: median {:?}, 99 % {:?}, most {:?}", at(50), at(99), at(100));
}
