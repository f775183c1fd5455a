//! Reads the text of a file that runs as if it stood on the command line.

use super::Found;
use crate::bindings::exports::portcullis::shell::reader::RunLine;
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;
use crate::types::EffectKind;
use crate::walk::environment::{Element, UNKNOWN, Value};
use crate::walk::expand::Field;
use crate::walk::feed::Feed;
use crate::walk::languages;
use crate::walk::simple::Call;
use crate::walk::{Setting, Walker};
use std::rc::Rc;

/// The array that names the scripts that run, innermost first.
const SCRIPT: &str = "BASH_SOURCE";
/// The maximum number of files that run each other in turn.
const NESTED: usize = 5;
/// The bytes at the end of an oversized file that are read all the same, and the work for them.
const END: usize = 16 * 1024;
const END_WORK: usize = 1 << 18;
/// The maximum number of commands that are listed of all files together.
const LINES: usize = 96;
/// The number of lines in which a command is looked for by its name alone, or once more.
const NEAR: usize = 64;
/// The maximum number of effects on the project's files that are listed of all files together.
const SOFT: usize = 48;

/// A file whose text is being read.
pub(super) struct Running {
    path: String,
    /// The part of it that runs: a target, a script's name.
    part: String,
    text: Rc<str>,
    /// It is written in another language than the shell's.
    foreign: bool,
    /// The place of the line that was named last: its number, from 0, and its first byte.
    reached: (usize, usize),
    /// The number of times that it starts itself beside itself.
    copies: usize,
}

impl Running {
    /// Returns the place of the first of so many lines that has all the signs in it.
    fn find_line(
        &self,
        (first, from): (usize, usize),
        most: usize,
        signs: &[&str],
    ) -> Option<(usize, usize)> {
        let mut at = from;
        let lines = self.text.get(from..)?.split_inclusive('\n');
        for (number, line) in lines.enumerate().take(most) {
            if signs.iter().all(|sign| line.contains(sign)) {
                return Some((first + number, at));
            }
            at += line.len();
        }
        None
    }
}

/// A file's text, and the way in which it is run.
pub(in crate::walk) struct RunText<'t> {
    pub path: &'t str,
    /// The part of the file that runs; empty for all of it.
    pub part: &'t str,
    /// All of the file's text.
    pub whole: &'t Rc<str>,
    /// The text that runs.
    pub text: &'t str,
    /// Its language; none for the shell's.
    pub language: Option<&'static str>,
    pub span: Span,
    /// It changes the shell that reads it.
    pub sourced: bool,
}

impl Walker<'_> {
    /// Follows a script file: its content is known only if this very command line wrote it.
    pub(in crate::walk) fn script_file(
        &mut self,
        name: &str,
        script: &Field,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let command = self.record(name, first, rest, None, None, call, setting);
        let (path, _) = places::resolve(&script.text, &self.env.folder);
        let content = script
            .feed
            .clone()
            .or_else(|| Some(self.file_content(&script.text)).filter(|feed| feed.open));
        if script.feed.is_none() {
            self.file(EffectKind::FileRead, script, false, command, setting);
        }
        self.framework_script(script, rest, command, call, setting);
        let language = languages::language_of(name);
        self.note_generated_run(&path, command, setting);
        if let Some(pieces) = script.feed.as_ref().and_then(|feed| feed.pieces.clone()) {
            let sourced = matches!(name, "source" | ".");
            if self.run_pieces(&pieces, language, script, command, sourced, setting) {
                return Feed { from: command, open: true, ..Feed::default() };
            }
            self.out.gap("a text that is run but known only when it runs");
        }
        if content.as_ref().is_none_or(|content| content.text.is_none()) && script.feed.is_none() {
            let manner =
                if matches!(name, "source" | ".") { Manner::Sourced } else { Manner::Interpreted };
            let position = rest.iter().position(|field| std::ptr::eq(field, script));
            let arguments = rest.get(position.map_or(rest.len(), |at| at + 1)..);
            let arguments = arguments.unwrap_or_default();
            self.run_script(script, &path, language, manner, arguments, command, setting);
        }
        if script.text.starts_with("https://") || script.text.starts_with("http://") {
            self.unseen(crate::walk::feed::Source::DOWNLOADED, command, setting);
        }
        match content.filter(|content| content.pieces.is_none() || script.feed.is_some()) {
            Some(content) => {
                self.unseen(content.source, command, setting);
                if let Some(text) = &content.text {
                    let field = Field {
                        text: text.to_string(),
                        known: true,
                        span: script.span,
                        ..Field::default()
                    };
                    match language {
                        None => self.nested(
                            &field,
                            name,
                            &Setting { input: Feed::default(), ..setting.clone() },
                        ),
                        Some(language) => self.code(language, &field, command, setting),
                    };
                } else if !content.source.is_unseen() {
                    self.plain(EffectKind::ProcessStart, &script.text, false, command, setting);
                }
            }
            None if self.is_project(&path) => self.project_run(command, setting),
            None => self.plain(EffectKind::ProcessStart, &path, false, command, setting),
        }
        Feed { source: call.input.source, from: command, open: true, ..Feed::default() }
    }

    /// Reads a module of the project that `python -m` runs.
    pub(in crate::walk) fn run_module(&mut self, module: &Field, setting: &Setting) {
        let command = u32::try_from(self.out.commands.len()).ok();
        let name = module.text.replace('.', "/");
        for file in [format!("{name}.py"), format!("{name}/__main__.py")] {
            let (path, _) = places::resolve(&file, &self.env.folder);
            let (language, manner) = (Some("python"), Manner::Interpreted);
            self.run_script(module, &path, language, manner, &[], command, setting);
        }
    }

    pub(in crate::walk) fn sourced(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let Some(script) = rest.first() else { return Feed::default() };
        if script.text == "/dev/stdin" {
            return self.piped_in(name, None, first, rest, call, setting);
        }
        let file = script.text.rsplit('/').next().unwrap_or("");
        let usual = file.starts_with("activate")
            || matches!(
                file,
                ".bashrc"
                    | ".bash_profile"
                    | ".profile"
                    | ".zshrc"
                    | ".zprofile"
                    | "nvm.sh"
                    | "env"
                    | "env.sh"
                    | ".envrc"
                    | ".env"
                    | "sdkman-init.sh"
                    | "asdf.sh"
                    | "setup.bash"
            )
            || file.starts_with(".env");
        let (path, _) = places::resolve(&script.text, &self.env.folder);
        if usual && script.feed.is_none() {
            let command = self.record(name, first, rest, None, None, call, setting);
            // The host does not show a file of credentials: assignments are not commands.
            let hidden = file.starts_with(".env") && file != ".envrc" && self.is_hidden(&path);
            if self.is_project(&path) && !file.starts_with("activate") && !hidden {
                self.run_script(script, &path, None, Manner::Sourced, &[], command, setting);
            }
            return Feed::of_text("");
        }
        self.sourced |= self.is_project(&path);
        self.script_file(name, script, first, rest, call, setting)
    }

    /// Reads a script that the command line runs, all of it. `program` is true for a file that the
    /// system starts, whose language its first line names.
    #[expect(
        clippy::too_many_arguments,
        reason = "a script has its call, its input and its setting"
    )]
    pub(in crate::walk) fn run_script(
        &mut self,
        script: &Field,
        path: &str,
        language: Option<&'static str>,
        manner: Manner,
        arguments: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let program = manner == Manner::Program;
        self.note_recursion(path, arguments, command, setting);
        let again = self.scripts.running.iter().any(|known| known.path == path);
        if self.scripts.running.len() >= NESTED && !again && !self.is_missing(path) {
            self.out.limit("files that run each other more deeply than is read");
        }
        let Some(text) = self.open_script(path, program, command, setting) else { return };
        let language = match named_in_first_line(&text).filter(|_| program) {
            Some(FirstLine::Language(language)) => Some(language),
            Some(FirstLine::Unknown) => return,
            Some(FirstLine::Shell) | None => language,
        };
        let mark = self.env.mark();
        // A sourced file has the arguments of its caller unless it is given some.
        if manner != Manner::Sourced || !arguments.is_empty() {
            self.arguments(arguments);
        }
        let outer = self.name_script(path, manner);
        let run = RunText {
            path,
            part: "",
            whole: &text,
            text: &text,
            language,
            span: script.span,
            sourced: manner == Manner::Sourced,
        };
        self.run_text(&run, command, setting);
        if manner != Manner::Sourced {
            self.env.restore(mark);
        } else if let Some(outer) = outer {
            self.env.set(SCRIPT, outer);
        } else {
            self.env.forget(SCRIPT);
        }
    }

    /// Returns the path of the script whose code is being read.
    pub(in crate::walk) fn script_path(&self) -> Option<&str> {
        let running = self.scripts.running.last()?;
        (running.foreign && running.part.is_empty()).then_some(running.path.as_str())
    }

    /// Gives the variables that hold the script's own path, so that it finds the folder beside it.
    /// Returns what named the script around it.
    fn name_script(&mut self, path: &str, manner: Manner) -> Option<Value> {
        let outer = self.env.get(SCRIPT);
        let own = Value { literal: Some(path.to_owned()), ..Value::known(path) };
        if manner != Manner::Sourced {
            self.env.set("0", own.clone());
        }
        let element = Element { text: path.to_owned(), literal: true };
        self.env.set(SCRIPT, Value { elements: vec![element], ..own });
        outer
    }

    /// Notes a script that starts two copies of itself, with nothing that tells them apart.
    fn note_recursion(
        &mut self,
        path: &str,
        arguments: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let running = self.scripts.running.last_mut();
        let Some(running) = running.filter(|running| running.path == path) else { return };
        if arguments.is_empty() && setting.beside {
            running.copies += 1;
            if running.copies == 2 {
                self.out.form("fork-bomb", command);
                self.plain(EffectKind::ResourceUse, "processes", true, command, setting);
            }
        }
    }

    /// Notes a script of a package, or a recipe, that starts itself twice, once of it beside the
    /// other.
    fn note_again(&mut self, run: &RunText<'_>, command: Option<u32>, setting: &Setting) {
        const BESIDE: usize = 100;
        let mut all = self.scripts.running.iter_mut();
        let same = all.find(|known| known.path == run.path && known.part == run.part);
        let Some(running) = same.filter(|_| !run.part.is_empty()) else { return };
        running.copies += if setting.beside { BESIDE } else { 1 };
        if running.copies > BESIDE {
            running.copies = 0;
            self.out.form("fork-bomb", command);
            self.plain(EffectKind::ResourceUse, "processes", true, command, setting);
        }
    }

    /// Reads a text of a file as if it stood on the command line. A file that runs itself is read
    /// once.
    pub(in crate::walk) fn run_text(
        &mut self,
        run: &RunText<'_>,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.note_again(run, command, setting);
        let running = &self.scripts.running;
        if running.len() >= NESTED
            || running.iter().any(|known| known.path == run.path && known.part == run.part)
        {
            return;
        }
        if let Some(command) = command.filter(|_| self.scripts.lines.len() < LINES) {
            let path = run.path.to_owned();
            self.scripts.lines.push(RunLine { command, path, line: 0 });
        }
        let unread = self.unread;
        self.scripts.running.push(Running {
            path: run.path.to_owned(),
            part: run.part.to_owned(),
            text: Rc::clone(run.whole),
            foreign: run.language.is_some(),
            reached: (0, 0),
            copies: 0,
        });
        self.out.enter_file(self.is_committed(run.path));
        // The functions of a script end with it, unless its caller's shell has read it.
        let routines = (!run.sourced).then(|| self.env.routines.clone());
        let field = Field {
            text: run.text.to_owned(),
            known: true,
            span: setting.fixed.unwrap_or(run.span),
            ..Field::default()
        };
        let inner = Setting { input: Feed::default(), beside: false, ..setting.clone() };
        match run.language {
            Some(language) if language != "powershell" => {
                self.code(language, &field, command, &inner);
            }
            _ => {
                let label = if run.sourced { "source" } else { self.shown(run.path) };
                self.nested(&field, label, &inner);
            }
        }
        match routines {
            Some(before) => self.env.routines = before,
            // A function that nothing here calls does not run.
            None => self.env.routines.values_mut().for_each(|routine| routine.called = true),
        }
        if self.unread && !unread {
            self.note_cut(run.path);
            if run.language.is_none() {
                self.end_of_file(run.text, &inner);
            }
            self.unread = false;
        }
        self.out.leave_file();
        self.scripts.running.pop();
    }

    /// Reads the end of a file whose middle is not read: a harmful part may come after the padding.
    fn end_of_file(&mut self, text: &str, setting: &Setting) {
        let from = (text.len().saturating_sub(END)..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let end = text.get(from..).unwrap_or("");
        let (work, depth) = (self.work, self.depth);
        (self.work, self.depth) = (END_WORK, 0);
        self.text(end, Some(Span::default()), setting);
        (self.work, self.depth) = (work, depth);
    }

    fn is_missing(&self, path: &str) -> bool {
        self.mind_absence(path);
        matches!(self.scripts.found.get(path), Some(Found::Missing))
    }

    /// Returns true if a command in a file is one too many for the list.
    pub(in crate::walk) fn is_past_lines(&self) -> bool {
        self.scripts.is_running() && self.scripts.lines.len() >= LINES
    }

    /// Notes the place of a command that stands in a file: the next line with its words.
    pub(in crate::walk) fn note_line(&mut self, command: Option<u32>, name: &str, rest: &[Field]) {
        let (Some(command), Some(running)) = (command, self.scripts.running.last_mut()) else {
            return;
        };
        let known = |field: &&Field| field.known && field.text.len() > 1 && field.text.len() < 256;
        let mut signs: Vec<&str> = vec![name];
        signs.extend(rest.iter().filter(known).take(3).map(|field| field.text.as_str()));
        let found = running.find_line(running.reached, usize::MAX, &signs);
        // The line may write its words in another way, with variables.
        let found = found.or_else(|| running.find_line(running.reached, NEAR, &[name]));
        // A loop or a function goes back in the file.
        let found = found.or_else(|| running.find_line((0, 0), NEAR, &signs));
        running.reached = found.unwrap_or(running.reached);
        let line = found.and_then(|(number, _)| u32::try_from(number + 1).ok()).unwrap_or(0);
        let path = running.path.clone();
        self.scripts.lines.push(RunLine { command, path, line });
    }

    /// Notes a folder that a script deletes and that only its caller knows: an argument, or a
    /// variable
    /// that the script itself does not set.
    pub(in crate::walk) fn note_open_targets(&mut self, verb: &str, rest: &[Field], plan: &Plan) {
        let Some(running) = self.scripts.running.last().filter(|running| !running.foreign) else {
            return;
        };
        let mut words = plan.operands.iter().filter_map(|at| rest.get(*at));
        // A mirror deletes in its last word; `find` in the folders before its first test.
        let words: Vec<&Field> = match verb {
            "rsync" => words.next_back().into_iter().collect(),
            "find" => rest.iter().take_while(|field| !field.text.starts_with('-')).collect(),
            _ => words.collect(),
        };
        let open = words.iter().any(|field| {
            let after = field.text.strip_prefix(UNKNOWN);
            after.is_some_and(|after| matches!(after, "" | "/" | "/*" | "/.*"))
        });
        let (number, at) = running.reached;
        let line = running.text.get(at..).and_then(|text| text.lines().next()).unwrap_or("");
        // Inside a function an argument is that of a call in the script.
        let inside = !self.running.is_empty();
        let verb = format!("{verb} ");
        if open && !inside && is_left_to_caller(&running.text, line, &verb) {
            let path = running.path.clone();
            let what = format!("deletes in line {} what only its caller knows", number + 1);
            self.file_gap(&path, &what);
        }
    }

    /// Returns true if an effect in a file says no more than that the file is run: an unknown
    /// program, or an unknown file of the project.
    pub(in crate::walk) fn is_left_open(
        &mut self,
        kind: &EffectKind,
        target: &str,
        certain: bool,
    ) -> bool {
        let Some(running) = self.scripts.running.last() else { return false };
        let inside = target.is_empty() || self.is_project(target);
        match kind {
            EffectKind::ProcessStart => !certain,
            EffectKind::FileRead | EffectKind::FileCreate | EffectKind::FileModify if inside => {
                self.scripts.soft += usize::from(certain);
                !certain || self.scripts.soft > SOFT
            }
            EffectKind::FileDelete | EffectKind::Network => {
                running.foreign && !certain && target.is_empty()
            }
            _ => false,
        }
    }
}

/// The way in which a script is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walk) enum Manner {
    /// By an interpreter that the command line names.
    Interpreted,
    /// By the shell that reads the command line.
    Sourced,
    /// As a program.
    Program,
}

/// The interpreter that a program's first line names.
pub(in crate::walk) enum FirstLine {
    Shell,
    Language(&'static str),
    /// None whose language is known.
    Unknown,
}

/// Returns the interpreter that the first line of a text names; none if it names none, so that a
/// shell runs the text.
pub(in crate::walk) fn named_in_first_line(text: &str) -> Option<FirstLine> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_ascii_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or("").to_owned();
    let mut program = name(words.next()?);
    // `env -S` and assignments come before the interpreter.
    if program == "env" {
        program = name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    if languages::is_shell(&program) {
        return Some(FirstLine::Shell);
    }
    Some(languages::language_of(&program).map_or(FirstLine::Unknown, FirstLine::Language))
}

/// Returns true if a line of a script names a value that only its caller knows: an argument, or a
/// variable that the script does not set.
fn is_left_to_caller(text: &str, line: &str, verb: &str) -> bool {
    let Some((_, deleted)) = line.split_once(verb) else { return false };
    deleted.split('$').skip(1).take(8).any(|part| {
        let part = part.trim_start_matches('{');
        let name: String =
            part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if name.is_empty() || part.get(name.len()..).is_some_and(|rest| rest.starts_with(":-")) {
            return false;
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return true;
        }
        let sets = |line: &str| {
            let line = line.trim_start();
            let line = ["export ", "local ", "readonly ", "declare "]
                .iter()
                .find_map(|start| line.strip_prefix(start))
                .unwrap_or(line);
            line.strip_prefix(&name)?.strip_prefix('=').map(str::to_owned)
        };
        let loops = format!("for {name} in");
        let reads = text
            .lines()
            .any(|line| line.contains(&loops) || line.contains("read ") && line.contains(&name));
        let mut set = text.lines().filter_map(sets).peekable();
        if set.peek().is_none() {
            // By custom variables of the environment have capitals.
            return !reads && name.bytes().any(|byte| byte.is_ascii_uppercase());
        }
        set.all(|value| {
            let value = value.trim_matches('"').trim_start_matches(['$', '{']);
            value.starts_with(|c: char| c.is_ascii_digit()) && !value.contains(":-")
        })
    })
}
