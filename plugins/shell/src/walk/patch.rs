//! Patches as some agents write them in place of a command, or hand to `apply_patch`: files are
//! named line by line, each with the effect on it. The content lines are data.

use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::written::Change;
use super::{Setting, Walker};
use crate::places;
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
        self.note_changes(text, command);
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

    /// Notes the changes of a patch: something may run the files later.
    fn note_changes(&mut self, text: &str, command: Option<u32>) {
        let mut change: Option<Change> = None;
        let mut hunk: (Vec<&str>, Vec<&str>) = Default::default();
        // A patch without its end is closed as well.
        for line in text.lines().chain(["*** End Patch"]) {
            let header = line.starts_with("*** ");
            if header || line.starts_with("@@") {
                let (old, new) = std::mem::take(&mut hunk);
                let change = change.as_mut().filter(|_| !(old.is_empty() && new.is_empty()));
                change.into_iter().for_each(|change| {
                    change.hunks.push((old.join("\n"), new.join("\n")));
                });
            } else if let Some(old) = line.strip_prefix('-') {
                hunk.0.push(old);
            } else if let Some(new) = line.strip_prefix('+') {
                hunk.1.push(new);
            } else {
                let kept = line.strip_prefix(' ').unwrap_or(line);
                hunk.0.push(kept);
                hunk.1.push(kept);
            }
            if header && line != "*** End of File" {
                change.take().into_iter().for_each(|change| self.note_change(change));
            }
            let named = ["*** Add File: ", "*** Update File: "];
            if let Some(path) = named.iter().find_map(|start| line.strip_prefix(start)) {
                let (path, known) = places::resolve(path.trim_end(), &self.env.folder);
                change = known.then(|| Change { path, hunks: Vec::new(), command });
            }
        }
    }
}
