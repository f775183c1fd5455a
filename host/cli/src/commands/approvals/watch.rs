//! `portcullis approvals watch`: a person who is there. Shows actions as they begin to wait, and
//! takes the answers that the person types.
//!
//! To allow an action, the person types the word that stands below it: nobody types it by accident,
//! and what was typed before it was shown allows nothing.

use super::answer::{await_use, describe_answer, give_answer};
use super::{Approval, page};
use crate::commands::audit::open_store;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::interactive;
use crate::spelling::spell_command;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_review::answers::PersonDecision;
use portcullis_review::approvals::WatchLock;
use portcullis_store::{Home, Store};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// The time between two looks.
const POLL: Duration = Duration::from_millis(200);
/// The most rows of an action that is answered here: more than that scrolls out of sight.
const MOST_ROWS: usize = 100;

/// Watches until the person ends it.
pub(super) fn run_watch() -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let terminal = interactive::open_terminal()?;
    let home = Home::open_root(Paths::from_environment()?.state)?;
    let Some(_lock) = WatchLock::take(&home)? else {
        return Err(Error::refused("another terminal watches already")
            .with_hint("answer there, or use `portcullis approvals list` and `allow` here"));
    };
    let has_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&has_ended))
            .context("cannot receive signals")?;
    }
    let lines = read_lines(terminal.try_clone().context("cannot read from the terminal")?)?;
    let mut watch = Watch { terminal, waiting: BTreeMap::new() };
    watch.say("Watching: an action that waits for a person is shown here. Ctrl-C ends it.")?;
    while !has_ended.load(Ordering::Relaxed) {
        let mut store = open_store()?;
        watch.update(&store)?;
        match lines.recv_timeout(POLL) {
            Ok(line) => watch.take_line(&mut store, line.trim())?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    watch.say("no longer watching.")?;
    Ok(CommandExit::Success)
}

/// Reads the terminal's lines on a thread of its own, which ends with the process.
fn read_lines(terminal: File) -> Result<Receiver<String>> {
    let (sender, lines) = channel();
    let read = move || {
        for line in BufReader::new(terminal).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    Builder::new()
        .name("portcullis-keys".into())
        .spawn(read)
        .context("the system gives no thread")?;
    Ok(lines)
}

/// The actions on the screen.
struct Watch {
    terminal: File,
    /// By id, with the word that allows it; `None` if it is too long to be answered here.
    waiting: BTreeMap<String, (Approval, Option<String>)>,
}

impl Watch {
    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.terminal, "{text}").context("cannot write to the terminal")
    }

    /// Shows what has begun to wait, and what waits no longer.
    fn update(&mut self, store: &Store) -> Result<()> {
        let now = now_ms();
        let mut found: BTreeMap<String, Approval> = BTreeMap::new();
        for row in store.list_waiting_approvals(now)? {
            let approval = Approval::read(row)?;
            found.insert(approval.id().to_owned(), approval);
        }
        let ended: Vec<String> =
            self.waiting.keys().filter(|id| !found.contains_key(*id)).cloned().collect();
        for id in ended {
            self.waiting.remove(&id);
            // A row that was changed from outside is as good as none.
            let row = store.find_approval(&id).ok().flatten();
            let approval = row.map(Approval::read).transpose()?;
            let state = approval.map_or("gone", |approval| approval.state(now).as_str());
            self.say(&format!("{}  {state}\n", one_line(&id, 64)))?;
        }
        for (id, approval) in found {
            if !self.waiting.contains_key(&id) {
                let short = page::count_rows(&approval) <= MOST_ROWS;
                let word = short.then(interactive::new_word).transpose()?;
                self.show(&approval, word.as_deref())?;
                self.waiting.insert(id, (approval, word));
            }
        }
        Ok(())
    }

    fn show(&mut self, approval: &Approval, word: Option<&str>) -> Result<()> {
        let page = page::approval_page(approval, now_ms());
        let id = approval.id();
        let how = match word {
            Some(word) => format!(
                "Type `{word}` to let exactly this run, once; `no {id}` to refuse it, with a reason if you like: "
            ),
            None => format!(
                "It is long: read `{}`, then answer with `{}` or `deny {id}`.",
                spell_command(&format!("approvals show {id}")),
                spell_command(&format!("approvals allow {id}"))
            ),
        };
        // The bell calls a person who looks elsewhere.
        self.say(&format!("\u{7}\n{page}{how}"))
    }

    fn take_line(&mut self, store: &mut Store, line: &str) -> Result<()> {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let allowed = |(id, (_, word)): (&String, &(Approval, Option<String>))| {
            (word.as_deref() == Some(line) && !line.is_empty()).then(|| id.clone())
        };
        if let Some(id) = self.waiting.iter().find_map(allowed) {
            return self.answer(store, &id, PersonDecision::AllowOnce, "");
        }
        if first != "no" {
            return match line {
                "" => Ok(()),
                _ if self.waiting.is_empty() => self.say("Nothing waits for an answer."),
                _ => self.say("That is none of the words above: nothing was answered."),
            };
        }
        let rest: Vec<&str> = words.collect();
        let named = rest.first().filter(|id| self.waiting.contains_key(**id));
        let (id, reason) = match (named, self.waiting.len()) {
            (Some(id), _) => ((*id).to_owned(), rest.get(1..).unwrap_or_default().join(" ")),
            (None, 1) => (self.waiting.keys().next().cloned().unwrap_or_default(), rest.join(" ")),
            (None, 0) => return self.say("Nothing waits for an answer."),
            (None, _) => return self.say("Several wait: type `no` and the id of one."),
        };
        self.answer(store, &id, PersonDecision::Deny, &reason)
    }

    /// Writes an answer; a question that has ended meanwhile does not end the watch.
    fn answer(
        &mut self,
        store: &mut Store,
        id: &str,
        decision: PersonDecision,
        words: &str,
    ) -> Result<()> {
        let Some((approval, _)) = self.waiting.remove(id) else { return Ok(()) };
        if let Err(error) = give_answer(store, &approval, decision, words) {
            return self.say(&format!("not answered: {error}"));
        }
        let is_used = decision != PersonDecision::Deny && await_use(store, id)?;
        self.say(&format!("{}\n", describe_answer(decision, is_used)))
    }
}
