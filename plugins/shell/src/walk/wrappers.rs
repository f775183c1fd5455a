//! Programs that start another one with the rest of their words: `sudo`, `env`, `xargs`, `ssh`.

use super::environment::{UNKNOWN, Value};
use super::expand::Field;
use super::feed::{Feed, Source};
use super::simple::{Call, Inner, Step, is_assignment};
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places::Place;
use crate::syntax::Span;
use crate::types::Attribute;

/// The maximum number of programs that are named before the one that they start.
const WRAPPERS: usize = 32;

/// Returns true for a cluster of flags with a letter in it.
fn has_letter(flags: Option<&[Field]>, letter: char) -> bool {
    let is = |field: &Field| field.text.starts_with('-') && field.text.contains(letter);
    flags.unwrap_or_default().iter().any(is)
}

/// Returns the index of the command of `bwrap`, some of whose flags take two values.
fn past_binds(rest: &[Field]) -> usize {
    let mut at = 0;
    while let Some(text) = rest.get(at).map(|field| field.text.as_str()) {
        at += match text {
            "--" => return at + 1,
            _ if !text.starts_with("--") => return at,
            "--setenv" | "--symlink" | "--chmod" | "--file" | "--overlay" => 3,
            _ if text.contains("bind") && !text.ends_with("-fd") => 3,
            "--clearenv" | "--new-session" | "--die-with-parent" | "--as-pid-1" => 1,
            _ if text.starts_with("--unshare") || text.starts_with("--share") => 1,
            _ => 2,
        };
    }
    at
}

impl Walker<'_> {
    /// Follows a program that starts another one with the rest of its words.
    pub(super) fn wrapper(
        &mut self,
        name: &str,
        plan: &Plan,
        at: usize,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Step {
        let mut inner = setting.clone();
        if inner.wrappers.len() < WRAPPERS {
            inner.wrappers.push(name.to_owned());
        }
        // These are words of the shell itself, which knows its functions behind them.
        inner.started = !matches!(name, "time" | "noglob" | "nocorrect" | "coproc");
        self.out.shape(name);
        self.out.shape(" ");
        inner.privileged |= plan.raises();
        if let Some(place) = self.place(name, plan, rest, call, setting) {
            inner.place = place;
        }
        let command = u32::try_from(self.out.commands.len()).ok();
        self.effects_of(plan, rest, command, setting);
        self.texts_of(name, plan, rest, command, call, setting);
        let contained = matches!(inner.place, Place::Container(..));
        if contained {
            self.container(rest, plan, command, setting);
        }
        let at = if name == "bwrap" { past_binds(rest) } else { at };
        if name == "bwrap" {
            self.note_binds(rest.get(..at).unwrap_or_default(), command, setting);
        }
        let mut fields: Vec<Field> = rest.get(at..).unwrap_or_default().to_vec();
        // `entr -s` gives its words to a shell as one text.
        if name == "entr" && has_letter(rest.get(..at), 's') {
            let text = fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
            let first = fields.first().cloned().unwrap_or_default();
            return Step::Done(self.nested(&Field { text, ..first }, name, &inner));
        }
        if let Some(dashes) = fields
            .iter()
            .position(|field| field.text == "--")
            .filter(|_| fields.first().is_some_and(|field| field.text.starts_with('-')))
        {
            fields.drain(..=dashes);
        }
        // `env - PROGRAM`: the dash alone empties the environment.
        if name == "env" && fields.first().is_some_and(|field| field.text == "-") {
            fields.remove(0);
        }
        // `env env env ...`: each but the last only starts the next.
        let again =
            if at == 0 { fields.iter().take_while(|field| field.text == name).count() } else { 0 };
        fields.drain(..again.saturating_sub(1));
        let mut call = call.clone();
        if name == "env" || name == "sudo" || name == "doas" {
            let count = fields.iter().take_while(|field| is_assignment(&field.text)).count();
            let given = fields.drain(..count).filter_map(|field| {
                field.text.split_once('=').map(|(name, value)| Attribute {
                    name: name.to_owned(),
                    value: value.to_owned(),
                })
            });
            let given: Vec<Attribute> = given.collect();
            self.given.clone_from(&fields);
            for set in &given {
                let value = Value {
                    text: set.value.clone(),
                    known: !set.value.contains(UNKNOWN),
                    ..Value::default()
                };
                self.telling_variable(
                    &set.name,
                    &value,
                    Span { start: 0, end: call.end },
                    command,
                    setting,
                );
            }
            self.given.clear();
            self.carried_by_pairs(&given, Span { start: 0, end: call.end }, command, setting);
            call.assignments.extend(given);
        }
        if fields.is_empty() {
            if contained {
                self.compose(rest, &call, command, setting);
            }
            let command = self.record(
                name,
                &Field::plain(name, Span::default()),
                rest,
                None,
                None,
                &call,
                setting,
            );
            return Step::Done(Feed {
                from: command,
                source: Source::ENVIRONMENT,
                open: true,
                ..Feed::default()
            });
        }
        let there = matches!(inner.place, Place::Host(_));
        if there && super::elsewhere::joins_words(name) {
            self.hand_on(name, rest, plan, &call, command, setting);
            let text = fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
            let span = setting.fixed.or(fields.first().map(|field| field.span)).unwrap_or_default();
            return Step::Done(self.text(
                &text,
                Some(span),
                &Setting { input: call.input.clone(), ..inner },
            ));
        }
        if matches!(name, "xargs" | "parallel") {
            return Step::Done(self.xargs(name, plan, rest, fields, &call, &inner));
        }
        if let Some(text) = super::launchers::text_of(name, &fields) {
            return Step::Done(self.nested(
                &text,
                name,
                &Setting { input: call.input.clone(), ..inner },
            ));
        }
        if !contained && !there {
            if matches!(
                name,
                "npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "npm" | "uv" | "uvx" | "pipx"
            ) && let Some(first) = fields.first_mut()
                && let Some(program) = super::names::of_package(&first.text)
            {
                first.text = program;
            }
            return Step::Inner(Box::new(Inner { fields, call, setting: inner }));
        }
        if let Some(entry) = self.entry_point(rest) {
            fields.insert(0, entry);
        }
        if fields.first().is_some_and(|field| field.text.starts_with('-')) {
            return Step::Done(Feed::default());
        }
        let mark = self.env.mark();
        self.env.folder = self.folder_inside(rest);
        let feed = self.run(&fields, &call, &inner);
        self.env.restore(mark);
        Step::Done(feed)
    }
}
