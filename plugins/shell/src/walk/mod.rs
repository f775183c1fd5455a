//! Follows a tree as a shell would, without running anything.
//!
//! Every branch and every loop's body is taken to run, once. Values that the text makes known are
//! filled in; what only the run can tell stays unknown, and effects say so.

mod apply;
mod arithmetic;
mod braces;
mod builtins;
mod databases;
mod elsewhere;
mod environment;
mod expand;
mod feed;
mod git;
mod inline;
mod interpreters;
mod keeping;
mod launchers;
mod links;
mod names;
mod output;
mod parameters;
mod patch;
mod programs;
mod requests;
mod routines;
mod searches;
mod simple;
mod sql;
mod taint;

use crate::bindings::exports::portcullis::shell::reader::{Reading, Surroundings};
use crate::places::Place;
use crate::syntax::{self, Body, DEPTH, Pipeline, Script, Span, Stage, Word};
use crate::types::Origin;
use environment::{Environment, Routine, Value};
use feed::{Feed, Source};
use output::Output;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How much text one reading may produce by filling in values, in bytes.
const WORK: usize = 1 << 20;
/// How many calls of functions and aliases are followed.
const CALLS: usize = 128;

/// Reads a command line; what it does, and how many steps that took.
pub(crate) fn read(text: &str, surroundings: &Surroundings) -> (Reading, u64) {
    let mut walker = Walker {
        home: surroundings.home.trim_end_matches('/'),
        project: surroundings.cwd.trim_end_matches('/'),
        env: Environment::new(&surroundings.cwd, surroundings.home.trim_end_matches('/')),
        out: Output::default(),
        depth: 0,
        work: WORK,
        steps: 0,
        secrets: Vec::new(),
        contacts: Vec::new(),
        sourced: false,
        running: Vec::new(),
        calls: CALLS,
        shells: 0,
        descriptors: BTreeMap::new(),
        written: Vec::new(),
        tainted: BTreeSet::new(),
        files: BTreeMap::new(),
        links: Vec::new(),
        kept: Vec::new(),
    };
    walker.text(text, None, &Setting::default());
    walker.uncalled();
    let steps = walker.steps;
    (walker.out.finish(), steps)
}

/// Walks one command line.
struct Walker<'a> {
    home: &'a str,
    /// Where the command line begins.
    project: &'a str,
    env: Environment,
    out: Output,
    depth: usize,
    work: usize,
    /// Bytes, words, parts, commands and effects that were looked at.
    steps: u64,
    /// The commands of the pipeline at hand that read secrets, and whether from a file.
    secrets: Vec<(Option<u32>, bool)>,
    /// The commands of the pipeline at hand that reach the network.
    contacts: Vec<Option<u32>>,
    /// A script of the project was read into this shell: unknown names may be its functions.
    sourced: bool,
    /// The functions and aliases whose bodies are being read.
    running: Vec<(String, environment::Body)>,
    /// How many more of their calls are followed.
    calls: usize,
    /// How many shells were started.
    shells: u32,
    /// What stands on the file descriptors that the command line opens.
    descriptors: BTreeMap<u32, Feed>,
    /// The files that commands write, in order.
    written: Vec<String>,
    /// The files that hold what was read from secrets.
    tainted: BTreeSet<String>,
    /// What this command line writes to files, by path.
    files: BTreeMap<String, Feed>,
    /// The links that this command line makes: where each stands, and where it leads.
    links: Vec<(String, String)>,
    /// What git holds by now, by repository.
    kept: Vec<keeping::Kept>,
}

/// How the commands at hand came to be run.
#[derive(Clone)]
struct Setting {
    wrappers: Vec<String>,
    origin: Origin,
    privileged: bool,
    place: Place,
    /// The place that all commands carry, inside text that is not the command line's own.
    fixed: Option<Span>,
    heredocs: Rc<Vec<Word>>,
    /// What stands on the standard input.
    input: Feed,
    /// Others run at the same time: it is a stage of a pipeline, or in the background.
    beside: bool,
    /// It runs in a process of its own: what it changes in its shell ends with it.
    apart: bool,
    /// The file at hand is added to, not overwritten.
    appends: bool,
    /// The shell that the text at hand is run by: it knows its own functions alone.
    shell: u32,
    /// Another program starts the command, which knows of no functions.
    started: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            wrappers: Vec::new(),
            origin: Origin::Plain,
            privileged: false,
            place: Place::Here,
            fixed: None,
            heredocs: Rc::default(),
            input: Feed::default(),
            beside: false,
            apart: false,
            appends: false,
            shell: 0,
            started: false,
        }
    }
}

impl Walker<'_> {
    /// Reads and walks a text: the command line, or one inside it.
    fn text(&mut self, text: &str, fixed: Option<Span>, setting: &Setting) -> Feed {
        if self.depth >= DEPTH || self.work < text.len() {
            self.out.gap("nested too deeply");
            return Feed::default();
        }
        if patch::is_patch(text) {
            self.patched(text, setting);
            return Feed::default();
        }
        if sql::is_statement(text) {
            self.statement(text, &Setting { fixed, ..setting.clone() });
            return Feed::default();
        }
        self.depth += 1;
        if fixed.is_some() {
            self.spend(text.len() + 64);
        }
        let parsed = syntax::parse(text, self.depth, fixed);
        self.step(text.len() + parsed.nodes);
        let feed = self.parsed(&parsed, fixed, setting);
        if let Some(rest) = parsed.rest.and_then(|at| text.get(at..)).filter(|rest| !rest.is_empty()) {
            let flat = syntax::parse_flat(rest, fixed.or(Some(Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) })));
            self.parsed(&flat, fixed, setting);
        }
        self.depth -= 1;
        feed
    }

    fn parsed(&mut self, parsed: &syntax::Parsed, fixed: Option<Span>, setting: &Setting) -> Feed {
        for gap in &parsed.gaps {
            self.out.gap(gap);
        }
        let setting = Setting { fixed, heredocs: Rc::clone(&parsed.heredocs), started: false, ..setting.clone() };
        self.script(&parsed.script, &setting)
    }

    fn script(&mut self, script: &Script, setting: &Setting) -> Feed {
        let mut all: Option<Feed> = None;
        for pipeline in script {
            if pipeline.otherwise {
                // It runs where what stands before it failed.
                self.kept.clear();
            }
            let feed = self.pipeline(pipeline, setting);
            all = Some(match all {
                None => feed,
                Some(before) if pipeline.otherwise && before.text.is_some() => Feed { source: before.source.max(feed.source), ..before },
                Some(before) => joined(before, feed),
            });
        }
        all.unwrap_or_else(|| Feed::of_text(""))
    }

    fn pipeline(&mut self, pipeline: &Pipeline, setting: &Setting) -> Feed {
        let (secrets, contacts) = (self.secrets.len(), self.contacts.len());
        let several = pipeline.stages.len() > 1;
        let mut feed = setting.input.clone();
        for (index, stage) in pipeline.stages.iter().enumerate() {
            if index > 0 {
                self.out.shape(" | ");
                feed.open = true;
            }
            let beside = several || pipeline.background;
            let stage_setting =
                Setting { input: feed, beside: beside || setting.beside, apart: beside || setting.apart, ..setting.clone() };
            let mark = several.then(|| self.env.mark());
            feed = self.stage(stage, &stage_setting);
            if let Some(mark) = mark {
                self.env.restore(mark);
            }
        }
        self.out.shape("; ");
        self.note_egress(secrets, contacts);
        feed
    }

    fn stage(&mut self, stage: &Stage, setting: &Setting) -> Feed {
        if let Body::Simple { assignments, words } = &stage.body {
            return self.simple(assignments, words, &stage.redirects, stage.span, setting);
        }
        let before = self.so_far();
        let (_, io) = self.redirections(&stage.redirects, None, setting);
        let mut inner = setting.clone();
        if let Some(input) = io.input {
            inner.input = input;
        }
        let feed = self.compound(&stage.body, &inner);
        let feed = self.carried(&before, &[], &inner.input.clone(), feed);
        if io.captured { Feed::of_text("") } else { feed }
    }

    fn compound(&mut self, body: &Body, setting: &Setting) -> Feed {
        match body {
            Body::Simple { .. } => Feed::default(),
            Body::Group(script) => self.script(script, setting),
            Body::Subshell(script) => {
                let mark = self.env.mark();
                let feed = self.script(script, &Setting { apart: true, ..setting.clone() });
                self.env.restore(mark);
                feed
            }
            Body::Branches { subject, arms } => {
                for word in subject {
                    self.single(word, setting);
                }
                let feeds: Vec<Feed> = arms.iter().map(|arm| self.script(arm, setting)).collect();
                let source = Source::worst(feeds.iter().map(|feed| feed.source));
                Feed { source, ..Feed::default() }
            }
            Body::Loop { variable, values, body } => self.loop_over(variable, values.as_deref(), body, setting),
            Body::Function { name, body } => {
                self.define(name, Routine::function(body, setting));
                Feed::of_text("")
            }
            Body::Test(words) => {
                for word in words {
                    self.single(word, setting);
                }
                Feed::of_text("")
            }
        }
    }

    fn loop_over(&mut self, variable: &str, values: Option<&[Word]>, body: &Script, setting: &Setting) -> Feed {
        let mut value = Value::unknown();
        if let Some(words) = values {
            let fields: Vec<_> = words.iter().flat_map(|word| self.fields(word, setting)).collect();
            let mut texts = fields.iter().map(|field| field.text.clone());
            if let Some(text) = texts.next() {
                let known = fields.iter().all(|field| field.known);
                let source = Source::worst(fields.iter().map(|field| field.source));
                value = Value { text, others: texts.take(31).collect(), known, source };
            }
        }
        self.env.set(variable, value);
        let feed = self.script(body, setting);
        Feed { text: None, ..feed }
    }

    /// Walks what stands in `$(...)`, backquotes or `<(...)`; what it prints.
    fn substitution(&mut self, script: &Script, setting: &Setting) -> Feed {
        let inner = Setting { origin: Origin::Substitution, wrappers: Vec::new(), beside: false, apart: true, ..setting.clone() };
        let mark = self.env.mark();
        let feed = self.script(script, &inner);
        self.env.restore(mark);
        feed
    }
}

/// The outputs of two commands, one after the other.
fn joined(before: Feed, after: Feed) -> Feed {
    let source = before.source.max(after.source);
    let from = after.from.or(before.from);
    let text = match (&before.text, &after.text) {
        (Some(first), Some(second)) if first.len() + second.len() <= 64 * 1024 => Some(match (first.is_empty(), second.is_empty()) {
            (true, _) => Rc::clone(second),
            (_, true) => Rc::clone(first),
            _ => Rc::from(format!("{first}{second}")),
        }),
        _ => None,
    };
    let items = match (before.text.as_deref(), after.text.as_deref()) {
        (Some(""), _) => after.items,
        (_, Some("")) => before.items,
        _ => None,
    };
    Feed { text, items, source, from, open: true }
}

fn worst(fields: &[expand::Field]) -> Source {
    Source::worst(fields.iter().map(|field| field.source))
}
