//! Tests of audit-exporters' output for the records of a case.

use crate::common::site::Site;
use crate::test;
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fs;

/// Returns a case of one step with the exporter's settings and an expectation.
pub fn case(what: &str, rest: &str) -> String {
    format!(
        "[[case]]\nname = \"one\"\ngoals = [\"tidy up\"]\nsettings = {{ what = \"{what}\" }}\n\
         [[case.step]]\ntool = \"Bash\"\ninput = {{ command = \"ls\" }}\n{rest}"
    )
}

const LINES: &str = "[[case.expect]]\ncontent_type = \"text/plain; charset=utf-8\"\n\
    text = \"\"\"\n# records\n1 session - tidy up\n2 review allow Bash: ls\n3 outcome - Bash: ls\n\"\"\"\n";

pub fn written() -> Result<()> {
    let site = Site::new("plugin test written")?;
    let zeros = "0".repeat(64);
    for (cases, arguments, code, parts) in [
        (case("lines", LINES), &["--exact"][..], 0, &["1 case: all as expected\n"][..]),
        // It is compared line by line.
        (
            case("lines", &LINES.replace("2 review allow", "2 review block")),
            &[],
            1,
            &["  its records  cases.toml:1\n", "     # records\n", "    -2 review block Bash: ls\n    +2 review allow Bash: ls\n     3 outcome"],
        ),
        // An exporter always writes something.
        (case("lines", ""), &[], 1, &["    +[[case.expect]]\n    +content_type = \"text/plain; charset=utf-8\"\n    +text = \"\"\"\n"]),
        // Records in one call, and the first call of an export.
        (
            case("lines", "[[case.expect]]\ntext = \"\"\"\n# records\n1 session - tidy up\n2 review allow Bash: ls\n\"\"\"\n[[case.expect]]\ntext = \"3 outcome - Bash: ls\\n\"\n")
                .replace("[[case.step]]", "batch = 2\n[[case.step]]"),
            &[],
            0,
            &["all as expected"],
        ),
        // The chain is that of a journal; values that differ between versions of the host are
        // replaced by their places.
        (
            case("chain", &format!("[[case.expect]]\ntext = \"\"\"\n{zeros} <hash 1>\n<hash 1> <hash 2>\n<hash 2> <hash 3>\n\"\"\"\n")),
            &[],
            0,
            &["all as expected"],
        ),
        (
            case("documents", "[[case.expect]]\ntext = \"<document 1>\\n<document 2>\\n<document 3>\\n\"\n"),
            &[],
            0,
            &["all as expected"],
        ),
        (case("bytes", "[[case.expect]]\nbase64 = \"AJ+Slg==\"\n"), &[], 0, &["all as expected"]),
        (case("quotes", "[[case.expect]]\ntext = \"x\"\n"), &[], 1, &["    +a \"\"\\\" and a \\\\ and a \\u000D\n    +\\\"\"\"\"\n"]),
        (case("panic", "[[case.expect]]\nfault = \"trap\"\n"), &[], 0, &["all as expected"]),
        (case("panic", LINES), &[], 1, &["+fault = \"trap\"", "no ink", "it trapped in "]),
    ] {
        let ended = test(&site, "writer", &cases, arguments)?;
        for part in parts {
            ensure!(ended.text().contains(part), "it does not say {part:?} to\n{cases}\n{}", ended.all());
        }
        ensure!(ended.code == Some(code) && ended.stderr.is_empty(), "{cases}\n{}", ended.all());
    }
    let ended = test(&site, "writer", &case("lines", LINES), &["--json"])?;
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    let export = &document["cases"][0]["export"];
    ensure!(
        export["line"] == 1
            && export["differs"] == false
            && document["cases"][0]["steps"].as_array().is_some_and(|all| all.len() == 1),
        "{document}"
    );
    ensure!(
        export["found"][0]["text"].as_str().is_some_and(|text| text.starts_with("# records\n")),
        "{document}"
    );
    Ok(())
}

pub fn updated() -> Result<()> {
    let site = Site::new("plugin test exports updated")?;
    let path = site.project().join("cases.toml");
    for what in ["lines", "quotes", "bytes", "whole"] {
        let two = case(what, "").replace("\"one\"", "\"two\"");
        let before = format!("{}\n# the other\n{two}", case(what, ""));
        let ended = test(&site, "writer", &before, &["--update"])?;
        ensure!(
            ended.code == Some(0) && ended.text().ends_with("2 cases: 0 as expected, 2 updated\n"),
            "{}",
            ended.all()
        );
        let written = fs::read_to_string(&path)?;
        ensure!(
            written.matches("[[case.expect]]").count() == 2
                && written.contains("\n# the other\n[[case]]"),
            "{written}"
        );
        let ended = test(&site, "writer", &written, &["--exact"])?;
        ensure!(
            ended.code == Some(0) && ended.text().ends_with("2 cases: all as expected\n"),
            "{written}{}",
            ended.all()
        );
    }
    Ok(())
}
