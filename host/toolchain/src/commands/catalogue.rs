//! `portcullis catalogue check`: checks files of the catalogue of programs, alone or with the
//! built-in one, and runs the examples of their entries with the shell reader.

use crate::paint;
use anyhow::{Context, Result, bail};
use portcullis_author::second_program::CheckCatalogueArguments;
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::{count_noun, one_line};
use portcullis_programs::document::{self, Document};
use portcullis_programs::{FORMS, File, Problem, Table, list_files, names};
use portcullis_shell_reader::examples::find_difference;
use portcullis_shell_reader::replace_catalogue;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the built-in catalogue, by name.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// The largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// The files that are checked together.
struct Subject {
    /// Those that the command names, and those beside them in a whole catalogue.
    named: Vec<File>,
    /// Those of the built-in catalogue.
    added: Vec<File>,
}

/// Numbers for the summary.
#[derive(Default)]
struct Counts {
    entries: usize,
    programs: BTreeSet<String>,
    examples: usize,
}

/// Returns true if everything is in order.
pub fn run_check(arguments: &CheckCatalogueArguments) -> Result<bool> {
    let subject = Subject::read(&arguments.path)?;
    let all: Vec<File> = subject.named.iter().chain(&subject.added).cloned().collect();
    let (counts, problems) = match Table::combine(&all) {
        Ok(table) => run_examples(table, &subject.named),
        Err(problems) => (Counts::default(), problems),
    };
    let added = !subject.added.is_empty();
    if arguments.json {
        print_json(&subject, &counts, &problems)?;
    } else if problems.is_empty() {
        paint::print_text(&format!(
            "{}: {}, {}, {}, {}{}\n",
            one_line(&arguments.path.display().to_string(), 1024),
            paint::good("ok"),
            count_noun(counts.entries as u64, "entry"),
            count_noun(counts.programs.len() as u64, "program"),
            count_noun(counts.examples as u64, "example"),
            if added { ", checked with the built-in catalogue" } else { "" },
        ));
    } else {
        for problem in &problems {
            let text = problem.to_string();
            let place = text.len() - text.trim_start_matches(&problem.file).len();
            let (file, rest) = text.split_at_checked(place).unwrap_or(("", &text));
            paint::print_text(&format!("{}{}\n", paint::bold(file), one_line(rest, 2048)));
        }
    }
    Ok(problems.is_empty())
}

impl Subject {
    fn read(path: &Path) -> Result<Self> {
        let shown = one_line(&path.display().to_string(), 1024);
        let paths = if path.is_dir() {
            list_files(path).with_context(|| format!("cannot list `{shown}`"))?
        } else if path.is_file() {
            let folder = path.parent().filter(|folder| folder.join(FORMS).is_file());
            let beside = folder.map(list_files).transpose();
            beside
                .with_context(|| format!("cannot list the folder of `{shown}`"))?
                .unwrap_or_default()
        } else {
            bail!(KnownFailure::NotFound(format!("there is no file or folder `{shown}`")));
        };
        let paths = if paths.is_empty() && path.is_file() { vec![path.to_owned()] } else { paths };
        if paths.is_empty() {
            bail!(HintedFailure::new(
                format!("`{shown}` has no file of a catalogue"),
                "name a file, or a folder with files that end in `.toml`"
            ));
        }
        let named: Vec<File> = paths.iter().map(read).collect::<Result<_>>()?;
        let names: BTreeSet<&str> = paths.iter().filter_map(|path| name_of(path)).collect();
        let added = BUILT_IN
            .iter()
            .filter(|(name, _)| !names.contains(FORMS) && !names.contains(name))
            .map(|(name, text)| File {
                name: format!("built-in {name}"),
                text: (*text).to_owned(),
            });
        let added = added.collect();
        Ok(Self { named, added })
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn read(path: &PathBuf) -> Result<File> {
    let name = one_line(&path.display().to_string(), 1024);
    let failed = || format!("cannot read `{name}`");
    if fs::metadata(path).with_context(failed)?.len() > LARGEST {
        bail!(HintedFailure::new(
            format!("`{name}` is larger than 4 MiB"),
            "split it by fields, one file each"
        ));
    }
    Ok(File { text: fs::read_to_string(path).with_context(failed)?, name })
}

/// Runs the examples in the named files. The whole table is in use then, so that an entry may
/// change the reading of another one's example.
fn run_examples(table: Table, files: &[File]) -> (Counts, Vec<Problem>) {
    replace_catalogue(table);
    let (mut counts, mut problems) = (Counts::default(), Vec::new());
    for file in files {
        let Ok(document) = document::parse(&file.name, &file.text) else { continue };
        counts.add(&document);
        for entry in &document.entry {
            let name = entry.get_ref().names.first().cloned().unwrap_or_default();
            for example in &entry.get_ref().examples {
                let Some(mistake) = find_difference(example) else { continue };
                problems.push(Problem {
                    file: file.name.clone(),
                    line: line_of(&file.text, entry.span().start, &example.run),
                    kind: "entry",
                    name: name.clone(),
                    mistake,
                });
            }
        }
    }
    (counts, problems)
}

/// Returns the line of an example in the text of its entry, which begins at `at`.
fn line_of(text: &str, at: usize, run: &str) -> usize {
    let start = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let rest = text.get(at..).unwrap_or_default();
    // A quotation mark in a basic string is written with a backslash.
    let escaped = run.replace('\\', "\\\\").replace('"', "\\\"");
    let line = rest.lines().position(|line| line.contains(run) || line.contains(&escaped));
    start + line.unwrap_or_default()
}

impl Counts {
    fn add(&mut self, document: &Document) {
        for entry in &document.entry {
            let entry = entry.get_ref();
            self.examples += entry.examples.len();
            for name in entry.names.iter().filter_map(|name| names::expand(name).ok()).flatten() {
                self.entries += 1;
                self.programs.extend(name.split(' ').next().map(str::to_owned));
            }
        }
    }
}

fn print_json(subject: &Subject, counts: &Counts, problems: &[Problem]) -> Result<()> {
    let files: Vec<&String> = subject.named.iter().map(|file| &file.name).collect();
    let problems: Vec<_> = problems
        .iter()
        .map(|problem| {
            json!({
                "file": problem.file,
                "line": problem.line,
                "kind": problem.kind,
                "name": problem.name,
                "message": problem.mistake.what,
                "fix": problem.mistake.fix,
            })
        })
        .collect();
    let document = json!({
        "files": files,
        "with_built_in": !subject.added.is_empty(),
        "entries": counts.entries,
        "programs": counts.programs.len(),
        "examples": counts.examples,
        "problems": problems,
    });
    paint::print_text(&format!("{}\n", serde_json::to_string(&document)?));
    Ok(())
}
