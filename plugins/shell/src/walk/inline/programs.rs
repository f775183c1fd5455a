//! Programs that parsed code starts.

use super::super::expand::Field;
use super::super::feed::Feed;
use super::super::routines::quoted;
use super::super::{Setting, Walker};
use super::values::{Place, argument, option, source_of, texts_of};
use super::{BUILT, unknown_text};
use crate::types::EffectKind;
use portcullis_inline_code::{Call, HOLE, Kind, Value};

/// The maximum number of words of a program.
const WORDS: usize = 256;

impl Walker<'_> {
    /// Follows a shell's text.
    pub(super) fn starts_shell(
        &mut self,
        call: &Call,
        at: usize,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let value = argument(call, at);
        for text in texts_of(value) {
            self.started_text(&text, value, call, place, setting);
        }
    }

    /// Follows a program: a shell's text, or a list of words.
    pub(super) fn starts_program(
        &mut self,
        call: &Call,
        at: usize,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let Some(value) = argument(call, at) else { return };
        let through_shell = option(call, "shell").is_some_and(|shell| !is_false(shell));
        for one in value.alternatives() {
            match &one.kind {
                // With `shell=True` only the first of a list is the shell's text.
                Kind::List(items) if through_shell => {
                    let first = items.first();
                    for text in texts_of(first) {
                        self.started_text(&text, first, call, place, setting);
                    }
                }
                Kind::Map(_) => {
                    let listed = option(call, "cmd").cloned();
                    self.started_list(listed.as_ref(), None, call, place, setting);
                }
                Kind::List(_) | Kind::Made(..) => {
                    self.started_list(Some(&one), None, call, place, setting);
                }
                _ => {
                    for text in texts_of(Some(&one)) {
                        self.started_text(&text, Some(&one), call, place, setting);
                    }
                }
            }
        }
    }

    /// Follows a program, and the list of its arguments.
    pub(super) fn starts_listed(
        &mut self,
        call: &Call,
        at: usize,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        // `execv` and the like: the list begins with the program's name once more.
        let again = place.python;
        let list = call.arguments.get(at + 1).filter(|list| !matches!(list.kind, Kind::Map(_)));
        let list = list.or_else(|| option(call, "args"));
        for program in texts_of(argument(call, at)) {
            match list {
                Some(list) if matches!(list.kind, Kind::Local(_)) => {
                    self.started_text(&program, argument(call, at), call, place, setting);
                }
                Some(list) => {
                    for list in list.alternatives() {
                        let words = match &list.kind {
                            Kind::List(items) => {
                                Some(items.iter().skip(usize::from(again)).cloned().collect())
                            }
                            _ => None,
                        };
                        self.started_words(&program, words, call, place, setting);
                    }
                }
                None => self.started_text(&program, argument(call, at), call, place, setting),
            }
        }
    }

    /// Follows a program whose words are arguments of their own.
    pub(super) fn starts_words(
        &mut self,
        call: &Call,
        from: usize,
        program: Option<usize>,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let program = program.unwrap_or(from);
        let rest = call.arguments.get(from + 1..).unwrap_or_default();
        for program in texts_of(call.arguments.get(program)) {
            self.started_words(&program, Some(rest.to_vec()), call, place, setting);
        }
    }

    fn started_list(
        &mut self,
        list: Option<&Value>,
        program: Option<&str>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let Some(list) = list else { return };
        match &list.kind {
            Kind::List(items) => {
                let first = match program {
                    Some(program) => vec![program.to_owned()],
                    None => texts_of(items.first()),
                };
                let rest: Vec<Value> = items.iter().skip(1).cloned().collect();
                for first in first {
                    self.started_words(&first, Some(rest.clone()), call, place, setting);
                }
            }
            Kind::Made(class, items) if &**class == "[]" => {
                for first in items.iter().flat_map(|item| texts_of(Some(item))).take(4) {
                    self.started_words(&first, None, call, place, setting);
                }
            }
            _ => self.started_text(&unknown_text(), Some(list), call, place, setting),
        }
    }

    /// Follows a program with these words; without them they are not known.
    fn started_words(
        &mut self,
        program: &str,
        words: Option<Vec<Value>>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let known = words.is_some();
        // Each word in its alternatives, as far as a line has room for them.
        let mut lines: Vec<Vec<String>> = vec![vec![program.to_owned()]];
        for word in words.into_iter().flatten().take(WORDS) {
            let texts = texts_of(Some(&word));
            let texts = if lines.len() * texts.len() <= 16 { texts } else { vec![unknown_text()] };
            lines = lines
                .iter()
                .flat_map(|line| {
                    texts.iter().map(|text| line.iter().cloned().chain([text.clone()]).collect())
                })
                .collect();
        }
        for line in lines {
            let mut text = line.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            if !known {
                self.out.gap("the arguments of a program are known only when it runs");
                text = format!("{text} {HOLE}");
            }
            self.started_text(&text, None, call, place, setting);
        }
    }

    /// Follows a text as a shell would, in the folder and with the input that the call gives.
    fn started_text(
        &mut self,
        text: &str,
        value: Option<&Value>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let source = value.map_or_else(Default::default, |value| source_of(value, place));
        let source =
            call.arguments.iter().fold(source, |all, value| all.max(source_of(value, place)));
        self.unseen(source, place.command, setting);
        if text.trim().is_empty() {
            return;
        }
        if text.chars().all(|c| c == HOLE || c.is_whitespace()) {
            if !source.is_unseen() {
                self.unseen(setting.input.source, place.command, setting);
            }
            self.out.gap(BUILT);
            return self.plain(EffectKind::ProcessStart, "", false, place.command, setting);
        }
        let mut inner = setting.clone();
        if let Some(input) = option(call, "input") {
            inner.input = match input.as_text().filter(|text| !text.contains(HOLE)) {
                Some(text) => Feed::of_text(&text),
                None => Feed { open: true, source: source_of(input, place), ..Feed::default() },
            };
        }
        let mark = self.env.mark();
        let folder = option(call, "cwd").filter(|value| {
            !matches!(&value.kind, Kind::Name(name) if matches!(&**name, "None" | "undefined"))
        });
        let words = folder.map(|folder| self.words_of(Some(folder), place)).unwrap_or_default();
        for folder in words.iter().take(1) {
            let text = format!("cd {}", quoted(&folder.text));
            self.nested(&Field { text, ..folder.clone() }, "code", setting);
        }
        let field = Field {
            known: !text.contains(HOLE),
            text: text.to_owned(),
            span: place.field.span,
            ..Field::default()
        };
        self.nested_for_code(&field, place.command, &inner);
        self.env.restore(mark);
        // These do not wait for what they start, so that a loop piles processes up.
        if call.looped
            && ["subprocess.Popen", "child_process.spawn", "child_process.fork"]
                .contains(&call.name.as_str())
        {
            self.plain(EffectKind::ResourceUse, "processes", false, place.command, setting);
        }
    }

    /// Follows text that code writes to a program that it started.
    pub(super) fn gives_input(&mut self, call: &Call, place: &Place<'_>, setting: &Setting) {
        let Some(input) = call.arguments.first().or_else(|| option(call, "input")) else { return };
        let mut maker = call.receiver.as_ref();
        while let Some(Value { kind: Kind::Member(of, _), .. }) = maker {
            maker = Some(of);
        }
        let Some(Value { kind: Kind::Made(_, parts), .. }) = maker else { return };
        let program = parts.first().map(|first| match &first.kind {
            Kind::List(items) => texts_of(items.first()),
            _ => texts_of(Some(first)),
        });
        for program in program.unwrap_or_default() {
            let feed = match input.as_text().filter(|text| !text.contains(HOLE)) {
                Some(text) => Feed::of_text(&text),
                None => Feed { open: true, source: source_of(input, place), ..Feed::default() },
            };
            let inner = Setting { input: feed, ..setting.clone() };
            let field = Field::plain(&program, place.field.span);
            self.nested(&field, "code", &inner);
        }
    }
}

fn is_false(value: &Value) -> bool {
    matches!(&value.kind, Kind::Name(name) if matches!(&**name, "False" | "false"))
}
