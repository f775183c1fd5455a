//! Rewrites: typed edits to named parameters, applied by the host.
//!
//! Edits refer to the masked text; the result holds the real one. An edit that touches a masked
//! value is refused, so that no plugin can move a secret to another place.

mod preconditions;

pub use preconditions::HEAD;
pub(crate) use preconditions::Preconditions;

use crate::finding::{Change, Edit, Rewrite};
use crate::mask::{Mask, Masked, PLACEHOLDER};
use serde_json::{Map, Value};

/// Returns the parameters with a rewrite applied.
///
/// # Errors
/// Fails, with a message, if an edit is of a missing parameter or one of another type, is outside
/// its text, overlaps another edit, or touches or contains a masked value.
pub fn apply_rewrite(
    rewrite: &Rewrite,
    input: &Map<String, Value>,
    mask: &Mask,
) -> Result<Map<String, Value>, String> {
    if rewrite.edits.is_empty() {
        return Err("a rewrite without edits changes nothing".into());
    }
    let mut output = input.clone();
    let mut names: Vec<&str> = rewrite.edits.iter().map(|edit| edit.parameter.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let edits: Vec<&Edit> =
            rewrite.edits.iter().filter(|edit| edit.parameter == name).collect();
        let current =
            input.get(name).ok_or_else(|| format!("the parameter `{name}` does not exist"))?;
        match parameter(name, current, &edits, mask)? {
            Some(value) => output.insert(name.to_owned(), value),
            // `swap_remove` would reorder the parameters that stay.
            None => output.shift_remove(name),
        };
    }
    if &output == input { Err("the rewrite changes nothing".into()) } else { Ok(output) }
}

fn parameter(
    name: &str,
    current: &Value,
    edits: &[&Edit],
    mask: &Mask,
) -> Result<Option<Value>, String> {
    if let [edit] = edits {
        match (&edit.change, current) {
            (Change::Remove, _) => return Ok(None),
            (Change::SetText(text), Value::String(_)) if text.contains(PLACEHOLDER) => {
                return Err(format!(
                    "the new text of `{name}` holds the placeholder of a masked value"
                ));
            }
            (Change::SetText(text), Value::String(_)) => return Ok(Some(text.clone().into())),
            (Change::SetInteger(number), Value::Number(_)) => return Ok(Some((*number).into())),
            (Change::SetFlag(flag), Value::Bool(_)) => return Ok(Some((*flag).into())),
            (Change::Splice { .. }, Value::String(_)) => {}
            _ => {
                return Err(format!("the new value of `{name}` has another type than the old one"));
            }
        }
    }
    let Value::String(text) = current else {
        return Err(format!("`{name}` is not text, so it cannot be edited in parts"));
    };
    splice(name, text, edits, mask).map(|text| Some(text.into()))
}

/// Applies several splices to one text, last first so that earlier places stay valid.
fn splice(name: &str, text: &str, edits: &[&Edit], mask: &Mask) -> Result<String, String> {
    let masked: Masked = mask.trace_text(text);
    let mut places = Vec::new();
    for edit in edits {
        let Change::Splice { start, end, text: replacement } = &edit.change else {
            return Err(format!("`{name}` is both replaced and edited in parts"));
        };
        if replacement.contains(PLACEHOLDER) {
            return Err(format!("an edit of `{name}` holds the placeholder of a masked value"));
        }
        let range = *start as usize..*end as usize;
        if masked.text.get(range.clone()).is_none() {
            return Err(format!(
                "an edit of `{name}` is outside its text ({start}..{end} of {})",
                masked.text.len()
            ));
        }
        let original = masked
            .to_original(range)
            .ok_or_else(|| format!("an edit of `{name}` touches a masked value"))?;
        places.push((original, replacement));
    }
    places.sort_by_key(|(range, _)| range.start);
    if places
        .windows(2)
        .any(|pair| matches!(pair, [(first, _), (second, _)] if second.start < first.end))
    {
        return Err(format!("two edits of `{name}` overlap"));
    }
    let mut result = text.to_owned();
    for (range, replacement) in places.into_iter().rev() {
        result.replace_range(range, replacement);
    }
    Ok(result)
}
