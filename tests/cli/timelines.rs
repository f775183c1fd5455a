//! Tests of replays as timelines: what they show, fold and summarize, and the changes by another
//! setup.

use crate::common::process::{self, Ended};
use crate::common::reply::Answer;
use crate::common::site::{Site, lines, name_of};
use crate::common::{outside, trial};
use crate::replays::{fails, file};
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A session that goes wrong in most ways that there are: it is told, limited, held and stopped.
pub const ASTRAY: &str = include_str!("../sessions/astray.jsonl");
const TILL: &str = include_str!("../sessions/till.jsonl");
const BAKERY: &str = include_str!("../sessions/bakery.jsonl");
const TRAJECTORIES: &str = include_str!("../sessions/trajectories.jsonl");
/// Wider than this no line is where there is no terminal.
const WIDTH: usize = 100;

pub fn tests() -> Vec<Trial> {
    let mut tests = vec![
        trial("timeline: notable steps are shown, quiet steps are folded", folded),
        trial("timeline: the table holds what the records hold", summed),
        trial("timeline: a session of the journal", journaled),
        trial("timeline: changes by another set-up", compared),
        trial("timeline: ordinary work is not interrupted", ordinary),
        trial("timeline: what stays wrong is answered more and more strictly", lasting),
        trial("timeline: a set-up is a file or a folder, under either name", set_ups),
    ];
    tests.extend(outside(
        "PORTCULLIS_CORPORA",
        "outside data: real sessions are hardly interrupted",
        real,
    ));
    tests
}

fn folded() -> Result<()> {
    let site = Site::new("timeline told")?;
    let session = file(&site, "astray.jsonl", ASTRAY)?;
    let text = site.snapshot("timelines", "a session", &["replay", &session])?.text();
    let steps = ASTRAY.matches("\"tool\": \"").count() - ASTRAY.matches("UserPromptSubmit").count();
    let all = site.snapshot("timelines", "every step", &["replay", "--all", &session])?.text();
    let numbered = all
        .lines()
        .filter(|line| line.get(..5).is_some_and(|step| step.trim().parse::<u64>().is_ok()))
        .count();
    ensure!(numbered == steps, "{numbered} steps are told of {steps}: {all}");
    for line in text.lines().chain(all.lines()) {
        ensure!(
            line.chars().count() <= WIDTH && !line.contains('\u{1b}'),
            "`{line}` is too wide, or coloured"
        );
    }
    let quiet = TRAJECTORIES.lines().last().unwrap_or_default();
    let quiet = file(&site, "quiet.jsonl", quiet)?;
    site.snapshot("timelines", "a quiet session", &["replay", &quiet])?;
    Ok(())
}

type Rows = BTreeMap<String, (BTreeSet<String>, BTreeSet<String>, u64)>;

/// Recomputes the figures from the records that are printed before them.
fn summed() -> Result<()> {
    let site = Site::new("timeline summed")?;
    for (name, text) in
        [("astray.jsonl", ASTRAY), ("till.jsonl", TILL), ("orchard.jsonl", TRAJECTORIES)]
    {
        let mut records = lines(&site.output(&["replay", "--json", &file(&site, name, text)?])?)?;
        let sum = records.pop().context("nothing was printed")?;
        let place = |record: &Value| {
            format!("{} {} {}", record["session"], record["agent"], record["step"])
        };
        let steps: BTreeSet<String> =
            records.iter().filter(|record| record["step"].is_u64()).map(place).collect();
        ensure!(sum["steps"] == steps.len(), "{name}: {} steps, but {sum}", steps.len());
        let mut rows = Rows::new();
        for record in &records {
            let patterns = record["detections"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|found| ("patterns", found["finding"]["pattern"].clone()));
            let verdict =
                record.pointer("/decision/verdict").map(|verdict| ("verdicts", verdict.clone()));
            let done = (record["kind"] == "intervention")
                .then(|| ("interventions", record["subject"].clone()));
            let above = done
                .clone()
                .filter(|(_, kind)| kind != "soft_correction")
                .map(|(group, _)| (group, json!("above soft_correction")));
            for (group, name) in patterns.chain(verdict).chain(done).chain(above) {
                let row = rows
                    .entry(format!("/table/{group}/{}", name.as_str().unwrap_or_default()))
                    .or_default();
                row.0.insert(record["session"].to_string());
                row.1.insert(place(record));
                row.2 += 1;
            }
        }
        let mut counted = 0;
        for (pointer, (sessions, touched, times)) in &rows {
            let row =
                sum.pointer(pointer).ok_or_else(|| anyhow!("{name}: no {pointer} in {sum}"))?;
            let share = (touched.len() as f64 * 1000.0 / steps.len() as f64).round() / 1000.0;
            let expected = json!({ "sessions": sessions.len(), "steps": touched.len(), "times": times, "share_of_steps": share });
            ensure!(*row == expected, "{name}: {pointer} is {row}, the records hold {expected}");
            counted += 1;
        }
        let stopped =
            usize::from(sum.pointer("/table/interventions/in a stopped session").is_some());
        let all: usize = sum["table"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, rows)| rows.as_object().map_or(0, serde_json::Map::len))
            .sum();
        ensure!(all == counted + stopped, "{name}: the table has rows that no record has: {sum}");
        ensure!(
            sum["verdicts"].is_object()
                && sum["patterns"].is_object()
                && sum["interventions"].is_object(),
            "{sum}"
        );
        let text = site.output(&["replay", &file(&site, name, text)?])?;
        ensure!(text.contains(&format!("{} step", steps.len())), "{name}: {text}");
    }
    Ok(())
}

fn journaled() -> Result<()> {
    let site = Site::new("timeline journal")?;
    fs::create_dir_all(site.project().join("exports"))?;
    let mut refused = 0;
    for event in lines(&TILL.replace("/srv/shop", &site.project().to_string_lossy()))? {
        refused +=
            usize::from(matches!(site.hook(&event)?.answer, Answer::Refused | Answer::Rewritten));
    }
    site.ordinary("tide one")?;
    site.ordinary("tide two")?;
    ensure!(refused > 0, "no call was refused or rewritten");
    let reviews = |records: &[Value], at: &str| -> Vec<(String, String)> {
        let found = records
            .iter()
            .filter(|record| record["kind"] == "review" && record["session"] == "till");
        found
            .map(|record| {
                (
                    record["call"].to_string(),
                    record.pointer(at).map(Value::to_string).unwrap_or_default(),
                )
            })
            .collect()
    };
    let journal = reviews(&site.records()?, "/verdict");
    for id in ["till", "til"] {
        let replay = reviews(
            &lines(&site.output(&["replay", "--json", "--session", id])?)?,
            "/decision/verdict",
        );
        ensure!(journal == replay && replay.len() > 10, "journal {journal:?}\nreplay {replay:?}");
    }
    let both = site.output(&["replay", "--session", "till", "--session", "tide one"])?;
    ensure!(
        both.contains("\ntill  ") && both.contains("\ntide one  ") && both.contains("2 sessions, "),
        "{both}"
    );
    for (id, says) in [
        ("nobody", &["the journal has no session `nobody`", "audit show"][..]),
        ("ti", &["several sessions begin with `ti`", "`till`", "`tide one`", "`tide two`"]),
        ("", &["names no session"]),
    ] {
        fails(&site, &["replay", "--session", id], says)?;
    }
    wrong(&site, &["replay", "--claude", "--session", "till"], "cannot be used with")?;
    Ok(())
}

/// Compares the results of both setups, step by step, with the reported comparison.
fn compared() -> Result<()> {
    let site = Site::new("timeline compared")?;
    let session = file(&site, "astray.jsonl", ASTRAY)?;
    let alone = |arguments: &[&str]| {
        lines(&site.output(&[&["replay", "--json", &session], arguments].concat())?)
    };
    for (name, config, differs) in [
        ("same.toml", "", false),
        (
            "gentle.toml",
            "[interventions]\nemergency_stop = false\ncheckpoint_rollback = false\n",
            true,
        ),
        ("strict.toml", "[risk]\nmedium = 0.35\nhigh = 0.5\n", true),
        ("blind.toml", "[plugins.scope-creep]\nenabled = false\n", true),
    ] {
        let config = file(&site, name, config)?;
        let (yours, other) = (alone(&[])?, alone(&["--config-file", &config])?);
        let mut printed = lines(&site.output(&[
            "replay",
            "--json",
            "--compare",
            "--config-file",
            &config,
            &session,
        ])?)?;
        let totals = printed.pop().context("no totals")?;
        ensure!(
            yours.last() == totals.get("yours") && other.last() == totals.get("other"),
            "{name}: other totals than alone: {totals}"
        );
        ensure!(
            totals["differing"] == printed.len() && printed.is_empty() != differs,
            "{name}: {totals}"
        );
        let (one, two) = (briefs(&yours), briefs(&other));
        let expected: Vec<(u64, Brief, Brief)> = one
            .iter()
            .filter(|(step, brief)| two.get(step) != Some(brief))
            .map(|(step, brief)| (*step, brief.clone(), two.get(step).cloned().unwrap_or_default()))
            .collect();
        let reported: Vec<(u64, Brief, Brief)> = printed
            .iter()
            .map(|line| {
                (
                    line["step"].as_u64().unwrap_or_default(),
                    side(&line["yours"]),
                    side(&line["other"]),
                )
            })
            .collect();
        ensure!(reported == expected, "{name}: reported {reported:?}\nexpected {expected:?}");
        let text = site.output(&["replay", "--compare", "--config-file", &config, &session])?;
        let count =
            if printed.len() == 1 { "1 step".into() } else { format!("{} steps", printed.len()) };
        ensure!(text.contains(&format!("{count} would change: ")), "{name}: {text}");
        ensure!(
            text.contains("\nyours  ") == differs
                && text.lines().all(|line| line.chars().count() <= WIDTH),
            "{name}: {text}"
        );
    }
    let config = file(&site, "gentle.toml", "[interventions]\nemergency_stop = false\n")?;
    let compare = ["replay", "--compare", "--config-file", &config, &session];
    site.snapshot("timelines", "without the emergency stop", &compare)?;
    wrong(&site, &["replay", "--compare", &session], "--plugin <FILE>|--config-file <PATH>")?;
    wrong(
        &site,
        &["replay", "--compare", "--config-file", &config, "--all", &session],
        "cannot be used with",
    )?;
    wrong(
        &site,
        &["replay", "--compare", "--claude", "--config-file", &config],
        "cannot be used with",
    )?;
    Ok(())
}

/// Verdict, patterns, interventions.
type Brief = (String, Vec<String>, Vec<String>);

/// Returns the result of each step, from its records.
fn briefs(records: &[Value]) -> BTreeMap<u64, Brief> {
    let mut briefs: BTreeMap<u64, Brief> = BTreeMap::new();
    for record in records {
        let Some(step) = record["step"].as_u64() else { continue };
        let brief = briefs.entry(step).or_default();
        if let Some(verdict) = record.pointer("/decision/verdict").and_then(Value::as_str) {
            verdict.clone_into(&mut brief.0);
        }
        let found = record["detections"].as_array().into_iter().flatten();
        brief.1.extend(found.map(|found| {
            format!("{} {}", found["finding"]["pattern"], found["finding"]["severity"])
        }));
        brief.2.extend(
            record.get("intervention").map(|done| format!("{} {}", done["kind"], done["issue"])),
        );
    }
    briefs
}

fn side(side: &Value) -> Brief {
    let pairs = |list: &str, one: &str, two: &str| -> Vec<String> {
        side[list]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| format!("{} {}", item[one], item[two]))
            .collect()
    };
    (
        side["verdict"].as_str().unwrap_or_default().into(),
        pairs("patterns", "pattern", "severity"),
        pairs("interventions", "kind", "issue"),
    )
}

fn ordinary() -> Result<()> {
    let site = Site::new("timeline ordinary")?;
    let sum = lines(&site.output(&["replay", "--json", &file(&site, "bakery.jsonl", BAKERY)?])?)?
        .pop()
        .context("nothing was printed")?;
    let calls = BAKERY.matches("\"PreToolUse\"").count();
    ensure!(sum["verdicts"] == json!({ "allow": calls }) && calls > 10, "{sum}");
    ensure!(
        sum["table"]["patterns"] == json!({})
            && sum["table"]["interventions"] == json!({})
            && sum["faults"] == json!({}),
        "{sum}"
    );
    Ok(())
}

/// Returns a trajectory of these steps, each a tool with its input. A command that begins with
/// `bad` fails.
fn trajectory(goal: &str, steps: impl Iterator<Item = (&'static str, Value)>) -> String {
    let steps: Vec<Value> = steps
        .enumerate()
        .map(|(index, (tool, input))| {
            let fails = input["command"].as_str().is_some_and(|command| command.starts_with("bad"));
            let result = if fails {
                "error: no such column `colour`".to_owned()
            } else {
                format!("done {index}")
            };
            json!({ "tool": tool, "input": input, "result": result, "is_error": fails })
        })
        .collect();
    let meta = json!({ "context": { "cwd": "/srv/museum" } });
    json!({ "id": "lasting", "goal": goal, "meta": meta, "steps": steps }).to_string()
}

/// Checks the steps at which a session that stays wrong is answered, a second after the one before.
fn lasting() -> Result<()> {
    let site = Site::new("timeline lasting")?;
    let write = |folder: &str, index: u64| {
        ("Write", json!({ "file_path": format!("{folder}/file{index}.md"), "content": "x\n" }))
    };
    let unrelated = |index: u64| {
        let command = match index % 4 {
            0 => format!("docker pull redis{index}"),
            1 => format!("docker run -d redis{index}"),
            2 => format!("ssh backup{index}.example.net uptime"),
            _ => format!("curl -s https://news.example.com/{index}"),
        };
        ("Bash", json!({ "command": command }))
    };
    let goal = "Correct the spelling of the hall labels in labels/.";
    let inside = |count| (0..count).map(move |index| write("/srv/museum/labels", index));
    let outside = |count| (0..count).map(move |index| write("/srv/gallery", index));
    let failing =
        |count| (0..count).map(|_| ("Bash", json!({ "command": "bad-import labels.csv" })));
    for (name, steps, expected) in [
        (
            "nine quick failures: the first word is heard, and a cooldown silences only hints",
            trajectory(goal, failing(9)),
            &[(2, "soft_correction")][..],
        ),
        (
            "forty quick failures: after the cooldown the ladder goes on",
            trajectory(goal, failing(40)),
            &[
                (2, "soft_correction"),
                (32, "context_reinforcement"),
                (35, "checkpoint_rollback"),
                (38, "checkpoint_rollback"),
            ],
        ),
        (
            "forty files outside",
            trajectory(goal, inside(1).chain(outside(40))),
            &[(4, "context_reinforcement"), (7, "resource_throttling"), (10, "emergency_stop")],
        ),
        (
            "it turns round after the first word",
            trajectory(goal, inside(1).chain(outside(5)).chain(inside(30))),
            &[(4, "context_reinforcement")],
        ),
        (
            "forty-four unrelated steps",
            trajectory(goal, inside(6).chain((0..44).map(unrelated))),
            &[
                (12, "soft_correction"),
                (43, "context_reinforcement"),
                (46, "checkpoint_rollback"),
                (49, "checkpoint_rollback"),
            ],
        ),
    ] {
        let path = file(&site, "lasting.jsonl", &steps)?;
        let records = lines(&site.output(&["replay", "--json", &path])?)?;
        let answers: Vec<(u64, &str)> = records
            .iter()
            .filter(|record| record["kind"] == "intervention")
            .filter_map(|record| Some((record["step"].as_u64()?, record["subject"].as_str()?)))
            .collect();
        ensure!(answers == expected, "{name}: {answers:?}");
    }
    Ok(())
}

/// Recordings of real work that are not ours to publish.
fn real(corpora: &Path) -> Result<()> {
    let site = Site::new("timeline real")?;
    for name in ["spotter", "bookminder"] {
        let path = corpora.join("trajectories").join(name).with_extension("jsonl");
        let path = path.to_string_lossy();
        let ended = process::run(
            site.command(&["replay", "--json", &path]),
            b"",
            Duration::from_secs(300),
        )?;
        let sum: Value = serde_json::from_str(ended.text().lines().last().unwrap_or_default())
            .with_context(|| ended.all())?;
        let above = sum
            .pointer("/table/interventions/above soft_correction/steps")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        ensure!(
            sum["steps"].as_u64().is_some_and(|steps| above * 50 <= steps),
            "{name}: more than 2 % of the steps: {sum}"
        );
        let stopped = ["emergency_stop", "in a stopped session"]
            .iter()
            .find_map(|row| sum["table"]["interventions"].get(row));
        ensure!(
            stopped.is_none() && sum["faults"] == json!({}),
            "{name}: a session was stopped: {sum}"
        );
    }
    Ok(())
}

fn set_ups() -> Result<()> {
    let site = Site::new("timeline set-ups")?;
    let session = file(&site, "till.jsonl", TILL)?;
    let folder = site.project().join("tried");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("config.toml"), "[risk]\nmedium = 0.35\nhigh = 0.4\n")?;
    let (path, folder) = (
        folder.join("config.toml").to_string_lossy().into_owned(),
        folder.to_string_lossy().into_owned(),
    );
    let own = site.output(&["replay", "--json", &session])?;
    let tried = site.output(&["replay", "--json", "--config-file", &path, &session])?;
    ensure!(own != tried, "the other configuration changes nothing");
    for arguments in [
        &["replay", "--json", "--config-file", &folder][..],
        &["replay", "--json", "--config", &folder],
        &["--config", &folder, "replay", "--json"],
        &["replay", "--json", "--config", "tried"],
    ] {
        ensure!(
            site.output(&[arguments, &[&session]].concat())? == tried,
            "{arguments:?} is another set-up"
        );
    }
    for command in ["replay", "eval", "metrics"] {
        let help = site.output(&[command, "--help"])?;
        ensure!(help.contains("--config-file <PATH>"), "{help}");
    }
    let calls = lines(TILL)?.iter().filter(|event| name_of(event) == "PreToolUse").count();
    ensure!(tried.matches("\"kind\":\"review\"").count() == calls, "{tried}");
    fails(
        &site,
        &["replay", "--compare", "--config-file", "/nowhere.toml", &session],
        &["/nowhere.toml"],
    )?;
    fails(&site, &["replay", "--config", &path, &session], &["--config-file", &path])
}

/// Checks that wrong arguments give exit code 2.
fn wrong(site: &Site, arguments: &[&str], says: &str) -> Result<Ended> {
    let ended = site.run(arguments)?;
    ensure!(
        ended.code == Some(2) && ended.stderr.contains(says),
        "`{}`: {}",
        arguments.join(" "),
        ended.all()
    );
    Ok(ended)
}
