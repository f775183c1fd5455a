//! Functions and aliases that the command line defines: the effects of each call of them, and the
//! effects of those that are never called here.

use super::environment::{Body, Routine, UNKNOWN, Value};
use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::{Setting, Walker};
use crate::syntax::Stage;
use crate::types::{EffectKind, Origin};
use std::rc::Rc;

/// The maximum number of functions and aliases of one command line.
const ROUTINES: usize = 256;

impl Body {
    /// Returns true if it is the very same.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function(one), Self::Function(other)) => Rc::ptr_eq(one, other),
            (Self::Alias(one), Self::Alias(other)) => one.text == other.text,
            _ => false,
        }
    }
}

impl Routine {
    pub(super) fn function(body: &Rc<Stage>, setting: &Setting) -> Self {
        Self { body: Body::Function(Rc::clone(body)), setting: resting(setting), called: false }
    }

    pub(super) fn is_function(&self) -> bool {
        matches!(self.body, Body::Function(_))
    }

    pub(super) fn alias(text: Field, setting: &Setting) -> Self {
        Self { body: Body::Alias(text), setting: resting(setting), called: false }
    }
}

/// Returns the setting of a definition, which has no streams of its own.
fn resting(setting: &Setting) -> Setting {
    Setting { input: Feed::default(), beside: false, ..setting.clone() }
}

impl Walker<'_> {
    pub(super) fn define(&mut self, name: &str, routine: Routine) {
        if self.env.routines.len() < ROUTINES || self.env.routines.contains_key(name) {
            // A definition that nothing called is followed before another one replaces it.
            if let Some(before) =
                self.env.routines.insert(name.to_owned(), routine).filter(|before| !before.called)
            {
                self.unasked(name, before);
            }
        } else {
            self.out.limit("more functions than are remembered");
            self.unasked(name, routine);
        }
    }

    /// Walks functions even if nothing here calls them: a later command may.
    pub(super) fn uncalled(&mut self) {
        while let Some(name) = self
            .env
            .routines
            .iter()
            .find(|(_, routine)| !routine.called)
            .map(|(name, _)| name.clone())
        {
            let Some(routine) = self.env.routines.get_mut(&name) else { return };
            routine.called = true;
            let routine = routine.clone();
            self.unasked(&name, routine);
        }
    }

    fn unasked(&mut self, name: &str, routine: Routine) {
        let mark = self.env.mark();
        self.env.set("@", Value::unknown());
        self.routine(name, routine, &[], Feed::default(), None);
        self.env.restore(mark);
    }

    /// Returns true if this shell defined the name: a program that another one starts, or that is
    /// named by its path, never refers to a function.
    pub(super) fn is_routine(
        &self,
        name: &str,
        first: &Field,
        listed: bool,
        setting: &Setting,
    ) -> bool {
        let Some(routine) = self.env.routines.get(name).filter(|_| !first.text.contains('/'))
        else {
            return false;
        };
        let own = routine.setting.shell == setting.shell && !setting.started;
        // A shell does not expand an alias inside itself: `alias ls='ls -l'`.
        let running =
            !routine.is_function() && self.running.iter().any(|(running, _)| running == name);
        (own || !listed) && !running
    }

    /// Calls the function or alias that this command line has defined under the name of a program.
    pub(super) fn call_routine(
        &mut self,
        name: &str,
        first: &Field,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let Some(routine) = self.env.routines.get_mut(name) else { return Feed::default() };
        routine.called = true;
        let routine = routine.clone();
        let recurses = self.running.iter().any(|(_, body)| body.is(&routine.body));
        let command = match &routine.body {
            Body::Function(_) => self.record(name, first, rest, None, None, call, setting),
            Body::Alias(_) => None,
        };
        if recurses {
            // `:(){ :|:& };:`
            if setting.beside {
                self.out.form("fork-bomb", command);
                self.plain(EffectKind::ResourceUse, "processes", true, command, setting);
            }
            return Feed {
                from: command,
                source: call.input.source,
                open: true,
                ..Feed::default()
            };
        }
        if self.calls == 0 {
            self.out.limit(super::output::CALLS);
            return Feed {
                from: command,
                source: call.input.source,
                open: true,
                ..Feed::default()
            };
        }
        self.calls -= 1;
        let before = self.arguments(rest);
        let feed = self.routine(name, routine, rest, call.input.clone(), Some(setting));
        self.put_back(before);
        Feed {
            from: command.or(feed.from),
            source: feed.source.max(call.input.source),
            open: true,
            ..feed
        }
    }

    fn routine(
        &mut self,
        name: &str,
        routine: Routine,
        rest: &[Field],
        input: Feed,
        caller: Option<&Setting>,
    ) -> Feed {
        self.running.push((name.to_owned(), routine.body.clone()));
        let defined = &routine.setting;
        let around = caller.unwrap_or(defined).clone();
        let feed = match &routine.body {
            Body::Function(body) => {
                let inner = Setting {
                    origin: Origin::FunctionBody,
                    // The heredocs of a body are those of the text that defined it.
                    heredocs: Rc::clone(&defined.heredocs),
                    fixed: defined.fixed,
                    input,
                    beside: false,
                    ..around
                };
                self.stage(body, &inner)
            }
            Body::Alias(text) => {
                let mut line = text.text.clone();
                for field in rest {
                    line.push(' ');
                    line.push_str(&quoted(&field.text));
                }
                self.spend(line.len());
                self.nested(
                    &Field { text: line, ..text.clone() },
                    "alias",
                    &Setting { input, ..around },
                )
            }
        };
        self.running.pop();
        feed
    }
}

/// Quotes a word so that a shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    if !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte))
        || word.contains(UNKNOWN)
    {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
