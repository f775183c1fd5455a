//! Tests of unusable rules files: `rules check` reports them with line and column, and no action
//! runs.

use super::{own, rule};
use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("rules check: mistakes with line, column and caret", mistakes),
        trial("rules check: examples that come out differently", examples),
        trial("rules check: JSON, several files, none", arguments),
        trial("rules: a file that cannot be used refuses actions until it is fixed", refuses),
        trial("rules: examples are tried once for each text", receipts),
    ]
}

/// A text and its error: the first line without the file's name, and the line with the caret.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "[[rule]]\nname = 'a'\nwhen = 'commands.exists(c, c.progam == \"x\")'\nverdict = 'ask'\nreason = 'x'\n",
        ":3:30: a command has no `progam`; did you mean `program`?",
        "  |                              ^^^^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = '''\n  tool == \"Bash\"\n  && efects.size() > 0\n'''\nverdict = 'ask'\nreason = 'x'\n",
        ":5:6: `efects` is unknown; did you mean `effects`?",
        "  |      ^^^^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = \"tool == \\\"Bash\\\" && history.failures > '2'\"\nverdict = 'ask'\nreason = 'x'\n",
        ":3:46: `>` between a number and a text: both sides have to be numbers, or both texts",
        "  |                                              ^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = 'effects.exists(e, e.kind == \"file-delte\")'\nverdict = 'ask'\nreason = 'x'\n",
        ":3:37: `file-delte` is not a value of this field; did you mean `file-delete`?",
        "  |                                     ^^^^^^^^^^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = 'path.matches(\"(\")'\nverdict = 'ask'\nreason = 'x'\n",
        ":3:22: `(` is not a valid regular expression: ",
        "  |                      ^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = 'history'\nverdict = 'ask'\nreason = 'x'\n",
        ":3:9: `history` is the history; a condition has to be true or false",
        "  |         ^^^^^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwhen = 'true'\nverdict = 'ask'\nreason = 'see {pat}'\n",
        ":5:16: `pat` is unknown; did you mean `path`?",
        "  |                ^^^",
    ),
    (
        "[[rule]]\nname = 'a'\nwen = 'true'\nverdict = 'ask'\nreason = 'x'\n",
        ":1:1: this rule has no `when`",
        "  | ^^^^^^^^",
    ),
    ("[[rule]]\nname = \n", ":2:8: it is not TOML: ", "  |        ^"),
];

fn mistakes() -> Result<()> {
    let site = Site::new("rules mistakes")?;
    for (text, message, caret) in MISTAKES {
        own(&site, text, "")?;
        let path = site.state().join("rules.toml").display().to_string();
        let ended = site.run(&["rules", "check", &path])?;
        let output = ended.text();
        ensure!(
            ended.code == Some(1) && output.starts_with(&format!("{path}{message}")),
            "{text}\n{message}: {}",
            ended.all()
        );
        ensure!(output.lines().any(|line| line == *caret), "{caret}\n{output}");
        // The same for the files that the configuration names.
        let ended = site.run(&["rules", "check"])?;
        ensure!(ended.code == Some(1) && ended.text() == output, "{}", ended.all());
        let ended = site.run(&["config", "check"])?;
        ensure!(ended.code == Some(1) && ended.all().contains("rules.toml"), "{}", ended.all());
    }
    Ok(())
}

fn examples() -> Result<()> {
    let site = Site::new("rules examples")?;
    let base = rule("no_rm", "ask", "commands.exists(c, c.program == 'rm')");
    for (more, message) in [
        ("must_match = ['ls']", Some(":6:15: `no_rm` has to match this example, and does not")),
        (
            "must_match = ['rm x',\n  { tool = 'Read', input = { file_path = '/project/a' } }]",
            Some(":7:3: `no_rm` has to match this example"),
        ),
        (
            "must_not_match = ['ls', 'sudo rm x']",
            Some(":6:25: `no_rm` must not match this example, and does"),
        ),
        (
            "must_match = ['sh -c \"rm x\"', { command = 'cd a; rm b', cwd = '/srv' }]\nmust_not_match = ['echo rm']",
            None,
        ),
    ] {
        own(&site, &format!("{base}{more}\n"), "")?;
        let path = site.state().join("rules.toml").display().to_string();
        let ended = site.run(&["rules", "check", &path])?;
        match message {
            None => ensure!(ended.code == Some(0), "{more}: {}", ended.all()),
            Some(message) => {
                ensure!(
                    ended.code == Some(1)
                        && ended.text().contains(message)
                        && ended.text().contains("it saw "),
                    "{more}: {}",
                    ended.all()
                );
            }
        }
        let reply = site.hook(&site.calls("examples").bash("1", "ls"))?;
        ensure!((reply.answer == Answer::Refused) == message.is_some(), "{more}: {reply:?}");
    }
    // An example on which the rule fails does not pass.
    own(
        &site,
        &format!("{}must_not_match = ['ls']\n", rule("fails", "ask", "programs[5] == 'x'")),
        "",
    )?;
    let ended = site.run(&["rules", "check"])?;
    ensure!(ended.code == Some(1) && ended.all().contains("no item 5"), "{}", ended.all());
    Ok(())
}

fn arguments() -> Result<()> {
    let site = Site::new("rules arguments")?;
    ensure!(
        site.output(&["rules", "check"])?.contains("no rules file is configured"),
        "without any"
    );
    site.write("good.toml", rule("a", "ask", "true"))?;
    site.write("bad.toml", "x = 1\n")?;
    let [good, bad] =
        ["good.toml", "bad.toml"].map(|name| site.state().join(name).display().to_string());
    let ended = site.run(&["rules", "check", "--json", &good, &bad, "/nowhere.toml"])?;
    let found: Value = serde_json::from_str(&ended.text())?;
    let files = &found["files"];
    ensure!(
        ended.code == Some(1)
            && files[0]["failures"] == Value::Array(Vec::new())
            && files[0]["rules"] == 1,
        "{found}"
    );
    let failure = &files[1]["failures"][0];
    ensure!(
        failure["line"] == 1
            && failure["column"] == 1
            && failure["message"]
                .as_str()
                .is_some_and(|message| message.contains("`x` is unknown")),
        "{found}"
    );
    ensure!(
        files[2]["failures"][0]["message"] == "there is no such file"
            && files[2]["failures"][0]["line"].is_null(),
        "{found}"
    );
    Ok(())
}

type Spoil = fn(&Site) -> Result<()>;

fn refuses() -> Result<()> {
    let spoils: &[(Spoil, &str)] = &[
        (|_| Ok(()), "there is no such file"),
        (
            |site| site.write("rules.toml", "[[rule]]\n"),
            "line 1, column 1: this rule has no `name`",
        ),
        (|site| site.write("rules.toml", "x".repeat(2 << 20)), "more than 1048576 bytes"),
        (|site| site.write("rules.toml", "#".repeat(300 << 10)), "at most 262144 are read"),
        (|site| site.write("rules.toml", b"\xff\xfe"), "not UTF-8"),
        (|site| Ok(fs::create_dir(site.state().join("rules.toml"))?), "it is not a file"),
        (|site| Ok(symlink("/dev/zero", site.state().join("rules.toml"))?), "it is not a file"),
        (
            |site| {
                let made = Command::new("mkfifo").arg(site.state().join("rules.toml")).status()?;
                ensure!(made.success(), "mkfifo");
                Ok(())
            },
            "it is not a file",
        ),
        (
            |site| own(site, &(rule("a", "ask", "true") + &rule("a", "ask", "true")), ""),
            "`a` is the name of two rules",
        ),
        (
            |site| {
                site.write("more.toml", rule("a", "ask", "true"))?;
                site.write("rules.toml", rule("a", "ask", "true"))?;
                site.write("config.toml", "rules.files = [\"rules.toml\", \"more.toml\"]\n")
            },
            "`a` is a rule of `",
        ),
    ];
    for (at, (spoil, says)) in spoils.iter().enumerate() {
        let site = Site::new(&format!("rules refuses {at}"))?;
        site.write("config.toml", "rules.files = [\"rules.toml\"]\n")?;
        spoil(&site)?;
        let calls = site.calls("broken");
        let reply = site.hook(&calls.bash("1", "ls"))?;
        ensure!(reply.answer == Answer::Refused, "{says}: {reply:?}");
        reply.says(&[says, "rules.toml"])?;
        site.write("config.toml", "")?;
        ensure!(
            site.hook(&calls.bash("2", "ls"))?.answer == Answer::Quiet,
            "{says}: it is not fixed"
        );
    }
    Ok(())
}

fn receipts() -> Result<()> {
    let site = Site::new("rules receipts")?;
    let receipts = || -> Result<usize> {
        let names = fs::read_dir(site.state().join("cache"))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| name.starts_with("rules-")).count())
    };
    let good = format!("{}must_match = ['rm x']\n", rule("a", "ask", "program == 'rm'"));
    for (text, expected) in [
        (good.clone(), 1),
        (good.clone(), 1),
        (good.replace("'ask'", "'warn'") + "# other\n", 2),
        (good, 2),
    ] {
        own(&site, &text, "")?;
        site.output(&["review", "--command", "ls"])?;
        let found = receipts()?;
        ensure!(found == expected, "{found} receipts, not {expected}: {text}");
    }
    Ok(())
}
