//! Tests of rules' objections, of which rules are in force, and of where they are named.

use super::{objections, of_project, own, reviewed, rule};
use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::trial;
use crate::replays::fails;
use anyhow::{Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("rules: a hook carries out what they say", hook),
        trial("rules: actions and what is objected", actions),
        trial("rules: which count", which),
        trial("rules: builtin ones are set in one place", builtin),
        trial("rules: a pipeline adds files and disables rules", pipeline),
        trial("rules list: all of them, with state and place", list),
        trial("rules: nothing is paid for without them", without),
        trial("rules: the agent does not change their files", guarded),
    ]
}

const RULES: &str = r#"
[[rule]]
name = "no_shop_drop"
when = 'commands.exists(c, c.program == "psql" && c.words.exists(w, w.matches("(?i)drop\\s+table")))'
verdict = "block"
severity = "high"
reason = "tables are dropped by migrations: {commands[0].words}"
alternatives = ["write a migration"]
must_match = ["psql -c 'DROP  TABLE prices'"]

[[rule]]
name = "ask_before_env"
when = 'path.glob(".env*") && intent != "file-read"'
verdict = "ask"
reason = "{path} holds settings of the machine"

[[rule]]
name = "tell_of_make"
when = 'program == "make"'
verdict = "warn"
reason = "make takes long here"
"#;

fn hook() -> Result<()> {
    let site = Site::new("rules hook")?;
    own(&site, RULES, "")?;
    let calls = site.calls("rules");
    let file = site.project().join(".env").display().to_string();
    for (event, answer, says) in [
        (
            calls.bash("1", "psql -c 'drop table prices'"),
            Answer::Refused,
            "tables are dropped by migrations: -c, drop table prices",
        ),
        (
            calls.before("2", "Write", serde_json::json!({ "file_path": file, "content": "A=1" })),
            Answer::Asked,
            ".env holds settings",
        ),
        (calls.bash("3", "make test"), Answer::Informed, "make takes long here"),
        (calls.bash("4", "ls"), Answer::Quiet, ""),
    ] {
        let reply = site.hook(&event)?;
        ensure!(reply.answer == answer, "{event}: {reply:?}");
        reply.says(&[says])?;
    }
    let record = site.records()?.into_iter().next().ok_or_else(|| anyhow!("there is no record"))?;
    ensure!(
        objections(&record).contains(&"custom-rules: no_shop_drop block".to_owned()),
        "{record}"
    );
    Ok(())
}

fn actions() -> Result<()> {
    let site = Site::new("rules actions")?;
    for (when, command, objects) in [
        (r#"commands.exists(c, c.program == "rm" && c.has_flag("-f"))"#, "sudo rm -rf x", true),
        (r#"commands.exists(c, c.program == "rm" && c.has_flag("-f"))"#, "echo rm -rf x", false),
        (r#"commands.exists(c, "sudo" in c.wrappers && c.privileged)"#, "sudo ls", true),
        (r#"commands.exists(c, c.origin == "nested")"#, "sh -c 'ls -l'", true),
        (r#"commands.exists(c, "out.txt" in c.targets)"#, "ls > out.txt", true),
        (r#"hosts.exists(h, h.endsWith("example.com"))"#, "curl https://api.example.com/x", true),
        (r#"hosts.exists(h, h.endsWith("example.com"))"#, "curl https://example.org/x", false),
        (r#"paths.exists(p, p.scope == "system")"#, "cat /etc/passwd", true),
        (
            r#"effects.exists(e, e.kind == "network" && e.program == "curl")"#,
            "curl https://api.example.com/x",
            true,
        ),
        (r#"coverage == "partial""#, "$UNKNOWN x", true),
        (r#"context.cwd.below("~") || context.cwd.endsWith("project")"#, "ls", true),
        (r#"path.below("src") && path.below(context.roots[0])"#, "cat src/a.rs", true),
        (r#"path.below("src")"#, "cat source/a.rs", false),
    ] {
        own(&site, &rule("r", "ask", when), "")?;
        let record = reviewed(&site, command)?;
        let found = objections(&record).contains(&"custom-rules: r ask".to_owned());
        ensure!(found == objects && record["faults"].is_null(), "{when} of {command}: {record}");
    }
    Ok(())
}

/// Covers a configuration, a project's configuration, and which of the rules `mine`, `ours` and
/// `warn_external_network` object to a request.
fn which() -> Result<()> {
    let site = Site::new("rules which")?;
    for (own_says, project_says, expected) in [
        ("", "", &["mine", "ours", "warn_external_network"][..]),
        ("rules.disabled = [\"mine\", \"warn_external_network\"]\n", "", &["ours"]),
        ("rules.builtin = \"none\"\n", "", &["mine", "ours"]),
        ("rules.builtin = \"essential\"\n", "", &["mine", "ours"]),
        ("plugins.custom-rules.enabled = false\n", "", &["warn_external_network"]),
        // A project's file that nobody trusted disables nothing, and may enable rules that are off.
        (
            "",
            "rules.disabled = [\"mine\"]\nrules.builtin = \"none\"\n",
            &["mine", "ours", "warn_external_network"],
        ),
        (
            "rules.builtin = \"none\"\n",
            "rules.builtin = \"all\"\n",
            &["mine", "ours", "warn_external_network"],
        ),
    ] {
        own(&site, &rule("mine", "warn", "hosts.size() > 0"), own_says)?;
        of_project(&site, &rule("ours", "warn", "hosts.size() > 0"), project_says)?;
        let record = reviewed(&site, "curl -d @data.json https://example.org/x")?;
        let names = ["mine", "ours", "warn_external_network"].into_iter();
        let found: Vec<&str> =
            names.filter(|name| objections(&record).iter().any(|one| one.contains(name))).collect();
        ensure!(found == expected, "{own_says}{project_says}: {found:?}");
    }
    Ok(())
}

fn builtin() -> Result<()> {
    let site = Site::new("rules builtin")?;
    for (text, quiet) in [
        ("rules.warn_external_network.trusted_hosts = [\"example.org\"]\n", true),
        ("plugins.rules.settings.warn_external_network.trusted_hosts = [\"example.org\"]\n", true),
        ("rules.disabled = [\"warn_external_network\"]\n", true),
        ("[plugins.rules.settings]\ndisabled = [\"warn_external_network\"]\n", true),
        ("rules.disabled = [\"limit_file_operations\"]\n", false),
    ] {
        site.write("config.toml", text)?;
        let found = objections(&reviewed(&site, "curl -d @data.json https://example.org/x")?);
        ensure!(found.is_empty() == quiet, "{text}: {found:?}");
    }
    for (text, says) in [
        (
            "rules.disabled = [\"warn_externl_network\"]\n",
            "no rule has that name; did you mean `warn_external_network`?",
        ),
        ("rules.builtin = \"al\"\n", "did you mean `all`?"),
        ("rules.fils = []\n", "`rules.fils` is unknown; did you mean `rules.files`?"),
        (
            "rules.builtin = \"all\"\nplugins.rules.settings.builtin = \"all\"\n",
            "`rules.builtin` is given twice",
        ),
        (
            "plugins.custom-rules.settings.files = [\"x\"]\n",
            "the plugin `custom-rules` has no settings",
        ),
        ("rules.files = [\"../x.toml\"]\n", "it must be a path without `.` or `..`"),
    ] {
        site.write("config.toml", text)?;
        fails(&site, &["review", "--command", "ls"], &[says])?;
    }
    Ok(())
}

fn pipeline() -> Result<()> {
    let site = Site::new("rules pipeline")?;
    own(&site, &(rule("everywhere", "warn", "true") + &rule("elsewhere", "warn", "true")), "")?;
    site.write("more.toml", rule("here", "ask", "true"))?;
    let project = site.project().canonicalize()?.display().to_string();
    let own = "rules.files = [\"rules.toml\"]\n";
    let pipeline = "rules.files = [\"more.toml\"]\nrules.disabled = [\"elsewhere\"]\n";
    for (projects, expected) in [
        (project.as_str(), &["everywhere warn", "here ask"][..]),
        ("/nowhere", &["everywhere warn", "elsewhere warn"]),
    ] {
        site.write(
            "config.toml",
            format!("{own}[pipelines.some]\nprojects = [\"{projects}\"]\n{pipeline}"),
        )?;
        let found = objections(&reviewed(&site, "ls")?);
        let expected: Vec<String> =
            expected.iter().map(|rule| format!("custom-rules: {rule}")).collect();
        ensure!(found == expected, "{projects}: {found:?}");
    }
    Ok(())
}

fn list() -> Result<()> {
    let site = Site::new("rules list")?;
    own(
        &site,
        RULES,
        "rules.disabled = [\"tell_of_make\", \"limit_file_operations\"]\nrules.builtin = \"essential\"\n",
    )?;
    of_project(&site, &rule("ours", "warn", "true"), "")?;
    let listed: Value = serde_json::from_str(&site.output(&["rules", "list", "--json"])?)?;
    let text = site.output(&["rules", "list"])?;
    for (name, state, verdict, source) in [
        ("prevent_recursive_deletion", "on", "modify, ask, block", "builtin"),
        ("limit_file_operations", "disabled", "warn, ask", "builtin"),
        ("warn_external_network", "off", "warn, ask, block", "builtin"),
        ("no_shop_drop", "on", "block", "/rules.toml:3"),
        ("tell_of_make", "disabled", "warn", "/rules.toml:18"),
        ("ours", "on", "warn", "/.portcullis/rules.toml:2 (the project's)"),
    ] {
        let rows = listed["rules"].as_array().ok_or_else(|| anyhow!("there are no rules"))?;
        let row = rows
            .iter()
            .find(|row| row["name"] == name)
            .ok_or_else(|| anyhow!("`{name}` is not listed: {listed}"))?;
        let ends = row["source"].as_str().is_some_and(|found| found.ends_with(source));
        ensure!(row["state"] == state && row["verdict"] == verdict && ends, "{row}");
        ensure!(
            text.lines().any(|line| line.starts_with(name)
                && line.contains(state)
                && line.ends_with(source)),
            "{text}"
        );
    }
    Ok(())
}

fn without() -> Result<()> {
    let site = Site::new("rules without")?;
    let asked = |record: &Value| -> Vec<String> {
        let plugins = record["plugins"].as_array().cloned().unwrap_or_default();
        plugins.iter().filter_map(|plugin| Some(plugin["name"].as_str()?.to_owned())).collect()
    };
    let record = reviewed(&site, "ls")?;
    ensure!(
        !asked(&record).is_empty() && !asked(&record).iter().any(|name| name.ends_with("-rules")),
        "{record}"
    );
    own(&site, &rule("mine", "warn", "false"), "")?;
    let record = reviewed(&site, "ls")?;
    ensure!(
        asked(&record).contains(&"custom-rules".to_owned())
            && !asked(&record).contains(&"project-rules".to_owned()),
        "{record}"
    );
    Ok(())
}

fn guarded() -> Result<()> {
    let site = Site::new("rules guarded")?;
    let team = site.person().join("team-rules.toml");
    fs::write(&team, rule("mine", "warn", "false"))?;
    site.write("config.toml", "rules.files = [\"~/team-rules.toml\"]\n")?;
    let project = of_project(&site, &rule("ours", "warn", "false"), "")?;
    let calls = site.calls("guarded");
    for (at, path) in [&team, &project].into_iter().enumerate() {
        let path = path.display();
        let reply =
            site.hook(&calls.bash(&format!("{at}"), &format!("sed -i s/warn/ask/ {path}")))?;
        ensure!(reply.answer == Answer::Refused, "{path}: {reply:?}");
        reply.says(&["the rules of Portcullis"])?;
        ensure!(
            site.hook(&calls.bash(&format!("{at}r"), &format!("cat {path}")))?.answer
                != Answer::Refused,
            "{path} is only read"
        );
    }
    Ok(())
}
