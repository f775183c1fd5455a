//! Tests of the recordings that clients keep or export: the same five actions in each form get the
//! same verdicts, from the file alone and from the folder in which the client keeps it.

use super::replays::fails;
use crate::common::site::{Site, lines};
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// One client's recording of a read, an edit, a command that fails, one that deletes a folder of
/// the home folder, and the fetch of a page.
struct Kept {
    agent: &'static str,
    /// The recording.
    text: &'static str,
    session: &'static str,
    /// Its place below the home folder, if the client keeps it as a file.
    place: Option<&'static str>,
    /// A file beside it with its text.
    beside: Option<(&'static str, &'static str)>,
    tools: [&'static str; 5],
}

const KEPT: &[Kept] = &[
    Kept {
        agent: "claude",
        text: include_str!("../sessions/clients/claude.jsonl"),
        session: "5d0c9e4f-0000-4000-8000-0000000000bb",
        place: Some(".claude/projects/-srv-orchard/5d0c9e4f-0000-4000-8000-0000000000bb.jsonl"),
        beside: None,
        tools: ["Read", "Edit", "Bash", "Bash", "WebFetch"],
    },
    Kept {
        agent: "codex",
        text: include_str!("../sessions/clients/codex.jsonl"),
        session: "01a21550-0000-7000-8000-0000000000aa",
        place: Some(".codex/sessions/2026/09/01/rollout-2026-09-01T10-00-00-01a21550.jsonl"),
        beside: None,
        tools: ["Bash", "apply_patch", "Bash", "Bash", "Bash"],
    },
    Kept {
        agent: "gemini",
        text: include_str!("../sessions/clients/gemini.jsonl"),
        session: "9a3c1f60-4f5e-4c0f-8a55-0d8f1e2b7c11",
        place: Some(".gemini/tmp/orchard/chats/session-2026-09-01T10-00-9a3c1f60.jsonl"),
        beside: Some((".gemini/tmp/orchard/.project_root", "/srv/orchard")),
        // An address in the words for `web_fetch` is not read.
        tools: [
            "read_file",
            "replace",
            "run_shell_command",
            "run_shell_command",
            "run_shell_command",
        ],
    },
    Kept {
        agent: "qwen",
        text: include_str!("../sessions/clients/qwen.jsonl"),
        session: "4b7d0a52-9c1e-4d5b-8f07-6a1f3e9c2d22",
        place: Some(".qwen/projects/-srv-orchard/chats/4b7d0a52-9c1e-4d5b-8f07-6a1f3e9c2d22.jsonl"),
        beside: None,
        tools: ["read_file", "edit", "run_shell_command", "run_shell_command", "web_fetch"],
    },
    Kept {
        agent: "copilot",
        text: include_str!("../sessions/clients/copilot.jsonl"),
        session: "d2e84c7a-5b60-4f1d-9a3e-1c7b5f0e8d33",
        place: Some(".copilot/session-state/d2e84c7a-5b60-4f1d-9a3e-1c7b5f0e8d33/events.jsonl"),
        beside: None,
        tools: ["view", "edit", "bash", "bash", "web_fetch"],
    },
    Kept {
        agent: "opencode",
        text: include_str!("../sessions/clients/opencode.json"),
        session: "ses_orchard",
        place: None,
        beside: None,
        tools: ["read", "edit", "bash", "bash", "webfetch"],
    },
    Kept {
        agent: "cline",
        text: include_str!("../sessions/clients/cline.json"),
        session: "1788252000000_treeq",
        place: Some(".cline/data/sessions/1788252000000_treeq/1788252000000_treeq.messages.json"),
        beside: Some((
            ".cline/data/sessions/1788252000000_treeq/1788252000000_treeq.json",
            "{\"session_id\": \"1788252000000_treeq\", \"cwd\": \"/srv/orchard\"}",
        )),
        tools: ["read_files", "editor", "run_commands", "run_commands", "fetch_web_content"],
    },
];

const VERDICTS: [&str; 5] = ["allow", "allow", "allow", "block", "allow"];

pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = KEPT
        .iter()
        .map(|kept| {
            trial(format!("replay of the sessions of {}", kept.agent), move || replays(kept))
        })
        .collect();
    tests.push(trial("replay of sessions in a database", databases));
    tests.push(trial("replay --agent: two clients are kept apart", apart));
    tests
}

impl Kept {
    fn write(&self, site: &Site) -> Result<PathBuf> {
        let path = site.person().join(self.place.unwrap_or("export.json"));
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, self.text)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        if let Some((place, text)) = self.beside {
            fs::write(site.person().join(place), text)?;
        }
        Ok(path)
    }
}

fn replays(kept: &Kept) -> Result<()> {
    let site = Site::new(&format!("recordings {}", kept.agent))?;
    let path = kept.write(&site)?;
    let records = lines(&site.output(&["replay", "--json", &path.to_string_lossy()])?)?;
    let of_kind = |kind: &str| {
        records.iter().filter(|record| record["kind"] == kind).collect::<Vec<&Value>>()
    };
    let reviews: Vec<[&Value; 3]> = of_kind("review")
        .iter()
        .map(|record| [&record["subject"], &record["decision"]["verdict"], &record["session"]])
        .collect();
    let expected: Vec<Value> = kept
        .tools
        .iter()
        .zip(VERDICTS)
        .map(|(tool, verdict)| json!([tool, verdict, kept.session]))
        .collect();
    ensure!(json!(reviews) == json!(expected), "{reviews:?}");
    let prompts = records.iter().filter(|record| record["details"]["goal"] == true);
    let prompts: Vec<&Value> = prompts.map(|record| &record["summary"]).collect();
    ensure!(prompts == ["Count the trees and note the sum."], "{prompts:?}");
    // The blocked one ran, since nobody was asked then.
    let ends: Vec<&Value> = records
        .iter()
        .filter(|record| record["kind"] == "outcome" || record["kind"] == "unreviewed")
        .map(|record| &record["outcome"]["status"])
        .collect();
    ensure!(ends[2] == "failed" && ends.len() == 5, "{ends:?}");
    ensure!(ends.iter().filter(|end| **end == "failed").count() == 1, "{ends:?}");
    let times: Vec<u64> = records.iter().filter_map(|record| record["at"].as_u64()).collect();
    let recorded = 1_788_252_000_000..1_788_252_008_000;
    ensure!(times.iter().all(|at| recorded.contains(at)) && times.is_sorted(), "{times:?}");
    if kept.place.is_some() {
        let sum = past(&site, kept.agent)?;
        ensure!(
            sum["sessions"] == 1
                && sum["verdicts"] == json!({"allow": 4, "block": 1})
                && sum["projects"]["/srv/orchard"]["actions"] == 5
                && sum["unread"] == json!([]),
            "{sum}"
        );
    }
    Ok(())
}

fn past(site: &Site, agent: &str) -> Result<Value> {
    let text = site.output(&["replay", "--agent", agent, "--since", "36500d", "--json"])?;
    Ok(serde_json::from_str(&text)?)
}

/// The clients with a database are named with the command that writes a session.
fn databases() -> Result<()> {
    let site = Site::new("recordings databases")?;
    for name in ["opencode", "kilo"] {
        let export = format!("`{name} export SESSION > FILE`");
        let database = site.person().join(format!(".local/share/{name}/{name}.db"));
        let place = database.to_string_lossy();
        fails(&site, &["replay", "--agent", name], &["there are no past sessions", &place])?;
        fs::create_dir_all(database.parent().context("no folder")?)?;
        fs::write(&database, b"SQLite format 3\0\x10\0")?;
        fails(&site, &["replay", "--agent", name], &[&place, &export, "replay FILE"])?;
        fails(&site, &["replay", &place], &["it is a database", &export])?;
    }
    let odd = site.project().join("odd.json");
    fs::write(&odd, "{\"info\": {\"id\": 1},\n\"messages\": [], \"type\": \"x\"}\n")?;
    fails(&site, &["replay", &odd.to_string_lossy()], &["no session", "Cline CLI", "kilo export"])
}

/// `--agent` reads the sessions of that client, and `--claude` is a short form.
fn apart() -> Result<()> {
    let site = Site::new("recordings apart")?;
    for kept in KEPT {
        kept.write(&site)?;
    }
    for kept in KEPT.iter().filter(|kept| kept.place.is_some()) {
        let sum = past(&site, kept.agent)?;
        ensure!(sum["sessions"] == 1 && sum["actions"] == 5, "{}: {sum}", kept.agent);
    }
    let short = site.output(&["replay", "--claude", "--since", "36500d", "--json"])?;
    let mut short: Value = serde_json::from_str(&short)?;
    let long = past(&site, "claude")?;
    short["since"] = long["since"].clone();
    ensure!(short == long, "{short}\n{long}");
    for wrong in [
        &["replay", "--agent", "nobody"][..],
        &["replay", "--agent", "codex", "--claude"],
        &["replay", "--agent", "codex", "x"],
        &["replay", "--agent", "codex", "--session", "x"],
    ] {
        let ended = site.run(wrong)?;
        ensure!(ended.code == Some(2), "{wrong:?}: {}", ended.all());
    }
    Ok(())
}
