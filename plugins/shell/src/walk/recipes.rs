//! Makefiles and justfiles: the recipes that a call runs, with the variables that the file itself
//! sets.

use super::environment::Value;
use super::expand::Field;
use super::feed::{Feed, Source};
use super::scripts::RunText;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The maximum number of rules of one file, and of targets that one call builds.
const RULES: usize = 1024;
const TARGETS: usize = 64;
/// The maximum depth of variables that refer to each other.
const DEPTH: usize = 16;
/// The longest text that a recipe may grow to by its variables, in bytes.
const TEXT: usize = 64 * 1024;

/// A file of recipes.
#[derive(Default)]
struct Recipes {
    variables: BTreeMap<String, String>,
    rules: Vec<Rule>,
    /// Texts that are run when the file is read.
    at_once: Vec<String>,
}

/// The way to make a target.
#[derive(Default)]
struct Rule {
    names: Vec<String>,
    needs: Vec<String>,
    /// The names of a recipe's parameters, each with its default.
    parameters: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Walker<'_> {
    /// Reads the recipes that `make` runs.
    pub(super) fn make(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        input: &Feed,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let named = value_of(rest, &["-f", "--file", "--makefile"]);
        let piped = named.as_deref().is_some_and(|name| matches!(name, "-" | "/dev/stdin"));
        let usual = ["GNUmakefile", "makefile", "Makefile"];
        let names: Vec<&str> = match &named {
            Some(name) => vec![name.as_str()],
            None => usual.to_vec(),
        };
        let found = if let Some(given) = self.given_file(rest, &["-f", "--file", "--makefile"]) {
            Some(given)
        } else if piped {
            input.text.clone().map(|text| (places::resolve("-", &self.env.folder).0, text))
        } else {
            self.first_file(&names, command, setting)
        };
        if piped && found.is_none() && !input.source.is_unseen() {
            self.out.gap("recipes that are known only when they run");
        }
        self.unseen(if piped { input.source } else { Source::LOCAL }, command, setting);
        let added = values_of(rest, &["-E", "--eval"]);
        let (path, text) = match found {
            Some((path, text)) if added.is_empty() => (path, text),
            Some((path, text)) => (path, Rc::from(format!("{text}\n{}\n", added.join("\n")))),
            None if !added.is_empty() => {
                (places::resolve("Makefile", &self.env.folder).0, Rc::from(added.join("\n")))
            }
            None => (String::new(), Rc::from("")),
        };
        let skipped: Vec<&str> = named.iter().chain(&added).map(String::as_str).collect();
        let words = plan.operands.iter().filter_map(|at| rest.get(*at)).map(|field| &field.text);
        let (given, targets): (Vec<&String>, Vec<&String>) = words
            .filter(|word| !skipped.contains(&word.as_str()))
            .partition(|word| word.contains('='));
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        for (name, value) in given.iter().filter_map(|word| word.split_once('=')) {
            let name = name.trim_end_matches([':', '?', '+', '!']);
            let known = !value.contains(super::environment::UNKNOWN);
            let value = Value { text: value.to_owned(), known, ..Value::default() };
            self.carried_by_variable(name, &value, span, command, setting);
        }
        if path.is_empty() {
            return;
        }
        let text = self.with_included(&path, text, command, setting);
        let mut recipes = parse_makefile(&text);
        recipes.variables.entry("MAKE".to_owned()).or_insert_with(|| "make".to_owned());
        for (name, value) in given.iter().filter_map(|word| word.split_once('=')) {
            recipes.variables.insert(name.trim_end_matches(':').to_owned(), value.to_owned());
        }
        for (name, value) in [("HOME", self.home), ("CURDIR", self.env.folder.as_str())] {
            recipes.variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        let mut targets: Vec<String> = targets.into_iter().cloned().collect();
        let prints = ["-n", "--just-print", "--dry-run", "--recon", "-q", "--question"];
        if rest.iter().any(|field| prints.contains(&field.text.as_str())) {
            targets.clear();
        } else if targets.is_empty() {
            let goal = recipes.variables.get(".DEFAULT_GOAL").cloned();
            let first = || {
                let mut names = recipes.rules.iter().flat_map(|rule| &rule.names);
                names.find(|&name| !name.starts_with('.') && !name.contains('%')).cloned()
            };
            targets.extend(goal.or_else(first));
        }
        let mut texts = recipes.at_once.clone();
        let mut done = BTreeSet::new();
        for target in &targets {
            make_target(&recipes, target, &mut done, &mut texts);
        }
        let part = targets.join(" ");
        self.run_lines((&path, &text), &part, &texts, None, span, command, setting);
    }

    /// Returns the text of a makefile with those that it includes. One that is included by a name
    /// that cannot be resolved counts as unread, unless git holds the makefile as it is.
    fn with_included(
        &mut self,
        path: &str,
        text: Rc<str>,
        command: Option<u32>,
        setting: &Setting,
    ) -> Rc<str> {
        const MOST: usize = 8;
        let mut whole = String::new();
        let starts = ["include ", "-include ", "sinclude "];
        let included =
            text.lines().filter_map(|line| starts.iter().find_map(|s| line.strip_prefix(s)));
        for name in included.flat_map(str::split_ascii_whitespace).take(MOST) {
            if name.contains(['$', '*', '?', '(', ')']) {
                // Compilers make lists of dependencies.
                let made = name.contains(".d)") || name.contains("DEP");
                if !made && !self.is_committed(path) {
                    self.file_gap(path, "includes files that are not read");
                }
                continue;
            }
            let (file, _) = places::resolve(name, &self.env.folder);
            if let Some(more) = self.open_script(&file, false, command, setting) {
                whole.push_str(&more);
                whole.push('\n');
            }
        }
        if whole.is_empty() { text } else { Rc::from(format!("{text}\n{whole}")) }
    }

    /// Reads the recipes that `just` runs.
    pub(super) fn just(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let looks = ["-l", "--list", "-s", "--show", "--summary", "--dump", "-n", "--dry-run"];
        if rest.iter().any(|field| looks.contains(&field.text.as_str())) {
            return;
        }
        let named = value_of(rest, &["-f", "--justfile"]);
        let names: Vec<&str> = match &named {
            Some(name) => vec![name.as_str()],
            None => vec!["justfile", "Justfile", ".justfile"],
        };
        let found = self.given_file(rest, &["-f", "--justfile"]);
        let found = found.or_else(|| self.first_file(&names, command, setting));
        let Some((path, whole)) = found else { return };
        let words = plan.operands.iter().filter_map(|at| rest.get(*at)).map(|field| &field.text);
        let words: Vec<&String> = words
            .filter(|word| Some(word.as_str()) != named.as_deref() && !word.contains('='))
            .collect();
        let recipes = parse_justfile(&whole);
        let first = || recipes.rules.first().and_then(|rule| rule.names.first());
        let Some(target) = words.first().copied().or_else(first) else { return };
        let mut texts = recipes.at_once.clone();
        let mut done = BTreeSet::new();
        let arguments = words.get(1..).unwrap_or_default();
        just_target(&recipes, target, arguments, &mut done, &mut texts);
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        for (index, text) in texts.iter().enumerate() {
            // A recipe that names an interpreter is a script of its language.
            use super::scripts::{FirstLine, named_in_first_line};
            let language = match named_in_first_line(text) {
                Some(FirstLine::Language(language)) => Some(language),
                Some(FirstLine::Unknown) => continue,
                Some(FirstLine::Shell) | None => None,
            };
            let lines = std::slice::from_ref(text);
            let part = format!("{target}#{index}");
            self.run_lines((&path, &whole), &part, lines, language, span, command, setting);
        }
    }

    /// Returns the first of these files of the current folder that exists, with its text. The host
    /// is asked for all of them at once.
    pub(super) fn first_file(
        &mut self,
        names: &[&str],
        command: Option<u32>,
        setting: &Setting,
    ) -> Option<(String, Rc<str>)> {
        let paths: Vec<String> =
            names.iter().map(|name| places::resolve(name, &self.env.folder).0).collect();
        let mut found = None;
        for path in paths {
            if found.is_none() {
                found = self.open_script(&path, false, command, setting).map(|text| (path, text));
            }
        }
        found
    }

    /// Returns the file that a flag names if it is the output of other commands: `-f <(...)`.
    fn given_file(&self, rest: &[Field], flags: &[&str]) -> Option<(String, Rc<str>)> {
        let at = rest.iter().position(|field| flags.contains(&field.text.as_str()))?;
        let text = rest.get(at + 1)?.feed.as_ref()?.text.clone()?;
        Some((places::resolve("-", &self.env.folder).0, text))
    }

    /// Reads lines of a file, each in a shell of its own.
    #[expect(clippy::too_many_arguments, reason = "a line has its file, its place and its setting")]
    pub(super) fn run_lines(
        &mut self,
        file: (&str, &Rc<str>),
        part: &str,
        texts: &[String],
        language: Option<&'static str>,
        span: Span,
        command: Option<u32>,
        setting: &Setting,
    ) {
        for (index, text) in texts.iter().enumerate().take(RULES) {
            let mark = self.env.mark();
            let part = format!("{part}#{index}");
            let (path, whole) = file;
            self.run_text(
                &RunText { path, part: &part, whole, text, language, span, sourced: false },
                command,
                setting,
            );
            self.env.restore(mark);
        }
    }
}

/// Returns the value of a flag, in the next word or after `=`.
fn value_of(rest: &[Field], flags: &[&str]) -> Option<String> {
    rest.iter().enumerate().find_map(|(at, field)| {
        if flags.contains(&field.text.as_str()) {
            return rest.get(at + 1).map(|field| field.text.clone());
        }
        let (flag, value) = field.text.split_once('=')?;
        flags.contains(&flag).then(|| value.to_owned())
    })
}

/// Returns the values of a flag that may be given several times.
fn values_of(rest: &[Field], flags: &[&str]) -> Vec<String> {
    (0..rest.len())
        .filter_map(|at| {
            let field = rest.get(at)?;
            let named = flags.contains(&field.text.split('=').next().unwrap_or(""));
            value_of(rest.get(at..at + 2).or(rest.get(at..))?, flags).filter(|_| named)
        })
        .collect()
}

/// Returns the lines of all recipes of a Makefile, with its variables filled in.
pub(super) fn lines_of_makefile(text: &str, home: &str) -> Vec<String> {
    // A piece of a Makefile may begin inside a recipe.
    let piece = text.trim_start_matches('\n').starts_with('\t');
    let text =
        if piece { format!("piece:\n{}", text.trim_start_matches('\n')) } else { text.to_owned() };
    let mut recipes = parse_makefile(&text);
    recipes.variables.entry("HOME".to_owned()).or_insert_with(|| home.to_owned());
    let mut lines = recipes.at_once.clone();
    for rule in &recipes.rules {
        lines.extend(rule.lines.iter().map(|line| expanded(line, &recipes, &[], 0)));
    }
    lines
}

/// Does the same for a justfile.
pub(super) fn lines_of_justfile(text: &str) -> Vec<String> {
    let recipes = parse_justfile(text);
    let mut lines = recipes.at_once.clone();
    for rule in &recipes.rules {
        let filled = rule.lines.iter().map(|line| filled(line, &recipes, &[]));
        if rule.lines.first().is_some_and(|line| line.starts_with("#!")) {
            lines.push(filled.collect::<Vec<_>>().join("\n"));
        } else {
            lines.extend(filled);
        }
    }
    lines
}

fn make_target(
    recipes: &Recipes,
    target: &str,
    done: &mut BTreeSet<String>,
    texts: &mut Vec<String>,
) {
    if done.len() >= TARGETS || !done.insert(target.to_owned()) {
        return;
    }
    let named = |rule: &&Rule| rule.names.iter().any(|name| name == target);
    let mut rules: Vec<&Rule> = recipes.rules.iter().filter(named).collect();
    if rules.iter().all(|rule| rule.lines.is_empty()) {
        let fits = |name: &String| {
            name.split_once('%').is_some_and(|(start, end)| {
                target.len() >= start.len() + end.len()
                    && target.starts_with(start)
                    && target.ends_with(end)
            })
        };
        rules.extend(recipes.rules.iter().filter(|rule| rule.names.iter().any(fits)).take(1));
    }
    for rule in &rules {
        for need in &rule.needs {
            make_target(recipes, need, done, texts);
        }
    }
    for rule in rules {
        let first = rule.needs.first().map_or("", String::as_str);
        let own = [
            ("@", target.to_owned()),
            ("<", first.to_owned()),
            ("^", rule.needs.join(" ")),
            ("+", rule.needs.join(" ")),
        ];
        for line in &rule.lines {
            texts.push(expanded(line, recipes, &own, 0));
        }
    }
}

fn just_target(
    recipes: &Recipes,
    target: &str,
    arguments: &[&String],
    done: &mut BTreeSet<String>,
    texts: &mut Vec<String>,
) {
    if done.len() >= TARGETS || !done.insert(target.to_owned()) {
        return;
    }
    let Some(rule) = recipes.rules.iter().find(|rule| rule.names.iter().any(|name| name == target))
    else {
        return;
    };
    for need in &rule.needs {
        just_target(recipes, need, &[], done, texts);
    }
    let own: Vec<(&str, String)> = rule
        .parameters
        .iter()
        .enumerate()
        .map(|(at, (name, default))| {
            let given = arguments.get(at).map_or(default.clone(), |word| (*word).clone());
            (name.as_str(), given)
        })
        .collect();
    let fill = |line: &String| filled(line, recipes, &own);
    if rule.lines.first().is_some_and(|line| line.starts_with("#!")) {
        let lines: Vec<String> = rule.lines.iter().map(fill).collect();
        texts.push(lines.join("\n"));
    } else {
        texts.extend(rule.lines.iter().map(fill));
    }
}

/// Replaces the variables of a Makefile's text. One that the file does not set comes from the
/// environment, as in the shell.
fn expanded(text: &str, recipes: &Recipes, own: &[(&str, String)], depth: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(rest.get(..at).unwrap_or(""));
        let after = rest.get(at + 1..).unwrap_or("");
        let Some(next) = after.chars().next() else { break };
        rest = after.get(next.len_utf8()..).unwrap_or("");
        if next == '$' {
            out.push('$');
            continue;
        }
        let close = match next {
            '(' => Some(')'),
            '{' => Some('}'),
            _ => None,
        };
        let name = match close {
            None => next.to_string(),
            Some(close) => {
                let end = closing(rest, next, close);
                let name = rest.get(..end).unwrap_or(rest).to_owned();
                rest = rest.get(end + 1..).unwrap_or("");
                name
            }
        };
        let value = own
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.clone())
            .or_else(|| recipes.variables.get(&name).cloned());
        match value {
            Some(value) if depth < DEPTH && out.len() + value.len() < TEXT => {
                out.push_str(&expanded(&value, recipes, own, depth + 1));
            }
            Some(_) => {}
            None => match name.strip_prefix("shell ") {
                Some(line) => {
                    out.push_str("$(");
                    out.push_str(&expanded(line, recipes, own, depth + DEPTH));
                    out.push(')');
                }
                None if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
                    out.push_str("${");
                    out.push_str(&name);
                    out.push('}');
                }
                // A function of make: its result is known only when it runs.
                None => out.push_str("${MAKE_RESULT}"),
            },
        }
    }
    out.push_str(rest);
    out
}

/// Returns the place of the sign that closes what is open, or the end.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            if depth == 0 {
                return at;
            }
            depth -= 1;
        }
    }
    text.len()
}

/// Replaces `{{name}}` in a line of a justfile.
fn filled(text: &str, recipes: &Recipes, own: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, more) = after.split_once("}}").unwrap_or((after, ""));
        let name = name.trim();
        let given = own.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        match given.or_else(|| recipes.variables.get(name)) {
            Some(value) => out.push_str(value),
            None => out.push_str("${JUST_RESULT}"),
        }
        rest = more;
    }
    out.push_str(rest);
    out
}

fn parse_makefile(text: &str) -> Recipes {
    let mut recipes = Recipes::default();
    let joined = text.replace("\\\r\n", "\\\n");
    let mut open = false;
    let mut lines = joined.lines();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while line.ends_with('\\') && line.len() < TEXT {
            let Some(next) = lines.next() else { break };
            if line.starts_with('\t') {
                line.push('\n');
                line.push_str(next.trim_start_matches('\t'));
            } else {
                line.pop();
                line.push_str(next.trim_start());
            }
        }
        if let Some(step) = line.strip_prefix('\t') {
            if let Some(rule) = recipes.rules.last_mut().filter(|_| open) {
                rule.lines.push(step.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned());
            }
            continue;
        }
        let bare = line.split('#').next().unwrap_or("").trim();
        if bare.is_empty() {
            continue;
        }
        if let Some((name, value)) = assigned(bare) {
            if value.contains("$(shell ") {
                recipes.at_once.push(format!(": \"{value}\""));
            }
            let added = bare.contains("+=");
            let known = recipes.variables.entry(name).or_default();
            *known = if added && !known.is_empty() { format!("{known} {value}") } else { value };
            open = false;
        } else if let Some((names, needs)) = bare.split_once(':') {
            let (needs, step) = needs.split_once(';').unwrap_or((needs, ""));
            let words = |text: &str| -> Vec<String> {
                let text = expanded(text.trim_start_matches(':'), &recipes, &[], 0);
                text.split_ascii_whitespace().map(str::to_owned).collect()
            };
            let mut rule = Rule { names: words(names), needs: words(needs), ..Rule::default() };
            rule.needs.retain(|need| need != "|");
            let step = step.trim_start_matches(['@', '-', '+', ' ', '\t']).trim_end();
            rule.lines.extend(Some(step.to_owned()).filter(|step| !step.is_empty()));
            if recipes.rules.len() < RULES {
                recipes.rules.push(rule);
            }
            open = true;
        }
    }
    let at_once = std::mem::take(&mut recipes.at_once);
    recipes.at_once = at_once.iter().map(|text| expanded(text, &recipes, &[], 0)).collect();
    recipes
}

/// Returns the name and the value of an assignment in a Makefile.
fn assigned(line: &str) -> Option<(String, String)> {
    let at = line.find('=')?;
    let name = line.get(..at)?.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").or(name.strip_prefix("override ")).unwrap_or(name);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_name = !name.is_empty() && name.chars().all(plain);
    is_name.then(|| (name.to_owned(), line.get(at + 1..).unwrap_or("").trim().to_owned()))
}

fn parse_justfile(text: &str) -> Recipes {
    let mut recipes = Recipes::default();
    let mut open = false;
    let mut joined = String::new();
    for line in text.lines() {
        if let Some(start) = line.strip_suffix('\\').filter(|_| joined.len() < TEXT) {
            joined.push_str(start);
            continue;
        }
        let line = std::mem::take(&mut joined) + line;
        if line.starts_with([' ', '\t']) {
            if let Some(rule) = recipes.rules.last_mut().filter(|_| open) {
                let step = line.trim();
                let step =
                    if step.starts_with("#!") { step } else { step.trim_start_matches(['@', '-']) };
                if !step.is_empty() {
                    rule.lines.push(step.to_owned());
                }
            }
            continue;
        }
        if line.starts_with(['#', '[']) || line.trim().is_empty() {
            continue;
        }
        if let Some((name, value)) = line.split_once(":=") {
            let name = name.trim().trim_start_matches("export ").to_owned();
            let value = value.trim();
            if let Some((alias, of)) = name.strip_prefix("alias ").map(|alias| (alias, value)) {
                let named = |rule: &&mut Rule| rule.names.iter().any(|name| name == of);
                if let Some(rule) = recipes.rules.iter_mut().find(named) {
                    rule.names.push(alias.trim().to_owned());
                }
            } else if let Some(line) = value.strip_prefix('`') {
                recipes.at_once.push(line.trim_end_matches('`').to_owned());
            } else if !name.starts_with("set ") {
                recipes.variables.insert(name, value.trim_matches(['"', '\'']).to_owned());
            }
            open = false;
        } else if let Some((head, needs)) = line.split_once(':') {
            let mut words = head.trim_start_matches('@').split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            let parameter = |word: &str| {
                let (name, default) = word.split_once('=').unwrap_or((word, "${JUST_RESULT}"));
                let name = name.trim_start_matches(['+', '*', '$']).to_owned();
                (name, default.trim_matches(['"', '\'']).to_owned())
            };
            let needs = needs.split_ascii_whitespace().filter(|need| *need != "&&");
            if recipes.rules.len() < RULES {
                recipes.rules.push(Rule {
                    names: vec![name.to_owned()],
                    needs: needs.map(|need| need.trim_matches(['(', ')']).to_owned()).collect(),
                    parameters: words.map(parameter).collect(),
                    lines: Vec::new(),
                });
            }
            open = true;
        }
    }
    recipes
}
