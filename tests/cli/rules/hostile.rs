//! Tests of a repository's rules: they only tighten, terminate, stay within bounds, and cannot
//! impersonate others.

use super::{objections, of_project, own, reviewed, rule};
use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::symlink;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("project's rules: they tighten, and say whose they are", tighten),
        trial("project's rules: they neither hang nor take the others' words", greedy),
        trial("project's rules: their texts stay within bounds", texts),
        trial("project's rules: files elsewhere are not read", elsewhere),
        trial("project's rules: names of others are refused", names),
        trial("rules: the deepest that is read can be asked", deepest),
    ]
}

/// Returns a condition with more steps than a rule may take.
fn endless() -> String {
    let many =
        format!("[{}]", (1..=60).map(|number| number.to_string()).collect::<Vec<_>>().join(", "));
    format!("{many}.all(a, {many}.all(b, {many}.all(c, a + b + c > 0)))")
}

fn tighten() -> Result<()> {
    let site = Site::new("rules tighten")?;
    of_project(&site, &rule("ours", "block", "program == 'make'"), "")?;
    let reply = site.hook(&site.calls("tighten").bash("1", "make all"))?;
    ensure!(reply.answer == Answer::Refused, "{reply:?}");
    reply.says(&["a rule of this project says: because of ours"])?;
    let record = reviewed(&site, "make all")?;
    ensure!(objections(&record) == ["project-rules: ours block"], "{record}");
    ensure!(
        site.hook(&site.calls("tighten").bash("2", "ls"))?.answer == Answer::Quiet,
        "what no rule speaks of"
    );
    Ok(())
}

fn greedy() -> Result<()> {
    for (on_fault, project, own_rule, expected) in [
        ("block", endless(), "warn", "block"),
        ("warn", endless(), "ask", "ask"),
        ("warn", "programs[9] == 'x'".to_owned(), "block", "block"),
        ("warn", "programs[9] == 'x'".to_owned(), "warn", "warn"),
        ("ask", "int(command) == 1".to_owned(), "warn", "ask"),
    ] {
        let site = Site::new("rules greedy")?;
        own(
            &site,
            &rule("mine", own_rule, "true"),
            &format!("plugins.custom-rules.on_fault = \"{on_fault}\"\n"),
        )?;
        of_project(&site, &rule("theirs", "warn", &project), "")?;
        let record = reviewed(&site, "ls -l")?;
        ensure!(record["decision"]["verdict"] == expected, "{on_fault}, {project}: {record}");
        ensure!(
            objections(&record).contains(&format!("custom-rules: mine {own_rule}")),
            "{record}"
        );
        let fault = &record["faults"][0];
        ensure!(
            fault["source"] == "project-rules"
                && fault["detail"].as_str().is_some_and(|detail| detail.contains("`theirs`")),
            "{record}"
        );
    }
    Ok(())
}

fn texts() -> Result<()> {
    let site = Site::new("rules texts")?;
    let loud = "{command}".repeat(100);
    let many: String = (0..150)
        .map(|at| rule(&format!("r{at}"), "warn", "true").replace("because of", &loud))
        .collect();
    of_project(&site, &many, "")?;
    let reply =
        site.hook(&site.calls("texts").bash("1", &format!("echo {}", "\u{1b}[31mx".repeat(2000))))?;
    ensure!(matches!(reply.answer, Answer::Informed), "{:?}", reply.answer);
    ensure!(
        reply.said.len() < 64 << 10 && !reply.said.contains('\u{1b}'),
        "{} bytes",
        reply.said.len()
    );
    Ok(())
}

fn elsewhere() -> Result<()> {
    let site = Site::new("rules elsewhere")?;
    let secret = site.person().join("secret");
    fs::write(&secret, "token = \"hunter2\"\n")?;
    let path = of_project(&site, "", "")?;
    let folder = site.project().join(".portcullis");
    let named =
        |name: &str| fs::write(folder.join("config.toml"), format!("rules.files = [\"{name}\"]\n"));
    for name in
        [secret.display().to_string(), "~/secret".to_owned(), "../../person/secret".to_owned()]
    {
        named(&name)?;
        let reply = site.hook(&site.calls("elsewhere").bash("1", "ls"))?;
        ensure!(
            reply.answer == Answer::Refused
                && !reply.said.contains("hunter2")
                && !reply.said.contains("token"),
            "{name}: {reply:?}"
        );
    }
    named("rules.toml")?;
    fs::remove_file(&path)?;
    symlink(&secret, &path)?;
    let reply = site.hook(&site.calls("elsewhere").bash("2", "ls"))?;
    ensure!(
        reply.answer == Answer::Refused
            && !reply.said.contains("hunter2")
            && !reply.said.contains("token"),
        "{reply:?}"
    );
    reply.says(&["out of the project"])
}

fn names() -> Result<()> {
    for (name, says) in [
        ("refuse_unseen_code", "is the name of a builtin rule"),
        ("mine", "`mine` is a rule of `"),
        ("rule:x", "a rule's name has"),
    ] {
        let site = Site::new("rules names")?;
        own(&site, &rule("mine", "warn", "false"), "")?;
        of_project(&site, &rule(name, "warn", "false"), "")?;
        let reply = site.hook(&site.calls("names").bash("1", "ls"))?;
        ensure!(reply.answer == Answer::Refused, "{name}: {reply:?}");
        reply.says(&[says])?;
    }
    Ok(())
}

/// Every accepted rule fits the sandbox's stack.
fn deepest() -> Result<()> {
    let within = |open: &str, inner: &str, close: &str, deep: usize| {
        format!("{}{inner}{}", open.repeat(deep), close.repeat(deep))
    };
    let lists = within("[", "1", "]", 21);
    let conditions = [
        within("(", "true", ")", 22),
        format!("{}true", "!".repeat(30)),
        format!("{}true", "false ? false : ".repeat(22)),
        format!("{lists} == {lists}"),
        ('a'..='h').map(|name| format!("[1].exists({name}, ")).collect::<String>()
            + "true"
            + &")".repeat(8),
        format!("1{} == 29", "+1".repeat(28)),
        format!("\"x\"{} == \"x\"", ".trim()".repeat(29)),
        format!("command.matches(\"{}s*\")", within("(", "l", ")", 14)),
    ];
    let site = Site::new("rules deepest")?;
    let text = |(at, when): (usize, &String)| {
        format!("{}must_match = ['ls']\n", rule(&format!("r{at}"), "warn", when))
    };
    site.write("deep.toml", conditions.iter().enumerate().map(text).collect::<String>())?;
    let path = site.state().join("deep.toml").display().to_string();
    let ended = site.run(&["rules", "check", &path])?;
    ensure!(
        ended.code == Some(0) && ended.text().contains("ok, 8 rules, 8 examples"),
        "{}",
        ended.all()
    );
    Ok(())
}
