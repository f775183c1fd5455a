//! A command line, read in order: what earlier commands leave for later ones (variables, a folder, a
//! switched context, a saved plan), and what stands in the text before a command that is no command
//! itself (assignments, the words of a wrapper).

use crate::deeds;
use crate::names::{Environment, Patterns};
use crate::plans;
use crate::tools::{self, Family, Sign, Source};
use portcullis_plugin::types::{Command, Context, Direction, Shell};

/// What the host writes for a value that only the run can tell.
const UNKNOWN: char = '\u{FFFD}';

/// The most words that are read of a text that is no command's own.
const MOST: usize = 64;

/// The environment of a command, and what says so.
#[derive(Clone, Debug)]
pub struct Place {
    /// The environment.
    pub environment: Environment,
    /// What names it, in words; empty if nothing does.
    pub because: String,
    /// What it is called, where that matches no pattern, or a mark for a value that only the run can
    /// tell.
    pub unmatched: Option<String>,
}

/// A variable that an earlier command set.
struct Variable<'a> {
    name: &'a str,
    value: &'a str,
}

/// The state of a line before one of its commands.
pub struct Line<'a> {
    shell: &'a Shell,
    /// The hosts that it contacts: the text may hold a mask instead.
    hosts: &'a [String],
    context: &'a Context,
    folder: Option<String>,
    variables: Vec<Variable<'a>>,
    switched: Vec<(Family, &'a str)>,
    plans: Vec<&'a str>,
    /// Where the text before the current command was read, and its last simple command.
    lead_start: u32,
    lead: &'a str,
    end: u32,
    after_heredoc: bool,
}

impl<'a> Line<'a> {
    /// Begins before the first command.
    pub const fn new(shell: &'a Shell, hosts: &'a [String], context: &'a Context) -> Self {
        Self {
            shell,
            hosts,
            context,
            folder: None,
            variables: Vec::new(),
            switched: Vec::new(),
            plans: Vec::new(),
            lead_start: u32::MAX,
            lead: "",
            end: 0,
            after_heredoc: false,
        }
    }

    /// Returns the plans that earlier commands saved.
    pub fn plans(&self) -> &[&'a str] {
        &self.plans
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
            for simple in before.split(ends) {
                self.keep_assignments(simple);
            }
        }
        (self.lead_start, self.lead) = (command.start, lead);
    }

    fn keep_assignments(&mut self, simple: &'a str) {
        let set: Vec<Variable<'a>> = assignments(simple).0.collect();
        for variable in set {
            self.set_variable(variable.name, variable.value);
        }
    }

    /// Notes what a command leaves for later ones.
    pub fn leave(&mut self, command: &'a Command) {
        self.end = self.end.max(command.end);
        self.after_heredoc =
            command.redirections.iter().any(|one| one.direction == Direction::Heredoc);
        match command.program.as_str() {
            "cd" | "pushd" => {
                if let Some(word) = command.operands().next() {
                    self.folder = Some(join(self.folder(), &word.text));
                }
            }
            "export" | "declare" | "typeset" | "set" | "setx" => {
                for word in command.operands() {
                    if let Some((name, value)) = word.text.split_once('=') {
                        self.set_variable(name, value);
                    }
                }
            }
            "unset" => {
                for word in command.operands() {
                    self.variables.retain(|variable| variable.name != word.text);
                }
            }
            program => {
                let Some(family) = tools::family(program) else { return };
                self.switched.extend(deeds::switch_target(command, family));
                if family == Family::Terraform {
                    self.plans.extend(plans::saved_plan(command));
                }
            }
        }
    }

    fn set_variable(&mut self, name: &'a str, value: &'a str) {
        self.variables.retain(|variable| variable.name != name);
        self.variables.push(Variable { name, value });
    }

    fn folder(&self) -> &str {
        self.folder.as_deref().unwrap_or(&self.context.cwd)
    }

    /// Returns the value of a variable for a command.
    pub fn variable(&self, command: &'a Command, name: &str) -> Option<&'a str> {
        let own = command.assignments.iter().rev().find(|one| one.name == name);
        let set = || self.variables.iter().find(|one| one.name == name).map(|one| one.value);
        own.map(|one| one.value.as_str())
            .or_else(|| assignments(self.lead).0.find(|one| one.name == name).map(|one| one.value))
            .or_else(set)
    }

    /// Returns true if a container engine works on another machine.
    pub fn is_remote_engine(&self, command: &'a Command) -> bool {
        let local = |value: &str| {
            value.is_empty()
                || ["unix:", "npipe:", "fd:", "/"].iter().any(|start| value.starts_with(start))
                || matches!(value, "default" | "desktop-linux" | "colima" | "orbstack" | "rootless")
                || value.contains("localhost")
                || value.contains("127.0.0.1")
        };
        let mut remote =
            ["DOCKER_HOST", "CONTAINER_HOST", "DOCKER_CONTEXT", "CONTAINER_CONNECTION"]
                .iter()
                .any(|name| self.variable(command, name).is_some_and(|value| !local(value)));
        let mut look = |sign: Sign<'_>| {
            let leads = matches!(
                sign.source,
                Source::Option("-H" | "--host" | "--context" | "-c" | "--connection")
            );
            remote |= leads && sign.place && !local(sign.value);
        };
        if tools::family(&command.program) == Some(Family::Docker) {
            tools::visit_words(tools::words(command), Family::Docker, &mut look);
        } else {
            let words = assignments(self.lead).1.split_ascii_whitespace().map(|word| (word, true));
            tools::visit_words(words, Family::Docker, &mut look);
        }
        let switched = |(family, name): &(Family, &str)| *family == Family::Docker && !local(name);
        remote || self.switched.iter().any(switched)
    }

    /// Calls `visit` for everything that may name the environment of a command.
    fn visit_signs(&self, command: &'a Command, family: Family, mut visit: impl FnMut(Sign<'_>)) {
        let variable = |name, value: &'a str| Sign {
            source: Source::Variable(name),
            value,
            known: !value.contains([UNKNOWN, '$', '`']),
            place: tools::is_place_variable(name, family),
        };
        let far = command.wrappers.iter().find(|wrapper| tools::leads_elsewhere(wrapper));
        // The words of a program that runs in a container name nothing but its own files.
        if far.is_none() || tools::family(&command.program).is_some() {
            tools::visit_words(tools::words(command), family, &mut visit);
        }
        command.assignments.iter().for_each(|one| visit(variable(&one.name, &one.value)));
        let (set, words) = assignments(self.lead);
        let set: Vec<Variable<'a>> = set.collect();
        set.iter().for_each(|one| visit(variable(one.name, one.value)));
        for one in &self.variables {
            let overridden = command.assignments.iter().any(|own| own.name == one.name)
                || set.iter().any(|own| own.name == one.name);
            if !overridden {
                visit(variable(one.name, one.value));
            }
        }
        let lent = command.wrappers.iter().any(|wrapper| tools::lends_credentials(wrapper));
        if far.is_some() || lent {
            let family = far.and_then(|wrapper| tools::family(wrapper)).unwrap_or(family);
            let ssh = far.is_some_and(|wrapper| wrapper == "ssh");
            let words = words.split_ascii_whitespace().map(|word| {
                let word = word.trim_matches(['"', '\'']);
                (word, !word.contains(['$', '`']))
            });
            tools::visit_words(words, family, |sign| {
                let place = sign.place || lent || ssh;
                let source =
                    if sign.source == Source::Word { Source::Wrapper } else { sign.source };
                visit(Sign { source, place, ..sign });
            });
            for host in self.hosts.iter().filter(|_| ssh) {
                visit(Sign { source: Source::Wrapper, value: host, known: true, place: true });
            }
        }
        for (of, name) in &self.switched {
            if *of == family {
                let known = !name.contains(UNKNOWN);
                visit(Sign { source: Source::Switch, value: name, known, place: true });
            }
        }
        self.visit_scripts(command, &mut visit);
        if command.end == 0 {
            // The tool of an image (`docker run -e AWS_PROFILE=prod amazon/aws-cli ...`) has no place
            // in the text: all of it may name the environment.
            for word in self.shell.text.split_ascii_whitespace().take(MOST) {
                visit(Sign { source: Source::Word, value: word, known: true, place: false });
            }
        }
        let folder = self.folder();
        let value =
            self.context.roots.iter().find_map(|root| below(folder, root)).unwrap_or(folder);
        let known = !folder.contains(UNKNOWN);
        // `cd dev && terraform -chdir=../net`: the option says where.
        let moves = ["-chdir", "--working-dir", "--terragrunt-working-dir", "--cwd", "-C"];
        let place = family.goes_by_folder() && deeds::option_value(command, &moves).is_none();
        visit(Sign { source: Source::Folder, value, known, place });
    }

    /// Visits the words of the script that a command stands in: `./deploy.sh prod`.
    fn visit_scripts(&self, command: &'a Command, visit: &mut impl FnMut(Sign<'_>)) {
        let Some(script) = command.wrappers.last() else { return };
        let encloses = |outer: &&Command| {
            outer.start <= command.start
                && outer.end >= command.end
                && (outer.program == *script
                    || outer.words.iter().any(|word| word.text.ends_with(script.as_str())))
                && tools::family(&outer.program).is_none()
        };
        for outer in self.shell.commands.iter().filter(encloses) {
            for word in &outer.words {
                let source = Source::Word;
                visit(Sign { source, value: &word.text, known: word.known, place: false });
            }
        }
    }

    /// Returns the environment of a command.
    pub fn place(&self, command: &'a Command, family: Family, patterns: &Patterns) -> Place {
        let mut judge = Judge::new(patterns);
        self.visit_signs(command, family, |sign| judge.see(sign));
        if tools::is_emulator(&command.program) {
            judge.see(Sign { source: Source::Word, value: "localstack", known: true, place: true });
        }
        judge.place()
    }
}

/// Decides which environment a number of signs name.
pub struct Judge<'p> {
    patterns: &'p Patterns,
    strictest: Option<Environment>,
    because: String,
    development: bool,
    unmatched: Option<String>,
    open: bool,
}

impl<'p> Judge<'p> {
    /// Begins without any sign.
    pub const fn new(patterns: &'p Patterns) -> Self {
        Self {
            patterns,
            strictest: None,
            because: String::new(),
            development: false,
            unmatched: None,
            open: false,
        }
    }

    /// Takes one sign into account.
    pub fn see(&mut self, sign: Sign<'_>) {
        // A text, not a name.
        if !sign.place && sign.value.contains(char::is_whitespace) {
            return;
        }
        self.open |= sign.place && !sign.known;
        match self.patterns.find(sign.value) {
            Some(Environment::Development) => self.development |= sign.place,
            Some(environment) if Some(environment) > self.strictest => {
                self.strictest = Some(environment);
                self.because = describe(sign);
            }
            Some(_) => {}
            None if sign.place && !matches!(sign.source, Source::Folder | Source::Wrapper) => {
                self.unmatched.get_or_insert_with(|| describe(sign));
            }
            None => {}
        }
    }

    /// Returns what the signs amount to: the strictest environment that one of them names, and
    /// development only where nothing is left open.
    pub fn place(self) -> Place {
        let mild = if self.development && !self.open {
            Environment::Development
        } else {
            Environment::Unknown
        };
        Place {
            environment: self.strictest.unwrap_or(mild),
            because: self.because,
            unmatched: self.unmatched,
        }
    }
}

fn describe(sign: Sign<'_>) -> String {
    const LONGEST: usize = 80;
    let value = portcullis_plugin::text::cut(sign.value, LONGEST);
    match sign.source {
        Source::Word | Source::Wrapper => value,
        Source::Option(name) if name.trim_start_matches('-') == value => name.to_owned(),
        Source::Option(name) => format!("{name} {value}"),
        Source::Variable(name) => format!("{name}={value}"),
        Source::Switch => format!("the switch to {value}"),
        Source::Folder => format!("the folder {value}"),
        Source::Parameter(name) => format!("{name}: {value}"),
    }
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

fn join(folder: &str, name: &str) -> String {
    if name.starts_with(['/', '~']) { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns the part of a folder that says where it belongs: the project's own name and what is below
/// it, without the folders that the project happens to lie in.
fn below<'f>(folder: &'f str, root: &str) -> Option<&'f str> {
    let rest = folder.strip_prefix(root)?;
    if !(rest.is_empty() || rest.starts_with('/')) {
        return None;
    }
    let name = root.rsplit('/').next().unwrap_or_default();
    folder.get(root.len() - name.len()..)
}
