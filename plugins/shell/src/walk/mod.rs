//! Follows a tree as a shell would, without running anything.
//!
//! Every branch and every loop's body is taken to run, once. Values that the text makes known are
//! filled in; what only the run can tell stays unknown, and effects say so.

mod apply;
mod braces;
mod builtins;
mod environment;
mod expand;
mod feed;
mod git;
mod inline;
mod interpreters;
mod links;
mod output;
mod programs;
mod searches;
mod simple;
mod sql;

use crate::bindings::exports::portcullis::shell::reader::{Reading, Surroundings};
use crate::places::Place;
use crate::syntax::{self, Body, DEPTH, Pipeline, Script, Span, Stage, Word};
use crate::types::Origin;
use environment::{Environment, Value};
use feed::{Feed, Source};
use output::Output;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How much text one reading may produce by filling in values, in bytes.
const WORK: usize = 1 << 20;

/// Reads a command line.
pub(crate) fn read(text: &str, surroundings: &Surroundings) -> Reading {
    let mut walker = Walker {
        home: surroundings.home.trim_end_matches('/'),
        project: surroundings.cwd.trim_end_matches('/'),
        env: Environment::new(&surroundings.cwd, surroundings.home.trim_end_matches('/')),
        out: Output::default(),
        depth: 0,
        work: WORK,
        secrets: Vec::new(),
        contacts: Vec::new(),
        sourced: false,
        defining: Vec::new(),
        files: BTreeMap::new(),
        links: Vec::new(),
    };
    walker.text(text, None, &Setting::default());
    walker.out.finish()
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
    /// The commands of the pipeline at hand that read secrets, and whether from a file.
    secrets: Vec<(Option<u32>, bool)>,
    /// The commands of the pipeline at hand that reach the network.
    contacts: Vec<Option<u32>>,
    /// A script of the project was read into this shell: unknown names may be its functions.
    sourced: bool,
    /// The functions whose bodies are being read.
    defining: Vec<String>,
    /// What this command line writes to files, by path.
    files: BTreeMap<String, Feed>,
    /// The links that this command line makes: where each stands, and where it leads.
    links: Vec<(String, String)>,
}

/// How the commands at hand came to be run.
#[derive(Clone)]
struct Setting<'t> {
    wrappers: Vec<String>,
    origin: Origin,
    privileged: bool,
    place: Place,
    /// The place that all commands carry, inside text that is not the command line's own.
    fixed: Option<Span>,
    heredocs: &'t [Word],
    /// What stands on the standard input.
    input: Feed,
    /// It is one of several stages of a pipeline.
    piped: bool,
    background: bool,
    /// The file at hand is added to, not overwritten.
    appends: bool,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        Self {
            wrappers: Vec::new(),
            origin: Origin::Plain,
            privileged: false,
            place: Place::Here,
            fixed: None,
            heredocs: &[],
            input: Feed::default(),
            piped: false,
            background: false,
            appends: false,
        }
    }
}

impl Walker<'_> {
    /// Reads and walks a text: the command line, or one inside it.
    fn text(&mut self, text: &str, fixed: Option<Span>, setting: &Setting<'_>) -> Feed {
        if self.depth >= DEPTH || self.work < text.len() {
            self.out.gap("nested too deeply");
            return Feed::default();
        }
        self.depth += 1;
        if fixed.is_some() {
            self.spend(text.len() + 64);
        }
        let parsed = syntax::parse(text, self.depth, fixed);
        let feed = self.parsed(&parsed, fixed, setting);
        if let Some(rest) = parsed.rest.and_then(|at| text.get(at..)).filter(|rest| !rest.is_empty()) {
            let flat = syntax::parse_flat(rest, fixed.or(Some(Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) })));
            self.parsed(&flat, fixed, setting);
        }
        self.depth -= 1;
        feed
    }

    fn parsed(&mut self, parsed: &syntax::Parsed, fixed: Option<Span>, setting: &Setting<'_>) -> Feed {
        for gap in &parsed.gaps {
            self.out.gap(gap);
        }
        let setting = Setting { fixed, heredocs: &parsed.heredocs, ..setting.clone() };
        self.script(&parsed.script, &setting)
    }

    fn script(&mut self, script: &Script, setting: &Setting<'_>) -> Feed {
        let mut all: Option<Feed> = None;
        for pipeline in script {
            let feed = self.pipeline(pipeline, setting);
            all = Some(match all {
                None => feed,
                Some(before) if pipeline.otherwise && before.text.is_some() => Feed { source: before.source.max(feed.source), ..before },
                Some(before) => joined(before, feed),
            });
        }
        all.unwrap_or_else(|| Feed::of_text(""))
    }

    fn pipeline(&mut self, pipeline: &Pipeline, setting: &Setting<'_>) -> Feed {
        let (secrets, contacts) = (self.secrets.len(), self.contacts.len());
        let several = pipeline.stages.len() > 1;
        let mut feed = setting.input.clone();
        for (index, stage) in pipeline.stages.iter().enumerate() {
            if index > 0 {
                self.out.shape(" | ");
                feed.open = true;
            }
            let piped = several || setting.piped;
            let stage_setting = Setting { input: feed, piped, background: pipeline.background || setting.background, ..setting.clone() };
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

    /// Notes that a pipeline reads a secret and reaches the network. A program that fetches a secret
    /// from its own service is no such case.
    fn note_egress(&mut self, secrets: usize, contacts: usize) {
        let secrets = self.secrets.get(secrets..).unwrap_or_default();
        let contacts = self.contacts.get(contacts..).unwrap_or_default();
        let leaves = |contact: &&Option<u32>| secrets.iter().any(|(reader, from_file)| *from_file || *reader != **contact);
        if let Some(contact) = contacts.iter().find(leaves).copied() {
            self.out.form("secret-egress", contact);
        }
    }

    fn stage(&mut self, stage: &Stage, setting: &Setting<'_>) -> Feed {
        if let Body::Simple { assignments, words } = &stage.body {
            return self.simple(assignments, words, &stage.redirects, stage.span, setting);
        }
        let (_, io) = self.redirections(&stage.redirects, None, setting);
        let mut inner = setting.clone();
        if let Some(input) = io.input {
            inner.input = input;
        }
        let feed = self.compound(&stage.body, &inner);
        if io.captured { Feed::of_text("") } else { feed }
    }

    fn compound(&mut self, body: &Body, setting: &Setting<'_>) -> Feed {
        match body {
            Body::Simple { .. } => Feed::default(),
            Body::Group(script) => self.script(script, setting),
            Body::Subshell(script) => {
                let mark = self.env.mark();
                let feed = self.script(script, setting);
                self.env.restore(mark);
                feed
            }
            Body::Branches { subject, arms } => {
                for word in subject {
                    self.single(word, setting);
                }
                let feeds: Vec<Feed> = arms.iter().map(|arm| self.script(arm, setting)).collect();
                let source = feeds.iter().map(|feed| feed.source).max().unwrap_or_default();
                Feed { source, ..Feed::default() }
            }
            Body::Loop { variable, values, body } => self.loop_over(variable, values.as_deref(), body, setting),
            Body::Function { name, body } => self.function(name, body, setting),
            Body::Test(words) => {
                for word in words {
                    self.single(word, setting);
                }
                Feed::of_text("")
            }
        }
    }

    fn loop_over(&mut self, variable: &str, values: Option<&[Word]>, body: &Script, setting: &Setting<'_>) -> Feed {
        let mut value = Value::unknown();
        if let Some(words) = values {
            let fields: Vec<_> = words.iter().flat_map(|word| self.fields(word, setting)).collect();
            let mut texts = fields.iter().map(|field| field.text.clone());
            if let Some(text) = texts.next() {
                let known = fields.iter().all(|field| field.known);
                let source = fields.iter().map(|field| field.source).max().unwrap_or_default();
                value = Value { text, others: texts.take(31).collect(), known, source };
            }
        }
        self.env.set(variable, value);
        let feed = self.script(body, setting);
        Feed { text: None, ..feed }
    }

    /// What a function does counts where it is defined, called or not.
    fn function(&mut self, name: &str, body: &Stage, setting: &Setting<'_>) -> Feed {
        self.env.functions.insert(name.to_owned());
        self.defining.push(name.to_owned());
        let mark = self.env.mark();
        self.env.set("@", Value::unknown());
        let inner = Setting { origin: Origin::FunctionBody, input: Feed::default(), piped: false, background: false, ..setting.clone() };
        self.stage(body, &inner);
        self.env.restore(mark);
        self.defining.pop();
        Feed::of_text("")
    }

    /// Walks what stands in `$(...)`, backquotes or `<(...)`; what it prints.
    fn substitution(&mut self, script: &Script, setting: &Setting<'_>) -> Feed {
        let inner = Setting { origin: Origin::Substitution, wrappers: Vec::new(), piped: false, ..setting.clone() };
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
    fields.iter().map(|field| field.source).max().unwrap_or_default()
}
