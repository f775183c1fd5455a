//! Drafts a case from records of the journal.

use super::finding::line_text;
use portcullis_core::action::Entry;
use portcullis_core::event::{CallResult, EventKind};
use portcullis_core::record::Record;
use portcullis_core::review::RULE;
use portcullis_core::score::{Score, Severity};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::isolated::{PERSON, PROJECT};
use portcullis_review::recording::RecordedEvent;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The input of a draft.
pub struct DraftInput<'a> {
    /// The case's name.
    pub name: &'a str,
    /// The session's records, up to the one that it is about.
    pub records: &'a [Record],
    /// The same as events.
    pub items: &'a [RecordedEvent],
    /// The most calls in the case.
    pub most: usize,
    /// The intervention that it is about; `None` if it is about another record.
    pub answers: Option<&'a Record>,
}

/// A case as text.
pub struct CaseDraft {
    /// Its name.
    pub name: String,
    /// The text.
    pub text: String,
    /// The number of calls in it.
    pub steps: usize,
    /// The parts of the session that it does not contain.
    pub notes: Vec<String>,
}

/// A call or a prompt.
struct Event<'a> {
    agent: Option<&'a str>,
    at: u64,
    what: DraftEvent<'a>,
}

enum DraftEvent<'a> {
    Says(&'a str),
    Calls {
        id: Option<&'a str>,
        tool: &'a str,
        input: &'a Map<String, Value>,
        cwd: &'a str,
        end: Option<&'a CallResult>,
    },
}

impl DraftInput<'_> {
    /// Writes the case.
    pub fn write(&self) -> CaseDraft {
        let events = self.events();
        let calls =
            events.iter().filter(|event| matches!(event.what, DraftEvent::Calls { .. })).count();
        let mut skipped = calls.saturating_sub(self.most);
        let mut notes = Vec::new();
        if skipped > 0 {
            notes.push(format!(
                "left out of the session: {}; `--steps COUNT` takes more",
                count_noun(skipped as u64, "earlier step")
            ));
        }
        let first = events.iter().position(|event| match event.what {
            DraftEvent::Calls { .. } if skipped > 0 => {
                skipped -= 1;
                false
            }
            DraftEvent::Calls { .. } => true,
            DraftEvent::Says(_) => false,
        });
        let (before, kept) = events.split_at(first.unwrap_or(events.len()));
        let goals: Vec<Value> = before
            .iter()
            .filter_map(
                |event| if let DraftEvent::Says(text) = event.what { Some(text) } else { None },
            )
            .map(|text| self.moved_text(text).into())
            .collect();
        let name = self.moved_text(self.name);
        let mut text = format!("[[case]]\n{}", line_text("name", &name.as_str().into()));
        if !goals.is_empty() {
            text.push_str(&line_text("goals", &Value::from(goals)));
        }
        for (key, paths) in self.disk() {
            if !paths.is_empty() {
                text.push_str(&line_text(key, &Value::from(paths)));
            }
        }
        notes.extend(self.masked(&mut text));
        let mut at = None;
        for event in kept {
            text.push_str(&self.step(event, at, &mut notes));
            at = Some(event.at);
        }
        let steps =
            kept.iter().filter(|event| matches!(event.what, DraftEvent::Calls { .. })).count();
        if let Some(record) = self.answers {
            text.push_str(&self.issue(record, calls.saturating_sub(steps), &mut notes));
        }
        CaseDraft { name, text, steps, notes }
    }

    fn events(&self) -> Vec<Event<'_>> {
        let mut events: Vec<Event<'_>> = Vec::new();
        for item in self.items {
            let (agent, at) = (item.event.agent.as_deref(), item.at);
            let mut push = |what| events.push(Event { agent, at, what });
            match &item.event.kind {
                EventKind::Prompt(text) => push(DraftEvent::Says(text)),
                EventKind::BeforeTool(call) => {
                    push(DraftEvent::Calls {
                        id: call.id.as_deref(),
                        tool: &call.tool,
                        input: &call.input,
                        cwd: &item.event.cwd,
                        end: None,
                    });
                }
                EventKind::AfterTool(call, result) => {
                    let begun = events.iter_mut().rev().find_map(|event| match &mut event.what {
                        DraftEvent::Calls { id, end, .. }
                            // Calls without an id cannot be told apart.
                            if id.is_some() && *id == call.id.as_deref() =>
                        {
                            Some(end)
                        }
                        _ => None,
                    });
                    match begun {
                        Some(end) => *end = Some(result),
                        None => {
                            let (id, end) = (call.id.as_deref(), Some(result));
                            events.push(Event {
                                agent,
                                at,
                                what: DraftEvent::Calls {
                                    id,
                                    tool: &call.tool,
                                    input: &call.input,
                                    cwd: &item.event.cwd,
                                    end,
                                },
                            });
                        }
                    }
                }
                _ => {}
            }
        }
        events
    }

    fn step(&self, event: &Event<'_>, before: Option<u64>, notes: &mut Vec<String>) -> String {
        let mut text = "\n[[case.step]]\n".to_owned();
        let mut say = |key: &str, value: Value| text.push_str(&line_text(key, &value));
        match &event.what {
            DraftEvent::Says(words) => say("says", self.moved_text(words).into()),
            DraftEvent::Calls { tool, input, cwd, end, .. } => {
                let moved = self.moved(&Value::Object((*input).clone()));
                if input.is_empty() {
                    notes.push(format!(
                        "the parameters of a call of `{}` are not in the journal: \
                         write its `input`",
                        one_line(tool, 64)
                    ));
                }
                if !cwd.is_empty() && *cwd != self.project() {
                    let cwd = one_line(cwd, 200);
                    notes.push(format!(
                        "a call of `{}` ran in `{cwd}`; in a case all run in `{PROJECT}`",
                        one_line(tool, 64)
                    ));
                }
                say("tool", (*tool).into());
                say("input", moved);
                match end {
                    Some(result) if result.failed => {
                        say("fails", self.moved_text(&result.error).into())
                    }
                    Some(result) if result.output.is_empty() => {}
                    Some(result) => say("returns", self.moved_text(&result.output).into()),
                    None => say("refused", true.into()),
                }
                let cost = end
                    .map(|result| [("tokens", result.tokens), ("duration_ms", result.duration_ms)]);
                for (key, amount) in cost.into_iter().flatten() {
                    if let Some(amount) = amount {
                        say(key, amount.into());
                    }
                }
            }
        }
        if let Some(agent) = event.agent {
            say("agent", agent.into());
        }
        let seconds = before
            .map(|before| event.at.saturating_sub(before) / 1000)
            // One second is the default.
            .filter(|seconds| *seconds != 1);
        if let Some(seconds) = seconds {
            say("after", seconds.into());
        }
        text
    }

    /// Writes the issue that the intervention answered, derived from the record and the earlier
    /// detections; `gone` steps of the session are not in the case.
    fn issue(&self, record: &Record, gone: usize, notes: &mut Vec<String>) -> String {
        let Some(answered) = &record.intervention else { return String::new() };
        let here = |step: u64| step.saturating_sub(u64::try_from(gone).unwrap_or(u64::MAX));
        let mut text = "\n[case.step.issue]\n".to_owned();
        let mut say = |key: &str, value: Value| text.push_str(&line_text(key, &value));
        say("name", answered.issue.as_str().into());
        let of_step = self
            .records
            .iter()
            .rev()
            .filter(|other| other.step == record.step)
            .flat_map(|other| &other.detections);
        match of_step
            .map(|named| &named.finding)
            .find(|detection| detection.pattern == answered.issue)
        {
            Some(found) => {
                say("severity", found.severity.as_str().into());
                say("confidence", found.confidence.get().into());
                say("impact", found.impact.get().into());
                say("first_step", here(found.first_step).into());
                say("summary", self.moved_text(&found.summary).into());
                if !found.evidence.is_empty() {
                    let evidence = found.evidence.iter().map(|evidence| {
                        json!({
                            "kind": evidence.kind,
                            "value": self.moved_text(&evidence.value),
                            "step": evidence.step.map(here),
                        })
                    });
                    say("evidence", self.moved(&evidence.collect()));
                }
            }
            None if answered.issue.starts_with(RULE) => {
                say("severity", Severity::Critical.as_str().into());
                say("confidence", Score::MAX.get().into());
                say("impact", Score::MAX.get().into());
                say("summary", self.moved_text(&record.summary).into());
            }
            None => {
                say("summary", self.moved_text(&record.summary).into());
                notes.push(
                    "the severity and confidence of the issue are not in the journal: write \
                     `severity` and `confidence`"
                        .to_owned(),
                );
            }
        }
        let earlier = self.records.iter().filter(|other| other.id != record.id);
        let mut past: Vec<Value> = earlier
            .filter_map(|other| Some((other.step?, other.intervention.as_ref()?)))
            .map(|(step, past)| {
                json!({
                    "kind": past.kind,
                    "issue": past.issue,
                    "step": here(step),
                })
            })
            .collect();
        past.reverse();
        say("level", answered.level.into());
        say("score", answered.score.into());
        if !past.is_empty() {
            say("past", past.into());
        }
        notes.push(
            "the available checkpoints are not in the journal: write `checkpoints` if the answer needs one".to_owned(),
        );
        text
    }

    /// Returns the known facts about files in the project.
    fn disk(&self) -> [(&'static str, Vec<String>); 2] {
        let (mut files, mut absent) = (BTreeSet::new(), BTreeSet::new());
        let observed = self
            .records
            .iter()
            .filter_map(|record| record.action.as_ref())
            .flat_map(|action| &action.observed);
        for (path, seen) in observed {
            let path = self.moved_text(path);
            let Some(place) = path.strip_prefix(PROJECT).and_then(|rest| rest.strip_prefix('/'))
            else {
                continue;
            };
            match seen.entry {
                Entry::File | Entry::Link => drop(files.insert(place.to_owned())),
                Entry::Folder => drop(files.insert(format!("{place}/"))),
                Entry::Absent => drop(absent.insert(place.to_owned())),
                Entry::Special | Entry::Unknown => {}
            }
        }
        // A file that appeared or disappeared during the session is not a fact about the whole of
        // it.
        let both: Vec<String> = files.intersection(&absent).cloned().collect();
        files.retain(|path| !both.contains(path));
        absent.retain(|path| !both.contains(path));
        [("files", files.into_iter().collect()), ("absent", absent.into_iter().collect())]
    }

    /// Notes text that is masked by a placeholder: the plugin never sees more, in a case or
    /// elsewhere.
    fn masked(&self, text: &mut String) -> Option<String> {
        let masked: BTreeSet<&String> =
            self.records.iter().flat_map(|record| &record.masked).collect();
        if masked.is_empty() {
            return None;
        }
        let names: Vec<&str> = masked.iter().map(|name| name.as_str()).collect();
        let names = one_line(&names.join(", "), 400);
        text.push_str(&format!("# left out, since it was masked: {names}\n"));
        Some(format!("masked values are left out, as plugins see them: {names}"))
    }

    /// Returns the folder that the session began in.
    fn project(&self) -> &str {
        let actions = self.records.iter().filter_map(|record| record.action.as_ref());
        actions.map(|action| action.cwd.as_str()).find(|cwd| !cwd.is_empty()).unwrap_or_default()
    }

    fn person(&self) -> &str {
        let actions = self.records.iter().filter_map(|record| record.action.as_ref());
        actions.map(|action| action.home.as_str()).find(|home| !home.is_empty()).unwrap_or_default()
    }

    fn moved(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.moved_text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.moved(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .filter(|(_, field)| !field.is_null())
                .map(|(key, field)| (key.clone(), self.moved(field)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }

    /// Replaces the project's folder and the person's home by those used by cases.
    fn moved_text(&self, text: &str) -> String {
        moved(&moved(text, self.project(), PROJECT), self.person(), PERSON)
    }
}

/// Replaces one folder by another, unless it is the beginning of another name.
fn moved(text: &str, from: &str, to: &str) -> String {
    // Every path begins with `/`.
    if from.len() < 2 || from == to {
        return text.to_owned();
    }
    let mut moved = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = found.get(from.len()..).unwrap_or_default();
        let whole =
            !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        moved.push_str(before);
        moved.push_str(if whole { to } else { from });
        rest = after;
    }
    moved + rest
}
