//! `portcullis demo`: a short scripted session, reviewed by the real plugins and recorded in a real
//! journal, all in a scratch folder. It is the first command that a new user runs.

use crate::compile_line::CompileLine;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::{self, Paths};
use portcullis_core::event::{Disposition, EventKind};
use portcullis_core::pipeline::ReviewOutcome;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::installed;
use portcullis_review::recording;
use portcullis_review::reviewer::{ReviewContext, Reviewer};
use portcullis_review::stored_records::to_store;
use portcullis_review::timeline::words::on_one_line;
use portcullis_store::{Commit, Durability, Home, PendingCommit, Store, Verification};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Keep the scratch folder and print its path
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The width of its lines without a terminal, in columns.
const WIDTH: usize = 104;
/// The indent of what it says about an action, in columns.
const INDENT: usize = 8;
const SESSION: &str = include_str!("demo/session.jsonl");

pub fn run_demo(arguments: &Arguments) -> Result<CommandExit> {
    let scratch = Scratch::create()?;
    let mut output = DemoOutput {
        person: scratch.person(),
        as_json: arguments.json,
        reviews: Vec::new(),
        verdicts: BTreeMap::new(),
        interventions: 0,
    };
    output.print(&format!(
        "{}\nA coding agent was asked to fix a test and to clean up. Each action passes the\n\
         sandboxed plugins before it runs and again when its outcome is known. Nothing of\n\
         it is executed here.\n\n",
        paint::bold("Portcullis demo")
    ));
    let places = Paths {
        person: scratch.person(),
        config: scratch.state(),
        state: scratch.state(),
        managed: scratch.state().join("managed.toml"),
        project: None,
        environment: portcullis_agents::HookEnvironment::of_process(),
        handed: None,
    };
    let home = Home::open_root(scratch.state())?;
    let code = code_home().unwrap_or_else(|| home.clone());
    let mut reviewer = installed::load_with_code_of(
        &code,
        &places,
        &home,
        Config::load(&places, Some(&home))?,
        now_ms(),
    )?;
    let compiled = compile(&mut reviewer, &code, &home);
    output.print(&compiled);
    let mut store = Store::open_database(&home, Durability::Process)?;
    for recording in recording::parse_recordings(&scratch.session(), "demo")? {
        for item in &recording.items {
            let reviewed = review(&mut store, &mut reviewer, item)?;
            output.event(&reviewed, &item.event.kind);
        }
    }
    output.summary();
    let verification = store.verify_chain(|_| {})?;
    let chain = if verification.first_bad.is_none() {
        paint::good("the chain holds")
    } else {
        paint::bad("the chain is broken")
    };
    let records = count_noun(verification.records, "record");
    output.print(&format!("The journal has {records}; {chain}.\n"));
    drop(store);
    let state = arguments.keep.then(|| scratch.keep());
    if arguments.json {
        paint::print_text(&format!("{}\n", output.json(&verification, state.as_deref())));
    } else if let Some(state) = state {
        paint::print_text(&format!(
            "Look around: PORTCULLIS_HOME={} portcullis audit show\n",
            state.display()
        ));
    } else {
        paint::print_wrapped(
            "Look around in it: portcullis demo --keep. Try your own: portcullis review --command 'git push --force'\n",
            2,
        );
    }
    Ok(CommandExit::Success)
}

/// Returns the home whose compiled code the demo uses and extends: the installation's, otherwise
/// one of its own in the person's cache folder. `None` if neither can be used; the demo then
/// compiles into its scratch folder.
fn code_home() -> Option<Home> {
    let installed = Paths::from_environment()
        .ok()
        .and_then(|places| Home::open_existing(places.state).ok().flatten());
    installed.or_else(|| Home::open_root(paths::cache_folder()?.join("demo")).ok())
}

/// Compiles the plugins whose compiled code this home lacks; returns a line about it.
fn compile(reviewer: &mut Reviewer, code: &Home, scratch: &Home) -> String {
    let begun = Instant::now();
    let mut count = 0;
    let mut line = CompileLine::default();
    reviewer.plugins.compile_all(|progress| {
        count = progress.total;
        line.show_step(&progress);
        if let Some(Err(fault)) = progress.result {
            anstream::eprintln!("\n{}", paint::bad(fault));
        }
    });
    drop(line);
    let kept = match code.path() == scratch.path() {
        true => "no folder to keep the compiled code in was found".to_owned(),
        false => format!("compiled code is kept in {}", code.cache().display()),
    };
    let line =
        format!("{count} plugins ready after {:.1} s; {kept}", begun.elapsed().as_secs_f64());
    format!("{}\n\n", paint::dim(line))
}

fn review(
    store: &mut Store,
    reviewer: &mut Reviewer,
    item: &recording::RecordedEvent,
) -> Result<ReviewOutcome> {
    let committed = store.review_in_session(&item.event.session, None, |snapshot, _| {
        let state = State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
        let reviewed =
            reviewer
                .review_event(&item.event, state, item.at, &ReviewContext::default(), &|_| None);
        let (session, agent) = reviewed.state.encode()?;
        let commit = Commit {
            session_state: Some(session),
            agent_state: Some(agent),
            records: reviewed.records.iter().map(to_store).collect(),
            ..Commit::default()
        };
        Ok::<_, Error>(PendingCommit { commit, value: reviewed })
    })?;
    Ok(committed.value)
}

/// The state of the output so far.
struct DemoOutput {
    /// The scratch home, shown as `~`.
    person: String,
    /// True if only the JSON document at the end is printed.
    as_json: bool,
    /// The reviews so far, for that document.
    reviews: Vec<Value>,
    verdicts: BTreeMap<Verdict, u32>,
    interventions: u32,
}

impl DemoOutput {
    fn print(&self, text: &str) {
        if !self.as_json {
            paint::print_wrapped(text, INDENT);
        }
    }

    fn json(&self, verification: &Verification, state: Option<&Path>) -> Value {
        let verdicts: serde_json::Map<String, Value> = Verdict::ALL
            .iter()
            .map(|verdict| {
                (
                    verdict.as_str().to_owned(),
                    self.verdicts.get(verdict).copied().unwrap_or(0).into(),
                )
            })
            .collect();
        json!({
            "reviews": self.reviews,
            "verdicts": verdicts,
            "interventions": self.interventions,
            "records": verification.records,
            "chain_holds": verification.first_bad.is_none(),
            "state": state,
        })
    }

    fn event(&mut self, reviewed: &ReviewOutcome, kind: &EventKind) {
        if let EventKind::Prompt(text) = kind {
            self.print(&format!("{}  {}\n\n", paint::bold("person"), one_line(text, 120)));
        }
        for record in &reviewed.records {
            match record.kind {
                RecordKind::Review => self.review(record, &reviewed.reply.ruling),
                RecordKind::Outcome => self.outcome(record),
                RecordKind::Intervention => {
                    self.interventions += 1;
                    self.print(&format!(
                        "        {} {}\n",
                        paint::warn("intervention"),
                        one_line(&record.subject, 40)
                    ));
                }
                _ => {}
            }
        }
        let spoken = reviewed.records.iter().any(|record| record.kind == RecordKind::Intervention);
        for text in reviewed.reply.agent.iter().filter(|_| spoken) {
            self.wrapped("note to the agent", text);
        }
    }

    fn review(&mut self, record: &Record, ruling: &Disposition) {
        let Some(decision) = &record.decision else { return };
        *self.verdicts.entry(decision.verdict).or_default() += 1;
        self.reviews.push(json!({
            "id": record.id,
            "verdict": decision.verdict,
            "risk": decision.risk,
            "action": record.summary,
            "reason": decision.primary_reason,
            "alternatives": decision.alternatives,
        }));
        self.print(&format!(
            "{}  {}\n",
            paint::paint_verdict(decision.verdict, 6),
            one_line(&on_one_line(&self.short(&record.summary)), 110)
        ));
        if decision.verdict > Verdict::Allow {
            self.wrapped("why", &decision.primary_reason);
        }
        if let Disposition::Rewrite(input) = ruling {
            let text =
                input.get("command").and_then(|command| command.as_str()).unwrap_or_default();
            self.wrapped("runs as", text);
        }
        if decision.verdict >= Verdict::Ask
            && let Some(first) = decision.alternatives.first()
        {
            self.wrapped("instead", first);
        }
    }

    /// Prints a text below a verdict, wrapped into lines.
    fn wrapped(&self, label: &str, text: &str) {
        let width = paint::prose_width(WIDTH).saturating_sub(label.len() + INDENT + 4);
        let mut line = String::new();
        let mut first = true;
        let mut put = |line: &mut String| {
            let lead = if first { format!("{label}: ") } else { " ".repeat(label.len() + 2) };
            self.print(&format!("        {}{}\n", paint::dim(lead), line));
            first = false;
            line.clear();
        };
        for word in one_line(&self.short(&text.replace('\n', " ")), 600).split(' ') {
            if !line.is_empty() && line.chars().count() + word.chars().count() > width {
                put(&mut line);
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            put(&mut line);
        }
    }

    fn short(&self, text: &str) -> String {
        text.replace(&self.person, "~")
    }

    fn summary(&self) {
        let parts: Vec<String> = self
            .verdicts
            .iter()
            .map(|(verdict, count)| format!("{} {}", count, paint::paint_verdict(*verdict, 0)))
            .collect();
        let actions: u32 = self.verdicts.values().sum();
        self.print(&format!(
            "\n{} {}; {}.\n",
            paint::bold(format!("{}:", count_noun(actions.into(), "action"))),
            parts.join(", "),
            count_noun(self.interventions.into(), "intervention")
        ));
    }

    fn outcome(&self, record: &Record) {
        let Some(outcome) = record
            .outcome
            .as_ref()
            .filter(|outcome| outcome.status == portcullis_core::action::Status::Failed)
        else {
            return;
        };
        self.print(&format!(
            "        {}\n",
            paint::dim(format!("failed: {}", one_line(&on_one_line(&outcome.error), 100)))
        ));
    }
}

/// A folder that looks like a small project in a home of its own; removed when dropped.
struct Scratch {
    root: PathBuf,
    keep: bool,
}

impl Scratch {
    fn create() -> Result<Self> {
        let root = std::env::temp_dir().join(format!("portcullis-demo-{}", std::process::id()));
        let scratch = Self { root, keep: false };
        let files = [
            ("src/price.py", "def total(items):\n    return sum(i.price for i in items)\n"),
            ("reports/2019.csv", "year,total\n2019,1\n"),
            ("tests/test_price.py", ""),
        ];
        for (name, text) in files {
            let path = scratch.project().join(name);
            let folder = path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder).with_context(|| {
                format!("cannot create the scratch folder `{}`", folder.display())
            })?;
            fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(scratch)
    }

    fn person(&self) -> String {
        self.root.join("home").display().to_string()
    }

    fn project(&self) -> PathBuf {
        self.root.join("home/shop")
    }

    fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    fn session(&self) -> String {
        SESSION.replace("@project@", &self.project().display().to_string())
    }

    /// Keeps the folder and returns the path of its state.
    fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.state()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // A scratch folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}
