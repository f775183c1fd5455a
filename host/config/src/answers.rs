//! The answers of a ladder as the configuration writes them: `KIND`, or `KIND:PLUGIN`.

use super::names::is_name;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::ladder::LadderAnswer;
use portcullis_strict_toml::nearest;

/// Returns true for one answer: a known kind, alone or with a plugin's name.
pub(super) fn is_answer(text: &str) -> bool {
    LadderAnswer::parse_answer(text)
        .is_some_and(|answer| answer.plugin.is_none_or(|name| is_name(&name)))
}

/// Lists the answers, in words.
pub(super) fn in_words() -> String {
    let kinds: Vec<String> = InterventionKind::ALL.iter().map(|kind| format!("`{kind}`")).collect();
    format!("{}, each alone or as `KIND:PLUGIN`", kinds.join(", "))
}

/// Returns the answer that somebody may have meant.
pub(super) fn find_meant(text: &str) -> Option<&'static str> {
    nearest(InterventionKind::ALL.iter().map(|kind| kind.as_str()), LadderAnswer::kind_in(text))
}
