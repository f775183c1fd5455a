//! Simple commands: assignments, redirections, and the program that is called.

use super::emptied::{is_nothing, prints_nothing};
use super::environment::{UNKNOWN, Value};
use super::expand::Field;
use super::feed::{Feed, Source, Trust};
use super::names::Whereabouts;
use super::scripts::Manner;
use super::{Setting, Walker};
use crate::catalogue::{self, Found, Plan};
use crate::places;
use crate::syntax::{Assignment, DEEP, DEPTH, Part, Redirect, Span, Word};
use crate::types::{self, Attribute, Attributes, Command, EffectKind, Redirection};

/// The context of a program's words.
#[derive(Clone, Default)]
pub(super) struct Call {
    pub assignments: Attributes,
    pub redirections: Vec<Redirection>,
    pub input: Feed,
    /// The end of the command in the text.
    pub end: u32,
}

/// The share of the text budget that a nested command uses, in bytes. A text that runs itself is read
/// many times, and its short commands cost as much as long ones.
const COMMAND: usize = 64;
/// The greatest depth of a command that is not nested.
const OUTERMOST: usize = 2;

/// The next step after a program's words.
pub(super) enum Step {
    Done(Feed),
    /// It only starts this.
    Inner(Box<Inner>),
}

/// A program that another one starts, with its words.
pub(super) struct Inner {
    pub fields: Vec<Field>,
    pub call: Call,
    pub setting: Setting,
}

impl Walker<'_> {
    pub(super) fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        redirects: &[Redirect],
        span: Span,
        setting: &Setting,
    ) -> Feed {
        let values: Vec<(String, Value)> =
            assignments.iter().map(|assignment| self.assignment(assignment, setting)).collect();
        let mut fields = Vec::new();
        for word in words {
            fields.extend(self.fields(word, setting));
        }
        // The command gets this number when it is recorded, which is after its redirections.
        let index = u32::try_from(self.out.commands.len()).ok();
        let before = self.so_far();
        let (redirections, io) =
            self.redirections(redirects, index.filter(|_| !fields.is_empty()), setting);
        if fields.is_empty() {
            let source = Source::worst(values.iter().map(|(_, value)| value.source));
            self.carried_by_pairs(&attributes(&values), span, None, setting);
            for (name, value) in values {
                let name = self.env.named(&name);
                self.telling_variable(&name, &value, span, None, setting);
                self.env.set(&name, value);
            }
            if words.is_empty() {
                self.note_emptied(&redirections, None, setting);
            }
            let feed = match io.input {
                // `$(< FILE)`
                Some(input) if words.is_empty() && redirects.len() == 1 => input,
                _ if words.is_empty() => Feed::of_text(""),
                _ => Feed { source, ..Feed::default() },
            };
            return self.carried(&before, &[], &Feed::default(), feed);
        }
        if !values.is_empty() {
            self.given.clone_from(&fields);
        }
        for (name, value) in &values {
            self.telling_variable(&self.env.named(name), value, span, index, setting);
        }
        self.given.clear();
        self.carried_by_pairs(&attributes(&values), span, index, setting);
        let call = Call {
            assignments: attributes(&values),
            redirections,
            input: io.input.unwrap_or_else(|| setting.input.clone()),
            end: span.end,
        };
        let feed = self.run(&fields, &call, setting);
        let feed = self.carried(&before, &fields, &call.input, feed);
        if is_nothing(feed.text.as_deref()) || prints_nothing(&fields) {
            self.note_emptied(&call.redirections, index, setting);
        }
        if io.captured {
            self.remember_outputs(&call.redirections, &io.files, &feed);
        }
        if io.captured { Feed { from: feed.from, ..Feed::of_text("") } } else { feed }
    }

    fn assignment(&mut self, assignment: &Assignment, setting: &Setting) -> (String, Value) {
        let field = self.single(&assignment.value, setting);
        // No glob is expanded here: the text is the value.
        let written = assignment.value.parts.iter().all(|part| matches!(part, Part::Text { .. }));
        let literal = if written { Some(field.text.clone()) } else { field.literal };
        let literal = literal.filter(|text| places::is_glob(text));
        let mut value = Value {
            text: field.text,
            known: field.known,
            source: field.source,
            literal,
            elements: field.elements,
            feed: field.feed,
            pieces: field.pieces.filter(|_| !assignment.append),
            ..Value::default()
        };
        if assignment.append
            && let Some(before) = self.env.get(&assignment.name)
        {
            if assignment.value.is_array() && !before.text.is_empty() {
                value.text.insert(0, ' ');
            }
            value.text.insert_str(0, &before.text);
            value.elements.splice(0..0, before.elements);
            value.known &= before.known;
            value.source = value.source.max(before.source);
            self.spend(value.text.len());
            if value.text.len() > 64 * 1024 || self.work == 0 {
                self.out.limit("a text that grows longer than is followed");
                value = Value::unknown();
            }
        }
        let name = match &assignment.subscript {
            Some(subscript) => {
                format!("{}[{}]", assignment.name, subscript.trim_matches(['"', '\'']))
            }
            None => assignment.name.clone(),
        };
        (name, value)
    }

    /// Follows variables that change the shell's history, or the libraries that programs load.
    pub(super) fn telling_variable(
        &mut self,
        name: &str,
        value: &Value,
        span: Span,
        command: Option<u32>,
        setting: &Setting,
    ) {
        match name {
            "HISTFILE" | "HISTSIZE" | "HISTFILESIZE" | "SAVEHIST"
                if matches!(value.text.as_str(), "" | "0" | "/dev/null") =>
            {
                self.out.hides("history-clear", "", command)
            }
            // A text that stands on the command line is read like any other.
            "BASH_ENV"
                if !value.text.is_empty()
                    && value.feed.as_ref().is_none_or(|feed| feed.text.is_none()) =>
            {
                self.out.form("preload", command)
            }
            _ => {}
        }
        let span = setting.fixed.unwrap_or(span);
        self.carried_by_variable(name, value, span, command, setting);
        self.subscripts(
            &Field { text: value.text.clone(), known: value.known, span, ..Field::default() },
            setting,
        );
    }

    /// Runs a program with its words: `fields` begins with the program. A program that only starts
    /// another one is unwrapped in a loop, so that a long chain of wrappers is not a deep nesting.
    pub(super) fn run(&mut self, fields: &[Field], call: &Call, setting: &Setting) -> Feed {
        if self.depth >= DEPTH {
            self.out.limit(DEEP);
            return Feed::default();
        }
        self.depth += 1;
        let mut inner: Option<Inner> = None;
        let searched = self.search_path();
        let feed = loop {
            self.search_in(inner.as_ref().map_or(call, |inner| &inner.call));
            let step = match &inner {
                None => self.launch(fields, call, setting),
                Some(inner) => self.launch(&inner.fields, &inner.call, &inner.setting),
            };
            match step {
                Step::Done(feed) => break feed,
                Step::Inner(next) => inner = Some(*next),
            }
        };
        self.search_again(call, inner.as_ref().map(|inner| &inner.call), searched);
        self.depth -= 1;
        feed
    }

    fn launch(&mut self, fields: &[Field], call: &Call, setting: &Setting) -> Step {
        let Some((first, rest)) = fields.split_first() else { return Step::Done(Feed::default()) };
        let name = first.text.rsplit('/').next().unwrap_or("");
        if let Some(fields) = super::toolchains::without_toolchain(name, first, rest) {
            let (call, setting) = (call.clone(), setting.clone());
            return Step::Inner(Box::new(Inner { fields, call, setting }));
        }
        self.spend(8 * fields.len() + if self.depth > OUTERMOST { COMMAND } else { 0 });
        if self.work == 0 {
            self.out.limit("more text than is read");
            return Step::Done(Feed::default());
        }
        if let Some(named) = self.globbed(first) {
            let fields: Vec<Field> = [named].into_iter().chain(rest.iter().cloned()).collect();
            return Step::Inner(Box::new(Inner {
                fields,
                call: call.clone(),
                setting: setting.clone(),
            }));
        }
        if let Some(named) = self.found_in_path(first, setting) {
            let fields: Vec<Field> = [named].into_iter().chain(rest.iter().cloned()).collect();
            return Step::Inner(Box::new(Inner {
                fields,
                call: call.clone(),
                setting: setting.clone(),
            }));
        }
        // The name of a folder (`dir/`) starts nothing.
        let is_folder = first.known && first.text.len() > 1 && first.text.ends_with('/');
        if name.contains(UNKNOWN) || name.is_empty() && !is_folder {
            return Step::Done(self.unknown_program(first, rest, call, setting));
        }
        self.program(name, first, rest, call, setting)
    }

    fn program(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Step {
        let spelled = super::spelling::spelled_out(name, rest);
        let rest = spelled.as_deref().unwrap_or(rest);
        let texts: Vec<&str> = rest.iter().map(|field| plain_signal(name, &field.text)).collect();
        let found = catalogue::find(name, &texts);
        let mut plan = found.as_ref().map(|found| catalogue::plan(found, &texts));
        if self.is_routine(name, first, plan.is_some(), setting) {
            return Step::Done(self.call_routine(name, first, rest, call, setting));
        }
        if let Some(plan) = plan.as_mut().filter(|_| name == "git") {
            self.keep(rest, plan);
        }
        if let Some(plan) = plan.as_mut() {
            self.rehearse(catalogue::name_of(name), rest, plan, call, setting);
            self.soften_own_loss(name, rest, plan, call, setting);
            self.serve_own(name, rest, plan);
        }
        if let Some(plan) = plan
            .as_mut()
            .filter(|_| matches!(name, "history" | "unset") && !is_of_this_shell(first, setting))
        {
            plan.nothing = true;
        }
        let Some(folders) =
            plan.as_ref().map(|plan| plan.folders.clone()).filter(|folders| !folders.is_empty())
        else {
            return self.planned(name, first, rest, found.as_ref(), plan, call, setting);
        };
        let mark = self.env.mark();
        for folder in &folders {
            self.env.enter(folder, false, true);
        }
        // A wrapped program runs in that folder too, so it has to end before the folder is left.
        let feed = match self.planned(name, first, rest, found.as_ref(), plan, call, setting) {
            Step::Done(feed) => feed,
            Step::Inner(inner) => self.run(&inner.fields, &inner.call, &inner.setting),
        };
        self.env.restore(mark);
        Step::Done(feed)
    }

    /// Runs a program by its plan, in the folder that it changed into.
    #[allow(clippy::too_many_arguments, reason = "as for `record`")]
    fn planned(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        found: Option<&Found>,
        plan: Option<Plan>,
        call: &Call,
        setting: &Setting,
    ) -> Step {
        if let Some(plan) = &plan
            && let Some(at) = plan.run.filter(|_| !plan.nothing && !first.source.is_unseen())
        {
            return self.wrapper(name, plan, at, rest, call, setting);
        }
        Step::Done(self.own_program(name, first, rest, found, plan, call, setting))
    }

    #[allow(clippy::too_many_arguments, reason = "as for `record`")]
    fn own_program(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        found: Option<&Found>,
        plan: Option<Plan>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let next = u32::try_from(self.out.commands.len()).ok();
        self.load_modules(name, rest, next, setting);
        self.note_debugger(name, rest, next, setting);
        // A program of the project may have the name of any other.
        if super::languages::runs_text(name) && self.whereabouts(first) == Whereabouts::Project {
            let (path, _) = places::resolve(&first.text, &self.env.folder);
            self.run_script(first, &path, None, Manner::Program, rest, next, setting);
        }
        if let Some(plan) = &plan {
            self.note_rewritten(name, rest, plan, call, setting);
        }
        if let Some(feed) = self.starts_text(name, first, rest, call, setting) {
            return feed;
        }
        let command = self.record(name, first, rest, found, plan.as_ref(), call, setting);
        self.hidden_program(first, command, setting);
        let place = self.whereabouts(first);
        if place != Whereabouts::Path && self.runs_own_file(first, command, setting) {
            return Feed {
                from: command,
                source: call.input.source,
                open: true,
                ..Feed::default()
            };
        }
        if place != Whereabouts::Path {
            let (path, _) = places::resolve(&first.text, &self.env.folder);
            self.note_generated_run(&path, command, setting);
            self.run_script(first, &path, None, Manner::Program, rest, command, setting);
        }
        match plan {
            Some(plan) => {
                if place == Whereabouts::Project {
                    self.project_run(command, setting);
                } else if place == Whereabouts::Elsewhere {
                    self.plain(EffectKind::ProcessStart, &first.text, false, command, setting);
                }
                self.known_program(name, rest, &plan, command, call, setting)
            }
            None => self.other_program(name, first, rest, place, command, call, setting),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "as for `record`")]
    fn other_program(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        place: Whereabouts,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let asks = matches!(rest, [only] if matches!(only.text.as_str(), "--version" | "--help" | "-V" | "-h" | "help" | "version"));
        let line = || {
            [first]
                .into_iter()
                .chain(rest)
                .take(64)
                .map(|field| field.text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        match place {
            Whereabouts::Path
                if super::sql::may_begin(name) && super::sql::is_statement(&line()) =>
            {
                self.stated(&line(), command, setting);
            }
            Whereabouts::Project => self.project_run(command, setting),
            // The name may be a function of the file that was sourced.
            _ if self.sourced && place == Whereabouts::Path => self.project_run(command, setting),
            _ if asks => {}
            _ => {
                let named = if first.text.contains('/') { &first.text } else { name };
                self.plain(EffectKind::ProcessStart, named, false, command, setting);
                self.follow_words(name, rest, call, setting);
            }
        }
        Feed { from: command, source: call.input.source, open: true, ..Feed::default() }
    }

    /// Notes a program whose name is known only at run time.
    fn unknown_program(
        &mut self,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let command = self.record("", first, rest, None, None, call, setting);
        if let Some(pieces) = &first.pieces
            && self.run_pieces(pieces, None, first, command, true, setting)
        {
            return Feed { from: command, open: true, ..Feed::default() };
        }
        self.out.gap("a program that is known only when it runs");
        self.hidden_program(first, command, setting);
        self.plain(EffectKind::ProcessStart, "", false, command, setting);
        Feed { from: command, source: call.input.source, open: true, ..Feed::default() }
    }

    /// Notes that the name of the program itself was downloaded or decoded.
    fn hidden_program(&mut self, first: &Field, command: Option<u32>, setting: &Setting) {
        if first.source.is_unseen() {
            let form = if first.source.trust == Trust::Downloaded {
                "pipe-to-shell"
            } else {
                "hidden-command"
            };
            self.out.form(form, command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
    }

    /// Notes the command itself.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is a different thing, and there is one place to put them together"
    )]
    pub(super) fn record(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        found: Option<&Found>,
        plan: Option<&Plan>,
        call: &Call,
        setting: &Setting,
    ) -> Option<u32> {
        self.shape_of(name, rest, found, plan);
        if self.is_past_lines() {
            return None;
        }
        let fixed = setting.fixed;
        let end = fixed.map_or(call.end, |span| span.end);
        let command = self.out.command(Command {
            program: name.to_owned(),
            words: rest.iter().map(word_of).collect(),
            assignments: call.assignments.clone(),
            redirections: call.redirections.clone(),
            wrappers: setting.wrappers.clone(),
            origin: setting.origin.clone(),
            input_from: call.input.from,
            start: fixed.map_or(first.span.start, |span| span.start).min(end),
            end,
            privileged: setting.privileged,
        });
        self.note_line(command, name, rest);
        command
    }

    fn shape_of(&mut self, name: &str, rest: &[Field], found: Option<&Found>, plan: Option<&Plan>) {
        self.out.shape(if name.is_empty() { "?" } else { name });
        let depth = found.map_or(0, |found| found.depth);
        let mut placeholder = false;
        for (index, field) in rest.iter().enumerate() {
            let text = field.text.as_str();
            if plan.is_some_and(|plan| plan.subcommand.contains(&index)) && depth > 0 {
                self.out.shape(" ");
                self.out.shape(text);
                placeholder = false;
            } else if text.starts_with('-') && text.len() > 1 {
                let flag = text
                    .split('=')
                    .next()
                    .unwrap_or(text)
                    .trim_end_matches(|c: char| c.is_ascii_digit());
                self.out.shape(" ");
                self.out.shape(flag.get(..32).unwrap_or(flag));
                placeholder = false;
            } else if !placeholder {
                self.out.shape(" _");
                placeholder = true;
            }
        }
    }

    pub(super) fn is_project(&self, path: &str) -> bool {
        !self.project.is_empty() && places::is_below(path, self.project)
    }
}

fn attributes(values: &[(String, Value)]) -> Attributes {
    values
        .iter()
        .map(|(name, value)| Attribute { name: name.clone(), value: value.text.clone() })
        .collect()
}

/// Returns true for a builtin that changes the person's shell: not a program of that name, and not
/// if another shell runs it.
fn is_of_this_shell(first: &Field, setting: &Setting) -> bool {
    let called = !setting.started
        || matches!(setting.wrappers.last().map(String::as_str), Some("builtin" | "command"));
    called && !first.text.contains('/') && !setting.apart && setting.shell == 0
}

/// Translates a signal's name, which is not a cluster of flags: `-STOP` counts as its number does.
fn plain_signal<'t>(program: &str, text: &'t str) -> &'t str {
    let named = text.len() > 3
        && text
            .strip_prefix('-')
            .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_uppercase()));
    if named && matches!(program, "kill" | "pkill" | "killall" | "skill") { "-9" } else { text }
}

pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

pub(super) fn word_of(field: &Field) -> types::Word {
    types::Word { text: field.text.clone(), known: field.known, quoted: field.quoted }
}
