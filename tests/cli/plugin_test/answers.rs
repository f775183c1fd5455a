//! Tests of interventions' answers to the issue of a step.

use crate::common::site::Site;
use crate::test;
use anyhow::{Result, ensure};
use std::fs;

/// Returns a case of one step, with an issue of that summary, more keys, and an expectation.
pub fn case(summary: &str, rest: &str) -> String {
    format!("{HEAD}[case.step.issue]\nname = \"loop\"\nsummary = \"{summary}\"\n{rest}")
}

const HEAD: &str =
    "[[case]]\nname = \"one\"\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"make\" }\n";
const EXPECT: &str = "[[case.step.expect]]\n";

/// A case that passes every possible fact to a plugin, and its output.
const EVERY_FACT: &str = r#"[[case]]
name = "told"
goals = ["fix the build"]
[[case.step]]
tool = "Bash"
input = { command = "make" }
fails = "no rule"
[[case.step]]
says = "go on"
[[case.step]]
tool = "Bash"
input = { command = "make again" }
fails = "no rule"
[case.step.issue]
name = "loop"
summary = "tell"
severity = "high"
confidence = 900
impact = 1000
first_step = 0
evidence = [{ kind = "command", value = "make" }, { kind = "error", value = "no rule", step = 1 }]
recurrences = 3
level = 2
checkpoints = [{ id = "c1", step = 1, success_rate = 700 }, { id = "c2", unsafe_because = "a secret" }]
past = [{ kind = "soft_correction", effectiveness = 200 }]
limits = [{ quantity = "tokens", maximum = 500, used = 400 }, { quantity = "birds", maximum = 2 }]
templates = { loop = "stop it" }
[[case.step.expect]]
response = "guide"
messages = [
    "step 1 from 0, level 2, score 2040, 3 times",
    "2 steps, 2 failed, 2 goals",
    "Severity::High 900 1000",
    "allow Bash: make; allow Bash: make again",
    "soft_correction loop 0 Some(200)",
    "c1 1 700 None; c2 0 1000 Some(\"a secret\")",
    "loop stop it",
    "0 of 1000; 7 of 268435456; 400 of 500; 0 of 2",
]
background = [
    { title = "command", text = "make", emphasised = false },
    { title = "error", text = "no rule", emphasised = true },
]
limits = []
"#;

/// A limit and an answer are visible to the next issue.
const AGAIN: &str = r#"[[case]]
name = "again"
[[case.step]]
tool = "Bash"
input = { command = "make" }
[case.step.issue]
name = "resource_spiral"
summary = "tighten"
[[case.step.expect]]
response = "guide"
limits = [{ quantity = "tokens", maximum = 100 }]
[[case.step]]
tool = "Bash"
input = { command = "make" }
refused = true
[case.step.issue]
name = "loop"
summary = "tell"
[[case.step.expect]]
messages = [
    "step 1 from 1, level 0, score 600, 0 times",
    "2 steps, 0 failed, 0 goals",
    "Severity::Medium 800 500",
    "allow Bash: make; allow Bash: make",
    "resource_throttling resource_spiral 0 None",
    "",
    "",
    "0 of 100; 0 of 1000; 0 of 268435456",
]
"#;

/// A detection of a builtin pattern is answered.
const DETECTED: &str = r#"[[case]]
name = "detected"
with = ["repetitive-errors"]
settings = { word = "enough" }
[[case.step]]
tool = "Bash"
input = { command = "make" }
fails = "no rule"
[[case.step]]
tool = "Bash"
input = { command = "make" }
fails = "no rule"
[[case.step]]
tool = "Bash"
input = { command = "make" }
fails = "no rule"
[[case.step.expect]]
response = "guide"
"#;

pub fn answered() -> Result<()> {
    let site = Site::new("plugin test answered")?;
    let back = "evidence = [{ kind = \"checkpoint\", value = \"c1\" }]\n";
    for (cases, arguments, code, parts) in [
        (
            case("hush", &format!("{EXPECT}messages = [\"stop: hush\"]\n")),
            &[][..],
            0,
            &["1 case: all as expected\n"][..],
        ),
        // Without an issue it is not called.
        (HEAD.to_owned(), &[], 0, &["all as expected"]),
        (EVERY_FACT.to_owned(), &["--exact"], 0, &["all as expected"]),
        (AGAIN.to_owned(), &[], 0, &["all as expected"]),
        (
            DETECTED
                .replace("enough", "nowhere")
                .replace("response = \"guide\"", "fault = \"bad-value\""),
            &["--exact"],
            1,
            &[
                "+detail = \"it wants to return to the checkpoint `nowhere`, which does not exist\"\n1 case",
            ],
        ),
        (DETECTED.to_owned(), &[], 0, &["all as expected"]),
        (
            DETECTED.replace("guide", "stop"),
            &[],
            1,
            &[
                "  step 3  Bash: make  cases.toml:",
                "    -response = \"stop\"\n    +response = \"guide\"\n",
            ],
        ),
        (
            case("hush", ""),
            &[],
            1,
            &[
                "  step 1  Bash: make  cases.toml:3\n    +[[case.step.expect]]\n    +response = \"guide\"\n    +messages = [\"stop: hush\"]\n",
            ],
        ),
        (
            case(
                "end",
                &format!(
                    "{EXPECT}response = \"stop\"\nmessage = \"it ends here\"\nreport = {{ root_cause = \"loop\" }}\n"
                ),
            ),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("end", &format!("{EXPECT}response = \"guide\"\n")),
            &["--exact"],
            1,
            &[
                "    -response = \"guide\"\n    +response = \"stop\"\n",
                "+report = { root_cause = \"loop\", contributing_factors = []",
            ],
        ),
        (
            case(
                "give up",
                &format!("{EXPECT}reason = \"nothing is known\"\nsteps = [\"look\"]\n"),
            ),
            &["--exact"],
            1,
            &["recovery-needed"],
        ),
        // A checkpoint must be one that was offered.
        (
            case(
                "go back",
                &format!(
                    "{back}checkpoints = [{{ id = \"c1\" }}]\n{EXPECT}response = \"rollback\"\ncheckpoint = \"c1\"\n"
                ),
            ),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("go back", back),
            &[],
            1,
            &[
                "+fault = \"bad-value\"\n",
                "it wants to return to the checkpoint `c1`, which does not exist",
            ],
        ),
        // Faults and the log.
        (
            case("panic", ""),
            &[],
            1,
            &["+fault = \"trap\"\n", "the sky fell on loop", "it trapped in "],
        ),
        (case("decline", &format!("{EXPECT}fault = \"declined\"\n")), &[], 0, &["all as expected"]),
        (case("log", &format!("{EXPECT}messages = []\n")), &[], 1, &["log info: it was asked\n"]),
    ] {
        let ended = test(&site, "answerer", &cases, arguments)?;
        for part in parts {
            ensure!(
                ended.text().contains(part),
                "it does not say {part:?} to\n{cases}\n{}",
                ended.all()
            );
        }
        ensure!(ended.code == Some(code) && ended.stderr.is_empty(), "{cases}\n{}", ended.all());
    }
    Ok(())
}

const AFTER: &str = r#"
[[case.step.expect]]
response = "rollback"
checkpoint = "c1"
messages = ["the files are back"]
background = []
limits = []
"#;

pub fn updated() -> Result<()> {
    let site = Site::new("plugin test answers updated")?;
    let path = site.project().join("cases.toml");
    let before = case(
        "go back",
        "evidence = [{ kind = \"checkpoint\", value = \"c1\" }]\ncheckpoints = [{ id = \"c1\" }]\n",
    );
    let ended = test(&site, "answerer", &before, &["--update"])?;
    ensure!(
        ended.code == Some(0) && ended.text().ends_with("1 case: 0 as expected, 1 updated\n"),
        "{}",
        ended.all()
    );
    let written = fs::read_to_string(&path)?;
    ensure!(written == format!("{before}{AFTER}"), "{written}");
    let ended = test(&site, "answerer", &written, &["--exact"])?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    // Nothing else was written next to the file.
    let left: Vec<_> = fs::read_dir(site.project())?
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name != "cases.toml")
        .collect();
    ensure!(left.iter().all(|name| !name.to_string_lossy().contains("cases.toml")), "{left:?}");
    Ok(())
}
