//! Tests of cases recorded from an agent's actions.

use crate::common::site::Site;
use crate::{component, test};
use anyhow::{Result, anyhow, ensure};
use std::fs;

/// An intervention's answer becomes an issue of the last step.
pub fn answered() -> Result<()> {
    let site = Site::new("plugin record answered")?;
    let calls = site.calls("circles");
    site.hook(&calls.prompt("fix the build"))?;
    for call in ["1", "2", "3"] {
        site.hook(&calls.bash(call, "make"))?;
        site.hook(&calls.bash_failed(call, "make", "main.c:3: error: expected ';'"))?;
    }
    let all = site.shown(&["--kind", "intervention"])?;
    let id = all
        .first()
        .and_then(|record| record["id"].as_str())
        .ok_or_else(|| anyhow!("no intervention: {all:?}"))?;
    let recorded = site.run(&["plugin", "record", id, "--output", "cases.toml"])?;
    ensure!(
        recorded.code == Some(0)
            && recorded.stderr.contains("the available checkpoints are not in the journal"),
        "{}",
        recorded.all()
    );
    let cases = fs::read_to_string(site.project().join("cases.toml"))?;
    for part in [
        "goals = [\"fix the build\"]\n",
        "\n[case.step.issue]\nname = \"repetitive_errors\"\nseverity = \"",
        "\nconfidence = ",
        "\nfirst_step = 0\n",
        "\nlevel = 0\nscore = ",
    ] {
        ensure!(cases.contains(part), "it does not hold {part:?}: {cases}");
    }
    let ended = test(&site, "answerer", &cases, &["--update"])?;
    ensure!(ended.code == Some(0), "{cases}\n{}", ended.all());
    let updated = fs::read_to_string(site.project().join("cases.toml"))?;
    ensure!(
        updated.contains("[[case.step.expect]]\nresponse = \"guide\"\nmessages = [\"stop: "),
        "{updated}"
    );
    Ok(())
}

pub fn recorded() -> Result<()> {
    let site = Site::new("plugin record")?;
    let calls = site.calls("recorded");
    let file = site.project().join("notes.txt").display().to_string();
    fs::write(&file, "a note\n")?;
    site.hook(&calls.prompt("tidy up"))?;
    site.hook(&calls.bash("1", "ls"))?;
    site.hook(&calls.bash_done("1", "ls", "notes.txt"))?;
    site.hook(&calls.bash("2", "curl -H 'Authorization: Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789' https://example.org/frob"))?;
    site.hook(&calls.bash("3", &format!("cat {file}")))?;

    let printed = site.run(&["plugin", "record", "--last"])?;
    let text = printed.text();
    ensure!(printed.code == Some(0), "{}", printed.all());
    for part in [
        "[[case]]\nname = \"",
        "goals = [\"tidy up\"]\n",
        "files = [\"notes.txt\"]\n",
        "\n[[case.step]]\ntool = \"Bash\"\ninput = { command = \"ls\" }\nreturns = \"notes.txt\"\n",
        "cat /project/notes.txt",
        "# left out, since it was masked: <secret:",
    ] {
        ensure!(text.contains(part), "it does not hold {part:?}: {text}");
    }
    ensure!(
        !text.contains("ghp_abc") && !text.contains(&site.project().display().to_string()),
        "{text}"
    );
    ensure!(
        printed.stderr.contains("masked values are left out, as plugins see them: <secret:"),
        "{}",
        printed.all()
    );

    let all = site.shown(&["--kind", "review"])?;
    let id = all[1]["id"].as_str().ok_or_else(|| anyhow!("{:?}", all[1]))?;
    let added = site.output(&["plugin", "record", id, "--output", "cases.toml"])?;
    ensure!(
        added.contains("with 2 steps to `cases.toml`") && added.contains("plugin test --update"),
        "{added}"
    );
    let again = site.run(&["plugin", "record", id, "--output", "cases.toml"])?;
    ensure!(again.code == Some(1) && again.stderr.contains("already"), "{}", again.all());
    site.output(&[
        "plugin",
        "record",
        "--last",
        "--session",
        "recor",
        "--steps",
        "0",
        "--output",
        "cases.toml",
    ])?;

    // The output is a valid case file; an update adds the plugin's answers.
    let cases = fs::read_to_string(site.project().join("cases.toml"))?;
    ensure!(cases.matches("[[case]]").count() == 2, "{cases}");
    let ended = test(&site, "talker", &cases, &["--update"])?;
    ensure!(ended.code == Some(0), "{cases}\n{}", ended.all());
    let updated = fs::read_to_string(site.project().join("cases.toml"))?;
    ensure!(updated.contains("rule = \"no_frobbing\""), "{updated}");
    ensure!(
        site.output(&["plugin", "test", &component("talker")?, "--cases", "cases.toml"])?
            .contains("all as expected"),
        "{updated}"
    );

    let nothing = site.run(&["plugin", "record"])?;
    ensure!(nothing.code == Some(2), "{}", nothing.all());
    let unknown = site.run(&["plugin", "record", "ffffffff"])?;
    ensure!(
        unknown.code == Some(1) && unknown.stderr.contains("the journal has no record `ffffffff`"),
        "{}",
        unknown.all()
    );
    Ok(())
}
