//! sed's scripts: the commands in them that run programs (`e`, `s///e`), write files (`w`) and read
//! them (`r`).

use super::expand::Field;
use super::written::Change;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places;
use crate::types::EffectKind;
use portcullis_inline_code::HOLE;

/// The maximum number of commands of a script that are looked at.
const ORDERS: usize = 4096;

/// An effect of a script.
#[derive(Debug, PartialEq, Eq)]
enum Order {
    /// Runs a text; one with a hole contains a part of the input.
    Run(String),
    Write(String),
    Read(String),
    /// Puts a text into the output.
    Insert(String),
}

impl Walker<'_> {
    /// Follows sed's scripts.
    pub(super) fn sed(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // sed itself refuses `e`, `r` and `w` then.
        if rest.iter().any(|field| field.text == "--sandbox") {
            return;
        }
        let changed = self.changed_in_place(rest, plan);
        for script in self.sed_scripts(rest, plan, command, setting) {
            self.spend(script.text.len());
            let (orders, cut) = read_orders(&script.text);
            if cut {
                self.out.limit("more code than is followed");
            }
            for order in orders {
                let word = |text: String| Field {
                    known: script.known && !text.contains(HOLE),
                    text,
                    ..script.clone()
                };
                match order {
                    Order::Run(text) if text.chars().all(|c| c == HOLE) => {
                        self.out.gap("a text that is run but known only when it runs");
                        self.plain(EffectKind::ProcessStart, "", false, command, setting);
                    }
                    Order::Run(text) => {
                        self.nested(&word(text), "sed", setting);
                    }
                    Order::Write(file) => {
                        self.file(EffectKind::FileModify, &word(file), false, command, setting)
                    }
                    Order::Insert(text) => {
                        for path in &changed {
                            let hunks = vec![(String::new(), text.clone())];
                            self.note_change(Change { path: path.clone(), hunks, command });
                        }
                    }
                    Order::Read(file) => {
                        self.file(EffectKind::FileRead, &word(file), false, command, setting)
                    }
                }
            }
        }
    }

    /// Returns the files among those that are changed in place that something runs later.
    fn changed_in_place(&self, rest: &[Field], plan: &Plan) -> Vec<String> {
        let changed = plan.items.iter().filter_map(|item| match item {
            Item::Word(EffectKind::FileModify, at) => rest.get(*at),
            _ => None,
        });
        changed
            .map(|field| places::resolve(&field.text, &self.env.folder).0)
            .filter(|path| self.autorun_at(path).is_some())
            .collect()
    }

    /// Returns the scripts of a call: the values of `-e`, the files of `-f`, else the first operand.
    fn sed_scripts(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) -> Vec<Field> {
        let mut scripts = Vec::new();
        let mut named = false;
        let mut at = 0;
        while let Some(field) = rest.get(at) {
            at += 1;
            let text = field.text.as_str();
            if text == "--" {
                break;
            }
            let (flag, value) = match text.strip_prefix("--") {
                Some(long) => {
                    let (name, value) =
                        long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                    let expression = name.len() > 1 && "expression".starts_with(name);
                    let file = name.len() > 1 && "file".starts_with(name);
                    (
                        if expression {
                            'e'
                        } else if file {
                            'f'
                        } else {
                            ' '
                        },
                        value,
                    )
                }
                // In a cluster, the text behind `e` or `f` is its value, and that behind `i` too.
                None => match text.strip_prefix('-').and_then(|letters| {
                    letters.char_indices().find(|(_, c)| matches!(c, 'e' | 'f' | 'i' | 'l'))
                }) {
                    Some((place, c)) => {
                        (c, text.get(place + 2..).filter(|value| !value.is_empty()))
                    }
                    None => (' ', None),
                },
            };
            if !matches!(flag, 'e' | 'f') {
                continue;
            }
            named = true;
            let value = match value {
                Some(value) => Some(Field { text: value.to_owned(), ..field.clone() }),
                None => {
                    at += 1;
                    rest.get(at - 1).cloned()
                }
            };
            let Some(value) = value else { continue };
            if flag == 'e' {
                scripts.push(value);
            } else if let Some(text) = self.commands_in(&value.text, command, setting) {
                scripts.push(Field { text: text.to_string(), ..value });
            }
        }
        if !named {
            scripts.extend(plan.operands.first().and_then(|at| rest.get(*at)).cloned());
        }
        scripts
    }
}

/// Reads a script; the flag says that it has more commands than are looked at.
fn read_orders(script: &str) -> (Vec<Order>, bool) {
    let tail = script.rfind(']').map_or(script.len(), |at| script.len() - at - 1);
    let mut reader = Reader { rest: script, orders: Vec::new(), covers_all: false, tail };
    for _ in 0..ORDERS {
        reader.rest = reader.rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if reader.rest.is_empty() {
            return (reader.orders, false);
        }
        reader.address();
        reader.order();
    }
    (reader.orders, true)
}

struct Reader<'s> {
    rest: &'s str,
    orders: Vec<Order>,
    /// The last expression matches a whole line.
    covers_all: bool,
    /// The length of the text behind the last bracket that closes.
    tail: usize,
}

impl<'s> Reader<'s> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or("");
        Some(c)
    }

    /// Passes over `1`, `$`, `/x/I`, `\,x,`, `1,5`, `0~4`, `/a/,+2`, and `!`.
    fn address(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '!']);
            match self.rest.chars().next() {
                Some('/') => {
                    self.take();
                    self.part('/');
                    self.rest = self.rest.trim_start_matches(['I', 'M']);
                }
                Some('\\') => {
                    self.take();
                    if let Some(mark) = self.take() {
                        self.part(mark);
                    }
                    self.rest = self.rest.trim_start_matches(['I', 'M']);
                }
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+') => {
                    self.take();
                }
                _ => return,
            }
        }
    }

    /// Reads up to a mark that no backslash is before.
    fn part(&mut self, mark: char) -> String {
        let mut text = String::new();
        let mut inside = false;
        while let Some(c) = self.take() {
            match c {
                '\\' => {
                    let next = self.take();
                    if next != Some(mark) {
                        text.push('\\');
                    }
                    text.extend(next);
                    continue;
                }
                '[' => inside = true,
                ']' => inside = false,
                // In a bracket a mark is a plain character in GNU's sed only; elsewhere it ends.
                c if c == mark && !(inside && mark == '/' && self.rest.len() > self.tail) => break,
                _ => {}
            }
            text.push(c);
        }
        text
    }

    /// Reads the rest of the line.
    fn line(&mut self) -> &'s str {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = self.rest.get(..end).unwrap_or("");
        self.rest = self.rest.get(end..).unwrap_or("");
        line.trim()
    }

    fn order(&mut self) {
        match self.take() {
            Some('e') => {
                let text = self.line().trim_end_matches(['}', ' ']).to_owned();
                // Alone, `e` runs the line that was read.
                let text =
                    if text.is_empty() || text.starts_with(';') { HOLE.to_string() } else { text };
                self.orders.push(Order::Run(text));
            }
            Some('w' | 'W') => {
                let file = self.line().to_owned();
                self.orders.push(Order::Write(file));
            }
            Some('r' | 'R') => {
                let file = self.line().to_owned();
                self.orders.push(Order::Read(file));
            }
            Some('s') => self.substitution(),
            Some('y') => {
                if let Some(mark) = self.take() {
                    self.part(mark);
                    self.part(mark);
                }
            }
            // The text lasts until a line that has no backslash at its end.
            Some('a' | 'i' | 'c') => {
                let mut text = self.line().to_owned();
                while text.ends_with('\\') && self.take().is_some() {
                    text.pop();
                    text.push('\n');
                    text.push_str(self.line());
                }
                let text = text.trim_start_matches(['\\', '\n', ' ']).to_owned();
                self.orders.push(Order::Insert(text));
            }
            Some('#') => {
                self.line();
            }
            Some(':' | 'b' | 't' | 'T') => {
                let end = self.rest.find(['\n', ';', '}']).unwrap_or(self.rest.len());
                self.rest = self.rest.get(end..).unwrap_or("");
            }
            Some('q' | 'Q' | 'l' | 'L') => {
                self.rest = self.rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
            }
            _ => {}
        }
    }

    fn substitution(&mut self) {
        let Some(mark) = self.take().filter(|mark| *mark != '\n') else { return };
        let pattern = self.part(mark);
        let replacement = self.part(mark);
        self.orders.push(Order::Insert(inserted(&replacement)));
        // An empty expression repeats the last one.
        if !pattern.is_empty() {
            self.covers_all =
                matches!(pattern.trim_start_matches('^').trim_end_matches('$'), ".*" | ".+" | "");
        }
        loop {
            match self.rest.chars().next() {
                Some('e') => {
                    self.take();
                    let mut text = inserted(&replacement);
                    if !self.covers_all {
                        // The text beside the match is run too.
                        self.orders.push(Order::Run(HOLE.to_string()));
                    }
                    if text.trim().is_empty() {
                        text = HOLE.to_string();
                    }
                    self.orders.push(Order::Run(text));
                }
                Some('w') => {
                    self.take();
                    let file = self.line().to_owned();
                    self.orders.push(Order::Write(file));
                    return;
                }
                Some(c) if c.is_ascii_alphanumeric() => {
                    self.take();
                }
                _ => return,
            }
        }
    }
}

/// Returns the text that a replacement inserts: parts of the line are not known.
fn inserted(replacement: &str) -> String {
    let mut text = String::new();
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => text.push(HOLE),
            '\\' => match chars.next() {
                Some(digit) if digit.is_ascii_digit() => text.push(HOLE),
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}
