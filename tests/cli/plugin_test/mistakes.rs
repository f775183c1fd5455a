//! Mistakes of those who write cases: each has its place, what is wrong, and the mend.

use crate::common::site::Site;
use crate::{component, test};
use anyhow::{Result, ensure};
use std::fs;

const NAME: &str = "[[case]]\nname = \"one\"\n";
const STEP: &str = "[[case.step]]\ntool = \"Bash\"\ninput = { command = \"ls\" }\n";

pub fn mistakes() -> Result<()> {
    let site = Site::new("plugin test mistakes")?;
    let full = format!("{NAME}{STEP}");
    for (cases, told) in [
        ("x = = 1\n".to_owned(), "cases.toml:1:5: it is not TOML: "),
        (String::new(), "cases.toml:1:1: it holds no case; begin one with `[[case]]` and a `name`"),
        ("[[cases]]\n".to_owned(), "cases.toml:1:3: `cases` is unknown; did you mean `case`?"),
        ("[case]\nname = \"one\"\n".to_owned(), ": `case` is a table; write it with two brackets: `[[case]]`"),
        (format!("[[case]]\n{STEP}"), "cases.toml:1:1: the case has no `name`; say in a few words what it shows: `name = \"...\"`"),
        (NAME.to_owned(), "cases.toml:1:1: the case has no step; add `[[case.step]]` with `tool` and `input`, or with `says`"),
        (format!("{full}{full}"), "cases.toml:6:1: two cases have the name `one`, this one and that in line 1; give each its own"),
        (format!("[[case]]\nname = 1\n{STEP}"), "cases.toml:2:8: `case.name` is a whole number; it must be text"),
        (format!("{NAME}goal = [\"x\"]\n{STEP}"), "cases.toml:3:1: `case.goal` is unknown; did you mean `goals`?"),
        (format!("{NAME}goals = \"x\"\n{STEP}"), "cases.toml:3:9: `case.goals` is text; it must be a list of texts"),
        (
            format!("{NAME}with = [\"loop\"]\n{STEP}"),
            "cases.toml:3:8: `case.with` holds `loop`; it may hold `rationality`, `risk`, `rules`, `side-effects`, the builtin risk-calculators",
        ),
        (
            format!("{NAME}settings = {{ word = 2020-01-01 }}\n{STEP}"),
            "cases.toml:3:21: `case.settings.word` is a date; a setting is text, a number, a boolean or a list of texts",
        ),
        (
            format!("{NAME}[[case.step]]\ninput = {{}}\n"),
            "cases.toml:3:1: the step has neither `tool` nor `says`; name what the agent calls, as `tool = \"Bash\"`, or what the person says",
        ),
        (
            format!("{NAME}[[case.step]]\ntool = \"Bash\"\n"),
            "cases.toml:3:1: the step calls `Bash` without `input`; give its parameters, as `input = { command = \"ls\" }`",
        ),
        (format!("{full}retuns = \"x\"\n"), "cases.toml:6:1: `case.step.retuns` is unknown; did you mean `returns`?"),
        (format!("{full}returns = \"x\"\nfails = \"y\"\n"), "cases.toml:7:1: a call that has `returns` has no `fails`: it ends in one way"),
        (format!("{full}refused = \"yes\"\n"), "cases.toml:6:11: `case.step.refused` is text; it must be `true` or `false`"),
        (format!("{full}after = -1\n"), "cases.toml:6:9: `case.step.after` must be a whole number from 0 to 31536000"),
        (
            format!("{NAME}[[case.step]]\nsays = \"x\"\ntool = \"Bash\"\n"),
            "cases.toml:5:1: a step with `says` has no `tool`: what the person says and what the agent does are two steps",
        ),
        (
            format!("{NAME}[[case.step]]\nsays = \"x\"\n[[case.step.expect]]\nrule = \"x\"\n"),
            ": no plugin is asked about what the person says; move `expect` to a step with a `tool`",
        ),
        (
            format!("{full}[[case.step.expect]]\n"),
            "cases.toml:6:1: an `expect` says at least one thing of the finding; leave it out where the plugin has to say nothing",
        ),
        (
            format!("{full}[[case.step.expect]]\nrules = \"x\"\n"),
            "cases.toml:7:1: `case.step.expect.rules` is unknown; did you mean `rule`?",
        ),
        (
            format!("{full}[[case.step.expect]]\npattern = \"x\"\n"),
            "cases.toml:7:1: `case.step.expect.pattern` is unknown; a finding of a risk-calculator has `rule`, `verdict`, `severity`, ",
        ),
        (
            format!("{full}[[case.step.expect]]\nseverity = \"hihg\"\n"),
            "cases.toml:7:12: `case.step.expect.severity` is `hihg`; it must be one of `low`, `medium`, `high`, `critical`; did you mean `high`?",
        ),
        (
            format!("{full}[[case.step.expect]]\nrisk = 0.7\n"),
            "cases.toml:7:8: `case.step.expect.risk` is `0.7`; it must be a whole number of thousandths, 0 to 1000",
        ),
        (
            format!("{NAME}[[case.step]]\ntool = \"Bash\"\ninput = {{ at = 2020-01-01 }}\n"),
            "cases.toml:5:16: `case.step.input` holds a date, which JSON does not have; put it in quotation marks",
        ),
    ] {
        let ended = test(&site, "talker", &cases, &[])?;
        ensure!(ended.code == Some(1) && ended.stdout.is_empty(), "{cases}\n{}", ended.all());
        ensure!(ended.stderr.contains(told), "it does not say {told:?} to\n{cases}\n{}", ended.all());
    }
    // All of a file's mistakes at once.
    let ended = test(&site, "talker", &format!("{NAME}goal = 1\n[[case.step]]\ntol = \"Bash\"\n"), &[])?;
    ensure!(ended.stderr.matches("cases.toml:").count() == 3, "{}", ended.all());
    Ok(())
}

pub fn subjects() -> Result<()> {
    let site = Site::new("plugin test subjects")?;
    let talker = component("talker")?;
    let project = site.project();
    fs::create_dir_all(project.join("empty"))?;
    fs::create_dir_all(project.join("unbuilt"))?;
    fs::write(project.join("unbuilt/plugin.toml"), "name = \"talker\"\nkind = \"risk-calculator\"\nlanguage = \"rust\"\n")?;
    fs::create_dir_all(project.join("whole/build"))?;
    fs::copy(project.join("unbuilt/plugin.toml"), project.join("whole/plugin.toml"))?;
    fs::copy(&talker, project.join("whole/build/talker.wasm"))?;
    fs::copy(&talker, project.join("loop.wasm"))?;
    fs::write(project.join("text.wasm"), "(module)")?;
    for (arguments, says) in [
        (&["empty"][..], "holds no plugin project: there is no `plugin.toml`"),
        (&["unbuilt"], "unbuilt/build/talker.wasm`: build the plugin first, `portcullis plugin build "),
        (&["whole"], "whole/cases.toml`; write one, or name another with `--cases FILE`"),
        (&[talker.as_str()], "a component alone has no cases; name the file that holds them: `--cases cases.toml`"),
        (&["loop.wasm"], "`loop.wasm` has the name of a builtin plugin, `loop`; give the file another"),
        (&["text.wasm"], "`text.wasm` is no plugin"),
        (&["nowhere.wasm"], "`nowhere.wasm` is no plugin"),
    ] {
        let ended = site.run(&[&["plugin", "test"], arguments].concat())?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(says), "{arguments:?}: {}", ended.all());
    }
    fs::write(project.join("whole/cases.toml"), format!("{NAME}{STEP}"))?;
    ensure!(site.output(&["plugin", "test", "whole"])?.ends_with("1 case: all as expected\n"), "a project");
    let mut inside = site.command(&["plugin", "test"]);
    inside.current_dir(project.join("whole"));
    let ended = crate::common::process::run(inside, b"", crate::common::site::LIMIT)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}
