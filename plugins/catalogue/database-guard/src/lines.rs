//! A command line, read in order: what earlier commands leave for later ones (variables, files that
//! they write), what feeds a command, and what stands in the text before it that is no command itself
//! (assignments, the words of a wrapper).

use crate::connections::{Judge, UNKNOWN};
use crate::lexer::Language;
use portcullis_plugin::types::{Command, Direction, Shell};
use std::borrow::Cow;

/// The most files of a line whose text is kept.
const MOST: usize = 16;

/// A text of statements, or what stands for one that cannot be read.
#[derive(Clone, Debug)]
pub enum Feed<'a> {
    /// The statements.
    Text(Cow<'a, str>),
    /// A file that no command of the line wrote.
    File(&'a str),
    /// The output of a program.
    Program(&'a str),
}

/// A variable that an earlier command set.
struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

/// The state of a line before one of its commands.
pub struct Line<'a> {
    shell: &'a Shell,
    variables: Vec<Variable<'a>>,
    written: Vec<(&'a str, Cow<'a, str>)>,
    lead_start: u32,
    lead: &'a str,
    end: u32,
    after_heredoc: bool,
}

impl<'a> Line<'a> {
    /// Begins before the first command.
    pub const fn new(shell: &'a Shell) -> Self {
        Self {
            shell,
            variables: Vec::new(),
            written: Vec::new(),
            lead_start: u32::MAX,
            lead: "",
            end: 0,
            after_heredoc: false,
        }
    }

    /// Reads the text between the previous command and this one.
    pub fn enter(&mut self, command: &Command) {
        if command.start < self.end {
            // Several commands of one `sh -c` text share what stands before it.
            if command.start != self.lead_start {
                self.lead = "";
            }
            return;
        }
        let range = usize::try_from(self.end).ok().zip(usize::try_from(command.start).ok());
        let gap = range.and_then(|(from, to)| self.shell.text.get(from..to)).unwrap_or_default();
        let ends = [';', '&', '|', '\n', '(', ')', '{', '}'];
        let (before, lead) = gap.rsplit_once(ends).unwrap_or(("", gap));
        if !self.after_heredoc {
            let set: Vec<Variable<'a>> =
                before.split(ends).flat_map(|simple| assignments(simple).0).collect();
            set.into_iter().for_each(|variable| self.set_variable(variable));
        }
        (self.lead_start, self.lead) = (command.start, lead);
    }

    /// Notes what a command leaves for later ones.
    pub fn leave(&mut self, command: &'a Command) {
        self.end = self.end.max(command.end);
        self.after_heredoc =
            command.redirections.iter().any(|one| one.direction == Direction::Heredoc);
        if matches!(command.program.as_str(), "export" | "declare" | "typeset" | "set") {
            for word in command.operands() {
                if let Some((name, value)) = word.text.split_once('=') {
                    self.set_variable(Variable { name, value });
                }
            }
        }
        let writes = |one: &&portcullis_plugin::types::Redirection| {
            matches!(one.direction, Direction::Output | Direction::Append)
        };
        let redirected =
            command.redirections.iter().find(writes).map(|one| one.target.text.as_str());
        let tee = || command.operands().next().map(|word| word.text.as_str());
        let file = redirected.or_else(|| if command.program == "tee" { tee() } else { None });
        if let Some(file) = file
            && self.written.len() < MOST
            && let Some(text) = self.printed(command, 3)
        {
            self.written.push((file, text));
        }
    }

    fn set_variable(&mut self, variable: Variable<'a>) {
        self.variables.retain(|known| known.name != variable.name);
        self.variables.push(variable);
    }

    /// Returns what a command prints, as far as it is known.
    fn printed(&self, command: &'a Command, depth: u32) -> Option<Cow<'a, str>> {
        match command.program.as_str() {
            "echo" | "printf" => {
                let mut words = command.words.iter().map(|word| word.text.as_str()).peekable();
                while words.next_if(|word| matches!(*word, "-e" | "-n" | "-en" | "-ne")).is_some() {
                }
                let text = words.collect::<Vec<_>>().join(" ");
                Some(Cow::Owned(text.replace("\\n", "\n")))
            }
            "cat" | "tee" => {
                self.input(command, depth.checked_sub(1)?).and_then(|feed| match feed {
                    Feed::Text(text) => Some(text),
                    Feed::File(_) | Feed::Program(_) => None,
                })
            }
            _ => None,
        }
    }

    /// Returns what a command reads from its standard input; none if nothing is known to feed it.
    pub fn input(&self, command: &'a Command, depth: u32) -> Option<Feed<'a>> {
        let own = command.redirections.iter().rev().find_map(|one| match one.direction {
            Direction::Heredoc => Some(Feed::Text(Cow::Borrowed(one.target.text.as_str()))),
            // `< <(echo ...)`
            Direction::Input if one.target.text.starts_with("/dev/fd/") => None,
            Direction::Input => Some(self.file(&one.target.text)),
            _ => None,
        });
        if own.is_some() {
            return own;
        }
        let feeder = self.shell.commands.get(usize::try_from(command.input_from?).ok()?)?;
        if let Some(text) = self.printed(feeder, depth) {
            return Some(Feed::Text(text));
        }
        if matches!(feeder.program.as_str(), "cat" | "<")
            && let Some(file) = feeder.operands().next()
        {
            return Some(self.file(&file.text));
        }
        Some(Feed::Program(&feeder.program))
    }

    /// Returns the text of a file, if an earlier command of the line wrote it.
    pub fn file(&self, name: &'a str) -> Feed<'a> {
        let strip = |name: &'a str| name.strip_prefix("./").unwrap_or(name);
        let written = self.written.iter().rev().find(|(file, _)| strip(file) == strip(name));
        written.map_or(Feed::File(name), |(_, text)| Feed::Text(text.clone()))
    }

    /// Lets a judge see the variables that a client takes its connection from.
    pub fn see_variables(
        &self,
        command: &Command,
        language: Option<Language>,
        judge: &mut Judge<'_>,
    ) {
        let own = command.assignments.iter().map(|one| (one.name.as_str(), one.value.as_str()));
        let lead = assignments(self.lead).0.map(|one| (one.name, one.value));
        let set = self.variables.iter().map(|one| (one.name, one.value));
        let mut seen: Vec<&str> = Vec::new();
        // The nearest setting of a variable counts.
        let nearest: Vec<(&str, &str)> = own.chain(lead).chain(set).collect();
        for (name, value) in nearest {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            see_variable(name, value, language, judge);
        }
    }

    /// Lets a judge see the words of the programs that start a command.
    pub fn see_wrappers(&self, command: &Command, judge: &mut Judge<'_>) {
        let far = |wrapper: &&String| {
            matches!(
                wrapper.as_str(),
                "ssh" | "kubectl" | "oc" | "k" | "aws" | "gcloud" | "fly" | "flyctl" | "heroku"
            )
        };
        let engine = command.wrappers.iter().any(|wrapper| {
            matches!(wrapper.as_str(), "docker" | "podman" | "nerdctl" | "docker-compose")
        });
        if let Some(wrapper) = command.wrappers.iter().find(far) {
            judge.see_way(wrapper);
        }
        let words = || {
            let words = assignments(self.lead).1.split_ascii_whitespace();
            words.map(|word| word.trim_matches(['"', '\'']))
        };
        for word in words().skip(1) {
            judge.see_mention(word);
            judge.see_mention(word.split_once('=').map_or("", |(_, value)| value));
        }
        for (option, value) in words().zip(words().skip(1)) {
            match option {
                // Of an engine on another machine.
                "-H" | "--host" | "--context" if engine => judge.see_host(value),
                "-n" | "--namespace" | "--context" => judge.see_database(value),
                _ => {}
            }
        }
        // The container, or the service of a set of containers.
        if engine && let Some(container) = words().next_back() {
            judge.see_database(container);
        }
    }
}

/// Lets a judge see one variable.
fn see_variable(name: &str, value: &str, language: Option<Language>, judge: &mut Judge<'_>) {
    let postgres = matches!(language, Some(Language::Postgres) | None);
    let mysql = matches!(language, Some(Language::Mysql) | None);
    match name {
        "PGHOST" | "PGHOSTADDR" if postgres => judge.see_host(value),
        "PGDATABASE" if postgres => judge.see_database(value),
        "PGSERVICE" if postgres => judge.see_address(&format!("service={value}")),
        "PGUSER" | "PGPASSFILE" if postgres => judge.see_mention(value),
        "MYSQL_HOST" if mysql => judge.see_host(value),
        "DOCKER_HOST" | "DOCKER_CONTEXT" if !value.starts_with("unix:") => judge.see_host(value),
        "AWS_PROFILE" | "KUBECONFIG" => judge.see_mention(value),
        _ if language.is_some() => {}
        "DB_HOST" | "DATABASE_HOST" => judge.see_host(value),
        "DB_NAME"
        | "DB_DATABASE"
        | "DATABASE_NAME"
        | "RAILS_ENV"
        | "RACK_ENV"
        | "NODE_ENV"
        | "MIX_ENV"
        | "APP_ENV"
        | "FLASK_ENV"
        | "DJANGO_SETTINGS_MODULE"
        | "ENV"
        | "ENVIRONMENT"
        | "ASPNETCORE_ENVIRONMENT"
        | "DOTENV_CONFIG_PATH"
        | "STAGE" => {
            judge.see_database(value);
        }
        _ if name.ends_with("_URL") || name.ends_with("_URI") || name.ends_with("_DSN") => {
            judge.see_address(value);
        }
        _ => {}
    }
}

/// Returns true if all of a text is known.
pub fn is_known(text: &str) -> bool {
    !text.contains(UNKNOWN)
}

/// Returns the assignments before a simple command's first word, and the rest of its text.
fn assignments<'a>(simple: &'a str) -> (std::vec::IntoIter<Variable<'a>>, &'a str) {
    let mut rest = simple.trim_start();
    let mut found = Vec::new();
    while let Some((name, after)) = rest.split_once('=') {
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            break;
        }
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => {
                let inner = after.get(1..).unwrap_or_default();
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        found.push(Variable { name, value });
        rest = behind.trim_start();
    }
    (found.into_iter(), rest)
}
