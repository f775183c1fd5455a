//! Tests of unexpected answers of a plugin, and of updating the file.

use crate::common::site::Site;
use crate::test;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::fs;

const HEAD: &str =
    "[[case]]\nname = \"one\"\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"COMMAND\" }\n";

/// Returns a case of one command with an expectation.
fn case(command: &str, expect: &str) -> String {
    format!("{}{expect}", HEAD.replace("COMMAND", command))
}

const FROB: &str = "[[case.step.expect]]\nrule = \"no_frobbing\"\n";

pub fn shown() -> Result<()> {
    let site = Site::new("plugin test shown")?;
    for (cases, arguments, code, parts) in [
        (case("frob", FROB), &[][..], 0, &["ok       one\n1 case: all as expected\n"][..]),
        (case("ls", ""), &[], 0, &["all as expected"]),
        // An unexpected finding is shown whole, a missing one as it is in the file.
        (
            case("frob", ""),
            &[],
            1,
            &[
                "differs  one\n  step 1  Bash: frob  cases.toml:3\n    +[[case.step.expect]]\n    +when = \"before\"\n",
                "    +rule = \"no_frobbing\"\n    +verdict = \"ask\"\n    +severity = \"high\"\n",
                "    +alternatives = [\"ask somebody\"]\n",
                "1 case: 0 as expected, 1 not\n",
            ],
        ),
        (case("ls", FROB), &[], 1, &["    -[[case.step.expect]]\n    -rule = \"no_frobbing\"\n"]),
        // Only the named keys of an expected finding count.
        (
            case("frob", &format!("{FROB}severity = \"low\"\n")),
            &[],
            1,
            &[
                "     [[case.step.expect]]\n     rule = \"no_frobbing\"\n    -severity = \"low\"\n    +severity = \"high\"\n1 case",
            ],
        ),
        (case("frob", FROB), &["--exact"], 1, &["    +verdict = \"ask\"\n"]),
        (
            case(
                "frob",
                &format!(
                    "{FROB}evidence = [{{ value = \"/project/frob\" }}]\nalternatives = [\"ask somebody\"]\n"
                ),
            ),
            &[],
            0,
            &["all as expected"],
        ),
        (case("frob", &format!("{FROB}evidence = []\n")), &[], 1, &["-evidence = []\n"]),
        // Faults.
        (
            case("panic", ""),
            &[],
            1,
            &[
                "    +fault = \"trap\"\n",
                "the sky fell",
                "it trapped in ",
                "called by ",
                "called by talker::give_up\n",
                "called by portcullis:plugin/assessor@0.1.0#assess\n",
            ],
        ),
        (case("panic", "[[case.step.expect]]\nfault = \"trap\"\n"), &[], 0, &["all as expected"]),
        (
            case("panic", "[[case.step.expect]]\nfault = \"declined\"\n"),
            &[],
            1,
            &["-fault = \"declined\"\n    +fault = \"trap\"\n"],
        ),
        (
            case("ls", "").replace("[[case.step]]", "settings = { wrod = \"x\" }\n[[case.step]]"),
            &[],
            1,
            &["+fault = \"bad-settings\"", "did you mean"],
        ),
        // The log counts only if it is named.
        (case("log", ""), &[], 0, &["all as expected"]),
        (case("frob log", ""), &[], 1, &["          log info: it said log\n"]),
        (
            case("log", "[[case.step.expect]]\nlog = \"info: it said log\"\n"),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("log", "[[case.step.expect]]\nlog = \"info: it said nothing\"\n"),
            &[],
            1,
            &["+log = \"info: it said log\""],
        ),
        // Settings, the disk, and additional builtin plugins.
        (
            case("grind", FROB)
                .replace("[[case.step]]", "settings = { word = \"grind\" }\n[[case.step]]"),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("cat a.txt", "[[case.step.expect]]\nrule = \"not_there\"\n")
                .replace("[[case.step]]", "absent = [\"a.txt\"]\n[[case.step]]"),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("cat a.txt", "").replace("[[case.step]]", "files = [\"a.txt\"]\n[[case.step]]"),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("rm -rf /", "")
                .replace("[[case.step]]", "with = [\"rules\", \"risk\"]\n[[case.step]]")
                + "returns = \"gone\"\n",
            &[],
            1,
            &["the call is blocked (", "so it never runs: take `returns` out"],
        ),
        (
            case("stop", "fails = \"no\"\n[[case.step.expect]]\nrule = \"no_stopping\"\n"),
            &[],
            1,
            &["the call is blocked (", "take `fails` out"],
        ),
    ] {
        let ended = test(&site, "talker", &cases, arguments)?;
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

pub fn reported() -> Result<()> {
    let site = Site::new("plugin test told")?;
    let cases =
        format!("{}\n{}", case("frob", ""), case("frob", FROB).replace("\"one\"", "\"two\""));
    let ended = test(&site, "talker", &cases, &["--json"])?;
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(
        ended.code == Some(1)
            && document["ok"] == 1
            && document["differ"] == 1
            && document["plugin"]["name"] == "talker",
        "{document}"
    );
    ensure!(
        document["plugin"]["kind"] == "risk-calculator"
            && document["plugin"]["digest"].as_str().is_some_and(|digest| digest.len() == 64),
        "{document}"
    );
    let (one, two) = (&document["cases"][0], &document["cases"][1]);
    ensure!(
        one["name"] == "one"
            && one["line"] == 1
            && one["result"] == "differs"
            && two["result"] == "ok",
        "{document}"
    );
    let step = &one["steps"][0];
    ensure!(
        step["line"] == 3
            && step["differs"] == true
            && step["expected"] == json!([])
            && step["trace"] == json!([]),
        "{document}"
    );
    ensure!(step["found"][0]["rule"] == "no_frobbing" && step["problem"].is_null(), "{document}");
    ensure!(two["steps"][0]["expected"][0]["rule"] == "no_frobbing", "{document}");
    for (filter, code, says) in [
        ("two", 0, "1 case: all as expected"),
        ("one", 1, "1 case: 0 as expected, 1 not"),
        ("three", 1, "no case has `three` in its name, of 2 cases"),
    ] {
        let plugin = crate::component("talker")?;
        let ended = site.run(&["plugin", "test", &plugin, filter, "--cases", "cases.toml"])?;
        ensure!(
            ended.code == Some(code) && ended.all().contains(says),
            "{filter}: {}",
            ended.all()
        );
    }
    ensure!(site.run(&["plugin", "test", "--no-such-option"])?.code == Some(2), "wrong arguments");
    Ok(())
}

const BEFORE: &str = r#"# What it is for.
[[case]]
name = "one" # its name

# frobbing
[[case.step]]
tool = "Bash"
input = { command = "frob" } # what runs

[[case.step.expect]]
rule = "no_sobbing" # the rule
severity = "high"   # as it is
target = "x"        # no such thing

[[case.step.expect]]
rule = "one_too_many"

# the next
[[case.step]]
tool = "Bash"
input = { command = "frob again" }
# the end of the step

[[case]]
name = "two"
[[case.step]]
tool = "Bash"
input = { command = "ls" }
"#;

const AFTER: &str = r#"# What it is for.
[[case]]
name = "one" # its name

# frobbing
[[case.step]]
tool = "Bash"
input = { command = "frob" } # what runs

[[case.step.expect]]
rule = "no_frobbing" # the rule
severity = "high"   # as it is
when = "before"
verdict = "ask"
reason = "frobbing is for people"
evidence = [
    { kind = "path", value = "/project/frob" },
]
alternatives = ["ask somebody"]

# the next
[[case.step]]
tool = "Bash"
input = { command = "frob again" }

[[case.step.expect]]
when = "before"
rule = "no_frobbing"
verdict = "ask"
severity = "high"
reason = "frobbing is for people"
evidence = [
    { kind = "path", value = "/project/frob" },
]
alternatives = ["ask somebody"]
# the end of the step

[[case]]
name = "two"
[[case.step]]
tool = "Bash"
input = { command = "ls" }
"#;

pub fn updated() -> Result<()> {
    let site = Site::new("plugin test updated")?;
    let ended = test(&site, "talker", BEFORE, &["--update"])?;
    ensure!(ended.code == Some(0) && ended.text().contains("updated  one\n"), "{}", ended.all());
    ensure!(ended.text().ends_with("2 cases: 1 as expected, 1 updated\n"), "{}", ended.all());
    let path = site.project().join("cases.toml");
    let written = fs::read_to_string(&path)?;
    ensure!(written == AFTER, "{written}");
    // The written file matches to the last key; there is nothing more to write.
    for arguments in [&["--exact"][..], &["--update"]] {
        let ended = test(&site, "talker", AFTER, arguments)?;
        ensure!(
            ended.code == Some(0) && ended.text().ends_with("2 cases: all as expected\n"),
            "{}",
            ended.all()
        );
        ensure!(fs::read_to_string(&path)? == AFTER, "it wrote again");
    }
    let listed = case("frob", "expect = [{ rule = \"x\" }]\n");
    let ended = test(&site, "talker", &listed, &["--update"])?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("write it as `[[case.step.expect]]`"),
        "{}",
        ended.all()
    );
    ensure!(fs::read_to_string(&path)? == listed, "a file that it cannot update is changed");
    Ok(())
}
