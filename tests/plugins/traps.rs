//! Tests of plugin calls that end without an answer, in each language: the author is shown what
//! went wrong and where, in `plugin test` and in a review.

use crate::common::process;
use crate::common::site::Site;
use crate::common::trial;
use crate::{LIMIT, done, made, name, run, tools};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

/// A mistake in a risk-calculator from its template.
struct Mistake {
    does: &'static str,
    language: &'static str,
    /// The source file, the original text, and its replacement.
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// True for a build with `--debug`.
    debug: bool,
    /// Texts that the fault contains.
    says: &'static [&'static str],
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        does: "traps",
        language: "c",
        file: "src/check.c",
        from: "    plugin_string_t whole = copied(&path->text);\n",
        to: "    plugin_string_t whole = copied(&path->text);\n    if (whole.len > 0) __builtin_trap();\n",
        debug: true,
        says: &["in `lies_in`"],
    },
    Mistake {
        does: "throws",
        language: "js",
        file: "src/plugin.js",
        from: "return path.text.split(",
        to: "return path.txt.split(",
        debug: false,
        says: &[
            "TypeError: cannot read property 'split' of undefined",
            "at src/plugin.js:24 (liesIn), src/plugin.js:17",
        ],
    },
    Mistake {
        does: "answers what is not an answer",
        language: "js",
        file: "src/plugin.js",
        from: "severity: \"high\",",
        to: "severity: \"hgh\",",
        debug: true,
        says: &["hgh"],
    },
    Mistake {
        does: "throws",
        language: "ts",
        file: "src/plugin.ts",
        from: "return path.text.split(",
        to: "return (path as unknown as { txt: string }).txt.split(",
        debug: false,
        says: &["TypeError: cannot read property 'split' of undefined", "(liesIn), "],
    },
    Mistake {
        does: "panics",
        language: "go",
        file: "check/check.go",
        from: "parts := strings.Split(path.Text, \"/\")\n",
        to: "parts := strings.Split(path.Text, \"/\")[:0]\n",
        debug: false,
        says: &["panic: runtime error: slice bounds out of range", "check.go:", "(liesIn)"],
    },
    Mistake {
        does: "raises",
        language: "python",
        file: "src/plugin.py",
        from: "path.text.split(",
        to: "path.txt.split(",
        debug: false,
        says: &[
            "AttributeError: 'Path' object has no attribute 'txt'",
            "at plugin.py:30 (lies_in), plugin.py:23 (assess)",
        ],
    },
];

/// Returns the tests of this file.
pub fn trials() -> Vec<Trial> {
    MISTAKES
        .iter()
        .map(|mistake| {
            trial(format!("plugins: one in {} that {}", mistake.language, mistake.does), || {
                check_mistake(mistake)
            })
        })
        .collect()
}

#[allow(clippy::print_stderr, reason = "a skipped language is told")]
fn check_mistake(mistake: &Mistake) -> Result<()> {
    if let Some(reason) = tools::missing(mistake.language)? {
        eprintln!("one in {} that {}: skipped: {reason}", mistake.language, mistake.does);
        return Ok(());
    }
    let site = Site::new(&format!("{} {}", mistake.language, mistake.does))?;
    let project = made(&site, "risk-calculator", mistake.language)?;
    tools::lend(mistake.language, &project)?;
    let file = project.join(mistake.file);
    let source = fs::read_to_string(&file)?;
    ensure!(source.matches(mistake.from).count() == 1, "the template is another: {source}");
    fs::write(&file, source.replace(mistake.from, mistake.to))?;
    let folder = project.display().to_string();
    let debug = mistake.debug.then_some("--debug");
    done(&site, &["plugin", "build", &folder].into_iter().chain(debug).collect::<Vec<_>>())?;
    let played = run(&site, &["plugin", "test", &folder, "shell"])?;
    ensure!(played.code == Some(1), "{}", played.all());
    let component = project
        .join("build")
        .join(name("risk-calculator"))
        .with_extension("wasm")
        .display()
        .to_string();
    let mut review = site.command(&[
        "review",
        "--json",
        "--plugin",
        &component,
        "--command",
        "rm db/migrations/0001.sql",
    ]);
    review.current_dir(site.project());
    let reviewed = process::run(review, b"", LIMIT)?;
    let record: Value = serde_json::from_str(&reviewed.text())
        .with_context(|| format!("no record: {}", reviewed.all()))?;
    let fault = record["faults"][0].to_string();
    for said in mistake.says {
        ensure!(fault.contains(said), "`{said}` is not in the record: {fault}");
        ensure!(played.text().contains(said), "`{said}` is not shown: {}", played.all());
    }
    Ok(())
}
