//! The ladders of `interventions.ladders`: four answers each, none milder than the one before it.
//! An answer is a kind, or `KIND:PLUGIN` for an intervention of a plugin's own, in the place of a
//! kind.

use super::answers;
use super::parse::KeyValue;
use super::problem::{ConfigProblem, MOST};
use portcullis_core::ladder::{Ladder, LadderAnswer};
use portcullis_core::text::one_line;
use portcullis_engine::SettingValue as Value;

const PATH: &str = "interventions.ladders.*";

/// Returns the ladder that a value describes, if it has four answers and none is milder than the
/// one before it.
pub(super) fn ladder_of(value: &Value) -> Option<Ladder> {
    let Value::Texts(names) = value else { return None };
    let answers: Vec<LadderAnswer> =
        names.iter().map(|name| LadderAnswer::parse_answer(name)).collect::<Option<_>>()?;
    Ladder::new(answers.try_into().ok()?)
}

/// Returns the problems of ladders whose names are known, but not their number or order.
pub(super) fn find_wrong_ladders<'a>(
    said: impl Iterator<Item = &'a KeyValue>,
) -> Vec<ConfigProblem> {
    let wrong = said.filter(|said| said.key.path == PATH && ladder_of(&said.value).is_none());
    let problem = |said: &KeyValue| ConfigProblem {
        place: Some(said.place),
        what: format!(
            "`{}` is not a ladder; write four answers, for low, medium, high and critical, none \
             milder than the one before it, from {}",
            one_line(&said.path, 128),
            answers::in_words()
        ),
    };
    wrong.take(MOST).map(problem).collect()
}
