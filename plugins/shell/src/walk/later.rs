//! Lines of written files that do harm without being a command, once something runs or reads the
//! file: a statement that throws data away, a switch that leaves a check out, a container that gets
//! the machine.

use super::Walker;
use super::feed::Piece;
use super::written::{changed, shown};
use crate::types::Form;
use portcullis_autoruns::{
    find_exposed, find_loss, find_unchecked, holds_statements, may_expose, may_leave_check_out,
};

/// The longest text that is looked at, in bytes.
const TEXT: usize = 256 * 1024;

/// Returns true if a text may have such a line.
fn may_do_late_harm(path: &str, text: &str) -> bool {
    holds_statements(path) || may_leave_check_out(path, text) || may_expose(path, text)
}

impl Walker<'_> {
    /// Notes lines of a written file that do harm later, unless it had them before.
    pub(super) fn late_harm_in(
        &mut self,
        path: &str,
        pieces: Option<&[Piece]>,
        hunks: &[(String, String)],
        command: Option<u32>,
    ) {
        let brought = match pieces {
            Some(pieces) => self.text_in(pieces),
            None => changed("", hunks).0,
        };
        if !may_do_late_harm(path, &brought) {
            return;
        }
        let mut before = self.text_before(path).to_string();
        for (old, _) in hunks {
            before.push('\n');
            before.push_str(old);
        }
        let piece = hunks.iter().any(|(old, _)| !old.is_empty());
        self.note_late_harm(path, &before, &brought, piece, command);
    }

    /// Notes the first such line of each kind that a file did not have before.
    fn note_late_harm(
        &mut self,
        path: &str,
        before: &str,
        after: &str,
        piece: bool,
        command: Option<u32>,
    ) {
        if after.len() > TEXT {
            return;
        }
        self.step(after.len());
        let found = [
            ("late-loss", find_loss(path, before, after)),
            ("late-unchecked", find_unchecked(path, before, after)),
            ("late-exposed", find_exposed(path, before, after)),
        ];
        for (id, line) in found {
            let Some((line, (_, label, weight))) = line.zip(crate::catalogue::form(id)) else {
                continue;
            };
            // The place of a piece in its file is not known.
            let at = if piece { String::new() } else { format!(" line {}", line.number) };
            let path = self.shown(path);
            let label = format!("{label}: `{path}`{at}: `{}`", shown(line.text));
            self.out.forms.push(Form { id: id.to_owned(), label, weight, command });
        }
    }
}
