//! `portcullis quarantine`: manages files that were moved away instead of being deleted.
//!
//! Anybody may look. Only a person may restore or permanently delete.

use crate::error::Result;
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::Config;
use portcullis_config::amount;
use portcullis_config::clock::now_ms;
use portcullis_config::duration;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::quarantine::{
    self, Obstacle, QuarantineEntry, QuarantineStatus, RestoreResult,
};
use portcullis_review::stored_records::to_store;
use portcullis_store::{Home, Store};
use serde_json::{Value, json};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List quarantined files, newest first
    List(List),
    /// Show what was moved, and where to
    Show(QuarantineId),
    /// Restore it to its original place (interactive)
    Restore(Restore),
    /// Delete it permanently (interactive)
    Purge(Purge),
}

#[derive(clap::Args)]
pub struct List {
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct QuarantineId {
    /// The id or a prefix of it; `last` for the newest
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Restore {
    #[command(flatten)]
    which: QuarantineId,
    /// Move files that are in the way into a quarantine of their own
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(clap::Args)]
#[group(skip)]
pub struct Purge {
    /// The id or a prefix of it; `last` for the newest
    #[arg(required_unless_present_any = ["all", "older"], conflicts_with_all = ["all", "older"])]
    id: Option<String>,
    /// Delete everything
    #[arg(long, conflicts_with = "older")]
    all: bool,
    /// Delete everything older than this, for example 7d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_milliseconds)]
    older: Option<u64>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The state that these commands share.
struct CommandContext {
    home: Home,
    store: Store,
}

pub fn run_quarantine(command: &Command) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    // Files come back under a configuration that cannot be read, too.
    let durability =
        Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default();
    let mut context = CommandContext { store: Store::open_database(&home, durability)?, home };
    match command {
        Command::List(arguments) => context.list(arguments),
        Command::Show(arguments) => context.show(arguments),
        Command::Restore(arguments) => context.restore(arguments),
        Command::Purge(arguments) => context.purge(arguments),
    }
}

impl CommandContext {
    fn list(&self, arguments: &List) -> Result<CommandExit> {
        let known = quarantine::list_quarantines(&self.store, &self.home)?;
        for entry in &known.entries {
            let standing = entry.status();
            if arguments.json {
                paint::print_text(&format!("{}\n", as_json(entry)));
                continue;
            }
            let mark = format!("{:8}", standing.as_str());
            let mark = if standing == QuarantineStatus::Kept {
                paint::good(mark)
            } else {
                paint::dim(mark)
            };
            let size = if standing == QuarantineStatus::Kept {
                amount::format_size(entry.size())
            } else {
                String::new()
            };
            let paths: Vec<&str> = entry.moved.iter().map(|moved| moved.from.as_str()).collect();
            let paths = one_line(&paths.join(", "), 240);
            let at = paint::time(entry.at);
            let line = format!("{}  {at}  {mark}  {size:>10}  {paths}\n", entry.id);
            paint::print_wrapped(&line, 2);
        }
        if known.entries.is_empty() && !arguments.json {
            paint::print_text("nothing was moved into a quarantine\n");
        }
        for damaged in &known.damaged {
            anstream::eprintln!("{}: {}", paint::bad("damaged"), one_line(damaged, 512));
        }
        Ok(CommandExit::Success)
    }

    fn show(&self, arguments: &QuarantineId) -> Result<CommandExit> {
        let entry = quarantine::find_entry(&self.store, &self.home, &arguments.id)?;
        if arguments.json {
            paint::print_text(&format!("{}\n", as_json(&entry)));
            return Ok(CommandExit::Success);
        }
        let standing = entry.status();
        let size = if standing == QuarantineStatus::Kept {
            format!(", {}", amount::format_size(entry.size()))
        } else {
            String::new()
        };
        paint::print_text(&format!(
            "{}  {} UTC  {}{size}\n",
            paint::bold(&entry.id),
            paint::time(entry.at),
            standing.as_str()
        ));
        paint::print_text(&format!(
            "{} {}\n\n",
            one_line(&entry.what, 240),
            paint::dim(format!("(session {})", one_line(&entry.session, 64)))
        ));
        for moved in &entry.moved {
            paint::print_text(&format!(
                "  {}\n    {}\n",
                one_line(&moved.from, 400),
                paint::dim(one_line(&moved.to, 400))
            ));
        }
        if standing == QuarantineStatus::Kept {
            paint::print_text(&format!(
                "\nTo put it back: portcullis quarantine restore {}\n",
                entry.id
            ));
        }
        Ok(CommandExit::Success)
    }

    fn restore(&mut self, arguments: &Restore) -> Result<CommandExit> {
        interactive::refuse_agents()?;
        let entry = quarantine::find_entry(&self.store, &self.home, &arguments.which.id)?;
        if !arguments.yes {
            let what = entry
                .moved
                .iter()
                .map(|moved| format!("  {}\n", one_line(&moved.from, 400)))
                .collect::<String>();
            interactive::confirm_action(&format!("{what}These go back to where they were."))?;
        }
        let at = now_ms();
        let (paths, replaced) =
            match quarantine::restore_entry(&self.home, &entry, arguments.force, at)? {
                RestoreResult::Refused(obstacles) => {
                    return Ok(refused(arguments.which.json, &obstacles));
                }
                RestoreResult::Done { paths, replaced } => (paths, replaced),
            };
        let summary = format!(
            "a person put {} of the quarantine {} back",
            count_noun(paths.len() as u64, "path"),
            entry.id
        );
        self.record("quarantine-restore", &summary, &entry.id, at);
        if arguments.which.json {
            let replaced = replaced.map(|entry| entry.id);
            paint::print_text(&format!(
                "{}\n",
                json!({
                    "outcome": "restored",
                    "id": entry.id,
                    "restored": paths,
                    "replaced": replaced,
                })
            ));
            return Ok(CommandExit::Success);
        }
        paint::print_text(&format!("{}:\n", paint::good("put back")));
        paths.iter().for_each(|path| paint::print_text(&format!("  {}\n", one_line(path, 400))));
        if let Some(replaced) = replaced {
            paint::print_text(&format!(
                "What was there is kept: portcullis quarantine restore {}\n",
                replaced.id
            ));
        }
        Ok(CommandExit::Success)
    }

    fn purge(&mut self, arguments: &Purge) -> Result<CommandExit> {
        interactive::refuse_agents()?;
        let at = now_ms();
        let entries = match &arguments.id {
            Some(id) => vec![quarantine::find_entry(&self.store, &self.home, id)?],
            None => {
                let before = arguments.older.map_or(u64::MAX, |older| at.saturating_sub(older));
                let all =
                    quarantine::list_quarantines(&self.store, &self.home)?.entries.into_iter();
                all.filter(|entry| entry.at < before).collect()
            }
        };
        let kept: Vec<QuarantineEntry> =
            entries.into_iter().filter(|entry| entry.status() == QuarantineStatus::Kept).collect();
        let size = kept.iter().map(QuarantineEntry::size).sum();
        if !kept.is_empty() && !arguments.yes {
            let paths = kept
                .iter()
                .flat_map(|entry| &entry.moved)
                .map(|moved| format!("  {}\n", one_line(&moved.from, 400)));
            interactive::confirm_action(&format!(
                "{}{} will be permanently deleted.",
                paths.collect::<String>(),
                amount::format_size(size)
            ))?;
        }
        for entry in &kept {
            quarantine::purge_entry(&self.home, entry, at)?;
            self.record(
                "quarantine-purge",
                &format!("a person permanently deleted the quarantine {}", entry.id),
                &entry.id,
                at,
            );
        }
        if arguments.json {
            let ids: Vec<&str> = kept.iter().map(|entry| entry.id.as_str()).collect();
            paint::print_text(&format!("{}\n", json!({ "purged": ids, "bytes": size })));
        } else {
            paint::print_text(&format!(
                "{} quarantines were deleted, {}\n",
                kept.len(),
                amount::format_size(size)
            ));
        }
        Ok(CommandExit::Success)
    }

    /// Records a person's action in the journal; a failure to write it is reported.
    fn record(&mut self, subject: &str, summary: &str, id: &str, at: u64) {
        let mut record =
            Record::outside_session(RecordKind::Configuration, subject, summary, at, id);
        record.details.insert("quarantine".into(), id.into());
        if let Err(error) = self.store.append_records(vec![to_store(&record)]) {
            anstream::eprintln!("{}: this is not in the journal: {error}", paint::warn("warning"));
        }
    }
}

/// Reports the obstacles; nothing was changed.
fn refused(json: bool, obstacles: &[Obstacle]) -> CommandExit {
    if json {
        let refused: Vec<Value> =
            obstacles.iter().map(|one| json!({ "path": one.path, "why": one.why })).collect();
        paint::print_text(&format!("{}\n", json!({ "outcome": "refused", "refused": refused })));
        return CommandExit::Failure;
    }
    obstacles.iter().for_each(|one| {
        paint::print_text(&format!("  {}: {}\n", one_line(&one.path, 400), one.why))
    });
    let fix = if obstacles.iter().all(|one| one.may_go) {
        "move it away, or let `--force` move it into a quarantine of its own"
    } else {
        "look at its target, and move the kept files yourself: `portcullis quarantine show`"
    };
    anstream::eprintln!(
        "{}: {} cannot go back, so nothing was changed: {fix}",
        paint::bad("refused"),
        count_noun(obstacles.len() as u64, "path")
    );
    CommandExit::Failure
}

fn as_json(entry: &QuarantineEntry) -> Value {
    let mut document = json!(entry);
    if let Some(document) = document.as_object_mut() {
        document.insert("standing".into(), entry.status().as_str().into());
        document.insert("bytes".into(), entry.size().into());
    }
    document
}
