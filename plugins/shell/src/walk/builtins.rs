//! Builtins of the shell that change its state, and programs whose output the text determines.

use super::environment::{Routine, UNKNOWN, Value};
use super::expand::Field;
use super::feed::{self, Feed, Source};
use super::names;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::{is_name, unescape};
use crate::types::EffectKind;

impl Walker<'_> {
    /// Applies a builtin to the shell's state; returns its output, if it is one of these.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) -> Option<Feed> {
        let works_out = matches!(
            name,
            "test"
                | "["
                | "let"
                | "declare"
                | "local"
                | "readonly"
                | "export"
                | "typeset"
                | "printf"
                | "read"
                | "unset"
                | "mapfile"
                | "readarray"
                | "wait"
                | "getopts"
        );
        for field in rest.iter().filter(|_| works_out) {
            self.subscripts(field, setting);
        }
        match name {
            "hash" => {
                // `hash -p FILE NAME`: from now on the name refers to that file.
                if let Some(at) = rest.iter().position(|field| field.text == "-p")
                    && let (Some(file), Some(name)) = (rest.get(at + 1), rest.get(at + 2))
                {
                    self.define(&name.text, Routine::alias(file.clone(), setting));
                }
            }
            "umask" => self.mask_of_new_files(rest),
            "cd" | "pushd" => self.change_folder(rest, plan),
            "popd" => self.env.folder = UNKNOWN.to_string(),
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                return Some(self.declare(rest, command, setting));
            }
            "unset" => {
                let is_flag = |field: &&Field| field.text.starts_with('-');
                // With `-f` it applies to functions; with an unknown flag it does nothing.
                let variables = rest
                    .iter()
                    .filter(is_flag)
                    .all(|flag| matches!(flag.text.as_str(), "-v" | "-n" | "--"));
                for field in rest.iter().filter(|field| variables && !is_flag(field)) {
                    self.telling_variable(
                        &field.text,
                        &Value::default(),
                        field.span,
                        command,
                        setting,
                    );
                    self.env.set(&field.text, Value { known: true, ..Value::default() });
                }
            }
            "read" | "mapfile" | "readarray" => self.read_variables(rest, plan, &call.input),
            "set"
                if rest.first().is_some_and(|field| field.text == "+o")
                    && rest.get(1).is_some_and(|field| field.text == "history") =>
            {
                self.out.hides("history-clear", "", command)
            }
            "set" if is_set_physical(rest) => self.env.physical = true,
            "set" if rest.first().is_some_and(|field| field.text == "--") => {
                self.arguments(rest.get(1..).unwrap_or_default());
            }
            "printf" if rest.first().is_some_and(|field| field.text == "-v") => {
                if let (Some(name), Some(words)) = (rest.get(1), rest.get(2..)) {
                    let value = printf(words).into_value();
                    self.telling_variable(&name.text, &value, name.span, command, setting);
                    self.env.set(&name.text, value);
                }
            }
            "trap" => self.trap(rest, plan, setting),
            "alias" => self.alias(rest, setting),
            "enable" if rest.first().is_some_and(|field| field.text == "-f") => {
                self.plain(EffectKind::ProcessStart, "", false, command, setting)
            }
            _ => return None,
        }
        Some(Feed { from: command, ..Feed::of_text("") })
    }

    fn change_folder(&mut self, rest: &[Field], plan: &Plan) {
        let target = plan.operands.first().and_then(|at| rest.get(*at));
        // `-P` follows links, and the last of `-L` and `-P` counts.
        let links = rest
            .iter()
            .map(|field| field.text.as_str())
            .take_while(|text| text.starts_with('-') && text.len() > 1);
        let physical = links
            .filter(|text| text.contains(['L', 'P']))
            .last()
            .is_some_and(|text| text.ends_with('P'));
        let before = self.env.folder.clone();
        match target {
            None if self.home.is_empty() => self.env.enter(&UNKNOWN.to_string(), false, physical),
            None => self.env.enter(self.home, true, physical),
            Some(field) if field.text == "-" => {
                let to = self
                    .env
                    .get("OLDPWD")
                    .map_or_else(|| UNKNOWN.to_string(), |before| before.text);
                self.env.enter(&to, false, physical);
            }
            Some(field) => {
                let text = if field.known || field.text.contains(UNKNOWN) {
                    field.text.clone()
                } else {
                    format!("{}/{UNKNOWN}", field.text)
                };
                self.env.enter(&text, field.is_literal(), physical);
            }
        }
        self.env.set(
            "OLDPWD",
            Value { known: !before.contains(UNKNOWN), text: before, ..Value::default() },
        );
    }

    fn declare(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) -> Feed {
        let refers =
            rest.iter().any(|field| field.text.starts_with('-') && field.text.contains('n'));
        let evaluates =
            rest.iter().any(|field| field.text.starts_with('-') && field.text.contains('i'));
        for field in rest {
            if let Some((name, value)) = field.text.split_once('=')
                && is_name(name)
            {
                if refers {
                    self.env.refer(name, value);
                    continue;
                }
                let name = &self.env.named(name);
                if evaluates {
                    self.expanded(&Field { text: value.to_owned(), ..field.clone() }, setting);
                }
                let value = Value {
                    text: value.to_owned(),
                    known: field.known || !value.contains(UNKNOWN),
                    source: field.source,
                    pieces: field.pieces.clone(),
                    ..Value::default()
                };
                self.telling_variable(name, &value, field.span, command, setting);
                self.env.set(name, value);
            }
        }
        let lists = !rest.iter().any(|field| field.text.contains('='));
        Feed {
            source: if lists { Source::ENVIRONMENT } else { Source::LOCAL },
            ..Feed::of_text("")
        }
    }

    fn read_variables(&mut self, rest: &[Field], plan: &Plan, input: &Feed) {
        let mut value = input.clone().into_value();
        if let Some(text) = &input.text {
            let mut lines = text.lines().map(str::to_owned);
            value.text = lines.next().unwrap_or_default();
            value.others = super::several(lines);
        }
        let lines: Vec<String> =
            [value.text.clone()].into_iter().chain(value.others.iter().cloned()).collect();
        let names: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        for (number, field) in names.iter().enumerate() {
            let last = number + 1 == names.len();
            let mut parts = lines.iter().map(|line| part_of(line, number, last));
            let text = parts.next().unwrap_or_default();
            let others = if input.text.is_some() { parts.collect() } else { Vec::new() };
            self.env.set(
                &field.text,
                if names.len() == 1 {
                    value.clone()
                } else {
                    Value { text, others, ..value.clone() }
                },
            );
        }
        if plan.operands.is_empty() {
            self.env.set("REPLY", value);
        }
    }

    /// Sets `$1`, `$2`, ... and `$@`.
    pub(super) fn arguments(&mut self, fields: &[Field]) -> Vec<(String, Option<Value>)> {
        let names = (1..=9.max(fields.len().min(32)))
            .map(|number| number.to_string())
            .chain(["@".to_owned(), "*".to_owned()]);
        let before: Vec<_> = names.map(|name| (name.clone(), self.env.get(&name))).collect();
        for (name, _) in
            before.iter().skip(fields.len()).filter(|(name, _)| name != "@" && name != "*")
        {
            self.env.set(name, Value { known: true, ..Value::default() });
        }
        for (index, field) in fields.iter().enumerate().take(32) {
            self.env.set(
                &(index + 1).to_string(),
                Value {
                    text: field.text.clone(),
                    known: field.known,
                    source: field.source,
                    literal: field.literal.clone(),
                    pieces: field.pieces.clone(),
                    ..Value::default()
                },
            );
        }
        let all = fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
        let value = Value {
            text: all,
            known: fields.iter().all(|field| field.known),
            source: super::worst(fields),
            elements: fields.iter().map(Field::element).collect(),
            ..Value::default()
        };
        self.env.set("@", value.clone());
        self.env.set("*", value);
        before
    }

    /// Restores the values of `$1` and the others from before a call.
    pub(super) fn put_back(&mut self, before: Vec<(String, Option<Value>)>) {
        for (name, value) in before {
            match value {
                Some(value) => self.env.set(&name, value),
                None => self.env.forget(&name),
            }
        }
    }

    fn trap(&mut self, rest: &[Field], plan: &Plan, setting: &Setting) {
        if let Some(field) = plan.operands.first().and_then(|at| rest.get(*at))
            && plan.operands.len() > 1
            && field.text.len() > 1
        {
            self.nested(field, "trap", setting);
        }
    }

    /// Applies `alias`, which can make a harmless name another program.
    fn alias(&mut self, rest: &[Field], setting: &Setting) {
        for field in rest {
            if let Some((name, text)) = field.text.split_once('=') {
                self.define(
                    name,
                    Routine::alias(Field { text: text.to_owned(), ..field.clone() }, setting),
                );
            }
        }
    }

    /// Returns the output of a program, if the text determines it.
    pub(super) fn output(&self, name: &str, rest: &[Field], plan: &Plan, call: &Call) -> Feed {
        let operand = |number: usize| plan.operands.get(number).and_then(|at| rest.get(*at));
        let known = |text: String| Feed::of_text(&text);
        let input = &call.input;
        match name {
            "echo" => echo(rest),
            "printf" => printf(rest),
            "seq" => counted(rest).map_or(Feed::default(), known),
            "pwd" => Feed::of_text(&self.folder_shown(rest)),
            "true" | "false" | ":" | "mkdir" | "rm" | "touch" | "sleep" | "test" | "[" | "kill"
            | "exit" | "return" => Feed::of_text(""),
            "cat" | "tee" if plan.operands.is_empty() || name == "tee" => input.clone(),
            "head" | "tail" | "tac" if plan.operands.is_empty() => {
                Feed { items: input.items.clone(), pieces: input.pieces.clone(), ..Feed::default() }
            }
            "git" if rest.iter().any(|field| field.text == "--show-toplevel") => {
                Feed::of_text(self.project)
            }
            "cat" | "head" | "tail" | "tac" => self.contents(name, rest, plan, input),
            "base64" | "xxd" | "openssl" | "base32" | "uudecode" => {
                let given = operand(if name == "openssl" { 1 } else { 0 })
                    .map(|field| self.content(Some(field)));
                let given = given.filter(|feed| feed.text.is_some() && input.text.is_none());
                Feed {
                    text: decoded(name, rest, given.as_ref().unwrap_or(input))
                        .map(|text| text.into()),
                    ..Feed::default()
                }
            }
            "rev" => input.text.as_ref().map_or(Feed::default(), |text| {
                known(
                    text.lines()
                        .map(|line| line.chars().rev().collect::<String>() + "\n")
                        .collect(),
                )
            }),
            "tr" => match (&input.text, operand(0), operand(1)) {
                (Some(text), Some(from), Some(to)) if from.known && to.known => {
                    known(translate(text, &from.text, &to.text))
                }
                (Some(text), Some(from), None) if rest.iter().any(|field| field.text == "-d") => {
                    known(text.chars().filter(|c| !from.text.contains(*c)).collect())
                }
                _ => Feed { items: input.items.clone(), ..Feed::default() },
            },
            "mktemp" => Feed { items: Some(format!("/tmp/tmp.{UNKNOWN}")), ..Feed::default() },
            "realpath" | "readlink" if self.leads_on(name, operand(0), rest).is_some() => {
                self.leads_on(name, operand(0), rest).unwrap_or_default()
            }
            "basename" | "dirname" | "realpath" | "readlink" => match operand(0) {
                Some(field) if field.known => known(shortened(name, &field.text)),
                Some(field) if name != "basename" => {
                    Feed { items: Some(field.text.clone()), ..Feed::default() }
                }
                _ => Feed::default(),
            },
            "which" => {
                let named: Vec<&Field> =
                    plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
                let found: Vec<String> =
                    named.iter().map(|field| names::installed(&field.text).to_string()).collect();
                if named.iter().all(|field| field.known) && !found.is_empty() {
                    known(found.join("\n"))
                } else {
                    Feed::default()
                }
            }
            "type"
                if rest.iter().any(|field| matches!(field.text.as_str(), "-p" | "-P" | "-fP")) =>
            {
                self.output("which", rest, plan, call)
            }
            "whoami" => Feed::default(),
            "sort" | "uniq" | "grep" | "sed" | "awk" | "xargs" | "cut" => Feed {
                items: input
                    .items
                    .clone()
                    .filter(|_| plan.operands.len() <= 1 && !matches!(name, "sed" | "awk" | "cut")),
                ..Feed::default()
            },
            "ls" | "git ls-files" => {
                Feed { items: Some(items_below(operand(0), plan)), ..Feed::default() }
            }
            _ => Feed::default(),
        }
    }

    fn content(&self, field: Option<&Field>) -> Feed {
        let Some(field) = field else { return Feed::default() };
        if let Some(feed) = &field.feed {
            return feed.clone();
        }
        self.file_content(&field.text)
    }

    /// Returns the content of a file: what this command line wrote to it, or that of the disk.
    pub(super) fn file_content(&self, name: &str) -> Feed {
        if let Some(number) = name.strip_prefix("/dev/fd/").and_then(|number| number.parse().ok()) {
            return self.descriptors.get(&number).cloned().unwrap_or_default();
        }
        let (path, _) = places::resolve(name, &self.env.folder);
        let on_disk = || {
            let special = ["/dev/", "/proc/", "/sys/"].iter().any(|at| path.starts_with(at));
            let known = path.starts_with('/') && !path.contains(UNKNOWN) && !special;
            if known { self.on_disk(&path) } else { Feed::default() }
        };
        self.content_of(&path).unwrap_or_else(on_disk)
    }
}

/// Returns true for `set -P` and `set -o physical`: from then on `cd` follows links.
fn is_set_physical(rest: &[Field]) -> bool {
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('P');
    rest.first().is_some_and(|field| short(&field.text))
        || rest.get(1).is_some_and(|field| field.text == "physical")
}

/// Returns the value that `read` puts into its variable with this number: the last takes all that
/// is left.
fn part_of(line: &str, number: usize, last: bool) -> String {
    let parts: Vec<&str> = line.split_ascii_whitespace().collect();
    if last {
        parts.get(number..).unwrap_or_default().join(" ")
    } else {
        parts.get(number).copied().unwrap_or_default().to_owned()
    }
}

/// Returns the first numbers that `seq` counts.
fn counted(rest: &[Field]) -> Option<String> {
    let numbers: Vec<i64> =
        rest.iter().map(|field| field.text.parse().ok()).collect::<Option<_>>()?;
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] => (*first, *step, *last),
        _ => return None,
    };
    let count = usize::try_from(last.checked_sub(first)?.checked_div(step)?).ok()?.min(63);
    let cut = usize::try_from(last.checked_sub(first)?.checked_div(step)?).ok()? > count;
    let number = |number: usize| {
        Some(format!("{}\n", first.checked_add(step.checked_mul(i64::try_from(number).ok()?)?)?))
    };
    let mut lines = (0..=count).map(number).collect::<Option<String>>()?;
    if cut {
        lines.push(UNKNOWN);
        lines.push('\n');
    }
    Some(lines)
}

fn items_below(folder: Option<&Field>, plan: &Plan) -> String {
    match folder {
        Some(field) if plan.operands.len() == 1 && !field.text.contains(['*', '?']) => {
            format!("{}/{UNKNOWN}", field.text.trim_end_matches('/'))
        }
        Some(field) if plan.operands.len() == 1 => field.text.clone(),
        _ => format!("./{UNKNOWN}"),
    }
}

fn shortened(name: &str, text: &str) -> String {
    let (folder, file) = text.trim_end_matches('/').rsplit_once('/').unwrap_or((".", text));
    match name {
        "basename" => file.to_owned(),
        "dirname" => folder.to_owned(),
        _ => text.to_owned(),
    }
}

fn echo(rest: &[Field]) -> Feed {
    let is_flag = |field: &&Field| {
        field.text.starts_with('-')
            && field.text.len() > 1
            && field.text.bytes().skip(1).all(|byte| b"neE".contains(&byte))
    };
    let flags = rest.iter().take_while(is_flag).count();
    let has = |letter: char| rest.iter().take(flags).any(|field| field.text.contains(letter));
    let end = if has('n') { "" } else { "\n" };
    said(rest.get(flags..).unwrap_or_default(), has('e'), end)
}

fn said(fields: &[Field], escapes: bool, end: &str) -> Feed {
    let joined = fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = if escapes { unescape(&joined) } else { joined };
    let source = super::worst(fields);
    if fields.iter().all(|field| field.known) {
        Feed { source, ..Feed::of_text(&(text + end)) }
    } else {
        Feed { items: Some(text), source, open: true, ..Feed::default() }
    }
}

/// The longest output of `printf` that is computed, in bytes.
const PRINTED: usize = 64 * 1024;

/// Computes the output of `printf`: its format is reused as long as words are left.
fn printf(rest: &[Field]) -> Feed {
    let rest = if rest.first().is_some_and(|field| field.text == "--") {
        rest.get(1..).unwrap_or_default()
    } else {
        rest
    };
    let Some((format, arguments)) = rest.split_first() else { return Feed::of_text("") };
    let source = super::worst(rest);
    let format = format.text.replace("%%", "\u{1}");
    let mut text = String::new();
    let mut left = arguments.iter();
    loop {
        let before = left.len();
        let mut pieces = format.split('%');
        text.push_str(&unescape(pieces.next().unwrap_or("")));
        for piece in pieces {
            let end = piece.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
            let (conversion, after) = piece.split_at(end);
            let stars = conversion.matches('*').count();
            let widths: Vec<&str> =
                left.by_ref().take(stars).map(|field| field.text.as_str()).collect();
            let argument = left.next().map_or("", |field| field.text.as_str());
            text.push_str(&converted(conversion, widths.last().copied(), argument));
            text.push_str(&unescape(after));
        }
        if text.len() > PRINTED {
            return Feed { source, open: true, ..Feed::default() };
        }
        if left.len() == 0 || left.len() == before {
            break;
        }
    }
    let text = text.replace('\u{1}', "%");
    if rest.iter().all(|field| field.known) {
        Feed { source, ..Feed::of_text(&text) }
    } else {
        Feed { items: Some(text), source, open: true, ..Feed::default() }
    }
}

/// Formats one word as a conversion of `printf` does, without padding it to a width.
fn converted(conversion: &str, width: Option<&str>, argument: &str) -> String {
    let number = || argument.parse::<i64>().ok();
    let text = match conversion.chars().next_back() {
        Some('b') => unescape(argument),
        Some('c') => argument.chars().take(1).collect(),
        Some('x') => number().map_or_else(|| argument.to_owned(), |number| format!("{number:x}")),
        Some('X') => number().map_or_else(|| argument.to_owned(), |number| format!("{number:X}")),
        Some('o') => number().map_or_else(|| argument.to_owned(), |number| format!("{number:o}")),
        _ => argument.to_owned(),
    };
    match conversion.split_once('.') {
        Some((_, precision)) if conversion.ends_with(['s', 'b']) => {
            let digits = precision.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let most = if digits == "*" { width.unwrap_or("") } else { digits };
            text.chars().take(most.parse().unwrap_or(0)).collect()
        }
        _ => text,
    }
}

fn decoded(name: &str, rest: &[Field], input: &Feed) -> Option<String> {
    let has = |flags: &[&str]| rest.iter().any(|field| flags.contains(&field.text.as_str()));
    let text = input.text.as_deref()?;
    match name {
        "base64" if has(&["-d", "-D", "--decode", "-di", "-id"]) => feed::base64(text),
        "openssl" if has(&["-d"]) && has(&["base64", "-base64", "-a"]) => feed::base64(text),
        "xxd"
            if rest.iter().any(|field| field.text.starts_with('-') && field.text.contains('r')) =>
        {
            feed::hex(text)
        }
        _ => None,
    }
}

/// Computes `tr` with two sets, ranges expanded.
fn translate(text: &str, from: &str, to: &str) -> String {
    let (from, to) = (opened(from), opened(to));
    let change = |c: char| {
        from.iter()
            .position(|old| *old == c)
            .and_then(|at| to.get(at).or(to.last()))
            .copied()
            .unwrap_or(c)
    };
    text.chars().map(change).collect()
}

fn opened(set: &str) -> Vec<char> {
    let set = unescape(set);
    let chars: Vec<char> = set.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(last)) if first <= last => {
                all.extend((*first..=*last).take(256));
                at += 3;
            }
            _ => {
                all.push(*first);
                at += 1;
            }
        }
    }
    all
}
