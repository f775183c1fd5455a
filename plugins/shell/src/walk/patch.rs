//! Patches as some agents write them in place of a command, or hand to `apply_patch`: files are
//! named line by line, each with the effect on it. The content lines are data.

use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::{Setting, Walker};
use crate::syntax::Span;
use crate::types::EffectKind;

/// The text before a file's name, and the effect on the file.
const LINES: &[(&str, EffectKind)] = &[
    ("*** Add File: ", EffectKind::FileCreate),
    ("*** Update File: ", EffectKind::FileModify),
    ("*** Delete File: ", EffectKind::FileDelete),
    ("*** Move to: ", EffectKind::FileCreate),
];

/// Returns true if a text is such a patch.
pub(super) fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with("*** Begin Patch\n")
}

impl Walker<'_> {
    /// Reads a patch in a command line's place.
    pub(super) fn patched(&mut self, text: &str, setting: &Setting) {
        let span = setting
            .fixed
            .unwrap_or(Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) });
        let call = Call { end: span.end, ..Call::default() };
        let command = self.record(
            "apply_patch",
            &Field::plain("apply_patch", span),
            &[Field::plain(text, span)],
            None,
            None,
            &call,
            setting,
        );
        self.files_of_patch(text, span, command, setting);
    }

    /// Reads `apply_patch TEXT`, or the text on its standard input.
    pub(super) fn apply_patch(
        &mut self,
        rest: &[Field],
        input: &Feed,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let given = rest.first().filter(|field| is_patch(&field.text));
        let span = given.map_or_else(Span::default, |field| field.span);
        match given.map(|field| field.text.as_str()).or(input.text.as_deref()) {
            Some(text) => self.files_of_patch(text, span, command, setting),
            None => self.out.gap("a patch that is known only when it runs"),
        }
    }

    fn files_of_patch(&mut self, text: &str, span: Span, command: Option<u32>, setting: &Setting) {
        self.step(text.len());
        for line in text.lines() {
            for (start, kind) in LINES {
                if let Some(path) = line.strip_prefix(start) {
                    self.file(
                        kind.clone(),
                        &Field::plain(path.trim_end(), span),
                        false,
                        command,
                        setting,
                    );
                }
            }
        }
    }
}
