//! Files that code without a parser writes, opens to others and links.

use super::super::super::expand::Field;
use super::super::super::feed::Feed;
use super::super::super::modes;
use super::super::super::{Setting, Walker};
use super::Place;
use super::read::Call;
use super::values::Value;
use crate::places::Place as Where;
use crate::types::EffectKind;

impl Walker<'_> {
    /// Follows a call that puts a text into a file as a whole, or at its end; false if the text is
    /// not known.
    pub(super) fn foreign_text(
        &mut self,
        call: &Call,
        first: &[Value],
        place: &Place<'_>,
        setting: &Setting,
    ) -> bool {
        const WHOLE: &[&str] =
            &["File.binwrite", "File.write", "IO.binwrite", "IO.write", "file_put_contents"];
        let text = call.arguments.get(1).and_then(Value::known);
        let name = first.first().and_then(Value::known);
        let plain = WHOLE.contains(&call.name.as_str()) && call.named.is_empty();
        let (Some(text), Some(name), true) = (text, name, plain && setting.place == Where::Here)
        else {
            return false;
        };
        let word = self.foreign_word(name, place);
        self.file(EffectKind::FileModify, &word, false, place.command, setting);
        let feed = Feed { from: place.command, ..Feed::of_text(text) };
        // A flag says that it goes to the end.
        self.remember_file(&word.text, feed, call.arguments.len() > 2);
        true
    }

    /// Notes the permissions that code gives to files.
    pub(super) fn foreign_mode(
        &mut self,
        mode: Option<&Value>,
        files: &[Value],
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let text = mode.and_then(Value::known);
        let bits = text.and_then(|text| match text.strip_prefix('0') {
            Some("") => Some(0),
            Some(octal) => u32::from_str_radix(octal.trim_start_matches('o'), 8).ok(),
            None => text.parse().ok().or_else(|| {
                let field = Field { known: true, ..Field::plain(text, place.field.span) };
                modes::bits_of(&field)
            }),
        });
        let members = files.iter().flat_map(Value::members).take(64);
        let words: Vec<Field> =
            members.map(|value| self.foreign_word(&value.in_text(), place)).collect();
        for word in &words {
            self.file(EffectKind::FileModify, word, false, place.command, setting);
        }
        let words: Vec<&Field> = words.iter().collect();
        self.note_permissions_in_code(bits, &words, place.command, setting);
    }

    /// Notes links that code makes.
    pub(super) fn foreign_link(
        &mut self,
        call: &Call,
        (to, at): (&[Value], &[Value]),
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let symbolic = ["sym", "ln_s"].iter().any(|name| call.name.contains(name));
        for (to, at) in to.iter().zip(at) {
            let (to, at) =
                (self.foreign_word(&to.in_text(), place), self.foreign_word(&at.in_text(), place));
            self.file(EffectKind::FileModify, &at, false, place.command, setting);
            self.note_link(&at, &to, symbolic, place.command, setting);
        }
    }
}
