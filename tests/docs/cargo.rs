//! Commands of cargo: the packages, targets and tests that they name.

use crate::{files, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names that manifests and folders define.
#[derive(Default)]
pub struct Targets {
    packages: BTreeSet<String>,
    tests: BTreeSet<String>,
    benches: BTreeSet<String>,
    examples: BTreeSet<String>,
    binaries: BTreeSet<String>,
}

impl Targets {
    /// Reads every manifest of the repository.
    pub fn read() -> Self {
        let mut all = Self::default();
        for path in files("Cargo.toml") {
            let manifest: toml::Table =
                fs::read_to_string(root().join(&path)).unwrap().parse().unwrap_or_default();
            let Some(package) = manifest
                .get("package")
                .and_then(|package| package.get("name"))
                .and_then(toml::Value::as_str)
            else {
                continue;
            };
            let folder = root().join(Path::new(&path).parent().unwrap());
            all.packages.insert(package.to_owned());
            if folder.join("src/main.rs").exists() {
                all.binaries.insert(package.to_owned());
            }
            let kinds = [
                ("test", "tests"),
                ("bench", "benches"),
                ("example", "examples"),
                ("bin", "src/bin"),
            ];
            for ((kind, place), set) in kinds.into_iter().zip([
                &mut all.tests,
                &mut all.benches,
                &mut all.examples,
                &mut all.binaries,
            ]) {
                let tables =
                    manifest.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
                set.extend(
                    tables.filter_map(|table| Some(table.get("name")?.as_str()?.to_owned())),
                );
                for entry in fs::read_dir(folder.join(place)).into_iter().flatten().flatten() {
                    let path = entry.path();
                    if path.extension().is_some_and(|ending| ending == "rs")
                        || path.join("main.rs").exists()
                    {
                        set.extend(
                            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
                        );
                    }
                }
            }
        }
        all
    }
}

/// The sources of test names: source files, and cases that are files.
pub struct Sources {
    text: String,
    stems: BTreeSet<String>,
}

impl Sources {
    /// Reads them all.
    pub fn read() -> Self {
        let text = files(".rs")
            .iter()
            .map(|path| fs::read_to_string(root().join(path)).unwrap_or_default())
            .collect();
        let cases = files(".json").into_iter().filter(|path| path.starts_with("tests/"));
        let stems = cases
            .filter_map(|path| Some(Path::new(&path).file_stem()?.to_string_lossy().into_owned()))
            .collect();
        Self { text, stems }
    }

    /// Returns true if a test has that name: a function, or a trial after the word for what it is about.
    pub fn have_test(&self, name: &str) -> bool {
        [format!("fn {name}()"), format!(": {name}\"")].iter().any(|text| self.text.contains(text))
    }

    /// Returns true if a test can have that in its name. Modules are looked for one by one.
    fn know(&self, filter: &str) -> bool {
        self.stems.contains(filter) || filter.split("::").all(|part| self.text.contains(part))
    }
}

/// The names in a command of cargo that do not exist.
pub fn mistakes(command: &str, targets: &Targets, sources: &Sources) -> Vec<String> {
    let words = words(command);
    let Some(begin) = words.iter().position(|word| word == "cargo") else { return Vec::new() };
    let (options, rest) = match words.iter().position(|word| word == "--") {
        Some(at) if at > begin => (&words[begin..at], &words[at + 1..]),
        _ => (&words[begin..], &words[words.len()..]),
    };
    let mut mistakes = Vec::new();
    let testing = words.get(begin + 1).is_some_and(|word| word == "test");
    for pair in [options, rest].into_iter().flat_map(|part| part.windows(2)) {
        let known = match pair[0].as_str() {
            "--test" => &targets.tests,
            "--bench" => &targets.benches,
            "--example" => &targets.examples,
            "--bin" => &targets.binaries,
            "-p" | "--package" => &targets.packages,
            _ => continue,
        };
        // A name in capitals stands for any.
        if !known.contains(&pair[1]) && pair[1] != pair[1].to_uppercase() {
            mistakes.push(format!("there is no `{} {}`", pair[0], pair[1]));
        }
    }
    if testing {
        let filters =
            rest.iter().filter(|word| !word.starts_with("--") && **word != word.to_uppercase());
        mistakes.extend(
            filters
                .filter(|filter| !sources.know(filter))
                .map(|filter| format!("no test has `{filter}` in its name")),
        );
    }
    mistakes
}

/// The words of a command up to an operator or a comment, without quotes.
pub fn words(command: &str) -> Vec<String> {
    let (mut found, mut open, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => (quote, any) = (Some(letter), true),
            (None, ' ') => {
                if any || !open.is_empty() {
                    found.push(std::mem::take(&mut open));
                }
                any = false;
            }
            (None, '#') if open.is_empty() => break,
            _ => open.push(letter),
        }
    }
    if any || !open.is_empty() {
        found.push(open);
    }
    found
}

#[test]
fn a_wrong_name_is_a_mistake() {
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    let targets = Targets { tests: set("cli"), packages: set("core"), ..Targets::default() };
    let sources = Sources { text: "fn stops() trial(\"replay: a b\"".into(), stems: set("allow") };
    for (command, expected) in [
        ("X=1 cargo test --test cli -- 'replay: a b' --exact", 0),
        ("cargo test --test cli -- stops allow", 0),
        ("cargo test --test clo", 1),
        ("cargo test -p cor -- starts", 2),
        ("cargo test --test NAME -- FILTER", 0),
        ("cargo bench --bench hook", 1),
        ("cargo run --release -- demo", 0),
    ] {
        assert_eq!(mistakes(command, &targets, &sources).len(), expected, "{command}");
    }
}
