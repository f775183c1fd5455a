//! Files of code or of commands that the words and the options of a program name: the program runs
//! their text. One that is not there is not known, so the reading is partial.

use super::expand::Field;
use super::feed::Feed;
use super::scripts::{Found, Manner};
use super::{Setting, Walker};
use crate::places::{self, Place};
use crate::types::EffectKind;
use std::rc::Rc;

/// Languages of files that a program runs without the interpreter of that name.
const LANGUAGES: &[&str] = &["elixir", "lisp", "octave", "r", "swift"];

/// The endings of files that programs run and that no code loads.
const OTHERS: &[&str] = &[".exs", ".ex", ".m", ".swift"];
/// Programs that run tests.
const TESTS: &[&str] = &["ava", "jest", "mocha", "playwright", "rspec", "tap", "vitest"];

/// Values in the place of a file's name behind which nothing is on the disk.
const NO_FILES: &[&str] =
    &["", "-", "DEFAULTS", "NONE", "NORC", "/dev/null", "/dev/stdin", "/proc/self/fd/0"];

impl Walker<'_> {
    /// Follows a word that may name a file which the program runs.
    pub(super) fn run_word(
        &mut self,
        (program, language): (&str, &'static str),
        word: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let ends = |end: &&str| word.text.ends_with(*end);
        if !portcullis_autoruns::is_module(&word.text) && !OTHERS.iter().any(ends) {
            return;
        }
        let text = word.text.as_str();
        let (path, _) = places::resolve(text, &self.env.folder);
        self.note_generated_run(&path, command, setting);
        let (forms, effects) = (self.out.forms.len(), self.out.effects.len());
        let manner = Manner::Interpreted;
        self.run_script(word, &path, Some(language), manner, &[], command, setting);
        if TESTS.contains(&program) {
            self.trust_test(forms, effects);
        }
    }

    /// Drops the forms of deletion that a test has shown since then, unless it deletes files that are
    /// known: a test deletes the folders that it was given, and what is not known is its own.
    pub(super) fn trust_test(&mut self, forms: usize, effects: usize) {
        let added = self.out.effects.get(effects..).unwrap_or_default();
        if !added.iter().any(|effect| effect.kind == EffectKind::FileDelete) {
            self.out.drop_forms(forms, &["recursive-delete", "recursive-force-delete"]);
        }
    }

    /// Follows a file in a language whose interpreter is not started by that name; false for any
    /// other language.
    pub(super) fn run_in_language(
        &mut self,
        language: &str,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> bool {
        let Some(language) = LANGUAGES.iter().find(|known| **known == language) else {
            return false;
        };
        let (path, _) = places::resolve(&value.text, &self.env.folder);
        let manner = Manner::Interpreted;
        self.run_script(value, &path, Some(language), manner, &[], command, setting);
        true
    }

    /// Notes that a file which an option names, and whose text would be run, is not there.
    pub(super) fn mind_missing(&mut self, file: &str, setting: &Setting) {
        let (path, known) = places::resolve(file, &self.env.folder);
        let here = known && setting.place == Place::Here && !NO_FILES.contains(&file);
        if here && self.content_of(&path).is_none() && self.is_absent(&path) {
            self.file_gap(&path, "is run, but it is not there to be read");
        }
    }

    /// Returns the text of a file of commands: that which this command line writes, or that on the
    /// disk.
    pub(super) fn commands_in(
        &mut self,
        file: &str,
        command: Option<u32>,
        setting: &Setting,
    ) -> Option<Rc<str>> {
        let (path, _) = places::resolve(file, &self.env.folder);
        self.open_script(&path, false, command, setting)
    }

    /// Follows the commands that an editor gets on its standard input.
    pub(super) fn typed_in(&mut self, place: &Field, input: &Feed, setting: &Setting) {
        let text =
            input.text.clone().or_else(|| match self.found_in(input.pieces.as_deref()?)? {
                Found::Text(text) | Found::Part(text) => Some(text),
                Found::Binary | Found::Missing | Found::Unreadable(_) => None,
            });
        if let Some(text) = text {
            self.prompted(&Field { text: text.to_string(), ..place.clone() }, setting);
        }
    }
}

/// Returns the command that an order of an editor gives to a shell: `!x`, `%!x`, `r !x`, `1,5w !x`.
pub(super) fn shell_order(order: &str) -> Option<&str> {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | ';' | '$' | '%' | '.' | '+');
    let rest = order.trim_start_matches(address).trim_start();
    let rest = ["read ", "write ", "edit ", "r ", "w ", "e ", "r", "w", "e"]
        .iter()
        .find_map(|start| {
            rest.strip_prefix(start).filter(|rest| rest.trim_start().starts_with('!'))
        })
        .unwrap_or(rest);
    rest.trim_start().strip_prefix('!').map(str::trim).filter(|text| !text.is_empty())
}
