//! Tests of mistakes in cases: each message has the position, the problem, and the fix.
//! `tests/snapshots/plugin_test` has the whole messages.

use crate::common::site::Site;
use crate::common::snapshot;
use crate::{component, test};
use anyhow::{Result, ensure};
use std::fmt::Write;
use std::fs;

const NAME: &str = "[[case]]\nname = \"one\"\n";
const STEP: &str = "[[case.step]]\ntool = \"Bash\"\ninput = { command = \"ls\" }\n";
/// The folder of the messages.
const MESSAGES: &str = "mistakes";

/// Returns invalid files, with their plugins.
fn files() -> Vec<(&'static str, String)> {
    let full = format!("{NAME}{STEP}");
    vec![
        ("talker", "x = = 1\n".to_owned()),
        ("talker", String::new()),
        ("talker", "[[cases]]\n".to_owned()),
        ("talker", "[case]\nname = \"one\"\n".to_owned()),
        ("talker", format!("[[case]]\n{STEP}")),
        ("talker", NAME.to_owned()),
        ("talker", format!("{full}{full}")),
        ("talker", format!("[[case]]\nname = 1\n{STEP}")),
        ("talker", format!("{NAME}goal = [\"x\"]\n{STEP}")),
        ("talker", format!("{NAME}goals = \"x\"\n{STEP}")),
        ("talker", format!("{NAME}with = [\"loop\"]\n{STEP}")),
        ("talker", format!("{NAME}settings = {{ word = 2020-01-01 }}\n{STEP}")),
        ("talker", format!("{NAME}[[case.step]]\ninput = {{}}\n")),
        ("talker", format!("{NAME}[[case.step]]\ntool = \"Bash\"\n")),
        ("talker", format!("{full}retuns = \"x\"\n")),
        ("talker", format!("{full}returns = \"x\"\nfails = \"y\"\n")),
        ("talker", format!("{full}refused = \"yes\"\n")),
        ("talker", format!("{full}after = -1\n")),
        ("talker", format!("{NAME}[[case.step]]\nsays = \"x\"\ntool = \"Bash\"\n")),
        (
            "talker",
            format!("{NAME}[[case.step]]\nsays = \"x\"\n[[case.step.expect]]\nrule = \"x\"\n"),
        ),
        ("talker", format!("{full}[[case.step.expect]]\n")),
        ("talker", format!("{full}[[case.step.expect]]\nrules = \"x\"\n")),
        ("talker", format!("{full}[[case.step.expect]]\npattern = \"x\"\n")),
        ("talker", format!("{full}[[case.step.expect]]\nseverity = \"hihg\"\n")),
        ("talker", format!("{full}[[case.step.expect]]\nrisk = 0.7\n")),
        (
            "talker",
            format!("{NAME}[[case.step]]\ntool = \"Bash\"\ninput = {{ at = 2020-01-01 }}\n"),
        ),
        // All of a file's mistakes at once.
        ("talker", format!("{NAME}goal = 1\n[[case.step]]\ntol = \"Bash\"\n")),
        // Keys that only some kinds have.
        ("talker", format!("{full}[case.step.issue]\nname = \"loop\"\n")),
        ("talker", format!("{NAME}batch = 2\n{STEP}[[case.expect]]\nrule = \"x\"\n")),
        ("answerer", format!("{full}[[case.step.issue]]\nname = \"loop\"\n")),
        ("answerer", format!("{full}[case.step.issue]\nseverity = \"high\"\n")),
        (
            "answerer",
            format!("{full}[case.step.issue]\nnme = \"loop\"\nlevel = 5\nconfidence = 0.9\n"),
        ),
        (
            "answerer",
            format!(
                "{full}[case.step.issue]\nname = \"loop\"\ncheckpoints = [{{ step = 1 }}]\npast = [{{ kind = 1 }}]\n"
            ),
        ),
        (
            "answerer",
            format!(
                "{full}[case.step.issue]\nname = \"loop\"\nlimits = [{{ quantity = \"tokens\" }}]\ntemplates = {{ loop = 1 }}\n"
            ),
        ),
        ("answerer", format!("{full}[[case.step.expect]]\nresponse = \"guide\"\n")),
        (
            "answerer",
            format!(
                "{full}[case.step.issue]\nname = \"loop\"\n[[case.step.expect]]\nresponse = \"guidance\"\n"
            ),
        ),
        (
            "answerer",
            format!(
                "{full}[case.step.issue]\nname = \"loop\"\n[[case.step.expect]]\npattern = \"loop\"\n"
            ),
        ),
        (
            "answerer",
            format!("{NAME}[[case.step]]\nsays = \"x\"\n[case.step.issue]\nname = \"loop\"\n"),
        ),
        ("answerer", format!("{NAME}with = [\"soft-correction\"]\n{STEP}")),
        ("answerer", format!("{full}[[case.expect]]\nresponse = \"guide\"\n")),
        ("writer", format!("{full}[[case.step.expect]]\ntext = \"x\"\n")),
        ("writer", format!("{NAME}batch = 0\n{STEP}")),
        ("writer", format!("{NAME}batch = 101\n{STEP}")),
        ("writer", format!("{full}[[case.expect]]\ntxt = \"x\"\n")),
    ]
}

pub fn mistakes() -> Result<()> {
    let site = Site::new("plugin test mistakes")?;
    let mut page =
        "Mistakes in files of cases, and what `portcullis plugin test` says of each.\n".to_owned();
    for (plugin, cases) in files() {
        let ended = test(&site, plugin, &cases, &[])?;
        ensure!(ended.code == Some(1) && ended.stdout.is_empty(), "{cases}\n{}", ended.all());
        let shown: String = cases.lines().map(|line| format!("    {line}\n")).collect();
        let kind = match plugin {
            "answerer" => "an intervention",
            "writer" => "an audit-exporter",
            _ => "a risk-calculator",
        };
        write!(page, "\nCases of {kind}:\n\n{shown}\n{}", ended.stderr)?;
    }
    snapshot::compare_text(MESSAGES, FILES, &page)
}

const FILES: &str = "files of cases";

/// Paths that are not plugins, or have no cases.
const SUBJECTS: &[(&str, &str)] = &[
    ("a folder without a project", "empty"),
    ("a project that was not built", "unbuilt"),
    ("a project without cases", "whole"),
    ("a component without cases", "talker.wasm"),
    ("a component with the name of a builtin plugin", "loop.wasm"),
    ("a file that is not a plugin", "text.wasm"),
    ("a file that is not there", "nowhere.wasm"),
];

pub fn subjects() -> Result<()> {
    let site = Site::new("plugin test subjects")?;
    let talker = component("talker")?;
    let project = site.project();
    fs::create_dir_all(project.join("empty"))?;
    fs::create_dir_all(project.join("unbuilt"))?;
    fs::write(
        project.join("unbuilt/plugin.toml"),
        "name = \"talker\"\nkind = \"risk-calculator\"\nlanguage = \"rust\"\n",
    )?;
    fs::create_dir_all(project.join("whole/build"))?;
    fs::copy(project.join("unbuilt/plugin.toml"), project.join("whole/plugin.toml"))?;
    fs::copy(&talker, project.join("whole/build/talker.wasm"))?;
    fs::copy(&talker, project.join("talker.wasm"))?;
    fs::copy(&talker, project.join("loop.wasm"))?;
    fs::write(project.join("text.wasm"), "(module)")?;
    for (does, subject) in SUBJECTS {
        let arguments = ["plugin", "test", subject];
        let ended = site.run(&arguments)?;
        ensure!(ended.code == Some(1), "{subject}: {}", ended.all());
        snapshot::compare_command(MESSAGES, does, &site, &arguments, &ended)?;
    }
    fs::write(project.join("whole/cases.toml"), format!("{NAME}{STEP}"))?;
    ensure!(
        site.output(&["plugin", "test", "whole"])?.ends_with("1 case: all as expected\n"),
        "a project"
    );
    let mut inside = site.command(&["plugin", "test"]);
    inside.current_dir(project.join("whole"));
    let ended = crate::common::process::run(inside, b"", crate::common::site::LIMIT)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}
