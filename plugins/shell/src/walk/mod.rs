//! Follows a tree as a shell would, without running anything.
//!
//! Every branch and every loop's body is assumed to run, once. Values that the text determines are
//! filled in; values known only at run time stay unknown, and effects say so.

mod addresses;
mod apply;
mod archives;
mod arithmetic;
mod awk;
mod braces;
mod builders;
mod builtins;
mod carriers;
mod code_flags;
mod compilers;
mod containers;
mod copies;
mod databases;
mod descriptions;
mod dumps;
mod edits;
mod elsewhere;
mod emptied;
mod environment;
mod expand;
mod feed;
mod fetched;
mod followed;
mod fresh;
mod git;
mod hooks;
mod hunts;
mod images;
mod imported;
mod inline;
mod interpreters;
mod keeping;
mod languages;
mod later;
mod launchers;
mod links;
mod manifests;
mod modes;
mod modules;
mod mounts;
mod named_files;
mod named_settings;
mod names;
mod output;
mod own_data;
mod packages;
mod parameters;
mod patch;
mod plays;
mod programs;
mod prompts;
mod properties;
mod recipes;
mod redirections;
mod registries;
mod rehearsals;
mod remembered_files;
mod remotes;
mod requests;
mod rewritten;
mod rounds;
mod routines;
mod runners;
mod safeguards;
mod schedules;
mod scripts;
mod search_path;
mod searches;
mod sed;
mod sending;
mod served;
mod services;
mod setups;
mod simple;
mod sources;
mod spelling;
mod sql;
mod taint;
mod toolchains;
mod wrappers;
mod written;
mod written_code;

use crate::bindings::exports::portcullis::shell::reader::{Reading, Surroundings};
use crate::places::Place;
use crate::syntax::{self, Body, DEPTH, Pipeline, Script, Span, Stage, Word};
use crate::types::Origin;
use environment::{Environment, Routine, Value};
use feed::{Feed, Source};
pub(crate) use images::fetch_of;
use output::Output;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The maximum amount of text that one reading may produce by filling in values, in bytes.
const WORK: usize = 4 << 20;
/// The same for the end of an oversized text: this many bytes of it are read all the same.
const TAIL_WORK: usize = 1 << 18;
const TAIL: usize = 16 * 1024;
/// The maximum number of calls of functions and aliases that are followed.
const CALLS: usize = 128;

/// Reads a command line; returns the reading, and the number of steps that it took.
pub(crate) fn read(text: &str, surroundings: &Surroundings) -> (Reading, u64) {
    let mut walker = Walker::new(surroundings, WORK);
    walker.recall_files();
    walker.recall_mounts(&surroundings.mounts);
    walker.text(text, None, &Setting::default());
    walker.uncalled();
    walker.tail(text);
    walker.note_floods();
    walker.note_emptying();
    walker.note_opened();
    let leaves = walker.left_files();
    let mounts = walker.changed_mounts(&surroundings.mounts);
    walker.read_written();
    let steps = walker.steps;
    let absences = walker.absences();
    let (wants, lines) = walker.asked_files();
    (Reading { wants, absences, leaves, mounts, ..walker.out.finish(lines) }, steps)
}

/// Walks one command line.
struct Walker<'a> {
    home: &'a str,
    /// The folder in which the command line begins.
    project: &'a str,
    env: Environment,
    out: Output,
    depth: usize,
    work: usize,
    /// A part of the command line was too large to be read.
    unread: bool,
    /// The number of bytes, words, parts, commands and effects that were looked at.
    steps: u64,
    /// The commands of the current pipeline that read secrets, each with a flag for a file.
    secrets: Vec<(Option<u32>, bool)>,
    /// The commands of the current pipeline that reach the network.
    contacts: Vec<Option<u32>>,
    /// A script of the project was read into this shell: unknown names may be its functions.
    sourced: bool,
    /// The functions and aliases whose bodies are being read.
    running: Vec<(String, environment::Body)>,
    /// The number of their calls that may still be followed.
    calls: usize,
    /// The number of shells that were started.
    shells: u32,
    /// The contents of the file descriptors that the command line opens.
    descriptors: BTreeMap<u32, Feed>,
    /// The files that are open for writing, by descriptor.
    outputs: BTreeMap<u32, expand::Field>,
    /// The files that commands write, in order.
    written: Vec<String>,
    /// The files that contain data read from secrets.
    tainted: BTreeSet<String>,
    /// The files that contain a table or a dump of a database.
    dumped: BTreeSet<String>,
    /// The number of times that commands read such data.
    dumps: usize,
    /// The commands that send something, each with the machine that gets it.
    sendings: Vec<(Option<u32>, String)>,
    /// The remotes of repositories that were set, by the path of their branches: true if one leads
    /// to a machine that the project did not know.
    led: BTreeMap<String, bool>,
    /// The contents that this command line writes to files, by path.
    files: BTreeMap<String, Feed>,
    /// The lists of folders with modules that stand before programs.
    module_folders: BTreeSet<String>,
    /// The files that a program writes as it runs, with text that nothing here shows; a folder
    /// ends with `/`.
    generated: BTreeSet<String>,
    /// The files that get the output of other programs, which nothing here shows, or that programs
    /// change; a folder ends with `/`.
    printed: BTreeSet<String>,
    /// Folders, with a slash at the end, in which git has changed files in a way that is not known.
    checked_out: BTreeSet<String>,
    /// The known changes that programs make in files on the disk, by path.
    edits: BTreeMap<String, Vec<edits::Edit>>,
    /// The programs that this command line builds from source code that is known.
    built: Vec<compilers::Built>,
    /// The links and the mounts that this command line makes.
    links: Vec<links::Link>,
    /// The current path ends with a slash: a link there is followed, not removed.
    enters: bool,
    /// The work that git holds by now, by repository.
    kept: Vec<keeping::Kept>,
    /// The remotes that this command line gives a repository: name and address.
    remotes: Vec<(String, String)>,
    /// Folders with credentials in them that were read as a whole.
    hoards: Vec<String>,
    /// The files that are run.
    scripts: scripts::Scripts,
    /// The number of a service's process was looked up.
    looked_up: bool,
    /// So were the numbers of all programs of a runtime.
    looked_up_all: bool,
    /// The current reads show names, sizes and dates alone.
    metadata: bool,
    /// The words of the program that gets the variables before it.
    given: Vec<expand::Field>,
    /// A credential was put into git by its name.
    staged: bool,
    /// The containers that this command line makes, by name.
    made: BTreeSet<String>,
    /// The folders of this machine that containers see.
    seen_inside: containers::SeenInside,
    /// The changes of patches to files that something runs later.
    changes: Vec<written::Change>,
}

/// The context in which the current commands run.
#[derive(Clone)]
struct Setting {
    wrappers: Vec<String>,
    origin: Origin,
    privileged: bool,
    place: Place,
    /// The place that all commands carry, inside text that is not the command line's own.
    fixed: Option<Span>,
    heredocs: Rc<Vec<Word>>,
    /// The contents of the standard input.
    input: Feed,
    /// Others run at the same time: it is a stage of a pipeline, or in the background.
    beside: bool,
    /// It runs in a process of its own: its changes to its shell end with it.
    apart: bool,
    /// The current file is appended to, not overwritten.
    appends: bool,
    /// The shell that runs the current text: it knows its own functions alone.
    shell: u32,
    /// Another program, which knows of no functions, starts the command.
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
            let limit = if self.depth >= DEPTH { syntax::DEEP } else { "more text than is read" };
            self.unread |= self.depth < DEPTH;
            self.out.limit(limit);
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
        let mut said: Option<Feed> = None;
        let mut start = 0;
        loop {
            let parsed = syntax::parse(text, start, self.depth, fixed);
            self.step(parsed.more.unwrap_or(text.len()).saturating_sub(start) + parsed.nodes);
            let feed = self.parsed(&parsed, fixed, setting);
            said = Some(match said {
                Some(before) => joined(before, feed),
                None => feed,
            });
            if let Some(rest) =
                parsed.rest.and_then(|at| text.get(at..)).filter(|rest| !rest.is_empty())
            {
                self.flat(
                    rest,
                    fixed.unwrap_or(Span {
                        start: 0,
                        end: u32::try_from(text.len()).unwrap_or(u32::MAX),
                    }),
                    setting,
                );
            }
            match parsed.more.filter(|more| *more > start) {
                Some(more) if self.work > 0 => start = more,
                more => {
                    self.unread |= more.is_some();
                    break;
                }
            }
        }
        self.depth -= 1;
        said.unwrap_or_default()
    }

    /// Reads text that was too deeply nested, or too long for one tree, without its nesting.
    fn flat(&mut self, rest: &str, span: Span, setting: &Setting) {
        let flat = syntax::parse_flat(rest, Some(span));
        self.unread |= flat.rest.is_some();
        self.parsed(&flat, Some(span), setting);
    }

    /// Reads the end of an oversized command line: a harmful part may come after the padding.
    fn tail(&mut self, text: &str) {
        if !self.unread && self.work > 0 {
            return;
        }
        self.out.limit("more text than is read");
        let from = (text.len().saturating_sub(TAIL)..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let end = text.get(from..).unwrap_or("");
        // A quote may be open at its beginning.
        for quote in ["", "'", "\""] {
            if quote.is_empty() || end.matches(quote).count() % 2 == 1 {
                (self.work, self.depth) = (TAIL_WORK, 0);
                let span = Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) };
                self.text(&format!("{quote}{end}"), Some(span), &Setting::default());
            }
        }
    }

    fn parsed(&mut self, parsed: &syntax::Parsed, fixed: Option<Span>, setting: &Setting) -> Feed {
        for gap in &parsed.gaps {
            self.out.gap(gap);
        }
        for limit in &parsed.limits {
            self.out.limit(limit);
        }
        let setting = Setting {
            fixed,
            heredocs: Rc::clone(&parsed.heredocs),
            started: false,
            ..setting.clone()
        };
        self.script(&parsed.script, &setting)
    }

    fn script(&mut self, script: &Script, setting: &Setting) -> Feed {
        let mut all: Option<Feed> = None;
        for pipeline in script {
            if pipeline.otherwise {
                // It runs if the command before it failed.
                self.kept.clear();
            }
            let feed = self.pipeline(pipeline, setting);
            all = Some(match all {
                None => feed,
                Some(before) if pipeline.otherwise && before.text.is_some() => {
                    Feed { source: before.source.max(feed.source), ..before }
                }
                Some(before) => joined(before, feed),
            });
        }
        all.unwrap_or_else(|| Feed::of_text(""))
    }

    fn pipeline(&mut self, pipeline: &Pipeline, setting: &Setting) -> Feed {
        let (secrets, contacts) = (self.secrets.len(), self.contacts.len());
        let (dumps, sendings) = (self.dumps, self.sendings.len());
        let several = pipeline.stages.len() > 1;
        let mut feed = setting.input.clone();
        for (index, stage) in pipeline.stages.iter().enumerate() {
            if index > 0 {
                self.out.shape(" | ");
                feed.open = true;
            }
            let beside = several || pipeline.background;
            let stage_setting = Setting {
                input: feed,
                beside: beside || setting.beside,
                apart: beside || setting.apart,
                ..setting.clone()
            };
            let mark = several.then(|| self.env.mark());
            feed = self.stage(stage, &stage_setting);
            if let Some(mark) = mark {
                self.env.restore(mark);
            }
        }
        self.out.shape("; ");
        self.note_egress(secrets, contacts);
        self.note_sent_dump(dumps, sendings, setting);
        feed
    }

    fn stage(&mut self, stage: &Stage, setting: &Setting) -> Feed {
        if let Body::Simple { assignments, words } = &stage.body {
            return self.simple(assignments, words, &stage.redirects, stage.span, setting);
        }
        let before = self.so_far();
        let (redirections, io) = self.redirections(&stage.redirects, None, setting);
        let mut inner = setting.clone();
        if let Some(input) = io.input {
            inner.input = input;
        }
        let feed = self.compound(&stage.body, &inner);
        let feed = self.carried(&before, &[], &inner.input.clone(), feed);
        if io.captured {
            self.remember_outputs(&redirections, &io.files, &feed);
            return Feed::of_text("");
        }
        feed
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
            Body::Repeat { subject, condition, until, body } => {
                let source = self.repeat(subject, (condition.as_ref(), *until), body, setting);
                Feed { source, ..Feed::default() }
            }
            Body::Loop { variable, values, body } => {
                self.loop_over(variable, values.as_deref(), body, setting)
            }
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

    fn loop_over(
        &mut self,
        variable: &str,
        values: Option<&[Word]>,
        body: &Script,
        setting: &Setting,
    ) -> Feed {
        let mut value = Value::unknown();
        let mut rounds = 0;
        if let Some(words) = values {
            let fields: Vec<_> = words.iter().flat_map(|word| self.fields(word, setting)).collect();
            rounds = fields.len();
            let mut texts = fields.iter().map(|field| field.text.clone());
            if let Some(text) = texts.next() {
                let known = fields.iter().all(|field| field.known);
                let source = Source::worst(fields.iter().map(|field| field.source));
                let literal = fields
                    .first()
                    .and_then(|field| field.literal.clone())
                    .filter(|_| fields.len() == 1);
                value = Value {
                    text,
                    others: several(texts),
                    known,
                    source,
                    literal,
                    pieces: fields
                        .first()
                        .filter(|_| fields.len() == 1)
                        .and_then(|f| f.pieces.clone()),
                    ..Value::default()
                };
            }
        }
        self.env.set(variable, value);
        let feed = self.script(body, setting);
        // A single round prints what it prints.
        Feed { text: feed.text.filter(|_| rounds == 1), ..feed }
    }

    /// Walks the contents of `$(...)`, backquotes or `<(...)`; returns the output.
    fn substitution(&mut self, script: &Script, setting: &Setting) -> Feed {
        let inner = Setting {
            origin: Origin::Substitution,
            wrappers: Vec::new(),
            beside: false,
            apart: true,
            ..setting.clone()
        };
        let mark = self.env.mark();
        let feed = self.script(script, &inner);
        self.env.restore(mark);
        feed
    }
}

/// The maximum number of values that a variable takes in turn.
const VALUES: usize = 256;

/// Returns the values after the first; the excess is represented by one unknown value.
fn several(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut others: Vec<String> = texts.take(VALUES).collect();
    if others.len() == VALUES {
        others.pop();
        others.push(environment::UNKNOWN.to_string());
    }
    others
}

/// The maximum number of parts of a text that stands in files.
const PIECES: usize = 16;

/// Joins the outputs of two commands, one after the other.
fn joined(before: Feed, after: Feed) -> Feed {
    let source = before.source.max(after.source);
    let from = after.from.or(before.from);
    let text = match (&before.text, &after.text) {
        (Some(first), Some(second)) if first.len() + second.len() <= 64 * 1024 => {
            Some(match (first.is_empty(), second.is_empty()) {
                (true, _) => Rc::clone(second),
                (_, true) => Rc::clone(first),
                _ => Rc::from(format!("{first}{second}")),
            })
        }
        _ => None,
    };
    let pieces = match (&text, before.all_pieces(), after.all_pieces()) {
        (None, Some(first), Some(second)) if first.len() + second.len() <= PIECES => {
            Some(first.iter().chain(second.iter()).cloned().collect())
        }
        _ => None,
    };
    let items = match (before.text.as_deref(), after.text.as_deref()) {
        (Some(""), _) => after.items,
        (_, Some("")) => before.items,
        _ => None,
    };
    Feed { text, pieces, items, source, from, open: true }
}

fn worst(fields: &[expand::Field]) -> Source {
    Source::worst(fields.iter().map(|field| field.source))
}
