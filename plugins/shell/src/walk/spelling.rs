//! Abbreviated flags of a program's words, written out before anything else looks at them.

use super::expand::Field;
use crate::catalogue;

/// The maximum number of times that the words of a program are read for abbreviated flags.
const ROUNDS: usize = 8;

/// Returns the words of a program with its abbreviated flags written out, if there are any. A flag
/// with a value in a word of its own reveals the next one.
pub(super) fn spelled_out(name: &str, rest: &[Field]) -> Option<Vec<Field>> {
    let has_long = |field: &Field| field.text.len() > 2 && field.text.starts_with("--");
    let mut spelled: Option<Vec<Field>> = None;
    for _ in 0..ROUNDS {
        let now = spelled.as_deref().unwrap_or(rest);
        if !now.iter().any(has_long) {
            break;
        }
        let texts: Vec<&str> = now.iter().map(|field| field.text.as_str()).collect();
        let found = catalogue::find(name, &texts)?;
        let flags = catalogue::spell_out(&found, &texts, &catalogue::plan(&found, &texts));
        if flags.is_empty() {
            break;
        }
        let mut fields = now.to_vec();
        for (at, text) in flags {
            if let Some(field) = fields.get_mut(at) {
                field.text = text;
            }
        }
        spelled = Some(fields);
    }
    spelled
}
